"""Optimisers side by side on the fitness of the same learned worlds: what each has found by how many model steps.

    python search.py --scorer PROGRAM --work DIRECTORY --out DIRECTORY [--problems NAME,...] [--seeds 3] [--steps 1500]

Run by `cargo xtask bench search`, which builds the scorer and sets up the packages. Ours search in the scorer's process,
the others ask it for the fitness of their positions; curves are drawn by the scorer for all alike.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np

import search_peers
import search_report as report

OURS = ("auto", "swarm", "shade", "cma-es")
# Policies at random positions: where the way to a result begins.
RANDOM = 50
QUICK = {"problems": "mountain-car", "seeds": 1, "steps": 1.0}


class Scorer:
    """The program that scores positions of the unit box on the worlds of a run directory."""

    def __init__(self, program: str, directory: Path) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([program, "score", str(directory)], stdin=pipe, stdout=pipe, text=True)

    def ask(self, **request: object) -> dict:
        """The answer to a request."""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            sys.exit("error: the scorer ended without an answer\nhint: its own message stands above")
        return json.loads(line)

    def score(self, positions: np.ndarray) -> np.ndarray:
        """The fitness of each position; ends the search once its steps are used up."""
        answer = self.ask(task="score", positions=np.clip(positions, 0.0, 1.0).tolist())
        if answer["spent"]:
            raise search_peers.Spent
        return np.array([-np.inf if value is None else value for value in answer["fitness"]])

    def judge(self, positions: np.ndarray) -> list[float]:
        """The return of each position from start states that nobody searches on."""
        return self.ask(task="judge", positions=positions.tolist())["returns"]

    def close(self) -> None:
        """Ends the process."""
        self.process.stdin.close()
        self.process.wait()


def search_theirs(scorer: Scorer, name: str, seed: int, steps: int) -> dict:
    """The record of a search by a package of others."""
    case = scorer.ask(task="begin", steps=steps)
    try:
        search_peers.SEARCHES[name](scorer.score, case, seed)
    except search_peers.Spent:
        pass
    return scorer.ask(task="end")


def search_ours(program: str, directory: Path, name: str, seed: int, steps: int) -> dict:
    """The record of a search by an optimiser of this library."""
    command = [program, "run", str(directory), "--optimiser", name, "--seed", str(seed), "--steps", str(steps)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if answer.returncode != 0:
        sys.exit(f"error: {name} failed\nhint: its own message stands above")
    return json.loads(answer.stdout)


def missing(contenders: list[str]) -> dict[str, str]:
    """Contenders whose package cannot be used, with the reason."""
    reasons = {}
    for name in contenders:
        if name in search_peers.PACKAGES:
            try:
                __import__(search_peers.PACKAGES[name])
            except Exception as error:  # noqa: BLE001: a package that does not load is skipped, whatever is wrong with it
                reasons[name] = f"{type(error).__name__}: {error}"
    return reasons


def kept_runs(earlier: dict | None, entry: dict, contenders: list[str]) -> list[dict]:
    """Runs of an earlier measurement by contenders that are not asked for now, if it was the same measurement."""
    same = ("steps", "seeds", "random", "case")
    if earlier is None or any(earlier.get(key) != entry[key] for key in same):
        return []
    return [run for run in earlier["runs"] if run["contender"] not in contenders]


def measure(options: argparse.Namespace, problem: str, results: dict, contenders: list[str]) -> None:
    """All searches of a problem; results are written after each of them, for whoever interrupts a long run."""
    directory = options.work / ("quick" if options.quick else "full") / problem
    print(f"\n{problem}: learning its worlds, if they are not there", flush=True)
    quick = ["quick"] if options.quick else []
    if subprocess.run([options.scorer, "prepare", problem, str(directory), *quick]).returncode != 0:
        sys.exit(f"error: {problem} cannot be prepared\nhint: the reason stands above")
    steps = round(options.steps * 1e6)
    scorer = Scorer(options.scorer, directory)
    case = scorer.ask(task="begin", steps=steps)
    positions = np.random.default_rng(1).random((RANDOM, case["parameters"]))
    entry = {
        "steps": steps,
        "seeds": options.seeds,
        "case": case,
        # Also tells whether worlds, space and start states are those of an earlier measurement.
        "random": float(np.median(scorer.judge(positions))),
        "skipped": missing(contenders),
    }
    entry["runs"] = kept_runs(results["problems"].get(problem), entry, contenders)
    results["problems"][problem] = entry
    for seed in range(1, options.seeds + 1):
        for name in contenders:
            if name in entry["skipped"]:
                continue
            if name in OURS:
                record = search_ours(options.scorer, directory, name, seed, steps)
            else:
                try:
                    record = search_theirs(scorer, name, seed, steps)
                except Exception as error:  # noqa: BLE001: what fails in a package of others is its own affair
                    entry["skipped"][name] = f"{type(error).__name__}: {error}"
                    continue
            entry["marks"] = record.pop("marks")
            entry["runs"].append({"contender": name, "seed": seed, **record})
            print(report.line(entry["runs"][-1]), flush=True)
            report.write(results, options.out, options.readme)
    for name, reason in entry["skipped"].items():
        print(f"  {name:<10} skipped: {reason}", flush=True)
    scorer.close()


def machine() -> dict:
    """What the searches of others were made with."""
    packages = ["numpy", *search_peers.PACKAGES.values()]
    versions = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            pass
    return {"system": platform.system(), "python": platform.python_version(), "versions": versions}


def main() -> None:
    """Measures and writes the results."""
    everybody = [*OURS, *search_peers.SEARCHES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scorer", required=True, help="the scorer's program")
    parser.add_argument("--work", type=Path, required=True, help="directory for the learned worlds")
    parser.add_argument("--out", type=Path, required=True, help="directory for the results")
    parser.add_argument("--problems", default="cart-pole-swing-up", help="names of benchmarks")
    parser.add_argument("--contenders", default=",".join(everybody), help="who searches; results of others are kept")
    parser.add_argument("--seeds", type=int, default=3, help="searches of each contender")
    parser.add_argument("--steps", type=float, default=1500.0, help="million model steps of a search")
    parser.add_argument("--quick", action="store_true", help="only whether everything runs, on small worlds")
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
    contenders = options.contenders.split(",")
    unknown = [name for name in contenders if name not in everybody]
    if unknown:
        parser.error(f"unknown contender {unknown[0]}; there are {', '.join(everybody)}")
    if options.seeds < 1 or not 0.001 <= options.steps <= 1e6:
        parser.error("at least one seed, and from 0.001 to a million million steps")
    options.scorer = str(Path(options.scorer).resolve())
    options.work, options.out = options.work.resolve(), options.out.resolve()
    options.readme = Path(__file__).resolve().parent.parent / "README.md"
    if options.quick:
        # Figures that say nothing replace none that do.
        options.out, options.readme = options.work / "quick" / "results", None
    results = {"machine": machine(), "problems": {}}
    known = options.out / "search.json"
    if known.exists() and not options.quick:
        results["problems"] = json.loads(known.read_text())["problems"]
    # pyswarms writes a log into the directory it is started in.
    with tempfile.TemporaryDirectory() as temporary, contextlib.chdir(temporary):
        for problem in options.problems.split(","):
            measure(options, problem, results, contenders)
    print(f"\nwritten: {options.out / 'search.md'}, search.json, search.svg, search.png")


if __name__ == "__main__":
    main()
