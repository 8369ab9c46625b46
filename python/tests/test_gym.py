"""Worlds as environments of Gymnasium, and environments of Gymnasium as worlds."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import fpsrl

gymnasium = pytest.importorskip("gymnasium")

from fpsrl.gym import Simulator, WorldEnv, WorldVectorEnv, problem_of  # noqa: E402

IS_MODERN = not issubclass(gymnasium.vector.VectorEnv, gymnasium.Env)
HAS_MODES = hasattr(gymnasium.vector, "AutoresetMode")
needs_vectors = pytest.mark.skipif(not IS_MODERN, reason="vector environments of this kind came with Gymnasium 1.0")


@pytest.fixture(scope="module")
def drained() -> fpsrl.Worlds:
    """A tank with a valve and a drain, which remembers two steps, and which stops for good where it overflows."""
    random = np.random.default_rng(1)
    rows, level = 900, 0.8
    log = {"level": np.empty(rows), "valve": random.uniform(0.0, 1.0, rows), "drain": random.uniform(0.0, 0.5, rows)}
    for row in range(rows):
        log["level"][row] = level
        level += 0.1 * log["valve"][row] - 0.05 * level - 0.02 * log["drain"][row]
    problem = fpsrl.Problem(
        "drained",
        horizon=25,
        states=["level"],
        actions={"valve": (0.0, 1.0), "drain": (0.0, 0.5)},
        reward="level - 2",
        terminal="level > 1.15",
        data={"history": 2},
        world={"kind": "ensemble", "members": 2, "layers": 1, "epochs": 5},
        rules=1,
        search={"start_states": 20, "budget": 20_000},
        evaluation={"start_states": 40},
    )
    return fpsrl.fit(problem, log)


@pytest.fixture(scope="module")
def car() -> fpsrl.Worlds:
    return fpsrl.fit(fpsrl.Problem("mountain-car", samples=400, world={"epochs": 2, "members": 2}))


def given(env: Any, **options: Any) -> Any:
    return env.reset(seed=0, options=options)


def played(env: Any, actions: Any, seed: int = 0, **options: Any) -> list[Any]:
    """Episodes under actions: all that the environment says, one after another."""
    told = [env.reset(seed=seed, options=options)]
    for action in actions:
        told.append(env.step(action))
        if told[-1][2] or told[-1][3]:
            told.append(env.reset())
    return told


def assert_same(one: Any, other: Any) -> None:
    """That two things said are the same, to the last bit and the type of their numbers."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for left, right in zip(one, other):
            assert_same(left, right)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        if one.dtype == object:
            assert_same(one.tolist(), other.tolist())
        else:
            np.testing.assert_array_equal(one, other)
    else:
        assert one == other


def test_what_is_missing_is_named_with_its_remedy() -> None:
    told = "import sys; sys.modules['gymnasium'] = None; import fpsrl.gym"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True)
    assert "fpsrl.gym needs gymnasium, which is not installed\nhint: pip install 'fpsrl[gym]'" in done.stderr


