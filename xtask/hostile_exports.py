"""Gives exported controllers hostile numbers, in every language, and compares what they do with the reference.

`bench/fixtures/hostile_controllers.rs` makes the controllers (several inputs and actions, angles, modes, errors and running sums, rate
limits, every guard, hostile names) and the numbers: NaN, infinities, the smallest and the largest, the neighbours of every threshold,
whatever a caller may write into the memory. Many controllers share a compilation. Whatever goes in, every action must be finite and
within its limits, and the flag and the action must be the reference's.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time
import unicodedata

import numpy as np

import structured_text

STRICT = "-std=c99 -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror"
CHECKED = "undefined,float-divide-by-zero,float-cast-overflow"
# Name, command, and whether arithmetic is that of the reference to the bit (no fused products, no wider registers); None: it is not
# that of IEEE 754, and only what is promised for it is looked at.
C_TOOLS = [
    ("gcc -O0, address and undefined sanitizers", f"gcc {STRICT} -O0 -fsanitize=address,{CHECKED} -fno-sanitize-recover=all", True),
    ("gcc -O2", f"gcc {STRICT} -O2", True),
    ("clang -O1, undefined sanitizer", f"clang {STRICT} -O1 -fsanitize={CHECKED} -fsanitize-trap={CHECKED}", True),
    ("clang -O3, this machine's instructions", "clang -std=gnu99 -O3 -march=native", False),
    ("gcc -O2, 32 bits", "gcc -std=c99 -m32 -O2", False),
]
LONG_C_TOOLS = [
    ("gcc -O3, this machine's instructions", "gcc -std=gnu99 -O3 -march=native", False),
    ("gcc -Os", f"gcc {STRICT} -Os", True),
    ("gcc -O3, sanitizers", f"gcc {STRICT} -O3 -fsanitize=address,{CHECKED} -fno-sanitize-recover=all", True),
    ("gcc -O2, 32 bits, sanitizer", f"gcc {STRICT} -m32 -O2 -fsanitize={CHECKED} -fsanitize-undefined-trap-on-error", False),
    ("gcc -O2, 32 bits, SSE", "gcc -std=c99 -m32 -O2 -msse2 -mfpmath=sse", True),
    ("clang -O2, integer sanitizer", f"clang {STRICT} -O2 -fsanitize={CHECKED},integer,implicit-conversion -fsanitize-trap=all", True),
    ("gcc -O2, rounding and traps respected", "gcc -std=c11 -O2 -frounding-math -fsignaling-nans", True),
    ("gcc -O3, algebra allowed", "gcc -std=c99 -O3 -funsafe-math-optimizations -freciprocal-math", None),
    ("clang -O3, algebra allowed", "clang -std=c99 -O3 -fassociative-math -fno-signed-zeros -fno-trapping-math -freciprocal-math", None),
]
# Flags with which numbers that are none cannot be told: the code must refuse them.
FAST = ["gcc -O2 -ffast-math", "gcc -Ofast", "gcc -O2 -ffinite-math-only", "clang -O2 -ffast-math", "clang -Ofast"]
TOLERANCE = {False: 1e-6, True: 1e-4}


class Case:
    """A controller with its numbers."""

    def __init__(self, directory, about):
        self.__dict__.update(about)
        self.directory = directory
        read = lambda ending: np.fromfile(directory / f"{self.stem}.{ending}")
        self.steps_of_all = self.lanes * self.steps
        self.given = read("in").reshape(self.steps_of_all, 1 + self.actions + self.sums + self.inputs)
        self.expected = read("expected").reshape(self.steps_of_all, self.actions + 2)

    def parts(self):
        """What goes in, by lanes and steps: events, last actions, sums, inputs."""
        lanes = self.given.reshape(self.lanes, self.steps, -1)
        ends = np.cumsum([1, self.actions, self.sums, self.inputs])
        return lanes[..., 0], lanes[..., ends[0]:ends[1]], lanes[..., ends[1]:ends[2]], lanes[..., ends[2]:ends[3]]

    def compare(self, got, exact, rows=None, functions=False):
        """What is wrong with what a program gave, the largest difference as a share, and how many steps are equal to the bit, of how many
        that can be compared. `exact`: it rounds as the reference does; with None, nothing can be compared; `functions`: its functions are the reference's too.
        """
        expected, given = self.expected, self.given
        got = got.reshape(-1, self.actions + 1)
        if rows is not None:
            expected, given = expected[rows], given[rows]
        if got.shape[0] != expected.shape[0]:
            return f"{got.shape[0]} of {expected.shape[0]} steps came back", 0.0, 0, 0
        low, high = (np.array([limits[side] for limits in self.limits]) for side in (0, 1))
        if self.single:
            low, high = (end.astype(np.float32).astype(np.float64) for end in (low, high))
        actions = got[:, :-1]
        if exact is None:
            # Such programs take subnormal numbers for 0.
            least = np.finfo(np.float32 if self.single else np.float64).smallest_normal
            low, high = low - least, high + least
        beyond = ~((actions >= low) & (actions <= high))
        if beyond.any():
            row, action = np.argwhere(beyond)[0]
            return f"action {action} is {actions[row, action]!r} after {given[row].tolist()}", 0.0, 0, 0
        compared = expected[:, -1] >= {True: 1.0, False: 2.0, None: 3.0}[exact]
        wrong = compared & (got[:, -1] != expected[:, -2])
        if wrong.any():
            return f"the flag is wrong after {given[np.argmax(wrong)].tolist()}", 0.0, 0, 0
        count = int(compared.sum())
        same = int((actions[compared] == expected[compared, :-2]).all(axis=1).sum())
        if self.wild and not (exact and functions and not self.single):
            # Rounding decides which rule is the nearest.
            return None, 0.0, same, count
        scale = np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
        shares = np.abs(actions - expected[:, :-2]) / scale
        largest = float(shares[compared].max(initial=0.0))
        if largest > TOLERANCE[self.single]:
            row = int(np.argmax(np.where(compared, shares.max(axis=1), 0.0)))
            return f"{largest:.1e} of its scale off: {actions[row]} for {expected[row, :-2]} after {given[row].tolist()}", largest, same, count
        return None, largest, same, count

    def uses_library(self, ending):
        """Whether exponential and hyperbolic tangent are those of the C library, as the reference's are."""
        return ending == "c" and self.files["c"]["target"]["mathematics"] == "library"

    def names(self, ending):
        return self.files[ending]["names"]


