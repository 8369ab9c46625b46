"""Manners: work that can be watched and stopped, several threads and processes, memory that does not grow, silence."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fpsrl
from conftest import tank_log, tank_problem


def test_events_tell_of_every_stage_and_nothing_is_printed(
    problem: fpsrl.Problem, log: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    events: list[fpsrl.Event] = []
    callers = set()

    def hear(event: fpsrl.Event) -> None:
        events.append(event)
        callers.add(threading.get_ident())

    fpsrl.run(problem, log, progress=hear)
    began = [event.stage for event in events if event.kind == "began"]
    assert list(dict.fromkeys(began)) == ["fit", "search", "evaluate", "ceiling"]
    ended = [event for event in events if event.stage == "search" and event.kind == "ended"]
    assert len(ended) == 1 and all(event.done <= event.total for event in events if event.kind == "advanced")
    # Whoever asked for the work hears of it, in its own thread.
    assert callers == {threading.get_ident()}
    assert capfd.readouterr() == ("", "")


def test_a_listener_that_raises_ends_the_work(problem: fpsrl.Problem, log: dict[str, Any]) -> None:
    class Enough(Exception):
        pass

    def hear(event: fpsrl.Event) -> None:
        if event.kind == "began":
            raise Enough(event.stage)

    with pytest.raises(Enough, match="fit"):
        fpsrl.run(problem, log, progress=hear)
    with pytest.raises(TypeError, match="progress"):
        fpsrl.run(problem, log, progress=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("growing", [False, True], ids=["a number of rules", "growing rules"])
def test_a_search_that_was_stopped_goes_on_and_finds_the_same(worlds: fpsrl.Worlds, growing: bool) -> None:
    # It takes many times as long as listeners wait between two calls, on the fastest machine, too.
    settings: dict[str, Any] = {"optimiser": "swarm", "particles": 20, "iterations": 10_000, "patience": "none"}
    settings["budget"] = None
    if growing:
        settings.update(rules="auto", most_rules=2, iterations=4_000)
    whole = fpsrl.search(worlds, **settings)
    checkpoint, stops = None, 0
    while True:
        # Each time it is let come a little further: some of its parts are begun anew.
        left = 1 + stops

        def hear(event: fpsrl.Event) -> None:
            nonlocal left
            if event.kind == "advanced":
                left -= 1
                if left == 0:
                    raise fpsrl.Stopped

        try:
            found = fpsrl.search(worlds, checkpoint=checkpoint, progress=hear, **settings)
            break
        except fpsrl.Stopped as stopped:
            if stopped.checkpoint is None:
                # It was over by then.
                found = fpsrl.search(worlds, checkpoint=checkpoint, **settings)
                break
            stops += 1
            checkpoint = stopped.checkpoint
            if stops > 200:
                pytest.fail("the search does not come further")
    assert stops > 0, "the search was never stopped: let it take longer"
    assert found.best == whole.best and found.best_return == whole.best_return


INTERRUPTED = """
import signal, sys, threading, os, time
import fpsrl
sys.path.insert(0, {tests!r})
from conftest import tank_log, tank_problem
problem = tank_problem(search={{"start_states": 10, "budget": 10**12}})

def hear(event):
    if event.stage == "search" and event.kind == "advanced" and not hear.sent:
        hear.sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)
hear.sent = 0.0
try:
    fpsrl.run(problem, tank_log(), directory={directory!r}, progress=hear)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - hear.sent)
worlds = fpsrl.fit(problem, tank_log())
hear.sent = 0.0
try:
    fpsrl.search(worlds, progress=hear)
except fpsrl.Interrupted as interrupted:
    print("checkpoint", interrupted.checkpoint is not None)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
def test_ctrl_c_ends_a_search_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    script = INTERRUPTED.format(tests=str(Path(__file__).parent), directory=str(directory))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    lines = dict(line.split() for line in done.stdout.splitlines())
    assert set(lines) == {"interrupted", "checkpoint"}, done.stdout + done.stderr
    # A loose bound: other work may share the machine. What is meant is a second.
    assert float(lines["interrupted"]) < 20.0 and lines["checkpoint"] == "True"
    assert (directory / "checkpoint.json").exists() and not (directory / "policy.json").exists()
    with pytest.raises(fpsrl.RunError, match="no judged policy"):
        fpsrl.load_run(directory)


def test_a_run_that_was_stopped_in_its_directory_goes_on(tmp_path: Path, log: dict[str, Any]) -> None:
    problem = tank_problem(search={"start_states": 10, "optimiser": "swarm", "particles": 20, "iterations": 300})
    whole = fpsrl.run(problem, log)

    def hear(event: fpsrl.Event) -> None:
        if event.stage == "search" and event.kind == "advanced":
            raise fpsrl.Stopped

    with pytest.raises(fpsrl.Stopped):
        fpsrl.run(problem, log, directory=tmp_path / "run", progress=hear)
    assert fpsrl.resume(tmp_path / "run").policy == whole.policy


