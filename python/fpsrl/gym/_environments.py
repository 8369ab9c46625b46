"""Learned worlds as environments of Gymnasium: one copy of a plant, or many that are advanced together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import seeding
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from .._stages import Run, Worlds

if TYPE_CHECKING:
    _Env = gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]
    _VectorEnv = gymnasium.vector.VectorEnv[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]
else:
    _Env = gymnasium.Env
    _VectorEnv = gymnasium.vector.VectorEnv

#: What the environments are registered as.
ID = "fpsrl/World-v0"

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
_Starts = Union[int, ArrayLike]
_Given = Union[Worlds, Run]

#: Whether the installed Gymnasium has vector environments that reset themselves on the next step.
IS_MODERN = not issubclass(gymnasium.vector.VectorEnv, gymnasium.Env)

_LATER = ("sum", "steps", "none")

#: Observations stay finite, whatever becomes of a world: these are the numbers of 32 bits that are farthest from zero.
_FAR = float(np.finfo(np.float32).max)


def worlds_of(given: Any) -> Worlds:
    """The worlds that somebody means."""
    if isinstance(given, Run):
        return given.worlds
    if isinstance(given, Worlds):
        return given
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
        self.worlds = worlds_of(worlds)
        core = self.worlds
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
        self.discount = float(problem.discount)
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
        return np.minimum(np.maximum(actions.reshape(lanes, -1), self.low), self.high)

    def observe(self, states: Numbers) -> NDArray[np.float32]:
        """What rules see of states. Numbers that a world has lost are 0, and those beyond all bounds at the bound."""
        with np.errstate(over="ignore"):
            seen = states[..., : self.seen].astype(np.float32)
        if not np.isfinite(seen).all():
            np.nan_to_num(seen, copy=False, nan=0.0, posinf=_FAR, neginf=-_FAR)
        return seen

    def advance(self, states: Numbers, actions: Numbers, members: NDArray[np.int64]) -> tuple[Any, ...]:
        """One step: next states, rewards, which have stopped for good, and what those earn from then on."""
        core = self.worlds._core
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


class WorldEnv(_Env):
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
        made = {"worlds": self._plant.worlds, **told, "later_rewards": later_rewards}
        self.spec = EnvSpec(id=ID, entry_point="fpsrl.gym:WorldEnv", order_enforce=False, kwargs=made)

    @property
    def worlds(self) -> Worlds:
        """The worlds."""
        return self._plant.worlds

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


class WorldVectorEnv(_VectorEnv):
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
    >>> observations.shape, rewards.shape
    ((500, 2), (500,))
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
        if not IS_MODERN:
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
        return self._plant.worlds

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
