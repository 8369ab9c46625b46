#!/usr/bin/env python3
"""Are promises kept and verdicts right on the benchmarks, whose truth is known? Logs of three sizes, several seeds each.

    python3 bench/promises.py --fpsrl target/release/fpsrl --out promises.jsonl

One line of JSON a run is appended to the file, so that it can be stopped and goes on; at the end a table of all that is there. A
promise is kept if the true return lies in its interval. A verdict is right if a gain is named where the policy is truly better than
the random actions that made the log, and none where it is not; by less than 2 % of what random actions earn, neither is wrong."""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

PROBLEMS = ["mountain-car", "cart-pole-balancing", "cart-pole-swing-up"]


def run(fpsrl, problem, samples, seed, effort):
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "run")
        words = [fpsrl, "run", problem, "--samples", str(samples), "--seed", str(seed), "--effort", effort, "--quiet", "--out", out]
        subprocess.run(words, check=True)
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
    promise, gain = summary["promise"], summary["gain"]
    return {
        "problem": problem, "samples": samples, "seed": seed, "true_return": summary["true_return"],
        "true_today": gain["true_today"], "promise": promise["return"], "interval": promise["interval"],
        "judged_by": promise["judged_by"], "gain": gain["gain"], "verdict": summary["verdict"]["word"],
    }


def table(lines):
    print("| problem | rows | logs | promises kept | width / gain, median | go, careful, no-go | verdicts wrong |")
    print("|---|---|---|---|---|---|---|")
    for problem in PROBLEMS:
        for samples in sorted({one["samples"] for one in lines}):
            own = [one for one in lines if (one["problem"], one["samples"]) == (problem, samples)]
            if not own:
                continue
            kept = sum(one["interval"][0] <= one["true_return"] <= one["interval"][1] for one in own)
            widths = [(one["interval"][1] - one["interval"][0]) / one["gain"] for one in own if one["gain"] > 0.0]
            words = [sum(one["verdict"] == word for one in own) for word in ("go", "careful", "no-go")]

            def wrong(one):
                gain = one["true_return"] - one["true_today"]
                return abs(gain) > 0.02 * abs(one["true_today"]) and (gain > 0.0) == (one["verdict"] == "no-go")

            width = "%.2f" % statistics.median(widths) if widths else "no gain"
            print("| %s | %d | %d | %d | %s | %d, %d, %d | %d |" % (
                problem, samples, len(own), kept, width, *words, sum(map(wrong, own))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fpsrl", default="target/release/fpsrl")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    parser.add_argument("--samples", nargs="+", type=int, default=[1000, 10000, 100000])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(1, 11)))
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--out", default="promises.jsonl")
    arguments = parser.parse_args()
    known = []
    if os.path.exists(arguments.out):
        with open(arguments.out, encoding="utf-8") as file:
            known = [json.loads(line) for line in file if line.strip()]
    done = {(one["problem"], one["samples"], one["seed"]) for one in known}
    for samples in arguments.samples:
        for problem in arguments.problems:
            for seed in arguments.seeds:
                if (problem, samples, seed) not in done:
                    known.append(run(arguments.fpsrl, problem, samples, seed, arguments.effort))
                    with open(arguments.out, "a", encoding="utf-8") as file:
                        file.write(json.dumps(known[-1]) + "\n")
    table(known)


if __name__ == "__main__":
    main()
