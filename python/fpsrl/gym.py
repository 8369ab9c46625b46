"""Worlds as environments of Gymnasium, and environments of Gymnasium as worlds.

:class:`WorldEnv` and :class:`WorldVectorEnv` let other people's algorithms learn on worlds that were learned from a
log. :class:`Simulator` and :func:`problem_of` let rules be searched on an environment. All of it works with Gymnasium
0.29 or later, :class:`WorldVectorEnv` and vector environments of one piece with 1.0 or later.

``gymnasium.make("fpsrl.gym:fpsrl/World-v0", worlds=worlds)`` and ``gymnasium.make_vec`` of the same make them, too.
"""

from __future__ import annotations

import dataclasses
import io
import re
import tempfile
import threading
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.envs.registration import EnvSpec
    from gymnasium.utils import seeding
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError("fpsrl.gym needs gymnasium, which is not installed\nhint: pip install 'fpsrl[gym]'") from error

from ._errors import ProblemError
from ._problem import Problem
from ._stages import Run, Worlds, load

if TYPE_CHECKING:
    _Env = gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]
    _VectorEnv = gymnasium.vector.VectorEnv[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]
else:
    _Env = gymnasium.Env
    _VectorEnv = gymnasium.vector.VectorEnv

__all__ = ["Simulator", "WorldEnv", "WorldVectorEnv", "problem_of"]

#: What the environments are registered as.
ID = "fpsrl/World-v0"

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
_Starts = Union[int, ArrayLike]
_Given = Union[Worlds, Run, "_Shared"]

#: Whether the installed Gymnasium has vector environments that reset themselves on the next step.
_IS_MODERN = not issubclass(gymnasium.vector.VectorEnv, gymnasium.Env)

_LATER = ("sum", "steps", "none")

#: Observations stay finite, whatever becomes of a world: these are the numbers of 32 bits that are farthest from zero.
_FAR = float(np.finfo(np.float32).max)


class _Shared:
    """Worlds that copies of an environment share: nothing changes them. They cross processes as the files of a run."""

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds

    def __deepcopy__(self, memo: Any) -> _Shared:
        return self

    def __reduce__(self) -> Any:
        worlds = self.worlds
        packed = io.BytesIO()
        with tempfile.TemporaryDirectory() as directory:
            root = worlds.save(Path(directory) / "worlds")
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for file in sorted(path for path in root.rglob("*") if path.is_file()):
                    archive.write(file, file.relative_to(root))
        function, largest = worlds._problem._simulator or (None, None)
        return _unpacked, (packed.getvalue(), function, largest)


def _unpacked(packed: bytes, simulator: Any, largest: Optional[float]) -> _Shared:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "worlds"
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(root)
        worlds = load(root, simulator=simulator, largest_reward=largest)
        assert isinstance(worlds, Worlds)
        # Its members are made while the files are there.
        len(worlds)
    return _Shared(worlds)


def _shared(given: Any) -> _Shared:
    if isinstance(given, _Shared):
        return given
    if isinstance(given, Run):
        return _Shared(given.worlds)
    if isinstance(given, Worlds):
        return _Shared(given)
    raise TypeError(
        f"worlds: {type(given).__name__} was given where worlds are meant\nhint: give `fpsrl.fit(…)` or a run"
    )


