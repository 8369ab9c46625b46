"""PI controllers, as plants have them: each loop has an output, its set-point and an actuator."""
from interface import clamp


class Loop:
    """One PI. `gain` is in units of the actuator for a unit of error, `reset` in steps."""

    def __init__(self, plant, pv, sp, mv, gain, reset):
        self.pv, self.sp, self.mv, self.gain, self.reset = pv, sp, mv, gain, reset
        self.low, self.high = plant.actuators[mv]
        self.integral = None

    def error(self, row):
        return row[self.sp] - row[self.pv]

    def take_over(self, row, value):
        """Goes on from where the actuator stands, without a jump."""
        self.integral = value - self.gain * self.error(row)

    def act(self, row):
        error = self.error(row)
        wanted = self.gain * error + self.integral
        value = clamp(wanted, self.low, self.high)
        push = self.gain * error / self.reset
        # At a limit the integral only moves away from it: else it would wind up.
        if value == wanted or (push > 0.0) == (value == self.low):
            self.integral += push
        return value


class PI:
    """The loops of a plant. `gains` holds gain and reset of each loop, in the order of the plant's loops."""

    def __init__(self, plant, gains):
        self.loops = [
            Loop(plant, loop["pv"], loop["sp"], loop["mv"], gain, reset)
            for loop, (gain, reset) in zip(plant.today_loops, gains)
        ]

    def act(self, row, history, last):
        actions = {}
        for loop in self.loops:
            if loop.integral is None:
                loop.take_over(row, last[loop.mv])
            actions[loop.mv] = loop.act(row)
        return actions
