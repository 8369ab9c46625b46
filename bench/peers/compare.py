"""The engine beside its peers: first their fitness values must agree, then they are timed in turns.

    python compare.py --engine PROGRAM --out DIRECTORY [--check] [--avx2] [--sizes 10,100] [--rounds 5]

Run by `cargo xtask bench peers`, which builds the engine and sets up the packages.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import case as cases
import report
import rollout_numpy

TOLERANCE = 1e-3
# Policies for each number of start states: enough to keep everybody busy for a while, few enough to end today.
POLICIES = {10: 32, 100: 16, 1_000: 2, 10_000: 1}
SWARM = (100, 100)
SHORT = "short arctangent"
# What keeps JAX, NumPy and its products on AVX2. Names that a version does not know are ignored.
AVX2_ONLY = {
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
}


class Contender:
    """A process that computes on request; it idles while others are timed."""

    def __init__(self, name: str, command: list[str], cores: list[int]) -> None:
        def pin() -> None:
            os.sched_setaffinity(0, cores)

        self.name = name
        pipe = subprocess.PIPE
        pinned = pin if hasattr(os, "sched_setaffinity") else None
        # pyswarms writes a log into the directory it is started in.
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, preexec_fn=pinned, cwd=tempfile.gettempdir()
        )

    def ask(self, **request: str) -> dict:
        """The answer to a request."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"error: {self.name} ended without an answer\nhint: its own message stands above")
        return json.loads(line)

    def close(self) -> None:
        """Ends the process."""
        self.process.stdin.close()
        self.process.wait()


class Entry:
    """A row of the table: a contender with the formulations that are its to choose from."""

    def __init__(self, name: str, contender: Contender, formulations: list[str]) -> None:
        self.name, self.contender, self.formulations = name, contender, formulations


def serve(engine: str, cores: list[int], avx2: bool) -> Contender:
    """The engine, waiting for requests."""
    return Contender("the engine", [engine, "serve", str(len(cores)), *(["avx2"] if avx2 else [])], cores)


def start(engine: str, cores: list[int], avx2: bool) -> list[Entry]:
    """All contenders that compute a fitness, on the given cores."""
    count = str(len(cores))
    here = Path(__file__).parent

    def worker(name: str) -> Contender:
        return Contender(name, [sys.executable, str(here / "worker.py"), name, count], cores)

    jax, numpy = worker("jax"), worker("numpy")
    ways = jax.ask(task="describe")["formulations"]
    return [
        Entry("engine", serve(engine, cores, avx2), [""]),
        Entry("JAX", jax, [way for way in ways if SHORT not in way]),
        Entry("JAX, short arctangent", jax, [way for way in ways if SHORT in way]),
        Entry("NumPy", numpy, numpy.ask(task="describe")["formulations"]),
    ]


def close(entries: list[Entry]) -> None:
    """Ends all processes."""
    for contender in {entry.contender for entry in entries}:
        contender.close()


def write_case(engine: str, directory: Path, starts: int, policies: int) -> str:
    """Has the engine write a case; returns its path."""
    path = directory / f"case-{starts}-{policies}.json"
    with path.open("w") as file:
        subprocess.run([engine, "case", str(starts), str(policies)], stdout=file, check=True)
    return str(path)


def compare_values(path: str, entries: list[Entry]) -> dict[str, dict[str, dict]]:
    """Asks everybody once for each formulation, and stops the run if anybody's values are off."""
    case = cases.load(path)
    expected = rollout_numpy.reference(case, case.positions)
    answers: dict[str, dict[str, dict]] = {}
    for entry in entries:
        answers[entry.name] = {}
        for way in entry.formulations:
            answer = entry.contender.ask(task="fitness", case=path, formulation=way)
            error = float(np.max(np.abs(np.array(answer["fitness"]) / expected - 1.0)))
            if not error <= TOLERANCE:
                sys.exit(
                    f"error: {entry.name} ({way}) is off the f64 reference by {error:.1e} relative, more than"
                    f" {TOLERANCE}\nhint: nothing is timed before all compute the same; see bench/README.md"
                )
            answers[entry.name][way] = {"error": error}
    return answers


def clock(cores: list[int]) -> str:
    """Which time counts: on one core the processor's, where other programs do not count; else the clock's."""
    return "processor_seconds" if len(cores) == 1 else "seconds"


def measure(path: str, entries: list[Entry], rounds: int, time: str) -> list[dict]:
    """Times everybody in turns, each in its best formulation."""
    values = compare_values(path, entries)
    steps = cases.load(path).model_steps
    # The first answer picked the programs' pages and caches up; the second decides which formulation is timed.
    best: dict[str, str] = {}
    for entry in entries:
        trials = {
            way: entry.contender.ask(task="fitness", case=path, formulation=way)[time]
            for way in (entry.formulations if len(entry.formulations) > 1 else [])
        }
        best[entry.name] = min(trials, key=trials.get, default=entry.formulations[0])
    seconds: dict[str, list[float]] = {entry.name: [] for entry in entries}
    for _ in range(rounds):
        for entry in entries:
            answer = entry.contender.ask(task="fitness", case=path, formulation=best[entry.name])
            seconds[entry.name].append(answer[time])
    return [
        {
            "contender": name,
            "formulation": best[name],
            "error": max(answer["error"] for answer in values[name].values()),
            **rates(times, steps),
        }
        for name, times in seconds.items()
    ]