class _Plant:
    """What the environments know about their worlds: where episodes start, how they go on, when they end."""

    def __init__(
        self,
        worlds: Any,
        member: Union[int, str],
        of: str,
        starts: _Starts,
        max_episode_steps: Optional[int],
        later_rewards: str,
    ) -> None:
        self.shared = _shared(worlds)
        core = self.shared.worlds
        problem = core.problem
        self.width, self.seen, self.members = len(core.states), core.seen, len(core)
        self.names = core.states
        if member != "random" and (isinstance(member, (str, bool)) or not 0 <= int(member) < self.members):
            raise ValueError(f"member is {member!r}; it is 'random', or a number from 0 to {self.members - 1}")
        self.member: Union[int, str] = member if isinstance(member, str) else int(member)
        if isinstance(starts, (int, np.integer)) and not isinstance(starts, bool):
            if starts < 1:
                raise ValueError(f"starts is {starts}; an episode needs a start state")
            self.starts = core.starts(int(starts), of=of)
        else:
            self.starts = self.rows(starts, "starts")
        self.steps = problem.horizon if max_episode_steps is None else int(max_episode_steps)
        if self.steps < 1:
            raise ValueError(f"max_episode_steps is {self.steps}; an episode has a step at least")
        if later_rewards not in _LATER:
            raise ValueError(f"later_rewards is {later_rewards!r}; it is 'sum', 'steps' or 'none'")
        self.later_rewards = later_rewards
        self.discount = float(problem._checked().discount)
        # What a reward of 1 in every later step is worth after the last one, by the steps that are left.
        self.sums = np.concatenate([[0.0], np.cumsum(self.discount ** np.arange(1, self.steps + 1, dtype=np.float64))])
        limits = np.asarray(list(problem.limits.values()), dtype=np.float64)
        self.low, self.high = limits[:, 0], limits[:, 1]
        far = np.full(self.seen, _FAR, dtype=np.float32)
        self.observation_space = spaces.Box(-far, far, dtype=np.float32)
        self.action_space = spaces.Box(self.low.astype(np.float32), self.high.astype(np.float32), dtype=np.float32)

    def rows(self, given: Any, what: str) -> Numbers:
        """Whole states, a row each."""
        rows = np.array(given, dtype=np.float64, ndmin=2)
        if rows.ndim != 2 or rows.shape[1] != self.width or len(rows) == 0:
            names = ", ".join(self.names)
            raise ValueError(f"{what} have the shape {rows.shape}; give states of {self.width} numbers: {names}")
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise ValueError(f"{what}: row {row}, `{self.names[column]}` is {rows[row, column]}")
        return rows

    def begin(self, random: np.random.Generator, options: Mapping[str, Any], lane: int = 0) -> tuple[Numbers, int]:
        """The start state of an episode, and the member that it is of."""
        given = options.get("state")
        if given is None:
            state = self.starts[random.integers(len(self.starts))]
        else:
            rows = self.rows(given, "options['state']")
            state = rows[lane if len(rows) > 1 else 0]
        member = options.get("member", self.member)
        if member == "random":
            return state, int(random.integers(self.members))
        if isinstance(member, (str, bool)) or not 0 <= int(member) < self.members:
            raise ValueError(
                f"options['member'] is {member!r}; it is 'random', or a number from 0 to {self.members - 1}"
            )
        return state, int(member)

    def actions(self, given: Any, lanes: int) -> Numbers:
        """Actions, a row each, within their limits: an actuator goes no further than it can."""
        try:
            actions = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"actions: no array of numbers can be made of them: {error}") from None
        if actions.size != lanes * len(self.low) or actions.ndim > 2:
            shape = (lanes, len(self.low)) if lanes > 1 else (len(self.low),)
            raise ValueError(f"actions have the shape {actions.shape}; {shape} is needed")
        if not np.isfinite(actions).all():
            raise ValueError("an action is not a finite number")
        return np.clip(actions.reshape(lanes, -1), self.low, self.high)

    def observe(self, states: Numbers) -> NDArray[np.float32]:
        """What rules see of states. Numbers that a world has lost are 0, and those beyond all bounds at the bound."""
        seen = np.nan_to_num(states[..., : self.seen], nan=0.0, posinf=_FAR, neginf=-_FAR)
        return np.clip(seen, -_FAR, _FAR).astype(np.float32)

    def advance(self, states: Numbers, actions: Numbers, members: NDArray[np.int64]) -> tuple[Any, ...]:
        """One step: next states, rewards, which have stopped for good, and what those earn from then on."""
        core = self.shared.worlds._core
        # Not by `Worlds.step`, which refuses states that are not finite: where a world runs away, it goes on here as it
        # does for the rules.
        first = int(members[0])
        if (members == first).all():
            return core.step(np.ascontiguousarray(states), actions, first)
        parts = (np.empty_like(states), np.empty(len(states)), np.empty(len(states), dtype=bool), np.empty(len(states)))
        for member in np.unique(members):
            lanes = members == member
            for whole, part in zip(parts, core.step(states[lanes], actions[lanes], int(member))):
                whole[lanes] = part
        return parts


class _Lanes:
    """Episodes that run beside each other."""

    def __init__(self, plant: _Plant, count: int) -> None:
        self.plant = plant
        self.states: Numbers = np.zeros((count, plant.width))
        self.members = np.zeros(count, dtype=np.int64)
        self.taken = np.zeros(count, dtype=np.int64)
        # Of each: whether it stands still for good, and what that earns.
        self.stopped = np.zeros(count, dtype=bool)
        self.later: Numbers = np.zeros(count)
        # Which are to begin anew before they can go on.
        self.over = np.ones(count, dtype=bool)

    def begin(self, lane: int, random: np.random.Generator, options: Mapping[str, Any]) -> None:
        self.states[lane], self.members[lane] = self.plant.begin(random, options, lane)
        self.taken[lane] = 0
        self.stopped[lane] = self.over[lane] = False

    def step(self, actions: Numbers, lanes: Flags) -> tuple[Numbers, Flags, Flags]:
        """Lets lanes go on: rewards, terminated, truncated; of the others, zeros."""
        plant, count = self.plant, len(self.states)
        rewards = np.where(lanes & self.stopped, self.later, 0.0)
        terminated = np.zeros(count, dtype=bool)
        self.taken[lanes] += 1
        moving = lanes & ~self.stopped
        if moving.any():
            which = slice(None) if moving.all() else np.flatnonzero(moving)
            states, earned, ended, later = plant.advance(self.states[which], actions[which], self.members[which])
            self.states[which] = states
            if ended.any():
                if plant.later_rewards == "sum":
                    earned = earned + np.where(ended, later * plant.sums[plant.steps - self.taken[which]], 0.0)
                elif plant.later_rewards == "steps":
                    self.stopped[which], self.later[which] = ended, later
                    ended = np.zeros_like(ended)
            rewards[which], terminated[which] = earned, ended
        truncated = lanes & (self.taken >= plant.steps) & ~terminated
        self.over |= terminated | truncated
        return rewards, terminated, truncated


class _WithSpec:
    """Keeps worlds from being copied with what an environment was made by: a wrapper copies that when it is asked."""

    _spec: Optional[EnvSpec] = None

    @property
    def spec(self) -> Optional[EnvSpec]:
        return self._spec

    @spec.setter
    def spec(self, spec: Optional[EnvSpec]) -> None:
        if spec is not None and isinstance(spec.kwargs.get("worlds"), (Worlds, Run)):
            spec = dataclasses.replace(spec, kwargs={**spec.kwargs, "worlds": _shared(spec.kwargs["worlds"])})
        self._spec = spec