class TestWorldEnv:
    @pytest.mark.parametrize("member", [1, "random"])
    @pytest.mark.parametrize("world", ["car", "drained"])
    def test_gymnasium_finds_no_fault(self, world: str, member: Any, request: pytest.FixtureRequest) -> None:
        from gymnasium.utils.env_checker import check_env

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(WorldEnv(request.getfixturevalue(world), member=member))

    def test_whole_episodes_pass_the_passive_checker(self, drained: fpsrl.Worlds) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            env = gymnasium.make("fpsrl.gym:fpsrl/World-v0", worlds=drained, disable_env_checker=False)
            env.action_space.seed(0)
            told = played(env, [env.action_space.sample() for _ in range(60)])
        assert sum(len(one) == 2 for one in told) > 2, "episodes have ended"
        # A wrapper copies what its environment was made by.
        assert isinstance(env.spec, gymnasium.envs.registration.EnvSpec)

    def test_it_sees_what_rules_see_and_remembers_the_rest(self, drained: fpsrl.Worlds) -> None:
        env = WorldEnv(drained)
        observation, before = env.reset(seed=3)
        assert observation.tolist() == np.float32(before["state"][:1]).tolist() and env.observation_space.shape == (1,)
        observation, _, _, _, after = env.step(np.array([0.25, 0.125]))
        state = dict(zip(drained.states, after["state"]))
        assert (state["valve_1"], state["level_1"]) == (0.25, pytest.approx(before["state"][0], rel=1e-6))
        assert state["drain_1"] == pytest.approx(0.125, abs=1e-6)
        assert observation.dtype == np.float32 and observation[0] == state["level"]

    def test_rules_drive_it(self, run: fpsrl.Run) -> None:
        env = WorldEnv(run)
        observation, info = env.reset(seed=0)
        rolled = run.worlds.rollout(run.policy, [info["state"]], 8)
        for step in range(8):
            observation, reward, _, _, info = env.step(run.policy.act(observation))
            assert reward == rolled["rewards"][step, 0]
            np.testing.assert_array_equal(info["state"], rolled["states"][step + 1, 0])

    def test_steps_are_those_of_the_member(self, drained: fpsrl.Worlds) -> None:
        env = WorldEnv(drained, member="random", starts=1)
        met = set()
        for _ in range(12):
            _, info = env.reset()
            member, state = info["member"], info["state"]
            met.add(member)
            truth = drained.step([state], [[0.5, 0.1]], member=member)
            _, reward, _, _, info = env.step([0.5, 0.1])
            assert (reward, info["member"]) == (truth.rewards[0], member)
            np.testing.assert_array_equal(info["state"], truth.next_states[0])
        assert met == {0, 1}

    def test_the_same_seed_gives_the_same_episodes(self, drained: fpsrl.Worlds) -> None:
        actions = np.random.default_rng(0).uniform(0.0, 0.5, (70, 2))
        one, other = (played(WorldEnv(drained, member="random"), actions, seed=5) for _ in range(2))
        assert_same(one, other)
        assert played(WorldEnv(drained), actions, seed=6)[0][1]["state"].tolist() != one[0][1]["state"].tolist()

    @pytest.mark.parametrize("of", ["search", "judge", "evaluation"])
    def test_episodes_start_where_they_are_told_to(self, drained: fpsrl.Worlds, of: str) -> None:
        env = WorldEnv(drained, of=of, starts=3)
        met = {tuple(env.reset(seed=seed)[1]["state"]) for seed in range(30)}
        assert met == {tuple(row) for row in drained.starts(3, of=of)}

    def test_it_starts_in_states_of_ones_own(self, car: fpsrl.Worlds) -> None:
        assert WorldEnv(car, starts=[[-0.5, 0.25]]).reset()[0].tolist() == [-0.5, 0.25]
        observation, info = given(WorldEnv(car), state=[-0.25, 0.0], member=1)
        assert observation.tolist() == [-0.25, 0.0] and info["member"] == 1

    def test_an_episode_is_cut_at_the_horizon_and_not_gone_on_with(self, car: fpsrl.Worlds) -> None:
        for env, steps in ((WorldEnv(car), 200), (WorldEnv(car, max_episode_steps=3), 3)):
            given(env, state=[-0.5, 0.0])
            cut = [env.step([0.0])[2:4] for _ in range(steps)]
            assert cut == [(False, False)] * (steps - 1) + [(False, True)]
            with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
                env.step([0.0])

    def test_it_needs_a_reset_first(self, car: fpsrl.Worlds) -> None:
        with pytest.raises(gymnasium.error.ResetNeeded, match="env.reset"):
            WorldEnv(car).step([0.0])

    def test_actions_go_no_further_than_their_limits(self, car: fpsrl.Worlds) -> None:
        env = WorldEnv(car)
        told = []
        for force in (1.0, 7.0):
            given(env, state=[-0.5, 0.0])
            told.append(env.step([force]))
        assert_same(told[0], told[1])

    def test_a_world_that_runs_away_is_still_observed_in_finite_numbers(self, car: fpsrl.Worlds) -> None:
        env = WorldEnv(car)
        given(env, state=[-3.4e38, -3.4e38])
        for _ in range(4):
            observation, reward, terminated, _, _ = env.step([1.0])
            assert env.observation_space.contains(observation) and np.isfinite(reward)
            if terminated:
                break

    def test_copies_go_on_alike_and_share_the_worlds(self, drained: fpsrl.Worlds) -> None:
        env = WorldEnv(drained, member="random")
        env.reset(seed=2)
        env.step([0.4, 0.0])
        deep, pickled = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
        assert deep.worlds is drained and pickled.worlds is not drained
        told = [[one.step([0.6, 0.2]) for _ in range(5)] + [one.reset()] for one in (env, deep, pickled)]
        assert_same(told[0], told[1])
        assert_same(told[0], told[2])

    @pytest.mark.parametrize(
        "wrong",
        [
            {"member": 2},
            {"member": -1},
            {"member": "both"},
            {"of": "elsewhere"},
            {"starts": 0},
            {"starts": [[1.0]]},
            {"starts": [[1.0, np.nan]]},
            {"max_episode_steps": 0},
            {"later_rewards": "twice"},
        ],
    )
    def test_it_says_which_setting_is_wrong(self, car: fpsrl.Worlds, wrong: dict[str, Any]) -> None:
        (name,) = wrong
        with pytest.raises(ValueError, match=name):
            WorldEnv(car, **wrong)

    def test_it_says_what_is_wrong_with_an_action(self, car: fpsrl.Worlds) -> None:
        env = WorldEnv(car)
        env.reset()
        with pytest.raises(ValueError, match=r"\(2,\); \(1,\) is needed"):
            env.step([0.0, 1.0])
        with pytest.raises(ValueError, match="finite"):
            env.step([np.nan])
        with pytest.raises(TypeError, match="numbers"):
            env.step("left")
        with pytest.raises(ValueError, match=r"member.* from 0 to 1"):
            given(env, member=5)
        with pytest.raises(TypeError, match="Problem was given"):
            WorldEnv(car.problem)  # type: ignore[arg-type]


