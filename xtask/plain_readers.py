"""Reads the files of a run directory with Python's own readers, as a user without fpsrl would."""

import csv
import hashlib
import json
import math
import pathlib
import sys

directory = pathlib.Path(sys.argv[1])

with open(directory / "transitions.csv", newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
states = ["theta", "theta_dot", "rho", "rho_dot"]
header = ["episode", "step", *states, "force", *[f"next_{name}" for name in states], "reward"]
assert list(rows[0]) == header, list(rows[0])
assert len(rows) == 1000, len(rows)
for row in rows:
    numbers = {name: float(value) for name, value in row.items()}
    assert all(math.isfinite(number) for number in numbers.values()), row
    assert -30 <= numbers["force"] <= 30 and numbers["reward"] in (0, -1), row
# Within an episode, each row begins where the one before it ended, to the last bit.
for before, after in zip(rows, rows[1:]):
    if before["episode"] == after["episode"]:
        assert all(before[f"next_{name}"] == after[name] for name in states), after

with open(directory / "summary.json", encoding="utf-8") as file:
    summary = json.load(file)
assert summary["format"] == 1 and summary["samples"] == 1000, summary
digest = hashlib.sha256((directory / "transitions.csv").read_bytes()).hexdigest()
assert summary["data_sha256"] == digest, summary

try:
    import tomllib
except ImportError:  # Python before 3.11 has no reader of TOML.
    print("plain readers: CSV and JSON agree (this Python has no tomllib)")
    sys.exit()
with open(directory / "problem.toml", "rb") as file:
    problem = tomllib.load(file)
assert problem["format"] == 1 and problem["plant"] == "cart-pole-swing-up", problem
assert [state["name"] for state in problem["state"]] == states, problem
assert problem["data"]["samples"] == 1000, problem
print("plain readers: CSV, JSON and TOML agree")