class WorldEnv(_WithSpec, _Env):
    """A learned world as an environment of Gymnasium.

    An observation is what rules see, :attr:`fpsrl.Worlds.states` up to :attr:`fpsrl.Worlds.seen`, so that
    ``policy.act(observation)`` works; the environment itself keeps the whole state with all that it remembers of the
    past. Both spaces are of 32 bits, which is what worlds compute in. Observations have no bounds but those of their
    numbers, because a world may go beyond what the log has seen. Actions beyond their limits are taken at the limit.

    A plant that has stopped for good goes on earning, and ``later_rewards`` says how an algorithm hears of that:

    - ``"sum"``: the last reward holds all later ones up to ``max_episode_steps``, discounted by :attr:`discount`. So an
      episode's return, discounted by :attr:`discount`, is the one that fpsrl counts, whenever the plant stops.
    - ``"steps"``: the episode goes on, stands still and earns them one by one until it is truncated. The return is the
      one that fpsrl counts, too, and rewards do not depend on the time; it takes more steps.
    - ``"none"``: they are left out. Where every step costs something, an algorithm then learns to stop soon.

    After ``max_episode_steps``, fpsrl stops counting. An algorithm that values what comes after a truncated episode
    counts on. (``gymnasium.make`` keeps an argument of that name to itself, for a wrapper.)

    Args:
        worlds: What :func:`fpsrl.fit` has made, or a :class:`fpsrl.Run`.
        member: The member of the ensemble; ``"random"`` takes another one in each episode.
        of: Which start states: those of the ``"search"``, of its ``"judge"``, or of the ``"evaluation"``.
        starts: How many of them episodes are drawn from; or states of your own, a row each.
        max_episode_steps: Steps until an episode is truncated; without it, the problem's horizon.
        later_rewards: ``"sum"``, ``"steps"`` or ``"none"``, see above.

    :meth:`reset` takes ``options={"state": [...], "member": 0}``: a whole state to start in, and a member. ``info`` has
    both of the episode: ``info["state"]``, ``info["member"]``.

    >>> import fpsrl, fpsrl.gym
    >>> worlds = fpsrl.fit(fpsrl.Problem("mountain-car", samples=400, world={"epochs": 3, "members": 2}))
    >>> env = fpsrl.gym.WorldEnv(worlds, member="random")
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> observation.shape, reward
    ((2,), -1.0)
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        worlds: _Given,
        *,
        member: Union[int, str] = 0,
        of: str = "search",
        starts: _Starts = 1000,
        max_episode_steps: Optional[int] = None,
        later_rewards: str = "sum",
        render_mode: None = None,
    ) -> None:
        self._plant = _Plant(worlds, member, of, starts, max_episode_steps, later_rewards)
        self._lanes = _Lanes(self._plant, 1)
        self.observation_space = self._plant.observation_space
        self.action_space = self._plant.action_space
        self.render_mode = render_mode
        told = {"member": member, "of": of, "starts": starts, "max_episode_steps": max_episode_steps}
        made = {"worlds": self._plant.shared, **told, "later_rewards": later_rewards}
        self.spec = EnvSpec(id=ID, entry_point="fpsrl.gym:WorldEnv", order_enforce=False, kwargs=made)

    @property
    def worlds(self) -> Worlds:
        """The worlds."""
        return self._plant.shared.worlds

    @property
    def discount(self) -> float:
        """How much less a reward counts with every step, in the return that fpsrl means: the ``gamma`` of others."""
        return self._plant.discount

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[dict[str, Any]] = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode: its first observation, and ``info``."""
        super().reset(seed=seed)
        self._lanes.begin(0, self.np_random, options or {})
        return self._seen()

    def step(self, action: ArrayLike) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """One step: observation, reward, whether the plant has stopped for good, whether the time is up, ``info``."""
        if self._lanes.over[0]:
            raise gymnasium.error.ResetNeeded("the episode is over, or has not begun\nhint: call `env.reset()` first")
        actions = self._plant.actions(action, 1)
        rewards, terminated, truncated = self._lanes.step(actions, np.ones(1, dtype=bool))
        observation, info = self._seen()
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def _seen(self) -> tuple[NDArray[np.float32], dict[str, Any]]:
        state = self._lanes.states[0].copy()
        return self._plant.observe(state), {"state": state, "member": int(self._lanes.members[0])}


def _mode(name: str) -> Any:
    """A mode of resetting as Gymnasium calls it; before 1.1 there were no names for them."""
    modes = getattr(gymnasium.vector, "AutoresetMode", None)
    return name if modes is None else modes(name)


