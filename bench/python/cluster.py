"""What a search on Ray costs beside threads, and what that says of many machines.

    python bench/python/cluster.py [--quick]

Everything runs on this machine, so that workers share its cores: what is measured is the overhead, not the gain.

1. *Whole searches*: the same search by threads and by Ray with as many single-threaded workers as cores, in turns; seconds of both,
   and the same rules. An iteration is made to take about a second.
2. *More workers than cores*: 2, 4 and 8 workers, beside threads.
3. *Messages*: seconds per message and per candidate of the driver alone, with candidates that cost next to nothing.
4. *A model*: efficiency for 16 to 1,024 cores from these (`docs/scale.md` has the formula).

Needs, beside fpsrl: `pip install ray`.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from typing import Any

import numpy as np

import fpsrl
import fpsrl.ray
from fpsrl.ray import _evaluator

#: What the model is asked about.
CORES = (16, 64, 256, 1024)


def worlds() -> fpsrl.Worlds:
    """Small networks of the swing-up: what is measured needs no good ones."""
    return fpsrl.fit(fpsrl.Problem("cart-pole-swing-up", samples=3000, world={"epochs": 5, "members": 1, "judge": 0.0, "kind": "mlp"}))


def search(made: fpsrl.Worlds, evaluator: Any, settings: dict[str, Any]) -> tuple[fpsrl.Found, float, float]:
    """What is found, the seconds of the whole, and the median of a round's."""
    began = time.perf_counter()
    found = fpsrl.search(made, evaluator=evaluator, search=settings)
    whole = time.perf_counter() - began
    seconds = [row["seconds"] for row in found.records]
    stamps = [b - a for a, b in zip(seconds, seconds[1:])]
    return found, whole, statistics.median(stamps)


def swarm(particles: int, iterations: int, starts: int) -> dict[str, Any]:
    return {
        "optimiser": "swarm",
        "particles": particles,
        "iterations": iterations,
        "start_states": starts,
        "patience": "none",
        "budget": None,
    }


def messages() -> tuple[float, float, float]:
    """Core seconds of the driver for a message and for a candidate, and the seconds of a round of one message, where the work
    itself is next to nothing.

    The driver's core seconds count, with those of Ray's own threads in its process: workers that share the cores do not.
    """
    problem = fpsrl.Problem("mountain-car", samples=400, horizon=2, world={"epochs": 2, "members": 1, "judge": 0.0, "kind": "mlp"})
    made = fpsrl.fit(problem)
    rows, latencies = [], []
    kept = _evaluator.CUTS, _evaluator.LEAST_SECONDS
    print("| workers | messages a round | candidates a round | ms a round | core ms of the driver a round |\n|---|---|---|---|---|")
    for workers in (2, 16, 48):
        with fpsrl.ray.Evaluator(workers=workers) as evaluator:
            evaluator._pool.options["num_cpus"] = 0
            evaluator._pool.tell = lambda message: None
            search(made, evaluator, swarm(16, 2, 4))
            while sum(worker.ready for worker in evaluator.workers) < workers:
                search(made, evaluator, swarm(16, 20, 4))
            for particles, cuts, least in ((32, 1, 1.0), (1024, 1, 0.0), (1024, 4, 0.0), (4096, 1, 0.0), (4096, 4, 0.0)):
                _evaluator.CUTS, _evaluator.LEAST_SECONDS = cuts, least
                # Every worker is told of the form before anything counts.
                search(made, evaluator, swarm(particles, 20, 4))
                before, cpu = (evaluator.figures.messages, evaluator.figures.rounds), time.process_time()
                _, _, seconds = search(made, evaluator, swarm(particles, 60, 4))
                cpu = time.process_time() - cpu
                rounds = evaluator.figures.rounds - before[1]
                sent = (evaluator.figures.messages - before[0]) / rounds
                rows.append((sent, particles, cpu / rounds))
                if least:
                    latencies.append(seconds)
                print(f"| {workers} | {sent:.1f} | {particles} | {1e3 * seconds:.2f} | {1e3 * cpu / rounds:.2f} |")
    _evaluator.CUTS, _evaluator.LEAST_SECONDS = kept
    table = np.array(rows)
    (a, b), *_ = np.linalg.lstsq(table[:, :2], table[:, 2], rcond=None)
    return float(max(a, 0.0)), float(max(b, 0.0)), min(latencies)


