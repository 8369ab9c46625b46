"""Logs recorded from Gymnasium and written by Minari, pyarrow, Polars and NumPy go through the command as a user's would.

usage: own_logs.py FPSRL DIRECTORY [readers|mountain-car|cart-pole ...]
"""

import csv
import json
import math
import os
import pathlib
import re
import subprocess
import sys

fpsrl = sys.argv[1]
directory = pathlib.Path(sys.argv[2])
parts = sys.argv[3:] or ["readers", "mountain-car", "cart-pole"]
directory.mkdir(parents=True, exist_ok=True)
os.environ["MINARI_DATASETS_PATH"] = str(directory / "minari")

import gymnasium
import numpy


def command(*arguments):
    result = subprocess.run([fpsrl, *map(str, arguments)], cwd=directory, capture_output=True, text=True)
    assert result.returncode == 0, f"fpsrl {arguments}: {result.stderr}"
    return result.stdout


def controller(path):
    """The rules of a policy.json in plain Python, by the paper's equations."""
    policy = json.loads(path.read_text())

    def act(state):
        actions = []
        for base in policy["actions"]:
            exponents = [
                -0.5 * sum(((c - s) / w) ** 2 for c, w, s in zip(rule["centre"], rule["width"], state))
                for rule in base["rules"]
            ]
            weights = [math.exp(exponent - max(exponents)) for exponent in exponents]
            mean = sum(w * rule["output"] for w, rule in zip(weights, base["rules"])) / sum(weights)
            low, high = base["limits"]
            actions.append((low + high) / 2 + (high - low) / 2 * math.tanh(base["alpha"] * mean))
        return actions

    return act


class Held:
    """Random actions, each held for a random number of steps."""

    def __init__(self, seed, limit, longest):
        self.random, self.limit, self.longest, self.left = numpy.random.default_rng(seed), limit, longest, 0

    def __call__(self):
        if self.left == 0:
            self.action = float(self.random.uniform(-self.limit, self.limit))
            self.left = int(self.random.integers(1, self.longest + 1))
        self.left -= 1
        return self.action


def record(step, reset, path, header, separator, policy, episodes):
    """A time series: a row for each state with the action taken in it, and a last row with the final state alone."""
    rows, reached = [], 0
    for episode in range(episodes):
        state, over, count = reset(episode), False, 0
        while not over:
            action = policy()
            following, reward, terminated, truncated = step(action)
            rows.append([episode, count, *map(repr, state), repr(action), repr(reward), int(terminated)])
            state, over, count = following, terminated or truncated, count + 1
        reached += terminated
        rows.append([episode, count, *map(repr, state), "", "", ""])
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(header)
        writer.writerows(rows)
    return reached


def edit(path, changes):
    """Edits lines of a problem file, as a user would; at most two."""
    assert len(changes) <= 2
    text = path.read_text()
    for beginning, line in changes:
        text, count = re.subn(f"^{re.escape(beginning)}.*$", line, text, flags=re.MULTILINE)
        assert count == 1, beginning
    path.write_text(text)


def mountain_car():
    environment = gymnasium.make("MountainCarContinuous-v0")

    def reset(seed):
        return [float(value) for value in environment.reset(seed=seed)[0]]

    def step(action):
        state, reward, terminated, truncated, _ = environment.step(numpy.array([action], dtype=numpy.float32))
        return [float(value) for value in state], float(reward), bool(terminated), bool(truncated)

    header = ["episode", "step", "position", "velocity", "force", "reward", "terminated"]
    reached = record(step, lambda e: reset(1000 + e), directory / "car.csv", header, ",", Held(1, 1.0, 30), 20)
    assert reached >= 15, reached
    command("init", "car.csv", "--out", "car.toml", "--force", "--quiet")
    command("run", "car.toml", "--out", "car", "--effort", "quick", "--force", "--quiet")
    act, goals = controller(directory / "car/policy.json"), 0
    for seed in range(100):
        state, over = reset(seed), False
        while not over:
            state, _, terminated, truncated = step(act(state)[0])
            over = terminated or truncated
        goals += terminated
    print(f"MountainCarContinuous-v0: {goals} of 100 episodes reach the goal")
    assert goals >= 95, goals


