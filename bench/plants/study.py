#!/usr/bin/env python3
"""From a log to a controller on the true plant, for many logs: is it better than a tuned PI, is the promise kept, is the
verdict right?

    python3 bench/plants/study.py --fpsrl target/release/fpsrl --plants hall motor --seeds 1 2 3 --out study.jsonl

Each run is `init`, `run`, `export --to python`, and 100 episodes on the simulator with inputs that the log did not have. One
line of JSON a run is appended to the file, so that a study can be stopped and goes on; `--table` prints what there is."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

from episodes import advance, drive
from exported import Binding, load, plain
from plants import PLANTS, pi_of
from today import Today
from tune import tune

# What a user says besides: roles that names cannot tell.
SAID = {"column": ["--action", "R", "--action", "S"]}


def run(fpsrl, name, seed, options, directory, shuffle, edits):
    kind = PLANTS[name]
    log = os.path.join(directory, name + ".csv")
    words = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "plants.py")]
    subprocess.run(words + ["log", name, "--seed", str(seed), "--out", log] + (["--shuffle-actions"] if shuffle else []), check=True)
    problem, out, controller = (os.path.join(directory, part) for part in ("problem.toml", "run", "controller.py"))
    call([fpsrl, "init", log, "--out", problem] + SAID.get(name, []))
    with open(problem, encoding="utf-8") as file:
        text = with_limits(file.read(), kind.actuators)
    for before, after in edits:
        text = text.replace(before, after)
    with open(problem, "w", encoding="utf-8") as file:
        file.write(text)
    call([fpsrl, "run", problem, "--out", out] + options)
    call([fpsrl, "export", out, "--to", "python", "--out", controller, "--force"])
    binding = Binding(load(controller), kind)
    settings = read_problem(os.path.join(out, "problem.toml"))
    with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
        summary = json.load(file)
    result = {"plant": name, "seed": seed, "options": options, "shuffled": shuffle}
    result["controller"] = drive(kind, binding, 1000, 100, 200)
    result["today"] = drive(kind, lambda plant, today: today, 1000, 100, 200)
    result["pi"] = drive(kind, pi_of(gains_of(kind)), 1000, 100, 200)
    # A promise is made from rows that have a past; before that, today's controller is at work.
    past = summary["history"] or 0
    true, today = (returns(kind, settings, who, past) for who in (binding, lambda plant, today: today))
    promise, gain = summary["promise"], summary["gain"]
    result.update(
        true_return=true, today_return=today, promise=promise["return"], interval=promise["interval"],
        judge=promise["rescored"], gain=gain["gain"], gain_interval=gain["interval"], gain_starts=gain["starts"],
        verdict=summary["verdict"]["word"], reason=summary["verdict"]["reason"], outside=promise["outside"],
        seconds=sum(summary["seconds"].values()), history=summary["history"], rules=summary["rules"])
    return result


def with_limits(text, actuators):
    """The draft with the actuators' own limits, one edited line each: a log only shows what was applied."""
    lines, action = [], None
    for line in text.split("\n"):
        words = line.split("#")[0].split("=")
        if words[0].strip() == "name":
            action = words[1].strip().strip('"')
        if words[0].strip() == "limits" and action in {plain(name): name for name in actuators}:
            low, high = {plain(name): limits for name, limits in actuators.items()}[action]
            line = "limits = [%g, %g]" % (low, high)
        lines.append(line)
    return "\n".join(lines)


def read_problem(path):
    """A problem file as `fpsrl run` writes it, a setting a line. (Python has a reader of TOML since 3.11 only.)"""
    settings = {}
    part = settings
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line.startswith("[["):
                part = {}
                settings.setdefault(line.strip("[]"), []).append(part)
            elif line.startswith("["):
                part = settings.setdefault(line.strip("[]"), {})
            elif line and not line.startswith("#"):
                name, value = line.split("=", 1)
                part[name.strip()] = json.JSONDecoder().raw_decode(value.strip())[0]
    return settings


GAINS = {}


def gains_of(kind):
    if kind.name not in GAINS:
        GAINS[kind.name] = tune(kind, 1, 20, 200)
    return GAINS[kind.name]


