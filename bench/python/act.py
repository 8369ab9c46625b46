"""How long a policy takes to act, beside the same rules in NumPy, pyfuzzylite and onnxruntime.

    python act.py [--rounds 9] [--threads 1,0] [--sizes 1,1000,1000000] [--check] [--json FILE]

Everybody gets the same states, a row each in double precision, and hands back an action for each. First all have to
agree with the policy in double precision; then they are timed in turns, round after round, and the table has medians.
What is not installed is left out, and said. `--check` only compares the values.

NumPy's code is written in one line with three dimensions, as in a textbook; in three better ways on the whole batch;
and in these ways in blocks that fit into the caches, as somebody does who has measured. Of the three, the fastest
counts. pyfuzzylite runs the exported FLL, one state at a time and with arrays. onnxruntime runs the exported graph.
`--threads 0` is as many as the machine has; NumPy and pyfuzzylite use one, whatever the others have.

Needs, beside fpsrl: `pip install numpy onnx onnxruntime`, and `pip install --no-deps "pyfuzzylite>=8"`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

# The products are too small for threads of their own.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

import fpsrl  # noqa: E402
from fpsrl import Policy, Rule  # noqa: E402

Act = Callable[[Any], Any]

#: Single precision computes another last digit; where rules change over steeply, that is this share of the range.
TOLERANCE = 1e-3

#: A round of a contender takes so long at least, so that the clock's own steps do not matter.
LEAST_SECONDS = 0.02

#: States of pyfuzzylite's loop: more of them take as long each.
MOST_IN_A_LOOP = 1_000

BLOCK = 4_096


def policies() -> dict[str, Policy]:
    """Rules as they are found: two of the mountain car, four of the form of the cart-pole swing-up."""
    car = Policy(
        {"position": "m", "velocity": "m/s"},
        {"force": (-1.0, 1.0)},
        [
            Rule({"position": (-1.25, 0.742), "velocity": (0.18, 0.325)}, 1.0),
            Rule({"position": (-0.233, 0.411), "velocity": (-0.27, 0.359)}, -1.0),
        ],
        alpha=8.0,
    )
    names = ["position", "velocity", "angle", "turn"]
    random = np.random.default_rng(1)
    rules = []
    for output in (0.9, -0.4, 0.4, -0.9):
        centres, widths = random.normal(0.0, 1.0, 4), random.uniform(0.5, 3.0, 4)
        rules.append(Rule({name: (c, w) for name, c, w in zip(names, centres, widths)}, output))
    pole = Policy(names, {"force": (-10.0, 10.0)}, rules, alpha=3.0)
    return {"mountain car: 2 inputs, 2 rules": car, "cart-pole: 4 inputs, 4 rules": pole}


def states_of(policy: Policy, rows: int) -> Any:
    """States where the rules are."""
    random = np.random.default_rng(2)
    columns = []
    for name in policy.states:
        conditions = [rule.conditions[name] for rule in policy.rules]
        low = min(one.centre - one.width for one in conditions)
        high = max(one.centre + one.width for one in conditions)
        columns.append(random.uniform(low, high, rows))
    return np.ascontiguousarray(np.stack(columns, axis=1))


def in_numpy(policy: Policy) -> dict[str, dict[str, Act]]:
    """The rules of one action in double precision: as a textbook has them, and as whoever knows NumPy writes them."""
    (action,) = policy.actions
    names = policy.states
    centres = np.array([[rule.conditions[name].centre for name in names] for rule in policy.rules])
    widths = np.array([[rule.conditions[name].width for name in names] for rule in policy.rules])
    scales = np.sqrt(0.5) / widths
    outputs = np.array([rule.output for rule in policy.rules])
    middle, half = 0.5 * sum(action.limits), 0.5 * (action.limits[1] - action.limits[0]) * action.reach
    shifts = centres * scales
    squares, lines, constants = (scales**2).T.copy(), (-2.0 * scales * shifts).T.copy(), (shifts**2).sum(axis=1)

    def acted(distances: Any) -> Any:
        memberships = np.exp(distances.min(axis=0) - distances)
        wanted = np.tanh(action.alpha * (outputs @ memberships) / memberships.sum(axis=0))
        return np.clip(middle + half * wanted, *action.limits)

    def broadcast(states: Any) -> Any:
        distances = 0.5 * (((states[:, None, :] - centres) / widths) ** 2).sum(axis=2)
        memberships = np.exp(distances.min(axis=1, keepdims=True) - distances)
        wanted = np.tanh(action.alpha * (memberships @ outputs) / memberships.sum(axis=1))
        return np.clip(middle + half * wanted, *action.limits)

    def by_rule(states: Any) -> Any:
        distances = np.empty((len(outputs), len(states)))
        for distance, scale, shift in zip(distances, scales, shifts):
            differences = states * scale - shift
            np.einsum("ij,ij->i", differences, differences, out=distance)
        return acted(distances)

    def by_input(states: Any) -> Any:
        distances = np.zeros((len(outputs), len(states)))
        for place in range(len(names)):
            column = np.ascontiguousarray(states[:, place])
            for rule, distance in enumerate(distances):
                difference = column * scales[rule, place]
                difference -= shifts[rule, place]
                difference *= difference
                distance += difference
        return acted(distances)

    def by_products(states: Any) -> Any:
        distances = (states * states) @ squares + states @ lines + constants
        return acted(np.ascontiguousarray(distances.T))

    def in_blocks(act: Act) -> Act:
        def blocks(states: Any) -> Any:
            answer = np.empty(len(states))
            for first in range(0, len(states), BLOCK):
                answer[first : first + BLOCK] = act(states[first : first + BLOCK])
            return answer

        return blocks

    ways: dict[str, Act] = {"by rule": by_rule, "by input": by_input, "by products": by_products}
    return {
        "NumPy, broadcast": {"": broadcast},
        "NumPy": ways,
        "NumPy, in blocks": {name: in_blocks(act) for name, act in ways.items()},
    }


def in_fuzzylite(policy: Policy, directory: Path) -> dict[str, Act]:
    """The exported FLL."""
    import fuzzylite

    policy.export("fll", directory / "rules.fll", force=True)
    importer = fuzzylite.FllImporter()
    engine = importer.from_string((directory / "rules.fll").read_text(encoding="utf-8"))
    inputs, (output,) = engine.input_variables, engine.output_variables
    (action,) = policy.actions
    middle, half = 0.5 * sum(action.limits), 0.5 * (action.limits[1] - action.limits[0]) * action.reach

    def acted(outputs: Any) -> Any:
        # The format has no place for what comes after the rules.
        return np.clip(middle + half * np.tanh(action.alpha * np.asarray(outputs, dtype=np.float64)), *action.limits)

    def one_by_one(states: Any) -> Any:
        answer = []
        for state in states.tolist():
            for variable, value in zip(inputs, state):
                variable.value = value
            engine.process()
            answer.append(output.value)
        return acted(answer).reshape(-1)

    def with_arrays(states: Any) -> Any:
        for variable, column in zip(inputs, states.T):
            variable.value = column
        engine.process()
        return acted(output.value).reshape(-1)

    return {"one state at a time": one_by_one, "with arrays": with_arrays}


def in_onnxruntime(policy: Policy, directory: Path, threads: int) -> dict[str, Act]:
    """The exported graph, in both precisions."""
    import onnxruntime

    ways: dict[str, Act] = {}
    for name, single in (("double", False), ("single", True)):
        path = directory / f"{name}.onnx"
        policy.export("onnx", path, single=single, force=True)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
        # Threads that wait in a loop would take the time of whoever is next.
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        given = {one.name: one for one in session.get_inputs()}
        kind = np.float32 if single else np.float64
        if set(given) != {"state"}:
            sys.exit(f"error: the graph asks for {', '.join(given)}; this measures graphs that ask for `state` alone")

        def act(states: Any, session: Any = session, kind: Any = kind) -> Any:
            return session.run(["action"], {"state": states.astype(kind, copy=False)})[0]

        ways[name] = act
    return ways


def version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as of

    try:
        return of(package)
    except PackageNotFoundError:
        return "none"


def contenders(policy: Policy, directory: Path, threads: int) -> dict[str, dict[str, Act]]:
    """Everybody who is installed, each with the ways that are its to choose from."""
    everybody: dict[str, dict[str, Act]] = {
        "fpsrl": {"": policy.act},
        "fpsrl, double": {"": lambda states: policy.act(states, precision="double")},
        **in_numpy(policy),
    }
    makers: list[tuple[str, str, Callable[[], dict[str, Act]]]] = [
        ("pyfuzzylite", "fuzzylite", lambda: in_fuzzylite(policy, directory)),
        ("onnxruntime", "onnxruntime", lambda: in_onnxruntime(policy, directory, threads)),
    ]
    for package, module, make in makers:
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"{package} is left out: {error}", file=sys.stderr)
            continue
        if package == "pyfuzzylite" and int(version(package).split(".")[0]) < 8:
            print("pyfuzzylite is left out: before version 8 it takes small memberships for none", file=sys.stderr)
            continue
        everybody.update({f"{package}, {way}": {way: act} for way, act in make().items()})
    return everybody


def compare(policy: Policy, everybody: dict[str, dict[str, Act]], check: Any) -> dict[str, float]:
    """How far everybody is from the policy in double precision, in shares of the range; too far ends the run."""
    low, high = policy.actions[0].limits
    exact = policy.act(check, precision="double").reshape(-1)
    errors = {}
    for name, ways in everybody.items():
        for way, act in ways.items():
            answer = np.asarray(act(check), dtype=np.float64).reshape(-1)
            error = float(np.abs(answer - exact).max() / (high - low))
            errors[name] = max(errors.get(name, 0.0), error)
            if not error <= TOLERANCE:
                sys.exit(f"error: {name} {way} is off by {error:.1e} of the range: nothing is timed before all agree")
    return errors


def seconds(act: Act, states: Any, times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        act(states)
    return (time.perf_counter() - begin) / times


def times_of(act: Act, states: Any) -> int:
    """How often a round calls it."""
    return max(1, round(LEAST_SECONDS / max(min(seconds(act, states, 1) for _ in range(3)), 1e-7)))


def measure(everybody: dict[str, dict[str, Act]], states: Any, rounds: int) -> dict[str, dict[str, Any]]:
    """Everybody in turns, in the fastest of its ways."""
    chosen: dict[str, tuple[str, Act, Any, int]] = {}
    for name, ways in everybody.items():
        given = states[:MOST_IN_A_LOOP] if "at a time" in name else states
        trials = {way: min(seconds(act, given, times_of(act, given)) for _ in range(2)) for way, act in ways.items()}
        way = min(trials, key=lambda way: trials[way])
        chosen[name] = (way, ways[way], given, times_of(ways[way], given))
    taken: dict[str, list[float]] = {name: [] for name in chosen}
    for _ in range(rounds):
        for name, (_, act, given, times) in chosen.items():
            taken[name].append(seconds(act, given, times) * len(states) / len(given))
    return {
        name: {"way": chosen[name][0], "median": statistics.median(all_), "least": min(all_), "rounds": all_}
        for name, all_ in taken.items()
    }


def amount(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * scale >= 1.0 or unit == "µs":
            return f"{value * scale:.3g} {unit}"
    raise AssertionError


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--threads", default="1,0", help="of fpsrl and onnxruntime; 0 is as many as the machine has")
    arguments.add_argument("--sizes", default="1,1000,1000000", help="states of a batch")
    arguments.add_argument("--check", action="store_true", help="only compare the values")
    arguments.add_argument("--json", type=Path, help="a file for the figures")
    given = arguments.parse_args()
    packages = ", ".join(f"{one} {version(one)}" for one in ("numpy", "pyfuzzylite", "onnxruntime"))
    print(f"fpsrl {fpsrl.__version__}, {packages}, Python {platform.python_version()}, {os.cpu_count()} cores")
    if hasattr(os, "getloadavg"):
        print(f"load of the machine before the run: {os.getloadavg()[0]:.1f}; {given.rounds} rounds in turns, medians")
    results = []
    for title, policy in policies().items():
        for threads in [int(one) or os.cpu_count() or 1 for one in given.threads.split(",")]:
            fpsrl.set_threads(threads)
            with tempfile.TemporaryDirectory() as directory:
                everybody = contenders(policy, Path(directory), threads)
                errors = compare(policy, everybody, states_of(policy, 500))
                print(f"\n{title}; {threads} thread{'' if threads == 1 else 's'}")
                if given.check:
                    for name, error in errors.items():
                        print(f"  {name:<34} off by {error:.1e} of the action's range")
                    continue
                for rows in [int(one) for one in given.sizes.split(",")]:
                    taken = measure(everybody, states_of(policy, rows), given.rounds)
                    ours = taken["fpsrl"]["median"]
                    print(f"  {rows:>9,} states" + " " * 24 + "median     least    fpsrl is faster by")
                    for name, one in taken.items():
                        shown = f"{name}, {one['way']}" if name in ("NumPy", "NumPy, in blocks") else name
                        figures = f"{amount(one['median']):>9} {amount(one['least']):>9}"
                        print(f"    {shown:<38} {figures} {one['median'] / ours:>18.1f} ×")
                        results.append({"policy": title, "threads": threads, "states": rows, "contender": name, **one})
    if given.json and not given.check:
        given.json.write_text(json.dumps({"packages": packages, "results": results}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
