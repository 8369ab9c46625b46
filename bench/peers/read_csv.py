"""Reads a file of 1 million rows and 6 columns with Polars, pyarrow and fpsrl, in turns; prints the seconds of each."""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import polars
import pyarrow
import pyarrow.csv

parser = argparse.ArgumentParser()
parser.add_argument("--reader", required=True, help="the program that reads a file with fpsrl and prints the seconds")
parser.add_argument("--rows", type=int, default=1_000_000)
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--out", type=pathlib.Path)
options = parser.parse_args()

random = numpy.random.default_rng(1)
NAMES = ["time", "level", "flow", "temperature", "valve", "reward"]


def write(path, digits):
    columns = [numpy.arange(options.rows) * 0.5] + [random.normal(size=options.rows) for _ in NAMES[1:]]
    table = polars.DataFrame(dict(zip(NAMES, columns)))
    table.write_csv(path, float_precision=digits)


def seconds(work):
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


results = {}
with tempfile.TemporaryDirectory() as directory:
    for case, digits in [("6 digits", 6), ("all digits", None)]:
        path = pathlib.Path(directory) / "log.csv"
        write(path, digits)
        times = {"polars": [], "pyarrow": [], "fpsrl": []}
        for _ in range(options.rounds):
            taken, frame = seconds(lambda: polars.read_csv(path))
            times["polars"].append(taken)
            taken, _ = seconds(lambda: pyarrow.csv.read_csv(path))
            times["pyarrow"].append(taken)
            # The program measures its own reading, as the two libraries are measured without Python's start.
            output = json.loads(subprocess.run([options.reader, path], check=True, capture_output=True).stdout)
            times["fpsrl"].append(output["seconds"])
            assert output["rows"] == frame.height
            for name, total in output["sums"].items():
                assert abs(total - frame[name].sum()) <= 1e-9 * frame[name].abs().sum(), name
        best = {name: min(values) for name, values in times.items()}
        results[case] = {
            "bytes": path.stat().st_size,
            "median": {name: statistics.median(values) for name, values in times.items()},
            "best": best,
            "ratio_to_faster_peer": best["fpsrl"] / min(best["polars"], best["pyarrow"]),
        }
print(json.dumps({"rows": options.rows, "columns": len(NAMES), "rounds": options.rounds, "cases": results}, indent=2))
if options.out:
    options.out.write_text(json.dumps({"rows": options.rows, "columns": len(NAMES), "cases": results}, indent=2) + "\n")
