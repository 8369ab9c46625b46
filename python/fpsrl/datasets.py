"""Data sets of offline reinforcement learning as columns: those of Minari, and those of d3rlpy.

Columns are called as in Minari's files: ``observations_0``, ``actions_0``, ``rewards``, ``terminations``,
``truncations``, ``episode``; the next state of a row stands beside it, as ``next_observations_0``. So
:meth:`fpsrl.Problem.draft` knows them. Of observations and actions that are dictionaries, each part is called after its
key: ``observations_arm_0``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from ._errors import LogError, Warning

Array = NDArray[Any]

#: More numbers than that in one observation are no measurements that rules could be read of.
_MOST = 512


def is_dataset(data: Any) -> bool:
    """Whether data are a data set of Minari or of d3rlpy, or episodes of one, or a single one of those."""
    if hasattr(data, "iterate_episodes") or (hasattr(data, "episodes") and hasattr(data, "transition_count")):
        return True
    if isinstance(data, (list, tuple)) and len(data) > 0:
        return all(_is_episode(one) for one in data)
    return _is_episode(data)


def _is_episode(one: Any) -> bool:
    # A frame has its columns as attributes, too.
    has_all = all(hasattr(one, name) for name in ("observations", "actions", "rewards"))
    return has_all and not hasattr(one, "columns") and not hasattr(one, "column_names")


def columns(
    data: Any, names: Optional[Sequence[str]] = None, actions: Optional[Sequence[str]] = None
) -> dict[str, Array]:
    """The columns of a data set, a row a transition.

    d3rlpy keeps no observation after the last step of an episode. Where that step ended the episode for good, its row
    has no next state, which an import leaves out and counts; a warning says so. Else the step itself is left out.

    Args:
        data: A ``minari.MinariDataset``, a d3rlpy ``ReplayBuffer`` or ``MDPDataset``, or a list of their episodes.
        names: What the observations are called, instead of ``observations_0`` and so on.
        actions: What the actions are called.

    >>> import types, fpsrl.datasets
    >>> episode = types.SimpleNamespace(
    ...     observations=[[1.0], [0.8], [0.7]], actions=[[0.2], [0.4]], rewards=[-0.2, -0.3], terminations=[0, 0],
    ...     truncations=[0, 1])
    >>> log = fpsrl.datasets.columns([episode], names=["level"], actions=["valve"])
    >>> log["level"].tolist(), log["next_level"].tolist(), log["valve"].tolist()
    ([1.0, 0.8], [0.8, 0.7], [0.2, 0.4])
    """
    if hasattr(data, "iterate_episodes"):
        episodes: Iterable[Any] = data.iterate_episodes()
    elif hasattr(data, "episodes"):
        episodes = data.episodes
    else:
        episodes = [data] if _is_episode(data) else data
    parts = [_transitions(episode, number) for number, episode in enumerate(episodes)]
    parts = [part for part in parts if len(part["rewards"]) > 0]
    if not parts:
        raise LogError("the data set holds no transition", remedy="give one that was recorded")
    for part in parts:
        if part.keys() != parts[0].keys():
            first, other = int(parts[0]["episode"][0]), int(part["episode"][0])
            told = f"episode {other} of the data set has other observations or actions than episode {first}"
            raise LogError(told, remedy="give data sets of different environments one by one")
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    titles = {kind: [key for key in joined if key.startswith(f"{kind}_")] for kind in ("observations", "actions")}
    called: dict[str, str] = {}
    for kind, given in (("observations", names), ("actions", actions)):
        if given is None:
            continue
        if isinstance(given, str) or len(given) != len(titles[kind]):
            count = 1 if isinstance(given, str) else len(given)
            told = f"{count} names were given for {len(titles[kind])} {kind}: {', '.join(titles[kind])}"
            raise LogError(told, remedy="give a list with a name for each, in this order")
        called.update(zip(titles[kind], given))
        if kind == "observations":
            called.update((f"next_{title}", f"next_{name}") for title, name in zip(titles[kind], given))
    named = {called.get(key, key): column for key, column in joined.items()}
    if len(named) != len(joined):
        raise LogError("two columns would have the same name", remedy="give names that differ from each other")
    lost = sum(_is_lost(part, titles["observations"][0]) for part in parts)
    if lost:
        told = (
            f"{lost} episodes ended for good, and the data set does not hold the states that they ended in: no world "
            "can learn from it when the plant stops, or what that earns"
        )
        remedy = 'say it as a formula, such as `terminal="level > 2.5"`'
        warnings.warn(Warning(f"{told}\nhint: {remedy}"), stacklevel=2)
    return named


def _is_lost(part: Mapping[str, Array], title: str) -> bool:
    """Whether the state that an episode ended in is not known."""
    last = part[f"next_{title}"][-1]
    return bool(part["terminations"][-1] and np.isnan(last) and not np.isnan(part[title][-1]))


def _transitions(episode: Any, number: int) -> dict[str, Array]:
    """The rows of an episode: each with its next state, so that nothing has to be guessed at its end."""
    rewards = _column(episode.rewards, number, "rewards")
    steps = len(rewards)
    observations = _flat(episode.observations, "observations", number, steps)
    acted = _flat(episode.actions, "actions", number, steps)
    terminations, truncations = np.zeros(steps), np.zeros(steps)
    if hasattr(episode, "terminations"):
        terminations = _column(episode.terminations, number, "terminations")
        if hasattr(episode, "truncations"):
            truncations = _column(episode.truncations, number, "truncations")
    elif steps:
        # d3rlpy says of the last step whether the plant had stopped for good.
        terminations[-1] = float(bool(getattr(episode, "terminated", False)))
        truncations[-1] = 1.0 - terminations[-1]
    count = len(next(iter(observations.values())))
    lengths = {
        "actions": len(next(iter(acted.values()))),
        "terminations": len(terminations),
        "truncations": len(truncations),
    }
    wrong = [f"{length} {what}" for what, length in lengths.items() if length != steps]
    # An episode without a step may hold nothing at all.
    if wrong or (count not in (steps, steps + 1) and steps > 0):
        told = f"episode {number} of the data set has {count} observations, {steps} rewards"
        remedy = "an episode has a reward and an action for each step, and an observation more or as many"
        raise LogError(", ".join([told, *wrong]), remedy=remedy)
    keep = steps
    following = {title: column[1 : steps + 1] for title, column in observations.items()}
    if count == steps:
        # What came after the last step is not known. That an episode was cut there is no loss; that the plant stopped
        # for good shows at least in the import's count of missing cells.
        keep = steps if steps and terminations[-1] else max(steps - 1, 0)
        unknown = np.full(keep - max(steps - 1, 0), np.nan)
        following = {title: np.concatenate([column, unknown]) for title, column in following.items()}
    rows: dict[str, Array] = {"episode": np.full(steps, float(number))}
    rows.update(observations)
    rows.update(acted)
    rows.update((f"next_{title}", column) for title, column in following.items())
    rows.update(rewards=rewards, terminations=terminations, truncations=truncations)
    return {title: column[:keep] for title, column in rows.items()}


def _column(values: Any, number: int, what: str) -> NDArray[np.float64]:
    """One number for each step."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LogError(f"episode {number} of the data set: {what} are not numbers: {error}") from None
    if array.ndim > 1 and array.size != len(array):
        told = f"episode {number} of the data set: {what} have the shape {array.shape}, and one number a step is needed"
        raise LogError(told, remedy="several rewards at once are not understood: add them up with their weights")
    return array.reshape(-1)


