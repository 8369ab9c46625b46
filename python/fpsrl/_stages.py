"""The stages of the method: a log, worlds that were learned from it, what a search has found, what was judged."""

from __future__ import annotations

import functools
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core as core
from ._errors import LogError, ProblemError, RunError, visible
from ._events import Progress, listener
from ._policy import Export, Policy, _export
from ._problem import Problem, Simulator, _with_largest

if TYPE_CHECKING:
    from .ray import Evaluator

_Path = Union[str, "os.PathLike[str]"]


def _of_core(inner: core.Problem, like: Problem) -> Problem:
    """A problem as a stage has completed it."""
    problem = Problem._of(core.parse_toml(inner.to_toml(), like._path), path=like._path, simulator=like._simulator)
    problem._allowed = like._allowed
    problem._core = inner
    return problem


class _Lasting:
    """What never changes: copies are the thing itself."""

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class _Saved(_Lasting):
    """What crosses processes as the files of the run directory that it can be saved in."""

    _problem: Problem

    def save(self, directory: _Path, *, force: bool = False) -> Path:
        raise NotImplementedError

    def __reduce__(self) -> Any:
        with tempfile.TemporaryDirectory() as parent:
            packed = _packed(self.save(Path(parent) / "run"))
        return _unpacked, (packed, *(self._problem._simulator or (None, None)), self._problem._allowed)