class Report:
    """What came of a tool over all of its cases."""

    def __init__(self):
        self.failed, self.lines, self.given = 0, 0, 0

    def add(self, tool, results):
        """`results`: for each case, itself, what [`Case.compare`] says, its steps and its hostile numbers."""
        wrong = [(case, what) for case, what, *_ in results if what]
        steps, hostile = sum(r[5] for r in results), sum(r[6] for r in results)
        worst = {single: max((r[2] for r in results if r[0].single == single), default=None) for single in (False, True)}
        shown = ", ".join(f"{name} {worst[key]:.1e}" for key, name in ((False, "double"), (True, "single")) if worst[key] is not None)
        same = sum(r[3] for r in results if not r[0].single)
        doubles = sum(r[4] for r in results if not r[0].single)
        shown = shown if sum(r[4] for r in results) else "nothing to compare"
        told = f"; {100 * same / doubles:.1f} % of double to the bit" if doubles else ""
        self.lines += 1
        self.given += hostile
        self.failed += bool(wrong) or not results
        print(f"{'FAIL' if wrong or not results else 'ok  '} hostile: {tool:<44} {len(results):>3} controllers {steps:>9,} steps "
              f"{hostile:>10,} hostile numbers; off by {shown}{told}")
        for case, what in wrong[:3]:
            print(f"     {case.stem}: {what}")

    def fail(self, tool, what):
        self.lines += 1
        self.failed += 1
        print(f"FAIL hostile: {tool}: {what[:3000]}")