def test_several_threads_may_work_at_once(worlds: fpsrl.Worlds, run: fpsrl.Run) -> None:
    states = np.random.default_rng(5).uniform(0, 2, size=(20_000, 1))
    expected, best = run.policy.act(states), fpsrl.search(worlds, budget=20_000).best
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(20):
                assert np.array_equal(run.policy.act(states), expected)
                worlds.step(states[:2_000], states[:2_000] * 0.5, member=number % 2)
            assert fpsrl.search(worlds, budget=20_000).best == best
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults


@pytest.mark.parametrize("method", sorted(set(multiprocessing.get_all_start_methods()) & {"fork", "spawn"}))
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_other_processes_may_work_too(run: fpsrl.Run, method: str) -> None:
    states = np.random.default_rng(6).uniform(0, 2, size=(30_000, 1))
    # So many states that this process has threads of its own already.
    expected = run.policy.act(states)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for answer in pool.starmap_async(fpsrl.Policy.act, [(run.policy, states)] * 4).get(timeout=120):
            assert np.array_equal(answer, expected)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read as Linux has it")
def test_memory_does_not_grow() -> None:
    problem = tank_problem(
        world={"kind": "mlp", "layers": 1, "neurons": 2, "epochs": 1, "members": 1, "judge": 0.0},
        evaluation={"start_states": 10},
    )
    log = tank_log(120)
    policy = fpsrl.Policy(["x"], {"u": (0, 1)}, [fpsrl.Rule({"x": (0, 1)}, 1.0), fpsrl.Rule({"x": (1, 1)}, -1.0)])
    state, states = np.array([0.5]), np.full((64, 1), 0.5)

    def work(fits: int, acts: int) -> None:
        for _ in range(fits):
            fpsrl.fit(problem, log)
        for _ in range(acts):
            policy.act(state)
        for _ in range(acts // 100):
            policy.act(states)

    work(100, 50_000)
    gc.collect()
    before = resident()
    work(1_000, 1_000_000)
    gc.collect()
    grown = resident() - before
    assert grown < 8 << 20, f"{grown / 2**20:.1f} MiB in 1,000 fits and a million actions"


def test_warnings_go_to_warnings_and_notices_to_the_log(log: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    outside = {**log, "valve": log["valve"] * 2.0}
    caplog.set_level(logging.INFO, logger="fpsrl")
    with pytest.warns(fpsrl.Warning, match="`valve` outside of its limits") as caught:
        fpsrl.Log(tank_problem(), outside)
        fpsrl.fit(tank_problem(epochs=1), outside)
    # It names whoever called, however deep the package is.
    assert [warning.filename for warning in caught] == [__file__] * 2
    assert any("outside of its limits" in record.message for record in caplog.records)


def test_errors_cross_processes_with_all_they_say(problem: fpsrl.Problem, log: dict[str, Any]) -> None:
    levels = log["level"].copy()
    levels[17] = np.inf
    with pytest.raises(fpsrl.LogError) as caught:
        fpsrl.Log(problem, {**log, "level": levels})
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.row, again.column, again.file) == (17, "level", "<frame>") and str(again) == str(caught.value)


def test_the_number_of_threads_changes_no_result(worlds: fpsrl.Worlds) -> None:
    expected = fpsrl.search(worlds, budget=30_000)
    fpsrl.set_threads(1)
    try:
        alone = fpsrl.search(worlds, budget=30_000)
    finally:
        fpsrl.set_threads(0)
    assert alone.best == expected.best and alone.best_return == expected.best_return


def test_progress_draws_a_bar_where_it_is_asked_for(worlds: fpsrl.Worlds, capfd: pytest.CaptureFixture[str]) -> None:
    fpsrl.search(worlds, budget=20_000, progress=True)
    out, error = capfd.readouterr()
    assert out == "" and ("search" in error or "tqdm" not in sys.modules)


def test_the_command_comes_along() -> None:
    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "fpsrl", *arguments], capture_output=True, text=True)

    assert command("--version").stdout == f"fpsrl {fpsrl.__version__}\n"
    refused = command("run", "mountain-cat")
    assert refused.returncode == 2 and "did you mean `mountain-car`?" in refused.stderr
    assert command("explain").returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
def test_the_command_hears_ctrl_c(tmp_path: Path) -> None:
    log = tank_log()
    rows = zip(*(column.tolist() for column in log.values()))
    (tmp_path / "log.csv").write_text("\n".join(["time,level,valve", *(",".join(map(repr, row)) for row in rows)]))
    (tmp_path / "problem.toml").write_text(tank_problem(data={"time": "time", "file": "log.csv"}).to_toml())
    arguments = ["run", str(tmp_path / "problem.toml"), "--budget", "1h", "--out", str(tmp_path / "run")]
    with subprocess.Popen([sys.executable, "-m", "fpsrl", *arguments], stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 240
        while not (tmp_path / "run" / "world.json").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130 and "--resume" in said
