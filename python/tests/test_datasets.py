"""Data sets of Minari and of d3rlpy as logs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fpsrl
from fpsrl import datasets


@dataclass(frozen=True)
class Episode:
    """An episode as d3rlpy has it: an observation a step, and a word about the last one."""

    observations: Any
    actions: Any
    rewards: Any
    terminated: bool


@dataclass(frozen=True)
class Whole:
    """An episode as Minari has it: one observation more, and two words about each step."""

    observations: Any
    actions: Any
    rewards: Any
    terminations: Any
    truncations: Any


class Buffer:
    """What d3rlpy calls a replay buffer."""

    def __init__(self, episodes: list[Episode]) -> None:
        self.episodes = episodes
        self.transition_count = sum(len(one.rewards) - (not one.terminated) for one in episodes)


def whole(observations: Any, actions: Any, **more: Any) -> Whole:
    steps = len(more.get("rewards", actions if not isinstance(actions, (dict, tuple)) else [0, 0]))
    given = {
        "rewards": np.arange(float(steps)),
        "terminations": np.zeros(steps, bool),
        "truncations": np.zeros(steps, bool),
    }
    return Whole(observations, actions, **{**given, **more})


def tank_episodes(count: int = 12, steps: int = 40, seed: int = 0) -> list[Episode]:
    """A tank whose valve somebody moves; every third episode ends because it overflows."""
    random = np.random.default_rng(seed)
    episodes = []
    for number in range(count):
        level, levels, valves = random.uniform(0.2, 1.5), [], []
        for step in range(steps):
            if step % 5 == 0:
                valve = random.uniform(0.0, 1.0)
            levels.append([level])
            valves.append([valve])
            level += 0.1 * valve - 0.05 * level
        observed = np.array(levels, dtype=np.float32)
        rewards = -np.abs(observed - 1.0)
        episodes.append(Episode(observed, np.array(valves, dtype=np.float32), rewards, number % 3 == 0))
    return episodes


def written(path: Path, episodes: list[Episode]) -> Path:
    """A file in the format of ReplayBuffer.dump, version 2.1."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["columns"] = ["observations", "actions", "rewards", "terminated"]
        file["num_episodes"] = len(episodes)
        for place, episode in enumerate(episodes):
            for key in ("observations", "actions", "rewards", "terminated"):
                value = getattr(episode, key)
                if isinstance(value, (list, tuple)):
                    for part, array in enumerate(value):
                        file[f"{key}_{place}_{part}"] = array
                else:
                    file[f"{key}_{place}"] = value
        file["version"] = "2.1"
    return path


