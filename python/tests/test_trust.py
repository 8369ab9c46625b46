"""A file of someone else starts no program, and its words are shown, not obeyed."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import fpsrl

SIMULATOR = """
import json, pathlib, sys

for line in sys.stdin:
    question = json.loads(line)
    if "fpsrl" in question:
        pathlib.Path(sys.argv[1]).touch()
        answer = {"largest_reward": 0}
    else:
        pairs = zip(question["states"], question["actions"])
        levels = [0.9 * state[0] + 0.2 * action[0] for state, action in pairs]
        answer = {"next_states": [[level] for level in levels], "rewards": [-abs(level - 1) for level in levels]}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "simulator.py").write_text(SIMULATOR)
    command = [sys.executable, str(tmp_path / "simulator.py"), str(tmp_path / "started")]
    return {
        "horizon": 20,
        "states": {"level": {"start": [0.0, 2.0]}},
        "actions": {"valve": (0.0, 1.0)},
        "world": {"process": command},
        "data": {"samples": 200, "episode_length": 20},
        "policy": {"rules": 1},
        "search": {"optimiser": "swarm", "particles": 4, "iterations": 3, "start_states": 4},
        "evaluation": {"start_states": 4},
    }


@pytest.fixture
def file(settings: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "tank.toml"
    path.write_text(fpsrl.Problem("tank", **settings).to_toml())
    return path


def started(tmp_path: Path) -> bool:
    mark = tmp_path / "started"
    was = mark.exists()
    mark.unlink(missing_ok=True)
    return was


def test_what_code_names_is_asked_for(settings: dict[str, Any], tmp_path: Path) -> None:
    problem = fpsrl.Problem("tank", **settings)
    assert not started(tmp_path)
    assert len(fpsrl.Log(problem)) == 200 and started(tmp_path)
    # So it is where code changes another problem.
    without = {**settings, "world": {}, "data": {}}
    changed = fpsrl.Problem("tank", **without).replace(process=settings["world"]["process"], samples=200)
    assert len(fpsrl.Log(changed)) == 200 and started(tmp_path)


def test_what_a_file_names_is_started_only_if_it_is_allowed(file: Path, tmp_path: Path) -> None:
    problem = fpsrl.Problem.from_toml(file)
    for attempt in (
        lambda: fpsrl.Log(problem),
        lambda: fpsrl.fit(problem),
        lambda: fpsrl.run(problem),
        lambda: fpsrl.run(problem.replace(seed=2), directory=tmp_path / "run"),
        lambda: fpsrl.run(pickle.loads(pickle.dumps(problem))),
        lambda: fpsrl.run(fpsrl.Problem.from_toml(file.read_text())),
    ):
        with pytest.raises(fpsrl.ProblemError, match="only if that is allowed") as error:
            attempt()
        assert "`allow_process=True`" in str(error.value.remedy) and error.value.setting == "world.process"
        assert not started(tmp_path)
    assert not (tmp_path / "run").exists()
    assert len(fpsrl.Log(problem, allow_process=True)) == 200 and started(tmp_path)
    # It was allowed once, not from then on.
    with pytest.raises(fpsrl.ProblemError):
        fpsrl.Log(problem)
    assert len(fpsrl.Log(fpsrl.Problem.from_toml(file, allow_process=True))) == 200 and started(tmp_path)


def test_a_run_directory_starts_nothing_unless_it_is_allowed(file: Path, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    run = fpsrl.run(fpsrl.Problem.from_toml(file), directory=directory, allow_process=True)
    assert started(tmp_path)
    assert len(pickle.loads(pickle.dumps(run)).policy.rules) == 1 and started(tmp_path)
    for attempt in (
        lambda: fpsrl.load(directory),
        lambda: fpsrl.load_run(directory),
        lambda: fpsrl.resume(directory),
    ):
        with pytest.raises(fpsrl.ProblemError, match="only if that is allowed"):
            attempt()
        assert not started(tmp_path)
    again = fpsrl.load_run(directory, allow_process=True)
    assert started(tmp_path) and again.policy == run.policy
    assert fpsrl.resume(directory, allow_process=True).policy == run.policy
    worlds = fpsrl.fit(fpsrl.Problem.from_toml(file), allow_process=True)
    assert len(fpsrl.search(worlds).judge().policy.rules) == 1


def test_a_sweep_hands_the_permission_on(file: Path, tmp_path: Path) -> None:
    problem = fpsrl.Problem.from_toml(file)
    refused = fpsrl.sweep(problem, directory=tmp_path / "refused", seeds=2)
    assert [one.bug for one in refused.failures] == [False, False] and not started(tmp_path)
    assert all("only if that is allowed" in one.message for one in refused.failures)
    made = fpsrl.sweep(problem, directory=tmp_path / "made", seeds=2, allow_process=True)
    assert not made.failures and started(tmp_path) and made.best is not None
    again = pickle.loads(pickle.dumps(made))
    assert again.begin() == dict.fromkeys(made.names, "finished")
    (tmp_path / "sweep.toml").write_text("problem = 'tank.toml'\nseeds = 1\n")
    for allow, outcome in ((False, "failed"), (True, "finished")):
        planned = fpsrl.Sweep.read(tmp_path / "sweep.toml", allow_process=allow)
        planned.begin()
        assert planned.execute(planned.names[0], retry=True) == outcome


def test_names_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    hostile = "a\u202eb\u200b"
    problem = fpsrl.Problem("tank", horizon=10, states={hostile: {}}, actions={"valve": (0.0, 1.0)}, reward="valve")
    rule = fpsrl.Rule({hostile: (0.5, 0.25)}, output=0.5)
    policy = fpsrl.Policy.for_problem(problem, [rule])
    shown = [repr(problem), repr(policy), str(policy), policy._repr_html_()]
    assert not any("\u202e" in text or "\u200b" in text for text in shown)
    assert all("u{202e}" in text for text in shown[1:3])
    with pytest.raises(fpsrl.Error) as error:
        fpsrl.Problem.from_toml(tmp_path / "no\x1b[2J.toml")
    with pytest.raises(fpsrl.Error) as unknown:
        fpsrl.Problem("tank\x1b[2J", states={"x": {}}, actions={"u": (0, 1)}, horizon=3).name
    assert "\x1b" not in str(unknown.value)
    assert "\x1b" not in str(error.value)


def test_a_rule_file_that_may_be_cut_off_is_told(tmp_path: Path) -> None:
    whole = (
        "Engine: e\nInputVariable: a\n  term: low Gaussian 0 1\n  term: high Gaussian 2 1\nOutputVariable: c\n"
        "  range: -1 1\n  term: d Constant 0.5\n  term: e Constant -0.5\nRuleBlock:\n  conjunction: AlgebraicProduct\n"
        "  rule: if a is low then c is d\n  rule: if a is high then c is e\n"
    )
    (tmp_path / "whole.fll").write_text(whole)
    assert len(fpsrl.Policy.read(tmp_path / "whole.fll").rules) == 2
    (tmp_path / "half.fll").write_text(whole[: whole.rindex("  rule")])
    with pytest.warns(fpsrl.Warning, match="no rule uses `e` of `c`"):
        fpsrl.Policy.read(tmp_path / "half.fll")