def call(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit("%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))


def returns(kind, settings, controllers, past, episodes=100):
    """The mean return and its standard error on the true plant, as the problem defines it."""
    horizon, last_weight = settings["horizon"], settings["discount_q"]
    discount = last_weight ** (1.0 / (horizon - 1))
    known = settings.get("state", []) + settings.get("input", []) + settings["action"]
    names = {variable.get("column", variable["name"]): variable["name"] for variable in known}
    price = {variable["name"]: variable.get("move_cost", 0.0) for variable in settings["action"]}
    reward = compile(settings["world"]["reward"], "reward", "eval")
    sums = []
    for number in range(5000, 5000 + episodes):
        plant = kind("episode-%d" % number)
        today = Today(plant)
        history, last, total = [], dict(kind.idle), 0.0
        for _ in range(max(kind.warm_up, past)):
            advance(plant, today, history, last)
        controller = controllers(plant, today)
        for step in range(horizon):
            before = dict(last)
            advance(plant, controller, history, last)
            row = {names[column]: value for column, value in plant.row().items()
                   if column in names and not isinstance(value, str)}
            moved = sum(price[names[one]] * abs(last[one] - before[one]) for one in last)
            total += discount ** step * (eval(reward, {"abs": abs, "max": max, "min": min}, row) - moved)
            if plant.done:
                break
        sums.append(total)
    mean = sum(sums) / episodes
    spread = math.sqrt(sum((one - mean) ** 2 for one in sums) / (episodes - 1))
    return [mean, spread / math.sqrt(episodes)]


def table(lines):
    """A row a run, and what they come to."""
    print("| plant | seed | error / PI's | movement / PI's | promise | true return | kept | verdict | true gain | s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    kept, right, count, promises = 0, 0, 0, 0
    for one in lines:
        ratio = lambda what: ", ".join(
            "%.2f" % (one["controller"][what][key] / max(one["pi"][what][key], 1e-9)) for key in one["controller"][what])
        mean, error = one["true_return"]
        low, high = one["interval"]
        inside = low - 1.96 * error <= mean <= high + 1.96 * error
        better = mean > one["today_return"][0]
        agrees = (one["verdict"] != "no-go") == better
        # Of a controller that nobody is to use, no promise counts.
        promised = one["verdict"] != "no-go"
        kept, right, count, promises = kept + (inside and promised), right + agrees, count + 1, promises + promised
        print("| %s%s | %d | %s | %s | %.4g (%.4g to %.4g) | %.4g | %s | %s%s | %.4g | %.0f |" % (
            one["plant"], " shuffled" if one["shuffled"] else "", one["seed"], ratio("error"), ratio("movement"),
            one["promise"], low, high, mean, "yes" if inside else "NO" if promised else "no", one["verdict"], "" if agrees else " WRONG",
            mean - one["today_return"][0], one["seconds"]))
    print("\npromise kept in %d of %d, verdict right in %d of %d" % (kept, promises, right, count))
    return kept == promises and right == count


def is_controlled(one):
    """Whether a run's controller is about as good as a PI that was tuned on the true plant; one from a useless log need not be."""
    ratios = lambda what: [one["controller"][what][key] / one["pi"][what][key] for key in one["pi"][what]]
    return one["shuffled"] or (max(ratios("error")) < 1.2 and max(ratios("movement")) < 2.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fpsrl", default="target/release/fpsrl")
    parser.add_argument("--plants", nargs="+", choices=sorted(PLANTS), default=sorted(PLANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--shuffle-actions", action="store_true")
    parser.add_argument("--options", default="", help="further words for `fpsrl run`, such as \"--caution 0\"")
    parser.add_argument("--replace", nargs=2, action="append", default=[], metavar=("BEFORE", "AFTER"))
    parser.add_argument("--out", default="study.jsonl")
    parser.add_argument("--table", action="store_true", help="print what there is, run nothing")
    parser.add_argument("--check", action="store_true", help="fail if something is not as it should be")
    arguments = parser.parse_args()
    known = []
    if os.path.exists(arguments.out):
        with open(arguments.out, encoding="utf-8") as file:
            known = [json.loads(line) for line in file if line.strip()]
    if not arguments.table:
        options = arguments.options.split()
        for seed in arguments.seeds:
            for name in arguments.plants:
                key = (name, seed, options, arguments.shuffle_actions)
                if key in [(one["plant"], one["seed"], one["options"], one["shuffled"]) for one in known]:
                    continue
                with tempfile.TemporaryDirectory() as directory:
                    one = run(os.path.abspath(arguments.fpsrl), name, seed, options, directory,
                              arguments.shuffle_actions, arguments.replace)
                known.append(one)
                with open(arguments.out, "a", encoding="utf-8") as file:
                    file.write(json.dumps(one) + "\n")
                print(name, seed, "done", flush=True)
    right = table(known)
    if arguments.check and not (right and all(is_controlled(one) for one in known)):
        sys.exit("study: a promise, a verdict or a controller is not as it should be")


if __name__ == "__main__":
    main()