class TestEpisodes:
    def test_each_row_has_its_next_state_and_its_episode(self) -> None:
        first = whole([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]], [[0.1], [0.2]], truncations=[False, True])
        second = whole([[7.0, 70.0], [8.0, 80.0]], [[0.7]], terminations=[True])
        log = datasets.columns([first, second])
        assert {title: column.tolist() for title, column in log.items()} == {
            "episode": [0.0, 0.0, 1.0],
            "observations_0": [1.0, 2.0, 7.0],
            "observations_1": [10.0, 20.0, 70.0],
            "actions_0": [0.1, 0.2, 0.7],
            "next_observations_0": [2.0, 3.0, 8.0],
            "next_observations_1": [20.0, 30.0, 80.0],
            "rewards": [0.0, 1.0, 0.0],
            "terminations": [0.0, 0.0, 1.0],
            "truncations": [0.0, 1.0, 0.0],
        }

    def test_a_single_episode_is_a_data_set_and_a_frame_is_none(self) -> None:
        episode = whole([[1.0], [2.0]], [[0.1]])
        assert datasets.is_dataset(episode) and datasets.is_dataset([episode]) and datasets.is_dataset(Buffer([]))
        assert len(datasets.columns(episode)["rewards"]) == 1
        assert not datasets.is_dataset({"observations": [1.0], "actions": [1.0], "rewards": [1.0]})
        assert not datasets.is_dataset([]) and not datasets.is_dataset(3)
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"observations": [1.0], "actions": [1.0], "rewards": [1.0]})
        assert not datasets.is_dataset(frame) and not datasets.is_dataset([frame])

    def test_parts_of_dictionaries_are_called_after_their_keys(self) -> None:
        observations = {"arm": np.arange(6.0).reshape(3, 2), "door": {"open": np.array([0, 1, 1])}}
        log = datasets.columns([whole(observations, {"motor": np.array([0.5, 0.6])})])
        assert log["observations_arm_1"].tolist() == [1.0, 3.0]
        assert log["next_observations_door_open_0"].tolist() == [1.0, 1.0]
        assert log["actions_motor_0"].tolist() == [0.5, 0.6]
        assert "observations_0" not in log

    @pytest.mark.parametrize("kind", [tuple, list])
    def test_parts_of_tuples_are_counted_on(self, kind: Any) -> None:
        # d3rlpy keeps a list of arrays, Minari a tuple.
        parts = kind([np.arange(6.0).reshape(3, 2), np.array([[7.0], [8.0], [9.0]])])
        log = datasets.columns([whole(parts, np.array([[0.0], [1.0]]))])
        assert [log[f"observations_{place}"].tolist() for place in range(3)] == [[0.0, 2.0], [1.0, 3.0], [7.0, 8.0]]

    def test_dictionaries_in_a_tuple_are_told_by_their_places(self) -> None:
        nested = ({"x": np.zeros(3)}, {"x": np.ones(3)})
        log = datasets.columns([whole(nested, np.array([[0.0], [1.0]]))])
        assert (log["observations_0_x_0"][0], log["observations_1_x_0"][0]) == (0.0, 1.0)

    def test_as_many_parts_as_steps_are_not_taken_for_rows(self) -> None:
        parts = [np.array([[1.0], [2.0], [3.0]]), np.array([[4.0], [5.0], [6.0]])]
        log = datasets.columns([whole(parts, np.array([[0.0], [1.0]]))])
        assert log["observations_1"].tolist() == [4.0, 5.0]
        rows = [np.array([1.0, 4.0]), np.array([2.0, 5.0]), np.array([3.0, 6.0])]
        assert datasets.columns([whole(rows, np.array([[0.0], [1.0]]))])["observations_1"].tolist() == [4.0, 5.0]

    def test_discrete_spaces_are_columns_of_their_numbers(self) -> None:
        log = datasets.columns([whole(np.array([3, 1, 2]), np.array([0, 1]))])
        assert log["observations_0"].tolist() == [3.0, 1.0] and log["actions_0"].tolist() == [0.0, 1.0]

    def test_empty_episodes_count_but_hold_nothing(self) -> None:
        empty = Whole(np.zeros((1, 1)), np.zeros((0, 1)), np.zeros(0), np.zeros(0), np.zeros(0))
        bare = Episode(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros((0, 1)), False)
        log = datasets.columns([empty, whole([[1.0], [2.0]], [[0.1]]), bare])
        assert log["episode"].tolist() == [1.0]
        with pytest.raises(fpsrl.LogError, match="no transition"):
            datasets.columns([empty, bare])

    def test_names_take_the_place_of_numbers(self) -> None:
        episode = whole([[1.0, 10.0], [2.0, 20.0]], [[0.1]])
        log = datasets.columns([episode], names=["level", "flow"], actions=["valve"])
        assert list(log)[1:6] == ["level", "flow", "valve", "next_level", "next_flow"]
        with pytest.raises(
            fpsrl.LogError, match="1 names were given for 2 observations: observations_0, observations_1"
        ):
            datasets.columns([episode], names=["level"])
        with pytest.raises(fpsrl.LogError, match="1 names were given for 1 actions"):
            datasets.columns([episode], actions="v")
        with pytest.raises(fpsrl.LogError, match="same name"):
            datasets.columns([episode], names=["level", "level"])

    def test_32_bits_are_read_as_they_are(self) -> None:
        log = datasets.columns([whole(np.float32([[0.1], [0.2]]), np.float32([[0.3]]))])
        assert log["observations_0"].dtype == np.float64 and log["observations_0"][0] == np.float32(0.1)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (whole(np.zeros((3, 8, 8, 3), np.uint8), np.zeros((2, 1))), r"an image or the like"),
            (whole({"camera": np.zeros((3, 900))}, np.zeros((2, 1))), r"observations_camera.*\(900,\)"),
            (whole(np.array(["a", "b", "c"]), np.zeros((2, 1))), "episode 1.*not numbers, but str"),
            (whole(np.zeros((5, 1)), np.zeros((2, 1))), "episode 1 .* has 5 observations, 2 rewards"),
            (whole(np.zeros((3, 1)), np.zeros((3, 1)), rewards=np.zeros(2)), "2 rewards, 3 actions"),
            (whole(np.zeros((3, 1)), np.zeros((2, 1)), rewards=np.zeros((2, 2))), r"rewards have the shape \(2, 2\)"),
            (whole(np.zeros((3, 2)), np.zeros((2, 1))), "episode 1 of the data set has other observations"),
            (whole({}, np.zeros((2, 1))), "no observations"),
        ],
    )
    def test_what_is_no_log_is_refused_with_its_place(self, wrong: Whole, message: str) -> None:
        with pytest.raises(fpsrl.LogError, match=message) as error:
            datasets.columns([whole(np.zeros((3, 1)), np.zeros((2, 1))), wrong])
        assert error.value.remedy


