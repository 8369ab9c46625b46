"""Other machines, on a real Ray: nodes of this machine, whose workers and raylets are killed."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import fpsrl
from conftest import tank_log, tank_problem

ray = pytest.importorskip("ray", reason="Ray has no wheel for this Python")

import fpsrl.ray  # noqa: E402
from fpsrl.ray import Evaluator, _evaluator, _pool  # noqa: E402

#: A search that takes seconds, in many rounds, whatever it finds.
LONG: dict[str, Any] = {
    "search": {
        "optimiser": "swarm",
        "particles": 60,
        "iterations": 150,
        "patience": "none",
        "start_states": 300,
        "budget": None,
    }
}


@pytest.fixture(autouse=True)
def nothing_hangs() -> Iterator[None]:
    """What waits for ever ends with its place."""

    def ended(*_: Any) -> None:
        raise TimeoutError("the test takes far longer than it should")

    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(150)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


class Nodes:
    """A cluster of nodes on this machine; the driver's own node has no CPUs for workers."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        # Lost nodes are noticed soon.
        health = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
        head = {"num_cpus": 0, "include_dashboard": False, "_system_config": health}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.address = self.cluster.address
        self.nodes: list[Any] = []

    def add(self, cpus: int = 1) -> None:
        self.nodes.append(self.cluster.add_node(num_cpus=cpus))

    def lose(self) -> None:
        """Kills a raylet, and with it the node."""
        self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)

    def at_least(self, count: int) -> None:
        while len(self.nodes) < count:
            self.add()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    made = Nodes()
    made.at_least(2)
    yield made
    ray.shutdown()
    made.cluster.shutdown()


@pytest.fixture()
def evaluator(nodes: Nodes) -> Iterator[Evaluator]:
    nodes.at_least(2)
    with Evaluator(nodes.address) as made:
        yield made


@pytest.fixture(scope="module")
def expected(worlds: fpsrl.Worlds) -> fpsrl.Found:
    return fpsrl.search(worlds, **LONG)


def while_searching(
    worlds: fpsrl.Worlds, evaluator: Evaluator, disturb: Callable[[int], None], **settings: Any
) -> fpsrl.Found:
    """A search that is disturbed as soon as its rounds go over."""
    calls = 0

    def hear(event: fpsrl.Event) -> None:
        nonlocal calls
        if event.stage == "search" and event.kind == "advanced":
            disturb(calls)
            calls += 1

    found = fpsrl.search(worlds, evaluator=evaluator, progress=hear, **(settings or LONG))
    assert calls > 3, "the search was over before it could be disturbed"
    return found


def same(found: fpsrl.Found, expected: fpsrl.Found) -> bool:
    """To the last bit, but for the time it took."""

    def record(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]

    return found.best.to_json() == expected.best.to_json() and record(found.records) == record(expected.records)


def test_fits_and_searches_are_the_same_as_here(evaluator: Evaluator, log: dict[str, Any], capfd: Any) -> None:
    problem = tank_problem(world={"members": 3, "epochs": 8, "restarts": 2, "layers": "auto"}, rules="auto", most_rules=2)
    here, there = fpsrl.fit(problem, log), fpsrl.fit(problem, log, evaluator=evaluator)
    states, actions = here.starts(50), np.linspace(0, 1, 50)[:, None]
    for member in range(3):
        for one, other in zip(here.step(states, actions, member=member), there.step(states, actions, member=member)):
            assert np.array_equal(one, other)
    assert here.verdict == there.verdict and evaluator.figures.trainings > 6
    for settings in ({}, {"rules": 2, "optimiser": "cma-es", "budget": None, "particles": 10, "iterations": 50}):
        assert same(fpsrl.search(there, evaluator=evaluator, **settings), fpsrl.search(here, **settings))
    assert {worker.node for worker in evaluator.workers if worker.ready} <= {node["NodeID"] for node in ray.nodes()}
    assert capfd.readouterr() == ("", "")


