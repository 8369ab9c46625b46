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

#: Seconds of one round on one core that the model asks about.
CORES = (16, 64, 256, 1024)


def worlds() -> fpsrl.Worlds:
    """Small networks of the swing-up: what is measured needs no good ones."""
    return fpsrl.fit(fpsrl.Problem("cart-pole-swing-up", samples=3000, world={"epochs": 5, "members": 1, "judge": 0.0, "kind": "mlp"}))


def search(made: fpsrl.Worlds, evaluator: Any, settings: dict[str, Any]) -> tuple[fpsrl.Found, float, float]:
    """What is found, the seconds of the whole, and the median of a round's."""
    stamps: list[float] = []
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


def messages(cores: int) -> tuple[float, float]:
    """Seconds of the driver for a message and for a candidate, where the work itself is next to nothing."""
    problem = fpsrl.Problem("mountain-car", samples=400, horizon=2, world={"epochs": 2, "members": 1, "judge": 0.0, "kind": "mlp"})
    made = fpsrl.fit(problem)
    points = []
    for particles in (64, 512, 4096):
        with fpsrl.ray.Evaluator(workers=cores) as evaluator:
            search(made, evaluator, swarm(particles, 3, 4))
            before = evaluator.figures.messages, evaluator.figures.rounds
            _, _, seconds = search(made, evaluator, swarm(particles, 40, 4))
            rounds = evaluator.figures.rounds - before[1]
            points.append(((evaluator.figures.messages - before[0]) / rounds, particles, seconds))
    table = np.array(points)
    (a, b), *_ = np.linalg.lstsq(table[:, :2], table[:, 2], rcond=None)
    print("| messages a round | candidates a round | ms a round |\n|---|---|---|")
    for count, particles, seconds in points:
        print(f"| {count:.1f} | {particles:.0f} | {1e3 * seconds:.2f} |")
    return float(max(a, 0.0)), float(max(b, 0.0))


def efficiency(cores: int, threads: int, round_seconds: float, candidates: int, a: float, b: float) -> tuple[float, float]:
    """Efficiency of a round whose candidates take so many core seconds together, and the driver's share of its time."""
    workers = cores / threads
    work = round_seconds / cores
    sent = workers * fpsrl.ray._evaluator.CUTS
    driver = a * sent + b * candidates
    # The last batch of a worker is a share of its work, and its candidates are whole.
    tail = max(work / (2 * fpsrl.ray._evaluator.CUTS) / 4, round_seconds / candidates / 2)
    # While workers work, the driver sends: only what exceeds their work is waited for, and the first and last message.
    total = max(work + tail, driver) + 2 * a
    return work / total, driver / total


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--quick", action="store_true")
    given = arguments.parse_args()
    cores = os.cpu_count() or 1
    print(f"fpsrl {fpsrl.__version__}, Python {platform.python_version()}, {cores} cores, load {os.getloadavg()[0]:.1f}")
    made = worlds()
    rounds = 5 if given.quick else 12
    for name, settings in (("a second a round", swarm(200, rounds, 150)), ("a tenth of one", swarm(60, 3 * rounds, 50))):
        print(f"\n{name}: {settings['particles']} candidates, {settings['start_states']} starts")
        print("| workers | whole, s | a round, s | beside threads: whole | a round | messages a round | kB out | kB back |")
        print("|---|---|---|---|---|---|---|---|")
        threads = [search(made, None, settings) for _ in range(2)]
        for workers in (cores, 4, 8) if not given.quick else (cores,):
            with fpsrl.ray.Evaluator(workers=workers, **({} if workers <= cores else {"resources": {}})) as evaluator:
                # Ray gives a worker a CPU of its own: more of them than cores ask for none.
                if workers > cores:
                    evaluator._pool._options["num_cpus"] = 0
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
    a, b = messages(cores)
    print(f"{1e3 * a:.3f} ms a message, {1e6 * b:.2f} µs a candidate")
    print("\n| cores | threads a worker | core seconds a round | candidates | efficiency | driver busy |\n|---|---|---|---|---|---|")
    for seconds, candidates in ((100.0, 1_000), (1_000.0, 4_000), (1_000.0, 16_000)):
        for count in CORES:
            for threads in (1, 16):
                value, busy = efficiency(count, threads, seconds, candidates, a, b)
                print(f"| {count:,} | {threads} | {seconds:,.0f} | {candidates:,} | {100 * value:.0f} % | {100 * busy:.0f} % |")


if __name__ == "__main__":
    main()