class TestD3rlpy:
    def test_the_step_before_a_cut_is_the_last_one(self) -> None:
        episode = Episode(np.array([[1.0], [2.0], [3.0]]), np.zeros((3, 1)), np.array([[0.1], [0.2], [0.3]]), False)
        log = datasets.columns(Buffer([episode]))
        assert log["next_observations_0"].tolist() == [2.0, 3.0] and log["rewards"].tolist() == [0.1, 0.2]
        assert log["terminations"].tolist() == [0.0, 0.0]

    def test_an_end_whose_state_is_not_known_is_not_made_up(self) -> None:
        episode = Episode(np.array([[1.0], [2.0]]), np.zeros((2, 1)), np.array([[0.1], [0.2]]), True)
        with pytest.warns(fpsrl.Warning, match="1 episodes ended for good.*(\n|.)*terminal="):
            log = datasets.columns(Buffer([episode]))
        assert log["terminations"].tolist() == [0.0, 1.0]
        assert log["next_observations_0"][0] == 2.0 and np.isnan(log["next_observations_0"][1])

    def test_no_warning_where_ends_are_known(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            datasets.columns([whole([[1.0], [2.0]], [[0.1]], terminations=[True])])
            datasets.columns(Buffer([Episode(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1)), False)]))

    @pytest.mark.filterwarnings("ignore::fpsrl.Warning")
    def test_a_file_holds_what_its_episodes_hold(self, tmp_path: Path) -> None:
        episodes = tank_episodes(4)
        log, truth = datasets.read_d3rlpy(written(tmp_path / "tank.h5", episodes)), datasets.columns(Buffer(episodes))
        assert list(log) == list(truth)
        for title, column in truth.items():
            np.testing.assert_array_equal(log[title], column)

    def test_a_file_may_hold_tuples(self, tmp_path: Path) -> None:
        parts = [np.arange(6.0).reshape(3, 2), np.array([[7.0], [8.0], [9.0]])]
        file = written(tmp_path / "tuple.h5", [Episode(parts, np.zeros((3, 1)), np.zeros((3, 1)), False)])
        log = datasets.read_d3rlpy(file, names=["a", "b", "c"], actions=["u"])
        assert log["c"].tolist() == [7.0, 8.0] and log["next_b"].tolist() == [3.0, 5.0]

    def test_files_of_the_first_version_are_read_too(self, tmp_path: Path) -> None:
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "old.h5", "w") as file:
            file["observations"] = np.arange(6.0)[:, None]
            file["actions"], file["rewards"] = np.zeros((6, 1)), np.arange(6.0)
            file["terminals"], file["episode_terminals"] = [0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]
        log = datasets.read_d3rlpy(tmp_path / "old.h5")
        assert log["episode"].tolist() == [0.0, 0.0, 1.0, 1.0]
        assert log["next_observations_0"].tolist() == [1.0, 2.0, 4.0, 5.0]

    def test_what_is_no_file_of_d3rlpy_is_refused(self, tmp_path: Path) -> None:
        h5py = pytest.importorskip("h5py")
        with pytest.raises(fpsrl.LogError, match="no such file"):
            datasets.read_d3rlpy(tmp_path / "none.h5")
        (tmp_path / "text.h5").write_text("level,valve\n")
        with pytest.raises(fpsrl.LogError, match="text.h5 is no file of d3rlpy"):
            datasets.read_d3rlpy(tmp_path / "text.h5")
        with h5py.File(tmp_path / "other.h5", "w") as file:
            file["numbers"] = [1.0]
        with pytest.raises(fpsrl.LogError, match="other.h5 is no data set of d3rlpy"):
            datasets.read_d3rlpy(tmp_path / "other.h5")
        cut = written(tmp_path / "cut.h5", [Episode(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1)), False)])
        with h5py.File(cut, "a") as file:
            del file["actions_0"]
        with pytest.raises(fpsrl.LogError, match="episode 0 has no actions"):
            datasets.read_d3rlpy(cut)

    @pytest.mark.filterwarnings("ignore::fpsrl.Warning")
    def test_rules_are_found_from_a_replay_buffer(self) -> None:
        buffer = Buffer(tank_episodes())
        problem = fpsrl.Problem.draft(buffer)
        assert "4 steps with missing cells, left out" in problem.found
        assert (problem.states, problem.actions) == (["observations_0"], ["actions_0"])
        run = fpsrl.run(problem, buffer, horizon=20, **SMALL)
        assert run.problem.states == ["observations_0"] and len(run.log) == sum(
            len(e.rewards) - 1 for e in buffer.episodes
        )


