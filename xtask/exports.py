"""Exports controllers with every format, and has programs that are not ours run them.

Usage: exports.py FPSRL ROOT DIRECTORY [--long]. Prints a line for each export; ends with 1 if any of them is not what the policy is.
With --long only the hostile numbers are given, to more controllers, in more ways, and to others each time.
"""
import concurrent.futures
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import time

import jsonschema

import hostile_exports

FPSRL, ROOT, DIRECTORY = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
LONG = "--long" in sys.argv[4:]
GCC = "gcc -std=c99 -O2 -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror"
SANITISED = " -fsanitize=undefined,float-divide-by-zero -fno-sanitize-recover=all"
# Debian keeps clang's library for messages in a package of its own; a trap needs none.
TRAPPED = " -fsanitize=undefined,float-divide-by-zero -fsanitize-trap=undefined,float-divide-by-zero"
# Names that no language takes as they are.
NAMES = ["int", "REAL", "θ̇", "Füllstand (m³)", "pole angle [rad]", "lambda", "class", "2nd stage", "a-b", "a_b", "A_B", "if",
         "distance_1", "level", "level_seen", "self", "outside", "压力", "end_if", "x", "fn", "default", "float", "is", "exp"]

# Tools for these know no circle.
STRAIGHT = ("fll", "fcl", "fis")


def random_policy(seed, states, actions, rules, extreme):
    """A policy with parameters of any size; `extreme` stretches them over many orders of magnitude."""
    draw = random.Random(seed)
    names = draw.sample(NAMES, len(NAMES))
    scales = [10 ** draw.uniform(-5, 5) if extreme else draw.uniform(0.5, 5) for _ in range(states)]
    def rule():
        widths = [scale * 10 ** (draw.uniform(-2, 2) if extreme else draw.uniform(-1, 0.5)) for scale in scales]
        return {"centre": [draw.uniform(-1, 1) * scale for scale in scales], "width": widths, "output": draw.uniform(-1, 1)}
    def action(name):
        low = draw.choice([-1.0, 0.0, -300.0, 1e-3, -1e4])
        high = low + draw.choice([1e-2, 1.0, 50.0, 1e4])
        alpha = draw.choice([0.0, 1e-2, 1.0, 20.0, 100.0]) if extreme else draw.uniform(0, 20)
        return {"name": name, "unit": draw.choice(["", "N", "m³/h", "°C"]), "limits": [low, high], "alpha": alpha,
                "rules": [rule() for _ in range(rules)]}
    policy = {"format": 1, "states": [{"name": name, "unit": "m/s²"} for name in names[:states]], "mirrored": False,
              "actions": [action(name) for name in names[states:states + actions]]}
    return policy, scales