def _unpack(packed: bytes, directory: _Path) -> None:
    """Makes a directory of what :func:`_packed` made of one."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(directory)


def _packed(directory: _Path) -> bytes:
    """The files of a run directory in one piece: so artefacts cross processes."""
    directory = Path(directory)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in sorted(path for path in directory.rglob("*") if path.is_file()):
            archive.write(file, file.relative_to(directory))
    return packed.getvalue()


def _unpacked(
    packed: bytes, simulator: Optional[Simulator], largest: Optional[float], allowed: bool = False
) -> Union[Run, Worlds, Log]:
    with tempfile.TemporaryDirectory() as parent:
        directory = Path(parent) / "run"
        _unpack(packed, directory)
        loaded = load(directory, simulator=simulator, largest_reward=largest, allow_process=allowed)
        if isinstance(loaded, Worlds):
            # Its members are made while the files are there.
            len(loaded)
        return loaded


class Log(_Saved):
    """What the machine did, ready to be learned from.

    Args:
        problem: The problem.
        data: A frame of pandas, polars or Arrow, a dictionary of arrays, a data set of Minari or d3rlpy, the path of a file;
            or a list of those, in the order of time. Without it, the problem's own: its file, its plant, its simulator.
        progress: See :data:`fpsrl.Progress`.
        allow_process: Whether the program may be started that a problem from a file names as its world.

    >>> import fpsrl
    >>> log = fpsrl.Log(fpsrl.Problem("mountain-car", samples=400))
    >>> len(log), list(log.to_dict())[2:5]
    (400, ['position', 'velocity', 'force'])
    """

    def __init__(
        self, problem: Problem, data: Any = None, *, progress: Progress = None, allow_process: bool = False
    ) -> None:
        problem, frames = problem._allowing(allow_process)._with(data)
        self._core = core.Log(problem._checked(), frames, listener(progress))
        self._problem = problem

    @classmethod
    def _of(cls, inner: core.Log, problem: Problem) -> Log:
        log = cls.__new__(cls)
        log._core, log._problem = inner, problem
        return log

    @property
    def problem(self) -> Problem:
        """The problem, with what was chosen by the log: history, ranges, start states."""
        return _of_core(self._core.problem, self._problem)

    @property
    def report(self) -> Optional[dict[str, Any]]:
        """What was found in the log, and what it covers; ``None`` if it was generated."""
        text = self._core.report()
        return None if text is None else dict(json.loads(text))

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """The transitions, an array for each column of ``transitions.csv``."""
        return self._core.columns()

    def to_pandas(self) -> Any:
        """The transitions as a frame of pandas."""
        import pandas as pd

        return pd.DataFrame(self.to_dict())

    def save(self, directory: _Path, *, force: bool = False) -> Path:
        """Makes a run directory of it, on which ``fpsrl fit`` can work."""
        self._core.save(os.fspath(directory), force)
        return Path(directory)

    def ranges(self) -> dict[str, tuple[float, float]]:
        """What the log covers of each variable: nearly all of its values."""
        columns = self.to_dict()
        names = [name for name in columns if f"next_{name}" in columns]
        ranges = {name: np.quantile(columns[name], [0.005, 0.995]).tolist() for name in names}
        return {name: (low, high) for name, (low, high) in ranges.items() if low < high}

    def __len__(self) -> int:
        return len(self._core)

    def __repr__(self) -> str:
        return f"Log({len(self):,} transitions of {self._problem.name!r})"


class Step(NamedTuple):
    """One step of many copies of a plant."""

    next_states: NDArray[np.float64]
    rewards: NDArray[np.float64]
    #: Which copies have stopped for good.
    terminated: NDArray[np.bool_]
    #: What those earn in every step from then on.
    later_rewards: NDArray[np.float64]


class Worlds(_Saved):
    """Worlds that were learned from a log, or a simulator: what rules are searched on.

    :func:`fpsrl.fit` makes them.
    """

    _core: core.Worlds
    _problem: Problem

    @classmethod
    def _of(cls, inner: core.Worlds, problem: Problem) -> Worlds:
        worlds = cls.__new__(cls)
        worlds._core, worlds._problem = inner, problem
        return worlds

    @property
    def problem(self) -> Problem:
        """The problem, with the settings that they were learned with."""
        return _of_core(self._core.problem, self._problem)

    @property
    def log(self) -> Log:
        """The log that they were learned from."""
        return Log._of(self._core.log, self._problem)

    @property
    def verdict(self) -> Optional[dict[str, Any]]:
        """How far they can be trusted, as ``world.json`` has it; ``None`` of a simulator."""
        text = self._core.verdict()
        return None if text is None else dict(json.loads(text))

    @property
    def summary(self) -> dict[str, Any]:
        """The figures so far, as ``summary.json`` has them."""
        return dict(json.loads(self._core.summary()))

    @property
    def states(self) -> list[str]:
        """The variables of a state, in the order of :meth:`step`: what rules see comes first, then what the plant needs
        besides."""
        return list(self._core.states[0])

    @property
    def seen(self) -> int:
        """How many variables rules see: the first of :attr:`states`."""
        return self._core.states[1]

    def __len__(self) -> int:
        """The members of the ensemble."""
        return self._core.count

    def starts(self, count: int, *, of: str = "search", first: int = 0) -> NDArray[np.float64]:
        """Start states, a row each: those of the ``"search"``, of its ``"judge"``, or of the ``"evaluation"``."""
        if of not in ("search", "judge", "evaluation"):
            raise ValueError(f"of is {of!r}; it is 'search', 'judge' or 'evaluation'")
        if count < 0 or first < 0:
            raise ValueError(f"{count} start states from number {first} on were asked for; neither can be below 0")
        return self._core.starts(of, first, count)

    def step(self, states: ArrayLike, actions: ArrayLike, *, member: int = 0) -> Step:
        """One step of a member from states and under actions, a row for each copy of the plant.

        >>> import fpsrl
        >>> problem = fpsrl.Problem("mountain-car", samples=400, world={"epochs": 3, "members": 2})
        >>> worlds = fpsrl.fit(problem)
        >>> step = worlds.step(worlds.starts(5), [[1.0]] * 5)
        >>> step.next_states.shape, step.rewards.shape
        ((5, 2), (5,))
        """
        given = [_rows(states, "states"), _rows(actions, "actions")]
        return Step(*self._core.step(given[0], given[1], member))

    def rollout(self, policy: Policy, starts: ArrayLike, steps: int, *, member: int = 0) -> dict[str, NDArray[np.float64]]:
        """Lets rules drive copies of the plant: ``states`` of shape (steps + 1, copies, variables), ``actions``, ``rewards``."""
        state = _rows(starts, "starts")
        states, actions, rewards = [state], [], []
        ended = np.zeros(len(state), dtype=bool)
        later = np.zeros(len(state))
        for _ in range(steps):
            action = policy.act(state[:, : self.seen])
            step = self.step(state, action, member=member)
            state = np.where(ended[:, None], state, step.next_states)
            rewards.append(np.where(ended, later, step.rewards))
            later = np.where(ended, later, step.later_rewards)
            ended = ended | step.terminated
            states.append(state)
            actions.append(action)
        return {"states": np.stack(states), "actions": np.stack(actions), "rewards": np.stack(rewards)}

    def judge(self, policy: Policy, *, progress: Progress = None, **settings: Any) -> Run:
        """Scores rules from elsewhere, such as an expert's: their variables are matched by their names."""
        _meant(policy, Policy, "policy", "build it: fpsrl.Policy.for_problem(problem, rules)")
        inner = self._core.judge(policy._core, self._settings(settings), listener(progress))
        return Run._of(inner, self._problem)

    def _settings(self, settings: Mapping[str, Any]) -> core.Problem:
        """The problem with other settings of the search or the evaluation."""
        if not settings:
            return self._core.problem
        return self.problem.replace(**settings)._checked()

    def save(self, directory: _Path, *, force: bool = False) -> Path:
        """Makes a run directory of them and their log, on which ``fpsrl search`` can work."""
        self._core.save(os.fspath(directory), force)
        return Path(directory)

    def __repr__(self) -> str:
        return f"Worlds({len(self)} of {self._problem.name!r})"