def run_programs(report, tool, cases, ending, command, directory, exact):
    """Runs a program that reads NAME.in of each case and writes NAME.out."""
    for case in cases:
        (directory / f"{case.stem}.{ending}.out").unlink(missing_ok=True)
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0 or "runtime error" in done.stderr:
        report.fail(tool, f"exit code {done.returncode}: {done.stderr}")
        return
    results = []
    for case in cases:
        got = np.fromfile(directory / f"{case.stem}.{ending}.out")
        figures = case.compare(got, exact, functions=case.uses_library(ending))
        results.append((case, *figures, case.steps_of_all, case.hostile))
    report.add(tool, results)


def c_main(cases):
    """A program of all controllers: for each a loop over its rows."""
    parts = ["#include <stdio.h>", *(f'#include "{case.stem}.h"' for case in cases)]
    calls = []
    for number, case in enumerate(cases):
        names = case.names("c")
        name = names["controller"]
        body = [f"static void run_{number}(void)", "{", f'    FILE *in = fopen("{case.stem}.in", "rb");',
                f'    FILE *out = fopen("{case.stem}.c.out", "wb");', f"    double row[{1 + case.actions + case.sums + case.inputs}];",
                f"    double result[{case.actions + 1}];", f"    {name}_state state;", f"    {name}_action action;"]
        if case.remembers:
            body += [f"    {name}_memory memory;", f"    {name}_begin(&memory);"]
        body += ["    while (fread(row, sizeof row, 1, in) == 1) {"]
        if case.remembers:
            body += ["        if (row[0] == 1.0 || row[0] == 2.0) {", f"            {name}_begin(&memory);", "        }",
                     "        if (row[0] >= 2.0) {"]
            body += [f"            memory.last.{one} = ({name}_real)row[{1 + k}];" for k, one in enumerate(names["actions"])]
            body += ["        }"]
        if case.sums:
            body += ["        if (row[0] == 3.0) {", "            memory.begun = true;"]
            body += [f"            memory.sums[{k}] = ({name}_real)row[{1 + case.actions + k}];" for k in range(case.sums)]
            body += ["        }"]
        first = 1 + case.actions + case.sums
        body += [f"        state.{one} = ({name}_real)row[{first + k}];" for k, one in enumerate(names["states"])]
        memory = "&memory, " if case.remembers else ""
        body += [f"        result[{case.actions}] = {name}_step({memory}&state, &action) ? 1.0 : 0.0;"]
        body += [f"        result[{k}] = (double)action.{one};" for k, one in enumerate(names["actions"])]
        body += ["        fwrite(result, sizeof result, 1, out);", "    }", "    fclose(in);", "    fclose(out);", "}"]
        parts += body
        calls.append(f"    run_{number}();")
    return "\n".join([*parts, "int main(void)", "{", *calls, "    return 0;", "}", ""])