def cart_pole():
    environment = gymnasium.make("CartPole-v1")

    def reset(seed):
        return [float(value) for value in environment.reset(seed=seed)[0]]

    def step(force):
        # CartPole-v1 pushes with one force to either side; its size is set before each step.
        environment.unwrapped.force_mag = abs(force)
        state, reward, terminated, truncated, _ = environment.step(int(force > 0))
        return [float(value) for value in state], float(reward), bool(terminated), bool(truncated)

    header = ["episode", "t", "x[m]", "x_dot[m/s]", "theta[rad]", "theta_dot[rad/s]", "force[N]", "reward", "terminated"]
    record(step, lambda e: reset(1000 + e), directory / "pole.tsv", header, "\t", Held(2, 10.0, 4), 300)
    command("init", "pole.tsv", "--out", "pole.toml", "--force", "--quiet")
    edit(directory / "pole.toml", POLE_EDITS)
    command("run", "pole.toml", "--out", "pole", "--rules", 2, "--effort", "quick", "--force", "--quiet")
    act, balanced = controller(directory / "pole/policy.json"), 0
    for seed in range(100):
        state, over, steps = reset(seed), False, 0
        while not over:
            state, _, terminated, truncated = step(act(state)[0])
            over, steps = terminated or truncated, steps + 1
        balanced += steps == 500
    print(f"CartPole-v1 with a continuous force: {balanced} of 100 episodes balanced for 500 steps")
    assert balanced >= 95, balanced


# The log ends where the pole falls; it never shows that the track ends too. That, and that the middle is better, is what
# a user knows.
POLE_EDITS = [
    ("# reward =", 'reward = "2.4 - abs(x)"'),
    ("# terminal =", 'terminal = "abs(x) > 2.4 || abs(theta) > 0.2095"'),
]


def readers():
    import minari
    import polars
    import pyarrow
    import pyarrow.parquet

    environment = minari.DataCollector(gymnasium.make("MountainCarContinuous-v0", max_episode_steps=150))
    policy, rows = Held(3, 1.0, 30), []
    for episode in range(6):
        state, over = environment.reset(seed=episode)[0], False
        while not over:
            action = numpy.array([policy()], dtype=numpy.float32)
            following, reward, terminated, truncated, _ = environment.step(action)
            rows.append([episode, *map(float, state), float(action[0]), *map(float, following), float(reward), int(terminated)])
            state, over = following, terminated or truncated
    if "fpsrl/car-v0" in minari.list_local_datasets():
        minari.delete_dataset("fpsrl/car-v0")
    environment.create_dataset(dataset_id="fpsrl/car-v0", algorithm_name="random")
    states = ["observations_0", "observations_1"]
    names = ["episode", *states, "actions_0", *(f"next_{name}" for name in states), "rewards", "terminations"]
    columns = {name: list(values) for name, values in zip(names, zip(*rows))}
    frame = polars.DataFrame(columns)
    frame.write_csv(directory / "plain.csv")
    frame.write_csv(directory / "comma.txt", separator=";", decimal_comma=True)
    frame.write_parquet(directory / "polars.parquet")
    pyarrow.parquet.write_table(pyarrow.table(columns), directory / "arrow.parquet")
    numpy.savez_compressed(directory / "arrays.npz", **{name: numpy.array(values) for name, values in columns.items()})
    files = ["plain.csv", "comma.txt", "polars.parquet", "arrow.parquet", "arrays.npz", "minari/fpsrl/car-v0/data/main_data.hdf5"]
    logs = {}
    for index, file in enumerate(files):
        command("init", file, "--out", f"{index}.toml", "--force", "--quiet")
        command("generate", f"{index}.toml", "--out", f"read{index}", "--force", "--quiet")
        logs[file] = (directory / f"read{index}/transitions.csv").read_bytes()
    for file, log in logs.items():
        assert log == logs["plain.csv"], f"{file} gives other transitions than plain.csv"
    with open(directory / "read0/transitions.csv", newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert len(read) == len(rows)
    for row, expected in zip(read, rows):
        found = [float(row[name]) for name in ["observations_0", "observations_1", "actions_0", "next_observations_0"]]
        assert found == expected[1:5], row
    print(f"{len(rows)} transitions are the same from {', '.join(files)}")


for part in parts:
    {"readers": readers, "mountain-car": mountain_car, "cart-pole": cart_pole}[part]()