class WorldVectorEnv(_WithSpec, _VectorEnv):
    """Many copies of a learned world, advanced together: that is what worlds are fast at.

    The same seed and the same actions give the very results of as many :class:`WorldEnv` in a ``SyncVectorEnv``: copy
    ``i`` is seeded with ``seed + i``. All copies are moved at once; with ``member="random"``, all copies of a member.

    Args:
        worlds: What :func:`fpsrl.fit` has made, or a :class:`fpsrl.Run`.
        num_envs: How many copies.
        autoreset_mode: What happens after the end of an episode, as in Gymnasium: ``"NextStep"`` begins the next one
            with the next step, whose action is ignored; ``"SameStep"`` in the same step, and ``info["final_obs"]`` has
            what was seen last; ``"Disabled"`` waits for ``reset(options={"reset_mask": mask})``.
        settings: ``member``, ``of``, ``starts``, ``max_episode_steps`` and ``later_rewards`` of :class:`WorldEnv`.

    >>> import fpsrl, fpsrl.gym
    >>> worlds = fpsrl.fit(fpsrl.Problem("mountain-car", samples=400, world={"epochs": 3, "members": 2}))
    >>> envs = fpsrl.gym.WorldVectorEnv(worlds, num_envs=500)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
    >>> observations.shape, rewards.mean()
    ((500, 2), -1.0)
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        worlds: _Given,
        num_envs: int = 1,
        *,
        autoreset_mode: Any = "NextStep",
        member: Union[int, str] = 0,
        of: str = "search",
        starts: _Starts = 1000,
        max_episode_steps: Optional[int] = None,
        later_rewards: str = "sum",
        render_mode: None = None,
    ) -> None:
        if not _IS_MODERN:
            raise ImportError(
                f"WorldVectorEnv needs gymnasium 1.0 or later, and {gymnasium.__version__} is installed\n"
                "hint: pip install 'gymnasium>=1.0'; or put several WorldEnv into a gymnasium.vector.SyncVectorEnv"
            )
        if num_envs < 1:
            raise ValueError(f"num_envs is {num_envs}; a vector has an environment at least")
        mode = str(getattr(autoreset_mode, "value", autoreset_mode))
        if mode not in ("NextStep", "SameStep", "Disabled"):
            raise ValueError(f"autoreset_mode is {autoreset_mode!r}; it is 'NextStep', 'SameStep' or 'Disabled'")
        self._mode = mode
        self._plant = _Plant(worlds, member, of, starts, max_episode_steps, later_rewards)
        self._lanes = _Lanes(self._plant, num_envs)
        self._random: list[Optional[np.random.Generator]] = [None] * num_envs
        self._has_begun = False
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {**type(self).metadata, "autoreset_mode": _mode(mode)}
        self.single_observation_space = self._plant.observation_space
        self.single_action_space = self._plant.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    @property
    def worlds(self) -> Worlds:
        """The worlds."""
        return self._plant.shared.worlds

    @property
    def discount(self) -> float:
        """How much less a reward counts with every step, in the return that fpsrl means: the ``gamma`` of others."""
        return self._plant.discount

    def reset(
        self,
        *,
        seed: Union[None, int, Sequence[Optional[int]]] = None,
        options: Optional[dict[str, Any]] = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins episodes: all of them, or those of ``options["reset_mask"]``."""
        count = self.num_envs
        if seed is None or isinstance(seed, (int, np.integer)):
            super().reset(seed=None if seed is None else int(seed))
            seeds: Sequence[Optional[int]] = [None if seed is None else int(seed) + lane for lane in range(count)]
        else:
            seeds = list(seed)
        if len(seeds) != count:
            raise ValueError(f"seed has {len(seeds)} numbers, and there are {count} environments")
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        lanes = np.ones(count, dtype=bool) if mask is None else np.asarray(mask)
        if lanes.shape != (count,) or lanes.dtype != np.bool_ or not lanes.any():
            raise ValueError(
                f"options['reset_mask'] is {mask!r}; give a truth value for each of {count}, one of them true"
            )
        given = options.get("state")
        if given is not None and np.ndim(given) == 2 and len(given) != count:
            raise ValueError(f"options['state'] has {len(given)} states, and there are {count} environments")
        for lane, one in enumerate(seeds):
            if lanes[lane] and one is not None:
                self._random[lane], _ = seeding.np_random(one)
        self._begin(lanes, options)
        self._has_begun = True
        return self._plant.observe(self._lanes.states), self._told(lanes)

    def step(self, actions: ArrayLike) -> tuple[NDArray[np.float32], Numbers, Flags, Flags, dict[str, Any]]:
        """One step of all copies."""
        lanes, over = self._lanes, self._lanes.over.copy()
        if not self._has_begun or (self._mode == "Disabled" and over.any()):
            which = f" of {np.flatnonzero(over).tolist()}" if self._has_begun else ""
            told = f"the episodes{which} are over, or have not begun\nhint: call `envs.reset()` first"
            raise gymnasium.error.ResetNeeded(told)
        rewards, terminated, truncated = lanes.step(self._plant.actions(actions, self.num_envs), ~over)
        infos: dict[str, Any] = {}
        if self._mode == "NextStep" and over.any():
            self._begin(over, {})
        elif self._mode == "SameStep" and lanes.over.any():
            ended = lanes.over.copy()
            last = np.full(self.num_envs, None, dtype=object)
            for lane in np.flatnonzero(ended):
                last[lane] = self._plant.observe(lanes.states[lane])
            infos = {
                "final_obs": last,
                "_final_obs": ended,
                "final_info": self._told(ended),
                "_final_info": ended.copy(),
            }
            self._begin(ended, {})
        infos.update(self._told(np.ones(self.num_envs, dtype=bool)))
        return self._plant.observe(lanes.states), rewards, terminated, truncated, infos

    def _begin(self, lanes: Flags, options: Mapping[str, Any]) -> None:
        for lane in np.flatnonzero(lanes):
            random = self._random[lane]
            if random is None:
                random, _ = seeding.np_random()
                self._random[lane] = random
            self._lanes.begin(int(lane), random, options)

    def _told(self, lanes: Flags) -> dict[str, Any]:
        states = np.where(lanes[:, None], self._lanes.states, 0.0)
        members = np.where(lanes, self._lanes.members, 0)
        return {"state": states, "_state": lanes.copy(), "member": members, "_member": lanes.copy()}


