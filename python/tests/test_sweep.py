"""Sweeps: from frames and files, gathered as tables, made once, and the same as single runs."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fpsrl
from conftest import tank_log, tank_problem


def small(**settings: Any) -> fpsrl.Problem:
    """The tank with everything even smaller."""
    world = {"kind": "ensemble", "members": 2, "layers": 1, "epochs": 3}
    return tank_problem(world=world, search={"start_states": 5, "budget": 20_000}, evaluation={"start_states": 5}, **settings)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, log: dict[str, Any]) -> fpsrl.Sweep:
    directory = tmp_path_factory.mktemp("sweep") / "runs"
    return fpsrl.sweep(small(), log, directory=directory, grid={"policy.rules": [1, 2], "caution": [0.5]}, seeds=2, bootstrap=[0, 1])


def test_a_sweep_is_a_table_of_runs(made: fpsrl.Sweep) -> None:
    table = made.table
    assert len(made) == len(table) == 8 and made.varied == ["policy.rules", "search.caution"]
    first = table[0]
    assert first["run"] == "rules=1,caution=0.5,seed=1" and (first["policy.rules"], first["seed"], first["draw"]) == (1, 1, None)
    assert {row["outcome"] for row in table} == {"finished"} and not made.failures
    frame = made.to_pandas()
    assert isinstance(frame, pd.DataFrame) and frame["promise"].notna().all()
    packed = pd.read_parquet(made.directory / "table.parquet")
    assert packed["promise"].tolist() == frame["promise"].tolist() == [row["promise"] for row in table]
    assert pd.read_csv(made.directory / "table.csv")["run"].tolist() == made.names
    best = made.best
    assert best is not None and best.promise.mean in frame["promise"].tolist()
    assert [one.setting for one in made.explained] == made.varied
    assert all(1 < rule.runs <= rule.of <= 8 for rule in made.recurring)


def test_its_page_and_its_runs_are_there(made: fpsrl.Sweep, tmp_path: Path) -> None:
    page = made.report(tmp_path / "page.html")
    assert page == (tmp_path / "page.html").read_text(encoding="utf-8") == (made.directory / "sweep.html").read_text(encoding="utf-8")
    assert "Settings that matter" in page and "rules=1,caution=0.5" in page
    run = made.load("rules=2,caution=0.5,seed=2")
    assert isinstance(run, fpsrl.Run) and len(run.policy.rules) == 2 and run.problem.seed == 2
    with pytest.raises(KeyError, match="no run of this sweep called"):
        made.load("rules=9,seed=1")
    assert "<table>" in made._repr_html_() and "8 runs" in repr(made)


def test_a_run_of_a_sweep_is_the_run_by_itself(made: fpsrl.Sweep, log: dict[str, Any]) -> None:
    alone = fpsrl.run(small(), log, rules=2, caution=0.5, seed=2)
    assert made.load("rules=2,caution=0.5,seed=2").policy == alone.policy


def test_what_is_finished_is_not_made_again(made: fpsrl.Sweep, log: dict[str, Any]) -> None:
    policy = made.directory / "rules=1,caution=0.5,seed=1" / "policy.json"
    before = policy.stat().st_mtime_ns
    grid = {"policy": {"rules": [1, 2]}, "search": {"caution": 0.5}}
    again = fpsrl.sweep(small(), log, directory=made.directory, grid=grid, seeds=2, bootstrap=[0, 1], workers=1)
    assert policy.stat().st_mtime_ns == before and again.table == made.table
    with pytest.raises(fpsrl.RunError, match="another log"):
        fpsrl.sweep(small(), tank_log(seed=5), directory=made.directory, grid=grid, seeds=2)
    with pytest.raises(fpsrl.RunError, match="horizon = 30 instead of 20"):
        fpsrl.sweep(small(horizon=20), log, directory=made.directory, grid=grid, seeds=2)


def test_runs_can_be_made_one_by_one_in_any_process(tmp_path: Path, log: dict[str, Any]) -> None:
    planned = fpsrl.Sweep.plan(small(), log, directory=tmp_path / "runs", seeds=[3, 4])
    assert planned.begin() == {"seed=3": "pending", "seed=4": "pending"}
    there = pickle.loads(pickle.dumps(planned))
    assert there.execute("seed=3") == "finished" and there.execute("seed=3") == "finished"
    assert [row["outcome"] for row in planned.gather().table] == ["finished", "pending"]
    with pytest.raises(fpsrl.ProblemError, match="no run of this sweep"):
        planned.execute("seed=5")
    progress: list[fpsrl.Event] = []
    assert len(planned.conduct(progress=progress.append).table) == 2
    assert {event.stage for event in progress if event.kind == "began"} == {"sweep"}


def test_failures_are_kept_with_their_message(tmp_path: Path, log: dict[str, Any]) -> None:
    short = {name: values[:60] for name, values in log.items()}
    made = fpsrl.sweep(small(), logs={"long": log, "short": short}, directory=tmp_path / "runs", seeds=2)
    assert [row["outcome"] for row in made.table] == ["finished", "finished", "failed", "failed"]
    failure = made.failures[0]
    assert failure.run == "log=short,seed=1" and "needs 100" in failure.message and not failure.bug
    assert (tmp_path / "runs" / "logs" / "short.csv").exists() and "needs 100" in made.report()


def test_a_listener_that_raises_ends_the_sweep_which_goes_on(tmp_path: Path, log: dict[str, Any]) -> None:
    def stop(event: fpsrl.Event) -> None:
        if event.kind == "advanced":
            raise fpsrl.Stopped("enough")

    with pytest.raises(fpsrl.Stopped):
        fpsrl.sweep(small(), log, directory=tmp_path / "runs", seeds=6, workers=1, progress=stop)
    made = fpsrl.sweep(small(), log, directory=tmp_path / "runs", seeds=6)
    assert {row["outcome"] for row in made.table} == {"finished"}


def test_sweeps_are_the_commands_too(tmp_path: Path) -> None:
    log = tank_log(400)
    pd.DataFrame(log).to_csv(tmp_path / "log.csv", index=False)
    problem = small(data={"time": "time", "file": str(tmp_path / "log.csv")})
    (tmp_path / "problem.toml").write_text(problem.to_toml())
    (tmp_path / "sweep.toml").write_text("problem = 'problem.toml'\nseeds = 2\n")
    read = fpsrl.Sweep.read(tmp_path / "sweep.toml").conduct()
    assert read.names == ["seed=1", "seed=2"] and read.directory == tmp_path / "sweep"
    assert pickle.loads(pickle.dumps(read)).table == read.table
    ours = fpsrl.sweep(problem, directory=tmp_path / "ours", seeds=2)
    assert ours.load("seed=2").policy == read.load("seed=2").policy


def test_what_is_wrong_is_said(tmp_path: Path, log: dict[str, Any]) -> None:
    directory = tmp_path / "runs"
    cases: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (fpsrl.ProblemError, "there is no key called `rulez`", {"grid": {"policy.rulez": [1]}}),
        (fpsrl.ProblemError, "`policy.rules` is 0", {"grid": {"rules": [0]}}),
        (fpsrl.ProblemError, "could be a setting of", {"grid": {"start_states": [5]}}),
        (fpsrl.ProblemError, "a sweep has `seeds`", {"grid": {"seed": [1]}}),
        (fpsrl.ProblemError, "`seeds` is 0", {"seeds": 0}),
        (TypeError, "a count or a list", {"seeds": "three"}),
        (TypeError, "a dictionary of settings", {"grid": [1]}),
        (fpsrl.ProblemError, "at most 100,000 runs", {"seeds": 100_001}),
        (fpsrl.LogError, "both given", {"logs": [log]}),
        (ValueError, "workers is 0", {"workers": 0}),
    ]
    for error, told, more in cases:
        with pytest.raises(error, match=told):
            fpsrl.sweep(small(), log, directory=directory, **more)
    with pytest.raises(fpsrl.LogError, match="needs a log"):
        fpsrl.sweep(small(), directory=directory)
    with pytest.raises(fpsrl.ProblemError, match="takes no log"):
        fpsrl.sweep(fpsrl.Problem("mountain-car"), log, directory=directory)
    with pytest.raises(TypeError, match="where a Problem is meant"):
        fpsrl.sweep("mountain-car", directory=directory)  # type: ignore[arg-type]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(fpsrl.RunError, match="something else"):
        fpsrl.sweep(fpsrl.Problem("mountain-car", samples=400), directory=tmp_path / "other")