def _flat(values: Any, title: str, number: int, steps: int) -> dict[str, NDArray[np.float64]]:
    """Observations or actions as columns of numbers, whatever spaces they come from."""
    arrays: dict[str, NDArray[np.float64]] = {}
    place = 0
    for name, part in _parts(values, title, steps):
        array = _rows(part, name, title, number, steps)
        if name != title:
            # A part with a name of its own is counted by itself.
            arrays.update((f"{name}_{own}", array[:, own]) for own in range(array.shape[1]))
            continue
        for column in array.T:
            arrays[f"{title}_{place}"] = column
            place += 1
    if not arrays:
        told = f"episode {number} of the data set has no {title}"
        raise LogError(told, remedy="a controller needs observations and actions")
    return arrays


def _parts(values: Any, title: str, steps: int) -> Iterable[tuple[str, Any]]:
    """The arrays that observations or actions are made of: one, or those of a dictionary or a tuple of spaces."""
    if isinstance(values, Mapping):
        for key in values:
            yield from _parts(values[key], f"{title}_{key}", steps)
    elif isinstance(values, tuple) or (isinstance(values, list) and _is_tuple(values, steps)):
        for place, part in enumerate(values):
            # What has keys of its own is told from its like by its place.
            yield from _parts(part, f"{title}_{place}" if isinstance(part, Mapping) else title, steps)
    else:
        yield title, values