def rates(times: list[float], steps: int) -> dict:
    """Median, slowest and fastest in million model steps per second."""
    speeds = [steps / time / 1e6 for time in times]
    return {"median": statistics.median(speeds), "slowest": min(speeds), "fastest": max(speeds)}


def measure_swarm(engine: str, directory: Path, cores: list[int], rounds: int, avx2: bool) -> dict:
    """Seconds for one iteration of a swarm: pyswarms over NumPy rollouts, and the engine, in turns."""
    path = write_case(engine, directory, *SWARM)
    here = Path(__file__).parent
    count = str(len(cores))
    ours = serve(engine, cores, avx2)
    theirs = Contender("pyswarms", [sys.executable, str(here / "worker.py"), "pyswarms", count], cores)
    ways = theirs.ask(task="describe")["formulations"]
    times: dict[str, list[float]] = {"engine": [], **{f"pyswarms, {way}": [] for way in ways}}
    for _ in range(rounds):
        times["engine"].append(ours.ask(task="swarm", case=path)[clock(cores)])
        for way in ways:
            answer = theirs.ask(task="swarm", case=path, formulation=way)
            times[f"pyswarms, {way}"].append(answer[clock(cores)])
    ours.close()
    theirs.close()
    return {name: {"median": statistics.median(each), "all": each} for name, each in times.items()}


def machine(entries: list[Entry], path: str) -> dict:
    """What the figures were obtained on; nothing that names a host."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = lines[0] if lines else model
    versions = {
        entry.contender.name: entry.contender.ask(task="describe")["version"]
        for entry in entries
        if entry.contender.name != "the engine"
    }
    engine = next(entry.contender for entry in entries if entry.name == "engine")
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "instruction_set": engine.ask(task="fitness", case=path)["level"],
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": versions,
    }


def main() -> None:
    """Checks, and unless told otherwise measures and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", required=True, help="the engine's program")
    parser.add_argument("--out", type=Path, help="directory for the results")
    parser.add_argument("--check", action="store_true", help="only check that the values agree")
    parser.add_argument("--sizes", default="10,100,1000,10000", help="numbers of start states")
    parser.add_argument("--rounds", type=int, default=5, help="how often each contender has its turn")
    parser.add_argument("--swarm-rounds", type=int, default=3, help="the same for swarms; 0 leaves them out")
    parser.add_argument("--avx2", action="store_true", help="nobody uses more than AVX2, whatever the machine has")
    options = parser.parse_args()
    if options.avx2:
        os.environ.update(AVX2_ONLY)
    options.engine = str(Path(options.engine).resolve())
    every = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        tempfile.tempdir = temporary
        if options.check:
            check(options.engine, directory, every[-1:], options.avx2)
            return
        if options.out is None:
            parser.error("--out is missing")
        rounds = {"fitness": options.rounds, "swarm": options.swarm_rounds}
        # A busy machine shows in the all-core figures and, through the caches, a little in the others.
        results: dict = {"rounds": rounds, "load": os.getloadavg()[0], "sizes": [], "swarm": {}}
        for cores in [every[-1:], every] if len(every) > 1 else [every]:
            entries = start(options.engine, cores, options.avx2)
            for size in map(int, options.sizes.split(",")):
                # As many policies for each core, so that nobody waits for the last one.
                wanted = POLICIES.get(size, 1)
                path = write_case(options.engine, directory, size, -(-wanted // len(cores)) * len(cores))
                results.setdefault("machine", machine(entries, path))
                rows = measure(path, entries, options.rounds, clock(cores))
                results["sizes"].append({"cores": len(cores), "starts": size, "rows": rows})
                print(report.lines(results["sizes"][-1]), flush=True)
                # After each size: whoever interrupts a long run keeps what it has found.
                report.write(results, options.out)
            close(entries)
            if options.swarm_rounds > 0:
                times = measure_swarm(options.engine, directory, cores, options.swarm_rounds, options.avx2)
                results["swarm"][len(cores)] = times
                print(report.swarm_lines(len(cores), times), flush=True)
    report.write(results, options.out)
    print(f"\nwritten: {options.out / 'peers.md'}, peers.json, peers.svg, peers.png")


def check(engine: str, directory: Path, cores: list[int], avx2: bool) -> None:
    """The agreement alone, on a small case."""
    entries = start(engine, cores, avx2)
    values = compare_values(write_case(engine, directory, 7, 3), entries)
    close(entries)
    for name, ways in values.items():
        error = max(answer["error"] for answer in ways.values())
        print(f"{name:<24} within {error:.1e} of the f64 reference")


if __name__ == "__main__":
    main()