def _rows(values: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what}: no array of numbers can be made of them: {error}") from None
    if array.ndim != 2:
        raise ValueError(f"{what} have the shape {array.shape}; give a row for each copy of the plant")
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{what}: row {row}, column {column} is {array[row, column]}")
    return array


class Found(_Lasting):
    """What a search has found. :meth:`judge` chooses of it what keeps its promise.

    :func:`fpsrl.search` makes it.
    """

    _core: core.Found
    _problem: Problem

    @classmethod
    def _of(cls, inner: core.Found, problem: Problem) -> Found:
        found = cls.__new__(cls)
        found._core, found._problem = inner, problem
        return found

    @property
    def best(self) -> Policy:
        """The best policy by the search's own count."""
        return Policy._of(self._core.best[0])

    @property
    def best_return(self) -> float:
        """What that earns from the search's own start states, on average."""
        return self._core.best[1]

    @property
    def front(self) -> list[tuple[Policy, float]]:
        """The policies of which none is both simpler and better, with what each earns; empty if they were not searched."""
        return [(Policy._of(inner), value) for inner, value in self._core.front()]

    @property
    def records(self) -> list[dict[str, Any]]:
        """How the search went, a row a round, as ``search.csv`` has it."""
        return _records(self._core.records())

    @property
    def worlds(self) -> Worlds:
        """The worlds that it was searched on."""
        return Worlds._of(self._core.worlds, self._problem)

    def judge(self, *, progress: Progress = None, **settings: Any) -> Run:
        """Chooses the first candidate that keeps its promise, and scores it where it had not been searched."""
        problem = None
        if settings:
            problem = _of_core(self._core.problem, self._problem).replace(**settings)._checked()
        return Run._of(self._core.judge(problem, listener(progress)), self._problem)

    def __repr__(self) -> str:
        return f"Found({self.best!r}, earning {self.best_return:.4g})"


def _records(rows: list[Any]) -> list[dict[str, Any]]:
    names = ("iteration", "best", "mean", "model_steps", "seconds", "stage")
    return [dict(zip(names, row)) for row in rows]


class Promise(NamedTuple):
    """What a policy is expected to earn, and the interval that it should stay in."""

    mean: float
    low: float
    high: float