def _is_tuple(values: list[Any], steps: int) -> bool:
    """Whether a list holds arrays, each with a row for every step, as d3rlpy has tuples; not the rows themselves."""
    if not values or not all(isinstance(part, np.ndarray) and part.ndim > 0 for part in values):
        return False
    has_rows = all(len(part) - steps in (0, 1) for part in values)
    return has_rows and (len(values) - steps not in (0, 1) or any(part.ndim > 1 for part in values))


def _rows(values: Any, name: str, title: str, number: int, steps: int) -> NDArray[np.float64]:
    array = np.asarray(values)
    where = f"episode {number} of the data set, {name}"
    if array.dtype.kind in "USO" and array.size:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            told = f"{where}: these are not numbers, but {type(array.flat[0]).__name__}"
            raise LogError(told, remedy="leave them out: rules need measurements") from None
    if array.ndim == 0:
        raise LogError(f"{where}: a row for each step is needed", remedy="give arrays")
    width = int(np.prod(array.shape[1:]))
    if title == "observations" and ((array.dtype == np.uint8 and array.ndim >= 3) or width > _MOST):
        told = f"{where}: an observation has the shape {array.shape[1:]}, which is an image or the like"
        remedy = "rules need measurements: give a data set that was recorded with the state as its observations"
        raise LogError(told, remedy=remedy)
    return array.astype(np.float64).reshape(len(array), width)


def read_d3rlpy(
    path: Union[str, os.PathLike[str]], names: Optional[Sequence[str]] = None, actions: Optional[Sequence[str]] = None
) -> dict[str, Array]:
    """The columns of a file that d3rlpy's ``ReplayBuffer.dump`` wrote, or its version 1; d3rlpy is not needed."""
    file_name = os.fspath(path)
    try:
        import h5py
    except ImportError:
        told = f"{file_name}: files of d3rlpy are read with h5py, which is not installed"
        raise LogError(told, remedy="pip install h5py", file=file_name) from None
    try:
        file = h5py.File(file_name, "r")
    except FileNotFoundError:
        raise LogError(f"{file_name} cannot be read: there is no such file", remedy="check the path") from None
    except OSError as error:
        told = f"{file_name} is no file of d3rlpy: {error}"
        raise LogError(told, remedy="name a file that ReplayBuffer.dump wrote", file=file_name) from None
    with file:
        contents: Any = file
        if "num_episodes" in file and "columns" in file:
            count = int(contents["num_episodes"][()])
            return columns([_Dumped(file, place) for place in range(count)], names, actions)
        if all(key in file for key in ("observations", "actions", "rewards", "terminals")):
            return columns(_first_version(file), names, actions)
    told = f"{file_name} is no data set of d3rlpy"
    raise LogError(told, remedy="name a file that ReplayBuffer.dump wrote", file=file_name)


class _Dumped:
    """An episode in a file."""

    def __init__(self, file: Any, place: int) -> None:
        self.observations = _stored(file, "observations", place)
        self.actions = _stored(file, "actions", place)
        self.rewards = _stored(file, "rewards", place)
        self.terminated = bool(_stored(file, "terminated", place))


def _stored(file: Any, key: str, place: int) -> Any:
    """An array, or the arrays of a tuple, one after another."""
    if f"{key}_{place}" in file:
        return file[f"{key}_{place}"][()]
    parts: list[Any] = []
    while f"{key}_{place}_{len(parts)}" in file:
        parts.append(file[f"{key}_{place}_{len(parts)}"][()])
    if not parts:
        told = f"{file.filename}: episode {place} has no {key}"
        raise LogError(told, remedy="write the file again: it is not complete", file=str(file.filename))
    return tuple(parts)


class _Slice:
    """An episode out of arrays that hold all of them, one after another."""

    def __init__(self, arrays: Mapping[str, Array], rows: slice, terminated: bool) -> None:
        self.observations, self.actions, self.rewards = (
            arrays[key][rows] for key in ("observations", "actions", "rewards")
        )
        self.terminated = terminated


def _first_version(file: Any) -> list[_Slice]:
    arrays = {key: np.asarray(file[key][()]) for key in ("observations", "actions", "rewards", "terminals")}
    terminals = arrays["terminals"].reshape(-1) != 0
    ends = (
        terminals if "episode_terminals" not in file else terminals | (file["episode_terminals"][()].reshape(-1) != 0)
    )
    places = np.flatnonzero(ends).tolist()
    if len(terminals) and (not places or places[-1] != len(terminals) - 1):
        places.append(len(terminals) - 1)
    firsts = [0, *(place + 1 for place in places[:-1])]
    return [_Slice(arrays, slice(a, b + 1), bool(terminals[b])) for a, b in zip(firsts, places)]