#: Wrappers that only keep books or end episodes: beneath them is the same plant.
_BOOKKEEPERS = (
    "TimeLimit",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "Autoreset",
    "AutoResetWrapper",
)

#: A vector environment that is asked for its start states gives so many at least.
_LOOKS = 200


class Simulator:
    """An environment of Gymnasium as a world: ``fpsrl.Problem(…, simulator=Simulator(env))``.

    fpsrl asks for one step from any states, so the state of the environment is set before every step. By itself, that
    works where ``env.unwrapped.state`` is the whole state, as in the classic control problems; else give ``set_state``
    and ``get_state``. The end of an episode by a time limit is ignored, and resets by the environment itself are kept
    out; wrappers of rewards and actions stay in force, those of observations do not matter. The environment belongs to
    the adapter from now on.

    A vector environment that moves all its copies at once, such as
    ``gymnasium.make_vec("CartPole-v1", num_envs=512, vectorization_mode="vector_entry_point")``, is faster by far than
    single ones, each of whose steps goes through Python: choose about 512 copies there, and a small budget elsewhere.

    Args:
        env: A ``gymnasium.Env``, a ``SyncVectorEnv``, or another vector environment.
        set_state: A function of a single environment and a state, or of a vector environment and states, a row each.
        get_state: A function of the same environment, which returns the same.
        actions: The values that the actions of a ``Discrete`` space stand for, such as ``[-10, 10]``, of which the
            nearest is taken; or a function from an array with a row for each copy to the batch of their actions.
            Without it, a ``Box`` gets the numbers themselves, and other spaces the nearest whole number.
        largest_reward: No reward is larger. :class:`fpsrl.Problem` needs it; :func:`problem_of` takes it from here.
        later_reward: What a copy that has terminated earns in every step from then on; Gymnasium knows of none.

    >>> import gymnasium, fpsrl.gym
    >>> step = fpsrl.gym.Simulator(gymnasium.make("CartPole-v1"))
    >>> next_states, rewards, terminated, later_rewards = step([[0.0, 1.0, 0.0, 0.0]] * 3, [[0.0], [1.0], [1.0]])
    >>> next_states.round(3)[:, :2].tolist(), rewards.tolist()
    ([[0.02, 0.805], [0.02, 1.195], [0.02, 1.195]], [1.0, 1.0, 1.0])
    """

    def __init__(
        self,
        env: Any,
        set_state: Optional[Callable[..., Any]] = None,
        get_state: Optional[Callable[..., Any]] = None,
        actions: Union[None, Callable[..., Any], Sequence[float]] = None,
        *,
        largest_reward: Optional[float] = None,
        later_reward: float = 0.0,
    ) -> None:
        if (set_state is None) != (get_state is None):
            raise ProblemError("`set_state` and `get_state` belong together", remedy="give both, or none of them")
        if largest_reward is not None and largest_reward < later_reward:
            raise ProblemError(
                f"`largest_reward` is {largest_reward}, and what has terminated earns {later_reward} in every step",
                remedy=f"say `largest_reward={later_reward}`: ended episodes count, too",
            )
        self.env = env
        self.largest_reward = largest_reward
        self.later_reward = float(later_reward)
        self._lock = threading.Lock()
        space = getattr(env, "single_action_space", None) or getattr(env, "action_space", None)
        if space is None:
            told = f"env: {type(env).__name__} was given where an environment of Gymnasium is meant"
            raise TypeError(f"{told}\nhint: give `gymnasium.make(…)` or `gymnasium.make_vec(…)`")
        self._actions = _Actions(space, actions)
        if isinstance(env, gymnasium.vector.SyncVectorEnv):
            self._copies: Union[_Single, _Together] = _Single(list(env.envs), set_state, get_state)
        elif hasattr(env, "num_envs"):
            self._copies = _Together(env, set_state, get_state)
        else:
            self._copies = _Single([env], set_state, get_state)
        self._starts = self._tried()

    @property
    def width(self) -> int:
        """How many state variables there are."""
        return int(self._starts.shape[1])

    @property
    def limits(self) -> list[tuple[float, float]]:
        """The lowest and the highest value of each action."""
        return self._actions.limits

    def starts(self, count: int = _LOOKS) -> Numbers:
        """States that the environment begins in, a row each; more than one for a vector environment."""
        with self._lock:
            rows = [self._copies.begin(None)]
            while sum(map(len, rows)) < count:
                rows.append(self._copies.begin(None))
            return np.concatenate(rows)[:count]

    def __call__(self, states: ArrayLike, actions: ArrayLike) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Next states, rewards, whether each copy has terminated, and what that earns in every later step."""
        rows = np.array(states, dtype=np.float64, ndmin=2)
        wanted = np.array(actions, dtype=np.float64, ndmin=2)
        if rows.shape[1] != self.width:
            raise ProblemError(
                f"the environment's state has {self.width} numbers, and the problem has {rows.shape[1]} states",
                remedy="name a state variable for each, in the environment's own order",
                setting="state",
            )
        if wanted.shape != (len(rows), len(self.limits)):
            raise ProblemError(
                f"the environment has {len(self.limits)} actions, and the problem has {wanted.shape[-1]}",
                remedy="name an action for each, in the environment's own order",
                setting="action",
            )
        with self._lock:
            next_states, rewards, terminated = self._step(rows, wanted)
        return next_states, rewards, terminated, terminated * self.later_reward

    def _step(self, rows: Numbers, wanted: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        next_states, rewards, terminated = np.empty_like(rows), np.empty(len(rows)), np.empty(len(rows))
        together = self._copies.together
        for first in range(0, len(rows), together):
            part = slice(first, min(first + together, len(rows)))
            count = part.stop - first
            # Copies that nobody asked for do what the first one does.
            places = np.where(np.arange(together) < count, np.arange(together), 0)
            given = self._actions.of(wanted[part][places])
            answer = self._copies.step(rows[part][places], given)
            for whole, column in zip((next_states, rewards, terminated), answer):
                whole[part] = column[:count]
        return next_states, rewards, terminated

    def _tried(self) -> Numbers:
        """Start states of the environment, after a look whether it does what fpsrl needs of it."""
        starts = self._copies.begin(0)
        states = np.concatenate([starts[:1], self._copies.begin(None)[:1]])
        middle = np.asarray([[low + 0.3 * (high - low) for low, high in self.limits]])
        count = max(self._copies.together, len(starts))

        def step(state: Numbers) -> tuple[Any, ...]:
            return self._step(np.repeat(state[None], count, axis=0), np.repeat(middle, count, axis=0))

        first, _, again = step(states[0]), step(states[1]), step(states[0])
        name = _name(self.env)
        for one, other in zip(first, again):
            if not np.allclose(one[:1], one, rtol=1e-6, atol=1e-9):
                raise ProblemError(
                    f"the copies of {name} do not agree on one step from the same state",
                    remedy="give environments that are all made alike, and whose steps draw nothing at random",
                )
            if not np.allclose(one, other, rtol=1e-6, atol=1e-9):
                raise ProblemError(
                    f"{name} makes two different steps of one state and one action",
                    remedy="a step must not be random, and the state must be the whole one: give `set_state` and "
                    "`get_state` that know all of it",
                )
        read = self._copies.written(states[0])
        if not np.allclose(read, states[0], rtol=1e-5, atol=1e-7):
            raise ProblemError(
                f"{name} does not keep the state that is set: {states[0].tolist()} was set, and {read.tolist()} read",
                remedy="check `set_state` and `get_state`",
            )
        return starts

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Simulator({_name(self.env)})"


def _name(env: Any) -> str:
    spec = getattr(env, "spec", None)
    return str(spec.id) if spec is not None else type(getattr(env, "unwrapped", env)).__name__


class _Actions:
    """From the numbers of rules to the actions of an environment."""

    def __init__(self, space: Any, given: Union[None, Callable[..., Any], Sequence[float]]) -> None:
        self.space = space
        low: Sequence[float]
        high: Sequence[float]
        self.function: Optional[Callable[..., Any]] = None
        self.values: Optional[Numbers] = None
        if given is not None and not callable(given):
            self.values = np.asarray(list(given), dtype=np.float64)
            if not isinstance(space, spaces.Discrete) or self.values.shape != (int(space.n),):
                told = f"`actions` has {self.values.size} values, and the environment's action space is {space}"
                raise ProblemError(told, remedy="give a value for each action of a Discrete space, or a function")
        elif given is not None:
            self.function = given
        if isinstance(space, spaces.Discrete):
            low, high = [int(space.start)], [int(space.start) + int(space.n) - 1]
        elif isinstance(space, spaces.MultiDiscrete):
            start = np.asarray(getattr(space, "start", np.zeros_like(space.nvec)))
            low, high = start.ravel().tolist(), (start + space.nvec - 1).ravel().tolist()
        elif isinstance(space, spaces.MultiBinary):
            low, high = [0] * int(np.prod(space.shape)), [1] * int(np.prod(space.shape))
        elif isinstance(space, spaces.Box):
            low, high = space.low.ravel().tolist(), space.high.ravel().tolist()
        else:
            raise ProblemError(
                f"actions of {type(space).__name__} spaces cannot be made of numbers",
                remedy="wrap the environment with `gymnasium.wrappers.TransformAction`, so that its actions are a Box",
            )
        if self.values is not None:
            low, high = [float(self.values.min())], [float(self.values.max())]
        self.limits = [(float(a), float(b)) for a, b in zip(low, high)]

    def of(self, wanted: Numbers) -> Any:
        """Actions for as many copies as there are rows, a row each; the batch that Gymnasium takes."""
        if self.function is not None:
            return self.function(wanted)
        low, high = np.asarray(self.limits).T
        clipped = np.clip(wanted, low, high)
        shape = (len(wanted), *self.space.shape)
        if isinstance(self.space, spaces.Box):
            # Rounding to fewer digits must not leave the space.
            return np.clip(clipped.reshape(shape).astype(self.space.dtype), self.space.low, self.space.high)
        if self.values is not None:
            places = np.abs(clipped - self.values[None, :]).argmin(axis=1)
            return (places + int(self.space.start)).astype(np.int64)
        return np.floor(clipped + 0.5).reshape(shape).astype(self.space.dtype)


def _remedied(env: Any, told: str) -> ProblemError:
    return ProblemError(
        f"the state of {_name(env)} cannot be set: {told}",
        remedy="give the functions `set_state` and `get_state`; such as, for MuJoCo, "
        "`set_state=lambda env, row: env.unwrapped.set_state(row[:n], row[n:])` and "
        "`get_state=lambda env: env.unwrapped.state_vector()`. Where nothing can set it, learn a world from a log",
    )


def _numbers(env: Any, state: Any, axes: int) -> Numbers:
    """A state that was read, as numbers."""
    try:
        array = np.array(state, dtype=np.float64)
    except (TypeError, ValueError):
        raise _remedied(env, f"it is {type(state).__name__}, not an array of numbers") from None
    if array.ndim != axes or array.size == 0:
        shape = "a row of numbers" if axes == 1 else "a row of numbers for each copy"
        raise _remedied(env, f"it has the shape {array.shape}, and {shape} is needed")
    if not np.isfinite(array).all():
        raise _remedied(env, "it holds numbers that are not finite")
    return array


class _Single:
    """Environments that move one at a time."""

    def __init__(
        self, envs: list[Any], set_state: Optional[Callable[..., Any]], get_state: Optional[Callable[..., Any]]
    ) -> None:
        self.envs = [_beneath(env) for env in envs]
        self.together = len(self.envs)
        self.set_state, self.get_state = set_state, get_state
        # Which have ended, so that they may have notes of it that only a reset clears.
        self.ended = [False] * len(envs)

    def read(self, env: Any) -> Numbers:
        if self.get_state is not None:
            return _numbers(env, self.get_state(env), 1)
        plain = env.unwrapped
        if getattr(plain, "state", None) is None:
            raise _remedied(env, "it has no attribute `state`")
        return _numbers(env, plain.state, 1)

    def write(self, env: Any, row: Numbers) -> None:
        if self.set_state is not None:
            self.set_state(env, row)
        else:
            env.unwrapped.state = row

    def begin(self, seed: Optional[int]) -> Numbers:
        for place, env in enumerate(self.envs):
            env.reset(seed=None if seed is None else seed + place)
        self.ended = [False] * len(self.envs)
        return np.stack([self.read(env) for env in self.envs])

    def written(self, row: Numbers) -> Numbers:
        self.write(self.envs[0], row.copy())
        return self.read(self.envs[0])

    def step(self, rows: Numbers, actions: Any) -> tuple[Numbers, Numbers, Numbers]:
        next_states, rewards, terminated = np.empty_like(rows), np.empty(len(rows)), np.empty(len(rows))
        for place, env in enumerate(self.envs):
            if self.ended[place]:
                env.reset()
            self.write(env, rows[place].copy())
            action = actions[place]
            if isinstance(action, np.generic):
                action = action.item()
            _, reward, ends, cut, _ = env.step(action)
            next_states[place], rewards[place], terminated[place] = self.read(env), float(reward), bool(ends)
            self.ended[place] = bool(ends or cut)
        return next_states, rewards, terminated


def _beneath(env: Any) -> Any:
    """An environment without the outer wrappers that only keep books."""
    while type(env).__name__ in _BOOKKEEPERS and type(env).__module__.startswith("gymnasium."):
        env = env.env
    return env


class _Together:
    """A vector environment that moves all its copies at once."""

    def __init__(
        self, env: Any, set_state: Optional[Callable[..., Any]], get_state: Optional[Callable[..., Any]]
    ) -> None:
        self.env = env
        self.together = int(env.num_envs)
        self.set_state, self.get_state = set_state, get_state
        self.is_turned = False
        self.ended = False
        mode = env.metadata.get("autoreset_mode") if isinstance(getattr(env, "metadata", None), dict) else None
        if not _IS_MODERN or getattr(mode, "value", mode) == "SameStep":
            self.refuse()

    def refuse(self) -> None:
        raise ProblemError(
            f"{_name(self.env)} begins a new episode in the very step that ends one: last states cannot be read",
            remedy="make it with `autoreset_mode=gymnasium.vector.AutoresetMode.NEXT_STEP`, in Gymnasium 1.0 or later; "
            "or give a `gymnasium.vector.SyncVectorEnv` without wrappers",
        )

    def raw(self) -> Any:
        """The state as the environment keeps it, a row or a column for each copy."""
        plain = self.env.unwrapped
        if getattr(plain, "state", None) is not None:
            return plain.state
        if hasattr(plain, "envs"):
            return [env.unwrapped.state for env in plain.envs]
        if hasattr(plain, "get_attr"):
            return list(plain.get_attr("state"))
        raise AttributeError("state")

    def read(self) -> Numbers:
        if self.get_state is not None:
            states = _numbers(self.env, self.get_state(self.env), 2)
        else:
            try:
                raw = self.raw()
            except AttributeError:
                raise _remedied(self.env, "it has no attribute `state`") from None
            states = _numbers(self.env, raw, 2)
            if self.is_turned:
                states = np.ascontiguousarray(states.T)
        if len(states) != self.together:
            raise _remedied(self.env, f"it has the shape {states.shape}, and there are {self.together} copies")
        return states

    def write(self, rows: Numbers) -> None:
        plain = self.env.unwrapped
        if self.set_state is not None:
            self.set_state(self.env, rows)
        elif getattr(plain, "state", None) is not None:
            plain.state = np.ascontiguousarray(rows.T) if self.is_turned else rows
        elif hasattr(plain, "envs"):
            for env, row in zip(plain.envs, rows):
                env.unwrapped.state = row
        else:
            plain.set_attr("state", list(rows))

    def begin(self, seed: Optional[int]) -> Numbers:
        seen, _ = self.env.reset(seed=seed)
        self.ended = False
        plain = self.env.unwrapped
        if self.get_state is None and getattr(plain, "state", None) is not None:
            shape = np.shape(plain.state)
            if len(shape) == 2 and shape[0] == shape[1]:
                # As many variables as copies: what is observed tells which way round they stand.
                self.is_turned = not np.allclose(seen, plain.state, atol=1e-5) and np.allclose(
                    seen, np.transpose(plain.state), atol=1e-5
                )
            elif len(shape) == 2:
                self.is_turned = shape[0] != self.together
        return self.read()

    def written(self, row: Numbers) -> Numbers:
        self.write(np.repeat(row[None], self.together, axis=0))
        return self.read()[0]

    def step(self, rows: Numbers, actions: Any) -> tuple[Numbers, Numbers, Numbers]:
        if self.ended:
            # A copy that has ended would begin anew instead of making a step.
            self.env.reset()
        self.write(rows.copy())
        _, rewards, terminated, truncated, info = self.env.step(actions)
        self.ended = bool(np.any(terminated) or np.any(truncated))
        if self.ended and ("final_obs" in info or "final_observation" in info):
            self.refuse()
        return self.read(), np.array(rewards, dtype=np.float64), np.array(terminated, dtype=np.float64)


def problem_of(
    env: Any,
    *,
    largest_reward: Optional[float] = None,
    states: Union[None, Sequence[Any], Mapping[str, Any]] = None,
    actions: Union[None, Sequence[str], Mapping[str, Any]] = None,
    horizon: Optional[int] = None,
    name: Optional[str] = None,
    **settings: Any,
) -> Problem:
    """The problem to control an environment of Gymnasium, with the environment as its simulator.

    Limits of actions come from the action space, the horizon from the time limit, and where rollouts start from 200
    resets: between the smallest and the largest value of each variable. ``found`` of the problem says so. What is good
    and when the plant stops is the environment's own matter.

    Args:
        env: The environment, or a :class:`Simulator` of it.
        largest_reward: No reward is larger, those after the end of an episode (0) included.
        states: What the variables are called, in the environment's own order, or their settings by name.
        actions: What the actions are called, or their limits by name.
        horizon: Steps that the controller looks ahead, where the environment has no time limit, or another is meant.
        name: What the problem is called; without it, as the environment.
        settings: All other settings of a problem.

    >>> import gymnasium, fpsrl.gym
    >>> env = gymnasium.make("MountainCarContinuous-v0")
    >>> problem = fpsrl.gym.problem_of(env, largest_reward=100.0, states=["position", "velocity"], actions=["force"])
    >>> problem.horizon, problem.limits
    (999, {'force': (-1.0, 1.0)})
    """
    simulator = env if isinstance(env, Simulator) else Simulator(env, largest_reward=largest_reward)
    largest = simulator.largest_reward if largest_reward is None else largest_reward
    called = _name(simulator.env)
    found: list[str] = []
    if horizon is None:
        horizon = _time_limit(simulator.env)
        if horizon is None:
            raise ProblemError(f"{called} has no time limit", remedy="say how many steps to look ahead: `horizon=200`")
        found.append(f"`horizon` is the time limit of {called}: {horizon} steps")
    starts = simulator.starts()
    named = _named(states, simulator.width, "states", "state")
    for (variable, told), column in zip(named.items(), starts.T):
        if "start" not in told:
            told["start"] = [float(column.min()), float(column.max())]
            found.append(f"`{variable}` starts between {column.min():.4g} and {column.max():.4g}: {len(starts)} resets")
    acting = _named(actions, len(simulator.limits), "actions", "action")
    for (action, told), (low, high) in zip(acting.items(), simulator.limits):
        if "limits" in told:
            continue
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ProblemError(
                f"the action `{action}` of {called} has no limits",
                remedy=f"give them: `actions={{'{action}': (-1.0, 1.0)}}`",
            )
        told["limits"] = [low, high]
        found.append(f"`{action}` goes from {low:g} to {high:g}: the action space")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", called).strip("-.") if name is None else name
    problem = Problem(
        name, horizon=horizon, states=named, actions=acting, simulator=simulator, largest_reward=largest, **settings
    )
    problem.found = found
    return problem


def _named(given: Any, count: int, what: str, one: str) -> dict[str, dict[str, Any]]:
    """Settings of variables by their names."""
    if given is None:
        given = [one] if count == 1 else [f"{one}_{place}" for place in range(count)]
    if isinstance(given, str):
        given = [given]
    if len(given) != count:
        raise ProblemError(
            f"{len(given)} {what} were named, and the environment has {count}",
            remedy="name all, in the environment's own order",
        )
    pairs = given.items() if isinstance(given, Mapping) else [(name, None) for name in given]
    named: dict[str, dict[str, Any]] = {}
    for name, told in pairs:
        if isinstance(name, Mapping):
            told, name = name, name["name"]
        if told is None:
            told = {}
        elif isinstance(told, str):
            told = {"unit": told}
        elif not isinstance(told, Mapping):
            told = {"limits" if one == "action" else "start": [float(limit) for limit in told]}
        named[str(name)] = dict(told)
    return named


def _time_limit(env: Any) -> Optional[int]:
    """The steps after which an environment cuts its episodes."""
    if isinstance(env, gymnasium.vector.SyncVectorEnv):
        env = env.envs[0]
    spec = getattr(env, "spec", None)
    limit = getattr(spec, "max_episode_steps", None)
    if limit is None and spec is not None:
        limit = spec.kwargs.get("max_episode_steps")
    return None if limit is None else int(limit)


if ID not in gymnasium.registry:
    gymnasium.register(
        id=ID,
        entry_point="fpsrl.gym:WorldEnv",
        **({"vector_entry_point": "fpsrl.gym:WorldVectorEnv"} if _IS_MODERN else {}),  # type: ignore[arg-type]
    )