class TestLaterRewards:
    """A tank that overflows earns what it earns there for ever."""

    FULL = [[1.12, 1.1, 1.1, 1.0, 1.0, 0.0, 0.0]]

    def returned(self, worlds: fpsrl.Worlds, later_rewards: str) -> tuple[float, int, bool]:
        env = WorldEnv(worlds, later_rewards=later_rewards, starts=self.FULL)
        env.reset()
        value, weight, steps = 0.0, 1.0, 0
        while True:
            _, reward, terminated, truncated, _ = env.step([1.0, 0.0])
            value, weight, steps = value + weight * reward, weight * env.discount, steps + 1
            if terminated or truncated:
                return value, steps, terminated

    def test_their_sum_makes_the_return_the_one_that_fpsrl_counts(self, drained: fpsrl.Worlds) -> None:
        run = fpsrl.search(drained).judge()
        returns, stopped = [], 0
        for member in range(len(drained)):
            for start in drained.starts(40, of="evaluation"):
                env = WorldEnv(run, member=member, starts=[start])
                observation, _ = env.reset()
                value, weight, over = 0.0, 1.0, False
                while not over:
                    observation, reward, terminated, truncated, _ = env.step(run.policy.act(observation))
                    value, weight, over = value + weight * reward, weight * env.discount, terminated or truncated
                    stopped += terminated
                returns.append(value)
        assert stopped >= 10, "tanks have overflown"
        assert np.mean(returns) == pytest.approx(run.summary["model_return"], rel=1e-5)

    def test_their_sum_is_worth_what_they_are_one_by_one(self, drained: fpsrl.Worlds) -> None:
        value, steps, terminated = self.returned(drained, "sum")
        assert terminated and 1 <= steps < 10
        longer, cut, ended = self.returned(drained, "steps")
        assert (cut, ended) == (25, False)
        assert value == pytest.approx(longer, rel=1e-12)

    def test_steps_of_a_plant_that_stands_still_are_paid_one_by_one(self, drained: fpsrl.Worlds) -> None:
        env = WorldEnv(drained, later_rewards="steps", starts=self.FULL)
        env.reset()
        told = [env.step([1.0, 0.0]) for _ in range(25)]
        assert [one[2] for one in told] == [False] * 25 and [one[3] for one in told] == [False] * 24 + [True]
        last = told[-1]
        assert last[0][0] > 1.15, "it stands where it has overflown"
        assert told[-2][0].tolist() == last[0].tolist()
        assert last[1] == drained_later(drained, last[4]["state"])

    def test_without_them_a_plant_that_has_stopped_earns_no_more(self, drained: fpsrl.Worlds) -> None:
        value, steps, terminated = self.returned(drained, "none")
        assert terminated and steps == self.returned(drained, "sum")[1]
        assert -0.9 * steps < value < 0.0 and self.returned(drained, "sum")[0] < value - 5.0