class Run(_Saved):
    """Rules, what they promise, and everything that they were made from.

    :func:`fpsrl.run` makes it, and so do :meth:`Found.judge`, :meth:`Worlds.judge` and :func:`fpsrl.load`.
    """

    _core: core.Judged
    _problem: Problem

    @classmethod
    def _of(cls, inner: core.Judged, problem: Problem) -> Run:
        run = cls.__new__(cls)
        run._core, run._problem = inner, problem
        return run

    @functools.cached_property
    def policy(self) -> Policy:
        """The rules."""
        return Policy._of(self._core.policy, self.log.ranges())

    @functools.cached_property
    def summary(self) -> dict[str, Any]:
        """Every figure, as ``summary.json`` has them."""
        return dict(json.loads(self._core.summary()))

    @property
    def verdict(self) -> Optional[str]:
        """``"go"``, ``"careful"`` or ``"no-go"``: whether the rules are better than what the plant does today; ``None`` where
        nothing was learned."""
        verdict = self.summary.get("verdict")
        return None if verdict is None else str(verdict["word"])

    @property
    def reason(self) -> str:
        """Why the verdict is what it is; empty without one."""
        return str((self.summary.get("verdict") or {}).get("reason", ""))

    @property
    def signs(self) -> list[str]:
        """Signs of trouble: what does not fit together in the figures."""
        return [str(sign) for sign in self.summary.get("signs") or []]

    @property
    def promise(self) -> Promise:
        """What the rules promise: their mean return on the worlds, and its interval."""
        promise = self.summary["promise"]
        low, high = promise["interval"]
        return Promise(promise["return"], low, high)

    @property
    def records(self) -> list[dict[str, Any]]:
        """How the search went; empty for rules from elsewhere."""
        return _records(self._core.records())

    @property
    def front(self) -> Optional[list[tuple[Policy, dict[str, Any]]]]:
        """The policies of which none is both simpler and better, each with its figures, if they were searched."""
        front = self._core.front()
        if front is None:
            return None
        points = json.loads(front[0])["points"]
        return [(Policy._of(inner), dict(point)) for inner, point in zip(front[1], points)]

    @property
    def worlds(self) -> Worlds:
        """The worlds that it was judged on."""
        return Worlds._of(self._core.worlds, self._problem)

    @property
    def log(self) -> Log:
        """The log that the worlds were learned from."""
        return self.worlds.log

    @property
    def problem(self) -> Problem:
        """The problem, with the settings of every stage that led here."""
        return _of_core(self._core.problem, self._problem)

    @property
    def directory(self) -> Optional[Path]:
        """The run directory that it stands in, if it was made or loaded there."""
        directory = self._core.directory
        return None if directory is None else Path(directory)

    def explain(self) -> list[str]:
        """The rules as sentences."""
        return self.policy.explain()

    def report(self, path: Optional[_Path] = None, *, progress: Progress = None) -> str:
        """The page about it: the verdict, the rules to play with, where they are weak, and the evidence. It is returned, and
        written where a path says so."""
        page, _, _ = self._core.report(None, listener(progress))
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def simplified(self, tolerance: Optional[float] = None) -> Policy:
        """The rules without the conditions that do not matter; they may lose ``tolerance``, a share of what they gain."""
        _, simple, _ = self._core.report(tolerance)
        return self.policy if simple is None else Policy._of(simple, self.log.ranges())

    def svg(self) -> str:
        """The rules as a picture, above what the log covers."""
        return self._core.svg()

    def plot(self, ax: Any = None) -> Any:
        """Draws the rules with matplotlib; see :meth:`Policy.plot`."""
        return self.policy.plot(ax)

    def export(
        self,
        to: str,
        path: _Path,
        *,
        name: Optional[str] = None,
        guard: Optional[str] = None,
        **options: Any,
    ) -> Export:
        """Writes the controller for another machine, guarded by what the log covered, with test vectors and a certificate.

        Args:
            to: ``"c"``, ``"st"``, ``"python"``, ``"javascript"``, ``"rust"``, ``"onnx"``, ``"fll"``, ``"fcl"``, ``"fis"``,
                ``"json"``.
            path: The main file.
            name: What the controller is called; without it, as the problem.
            guard: What it does outside of the log: ``"clamp"`` (the default), ``"flag"``, ``"hold"``, ``"fallback"``,
                ``"off"``.
            options: ``single`` (numbers of 32 bits), ``dialect`` (``"siemens"``), ``own_mathematics``, ``fallback`` and
                ``rate_limits`` by the action's name, ``provenance``, ``force`` (replace what is there).
        """
        return Export._of(self._core.export(_export(to, path, name, guard, **options)))

    def save(self, directory: _Path, *, force: bool = False, progress: Progress = None) -> Path:
        """Makes a run directory of it: the files that the command writes. A run that was loaded is copied as it stands."""
        self._core.save(os.fspath(directory), force, listener(progress))
        return Path(directory)

    def _repr_html_(self) -> str:
        from ._policy import escape

        promise = self.promise
        head = f"{escape(self._problem.name)}: {escape((self.verdict or 'no verdict').upper())}"
        told = f"promises {promise.mean:.4g} ({promise.low:.4g} to {promise.high:.4g})"
        told += "".join(f"<br>{escape(reason)}" for reason in [self.reason, *self.signs] if reason)
        return f"<p><b>{head}</b>, {told}</p>{self.policy._repr_html_()}"

    def __repr__(self) -> str:
        promise = self.promise
        told = f"{promise.mean:.4g} ({promise.low:.4g} to {promise.high:.4g})"
        return f"Run({self._problem.name!r}, {self.verdict or 'no verdict'}, promises {told})"

    def __str__(self) -> str:
        return "\n".join(visible(line) for line in [repr(self), *filter(None, [self.reason]), *self.signs, *self.explain()])


