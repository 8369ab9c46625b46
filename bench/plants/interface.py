"""What every plant has, and the signals that come to a plant from outside.

A plant is driven like this:

    plant = Hall("episode-1000")
    while not plant.done:
        row = plant.row()                  # what the sensors say, by column
        plant.step({"TIC101.OUT": 40.0})   # the actuators until the next row

Everything random in a plant comes from streams that are drawn from once a step, whatever the controller does. So two
controllers on the same seed see the same weather, loads, set-points and noise.
"""
import random


class Plant:
    """One copy of a plant. The attributes below are those of a kind of plant; each file of a plant sets them."""

    name = ""
    columns = ()        # of the log, in order
    separator = ","
    clock = None        # the column of `stamp`
    decimals = {}       # resolution of each number: sensors, set-points and actuators have it, not only the log
    tracked = {}        # output: its set-point
    actuators = {}      # actuator: its limits
    idle = {}           # actuator: where it stands before the first row
    modes = {}          # column of words: its words
    missing = 0.0       # share of cells that the log has lost
    missing_words = ("",)
    warm_up = 50        # steps of today's controller before a step counts
    settle = 50         # steps after a change of set-point from which an error counts as an offset
    error_scale = {}    # an error that is worth as much as ...
    move_scale = {}     # ... ten times this movement in a step: the unit of costs
    today_loops = ()    # the loops of the controller that made the log
    today_hand = {}     # how the operator moves actuators by hand: see `today.py`

    def __init__(self, seed, number=1):
        """`number` counts the episodes of a log; plants without episodes have no use for it."""
        self.seed = seed
        self.number = number
        self.elapsed = 0       # steps since the beginning
        self.done = False

    def stream(self, name):
        """A source of random numbers of its own for each purpose, so that none depends on how much others draw."""
        return random.Random("%s/%s/%s" % (self.name, self.seed, name))

    def rounded(self, row):
        """A row as the sensors resolve it."""
        return {
            column: round(value, self.decimals[column]) if column in self.decimals else value
            for column, value in row.items()
        }

    def row(self):
        """What is measured now, by column, without the actuators: they follow from it."""
        raise NotImplementedError

    def outputs(self):
        """The tracked outputs without noise: what controllers are judged by."""
        raise NotImplementedError

    def step(self, actions):
        """Goes on to the next row with these actuators, which are within their limits."""
        raise NotImplementedError

    def stamp(self):
        """The time of this row as the log writes it."""
        return str(self.elapsed)


class Steps:
    """A value that rests for a while and then becomes another one of a list."""

    def __init__(self, stream, values, shortest, longest):
        self.stream, self.values, self.shortest, self.longest = stream, values, shortest, longest
        self.value = stream.choice(values)
        # As if the first rest had begun before: else all episodes would change at the same steps.
        self.left = stream.randint(1, longest)

    def advance(self):
        self.left -= 1
        if self.left == 0:
            self.value = self.stream.choice([value for value in self.values if value != self.value])
            self.left = self.stream.randint(self.shortest, self.longest)
        return self.value


class Walk:
    """A random walk that is drawn back to zero: deviation `deviation`, memory of `memory` steps."""

    def __init__(self, stream, deviation, memory):
        self.stream = stream
        self.keep = 1.0 - 1.0 / memory
        self.push = deviation * (1.0 - self.keep * self.keep) ** 0.5
        self.value = stream.gauss(0.0, deviation)

    def advance(self):
        self.value = self.keep * self.value + self.stream.gauss(0.0, self.push)
        return self.value


class DeadTime:
    """A pipe: what goes in comes out `steps` steps later."""

    def __init__(self, steps, value):
        self.values = [value] * steps

    def advance(self, value):
        self.values.append(value)
        return self.values.pop(0)


def clamp(value, low, high):
    return low if value < low else high if value > high else value
