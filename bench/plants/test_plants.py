"""python3 bench/plants/test_plants.py"""
import csv
import io
import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from types import SimpleNamespace

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from column import Column
from episodes import drive
from exported import Binding, Mismatch, find_action, find_input
from hall import Hall
from level import DEAD_TIME, Level
from logs import write_log
from pi import PI, Loop
from plants import PLANTS, main
from tune import nelder_mead, tune


def log(kind, seed=1, rows=300, **options):
    out = io.StringIO()
    write_log(kind, seed, rows, out, **options)
    return out.getvalue()


def table(kind, text):
    return list(csv.DictReader(io.StringIO(text), delimiter=kind.separator))


def run(*words):
    out = io.StringIO()
    with redirect_stdout(out):
        main(list(words))
    return out.getvalue()


class Logs(unittest.TestCase):
    def test_a_log_depends_on_its_seed_and_on_nothing_else(self):
        for kind in PLANTS.values():
            with self.subTest(kind.name):
                self.assertEqual(log(kind), log(kind))
                self.assertNotEqual(log(kind), log(kind, seed=2))

    def test_logs_have_their_columns_and_rows(self):
        headers = {
            "hall": "Time;TIC101.PV;TIC101.SP;TIC101.OUT;TI102.PV;Mode",
            "motor": "t,speed,ref,voltage",
            "level": "timestamp,LIC7.PV,LIC7.SP,LIC7.MV,FI8.PV",
            "column": "time,XD,XD_SP,XB,XB_SP,R,S,F",
            "batch": "batch,minute,T,target,conversion,heating,done",
        }
        for kind in PLANTS.values():
            with self.subTest(kind.name):
                lines = log(kind).splitlines()
                self.assertEqual(lines[0], headers[kind.name])
                self.assertEqual(len(lines), 301)

    def test_actuators_move_and_stay_within_their_limits(self):
        for kind in PLANTS.values():
            rows = table(kind, log(kind, rows=2000))
            for actuator, (low, high) in kind.actuators.items():
                with self.subTest(kind.name, actuator=actuator):
                    values = [float(row[actuator]) for row in rows if row[actuator] not in kind.missing_words]
                    self.assertTrue(all(low <= value <= high for value in values))
                    self.assertGreater(len(set(values)), 50)

    def test_shuffled_logs_differ_in_the_actuators_alone(self):
        for kind in PLANTS.values():
            plain, shuffled = table(kind, log(kind)), table(kind, log(kind, shuffle_actions=True))
            for column in kind.columns:
                with self.subTest(kind.name, column=column):
                    before, after = [row[column] for row in plain], [row[column] for row in shuffled]
                    if column in kind.actuators:
                        self.assertNotEqual(before, after)
                        self.assertEqual(sorted(before), sorted(after))
                    else:
                        self.assertEqual(before, after)

    def test_the_hall_loses_cells_and_has_both_modes(self):
        rows = table(Hall, log(Hall, rows=4000))
        lost = [value for row in rows for value in row.values() if value in Hall.missing_words]
        self.assertEqual(set(lost), {"", "Bad"})
        self.assertLess(len(lost), 60)
        self.assertEqual({row["Mode"] for row in rows}, {"COMFORT", "ECO"})

    def test_a_batch_ends_with_one_row_that_is_done(self):
        rows = table(PLANTS["batch"], log(PLANTS["batch"], rows=1000))
        for row, after in zip(rows, rows[1:]):
            self.assertEqual(row["done"] == "1", row["batch"] != after["batch"])


