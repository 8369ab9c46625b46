"""Sweeps: many runs over settings, seeds, logs and draws of a log, and what they say together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

import numpy as np

from . import _core as core
from . import _frames
from ._errors import LogError, ProblemError, visible
from ._events import Progress, listener
from ._problem import SECTIONS, Problem, _keys
from ._stages import Log, Run, _Lasting, _lent, _meant_problem, load_run

if TYPE_CHECKING:
    from .ray import Evaluator

_Path = Union[str, "os.PathLike[str]"]

#: How many, from 1 up; or which.
_Numbers = Union[int, Sequence[int]]


class Failure(NamedTuple):
    """Why a run of a sweep has failed."""

    run: str
    message: str
    hint: Optional[str]
    #: Whether it is a bug of fpsrl.
    bug: bool


class Explained(NamedTuple):
    """How much of the differences between runs goes with a setting."""

    setting: str
    #: The share of the variance of the promise (eta squared); ``None`` if it changes what a return is, or nothing varies.
    share: Optional[float]
    #: The share that chance alone would be expected to explain.
    by_chance: float


class Recurring(NamedTuple):
    """A rule that comes back in several runs."""

    sentence: str
    runs: int
    of: int


class Sweep(_Lasting):
    """The runs of a sweep: what is planned, how each stands, and what they say together.

    :func:`fpsrl.sweep` makes one and all its runs. :meth:`plan` and :meth:`read` only plan, for whoever makes the runs
    elsewhere: :meth:`begin` once, :meth:`execute` for each name in any process that sees the directory, :meth:`gather` at the
    end. A sweep can be pickled.
    """

    _core: core.Sweep
    #: What it is made of again in another process.
    _given: tuple[Any, ...]
    #: Whether its runs may start the programs that are their worlds.
    _allowed: bool

    @classmethod
    def _of(cls, given: tuple[Any, ...], allowed: bool) -> Sweep:
        sweep = cls.__new__(cls)
        sweep._given, sweep._allowed = given, allowed
        if len(given) == 1:
            sweep._core = core.Sweep.read(given[0], allowed)
        else:
            sweep._core = core.Sweep(given[0], given[1], given[2], allowed)
        return sweep

    @classmethod
    def read(cls, path: _Path, *, allow_process: bool = False) -> Sweep:
        """A sweep from its file, as ``fpsrl sweep`` takes it. A program that its problem names as the world is started only with
        ``allow_process``."""
        return cls._of((str(Path(os.fspath(path)).absolute()),), allow_process)

    @classmethod
    def plan(
        cls,
        problem: Problem,
        log: Any = None,
        *,
        directory: _Path,
        grid: Optional[Mapping[str, Any]] = None,
        runs: Sequence[Mapping[str, Any]] = (),
        seeds: _Numbers = 1,
        bootstrap: _Numbers = 0,
        logs: Union[None, Sequence[Any], Mapping[str, Any]] = None,
        allow_process: bool = False,
    ) -> Sweep:
        """Plans a sweep and checks every run of it; nothing is made. The arguments are those of :func:`fpsrl.sweep`."""
        _meant_problem(problem)
        if problem._simulator is not None:
            told = "a function is no world that the directories of a sweep can hold"
            raise ProblemError(told, remedy='give the simulator as a program: world={"process": ["python3", "simulator.py"]}')
        if log is not None and logs is not None:
            raise LogError("`log` and `logs` were both given", remedy="give one of the two")
        if isinstance(log, Log):
            told = "a sweep begins with the data themselves, and a Log was given"
            raise LogError(told, remedy="give the frame or the file that the log was made of")
        whole = Path(os.fspath(directory)).absolute()
        allowed = allow_process or problem._allowed
        written: dict[str, Any] = {
            "problem": problem._written,
            "runs": str(whole),
            "seeds": _plain(seeds),
            "bootstrap": _plain(bootstrap),
            "grid": _settings(grid or {}, every=True),
            "run": [_settings(run, every=False) for run in runs],
        }
        problem_path = problem._path if Path(problem._path).is_absolute() else str(Path(problem._path).absolute())
        path = str(whole.parent / "the sweep")
        if log is None and logs is None:
            problem._with(None)
            return cls._of((written, path, problem_path), allowed)
        # What is wrong with the settings is said before any log is written.
        cls._of((_on(written, problem, core.FRAME), path, problem_path), allowed)
        if log is not None:
            return cls._of((_on(written, problem, _files(problem, log, whole, "log")), path, problem_path), allowed)
        named = logs.items() if isinstance(logs, Mapping) else [(None, one) for one in logs or ()]
        files = [_files(problem, one, whole, name or f"log-{index + 1}") for index, (name, one) in enumerate(named)]
        return cls._of(({**written, "logs": files}, path, problem_path), allowed)

    @property
    def directory(self) -> Path:
        """Where the runs are, each a run directory of its name, with ``table.csv`` and ``sweep.html`` beside them."""
        return Path(self._core.directory)

    @property
    def names(self) -> list[str]:
        """The names of the runs that are planned."""
        return self._core.names

    @property
    def varied(self) -> list[str]:
        """The settings that are varied."""
        return self._core.varied

    def begin(self) -> dict[str, str]:
        """Makes the directory, and says of each run how it stands: ``"pending"``, ``"begun"``, ``"failed"`` or ``"finished"``."""
        return dict(zip(self.names, self._core.begin()))

    def execute(self, name: str, *, retry: bool = False, progress: Progress = None) -> str:
        """Makes one run, unless it is finished: ``"finished"``, ``"failed"``, or ``"elsewhere"`` if another process makes it.
        A failure is kept in the directory and raises nothing."""
        return self._core.execute(name, retry, listener(progress))

    def conduct(
        self,
        *,
        workers: Optional[int] = None,
        threads: Optional[int] = None,
        retry: bool = False,
        evaluator: Optional[Evaluator] = None,
        shared: bool = False,
        progress: Progress = None,
    ) -> Sweep:
        """Makes every run that is left, several at a time: on this machine's cores, or on the machines of an evaluator. With ``shared``,
        those see the directory of the runs at the same path, and work in it; else each is sent its run, and sends it back."""
        if evaluator is not None:
            if workers is not None or threads is not None:
                raise ValueError("`workers` and `threads` are of this machine: give them to the evaluator instead")
            self._core.conduct_on(_lent(evaluator, None), retry, shared, listener(progress))
            return self
        for what, number in (("workers", workers), ("threads", threads)):
            if number is not None and not 1 <= number <= 4096:
                raise ValueError(f"{what} is {number}; it is a number from 1 to 4096")
        self._core.conduct(workers, retry, threads, listener(progress))
        return self

    def gather(self) -> Sweep:
        """Reads what the directories hold by now, and writes the table and the page beside the runs."""
        self._core.gather()
        return self

    @property
    def table(self) -> list[dict[str, Any]]:
        """A row for each run: its settings, its outcome, its figures; ``None`` where there is none."""
        columns = self._core.table()
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def to_pandas(self) -> Any:
        """The table as a frame of pandas."""
        import pandas as pd

        return pd.DataFrame(self._core.table())

    def write_table(self, path: _Path) -> Path:
        """Writes the table to a file: CSV or Parquet, by its ending."""
        self._core.write_table(os.fspath(path))
        return Path(path)

    @property
    def failures(self) -> list[Failure]:
        """The runs that have failed, each with its message."""
        return [Failure(*one) for one in self._core.failures()]

    @property
    def best(self) -> Optional[Run]:
        """The run that promises most, of those that neither the judge nor the verdict refuses; ``None`` if none is finished."""
        name = self._core.best()
        return None if name is None else self.load(name)

    @property
    def explained(self) -> list[Explained]:
        """Of each setting that is varied: how much of the differences between the runs goes with it."""
        return [Explained(*one) for one in self._core.explained()]

    @property
    def recurring(self) -> list[Recurring]:
        """The rules that come back, those of most runs first."""
        return [Recurring(*one) for one in self._core.recurring()]

    def load(self, name: str) -> Run:
        """A run by its name."""
        return load_run(self._core.place(name), allow_process=self._allowed)

    def report(self, path: Optional[_Path] = None) -> str:
        """The page about all runs. It is returned, and written where a path says so; ``sweep.html`` in the directory has it too."""
        page = self._core.page()
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def __reduce__(self) -> Any:
        return Sweep._of, (self._given, self._allowed)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        told = f"Sweep({len(self)} runs in {str(self.directory)!r}"
        return visible(f"{told}, varying {', '.join(self.varied)})" if self.varied else f"{told})")

    def _repr_html_(self) -> str:
        from ._policy import escape

        rows = self.table
        shown = ["run", "outcome", "verdict", "promise", "promise_low", "promise_high", "true_return", "rules", "conditions"]
        shown = [name for name in shown if any(row[name] is not None for row in rows)]
        head = "".join(f"<th>{escape(name)}</th>" for name in shown)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_told(row[name]))}</td>" for name in shown) + "</tr>" for row in rows[:30]
        )
        more = f"<p>and {len(rows) - 30} more</p>" if len(rows) > 30 else ""
        return f"<p><b>{escape(repr(self))}</b></p><table><tr>{head}</tr>{body}</table>{more}"


def sweep(
    problem: Problem,
    log: Any = None,
    *,
    directory: _Path,
    grid: Optional[Mapping[str, Any]] = None,
    runs: Sequence[Mapping[str, Any]] = (),
    seeds: _Numbers = 1,
    bootstrap: _Numbers = 0,
    logs: Union[None, Sequence[Any], Mapping[str, Any]] = None,
    workers: Optional[int] = None,
    evaluator: Optional[Evaluator] = None,
    shared: bool = False,
    progress: Progress = None,
    retry: bool = False,
    allow_process: bool = False,
) -> Sweep:
    """Makes many runs of a problem, as ``fpsrl sweep`` does it: which settings matter, what is chance, which rules come back.

    Runs that are finished in the directory are not made again, so an interrupted sweep goes on with the same call. A run that fails
    is kept with its message, and does not stop the others.

    Args:
        problem: The problem.
        log: Whatever :class:`Log` takes; without it, the problem's own. A frame is written once, for all runs.
        directory: Where the runs belong.
        grid: Settings with the values of each; every combination is run. A setting is named by its path
            (``"policy.rules"``), or by its own name where only one section has it.
        runs: Single points besides the grid: dictionaries of settings, perhaps with a ``"name"``.
        seeds: How many, from 1 up; or which.
        bootstrap: How many draws of the log, whole episodes with replacement; or which, 0 being the log as it is.
        logs: Several logs of the same plant, by their names or in a list.
        workers: Runs at a time; without it, as many as there are cores.
        evaluator: Machines that make the runs, such as :class:`fpsrl.ray.Evaluator`. The runs are the same.
        shared: Whether those machines see the directory at the same path, and work in it.
        progress: See :data:`fpsrl.Progress`.
        retry: Try runs that have failed again.
        allow_process: Whether the program may be started, here or on those machines, that a problem from a file names as its
            world.

    >>> import fpsrl, tempfile
    >>> small = {"world": {"epochs": 3, "members": 2}, "search": {"budget": "20000 steps"}}
    >>> problem = fpsrl.Problem("mountain-car", samples=400, evaluation={"start_states": 5}, **small)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     found = fpsrl.sweep(problem, directory=f"{directory}/runs", grid={"rules": [1, 2]}, seeds=2)
    ...     [row["run"] for row in found.table if row["outcome"] == "finished"]
    ['rules=1,seed=1', 'rules=1,seed=2', 'rules=2,seed=1', 'rules=2,seed=2']
    """
    more: dict[str, Any] = {"grid": grid, "runs": runs, "seeds": seeds, "bootstrap": bootstrap, "logs": logs}
    more["allow_process"] = allow_process
    planned = Sweep.plan(problem, log, directory=directory, **more)
    return planned.conduct(workers=workers, retry=retry, evaluator=evaluator, shared=shared, progress=progress)


def _plain(numbers: _Numbers) -> Union[int, list[int]]:
    """A count, or a list of numbers."""
    given: Any = numbers
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return int(given)
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"{given!r} was given where a count or a list of numbers is meant")
    listed: Any = given
    return [int(number) for number in listed]


def _on(written: dict[str, Any], problem: Problem, files: Any) -> dict[str, Any]:
    """A sweep on a log in files."""
    if "plant" in problem._written:
        told = f"`{problem.name}` takes no log: a built-in plant is its own source of data"
        raise ProblemError(told, remedy="leave the log out; or state the problem with `states` and `actions` of your own")
    base = problem._written
    return {**written, "problem": {**base, "data": {**base.get("data", {}), "file": files}}}


def _files(problem: Problem, log: Any, directory: Path, name: str) -> list[str]:
    """The files of a log; one in memory is written."""
    if _frames.is_path(log):
        return _frames.paths(log)
    missing = problem._written.get("data", {}).get("missing", [])
    frames = _frames.frames(log, None, missing)
    return [str(file) for file in core.sweep_log(str(directory), name, frames)]


def _settings(given: Mapping[str, Any], *, every: bool) -> dict[str, Any]:
    """Settings by their paths; with ``every``, lists of values of each."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{type(given).__name__} was given where a dictionary of settings is meant")
    found: dict[str, Any] = {}
    for key, value in given.items():
        if isinstance(value, Mapping):
            inner = _settings({f"{key}.{name}": one for name, one in value.items()}, every=every)
            found.update(inner)
            continue
        path = key if key == "name" and not every else _path_of(key)
        if path == "search.budget":
            value = [_steps(one) for one in value] if every and isinstance(value, (list, tuple)) else _steps(value)
        if every and isinstance(value, range):
            value = list(value)
        found[path] = value
    return found


def _steps(budget: Any) -> Any:
    """A budget as a problem file has it: a whole number is one of model steps."""
    is_number = isinstance(budget, (int, float, np.integer, np.floating)) and not isinstance(budget, bool)
    return f"{int(budget)} steps" if is_number else budget


def _path_of(key: str) -> str:
    """The path of a setting that is named by itself."""
    if "." in key or key in _keys(""):
        return key
    if key in ("reward", "terminal"):
        return f"world.{key}"
    homes = [section for section in SECTIONS if key in _keys(section)]
    if len(homes) > 1:
        ways = " or ".join(f'"{section}.{key}"' for section in homes)
        raise ProblemError(f"`{key}` could be a setting of {' and '.join(homes)}", remedy=f"write {ways}", setting=key)
    return f"{homes[0]}.{key}" if homes else key


def _told(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