def drained_later(worlds: fpsrl.Worlds, state: Any) -> float:
    """What a tank that has overflown earns in a step."""
    before = np.array(TestLaterRewards.FULL)
    while True:
        step = worlds.step(before, [[1.0, 0.0]])
        before = step.next_states
        if step.terminated[0]:
            assert before[0].tolist() == list(state)
            return float(step.later_rewards[0])


@needs_vectors
class TestWorldVectorEnv:
    MODES = ["NextStep"] + (["SameStep"] if HAS_MODES else [])

    @pytest.mark.parametrize("member", [1, "random"])
    @pytest.mark.parametrize("mode", MODES)
    def test_it_says_what_single_environments_say(self, drained: fpsrl.Worlds, mode: str, member: Any) -> None:
        settings: dict[str, Any] = {"member": member, "max_episode_steps": 7}
        more = {"autoreset_mode": gymnasium.vector.AutoresetMode(mode)} if HAS_MODES else {}
        singles = gymnasium.vector.SyncVectorEnv([lambda: WorldEnv(drained, **settings)] * 5, **more)
        together = WorldVectorEnv(drained, 5, autoreset_mode=mode, **settings)
        assert together.observation_space == singles.observation_space
        assert together.action_space == singles.action_space
        assert together.metadata.get("autoreset_mode") == singles.metadata.get("autoreset_mode", mode)
        assert_same(singles.reset(seed=11), together.reset(seed=11))
        random = np.random.default_rng(0)
        ended = 0
        for _ in range(40):
            actions = (random.uniform(size=(5, 2)) * [1.0, 0.5]).astype(np.float32)
            actions[0] = [1.0, 0.0]
            one, other = singles.step(actions), together.step(actions)
            assert_same(one, other)
            ended += int(other[2].any())
        assert ended, "a tank has overflown"
        assert_same(singles.reset(), together.reset())

    @pytest.mark.skipif(not HAS_MODES, reason="modes came with Gymnasium 1.1")
    def test_without_autoreset_it_waits_for_those_that_are_over(self, drained: fpsrl.Worlds) -> None:
        mode = gymnasium.vector.AutoresetMode.DISABLED
        envs = WorldVectorEnv(drained, 3, autoreset_mode=mode, starts=TestLaterRewards.FULL)
        envs.reset(seed=0)
        actions = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.5]])
        while not envs.step(actions)[2].any():
            pass
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"of \[0\] are over"):
            envs.step(actions)
        mask = np.array([True, False, False])
        observations, infos = envs.reset(options={"reset_mask": mask})
        assert observations[0, 0] == np.float32(1.12) and observations[1, 0] < 1.12
        assert infos["_state"].tolist() == mask.tolist()
        envs.step(actions)

    @pytest.mark.skipif(not HAS_MODES, reason="masks came with Gymnasium 1.1")
    def test_a_seed_reaches_only_those_that_are_begun_anew(self, drained: fpsrl.Worlds) -> None:
        told = []
        for make in (gymnasium.vector.SyncVectorEnv, None):
            mode = gymnasium.vector.AutoresetMode.DISABLED
            envs: Any = WorldVectorEnv(drained, 4, autoreset_mode=mode)
            if make is not None:
                envs = make([lambda: WorldEnv(drained)] * 4, autoreset_mode=mode)
            options = {"reset_mask": np.array([False, True, False, True])}
            told.append([envs.reset(seed=2), envs.reset(seed=[7, 8, 9, 10], options=options), envs.reset()])
        assert_same(told[0], told[1])

    def test_all_copies_move_in_one_call(self, drained: fpsrl.Worlds) -> None:
        envs = WorldVectorEnv(drained, 50)
        envs.reset(seed=0)
        calls = []
        advance = envs._plant.advance

        def counted(states: Any, *rest: Any) -> Any:
            calls.append(len(states))
            return advance(states, *rest)

        envs._plant.advance = counted  # type: ignore[method-assign]
        for _ in range(3):
            envs.step(envs.action_space.sample())
        assert calls == [50] * 3

    def test_gymnasium_makes_it(self, car: fpsrl.Worlds) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            envs = gymnasium.make_vec("fpsrl.gym:fpsrl/World-v0", num_envs=4, worlds=car, max_episode_steps=2)
        assert isinstance(envs, WorldVectorEnv)
        envs.reset(seed=0)
        envs.step(envs.action_space.sample())
        assert envs.step(envs.action_space.sample())[3].all()
        copied = pickle.loads(pickle.dumps(envs))
        assert_same(envs.step(np.zeros((4, 1))), copied.step(np.zeros((4, 1))))

    def test_it_says_what_is_wrong(self, car: fpsrl.Worlds) -> None:
        with pytest.raises(ValueError, match="num_envs is 0"):
            WorldVectorEnv(car, 0)
        with pytest.raises(ValueError, match="autoreset_mode"):
            WorldVectorEnv(car, 2, autoreset_mode="Never")
        envs = WorldVectorEnv(car, 2)
        with pytest.raises(gymnasium.error.ResetNeeded):
            envs.step(np.zeros((2, 1)))
        with pytest.raises(ValueError, match="2 environments"):
            envs.reset(seed=[1, 2, 3])
        for mask in ([True], np.zeros(2, dtype=bool), np.ones(2)):
            with pytest.raises(ValueError, match="reset_mask"):
                envs.reset(options={"reset_mask": mask})
        envs.reset()
        with pytest.raises(ValueError, match=r"\(3, 1\); \(2, 1\) is needed"):
            envs.step(np.zeros((3, 1)))