def run_c(report, cases, directory, tools):
    (directory / "all.c").write_text(c_main(cases), encoding="utf-8")
    sources = [f"{case.stem}.c" for case in cases]
    for tool, flags, exact in tools:
        words = flags.split()
        done = subprocess.run([*words, "all.c", *sources, "-o", "all", "-lm"], cwd=directory, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            report.fail(f"C, {tool}", done.stderr)
            continue
        run_programs(report, f"C, {tool}", cases, "c", [directory / "all"], directory, exact)
    refused = 0
    for flags in FAST:
        # One of either precision.
        for case in cases[:2]:
            done = subprocess.run([*flags.split(), "-c", f"{case.stem}.c", "-o", "fast.o"], cwd=directory, capture_output=True, text=True, check=False)
            refused += done.returncode != 0 and "takes away" in done.stderr
    report.lines += 1
    report.failed += refused != 2 * len(FAST)
    print(f"{'ok  ' if refused == 2 * len(FAST) else 'FAIL'} hostile: C, fast-math is refused by {refused} of {2 * len(FAST)}")


def rust_main(cases):
    parts = ["#![forbid(unsafe_code)]"]
    calls = []
    for number, case in enumerate(cases):
        names = case.names("rs")
        first = 1 + case.actions + case.sums
        real = "f32" if case.single else "f64"
        state = ", ".join(f"{one}: row[{first + k}] as {real}" for k, one in enumerate(names["states"]))
        parts += [f'#[path = "{case.stem}.rs"]', f"mod c{number};", f"fn run_{number}() {{",
                  f'    let bytes = std::fs::read("{case.stem}.in").unwrap();',
                  "    let numbers: Vec<f64> = bytes.chunks_exact(8).map(|one| f64::from_le_bytes(one.try_into().unwrap())).collect();",
                  "    let mut out = Vec::new();", f"    let mut controller = c{number}::Controller::default();",
                  f"    for row in numbers.chunks_exact({first + case.inputs}) {{"]
        if case.remembers:
            parts += ["        if row[0] == 1.0 || row[0] == 2.0 { controller.reset(); }", "        if row[0] >= 2.0 {"]
            parts += [f"            controller.last.{one} = row[{1 + k}] as {real};" for k, one in enumerate(names["actions"])]
            parts += ["        }"]
        if case.sums:
            parts += ["        if row[0] == 3.0 {", "            controller.begun = true;"]
            parts += [f"            controller.sums[{k}] = row[{1 + case.actions + k}] as {real};" for k in range(case.sums)]
            parts += ["        }"]
        parts += [f"        let (action, outside) = controller.step(&c{number}::State {{ {state} }});"]
        parts += [f"        out.extend((action.{one} as f64).to_le_bytes());" for one in names["actions"]]
        parts += ["        out.extend(f64::from(u8::from(outside)).to_le_bytes());", "    }",
                  f'    std::fs::write("{case.stem}.rs.out", out).unwrap();', "}"]
        calls.append(f"    run_{number}();")
    return "\n".join([*parts, "fn main() {", *calls, "}", ""])


def run_rust(report, cases, directory):
    (directory / "all.rs").write_text(rust_main(cases), encoding="utf-8")
    library = "".join(f'#[path = "{case.stem}.rs"]\npub mod c{number};\n' for number, case in enumerate(cases))
    (directory / "library.rs").write_text(f"#![no_std]\n#![forbid(unsafe_code)]\n{library}", encoding="utf-8")
    warnings = ["--edition", "2021", "-D", "warnings"]
    done = subprocess.run(["rustc", *warnings, "--crate-type", "lib", "--emit", "metadata", "library.rs"],
                          cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        report.fail("Rust, as a library without std", done.stderr)
    # An overflow of whole numbers is a panic.
    checked = ["-C", "opt-level=0", "-C", "debug-assertions=on", "-C", "overflow-checks=on", "-C", "codegen-units=4"]
    command = ["rustc", *warnings, "-A", "dead_code", "-A", "clippy::all", *checked, "all.rs", "-o", "all-rust"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        report.fail("Rust, overflow checked", done.stderr)
        return
    run_programs(report, "Rust, overflow checked", cases, "rs", [directory / "all-rust"], directory, True)


JAVASCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";
for (const { stem, names, actions, sums, inputs, remembers } of JSON.parse(readFileSync("cases.json", "utf8"))) {
  const { Controller } = await import(new URL(`./${stem}.mjs`, import.meta.url));
  const bytes = readFileSync(`${stem}.in`);
  const numbers = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const width = 1 + actions + sums + inputs;
  const out = new Float64Array((numbers.length / width) * (actions + 1));
  const controller = new Controller();
  for (let row = 0, to = 0; row < numbers.length; row += width) {
    const event = numbers[row];
    if (remembers && (event === 1 || event === 2)) controller.reset();
    if (remembers && event >= 2) names.actions.forEach((name, k) => { controller.last[name] = numbers[row + 1 + k]; });
    if (sums > 0 && event === 3) {
      controller.begun = true;
      for (let k = 0; k < sums; k += 1) controller.sums[k] = numbers[row + 1 + actions + k];
    }
    const first = row + 1 + actions + sums;
    const result = controller.step(Object.fromEntries(names.states.map((name, k) => [name, numbers[first + k]])));
    for (const name of names.actions) { out[to] = result[name]; to += 1; }
    out[to] = result.outside ? 1 : 0;
    to += 1;
  }
  writeFileSync(`${stem}.mjs.out`, new Uint8Array(out.buffer));
  // What is no number at all is unusable.
  for (const word of [undefined, null, "word", {}, [], true, 10n ** 400n, () => 1]) {
    const result = new Controller().step(Object.fromEntries(names.states.map((name) => [name, word])));
    if (!names.actions.every((name) => Number.isFinite(result[name]))) throw new Error(`${stem}: ${String(word)}`);
  }
  if (!new Controller().step({}).outside) throw new Error(`${stem}: nothing`);
}
"""


def run_javascript(report, cases, directory):
    about = [{key: getattr(case, key) for key in ("stem", "actions", "sums", "inputs", "remembers")} | {"names": case.names("mjs")}
             for case in cases]
    (directory / "cases.json").write_text(json.dumps(about), encoding="utf-8")
    (directory / "all.mjs").write_text(JAVASCRIPT, encoding="utf-8")
    run_programs(report, "JavaScript", cases, "mjs", ["node", "all.mjs"], directory, True)


def drive_python(case, module):
    """What a module gives, a row a step."""
    controller = module.Controller()
    out, first = [], 1 + case.actions + case.sums
    for row in case.given.tolist():
        event = row[0]
        if case.remembers and event in (1.0, 2.0):
            controller.reset()
        if case.remembers and event >= 2.0:
            controller.last = tuple(row[1:1 + case.actions])
        if case.sums and event == 3.0:
            controller.begun, controller.sums = True, row[1 + case.actions:first]
        actions, outside = controller.step(*row[first:])
        out.extend([*actions, float(outside)])
    # What is no number at all is unusable.
    for word in (None, "word", [], {}, 10**400, 1j, object()):
        actions, outside = module.Controller().step(*[word] * case.inputs)
        if not outside or not np.isfinite(actions).all():
            raise ValueError(f"{word!r} gives {actions}, {outside}")
    return np.array(out)


def run_python(report, cases, directory):
    results = []
    for case in cases:
        specification = importlib.util.spec_from_file_location(case.stem, directory / f"{case.stem}.py")
        module = importlib.util.module_from_spec(specification)
        try:
            specification.loader.exec_module(module)
            figures = case.compare(drive_python(case, module), True, functions=True)
        except Exception as error:  # a controller raises nothing
            figures = (repr(error), 0.0, 0, 0)
        results.append((case, *figures, case.steps_of_all, case.hostile))
    report.add(f"Python {sys.version_info.major}.{sys.version_info.minor}", results)


def run_onnx(report, cases, directory):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    results = []
    for case in cases:
        session = onnxruntime.InferenceSession(directory / f"{case.stem}.onnx", options, providers=["CPUExecutionProvider"])
        kind = np.float32 if case.single else np.float64
        events, lasts, sums, states = case.parts()
        # A sum that is NaN has not begun: lanes that write it into the memory are for the others.
        lanes = np.flatnonzero(np.arange(case.lanes) % 8 != 7)
        with np.errstate(over="ignore"):
            lasts, sums, states = (part[lanes].astype(kind) for part in (lasts, sums, states))
        events = events[lanes]
        out = np.empty((len(lanes), case.steps, case.actions + 1))
        last, kept = lasts[:, 0], np.full((len(lanes), case.sums), np.nan, dtype=kind)
        for step in range(case.steps):
            event = events[:, step, None]
            last = np.where((event >= 1.0), lasts[:, step], last)
            kept = np.where((event == 1.0) | (event == 2.0), np.nan, np.where(event == 3.0, sums[:, step], kept)).astype(kind)
            inputs = {"state": states[:, step]}
            inputs |= {"last": last} if case.remembers else {}
            inputs |= {"sums": kept} if case.sums else {}
            last, outside, *more = session.run(["action", "outside"] + (["next_sums"] if case.sums else []), inputs)
            kept = more[0] if more else kept
            out[:, step, :-1], out[:, step, -1] = last, outside
        rows = (lanes[:, None] * case.steps + np.arange(case.steps)).ravel()
        results.append((case, *case.compare(out, True, rows), len(rows), case.hostile * len(lanes) // case.lanes))
    report.add(f"onnxruntime {onnxruntime.__version__}", results)


def run_structured_text(report, cases, directory, ending):
    results = []
    for case in cases:
        source = (directory / f"{case.stem}.{ending}").read_text(encoding="utf-8")
        if ending == "scl":
            source = structured_text.of_siemens(source)
        names = case.names(ending)
        events, lasts, _, states = case.parts()
        # A block's sums cannot be written from outside.
        lanes = np.flatnonzero(np.arange(case.lanes) % 8 < 6)
        out = np.empty((len(lanes), case.steps, case.actions + 1))
        try:
            blocks = structured_text.blocks_of(source)
            instance = structured_text.Instance(blocks[names["controller"].upper()], len(lanes))
            everywhere = np.ones(len(lanes), dtype=bool)
            with np.errstate(all="ignore"):
                for step in range(case.steps):
                    for index, name in enumerate(names["states"]):
                        instance.values[name.upper()][:] = states[lanes, step, index]
                    if case.remembers:
                        instance.values["RESET"][:] = events[lanes, step] >= 1.0
                        for index, name in enumerate(names["actions"]):
                            instance.values[f"{name}_START".upper()][:] = lasts[lanes, step, index]
                    instance.call(everywhere)
                    for index, name in enumerate(names["actions"]):
                        out[:, step, index] = instance.values[name.upper()]
                    out[:, step, -1] = instance.values["OUTSIDE"]
        except structured_text.Refused as refused:
            results.append((case, str(refused), 0.0, 0, 0, 0, 0))
            continue
        rows = (lanes[:, None] * case.steps + np.arange(case.steps)).ravel()
        results.append((case, *case.compare(out, True, rows), len(rows), case.hostile * len(lanes) // case.lanes))
    dialect = "SCL" if ending == "scl" else "Structured Text"
    report.add(f"{dialect}, tree-sitter and NumPy", results)


def texts_of(policy):
    """Names and units of a policy."""
    return [text for part in policy["states"] + policy["actions"] for text in (part["name"], part["unit"])]


def conditions(policy):
    """A policy without its form, and without numbers of conditions that are none: a width of 1e18 or more."""
    for rule in (rule for action in policy["actions"] for rule in action["rules"]):
        absent = [width >= 1e18 for width in rule["width"]]
        rule["width"] = [1e18 if gone else width for gone, width in zip(absent, rule["width"])]
        rule["centre"] = [0.0 if gone else centre for gone, centre in zip(absent, rule["centre"])]
    return {key: value for key, value in policy.items() if key != "format"}


def run_rules(report, fpsrl, cases, directory):
    """Rules alone, whose numbers the other check compares: foreign readers must find the inputs and outputs that there are, whatever
    their names try to add, and our own reader the policy.
    """
    import fuzzylite

    wrong, read = [], 0
    with_rules = [case for case in cases if "fll" in case.files]
    for case in with_rules:
        names = case.names("fll")
        wanted = names["states"], names["actions"]
        engine = fuzzylite.FllImporter().from_file(directory / f"{case.stem}.fll")
        found = [v.name for v in engine.input_variables], [v.name for v in engine.output_variables]
        wrong += [] if found == wanted else [f"pyfuzzylite reads {found} in {case.stem}.fll"]
        command = ["fuzzylite", "-i", f"{case.stem}.fcl", "-if", "fcl", "-o", "read.fll", "-of", "fll"]
        said = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        engine = None if said.returncode or "error]" in said.stdout + said.stderr else fuzzylite.FllImporter().from_file(directory / "read.fll")
        found = engine and ([v.name for v in engine.input_variables], [v.name for v in engine.output_variables])
        wrong += [] if found == wanted else [f"fuzzylite reads {found} in {case.stem}.fcl: {said.stdout[:300]}"]
        policy = json.loads((directory / f"{case.stem}.json").read_text(encoding="utf-8"))["policy"]
        for ending in ("fll", "fcl", "fis", "json"):
            back = directory / f"{case.stem}.{ending}.policy"
            said = subprocess.run([fpsrl, "import", directory / f"{case.stem}.{ending}", "--out", back, "--quiet", "--force"],
                                  capture_output=True, text=True, check=False)
            # Who reads rules must be able to see their names.
            hidden = any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for name in texts_of(policy) for c in name)
            if hidden and said.returncode == 2 and "cannot be seen" in said.stderr:
                continue
            same = said.returncode == 0 and conditions(json.loads(back.read_text(encoding="utf-8"))) == conditions(policy)
            wrong += [] if same else [f"fpsrl import of {case.stem}.{ending}: {said.stderr[:300]}"]
        read += 6
    octave = "pkg load fuzzy-logic-toolkit; " + "".join(
        f"f = readfis('{case.stem}.fis'); printf('%d %d\\n', columns(f.input), columns(f.output)); " for case in with_rules)
    said = subprocess.run(["octave-cli", "--quiet", "--eval", octave], cwd=directory, capture_output=True, text=True, check=False)
    counts = [f"{len(case.names('fis')['states'])} {len(case.names('fis')['actions'])}" for case in with_rules]
    wrong += [] if said.stdout.split("\n")[:-1] == counts else [f"Octave reads {said.stdout} {said.stderr[:300]}, not {counts}"]
    if wrong or not with_rules:
        report.fail("rules with hostile names", "; ".join(wrong) or "there are none")
    else:
        report.lines += 1
        print(f"ok   hostile: rules with hostile names, by pyfuzzylite, fuzzylite, Octave and fpsrl import: {read + len(with_rules)} files read")


def run(fixture, fpsrl, directory, long):
    """Runs everything; returns how many checks there were, and how many failed."""
    began = time.process_time()
    directory = pathlib.Path(directory)
    controllers, lanes, steps = (60, 512, 40) if long else (12, 96, 24)
    seed = time.time_ns() % 2**31 if long else 1
    subprocess.run([fixture, directory, *map(str, (controllers, lanes, steps, seed))], check=True)
    meta = json.loads((directory / "meta.json").read_text(encoding="utf-8"))
    cases = [Case(directory, about) for about in meta["controllers"]]
    doubles = [case for case in cases if not case.single]
    report = Report()
    tools = C_TOOLS + (LONG_C_TOOLS if long else [])
    if os.uname().machine != "x86_64":
        tools = [tool for tool in tools if "-m32" not in tool[1]]
    run_c(report, cases, directory, tools)
    run_rust(report, cases, directory)
    run_javascript(report, doubles, directory)
    run_python(report, doubles, directory)
    run_onnx(report, cases, directory)
    run_structured_text(report, cases, directory, "st")
    run_structured_text(report, cases, directory, "scl")
    run_rules(report, fpsrl, doubles, directory)
    hostile = sum(case.hostile for case in cases)
    print(f"hostile: seed {seed}, {len(cases)} controllers, {sum(case.steps_of_all for case in cases):,} steps, {hostile:,} hostile "
          f"numbers, given in {report.given:,} places; {report.failed} failed; {time.process_time() - began:.0f} s of Python")
    return report.lines, report.failed


if __name__ == "__main__":
    sys.exit(1 if run(sys.argv[1], sys.argv[2], sys.argv[3], "--long" in sys.argv)[1] else 0)
