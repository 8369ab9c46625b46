"""Readable fuzzy controllers from logged transitions.

``fpsrl`` turns a log of a machine's behaviour into a controller that an engineer can read, check and put on a PLC: it learns
models of the machine from the log, searches a handful of fuzzy rules on them, and says how far to trust the rules. Nobody
experiments on the machine.

>>> import fpsrl
>>> problem = fpsrl.Problem("mountain-car", samples=2000, world={"epochs": 5, "members": 2}, budget=200_000)
>>> run = fpsrl.run(problem)
>>> run.policy.act([-0.5, 0.1]).shape
(1,)

A log of one's own: ``fpsrl.Problem.draft(frame)`` drafts the problem, ``fpsrl.run(problem, frame)`` does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import __version__, set_threads
from ._errors import (
    ClusterError,
    Error,
    FileError,
    InternalError,
    Interrupted,
    LogError,
    PolicyError,
    ProblemError,
    RunError,
    SimulatorError,
    Stopped,
    Warning,
)
from ._events import Event, Progress
from ._policy import Action, Condition, Export, Policy, Rule
from ._problem import Problem, Simulator
from ._stages import Found, Log, Promise, Run, Step, Worlds, fit, load, load_run, resume, run, search
from ._sweep import Sweep, sweep

if TYPE_CHECKING:
    from .sklearn import FuzzyController

__all__ = [
    "Action",
    "ClusterError",
    "Condition",
    "Error",
    "Event",
    "Export",
    "FileError",
    "Found",
    "FuzzyController",
    "InternalError",
    "Interrupted",
    "Log",
    "LogError",
    "Policy",
    "PolicyError",
    "Problem",
    "ProblemError",
    "Progress",
    "Promise",
    "Rule",
    "Run",
    "RunError",
    "Simulator",
    "SimulatorError",
    "Step",
    "Stopped",
    "Sweep",
    "Warning",
    "Worlds",
    "__version__",
    "fit",
    "load",
    "load_run",
    "resume",
    "run",
    "search",
    "set_threads",
    "sweep",
]


def __getattr__(name: str) -> Any:
    # What needs other packages is loaded when it is asked for.
    if name == "FuzzyController":
        from .sklearn import FuzzyController

        return FuzzyController
    if name in ("gym", "sklearn", "datasets", "ray"):
        import importlib

        return importlib.import_module(f"fpsrl.{name}")
    raise AttributeError(f"module 'fpsrl' has no attribute {name!r}")