def test_the_whole_job_in_a_directory_gives_the_same_files(evaluator: Evaluator, log: dict[str, Any], tmp_path: Path) -> None:
    here = fpsrl.run(tank_problem(), log, directory=tmp_path / "here")
    there = fpsrl.run(tank_problem(), log, directory=tmp_path / "there", evaluator=evaluator)
    for name in ("policy.json", "world.json", "transitions.csv"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes(), name
    assert here.promise == there.promise
    assert fpsrl.resume(tmp_path / "there", evaluator=evaluator).policy == here.policy


def test_workers_may_be_killed_at_any_moment(worlds: fpsrl.Worlds, evaluator: Evaluator, expected: fpsrl.Found) -> None:
    random = np.random.default_rng(3)

    def disturb(call: int) -> None:
        ready = [worker for worker in evaluator.workers if worker.ready]
        if ready and call % 4 == 1 and evaluator.figures.deaths < 6:
            # Nobody may have heard yet that it is dead already.
            with contextlib.suppress(ProcessLookupError):
                os.kill(ready[random.integers(len(ready))].pid, signal.SIGKILL)

    assert same(while_searching(worlds, evaluator, disturb), expected)
    assert evaluator.figures.deaths > 0


def test_a_node_may_be_lost_and_another_may_come(
    worlds: fpsrl.Worlds, nodes: Nodes, evaluator: Evaluator, expected: fpsrl.Found
) -> None:
    def disturb(call: int) -> None:
        if call == 2:
            nodes.lose()
        elif call == 4:
            nodes.add()

    assert same(while_searching(worlds, evaluator, disturb), expected)


@pytest.mark.filterwarnings("default::fpsrl.Warning")
def test_a_cluster_may_shrink_to_nothing_and_come_back(
    worlds: fpsrl.Worlds, nodes: Nodes, evaluator: Evaluator, expected: fpsrl.Found
) -> None:
    gone = threading.Event()

    def disturb(call: int) -> None:
        if call == 2:
            while nodes.nodes:
                nodes.lose()
            gone.set()

    found: list[fpsrl.Found] = []
    # Nodes are started by the main thread alone.
    search = threading.Thread(target=lambda: found.append(while_searching(worlds, evaluator, disturb)), daemon=True)
    search.start()
    wait_for(gone.is_set, 60)
    wait_for(lambda: not any(worker.ready for worker in evaluator.workers), 60)
    assert not found
    nodes.at_least(2)
    search.join()
    assert same(found[0], expected)


def test_a_worker_that_hangs_holds_nobody_up(worlds: fpsrl.Worlds, evaluator: Evaluator, expected: fpsrl.Found) -> None:
    stopped: list[int] = []

    def disturb(call: int) -> None:
        if call == 2:
            stopped.append(next(worker.pid for worker in evaluator.workers if worker.ready))
            os.kill(stopped[0], signal.SIGSTOP)

    try:
        assert same(while_searching(worlds, evaluator, disturb), expected)
        assert evaluator.figures.late > 0
    finally:
        os.kill(stopped[0], signal.SIGKILL)


def test_a_search_that_was_stopped_goes_on_elsewhere(
    worlds: fpsrl.Worlds, evaluator: Evaluator, expected: fpsrl.Found
) -> None:
    def stop(call: int) -> None:
        if call == 3:
            raise fpsrl.Stopped

    with pytest.raises(fpsrl.Stopped) as stopped:
        while_searching(worlds, evaluator, stop)
    assert same(fpsrl.search(worlds, checkpoint=stopped.value.checkpoint), expected)
    assert same(fpsrl.search(worlds, checkpoint=stopped.value.checkpoint, evaluator=evaluator), expected)


def test_where_everything_fails_the_search_is_kept(
    worlds: fpsrl.Worlds, evaluator: Evaluator, expected: fpsrl.Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(call: int) -> None:
        if call == 3:
            monkeypatch.setattr(_evaluator._Search, "_part", lambda *_: 1 / 0)

    with pytest.raises(fpsrl.ClusterError, match="division") as failed:
        while_searching(worlds, evaluator, fail)
    assert same(fpsrl.search(worlds, checkpoint=failed.value.checkpoint), expected)


@pytest.mark.parametrize("shared", [False, True], ids=["runs are sent", "a directory is shared"])
def test_a_sweep_is_the_same_with_failures_and_kills(tmp_path: Path, evaluator: Evaluator, shared: bool) -> None:
    # The third log is too short for worlds to be learned.
    logs = [tank_log(400, seed) for seed in (1, 2)] + [tank_log(40, 3)]
    problem = tank_problem(budget=20_000)
    more: dict[str, Any] = {"grid": {"rules": [1, 2]}, "seeds": 2, "logs": {"a": logs[0], "b": logs[1], "short": logs[2]}}
    here = fpsrl.sweep(problem, directory=tmp_path / "here", **more)
    killed: list[int] = []

    def hear(event: fpsrl.Event) -> None:
        ready = [worker for worker in evaluator.workers if worker.ready and worker.load]
        if ready and len(killed) < 3:
            killed.append(ready[0].pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(ready[0].pid, signal.SIGKILL)

    there = fpsrl.sweep(problem, directory=tmp_path / "there", evaluator=evaluator, shared=shared, progress=hear, **more)

    def figures(sweep: fpsrl.Sweep) -> list[dict[str, Any]]:
        rows = [{name: value for name, value in row.items() if "second" not in name} for row in sweep.table]
        at = str(sweep.directory)
        return [{name: value.replace(at, "") if isinstance(value, str) else value for name, value in row.items()} for row in rows]

    assert figures(there) == figures(here) and killed
    assert [one.hint for one in there.failures] == [one.hint for one in here.failures]
    assert len(there.failures) == 4 and (tmp_path / "there" / "sweep.html").exists()
    assert not (tmp_path / "there" / "coming").exists()
    runs = evaluator.figures.runs
    assert runs == 12 and fpsrl.sweep(problem, directory=tmp_path / "there", evaluator=evaluator, shared=shared, **more)
    assert evaluator.figures.runs == runs, "what is finished was made again"


COMMAND = [sys.executable, "-m", "fpsrl"]


def test_a_killed_driver_leaves_nobody_behind_and_goes_on_without_ray(tmp_path: Path, nodes: Nodes) -> None:
    nodes.at_least(2)
    log = tank_log()
    rows = zip(*(column.tolist() for column in log.values()))
    (tmp_path / "log.csv").write_text("\n".join(["time,level,valve", *(",".join(map(repr, row)) for row in rows)]))
    search = {**LONG["search"], "start_states": 600, "iterations": 200}
    problem = tank_problem(search={name: value for name, value in search.items() if value is not None})
    (tmp_path / "problem.toml").write_text(problem.replace(data={"time": "time", "file": "log.csv"}).to_toml())
    run = [*COMMAND, "run", str(tmp_path / "problem.toml"), "--quiet", "--checkpoint-every", "0", "--out"]
    subprocess.run([*run, str(tmp_path / "whole")], check=True, capture_output=True)
    directory = tmp_path / "killed"
    before = workers_of_ours()
    with subprocess.Popen([*run, str(directory), "--ray", nodes.address], stderr=subprocess.PIPE) as driver:
        wait_for(lambda: (directory / "checkpoint.json").exists() or driver.poll() is not None, 120)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    assert (directory / "checkpoint.json").exists(), driver.stderr
    wait_for(lambda: not workers_of_ours() - before, 60)
    subprocess.run([*COMMAND, "run", "--resume", str(directory), "--quiet"], check=True, capture_output=True)
    assert (directory / "policy.json").read_bytes() == (tmp_path / "whole" / "policy.json").read_bytes()


def workers_of_ours() -> set[int]:
    """The processes of workers of any driver."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if b"ray::fpsrl" in text or b"ray::FpsrlWorker" in text:
            found.add(int(path.parent.name))
    return found


def wait_for(what: Callable[[], Any], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def test_ctrl_c_ends_the_command_and_its_own_ray(tmp_path: Path) -> None:
    run = [*COMMAND, "run", "mountain-car", "--samples", "1000", "--budget", "1h", "--quiet", "--ray", "--out", str(tmp_path / "run")]
    before = workers_of_ours()
    with subprocess.Popen(run, stderr=subprocess.PIPE, text=True) as driver:
        wait_for(lambda: (tmp_path / "run" / "checkpoint.json").exists() or driver.poll() is not None, 120)
        driver.send_signal(signal.SIGINT)
        _, said = driver.communicate(timeout=60)
    assert driver.returncode == 130 and "--resume" in said, said
    wait_for(lambda: not workers_of_ours() - before, 60)


def test_other_instruction_sets_are_refused_unless_bits_are_the_same_everywhere(
    worlds: fpsrl.Worlds, evaluator: Evaluator, log: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_evaluator.core, "instruction_set", lambda: "NEON")
    with pytest.raises(fpsrl.ClusterError, match="computes with .* and this machine with NEON") as refused:
        fpsrl.search(worlds, evaluator=evaluator)
    assert "--numerics reproducible" in refused.value.remedy
    settings: dict[str, Any] = {"numerics": "reproducible", "budget": 50_000}
    assert same(fpsrl.search(worlds, evaluator=evaluator, **settings), fpsrl.search(worlds, **settings))
    with pytest.raises(fpsrl.ClusterError, match="NEON") as refused:
        fpsrl.fit(tank_problem(), log, evaluator=evaluator)
    assert "leave the evaluator out" in refused.value.remedy


def test_another_version_or_other_bits_are_refused(
    worlds: fpsrl.Worlds, evaluator: Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(_pool, "__version__", "0.0.9")
        with pytest.raises(fpsrl.ClusterError, match=r"has fpsrl .*, and this machine has 0\.0\.9"):
            fpsrl.search(worlds, evaluator=evaluator)
    introduction = _evaluator._Search._introduction

    def other_bits(self: Any, name: str, *rest: Any) -> Any:
        known = introduction(self, name, *rest)
        self.proofs[name] = (known, np.nextafter(self.proofs[name][1], 1.0))
        return known

    monkeypatch.setattr(_evaluator._Search, "_introduction", other_bits)
    with pytest.raises(fpsrl.ClusterError, match="computes other bits than this machine"):
        fpsrl.search(worlds, evaluator=evaluator)


def test_a_simulator_of_ones_own_goes_over_and_its_failure_comes_back_with_the_workers_name(evaluator: Evaluator) -> None:
    def tank(states: Any, actions: Any) -> Any:
        level = states[:, 0] + 0.1 * actions[:, 0] - 0.05 * states[:, 0]
        return level[:, None], -np.abs(level - 1)

    def problem(simulator: Any) -> fpsrl.Problem:
        return fpsrl.Problem(
            "tank",
            horizon=30,
            states={"level": {"start": (0.0, 2.0)}},
            actions={"valve": (0.0, 1.0)},
            simulator=simulator,
            largest_reward=0.0,
            rules=2,
            samples=200,
            budget=30_000,
        )

    worlds = fpsrl.fit(problem(tank))
    assert same(fpsrl.search(worlds, evaluator=evaluator), fpsrl.search(worlds))
    here = os.getpid()

    def broken(states: Any, actions: Any) -> Any:
        if os.getpid() != here:
            raise ValueError("the pump is on fire")
        return tank(states, actions)

    with pytest.raises(fpsrl.ClusterError, match=r"worker \d+ \(process \d+ on .*\) failed to score .*pump is on fire"):
        fpsrl.search(fpsrl.fit(problem(broken)), evaluator=evaluator)


class TestBadInput:
    def test_without_ray_the_extra_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(fpsrl.ClusterError, match="not installed") as refused:
            Evaluator()
        assert "fpsrl[ray]" in refused.value.remedy

    @pytest.mark.parametrize("address", ["runs/mountain-car", "10.0.0.5", "10.0.0.5:99999", "10.0.0.5:port"])
    def test_what_is_no_address_is_refused(self, address: str) -> None:
        ray.shutdown()
        with pytest.raises(fpsrl.ClusterError, match="no address"):
            Evaluator(address)

    def test_an_address_that_does_not_answer_is_refused_in_seconds(self) -> None:
        ray.shutdown()
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            began = time.monotonic()
            with pytest.raises(fpsrl.ClusterError, match="is no Ray cluster"):
                Evaluator(f"127.0.0.1:{port}")
        with pytest.raises(fpsrl.ClusterError, match="nobody answers"):
            Evaluator(f"127.0.0.1:{port}")
        # A loose bound: other work may share the machine. Ray itself takes minutes.
        assert time.monotonic() - began < 40.0

    def test_numbers_of_workers_are_checked(self, nodes: Nodes, worlds: fpsrl.Worlds) -> None:
        nodes.at_least(2)
        for settings in ({"workers": 0}, {"workers": True}, {"cpus_per_worker": 1.5}):
            with pytest.raises(fpsrl.ClusterError, match=r"workers? is|cpus_per_worker is"):
                Evaluator(nodes.address, **settings)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="no option `cpu`"):
            Evaluator(nodes.address, cpu=3)
        with Evaluator(nodes.address, workers=12) as many:
            with pytest.warns(fpsrl.Warning, match="12 workers with 1 CPUs each were asked for, and the cluster has 2 CPUs"):
                found = fpsrl.search(worlds, evaluator=many, budget=30_000)
        assert same(found, fpsrl.search(worlds, budget=30_000))
        with pytest.raises(fpsrl.ClusterError, match="closed"):
            fpsrl.search(worlds, evaluator=many)

    def test_whatever_is_no_evaluator_is_refused(self, worlds: fpsrl.Worlds) -> None:
        with pytest.raises(TypeError, match="an Evaluator is meant|a Evaluator is meant"):
            fpsrl.search(worlds, evaluator=3)  # type: ignore[arg-type]

    def test_the_command_says_what_is_wrong(self, tmp_path: Path, worlds: fpsrl.Worlds) -> None:
        worlds.save(tmp_path / "run")
        done = subprocess.run([*COMMAND, "search", str(tmp_path / "run"), "--ray", "nowhere"], capture_output=True, text=True)
        assert done.returncode == 2 and "'nowhere' is no address" in done.stderr and "hint:" in done.stderr
        done = subprocess.run([*COMMAND, "search", str(tmp_path / "run"), "--workers", "2"], capture_output=True, text=True)
        assert done.returncode == 2 and "--ray" in done.stderr


def test_processes_are_forked_no_evaluator(nodes: Nodes) -> None:
    with Evaluator(nodes.address) as one:
        with pytest.raises(TypeError, match="another process"):
            multiprocessing.get_context("spawn").Process(target=print, args=(one,)).start()
        assert "workers with 1 CPUs each" in repr(one)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one.close()
    assert repr(one) == "Evaluator(closed)"
    assert _pool.first_line(ValueError()) == "ValueError"
