"""A speed drive: a DC motor whose load changes in steps that nobody measures. Neither is its current.

    L di/dt = voltage - R i - k speed
    J dspeed/dt = k i - b speed - load
"""
from interface import Plant, Steps

RESISTANCE = 1.0        # ohm
INDUCTANCE = 0.02       # H
CONSTANT = 0.3          # V s/rad and N m/A, k
INERTIA = 0.018         # kg m2
FRICTION = 0.003        # N m s/rad
INTERVAL = 0.02         # s between rows
PARTS = 5               # Euler steps between rows


class Motor(Plant):
    name = "motor"
    columns = ("t", "speed", "ref", "voltage")
    clock = "t"
    decimals = {"speed": 2, "ref": 2, "voltage": 2}
    tracked = {"speed": "ref"}
    actuators = {"voltage": (0.0, 60.0)}
    idle = {"voltage": 24.0}
    settle = 40
    error_scale = {"speed": 3.0}
    move_scale = {"voltage": 0.5}
    # Too weak: the error of a load step lasts for a second.
    today_loops = ({"pv": "speed", "sp": "ref", "mv": "voltage", "gain": 0.3, "reset": 12.0},)
    today_hand = {"chance": 0.02, "longest": 10, "size": 6.0}

    def __init__(self, seed, number=1):
        super().__init__(seed, number)
        self.wanted = Steps(self.stream("ref"), (30.0, 50.0, 70.0, 90.0, 110.0), 60, 180)
        self.ramps = self.stream("ramps")
        self.slope = None           # of the ramp under way; none: the reference jumps
        self.ref = self.wanted.value
        self.load = Steps(self.stream("load"), (0.0, 0.6, 1.2, 1.8, 2.4), 60, 200)
        self.noise = self.stream("noise")
        self.measured_noise = self.noise.gauss(0.0, 0.3)
        self.speed = self.ref
        self.current = (self.load.value + FRICTION * self.speed) / CONSTANT

    def row(self):
        return self.rounded({"speed": self.speed + self.measured_noise, "ref": self.ref})

    def outputs(self):
        return {"speed": self.speed}

    def step(self, actions):
        part = INTERVAL / PARTS
        for _ in range(PARTS):
            torque = CONSTANT * self.current - FRICTION * self.speed - self.load.value
            rise = actions["voltage"] - RESISTANCE * self.current - CONSTANT * self.speed
            self.current += part * rise / INDUCTANCE
            self.speed += part * torque / INERTIA
        self.elapsed += 1
        before = self.wanted.value
        self.load.advance()
        self.measured_noise = self.noise.gauss(0.0, 0.3)
        if self.wanted.advance() != before:
            self.slope = self.ramps.choice((None, None, 0.8, 1.5))
        distance = self.wanted.value - self.ref
        if self.slope is None or abs(distance) <= self.slope:
            self.ref = self.wanted.value
        else:
            self.ref += self.slope if distance > 0.0 else -self.slope

    def stamp(self):
        return "%.2f" % (self.elapsed * INTERVAL)