def _meant(given: Any, kind: type[Any], what: str, how: str) -> None:
    """Refuses what is no such thing, with how one is had."""
    if not isinstance(given, kind):
        _refuse(given, kind.__name__, what, how)


def _refuse(given: Any, kind: str, what: str, how: str) -> NoReturn:
    raise TypeError(f"{what}: {type(given).__name__} was given where a {kind} is meant\nhint: {how}")


def _meant_problem(given: Any) -> None:
    _meant(given, Problem, "problem", 'make one: fpsrl.Problem("mountain-car"), or fpsrl.Problem.draft(frame)')


def _log(problem: Problem, data: Any, progress: Progress) -> Log:
    _meant_problem(problem)
    if isinstance(data, Log):
        return data
    return Log(problem, data, progress=progress)


class _Lent:
    """An evaluator that is told which problem worlds and logs are of, with whatever function is its world."""

    def __init__(self, evaluator: Evaluator, problem: Optional[Problem]) -> None:
        if not hasattr(evaluator, "_searching"):
            _refuse(evaluator, "Evaluator", "evaluator", "make one: fpsrl.ray.Evaluator()")
        self._evaluator, self._problem = evaluator, problem

    def _searching(self, inner: core.Worlds) -> Any:
        worlds = None if self._problem is None else Worlds._of(inner, self._problem)
        return self._evaluator._searching(inner, worlds)

    def _learning(self, inner: core.Log, text: str) -> Any:
        log = None if self._problem is None else Log._of(inner, self._problem)
        return self._evaluator._learning(inner, text, log)

    def _sweeping(self, sweep: core.Sweep, names: list[str], shared: bool) -> Any:
        return self._evaluator._sweeping(sweep, names, shared)


def _lent(evaluator: Optional[Evaluator], problem: Optional[Problem]) -> Optional[_Lent]:
    return None if evaluator is None else _Lent(evaluator, problem)


def fit(
    problem: Problem,
    log: Any = None,
    *,
    evaluator: Optional[Evaluator] = None,
    progress: Progress = None,
    allow_process: bool = False,
) -> Worlds:
    """Learns worlds: an ensemble, a judge from episodes that no member sees, and the verdict on them.

    Args:
        problem: The problem.
        log: A :class:`Log`, or whatever one can be made of. Without it, the problem's own.
        evaluator: Machines that train the networks, such as :class:`fpsrl.ray.Evaluator`. The worlds are the same.
        progress: See :data:`fpsrl.Progress`.
        allow_process: Whether the program may be started that a problem from a file names as its world.
    """
    _meant_problem(problem)
    problem = problem._allowing(allow_process)
    made = _log(problem, log, progress)
    checked = problem._checked() if isinstance(log, Log) else None
    inner = made._core.fit(checked, listener(progress), _lent(evaluator, made._problem))
    return Worlds._of(inner, made._problem._allowing(problem._allowed))


def search(
    worlds: Worlds,
    *,
    begin_with: Optional[Policy] = None,
    checkpoint: Any = None,
    evaluator: Optional[Evaluator] = None,
    progress: Progress = None,
    **settings: Any,
) -> Found:
    """Searches rules on worlds.

    Ctrl-C ends it within a second and raises :class:`fpsrl.Interrupted`, whose ``checkpoint`` has where it stood.

    Args:
        worlds: The worlds.
        begin_with: Rules that it begins with.
        checkpoint: Where an interrupted search stood: it goes on, and finds what an uninterrupted one finds.
        evaluator: Machines that score candidates, such as :class:`fpsrl.ray.Evaluator`. The rules are the same.
        progress: See :data:`fpsrl.Progress`.
        settings: Settings of the policy and of the search, such as ``rules=3, effort="quick"``.
    """
    _meant(worlds, Worlds, "worlds", "make some: fpsrl.fit(problem, log)")
    inner = worlds._core.search(
        worlds._settings(settings),
        None if begin_with is None else begin_with._core,
        checkpoint,
        listener(progress),
        _lent(evaluator, worlds._problem),
    )
    return Found._of(inner, worlds._problem)


