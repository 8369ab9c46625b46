"""Environments of Gymnasium as worlds: their state is set before every step, and whatever is no plant is kept out."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional, Union

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from .._errors import ProblemError
from .._problem import Problem
from ._environments import IS_MODERN

Numbers = NDArray[np.float64]

#: Wrappers that only keep books or end episodes: beneath them is the same plant.
_BOOKKEEPERS = (
    "TimeLimit",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "Autoreset",
    "AutoResetWrapper",
)

#: So many start states say where an environment begins.
_LOOKS = 200

#: So often a step is made again, to see whether it is always the same.
_REPEATS = 4


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
        is_vector = hasattr(getattr(env, "unwrapped", env), "num_envs")
        space = getattr(env, "single_action_space" if is_vector else "action_space", None)
        if space is None:
            told = f"env: {type(env).__name__} was given where an environment of Gymnasium is meant"
            raise TypeError(f"{told}\nhint: give `gymnasium.make(…)` or `gymnasium.make_vec(…)`")
        self._actions = _Actions(space, actions)
        if isinstance(env, gymnasium.vector.SyncVectorEnv):
            self._copies: Union[_Single, _Together] = _Single(list(env.envs), set_state, get_state)
        elif is_vector:
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
        middle = np.array([[low + 0.3 * (high - low) if high - low < np.inf else 0.0 for low, high in self.limits]])
        count = max(self._copies.together, len(starts))

        def step(state: Numbers) -> tuple[Any, ...]:
            return self._step(np.repeat(state[None], count, axis=0), np.repeat(middle, count, axis=0))

        name = _name(self.env)
        first = step(states[0])
        if not all(np.allclose(one[:1], one, rtol=1e-6, atol=1e-9) for one in first):
            raise ProblemError(
                f"the copies of {name} do not agree on one step from the same state",
                remedy="give environments that are all made alike, and whose steps draw nothing at random",
            )
        for _ in range(_REPEATS):
            # Another step in between shows what is not part of the state.
            step(states[1])
            if not all(np.allclose(one, other, rtol=1e-6, atol=1e-9) for one, other in zip(first, step(states[0]))):
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
        if not IS_MODERN or getattr(mode, "value", mode) == "SameStep":
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
        states: Numbers
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
                raw = np.asarray(plain.state)
                self.is_turned = not np.allclose(seen, raw, atol=1e-5) and np.allclose(seen, raw.T, atol=1e-5)
            elif len(shape) == 2:
                self.is_turned = shape[0] != self.together
        return self.read()

    def written(self, row: Numbers) -> Numbers:
        self.write(np.repeat(row[None], self.together, axis=0))
        first: Numbers = self.read()[0]
        return first

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
