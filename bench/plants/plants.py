#!/usr/bin/env python3
"""Simulated plants: logs of what runs them today, PIs tuned on them, exported controllers in closed loop with them."""
import argparse
import json
import sys

from batch import Batch
from column import Column
from episodes import drive
from exported import Binding, Mismatch, load
from hall import Hall
from level import Level
from logs import write_log
from motor import Motor
from pi import PI
from tune import tune

PLANTS = {kind.name: kind for kind in (Hall, Motor, Level, Column, Batch)}


def command_log(arguments, kind):
    if arguments.out is None:
        write_log(kind, arguments.seed, arguments.rows, sys.stdout, arguments.shuffle_actions)
    else:
        with open(arguments.out, "w", encoding="utf-8", newline="") as out:
            write_log(kind, arguments.seed, arguments.rows, out, arguments.shuffle_actions)


def command_pi(arguments, kind):
    gains = tune(kind, arguments.seed, arguments.tuning_episodes, arguments.steps)
    result = {
        "plant": kind.name,
        "loops": [
            {"pv": loop["pv"], "sp": loop["sp"], "mv": loop["mv"], "gain": gain, "reset": reset}
            for loop, (gain, reset) in zip(kind.today_loops, gains)
        ],
        # After the seeds of the tuning.
        "test": drive(kind, pi_of(gains), 2000000 + 1000 * arguments.seed, arguments.episodes, arguments.steps),
    }
    if arguments.save is not None:
        with open(arguments.save, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=2)
    show(result)


def command_drive(arguments, kind):
    result = {
        "plant": kind.name,
        "seed": arguments.seed,
        "episodes": arguments.episodes,
        "steps": arguments.steps,
    }
    contenders = {}
    if arguments.controller is not None:
        contenders["controller"] = Binding(load(arguments.controller), kind)
    if arguments.pi is not None:
        with open(arguments.pi, encoding="utf-8") as file:
            saved = json.load(file)
        if saved["plant"] != kind.name:
            raise Mismatch("%s is a PI of the plant `%s`" % (arguments.pi, saved["plant"]))
        contenders["pi"] = pi_of([(loop["gain"], loop["reset"]) for loop in saved["loops"]])
    contenders["today"] = lambda plant, today: today
    for name, controllers in contenders.items():
        result[name] = drive(kind, controllers, arguments.seed, arguments.episodes, arguments.steps)
    show(result)


def pi_of(gains):
    return lambda plant, today: PI(plant, gains)


def show(result):
    print(json.dumps(readable(result), indent=2))


def readable(value):
    """Figures with as many digits as they are worth."""
    if isinstance(value, dict):
        return {name: readable(part) for name, part in value.items()}
    if isinstance(value, list):
        return [readable(part) for part in value]
    return float("%.6g" % value) if isinstance(value, float) else value


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, help, run, seed):
        added = commands.add_parser(name, help=help, description=help)
        added.add_argument("plant", choices=sorted(PLANTS))
        added.add_argument("--seed", type=int, default=seed)
        added.set_defaults(run=run)
        return added

    log = command("log", "write a log of the plant as it is run today", command_log, 1)
    log.add_argument("--rows", type=positive, default=10000)
    log.add_argument("--out", metavar="FILE", help="without it, the log is printed")
    log.add_argument("--shuffle-actions", action="store_true", help="permute the actuators: nothing to learn from")

    pi = command("pi", "tune PIs on the true plant", command_pi, 1)
    pi.add_argument("--save", metavar="FILE")
    pi.add_argument("--tuning-episodes", type=positive, default=20)
    pi.add_argument("--episodes", type=positive, default=100, help="of the test")
    pi.add_argument("--steps", type=positive, default=200, help="in an episode")

    drives = command("drive", "drive the true plant with an exported controller", command_drive, 1000)
    drives.add_argument("--controller", metavar="FILE.py", help="an export to Python; without it, only the others run")
    drives.add_argument("--pi", metavar="FILE", help="PIs that `pi --save` wrote, to compare with")
    drives.add_argument("--episodes", type=positive, default=100)
    drives.add_argument("--steps", type=positive, default=200, help="in an episode")

    arguments = parser.parse_args(words)
    try:
        arguments.run(arguments, PLANTS[arguments.plant])
    except (Mismatch, OSError) as fault:
        sys.exit("plants: %s" % fault)


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


if __name__ == "__main__":
    main()