class Physics(unittest.TestCase):
    def test_two_controllers_see_the_same_set_points_loads_and_noise(self):
        for kind in PLANTS.values():
            with self.subTest(kind.name):
                one, other = kind("a"), kind("a")
                for _ in range(40):
                    one.step({actuator: low for actuator, (low, _) in kind.actuators.items()})
                    other.step({actuator: high for actuator, (_, high) in kind.actuators.items()})
                one, other = one.row(), other.row()
                same = set(one) - set(kind.tracked) - {"conversion", "done"}
                self.assertEqual({key: one[key] for key in same}, {key: other[key] for key in same})
                self.assertTrue(all(one[output] != other[output] for output in kind.tracked))

    def test_the_column_has_the_gains_and_dead_times_of_wood_and_berry(self):
        for actuator, output, gain, dead_time in (
            ("R", "XD", 12.8, 1), ("R", "XB", 6.6, 7), ("S", "XD", -18.9, 3), ("S", "XB", -19.4, 3),
        ):
            # The difference of two columns on the same seed is the answer to the step alone.
            with self.subTest(actuator + " to " + output):
                still, moved = Column("a"), Column("a")
                answer = []
                for _ in range(300):
                    rest = {"R": 0.0, "S": 0.0}
                    still.step(rest)
                    moved.step(dict(rest, **{actuator: 0.1}))
                    answer.append(moved.outputs()[output] - still.outputs()[output])
                self.assertEqual(sum(abs(value) < 1e-12 for value in answer), dead_time)
                self.assertAlmostEqual(answer[-1], 0.1 * gain, places=4)

    def test_the_tank_answers_after_its_dead_time(self):
        still, moved = Level("a"), Level("a")
        answer = []
        for _ in range(20):
            still.step({"LIC7.MV": 50.0})
            moved.step({"LIC7.MV": 60.0})
            answer.append(moved.level - still.level)
        self.assertEqual(sum(value == 0.0 for value in answer), DEAD_TIME)


class Controllers(unittest.TestCase):
    def test_a_tuned_pi_is_far_better_than_today(self):
        for kind in PLANTS.values():
            with self.subTest(kind.name):
                gains = tune(kind, 1, episodes=6, evaluations=40)
                pi = drive(kind, lambda plant, today: PI(plant, gains), 1000, 12, 200)
                today = drive(kind, lambda plant, today: today, 1000, 12, 200)
                for output in kind.tracked:
                    self.assertLess(1.5 * pi["error"][output], today["error"][output])

    def test_a_loop_does_not_wind_up(self):
        loop = Loop(Level, "LIC7.PV", "LIC7.SP", "LIC7.MV", 1.0, 10.0)
        loop.take_over({"LIC7.PV": 50.0, "LIC7.SP": 50.0}, 90.0)
        for _ in range(100):
            value = loop.act({"LIC7.PV": 20.0, "LIC7.SP": 50.0})
        self.assertEqual(value, 100.0)
        self.assertLess(loop.act({"LIC7.PV": 60.0, "LIC7.SP": 50.0}), 100.0)

    def test_the_search_finds_a_minimum(self):
        found = nelder_mead(lambda p: (p[0] - 1.0) ** 2 + 10.0 * (p[1] - p[0]) ** 2, [4.0, -3.0], 0.7, 120)
        self.assertAlmostEqual(found[0], 1.0, places=3)
        self.assertAlmostEqual(found[1], 1.0, places=3)


def module(controller, **names):
    return SimpleNamespace(Controller=controller, **names)


