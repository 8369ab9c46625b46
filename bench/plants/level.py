"""A tank's level: an integrator behind a long pipe. What flows out is given, and measured.

    dlevel/dt = FILL (inflow - outflow)
    inflow follows VALVE x MV, DEAD_TIME steps late, with a lag of LAG steps
"""
import datetime

from interface import DeadTime, Plant, Steps, Walk, clamp

FILL = 0.1          # % of the level in a step for each m3/h too much
VALVE = 0.5         # m3/h for each % of the valve
DEAD_TIME = 5       # steps
LAG = 2.0           # steps
INTERVAL = 10       # s between rows


class Level(Plant):
    name = "level"
    columns = ("timestamp", "LIC7.PV", "LIC7.SP", "LIC7.MV", "FI8.PV")
    clock = "timestamp"
    decimals = {"LIC7.PV": 2, "LIC7.SP": 1, "LIC7.MV": 1, "FI8.PV": 2}
    tracked = {"LIC7.PV": "LIC7.SP"}
    actuators = {"LIC7.MV": (0.0, 100.0)}
    idle = {"LIC7.MV": 50.0}
    settle = 50
    error_scale = {"LIC7.PV": 2.0}
    move_scale = {"LIC7.MV": 1.0}
    # Too much integral for a tank, which is an integrator itself: level and valve swing for long.
    today_loops = ({"pv": "LIC7.PV", "sp": "LIC7.SP", "mv": "LIC7.MV", "gain": 0.9, "reset": 18.0},)
    today_hand = {"chance": 0.02, "longest": 6, "size": 15.0}

    def __init__(self, seed, number=1):
        super().__init__(seed, number)
        self.set_point = Steps(self.stream("set-point"), (40.0, 45.0, 50.0, 55.0, 60.0), 80, 200)
        self.demand = Steps(self.stream("demand"), (20.0, 23.0, 26.0, 29.0), 60, 200)
        self.sway = Walk(self.stream("sway"), 1.0, 30)
        self.noise = self.stream("noise")
        self.outflow = self.demand.value + self.sway.value
        self.level = self.set_point.value
        self.inflow = self.outflow
        self.pipe = DeadTime(DEAD_TIME, self.outflow)
        self.listen()

    def listen(self):
        self.level_noise = self.noise.gauss(0.0, 0.15)
        self.flow_noise = self.noise.gauss(0.0, 0.2)

    def row(self):
        return self.rounded({
            "LIC7.PV": clamp(self.level + self.level_noise, 0.0, 100.0),
            "LIC7.SP": self.set_point.value,
            "FI8.PV": self.outflow + self.flow_noise,
        })

    def outputs(self):
        return {"LIC7.PV": self.level}

    def step(self, actions):
        self.inflow += (self.pipe.advance(VALVE * actions["LIC7.MV"]) - self.inflow) / LAG
        # A tank is full or empty at last: it runs over, or the pump draws air.
        self.level = clamp(self.level + FILL * (self.inflow - self.outflow), 0.0, 100.0)
        self.elapsed += 1
        self.set_point.advance()
        self.outflow = self.demand.advance() + self.sway.advance()
        self.listen()

    def stamp(self):
        start = datetime.datetime(2024, 3, 1, 6)
        return (start + datetime.timedelta(seconds=INTERVAL * self.elapsed)).isoformat()
