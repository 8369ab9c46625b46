"""Data sets of offline reinforcement learning as columns: those of Minari, and those of d3rlpy.

Columns are called as in Minari's files: ``observations_0``, ``actions_0``, ``rewards``, ``terminations``, ``truncations``,
``episode``; the next state of a row stands beside it, as ``next_observations_0``. So :meth:`fpsrl.Problem.draft` knows them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from ._errors import LogError

Array = NDArray[Any]


def is_dataset(data: Any) -> bool:
    """Whether data are a data set of Minari or of d3rlpy, or episodes of one."""
    if hasattr(data, "iterate_episodes") or (hasattr(data, "episodes") and hasattr(data, "transition_count")):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(_is_episode(one) for one in data)


def _is_episode(one: Any) -> bool:
    return all(hasattr(one, name) for name in ("observations", "actions", "rewards"))


def columns(data: Any, names: Optional[Sequence[str]] = None, actions: Optional[Sequence[str]] = None) -> dict[str, Array]:
    """The columns of a data set, a row a transition.

    Args:
        data: A ``minari.MinariDataset``, a d3rlpy ``ReplayBuffer`` or ``MDPDataset``, or a list of their episodes.
        names: What the observations are called, instead of ``observations_0`` and so on.
        actions: What the actions are called.
    """
    if hasattr(data, "iterate_episodes"):
        episodes: Iterable[Any] = data.iterate_episodes()
    else:
        episodes = data.episodes if hasattr(data, "episodes") else data
    parts = [_transitions(episode, number) for number, episode in enumerate(episodes)]
    parts = [part for part in parts if len(part["rewards"]) > 0]
    if not parts:
        raise LogError("the data set holds no transition", remedy="give one that was recorded")
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    flat: dict[str, Array] = {}
    for key, title, given in (
        ("observations", "observations", names),
        ("next_observations", "next_observations", None if names is None else [f"next_{name}" for name in names]),
        ("actions", "actions", actions),
    ):
        array = joined.pop(key)
        if given is not None and len(given) != array.shape[1]:
            raise LogError(f"{len(given)} names were given for {array.shape[1]} {title}", remedy="give a name for each")
        for place in range(array.shape[1]):
            flat[given[place] if given is not None else f"{title}_{place}"] = array[:, place]
    return {**flat, **joined}


def _transitions(episode: Any, number: int) -> dict[str, Array]:
    """The rows of an episode: each with its next state, so that nothing has to be guessed at its end."""
    observations, acted = _flat(episode.observations), _flat(episode.actions)
    rewards = np.asarray(episode.rewards, dtype=np.float64).reshape(-1)
    steps = len(rewards)
    terminations = np.zeros(steps)
    truncations = np.zeros(steps)
    if hasattr(episode, "terminations"):
        terminations = np.asarray(episode.terminations, dtype=np.float64).reshape(-1)
        truncations = np.asarray(episode.truncations, dtype=np.float64).reshape(-1)
    elif steps:
        # d3rlpy has an observation for each step, and says of the last one whether the plant had stopped for good.
        terminations[-1] = float(bool(getattr(episode, "terminated", False)))
        truncations[-1] = 1.0 - terminations[-1]
    if len(observations) == steps + 1:
        following = observations[1:]
        observations = observations[:-1]
    else:
        # What came after the last step is not known: a terminal state is said to stay, another last step is left out.
        keep = steps if steps and terminations[-1] else max(steps - 1, 0)
        following = np.concatenate([observations[1:], observations[-1:]])[:keep]
        observations, acted, rewards = observations[:keep], acted[:keep], rewards[:keep]
        terminations, truncations = terminations[:keep], truncations[:keep]
    return {
        "episode": np.full(len(rewards), float(number)),
        "observations": observations,
        "actions": acted[: len(rewards)],
        "next_observations": following,
        "rewards": rewards,
        "terminations": terminations,
        "truncations": truncations,
    }


def _flat(arrays: Any) -> Array:
    """Observations or actions as rows of numbers, whatever spaces they come from."""
    if isinstance(arrays, dict):
        return np.concatenate([_flat(arrays[key]) for key in arrays], axis=1)
    if isinstance(arrays, tuple):
        return np.concatenate([_flat(part) for part in arrays], axis=1)
    array = np.asarray(arrays, dtype=np.float64)
    return array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)


def read_d3rlpy(path: Union[str, os.PathLike[str]], **names: Any) -> dict[str, Array]:
    """The columns of a file that d3rlpy's ``ReplayBuffer.dump`` wrote; h5py reads it, d3rlpy is not needed."""
    import h5py

    class Episode:
        def __init__(self, file: Any, index: int) -> None:
            self.observations = file[f"observations_{index}"][()]
            self.actions = file[f"actions_{index}"][()]
            self.rewards = file[f"rewards_{index}"][()]
            self.terminated = bool(file[f"terminated_{index}"][()])

    with h5py.File(os.fspath(path), "r") as file:
        if "total_size" not in file:
            raise LogError(f"{os.fspath(path)} is no data set of d3rlpy", remedy="name a file that ReplayBuffer.dump wrote")
        count = int(file["total_size"][()])
        return columns([Episode(file, index) for index in range(count)], **names)
