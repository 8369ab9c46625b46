"""What runs the plant today, and made the log: badly tuned PIs, and an operator who moves actuators by hand.

Without the operator's moves a log of closed loops would say little about what an actuator does by itself.
"""
from interface import clamp
from pi import PI


class Today:
    """`today_hand` of the plant: the chance in a step that the operator takes an actuator off its loop, the most steps
    that he leaves it there, and how far he moves it at most."""

    def __init__(self, plant):
        self.plant = plant
        self.loops = PI(plant, [(loop["gain"], loop["reset"]) for loop in plant.today_loops])
        self.operator = plant.stream("operator")
        self.by_hand = {}       # actuator: value, steps left

    def act(self, row, history, last):
        actions = self.loops.act(row, history, last)
        hand = self.plant.today_hand
        for loop in self.loops.loops:
            begins = self.operator.random() < hand["chance"]
            length = self.operator.randint(2, hand["longest"])
            move = self.operator.uniform(-hand["size"], hand["size"])
            value, left = self.by_hand.pop(loop.mv, (0.0, 0))
            if left == 0 and begins:
                value, left = clamp(actions[loop.mv] + move, loop.low, loop.high), length
            if left > 0:
                actions[loop.mv] = value
                self.by_hand[loop.mv] = value, left - 1
                loop.take_over(row, value)
            # What is applied is what the log can say.
            actions[loop.mv] = round(actions[loop.mv], self.plant.decimals[loop.mv])
        return actions