class Names(unittest.TestCase):
    def test_inputs_are_found_by_name_and_lag(self):
        columns = ("TIC101.PV", "TIC101.OUT", "Mode", "flow_2", "flow", "match")
        for name, found in (
            ("TIC101_PV", ("TIC101.PV", 0)),
            ("tic101_pv_3", ("TIC101.PV", 3)),
            ("TIC101_OUT_1", ("TIC101.OUT", 1)),
            ("flow_2", ("flow_2", 0)),
            ("flow_1", ("flow", 1)),
            ("flow_2_1", ("flow_2", 1)),
            ("match_value", ("match", 0)),
            ("level", None),
        ):
            with self.subTest(name):
                self.assertEqual(find_input(name, columns), found)

    def test_actions_are_values_or_changes(self):
        self.assertEqual(find_action("TIC101_OUT", Hall.actuators), ("TIC101.OUT", False))
        self.assertEqual(find_action("TIC101_OUT_change", Hall.actuators), ("TIC101.OUT", True))
        self.assertRaises(Mismatch, find_action, "valve", Hall.actuators)

    def test_a_controller_sees_present_and_past_values(self):
        seen = []

        class Controller:
            def step(self, TIC101_PV, TIC101_SP, TIC101_PV_1, TIC101_PV_9, TIC101_OUT_1, TIC101_OUT_2, Mode):
                seen.append((TIC101_PV, TIC101_SP, TIC101_PV_1, TIC101_PV_9, TIC101_OUT_1, TIC101_OUT_2, Mode))
                return (5.0,), True

        row = {"TIC101.PV": 20.0, "TIC101.SP": 21.0, "TI102.PV": 3.0, "Mode": "ECO"}
        history = [dict(row, **{"TIC101.PV": pv, "TIC101.OUT": out}) for pv, out in ((18.0, 30.0), (19.0, 40.0))]
        bound = Binding(module(Controller, ACTIONS=("TIC101_OUT_change",)), Hall)(None, None)
        self.assertEqual(bound.act(row, history, {"TIC101.OUT": 40.0}), {"TIC101.OUT": 45.0})
        self.assertEqual(bound.outside, 1)
        words = Binding(module(Controller, MODES={"Mode": ["ECO", "COMFORT"]}), Hall)(None, None)
        self.assertEqual(words.act(row, [], {"TIC101.OUT": 45.0}), {"TIC101.OUT": 5.0})
        self.assertEqual(seen, [(20.0, 21.0, 19.0, 20.0, 40.0, 30.0, 1), (20.0, 21.0, 20.0, 20.0, 45.0, 45.0, 0)])

    def test_actions_come_in_the_order_of_the_module(self):
        results = ((1.0, 2.0), False), (1.0, 2.0, False), (1.0, 2.0), {"S": 1.0, "R": 2.0}
        for result in results:
            with self.subTest(result):
                controller = type("Controller", (), {"step": lambda self, XD: result})
                bound = Binding(module(controller, ACTIONS=("S", "R")), Column)(None, None)
                self.assertEqual(bound.act({"XD": 0.0}, [], {"R": 0.0, "S": 0.0}), {"S": 1.0, "R": 2.0})

    def test_a_controller_that_remembers_takes_over_without_a_jump(self):
        class Controller:
            def __init__(self):
                self.last = (0.0,)

            def step(self, speed):
                return self.last, False

        bound = Binding(module(Controller, ACTIONS=("voltage",)), PLANTS["motor"])(None, None)
        self.assertEqual(bound.act({"speed": 1.0}, [], {"voltage": 7.0}), {"voltage": 7.0})

    def test_what_does_not_match_is_refused(self):
        stranger = type("Controller", (), {"step": lambda self, pressure: 0.0})
        self.assertRaises(Mismatch, Binding, module(stranger), Hall)
        half = type("Controller", (), {"step": lambda self, XD: 0.0})
        self.assertRaises(Mismatch, Binding, module(half, ACTIONS=("R",)), Column)


class Command(unittest.TestCase):
    def test_an_exported_file_is_driven_beside_pi_and_today(self):
        with tempfile.TemporaryDirectory() as directory:
            controller, pi = os.path.join(directory, "controller.py"), os.path.join(directory, "pi.json")
            with open(controller, "w") as out:
                # A PI in terms of an export: its change from error and change of error.
                out.write(
                    'ACTIONS = ("voltage_change", )\n\n\nclass Controller:\n'
                    "    def step(self, speed, ref, speed_1, voltage_1):\n"
                    "        return (0.8 * (speed_1 - speed) + 0.15 * (ref - speed),), False\n"
                )
            words = ("motor", "--episodes", "4", "--steps", "120")
            tuned = json.loads(run("pi", *words, "--tuning-episodes", "2", "--save", pi))
            self.assertEqual(tuned["loops"][0]["mv"], "voltage")
            driven = ("drive",) + words + ("--controller", controller, "--pi", pi)
            text = run(*driven)
            self.assertEqual(text, run(*driven))
            result = json.loads(text)
            for name in ("controller", "pi", "today"):
                self.assertEqual(set(result[name]["error"]), {"speed"})
                self.assertEqual(set(result[name]["movement"]), {"voltage"})
            self.assertLess(result["controller"]["error"]["speed"], result["today"]["error"]["speed"])
            self.assertEqual(sorted(os.listdir(directory)), ["controller.py", "pi.json"])

    def test_a_log_is_written_to_a_file(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "log.csv")
            run("log", "hall", "--seed", "1", "--rows", "20", "--out", path)
            with open(path) as file:
                self.assertEqual(file.read(), log(Hall, rows=20))


if __name__ == "__main__":
    unittest.main()