#: Settings with which a whole run takes a second.
SMALL: dict[str, Any] = {
    "world": {"kind": "ensemble", "members": 2, "layers": 1, "epochs": 5},
    "rules": 1,
    "search": {"start_states": 10, "budget": 20_000},
    "evaluation": {"start_states": 20},
}


@pytest.fixture(scope="module")
def minari(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("h5py")
    pytest.importorskip("PIL")
    module = pytest.importorskip("minari")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(tmp_path_factory.mktemp("minari")))
        yield module


def recorded(minari: Any, env: Any, name: str, episodes: int) -> tuple[Any, list[tuple[Any, ...]]]:
    """A data set of random actions that Minari has written, and what has really happened."""
    collector = minari.DataCollector(env)
    collector.action_space.seed(0)
    rows: list[tuple[Any, ...]] = []
    for episode in range(episodes):
        before, _ = collector.reset(seed=episode)
        over, step = False, 0
        while not over:
            if step % 5 == 0:
                action = collector.action_space.sample()
            after, reward, terminated, truncated, _ = collector.step(action)
            rows.append((episode, before, action, reward, after, terminated, truncated))
            before, over, step = after, terminated or truncated, step + 1
    told = {"algorithm_name": "random", "description": "x", "code_permalink": "x", "author": "x", "author_email": "x"}
    with warnings.catch_warnings():
        # It remarks on all that is not said about a data set.
        warnings.simplefilter("ignore")
        dataset = collector.create_dataset(dataset_id=f"tests/{name}-v0", **told)
    collector.close()
    return dataset, rows


@pytest.fixture(scope="module")
def climbing(minari: Any) -> tuple[Any, list[tuple[Any, ...]]]:
    gymnasium = pytest.importorskip("gymnasium")
    return recorded(minari, gymnasium.make("MountainCarContinuous-v0", max_episode_steps=60), "climbing", 20)