@pytest.mark.skipif(IS_MODERN, reason="this is about versions before 1.0")
def test_an_old_gymnasium_is_named_where_it_is_too_old(car: fpsrl.Worlds) -> None:
    with pytest.raises(ImportError, match="1.0 or later"):
        WorldVectorEnv(car, 2)


def lived(env: Any, steps: int = 250) -> tuple[Any, Any, Any, Any, Any]:
    """What an environment does by itself: states, actions, next states, rewards, ends."""
    env.action_space.seed(0)
    rows = []
    env.reset(seed=0)
    for _ in range(steps):
        before = np.array(env.unwrapped.state, dtype=np.float64)
        action = env.action_space.sample()
        _, reward, terminated, truncated, _ = env.step(action)
        rows.append((before, np.ravel(action), np.array(env.unwrapped.state, dtype=np.float64), reward, terminated))
        if terminated or truncated:
            env.reset()
    return tuple(np.array(column) for column in zip(*rows))  # type: ignore[return-value]


def cart_poles(count: int, **settings: Any) -> Any:
    return gymnasium.make_vec("CartPole-v1", num_envs=count, vectorization_mode="vector_entry_point", **settings)


class Lamp(gymnasium.Env):  # type: ignore[misc, name-defined, unused-ignore]
    """Three lights that go up or down; two switches and a dimmer."""

    observation_space = gymnasium.spaces.Box(-9.0, 9.0, (3,))
    action_space = gymnasium.spaces.MultiDiscrete([2, 3])

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.lights = self.np_random.uniform(size=3)
        return self.lights.astype(np.float32), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        self.lights = self.lights + [action[0], action[1], 0.0]
        return self.lights.astype(np.float32), float(self.lights.sum()), False, False, {}


def of_lamp(**more: Any) -> Simulator:
    def put(env: Any, row: Any) -> None:
        env.unwrapped.lights = row

    return Simulator(Lamp(), put, lambda env: env.unwrapped.lights, **more)


