"""What is controlled, and the settings of every stage: a problem file as an object."""

from __future__ import annotations

import copy
import functools
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Optional, Union

import numpy as np

from . import _core, _frames
from ._errors import LogError, ProblemError
from ._events import Progress, listener

#: The sections of a problem file besides its first lines.
SECTIONS = ("data", "world", "policy", "search", "evaluation")

#: A simulator: states and actions, an array each with a row for each copy of the plant, to the next states, the rewards,
#: and, if it likes, whether each copy has stopped for good, and what that earns in every step from then on.
Simulator = Callable[..., Any]

_Variables = Union[None, Sequence[Any], Mapping[str, Any]]


class Problem:
    """What is controlled: states, actions, the reward, and how each stage works.

    The names of settings are those of a problem file; ``fpsrl generate mountain-car`` writes one with all of them. Settings
    of a section are given as its dictionary, or by their names with :meth:`replace`.

    Args:
        name: A built-in problem (``"mountain-car"``), or what the user's own is called.
        horizon: Steps that the controller looks ahead.
        states: The state variables: names, or names with their settings.
        actions: The actions, each with its limits or with its settings.
        inputs: What the controller sees and does not influence.
        reward: The reward as a formula of the variables; without it, the log has a column of it.
        terminal: When the plant stops for good, as a formula.
        simulator: A function that is the world; see :data:`Simulator`. Without it, the world is learned from a log.
        largest_reward: No reward of the simulator is larger.
        settings: All other keys of a problem file.

    >>> import fpsrl
    >>> problem = fpsrl.Problem(
    ...     "tank",
    ...     horizon=100,
    ...     states={"level": {"unit": "m", "start": [0.0, 2.0]}},
    ...     actions={"valve": (0.0, 1.0)},
    ...     reward="-abs(level - 1)",
    ... )
    >>> problem.states, problem.actions
    (['level'], ['valve'])
    """

    def __init__(
        self,
        name: Optional[str] = None,
        *,
        horizon: Optional[int] = None,
        states: _Variables = None,
        actions: _Variables = None,
        inputs: _Variables = None,
        reward: Optional[str] = None,
        terminal: Optional[str] = None,
        simulator: Optional[Simulator] = None,
        largest_reward: Optional[float] = None,
        **settings: Any,
    ) -> None:
        written: dict[str, Any] = {}
        given = dict(states=states, actions=actions, inputs=inputs, reward=reward, terminal=terminal, horizon=horizon)
        if name is not None:
            is_own = states is not None or actions is not None or "plant" in settings
            written["name" if is_own else "plant"] = name
        written = _merged(written, {key: value for key, value in given.items() if value is not None})
        written = _merged(written, settings)
        self._set(written, simulator=_with_largest(simulator, largest_reward), allowed=True)
        self._checked()

    def _set(
        self,
        written: dict[str, Any],
        path: str = "the problem",
        simulator: Optional[tuple[Simulator, float]] = None,
        found: Sequence[str] = (),
        unknown: Sequence[str] = (),
        text: Optional[str] = None,
        allowed: bool = False,
    ) -> None:
        self._written = written
        #: Whether the program may be started that is its world: whoever names it in code has asked for it.
        self._allowed = allowed
        self._path = path
        self._simulator = simulator
        #: What was found in the log that it was drafted from.
        self.found: list[str] = list(found)
        #: What could not be known, and what is still to be done.
        self.unknown: list[str] = list(unknown)
        #: The problem file as it was written, with its remarks; ``None`` if there was none.
        self.text: Optional[str] = text
        self._core: Optional[_core.Problem] = None

    @classmethod
    def _of(cls, written: dict[str, Any], **more: Any) -> Problem:
        problem = cls.__new__(cls)
        problem._set(written, **more)
        return problem

    @classmethod
    def from_toml(cls, source: Union[str, os.PathLike[str]], *, allow_process: bool = False) -> Problem:
        """A problem file: its path, or its text.

        A file may name a program that is the world (``process``), and that may do whatever you may. It is started only with
        ``allow_process``, here or where it would be started.

        >>> import fpsrl
        >>> fpsrl.Problem.from_toml('plant = "mountain-car"\\nhorizon = 100').horizon
        100
        """
        is_text = isinstance(source, str) and ("\n" in source or "=" in source)
        if is_text:
            text, path = str(source), "the problem"
        else:
            path = str(Path(os.fspath(source)).absolute())
            try:
                text = Path(path).read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise ProblemError(f"{path}: this is not text in UTF-8", file=path) from error
            except OSError as error:
                from ._errors import FileError

                told = f"{path} cannot be read: {error.strerror}"
                raise FileError(told, remedy="check the path", file=path) from error
        written = _core.parse_toml(text, path)
        # A problem is called after its file, as the command has it.
        if not is_text and "name" not in written and "plant" not in written:
            written["name"] = Path(path).stem
        problem = cls._of(written, path=path, text=text, allowed=allow_process)
        problem._checked()
        return problem

    @classmethod
    def draft(
        cls,
        log: Any,
        *,
        name: str = "log",
        states: Sequence[str] = (),
        actions: Sequence[str] = (),
        inputs: Sequence[str] = (),
        modes: Sequence[str] = (),
        tracks: Optional[Mapping[str, str]] = None,
        reward: Optional[str] = None,
        time: Optional[str] = None,
        episode: Optional[str] = None,
        terminal: Optional[str] = None,
        memory: Optional[str] = None,
    ) -> Problem:
        """A problem from a log, as ``fpsrl init`` drafts it: what was found is filled in, each thing with its reason.

        ``found`` and ``unknown`` of the draft say what was found and what could not be known; ``text`` is the problem file.
        What decides everything and is not sure, the action or the reward, stays open: then whoever uses the draft is told.
        Whatever you know already you name by its column; ``tracks`` are states with the set-points that they are to follow.
        ``memory`` is what reading a file may take, such as ``"4GB"``; frames have no such limit.
        """
        if not isinstance(tracks or {}, Mapping):
            raise TypeError(f"tracks: {tracks!r} was given where states with their set-points are meant: {{'T': 'T_set'}}")
        for role, title in (("reward", reward), ("time", time), ("episode", episode), ("terminal", terminal)):
            if title is not None and not isinstance(title, str):
                raise TypeError(f"{role}: {title!r} was given where the name of a column is meant")
        known = {
            "states": _titles("states", states),
            "actions": _titles("actions", actions),
            "inputs": _titles("inputs", inputs),
            "modes": _titles("modes", modes),
            "tracks": list((tracks or {}).items()),
            "reward": reward,
            "time": time,
            "episode": episode,
            "terminal": terminal,
        }
        if _frames.is_path(log):
            files = _frames.paths(log)
            directory = str(Path(files[0]).parent)
            text, found, unknown = _core.draft_files(list(files), directory, known, memory)
            path = str(Path(directory) / "problem.toml")
        else:
            text, found, unknown = _core.draft(_frames.frames(log), name, known)
            path = "the draft"
        return cls._of(_core.parse_toml(text, path), path=path, found=found, unknown=unknown, text=text)

    def replace(self, **changes: Any) -> Problem:
        """The same problem with other settings: those of a section by their own names, as far as only one section has them.
        ``None`` gives a setting its default. Variables that are there already keep whatever is not said of them.

        >>> import fpsrl
        >>> problem = fpsrl.Problem("mountain-car").replace(seed=3, rules=2, effort="quick", world={"members": 3})
        >>> problem.seed
        3
        """
        simulator = self._simulator
        if "simulator" in changes or "largest_reward" in changes:
            function, largest = simulator or (None, None)
            function = changes.pop("simulator", function)
            simulator = _with_largest(function, changes.pop("largest_reward", largest))
        text = None if changes else self.text
        more: dict[str, Any] = {"path": self._path, "simulator": simulator, "found": self.found, "unknown": self.unknown}
        in_code = "process" in changes or "process" in (changes.get("world") or {})
        more.update(text=text, allowed=self._allowed or in_code)
        problem = type(self)._of(_merged(copy.deepcopy(self._written), changes), **more)
        # What could be used stays usable; a draft may still lack what decides everything.
        if self._is_usable():
            problem._checked()
        return problem

    def _allowing(self, allow_process: bool) -> Problem:
        """The same problem, whose program may be started."""
        if self._allowed or not allow_process:
            return self
        problem = copy.copy(self)
        problem._allowed = True
        return problem

    def _is_usable(self) -> bool:
        try:
            self._checked()
        except (ProblemError, TypeError):
            return False
        return True

    def check(self, log: Any = None, *, progress: Progress = None) -> dict[str, Any]:
        """The state of the data before anything is learned, as ``fpsrl check --json`` prints it: what was found in the log,
        what was done about it, what it covers, and where the policy will have no data."""
        problem, frames = self._with(log)
        return dict(json.loads(_core.check(problem._checked(), frames, listener(progress))))

    def to_toml(self) -> str:
        """The complete problem file, each default written out."""
        return self._checked().to_toml()

    @property
    def name(self) -> str:
        """What it is called."""
        return self._checked().name

    @property
    def seed(self) -> int:
        """The seed of everything random: the same one gives the same policy, byte for byte."""
        return self._checked().seed

    @property
    def horizon(self) -> int:
        """Steps that the controller looks ahead."""
        return self._checked().horizon

    @property
    def discount(self) -> float:
        """How much less a reward counts with every step."""
        return self._checked().discount

    @property
    def states(self) -> list[str]:
        """The variables that rules see, in their order."""
        return [name for name, _, _ in self._checked().states]

    @property
    def actions(self) -> list[str]:
        """The actions, in their order."""
        return [name for name, _, _ in self._checked().actions]

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """The lowest and the highest value of each action."""
        return {name: (low, high) for name, _, (low, high) in self._checked().actions}

    @property
    def units(self) -> dict[str, str]:
        """The unit of each variable and action; may be empty."""
        core = self._checked()
        return {**{name: unit for name, unit, _ in core.states}, **{name: unit for name, unit, _ in core.actions}}

    def _checked(self) -> _core.Problem:
        """The problem as the stages take it."""
        if self._core is None:
            written = self._written
            data = written.get("data", {})
            is_own = "plant" not in written and "process" not in written.get("world", {}) and self._simulator is None
            if is_own and "file" not in data:
                # The log comes from memory, whenever it is given.
                written = {**written, "data": {**data, "file": _core.FRAME}}
            if self._simulator is not None:
                process = ["<function>", getattr(self._simulator[0], "__qualname__", type(self._simulator[0]).__name__)]
                written = {**written, "world": {**written.get("world", {}), "process": process}}
            simulator = None
            if self._simulator is not None:
                from ._simulator import arrays_of

                simulator = (arrays_of(self._simulator[0]), self._simulator[1])
            self._core = _core.Problem(written, self._path, simulator, self._allowed)
        return self._core

    def _with(self, log: Any) -> tuple[Problem, Optional[list[_frames.Frame]]]:
        """The problem for a log that is given, and its frames; files are named in the problem."""
        if log is None:
            checked = self._checked()
            if [str(file) for file in checked.files()] == [_core.FRAME]:
                told = f"`{checked.name}` needs a log, and none was given"
                raise LogError(told, remedy="give it: fpsrl.run(problem, log); or name its file: data={'file': 'log.csv'}")
            return self, None
        if _frames.is_path(log):
            return self.replace(data={"file": _frames.paths(log)}), None
        problem = self
        if "file" in self._written.get("data", {}):
            problem = self.replace(data={"file": _core.FRAME})
            problem.found, problem.unknown, problem.text = self.found, self.unknown, self.text
        core = problem._checked()
        if core.columns() is None:
            raise ProblemError(
                f"`{core.name}` takes no log: a built-in plant is its own source of data",
                remedy="leave the log out; or state the problem with `states` and `actions` of your own",
            )
        return problem, _frames.frames(log, core.columns(), core.missing())

    def __repr__(self) -> str:
        try:
            return f"Problem({self.name!r}, states={self.states}, actions={self.actions}, horizon={self.horizon})"
        except ValueError as error:
            return f"Problem(not usable yet: {getattr(error, 'message', error)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return self._written == other._written and self._simulator == other._simulator

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_core": None}


