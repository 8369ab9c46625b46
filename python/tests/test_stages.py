"""The stages: from a log to a judged policy, in memory and in directories, and the same as the command."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fpsrl
from conftest import tank_log, tank_problem


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "fpsrl", *arguments], capture_output=True, text=True)


#: Figures of the machine, and digests of files that hold such.
OF_THE_MACHINE = {"seconds", "threads", "search_sha256"}


def figures(path: Path) -> dict[str, Any]:
    return {key: value for key, value in json.loads((path / "summary.json").read_text()).items() if key not in OF_THE_MACHINE}


def test_a_run_is_the_commands_byte_for_byte(tmp_path: Path, log: dict[str, Any]) -> None:
    table = "time,level,valve\n" + "\n".join(f"{t!r},{x!r},{u!r}" for t, x, u in zip(*(a.tolist() for a in log.values())))
    (tmp_path / "log.csv").write_text(table + "\n")
    (tmp_path / "problem.toml").write_text(tank_problem(data={"time": "time", "file": "log.csv"}).to_toml())
    made = command("run", str(tmp_path / "problem.toml"), "--out", str(tmp_path / "command"), "--quiet")
    assert made.returncode == 0, made.stderr

    problem = fpsrl.Problem.from_toml(tmp_path / "problem.toml")
    ours = fpsrl.run(problem)
    ours.save(tmp_path / "package")
    names = sorted(file.name for file in (tmp_path / "command").iterdir())
    assert names == sorted(file.name for file in (tmp_path / "package").iterdir())
    for name in set(names) - {"summary.json", "search.csv", "report.html"}:
        assert (tmp_path / "command" / name).read_bytes() == (tmp_path / "package" / name).read_bytes(), name
    assert figures(tmp_path / "package") == figures(tmp_path / "command")

    # A run in a directory is the command's too, and each reads what the other wrote.
    inside = fpsrl.run(problem, directory=tmp_path / "inside")
    assert inside.policy == ours.policy and figures(tmp_path / "inside") == figures(tmp_path / "command")
    loaded = fpsrl.load(tmp_path / "command")
    assert isinstance(loaded, fpsrl.Run) and loaded.policy == ours.policy and loaded.promise == ours.promise
    assert loaded.directory == tmp_path / "command" and len(loaded.records) == len(ours.records) > 0
    assert command("evaluate", str(tmp_path / "package"), "--quiet").returncode == 0
    # Data from memory lead to the same policy.
    assert fpsrl.run(tank_problem(), log).policy == ours.policy


def test_what_was_loaded_is_copied_and_what_is_there_is_kept(tmp_path: Path, run: fpsrl.Run) -> None:
    first = run.save(tmp_path / "first")
    loaded = fpsrl.load_run(first)
    loaded.save(tmp_path / "second")
    assert (first / "summary.json").read_bytes() == (tmp_path / "second" / "summary.json").read_bytes()
    with pytest.raises(fpsrl.RunError, match="exists already") as caught:
        run.save(first)
    assert "force=True" in str(caught.value.remedy)
    (first / "policy.json").write_text("{}")
    with pytest.raises(fpsrl.RunError) as broken:
        fpsrl.load(first)
    assert broken.value.file == str(first / "policy.json")
    with pytest.raises(fpsrl.Error, match="cannot be read"):
        fpsrl.load(tmp_path / "nowhere")


def test_a_directory_without_rules_is_loaded_as_far_as_it_goes(tmp_path: Path, worlds: fpsrl.Worlds) -> None:
    worlds.save(tmp_path / "worlds")
    loaded = fpsrl.load(tmp_path / "worlds")
    assert isinstance(loaded, fpsrl.Worlds) and loaded.states == worlds.states
    with pytest.raises(fpsrl.RunError, match="no judged policy"):
        fpsrl.load_run(tmp_path / "worlds")
    (tmp_path / "worlds" / "world.json").unlink()
    only_log = fpsrl.load(tmp_path / "worlds")
    assert isinstance(only_log, fpsrl.Log) and len(only_log) == len(worlds.log)


def test_the_figures_of_a_run_are_at_hand(run: fpsrl.Run) -> None:
    assert run.verdict in ("go", "careful", "no-go") and run.reason
    assert run.promise.low <= run.promise.mean <= run.promise.high
    assert run.summary["promise"]["return"] == run.promise.mean
    assert {"import", "fit", "search", "evaluate", "ceiling"} <= set(run.summary["seconds"])
    assert run.worlds.verdict is not None and run.log.report is not None
    assert "<svg" in run.svg() and run.report().lower().startswith("<!doctype html>")
    assert len(run.simplified().rules) == len(run.policy.rules)
    assert run.policy.rules[0].action == "valve" and "tank" in repr(run) and "IF" in str(run)


def test_a_log_is_a_table_of_transitions(worlds: fpsrl.Worlds, log: dict[str, Any]) -> None:
    made = worlds.log
    columns = made.to_dict()
    assert list(columns) == ["episode", "step", "level", "valve", "next_level", "reward"]
    assert len(made) == len(log["level"]) - 1 and np.array_equal(columns["level"], log["level"][:-1])
    assert np.array_equal(columns["next_level"], log["level"][1:])
    assert np.allclose(columns["reward"], -abs(columns["next_level"] - 1))


def test_rules_of_an_expert_are_scored_on_the_same_worlds(worlds: fpsrl.Worlds, run: fpsrl.Run) -> None:
    low, high = fpsrl.Rule({"level": (0.6, 0.3)}, 0.9), fpsrl.Rule({"level": (1.4, 0.3)}, -0.9)
    expert = fpsrl.Policy.for_problem(worlds.problem, [low, high], alpha=2.0)
    judged = worlds.judge(expert)
    assert judged.policy == expert and judged.promise.mean < 0.0 and judged.records == []
    bad = worlds.judge(expert.with_rules([low.replace(output=-1.0), high.replace(output=1.0)]))
    assert bad.promise.mean < judged.promise.mean
    # What a search begins with is at least what it ends with.
    found = fpsrl.search(worlds, begin_with=expert, budget=20_000)
    assert found.best_return >= fpsrl.search(worlds, begin_with=bad.policy, budget=2_000).best_return - 5.0
    other = fpsrl.Policy(["height"], {"valve": (0.0, 1.0)}, [fpsrl.Rule({}, 0.0)])
    with pytest.raises(fpsrl.RunError, match="no state `level`"):
        worlds.judge(other)
    with pytest.raises(fpsrl.RunError, match="limits"):
        worlds.judge(fpsrl.Policy(["level"], {"valve": (0.0, 2.0)}, [fpsrl.Rule({}, 0.0)]))


def test_worlds_step_as_rollouts_do(worlds: fpsrl.Worlds, run: fpsrl.Run) -> None:
    starts = worlds.starts(5_000)
    actions = np.random.default_rng(3).uniform(0, 1, size=(5_000, 1))
    step = worlds.step(starts, actions)
    truth = starts + 0.1 * actions - 0.05 * starts
    assert np.abs(step.next_states - truth).max() < 0.05
    assert np.allclose(step.rewards, -abs(step.next_states[:, 0] - 1), atol=1e-5) and not step.terminated.any()
    few = worlds.step(starts[:3], actions[:3])
    assert np.array_equal(few.next_states, step.next_states[:3])
    assert len(worlds) == 2 and not np.array_equal(worlds.step(starts, actions, member=1).next_states, step.next_states)
    path = worlds.rollout(run.policy, starts[:4], 30)
    assert path["states"].shape == (31, 4, 1) and path["rewards"].shape == (30, 4)
    # What a rollout earns is what the promise is about.
    discount = worlds.problem._checked().discount ** np.arange(30)
    returns = [
        (worlds.rollout(run.policy, worlds.starts(40, of="evaluation"), 30, member=member)["rewards"].T @ discount).mean()
        for member in range(2)
    ]
    assert np.mean(returns) == pytest.approx(run.summary["model_return"], abs=1e-3)


@pytest.mark.parametrize(
    ("states", "actions", "member", "said"),
    [
        (np.ones((2, 2)), np.ones((2, 1)), 0, "are needed"),
        (np.ones((2, 1)), np.ones((3, 1)), 0, "are needed"),
        (np.ones(2), np.ones((2, 1)), 0, "give a row"),
        (np.full((2, 1), np.nan), np.ones((2, 1)), 0, "row 0, column 0 is nan"),
        (np.ones((2, 1)), np.ones((2, 1)), 9, "there is no member 9"),
    ],
)
def test_what_is_no_step_is_refused(worlds: fpsrl.Worlds, states: Any, actions: Any, member: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        worlds.step(states, actions, member=member)


def test_a_front_has_its_policies_and_their_figures(worlds: fpsrl.Worlds, tmp_path: Path) -> None:
    found = fpsrl.search(worlds, front=True, rules="auto", most_rules=2, budget=40_000)
    run = found.judge()
    assert run.front is not None and len(run.front) == len(found.front) >= 1
    run.save(tmp_path / "front")
    assert len(list((tmp_path / "front" / "front").glob("policy-*.json"))) == len(run.front)
    loaded = fpsrl.load_run(tmp_path / "front")
    assert [policy for policy, _ in loaded.front or []] == [policy for policy, _ in run.front]


def simulated(states: Any, actions: Any) -> Any:
    after = states + 0.1 * actions - 0.05 * states
    return after, -abs(after[:, 0] - 1.0)


def simulator_problem(function: Any, **settings: Any) -> fpsrl.Problem:
    return fpsrl.Problem(
        "tank",
        horizon=30,
        states={"level": {"start": [0.0, 2.0]}},
        actions={"valve": (0.0, 1.0)},
        simulator=function,
        largest_reward=0.0,
        **{"samples": 500, "rules": 2, "budget": 30_000, "search": {"start_states": 10}, **settings},
    )


def test_a_function_is_a_world(tmp_path: Path) -> None:
    run = fpsrl.run(simulator_problem(simulated))
    assert run.verdict is None and run.promise.mean > -10.0
    run.save(tmp_path / "run")
    with pytest.raises(fpsrl.SimulatorError, match="a function of another program"):
        fpsrl.load(tmp_path / "run")
    loaded = fpsrl.load(tmp_path / "run", simulator=simulated, largest_reward=0.0)
    assert isinstance(loaded, fpsrl.Run) and loaded.policy == run.policy
    assert np.allclose(loaded.worlds.step([[0.5]], [[1.0]]).next_states, [[0.575]])


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda states, actions: 1 / 0, "division by zero"),
        (lambda states, actions: (states[:1], np.zeros(len(states))), "was asked for"),
        (lambda states, actions: states, "returns next states and rewards"),
        (lambda states, actions: (states, np.ones(len(states))), "largest_reward"),
        (lambda states, actions: (states * np.nan, np.zeros(len(states))), "not a finite number"),
        (lambda states, actions: ([["a"]] * len(states), np.zeros(len(states))), "could not convert"),
    ],
)
def test_a_function_that_fails_is_named_with_what_it_raised(function: Any, said: str) -> None:
    with pytest.raises(fpsrl.SimulatorError) as caught:
        fpsrl.run(simulator_problem(function))
    assert said in f"{caught.value.__cause__} {caught.value}" and caught.value.__cause__ is not None


def test_a_simulator_needs_its_largest_reward() -> None:
    with pytest.raises(fpsrl.ProblemError, match="largest_reward"):
        fpsrl.Problem("tank", horizon=3, states=["x"], actions={"u": (0, 1)}, simulator=simulated)
    with pytest.raises(TypeError, match="simulator"):
        fpsrl.Problem("tank", horizon=3, states=["x"], actions={"u": (0, 1)}, simulator=3, largest_reward=0)  # type: ignore


def test_logs_that_do_not_fit_are_refused(problem: fpsrl.Problem, log: dict[str, Any]) -> None:
    with pytest.raises(fpsrl.ProblemError, match="takes no log"):
        fpsrl.run(fpsrl.Problem("mountain-car"), log)
    with pytest.raises(fpsrl.LogError) as caught:
        fpsrl.Log(problem, {"time": log["time"], "levle": log["level"], "valve": log["valve"]})
    assert "`level`" in caught.value.message and "levle" in str(caught.value.remedy)
    with pytest.raises(fpsrl.LogError):
        fpsrl.fit(problem, tank_log(12))
    with pytest.raises(fpsrl.FileError):
        fpsrl.Log(problem, "nowhere.csv")
    with pytest.raises(fpsrl.LogError, match="a run in a directory"):
        fpsrl.run(problem, fpsrl.Log(problem, log), directory="unused")
    with pytest.raises(fpsrl.LogError, match="needs a log"):
        fpsrl.run(problem)
    with pytest.raises(TypeError, match="str was given where a Problem is meant"):
        fpsrl.run("mountain-car")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Problem was given where a Worlds is meant"):
        fpsrl.search(problem)  # type: ignore[arg-type]


def test_artefacts_cross_processes(run: fpsrl.Run, worlds: fpsrl.Worlds) -> None:
    again = pickle.loads(pickle.dumps(run))
    assert again.policy == run.policy and again.promise == run.promise
    starts = worlds.starts(3)
    stepped = pickle.loads(pickle.dumps(worlds)).step(starts, [[0.5]] * 3)
    assert np.array_equal(stepped.next_states, worlds.step(starts, [[0.5]] * 3).next_states)
    assert copy.deepcopy(worlds) is worlds and copy.copy(run) is run
