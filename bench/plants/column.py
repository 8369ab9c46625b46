"""Wood and Berry's distillation column: methanol and water, two outputs that pull at each other.

    XD = 12.8 e^-s  / (16.7 s + 1) R - 18.9 e^-3s / (21.0 s + 1) S + 3.8 e^-8.1s / (14.9 s + 1) F
    XB =  6.6 e^-7s / (10.9 s + 1) R - 19.4 e^-3s / (14.4 s + 1) S + 4.9 e^-3.4s / (13.2 s + 1) F

Time is in minutes. All values are deviations from the steady state: compositions of the top and the bottom in percent,
reflux R, steam S and feed F in lb/min. (R. K. Wood, M. W. Berry, Terminal composition control of a binary distillation
column, Chemical Engineering Science 28, 1973.)
"""
import math

from interface import Plant, Steps, Walk

# Output, input, gain, dead time in minutes, time constant in minutes.
TRANSFERS = (
    ("XD", "R", 12.8, 1.0, 16.7),
    ("XD", "S", -18.9, 3.0, 21.0),
    ("XD", "F", 3.8, 8.1, 14.9),
    ("XB", "R", 6.6, 7.0, 10.9),
    ("XB", "S", -19.4, 3.0, 14.4),
    ("XB", "F", 4.9, 3.4, 13.2),
)
NOISE = 0.02


class Transfer:
    """A lag of first order behind a dead time, exact for inputs that rest between rows (also for parts of a minute)."""

    def __init__(self, gain, dead_time, constant, value):
        whole, part = int(dead_time), dead_time % 1.0
        self.keep = math.exp(-1.0 / constant)
        late = math.exp(-(1.0 - part) / constant)
        # During the first part of the minute the input before still comes out of the pipe.
        self.before, self.now = gain * (late - self.keep), gain * (1.0 - late)
        self.inputs = [value] * (whole + 1)
        self.output = gain * value

    def advance(self, value):
        self.inputs.append(value)
        self.output = self.keep * self.output + self.before * self.inputs[0] + self.now * self.inputs[1]
        del self.inputs[0]


class Column(Plant):
    name = "column"
    columns = ("time", "XD", "XD_SP", "XB", "XB_SP", "R", "S", "F")
    clock = "time"
    decimals = {"XD": 3, "XD_SP": 2, "XB": 3, "XB_SP": 2, "R": 4, "S": 4, "F": 3}
    tracked = {"XD": "XD_SP", "XB": "XB_SP"}
    actuators = {"R": (-0.5, 0.5), "S": (-0.4, 0.4)}
    idle = {"R": 0.0, "S": 0.0}
    settle = 50
    error_scale = {"XD": 0.2, "XB": 0.2}
    move_scale = {"R": 0.01, "S": 0.01}
    # Each loop is tuned as if the other were not there: together they swing.
    today_loops = (
        {"pv": "XD", "sp": "XD_SP", "mv": "R", "gain": 0.55, "reset": 4.0},
        {"pv": "XB", "sp": "XB_SP", "mv": "S", "gain": -0.12, "reset": 9.2},
    )
    today_hand = {"chance": 0.015, "longest": 10, "size": 0.08}

    def __init__(self, seed, number=1):
        super().__init__(seed, number)
        self.set_points = {
            "XD_SP": Steps(self.stream("XD_SP"), (-0.8, -0.4, 0.0, 0.4, 0.8), 80, 200),
            "XB_SP": Steps(self.stream("XB_SP"), (-0.4, 0.0, 0.4, 0.8), 80, 200),
        }
        self.feed_step = Steps(self.stream("feed"), (-0.2, 0.0, 0.2), 60, 200)
        self.feed_sway = Walk(self.stream("sway"), 0.03, 20)
        self.feed = self.feed_step.value + self.feed_sway.value
        self.transfers = [
            (output, source, Transfer(gain, dead, constant, self.feed if source == "F" else 0.0))
            for output, source, gain, dead, constant in TRANSFERS
        ]
        self.noise = self.stream("noise")
        self.listen()

    def listen(self):
        self.measured_noise = {"XD": self.noise.gauss(0.0, NOISE), "XB": self.noise.gauss(0.0, NOISE)}

    def outputs(self):
        sums = {"XD": 0.0, "XB": 0.0}
        for output, _, transfer in self.transfers:
            sums[output] += transfer.output
        return sums

    def row(self):
        row = {output: value + self.measured_noise[output] for output, value in self.outputs().items()}
        row.update((name, steps.value) for name, steps in self.set_points.items())
        row["F"] = self.feed
        return self.rounded(row)

    def step(self, actions):
        inputs = {"R": actions["R"], "S": actions["S"], "F": self.feed}
        for _, source, transfer in self.transfers:
            transfer.advance(inputs[source])
        self.elapsed += 1
        for steps in self.set_points.values():
            steps.advance()
        self.feed = self.feed_step.advance() + self.feed_sway.advance()
        self.listen()