def run_directory(path, policy, scales, seed):
    """A run directory around a policy: the export looks at the problem, the log and the rules."""
    draw = random.Random(seed)
    path.mkdir(parents=True)
    lines = [f'name = "random-{seed}"', "horizon = 10"]
    for state, scale in zip(policy["states"], scales):
        lines += ["[[state]]", f'name = "{state["name"]}"', f"start = [{-scale!r}, {scale!r}]"]
    for action in policy["actions"]:
        lines += ["[[action]]", f'name = "{action["name"]}"', f"limits = {action['limits']!r}"]
    (path / "problem.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = [state["name"] for state in policy["states"]]
    header = ["episode", "step", *names, *(action["name"] for action in policy["actions"]), *("next_" + n for n in names), "reward"]
    rows = [",".join(header)]
    for step in range(300):
        values = [draw.uniform(-1.5, 1.5) * scale for scale in scales]
        actions = [draw.uniform(*action["limits"]) for action in policy["actions"]]
        rows.append(",".join(map(repr, [0, step, *values, *actions, *values, 0.0])))
    (path / "transitions.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (path / "policy.json").write_text(json.dumps(policy), encoding="utf-8")


def fpsrl(*arguments):
    return subprocess.run([FPSRL, *map(str, arguments)], capture_output=True, text=True, check=False)


def differences(execution):
    found = execution["differences"]
    return found["passed"], found["largest"], found["compared"], execution["tool"]


def export(run, out, arguments, tools):
    """One export: its own certificate, then `verify` with each further tool."""
    result = fpsrl("export", run, "--out", out, "--json", "--force", *arguments)
    if result.returncode != 0:
        return [(False, float("nan"), 0, result.stderr.strip())]
    certificate = json.loads(result.stdout)
    if certificate["execution"] is None:
        return [(False, float("nan"), 0, certificate["not_executed"])]
    lines = [differences(certificate["execution"])]
    for options in tools:
        result = fpsrl("verify", out, "--json", *options)
        lines.append(differences(json.loads(result.stdout)) if result.stdout else (False, float("nan"), 0, result.stderr.strip()))
    return lines


def cases(run, name, large, extreme, response):
    """Every format, with what it leaves to choose spread over the policies."""
    def case(format_, ending, *arguments, tools=()):
        options = ["--to", format_, *arguments]
        if not any(word in arguments for word in ("--guard",)):
            options += ["--guard", response]
        return run, DIRECTORY / f"{name}{ending}", options, tools
    for precision in ("double", "single"):
        both = ["--precision", precision]
        clang = GCC.replace("gcc", "clang")
        yield case("c", f".{precision}.c", *both, tools=[["--tool", GCC + SANITISED], ["--tool", clang], ["--tool", clang + TRAPPED]])
        yield case("c", f".{precision}.own.c", *both, "--math", "own", "--guard", "hold", tools=[["--tool", clang + TRAPPED]])
        yield case("rust", f".{precision}.rs", *both)
        yield case("onnx", f".{precision}.onnx", *both)
        # blark takes minutes for blocks of a thousand lines.
        if not large:
            yield case("st", f".{precision}.st", *both)
            yield case("st", f".{precision}.scl", *both, "--dialect", "siemens", "--guard", "hold")
    yield case("python", ".py")
    yield case("javascript", ".mjs")
    yield case("json", ".json")
    yield case("fll", ".fll")
    yield case("fcl", ".fcl")
    # The memberships of extreme widths have more digits than fuzzylite writes.
    yield case("fcl", ".fuzzylite.fcl", "--dialect", "fuzzylite", tools=[] if extreme else [[]])
    # Octave's toolkit ends with an error where the memberships of every rule vanish, as they do somewhere among extreme
    # widths over twenty inputs; there only our own reader checks the file.
    octave = [] if large and extreme else [["--states", "300" if large else "1000"]]
    yield case("fis", ".fis", tools=octave)


def round_trips(run, name, policy):
    """What was exported as rules comes back as the same policy."""
    for ending in ("fll", "fcl", "fis", "json"):
        if not (DIRECTORY / f"{name}.{ending}").exists():
            continue
        back = DIRECTORY / f"{name}.{ending}.policy.json"
        result = fpsrl("import", DIRECTORY / f"{name}.{ending}", "--out", back, "--quiet", "--force")
        same = result.returncode == 0 and json.loads(back.read_text(encoding="utf-8")) == policy
        yield f"{name}, {ending}, read back", [(same, 0.0, 0, "fpsrl import" if same else result.stderr.strip())]


def hang(path):
    """Turns the poles of a log down, so that what it covers is an arc across half a turn."""
    header, *rows = [line.split(",") for line in path.read_text(encoding="utf-8").split()]
    for row in rows:
        for name in ("theta", "next_theta"):
            angle = 3 + 0.2 * float(row[header.index(name)])
            row[header.index(name)] = repr(angle - 2 * math.pi if angle > math.pi else angle)
    path.write_text("".join(",".join(row) + "\n" for row in [header, *rows]), encoding="utf-8")


def circles():
    """Rules that measure an angle around the circle, with the formats for them: those that know straight lines only are for
    rules that do not reach around it.
    """
    for name, response, reaches_around in (("cart-pole-balancing", "hold", False), ("cart-pole-swing-up", "clamp", True)):
        policy = json.loads((ROOT / f"xtask/policies/{name}.json").read_text(encoding="utf-8"))
        policy["states"][0]["periodic"] = True
        if reaches_around:
            first, *_, mirrored, _ = policy["actions"][0]["rules"]
            first["centre"][0], mirrored["centre"][0], first["width"][0], mirrored["width"][0] = 3.0, -3.0, 0.5, 0.5
        run = DIRECTORY / f"run-circle-{name}"
        result = fpsrl("generate", name, "--samples", 1000, "--quiet", "--out", run, "--force")
        assert result.returncode == 0, result.stderr
        if reaches_around:
            hang(run / "transitions.csv")
            # It is another log now, and the figures of the old one would be refused beside it.
            (run / "summary.json").unlink()
        (run / "policy.json").write_text(json.dumps(policy), encoding="utf-8")
        yield run, f"circle-{name}", policy, reaches_around, response


def adding_up():
    """A policy that looks at errors, at their running sums and at a mode; it is exported alone, without a guard."""
    def quantity(name, **more):
        return {"name": name, "unit": "", **more}
    nowhere, mode = 1e18, 0.09128709291752769
    # Temperature and its set-point, which no rule looks at, a mode, and a pressure of one step before behind what is derived.
    states = [quantity("T"), quantity("T set-point"), quantity("Mode", values=["COMFORT", "ECO", "2nd \"*/"]),
              quantity("T_error", derived={"error": {"state": 0, "set_point": 1}}),
              quantity("T_error_sum", derived={"sum": {"error": 3, "limit": 120.5}}), quantity("p_1")]
    def rule(modes, error, total, output):
        return {"centre": [0.0, 0.0, modes or 0.0, error, total, 0.4],
                "width": [nowhere, nowhere, nowhere if modes is None else mode, 4.0, 70.0, 2.5], "output": output}
    rules = [rule(None, 3.0, 50.0, 0.9), rule(None, -3.0, -50.0, -0.8), rule(1.0, 0.5, 10.0, -0.3), rule(2.0, 0.0, 0.0, -1.0)]
    actions = [{"name": name, "unit": "%", "limits": limits, "alpha": alpha, "rules": rules[from_:]}
               for name, limits, alpha, from_ in (("valve", [0.0, 100.0], 3.0, 0), ("fan", [-0.5, 1.0], 1.5, 1))]
    policy = {"format": 1, "states": states, "mirrored": False, "actions": actions}
    run = DIRECTORY / "run-adding-up"
    run.mkdir(parents=True, exist_ok=True)
    (run / "policy.json").write_text(json.dumps(policy), encoding="utf-8")
    return run, "adding-up", policy


def refusals(run, name):
    """Rules that reach around the circle are not written for tools that know none."""
    for format_ in STRAIGHT:
        result = fpsrl("export", run, "--out", DIRECTORY / f"{name}.{format_}", "--to", format_)
        refused = result.returncode == 2 and "reaches around it in `theta`" in result.stderr
        yield f"{name}, {format_}, refused", [(refused, 0.0, 0, "fpsrl export" if refused else result.stderr.strip())]


def schemas(policies):
    """Schemas are valid, take what fpsrl writes, and refuse what it would refuse."""
    for name, paths in (("policy", policies), ("controller", sorted(DIRECTORY.glob("*.json")))):
        schema = json.loads((ROOT / f"docs/{name}.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        paths = [path for path in paths if not path.name.endswith((".certificate.json", ".policy.json"))]
        documents = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        faults = [error.message for document in documents for error in validator.iter_errors(document)]
        broken = [dict(document, unknown=1) for document in documents] + [dict(document, format=0) for document in documents]
        if any(validator.is_valid(document) for document in broken):
            faults.append("it takes what is broken")
        yield f"{name}.schema.json, {len(documents)} files", [(not faults and bool(documents), 0.0, 0, "; ".join(faults) or "jsonschema")]


def main():
    began = time.monotonic()
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    fixture = pathlib.Path(FPSRL).with_name("hostile_controllers")
    ways, broken = hostile_exports.run(fixture, FPSRL, DIRECTORY / "hostile", LONG)
    if LONG:
        return 1 if broken else 0
    jobs, runs = [], []
    for name in ("mountain-car", "cart-pole-balancing", "cart-pole-swing-up"):
        run = DIRECTORY / f"run-{name}"
        result = fpsrl("generate", name, "--samples", 1000, "--quiet", "--out", run, "--force")
        assert result.returncode == 0, result.stderr
        policy = json.loads((ROOT / f"xtask/policies/{name}.json").read_text(encoding="utf-8"))
        (run / "policy.json").write_text(json.dumps(policy), encoding="utf-8")
        runs.append((run, name, policy, False, False, "clamp"))
    shapes = [(1, 1, 1, 1, False), (2, 4, 2, 3, True), (3, 6, 1, 5, True), (4, 20, 5, 12, False), (5, 20, 5, 12, True)]
    responses = ["fallback", "clamp", "flag", "hold", "clamp"]
    for (seed, states, actions, rules, extreme), response in zip(shapes, responses):
        policy, scales = random_policy(seed, states, actions, rules, extreme)
        run = DIRECTORY / f"run-random-{seed}"
        if not run.exists():
            run_directory(run, policy, scales, seed)
        runs.append((run, f"random-{seed}", policy, states * actions * rules > 200, extreme, response))
    around = list(circles())
    sums = adding_up()
    failed = 0
    worst = {"double": 0.0, "single": 0.0}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for run, name, policy, *how in runs:
            for case in cases(run, name, *how):
                jobs.append((f"{case[1].name}", pool.submit(export, *case)))
        for run, name, policy, reaches_around, response in around:
            for case in cases(run, name, False, False, response):
                if (case[2][1] in STRAIGHT) != reaches_around:
                    jobs.append((f"{case[1].name}", pool.submit(export, *case)))
        # A policy alone has no data to guard with.
        for case in cases(sums[0] / "policy.json", sums[1], False, False, "off"):
            if "hold" not in case[2]:
                jobs.append((f"{case[1].name}", pool.submit(export, *case)))
        results = [(label, job.result()) for label, job in jobs]
    for run, name, policy, *_ in [*runs, *around, sums]:
        results += round_trips(run, name, policy)
    for run, name, _, reaches_around, _ in around:
        results += refusals(run, name) if reaches_around else []
    results += schemas([run / "policy.json" for run, *_ in [*runs, *around, sums]])
    for label, lines in results:
        for passed, largest, compared, tool in lines:
            failed += not passed
            precision = "single" if ".single." in label else "double"
            worst[precision] = max(worst[precision], 0.0 if largest != largest else largest)
            print(f"{'ok  ' if passed else 'FAIL'} {label:<34} {largest:8.1e}  {compared:>6} states  {tool.splitlines()[0] if tool else ''}")
    failed += broken
    print(f"{len(results)} exports and {ways} ways of hostile numbers, {failed} failed; largest differences {worst}; {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


sys.exit(main())
