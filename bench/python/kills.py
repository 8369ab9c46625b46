"""Kills, and whether what is found stays the same.

    python bench/python/kills.py [--workers 40] [--nodes 6] [--drivers 10]

Searches on a Ray cluster of two nodes on this machine: workers and raylets are killed with SIGKILL while they go on, and every search
must find what the threads of this machine find. Then drivers: the command `fpsrl run … --ray` is killed at random moments of a run and
resumed, in turns with Ray and without it, until it is finished; `policy.json` must be the same bytes.

Needs, beside fpsrl: `pip install ray`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import fpsrl
import fpsrl.ray

SWARM = {"optimiser": "swarm", "particles": 60, "iterations": 120, "patience": "none", "start_states": 150, "budget": None}


def searched(made: fpsrl.Worlds, evaluator: Any, disturb: Any = None) -> str:
    def hear(event: fpsrl.Event) -> None:
        if disturb is not None and event.stage == "search" and event.kind == "advanced":
            disturb()

    return fpsrl.search(made, evaluator=evaluator, progress=hear, search=SWARM).best.to_json()


def workers_and_nodes(workers: int, nodes: int) -> tuple[int, int, int]:
    from ray.cluster_utils import Cluster

    made = fpsrl.fit(fpsrl.Problem("cart-pole-balancing", samples=2000, world={"epochs": 5, "members": 2}))
    expected = searched(made, None)
    health = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": health})
    there = [cluster.add_node(num_cpus=1) for _ in range(2)]
    killed = lost = searches = 0
    with fpsrl.ray.Evaluator(cluster.address) as evaluator:

        def kill_a_worker() -> None:
            nonlocal killed
            ready = [worker for worker in evaluator.workers if worker.ready]
            if ready and random.random() < 0.5:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(random.choice(ready).pid, signal.SIGKILL)
                    killed += 1

        while killed < workers:
            assert searched(made, evaluator, kill_a_worker) == expected, "another policy"
            searches += 1
        while lost < nodes:
            todo = True

            def lose_a_node() -> None:
                nonlocal lost, todo
                if todo and len(there) == 2:
                    todo = False
                    cluster.remove_node(there.pop(random.randrange(2)), allow_graceful=False)
                    lost += 1

            assert searched(made, evaluator, lose_a_node) == expected, "another policy"
            searches += 1
            there.append(cluster.add_node(num_cpus=1))
    cluster.shutdown()
    return killed, lost, searches


def drivers(count: int) -> tuple[int, int]:
    command = [sys.executable, "-m", "fpsrl"]
    settings = ["mountain-car", "--samples", "2000", "--optimiser", "swarm", "--particles", "60", "--iterations", "400", "--quiet"]
    killed = runs = 0
    with tempfile.TemporaryDirectory() as parent:
        whole = Path(parent) / "whole"
        subprocess.run([*command, "run", *settings, "--out", str(whole)], check=True)
        while killed < count:
            out = Path(parent) / f"run-{runs}"
            with_ray, first = True, True
            while True:
                again = ["--resume", str(out), "--quiet"] if (out / "problem.toml").exists() else [*settings, "--out", str(out)]
                ray = ["--ray", "--workers", "2"] if with_ray else []
                process = subprocess.Popen([*command, "run", *again, "--checkpoint-every", "0", *ray], stderr=subprocess.PIPE)
                # Ray takes a few seconds to begin; a kill before the search is one, too.
                pause = random.uniform(2.0, 9.0) if with_ray else random.uniform(0.5, 3.0)
                try:
                    process.wait(pause if killed < count else None)
                    assert process.returncode == 0, process.stderr.read()
                    break
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    killed += 1
                    with_ray = not with_ray
                first = False
            assert (out / "policy.json").read_bytes() == (whole / "policy.json").read_bytes(), "another policy"
            runs += 1
    return killed, runs


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, default in (("workers", 40), ("nodes", 6), ("drivers", 10)):
        arguments.add_argument(f"--{name}", type=int, default=default)
    given = arguments.parse_args()
    random.seed(1)
    began = time.monotonic()
    killed, lost, searches = workers_and_nodes(given.workers, given.nodes)
    print(f"{killed} workers and {lost} nodes killed in {searches} searches: all found the same policy")
    killed, runs = drivers(given.drivers)
    print(f"{killed} drivers killed in {runs} runs: all ended in the same bytes")
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