class TestSimulator:
    @pytest.mark.parametrize("name", ["Pendulum-v1", "MountainCarContinuous-v0", "CartPole-v1", "Acrobot-v1"])
    def test_it_does_what_the_environment_does(self, name: str) -> None:
        states, actions, next_states, rewards, ends = lived(gymnasium.make(name, max_episode_steps=40))
        step = Simulator(gymnasium.make(name, max_episode_steps=3))
        # In any order: a step depends on its row alone.
        order = np.random.default_rng(0).permutation(len(states))
        told = step(states[order], actions[order])
        np.testing.assert_allclose(told[0], next_states[order], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(told[1], rewards[order], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(told[2] != 0, ends[order])
        assert name != "CartPole-v1" or ends.sum() > 5

    @needs_vectors
    @pytest.mark.parametrize("count", [1, 4, 7, 64])
    def test_copies_that_move_together_do_what_single_ones_do(self, count: int) -> None:
        # With four copies, states are as many as variables, and may stand either way round.
        random = np.random.default_rng(0)
        states = random.uniform(-1.0, 1.0, (150, 4)) * [2.6, 1.0, 0.25, 1.0]
        actions = random.uniform(0.0, 1.0, (150, 1))
        single = Simulator(gymnasium.make("CartPole-v1"))(states, actions)
        together = Simulator(cart_poles(count, max_episode_steps=2))
        for _ in range(2):
            for one, other in zip(single, together(states, actions)):
                np.testing.assert_allclose(one, other, rtol=1e-12)
        assert 10 < single[2].sum() < 140
        assert together(states[:1], actions[:1])[0].shape == (1, 4)

    def test_sub_environments_do_what_single_ones_do(self) -> None:
        envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("Pendulum-v1", max_episode_steps=2)] * 3)
        rows, torques = np.linspace(-3.0, 3.0, 20).reshape(10, 2), np.linspace(-2.0, 2.0, 10)[:, None]
        single = Simulator(gymnasium.make("Pendulum-v1"))(rows, torques)
        for one, other in zip(single, Simulator(envs)(rows, torques)):
            np.testing.assert_array_equal(one, other)

    @needs_vectors
    def test_environments_in_other_processes_do_so_too(self) -> None:
        envs = gymnasium.vector.AsyncVectorEnv([lambda: gymnasium.make("CartPole-v1", max_episode_steps=2)] * 2)
        try:
            states, actions, next_states, _, ends = lived(gymnasium.make("CartPole-v1"), 30)
            told = Simulator(envs)(states, actions)
            np.testing.assert_allclose(told[0], next_states, rtol=1e-12)
            np.testing.assert_array_equal(told[2] != 0, ends)
        finally:
            envs.close()

    @needs_vectors
    def test_wrappers_of_rewards_and_actions_stay_in_force(self) -> None:
        plain = Simulator(gymnasium.make("Pendulum-v1"))([[1.0, 0.5]] * 4, [[0.5]] * 4)
        wrapped = gymnasium.wrappers.TransformReward(gymnasium.make("Pendulum-v1"), lambda reward: 2.0 * reward)
        wrapped = gymnasium.wrappers.RescaleAction(wrapped, np.float32(-1.0), np.float32(1.0))
        singles = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("Pendulum-v1")] * 3)
        vector = gymnasium.wrappers.vector.TransformReward(singles, lambda reward: 2.0 * reward)
        for env, torque in ((wrapped, 0.25), (vector, 0.5)):
            told = Simulator(env)([[1.0, 0.5]] * 4, [[torque]] * 4)
            np.testing.assert_allclose(told[0], plain[0])
            np.testing.assert_allclose(told[1], 2.0 * plain[1])

    def test_a_discrete_action_is_the_nearest_one(self) -> None:
        car = gymnasium.make("MountainCar-v0")
        rows = [[-0.5, 0.0]] * 6
        by_number = Simulator(car)(rows, [[-3.0], [0.4], [0.6], [1.4], [1.6], [9.0]])[0][:, 1]
        assert np.unique(by_number.round(6)).size == 3
        np.testing.assert_array_equal(by_number[[0, 2, 4]], by_number[[1, 3, 5]])
        by_value = Simulator(car, actions=[-10.0, 0.0, 10.0])
        assert by_value.limits == [(-10.0, 10.0)]
        np.testing.assert_array_equal(by_value(rows[:3], [[-6.0], [4.0], [7.0]])[0][:, 1], by_number[[0, 2, 4]])
        by_function = Simulator(car, actions=lambda wanted: np.where(wanted[:, 0] > 0, 2, 0))
        np.testing.assert_array_equal(by_function(rows[:2], [[0.1], [-0.1]])[0][:, 1], by_number[[4, 0]])

    def test_several_discrete_actions_are_the_nearest_ones(self) -> None:
        told = of_lamp()([[0.0, 0.0, 0.5]] * 2, [[0.7, 1.6], [-1.0, 0.4]])
        assert told[0].tolist() == [[1.0, 2.0, 0.5], [0.0, 0.0, 0.5]]
        assert told[1].tolist() == [3.5, 0.5]

    def test_a_box_gets_no_more_than_it_takes(self) -> None:
        step = Simulator(gymnasium.make("Pendulum-v1", disable_env_checker=True))
        one, other = step([[1.0, 0.0]] * 2, [[2.0], [50.0]])[0]
        assert one.tolist() == other.tolist()

    def test_what_an_ended_copy_earns_can_be_said(self) -> None:
        step = Simulator(gymnasium.make("CartPole-v1"), later_reward=-1.0)
        _, _, ended, later = step([[0.0] * 4, [2.5, 1.0, 0.0, 0.0]], [[0.0]] * 2)
        assert (ended.tolist(), later.tolist()) == ([0.0, 1.0], [0.0, -1.0])

    @needs_vectors
    def test_threads_do_not_mix_their_rows(self) -> None:
        step = Simulator(cart_poles(16))
        random = np.random.default_rng(0)
        asked = [(random.uniform(-0.2, 0.2, (40, 4)), random.integers(0, 2, (40, 1))) for _ in range(8)]
        truth = [step(*one)[0] for one in asked]
        got: list[Any] = [None] * len(asked)

        def work(place: int) -> None:
            for _ in range(5):
                got[place] = step(*asked[place])[0]

        threads = [threading.Thread(target=work, args=(place,)) for place in range(len(asked))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one, other in zip(truth, got):
            np.testing.assert_array_equal(one, other)

    def test_it_can_be_copied(self) -> None:
        step = pickle.loads(pickle.dumps(Simulator(gymnasium.make("Pendulum-v1"))))
        assert step([[0.0, 0.0]], [[0.0]])[0].tolist() == [[0.0, 0.0]]

    def refused(self, message: str, remedy: str, *arguments: Any, **settings: Any) -> None:
        with pytest.raises(fpsrl.ProblemError, match=message) as error:
            Simulator(*arguments, **settings)
        assert remedy in (error.value.remedy or "")

    def test_an_environment_whose_state_cannot_be_set_is_refused(self) -> None:
        self.refused(
            "FrozenLake-v1 cannot be set: it has no attribute `state`", "set_state", gymnasium.make("FrozenLake-v1")
        )
        self.refused("belong together", "both", Lamp(), set_state=lambda env, row: None)
        self.refused("does not keep|two different", "state", Lamp(), lambda env, row: None, lambda env: env.lights)

    def test_an_environment_that_throws_dice_is_refused(self) -> None:
        class Flickering(Lamp):
            def step(self, action: Any) -> Any:
                self.lights = self.lights + self.np_random.choice([0.0, 1.0])
                return super().step(action)

        def put(env: Any, row: Any) -> None:
            env.lights = row

        self.refused("two different steps", "random", Flickering(), put, lambda env: env.lights)

    def test_a_state_that_is_not_all_of_it_is_refused(self) -> None:
        class Winding(Lamp):
            turns = 0.0

            def step(self, action: Any) -> Any:
                self.turns += 1.0
                observation, _, *rest = super().step(action)
                return (observation, self.turns, *rest)

        def put(env: Any, row: Any) -> None:
            env.lights = row

        self.refused("two different steps", "know all of it", Winding(), put, lambda env: env.lights)

    def test_copies_that_are_made_differently_are_refused(self) -> None:
        envs = [lambda: gymnasium.make("Pendulum-v1"), lambda: gymnasium.make("Pendulum-v1", g=3.0)]
        self.refused("do not agree", "made alike", gymnasium.vector.SyncVectorEnv(envs))

    @pytest.mark.skipif(not HAS_MODES, reason="modes came with Gymnasium 1.1")
    def test_resets_in_the_same_step_are_refused_where_they_hide_the_last_state(self) -> None:
        mode = gymnasium.vector.AutoresetMode.SAME_STEP
        envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2, autoreset_mode=mode)
        assert Simulator(envs)([[2.5, 1.0, 0.0, 0.0]], [[0.0]])[2].tolist() == [1.0], "these are stepped one by one"
        wrapped = gymnasium.wrappers.vector.TransformReward(envs, lambda reward: reward)
        self.refused("begins a new episode", "NEXT_STEP", wrapped)

    def test_it_says_what_is_wrong(self) -> None:
        cart = gymnasium.make("CartPole-v1")
        self.refused("`largest_reward` is -1", "largest_reward=0.0", cart, largest_reward=-1.0)
        self.refused("3 values", "each action", cart, actions=[1.0, 2.0, 3.0])
        lamp = Lamp()
        lamp.action_space = gymnasium.spaces.Dict({"a": gymnasium.spaces.Discrete(2)})
        self.refused("Dict spaces", "TransformAction", lamp)
        with pytest.raises(TypeError, match="int was given"):
            Simulator(3)
        step = Simulator(cart)
        with pytest.raises(fpsrl.ProblemError, match="state has 4 numbers, and the problem has 2"):
            step([[0.0, 0.0]], [[0.0]])
        with pytest.raises(fpsrl.ProblemError, match="has 1 actions, and the problem has 2"):
            step([[0.0] * 4], [[0.0, 0.0]])