def efficiency(
    cores: int, threads: int, seconds: float, candidates: int, costs: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Efficiency of a round whose candidates take so many core seconds together; the driver's share of its time; messages."""
    a, b, latency = costs
    workers = max(cores // threads, 1)
    sent = min(workers * _evaluator.CUTS * 1.6, candidates / threads, max(seconds / threads / _evaluator.LEAST_SECONDS, workers))
    work = seconds / cores
    # The last batches are the smallest: half of one is waited for, and a candidate is never cut.
    tail = max(_evaluator.LEAST_SECONDS, seconds / candidates) / 2
    driver = a * sent + b * candidates
    # While workers work, the driver sends.
    total = max(work + tail, driver) + latency
    return work / total, driver / total, sent


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--quick", action="store_true")
    given = arguments.parse_args()
    cores = os.cpu_count() or 1
    print(f"fpsrl {fpsrl.__version__}, Python {platform.python_version()}, {cores} cores, load {os.getloadavg()[0]:.1f}")
    made = worlds()
    rounds = 4 if given.quick else 8
    for name, settings in (("a second a round", swarm(500, rounds, 300)), ("a tenth of one", swarm(60, 4 * rounds, 300))):
        print(f"\n{name}: {settings['particles']} candidates, {settings['start_states']} starts")
        print("| workers | whole, s | a round, s | beside threads: whole | a round | messages a round | kB out | kB back |")
        print("|---|---|---|---|---|---|---|---|")
        threads = [search(made, None, settings) for _ in range(2)]
        for workers in (cores, 4, 8) if not given.quick else (cores,):
            with fpsrl.ray.Evaluator(workers=workers, **({} if workers <= cores else {"resources": {}})) as evaluator:
                # Ray gives a worker a CPU of its own: more of them than cores ask for none.
                if workers > cores:
                    evaluator._pool.options["num_cpus"] = 0
                search(made, evaluator, swarm(20, 2, 10))
                figures = evaluator.figures
                before = (figures.messages, figures.rounds, figures.bytes_sent, figures.bytes_received)
                mine = []
                for _ in range(2):
                    threads.append(search(made, None, settings))
                    mine.append(search(made, evaluator, settings))
                after = (figures.messages, figures.rounds, figures.bytes_sent, figures.bytes_received)
                sent, count, out, back = (b - a for a, b in zip(before, after))
            assert all(one[0].best == threads[0][0].best for one in [*mine, *threads]), "other rules"
            whole, one_round = (statistics.median(one[part] for one in mine) for part in (1, 2))
            base_whole, base_round = (statistics.median(one[part] for one in threads) for part in (1, 2))
            print(
                f"| {workers} | {whole:.2f} | {one_round:.3f} | {whole / base_whole:.3f} | {one_round / base_round:.3f} "
                f"| {sent / count:.1f} | {out / count / 1e3:.1f} | {back / count / 1e3:.1f} |"
            )
        print(f"| threads | {base_whole:.2f} | {base_round:.3f} | 1 | 1 | | | |")
    print("\nMessages alone")
    costs = messages()
    print(f"{1e3 * costs[0]:.3f} ms a message, {1e6 * costs[1]:.2f} µs a candidate, {1e3 * costs[2]:.2f} ms there and back")
    print("\n| core seconds a round | candidates | cores | threads a worker | messages | efficiency | driver busy |")
    print("|---|---|---|---|---|---|---|")
    for seconds, candidates in ((16.0, 500), (100.0, 1_000), (1_000.0, 4_000), (10_000.0, 16_000)):
        for count in CORES:
            for threads in (1, 16):
                value, busy, sent = efficiency(count, threads, seconds, candidates, costs)
                print(
                    f"| {seconds:,.0f} | {candidates:,} | {count:,} | {threads} | {sent:,.0f} "
                    f"| {100 * value:.0f} % | {100 * busy:.0f} % |"
                )


if __name__ == "__main__":
    main()