def _titles(what: str, given: Any) -> list[str]:
    """Names of columns: one, or several."""
    listed = [given] if isinstance(given, str) else list(given)
    for title in listed:
        if not isinstance(title, str):
            raise TypeError(f"{what}: {title!r} was given where the name of a column is meant")
    return listed


def _with_largest(simulator: Optional[Simulator], largest: Optional[float]) -> Optional[tuple[Simulator, float]]:
    if simulator is None:
        if largest is not None:
            raise ProblemError(
                "`largest_reward` was given without a simulator", remedy="give the function as `simulator`, or leave it out"
            )
        return None
    if not callable(simulator):
        raise TypeError(f"simulator: {type(simulator).__name__} was given where a function is meant")
    largest = getattr(simulator, "largest_reward", None) if largest is None else largest
    if largest is None:
        raise ProblemError(
            "`largest_reward` is missing: the search gives up candidates that can no longer win, by it",
            remedy="say what the best step can earn at most, such as `largest_reward=0.0` for a reward of costs",
        )
    return simulator, float(largest)


@functools.lru_cache(maxsize=None)
def _keys(section: str) -> frozenset[str]:
    return frozenset(_core.section_keys(section))


def _merged(written: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with others over them; what is ``None`` gets its default."""
    for key, value in changes.items():
        if key in ("states", "actions", "inputs"):
            known = {variable.get("name"): variable for variable in written.get(key[:-1]) or []}
            variables = [] if value is None else _variables(key, value)
            written[key[:-1]] = [{**known.get(one.get("name"), {}), **one} for one in variables] or None
        elif key in ("reward", "terminal"):
            written["world"] = {**written.get("world", {}), key: value}
        elif key == "budget" or (key == "search" and isinstance(value, Mapping) and "budget" in value):
            # A whole number is one of model steps.
            section = {"budget": value} if key == "budget" else dict(value)
            budget: Any = section["budget"]
            if isinstance(budget, (int, float, np.integer, np.floating)) and not isinstance(budget, bool):
                section["budget"] = f"{int(budget)} steps"
            written["search"] = {**written.get("search", {}), **section}
        elif key in SECTIONS:
            if value is None:
                value = dict.fromkeys(written.get(key, {}))
            if not isinstance(value, Mapping):
                raise TypeError(f"{key}: {type(value).__name__} was given where a dictionary of settings is meant")
            written[key] = {**written.get(key, {}), **value}
        elif key in _keys(""):
            written[key] = value
        else:
            _route(written, key, value)
    return _without_nothing(written)


def _without_nothing(settings: dict[str, Any]) -> dict[str, Any]:
    parts = ((key, _without_nothing(value) if isinstance(value, dict) else value) for key, value in settings.items())
    return {key: value for key, value in parts if value is not None and value != {}}


def _route(written: dict[str, Any], key: str, value: Any) -> None:
    """Puts a setting into the only section that has one of its name."""
    homes = [section for section in SECTIONS if key in _keys(section)]
    if len(homes) == 1:
        written[homes[0]] = {**written.get(homes[0], {}), key: value}
    elif homes:
        ways = " or ".join(f"{section}={{'{key}': …}}" for section in homes)
        raise ProblemError(f"`{key}` could be a setting of {' and '.join(homes)}", remedy=f"write {ways}", setting=key)
    else:
        import difflib

        known = sorted({name for section in ("", *SECTIONS) for name in _keys(section)} | {"states", "actions", "inputs"})
        near = difflib.get_close_matches(key, known, n=1)
        remedy = f"did you mean `{near[0]}`?" if near else "`problem.to_toml()` has every setting with what it means"
        raise ProblemError(f"there is no setting called `{key}`", remedy=remedy, setting=key)


def _variables(kind: str, given: Any) -> list[dict[str, Any]]:
    """Variables as a problem file has them."""
    if isinstance(given, str):
        given = [given]
    pairs = given.items() if isinstance(given, Mapping) else [(one, None) for one in given]
    variables: list[dict[str, Any]] = []
    for name, settings in pairs:
        if isinstance(name, Mapping):
            variables.append(dict(name))
        elif settings is None:
            variables.append({"name": name})
        elif isinstance(settings, Mapping):
            variables.append({"name": name, **settings})
        elif kind == "actions":
            variables.append({"name": name, "limits": [float(limit) for limit in settings]})
        elif isinstance(settings, str):
            variables.append({"name": name, "unit": settings})
        else:
            raise TypeError(f"{kind}: {settings!r} was given for `{name}` where a dictionary of settings is meant")
    return variables
