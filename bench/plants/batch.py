"""A batch reactor that is heated along a ramp, with a reaction that gives off heat, until the conversion is reached.

    dJacket/dt = (COLD + SPAN heating/100 - Jacket) / JACKET_LAG
    dT/dt = (Jacket - T) / LAG + RISE dX/dt
    dX/dt = RATE exp(-ENERGY (1/T - 1/353 K)) (1 - X)

Neither the jacket's temperature nor how active the charge is are measured.
"""
import math

from interface import Plant

COLD, SPAN = 15.0, 125.0    # degC, K: the jacket's medium at 0 and from 0 to 100 %
JACKET_LAG = 3.0            # min
LAG = 10.0                  # min
RISE = 40.0                 # K, if all of the charge reacted at once
RATE = 0.045                # 1/min at 80 degC
ENERGY = 7000.0             # K
ENOUGH = 0.95               # conversion at which a batch is done
LONGEST = 200               # min, after which it is over in any case
PARTS = 4                   # Euler steps a minute


class Batch(Plant):
    name = "batch"
    columns = ("batch", "minute", "T", "target", "conversion", "heating", "done")
    decimals = {"T": 2, "target": 2, "conversion": 4, "heating": 1}
    tracked = {"T": "target"}
    actuators = {"heating": (0.0, 100.0)}
    idle = {"heating": 0.0}
    warm_up = 0             # a batch begins at its beginning
    settle = 20
    error_scale = {"T": 1.0}
    move_scale = {"heating": 1.0}
    # Too weak: late on the ramp, beyond the target after it.
    today_loops = ({"pv": "T", "sp": "target", "mv": "heating", "gain": 3.0, "reset": 12.0},)
    today_hand = {"chance": 0.02, "longest": 6, "size": 15.0}

    def __init__(self, seed, number=1):
        super().__init__(seed, number)
        charge = self.stream("charge")
        self.temperature = self.jacket = self.start = charge.uniform(18.0, 30.0)
        self.hold = charge.choice((70.0, 75.0, 80.0, 85.0))
        self.slope = charge.choice((1.0, 1.25, 1.5))     # K/min
        self.activity = charge.uniform(0.85, 1.15)
        self.conversion = 0.0
        self.noise = self.stream("noise")
        self.listen()

    def listen(self):
        self.temperature_noise = self.noise.gauss(0.0, 0.1)
        self.conversion_noise = self.noise.gauss(0.0, 0.002)

    def row(self):
        return self.rounded({
            "batch": self.number,
            "minute": self.elapsed,
            "T": self.temperature + self.temperature_noise,
            "target": min(self.start + self.slope * self.elapsed, self.hold),
            "conversion": min(max(self.conversion + self.conversion_noise, 0.0), 1.0),
            "done": int(self.done),
        })

    def outputs(self):
        return {"T": self.temperature}

    def step(self, actions):
        medium = COLD + SPAN * actions["heating"] / 100.0
        for _ in range(PARTS):
            speed = RATE * self.activity * math.exp(-ENERGY * (1.0 / (self.temperature + 273.15) - 1.0 / 353.15))
            reacted = speed * (1.0 - self.conversion) / PARTS
            self.temperature += (self.jacket - self.temperature) / LAG / PARTS + RISE * reacted
            self.jacket += (medium - self.jacket) / JACKET_LAG / PARTS
            self.conversion += reacted
        self.elapsed += 1
        self.done = self.conversion >= ENOUGH or self.elapsed >= LONGEST
        self.listen()