def run(
    problem: Problem,
    log: Any = None,
    *,
    directory: Optional[_Path] = None,
    force: bool = False,
    evaluator: Optional[Evaluator] = None,
    progress: Progress = None,
    allow_process: bool = False,
    **settings: Any,
) -> Run:
    """The whole method, from a log to a judged policy, as ``fpsrl run`` does it.

    Args:
        problem: The problem.
        log: Whatever :class:`Log` takes; without it, the problem's own.
        directory: A run directory to work in. There, whatever ends a search leaves a checkpoint, and :func:`fpsrl.resume`
            goes on. Without it, nothing is written.
        force: Whether an old run in that directory gives way.
        evaluator: Machines that train networks and score candidates, such as :class:`fpsrl.ray.Evaluator`.
        progress: See :data:`fpsrl.Progress`.
        allow_process: Whether the program may be started that a problem from a file names as its world. One that is named in
            code is asked for already.
        settings: Other settings, as :meth:`Problem.replace` takes them.
    """
    _meant_problem(problem)
    problem = (problem.replace(**settings) if settings else problem)._allowing(allow_process)
    if directory is None:
        worlds = fit(problem, log, evaluator=evaluator, progress=progress)
        return search(worlds, evaluator=evaluator, progress=progress).judge(progress=progress)
    if problem._simulator is not None:
        told = "a function is no world that a directory can hold"
        raise ProblemError(told, remedy="leave the directory out; `run.save(directory)` keeps what was found")
    if isinstance(log, Log):
        told = "a run in a directory begins with the data themselves, and a Log was given"
        raise LogError(told, remedy="give the frame or the file that the log was made of")
    problem, frames = problem._with(log)
    lent = _lent(evaluator, problem)
    inner = core.run_in(problem._checked(), frames, os.fspath(directory), force, listener(progress), lent)
    return Run._of(inner, problem)


def resume(
    directory: _Path,
    *,
    evaluator: Optional[Evaluator] = None,
    progress: Progress = None,
    allow_process: bool = False,
) -> Run:
    """Goes on with an interrupted run, and finds what an uninterrupted one finds; with other machines than before, too.

    A run whose world is a program starts it only with ``allow_process``: it may do whatever you may.
    """
    problem = _in(directory, allow_process)
    inner = core.resume(os.fspath(directory), listener(progress), _lent(evaluator, problem), allow_process)
    return Run._of(inner, problem)


def load(
    directory: _Path,
    *,
    simulator: Optional[Simulator] = None,
    largest_reward: Optional[float] = None,
    allow_process: bool = False,
) -> Union[Run, Worlds, Log]:
    """Loads what a run directory holds: a :class:`Run`; or, where there is none yet, its :class:`Worlds` or its :class:`Log`.

    A run whose world was a function needs that function again, as ``simulator``. One whose world is a program starts it only with
    ``allow_process``: it may do whatever you may, so look at ``process`` in the problem.toml of someone else's run first.
    """
    given = _with_largest(simulator, largest_reward)
    if given is not None:
        from ._simulator import arrays_of

        given = (arrays_of(given[0]), given[1])
    judged, worlds, log = core.load(os.fspath(directory), given, allow_process)
    problem = _in(directory, allow_process)
    if judged is not None:
        return Run._of(judged, problem)
    return Log._of(log, problem) if worlds is None else Worlds._of(worlds, problem)


def load_run(directory: _Path, **given: Any) -> Run:
    """The same, for whoever needs a :class:`Run`: refused where no policy was judged yet."""
    loaded = load(directory, **given)
    if not isinstance(loaded, Run):
        told = f"{os.fspath(directory)} holds no judged policy yet"
        raise RunError(told, remedy=f"`fpsrl.resume({os.fspath(directory)!r})` goes on", file=os.fspath(directory))
    return loaded


def _in(directory: _Path, allow_process: bool = False) -> Problem:
    return Problem.from_toml(Path(directory) / "problem.toml", allow_process=allow_process)