class TestProblemOf:
    def test_it_says_where_everything_comes_from(self) -> None:
        env = gymnasium.make("MountainCar-v0", max_episode_steps=120)
        problem = problem_of(env, largest_reward=0.0, states={"position": "m", "velocity": (-0.01, 0.01)})
        assert (problem.name, problem.horizon, problem.states) == ("MountainCar-v0", 120, ["position", "velocity"])
        assert problem.limits == {"action": (0.0, 2.0)} and problem.units["position"] == "m"
        told = "\n".join(problem.found)
        assert "120 steps" in told and "200 resets" in told and "the action space" in told
        assert "`velocity` starts" not in told, "that was given"
        starts = {one["name"]: one["start"] for one in problem._written["state"]}
        assert -0.6 <= starts["position"][0] < -0.58 and -0.42 < starts["position"][1] <= -0.4
        assert starts["velocity"] == [-0.01, 0.01]

    @needs_vectors
    def test_rules_are_searched_on_an_environment(self) -> None:
        simulator = Simulator(cart_poles(128), largest_reward=1.0, actions=[-10.0, 10.0])
        problem = problem_of(
            simulator,
            states=["x", "v", "angle", "turn"],
            actions=["force"],
            horizon=30,
            samples=400,
            rules=1,
            search={"start_states": 20, "budget": 30_000},
            evaluation={"start_states": 50},
        )
        assert problem.limits == {"force": (-10.0, 10.0)}
        run = fpsrl.run(problem)
        # From the rules alone, on the environment as it is: the promise is kept.
        env = gymnasium.make("CartPole-v1", max_episode_steps=30)
        gamma = 0.05 ** (1 / 29)
        returns = []
        for seed in range(50):
            observation, _ = env.reset(seed=seed)
            value, weight, over = 0.0, 1.0, False
            while not over:
                force = run.policy.act(observation)[0]
                observation, reward, terminated, truncated, _ = env.step(int(force > 0))
                value, weight, over = value + weight * float(reward), weight * gamma, terminated or truncated
            returns.append(value)
        assert run.promise.mean == pytest.approx(np.mean(returns), abs=0.7)

    def test_what_cannot_be_known_is_asked_for(self) -> None:
        with pytest.raises(fpsrl.ProblemError, match="no time limit") as error:
            problem_of(of_lamp(), largest_reward=9.0)
        assert error.value.remedy == "say how many steps to look ahead: `horizon=200`"
        with pytest.raises(fpsrl.ProblemError, match="largest_reward"):
            problem_of(gymnasium.make("Pendulum-v1"))
        with pytest.raises(fpsrl.ProblemError, match="3 states were named, and the environment has 2"):
            problem_of(gymnasium.make("Pendulum-v1"), largest_reward=0.0, states=["a", "b", "c"])
        lamp = Lamp()
        lamp.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
        lamp.action_space.contains = lambda action: True  # type: ignore[method-assign]
        simulator = Simulator(lamp, lambda env, row: setattr(env, "lights", row), lambda env: env.lights)
        with pytest.raises(fpsrl.ProblemError, match="`action_0` of Lamp has no limits"):
            problem_of(simulator, largest_reward=9.0, horizon=20)