class TestMinari:
    def test_columns_hold_what_has_happened(self, climbing: tuple[Any, list[tuple[Any, ...]]]) -> None:
        dataset, rows = climbing
        log = datasets.columns(dataset, names=["position", "velocity"], actions=["force"])
        np.testing.assert_array_equal(log["episode"], [row[0] for row in rows])
        np.testing.assert_array_equal(np.c_[log["position"], log["velocity"]], [row[1] for row in rows])
        np.testing.assert_array_equal(log["force"], [row[2][0] for row in rows])
        np.testing.assert_allclose(log["rewards"], [row[3] for row in rows], rtol=1e-6)
        np.testing.assert_array_equal(np.c_[log["next_position"], log["next_velocity"]], [row[4] for row in rows])
        np.testing.assert_array_equal(log["truncations"], [row[6] for row in rows])
        assert log["truncations"].sum() == 20

    def test_a_draft_knows_what_is_what(self, climbing: tuple[Any, list[tuple[Any, ...]]]) -> None:
        draft = fpsrl.Problem.draft(climbing[0])
        told = "\n".join(draft.found)
        assert "1,200 transitions in 20 episodes" in told
        assert "`observations_1` is a state" in told and "`actions_0` is an action" in told
        assert draft.limits == {"actions_0": pytest.approx((-1.0, 1.0), abs=0.05)}
        data = draft._written["data"]
        known = {key: data[key] for key in ("episode", "reward", "terminal", "truncated", "next")}
        assert known == {
            "episode": "episode",
            "reward": "rewards",
            "terminal": "terminations",
            "truncated": "truncations",
            "next": "next_",
        }

    def test_rules_are_found_from_it_and_drive_the_environment(
        self, climbing: tuple[Any, list[tuple[Any, ...]]]
    ) -> None:
        gymnasium = pytest.importorskip("gymnasium")
        dataset, rows = climbing
        run = fpsrl.run(fpsrl.Problem.draft(dataset), dataset, horizon=40, **SMALL)
        assert len(run.log) == len(rows)
        env = gymnasium.make("MountainCarContinuous-v0")
        observation, _ = env.reset(seed=0)
        for _ in range(3):
            action = run.policy.act(observation)
            assert env.action_space.contains(action.astype(np.float32))
            observation, *_ = env.step(action.astype(np.float32))

    def test_a_part_of_a_data_set_is_one(self, climbing: tuple[Any, list[tuple[Any, ...]]]) -> None:
        dataset, _ = climbing
        part = dataset.filter_episodes(lambda episode: episode.id < 3)
        assert len(datasets.columns(part)["rewards"]) == 180
        assert len(datasets.columns(dataset[4])["rewards"]) == 60
        assert len(datasets.columns(list(dataset.sample_episodes(2)))["rewards"]) == 120

    def test_ends_for_good_are_known_with_the_state_that_they_are_in(self, minari: Any) -> None:
        gymnasium = pytest.importorskip("gymnasium")
        dataset, rows = recorded(minari, gymnasium.make("CartPole-v1"), "falling", 15)
        log = datasets.columns(dataset)
        ended = log["terminations"] != 0
        assert ended.sum() == 15 and set(log["actions_0"]) == {0.0, 1.0}
        outside = (np.abs(log["next_observations_2"]) > 0.2) | (np.abs(log["next_observations_0"]) > 2.4)
        assert outside[ended].all()
        np.testing.assert_array_equal(log["next_observations_2"], [row[4][2] for row in rows])
        draft = fpsrl.Problem.draft(dataset)
        assert len(draft.states) == 4
        transitions = fpsrl.Log(draft, dataset).to_dict()
        assert transitions["terminated"].sum() == 15, "none is lost"

    def test_dictionaries_and_images(self, minari: Any) -> None:
        gymnasium = pytest.importorskip("gymnasium")
        spaces = gymnasium.spaces

        class Room(gymnasium.Env):  # type: ignore[misc, name-defined, unused-ignore]
            action_space = spaces.Dict({"heat": spaces.Box(0.0, 1.0, (1,)), "fan": spaces.Discrete(2)})

            def __init__(self, has_camera: bool = False) -> None:
                parts: dict[str, Any] = {"warmth": spaces.Box(-50.0, 50.0, (2,)), "door": spaces.Discrete(2)}
                if has_camera:
                    parts["camera"] = spaces.Box(0, 255, (8, 8, 3), np.uint8)
                self.observation_space = spaces.Dict(parts)
                self.warmth = np.zeros(2, dtype=np.float32)

            def seen(self) -> dict[str, Any]:
                seen = self.observation_space.sample()
                return {**seen, "warmth": self.warmth.copy(), "door": np.int64(self.warmth[0] > 0.5)}

            def reset(self, *, seed: Any = None, options: Any = None) -> Any:
                super().reset(seed=seed)
                self.observation_space.seed(seed)
                self.warmth = self.np_random.uniform(size=2).astype(np.float32)
                return self.seen(), {}

            def step(self, action: Any) -> Any:
                self.warmth = np.float32(0.9) * self.warmth + np.float32(0.1) * action["heat"]
                return self.seen(), float(self.warmth[0]), False, False, {}

        def room(**more: Any) -> Any:
            return gymnasium.wrappers.TimeLimit(Room(**more), 10)

        dataset, rows = recorded(minari, room(), "room", 3)
        log = datasets.columns(dataset)
        np.testing.assert_array_equal(log["next_observations_warmth_1"], [row[4]["warmth"][1] for row in rows])
        np.testing.assert_array_equal(log["observations_door_0"], [row[1]["door"] for row in rows])
        np.testing.assert_array_equal(log["actions_heat_0"], [row[2]["heat"][0] for row in rows])
        np.testing.assert_array_equal(log["actions_fan_0"], [row[2]["fan"] for row in rows])
        watched, _ = recorded(minari, room(has_camera=True), "watched", 1)
        with pytest.raises(fpsrl.LogError, match=r"observations_camera: .* \(8, 8, 3\), which is an image"):
            datasets.columns(watched)
