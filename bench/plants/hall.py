"""A heated hall, as a building's historian writes it. Two heat capacities, of which only the air is measured.

    C_air  dT/dt  = gain(mode) P OUT/100 - V(mode) (T - T_out) - H (T - T_wall)
    C_wall dT_wall/dt = H (T - T_wall) - U (T_wall - T_out)

The ventilation's mode changes both its loss V and how much of the heater's power reaches the air.
"""
import datetime
import math

from interface import Plant, Steps, Walk

AIR = 40e6                                      # J/K, air and what stands in it
WALL = 300e6                                    # J/K
EXCHANGE = 5000.0                               # W/K, H
WALL_LOSS = 1000.0                              # W/K, U
POWER = 120e3                                   # W
VENTILATION = {"COMFORT": 1500.0, "ECO": 600.0}   # W/K, V
GAIN = {"COMFORT": 1.0, "ECO": 0.7}
INTERVAL = 300.0                                # s between rows
PARTS = 5                                       # Euler steps between rows
HOUR = 12                                       # rows
DAY = 24 * HOUR
NIGHT = 18.0                                    # degC, set-point from ten to six
MEAN = 4.0                                      # degC outside


class Hall(Plant):
    name = "hall"
    columns = ("Time", "TIC101.PV", "TIC101.SP", "TIC101.OUT", "TI102.PV", "Mode")
    clock = "Time"
    separator = ";"
    decimals = {"TIC101.PV": 2, "TIC101.SP": 1, "TIC101.OUT": 1, "TI102.PV": 1}
    tracked = {"TIC101.PV": "TIC101.SP"}
    actuators = {"TIC101.OUT": (0.0, 100.0)}
    idle = {"TIC101.OUT": 45.0}
    modes = {"Mode": ("COMFORT", "ECO")}
    missing = 0.002
    missing_words = ("", "Bad")
    settle = 36
    error_scale = {"TIC101.PV": 0.3}
    move_scale = {"TIC101.OUT": 1.0}
    # Too little gain for so fast an integral: the temperature swings around its set-point.
    today_loops = ({"pv": "TIC101.PV", "sp": "TIC101.SP", "mv": "TIC101.OUT", "gain": 8.0, "reset": 12.0},)
    today_hand = {"chance": 0.02, "longest": 8, "size": 20.0}

    def __init__(self, seed, number=1):
        super().__init__(seed, number)
        self.start = self.stream("start").randrange(DAY)
        self.day = Steps(self.stream("set-point"), (19.5, 20.5, 21.5), 2 * HOUR, 5 * HOUR)
        self.mode = Steps(self.stream("mode"), self.modes["Mode"], 3 * HOUR, 10 * HOUR)
        self.weather = Walk(self.stream("weather"), 4.0, 1.5 * DAY)
        self.noise = self.stream("noise")
        self.measured_noise = self.noise.gauss(0.0, 0.05)
        self.air = self.set_point() + self.stream("air").uniform(-0.5, 0.5)
        # The wall is too slow to follow the day: it is in balance between the air and the day's mean.
        self.wall = (EXCHANGE * self.air + WALL_LOSS * (MEAN + self.weather.value)) / (EXCHANGE + WALL_LOSS)

    def hour(self):
        return (self.start + self.elapsed) % DAY / HOUR

    def outdoor(self):
        # Warmest at three in the afternoon.
        return MEAN + self.weather.value + 4.0 * math.cos(2.0 * math.pi * (self.hour() - 15.0) / 24.0)

    def set_point(self):
        return self.day.value if 6.0 <= self.hour() < 22.0 else NIGHT

    def row(self):
        return self.rounded({
            "TIC101.PV": self.air + self.measured_noise,
            "TIC101.SP": self.set_point(),
            "TI102.PV": self.outdoor(),
            "Mode": self.mode.value,
        })

    def outputs(self):
        return {"TIC101.PV": self.air}

    def step(self, actions):
        mode, outdoor = self.mode.value, self.outdoor()
        heat = GAIN[mode] * POWER * actions["TIC101.OUT"] / 100.0
        for _ in range(PARTS):
            exchange = EXCHANGE * (self.air - self.wall)
            air = heat - VENTILATION[mode] * (self.air - outdoor) - exchange
            wall = exchange - WALL_LOSS * (self.wall - outdoor)
            self.air += INTERVAL / PARTS * air / AIR
            self.wall += INTERVAL / PARTS * wall / WALL
        self.elapsed += 1
        for signal in (self.day, self.mode, self.weather):
            signal.advance()
        self.measured_noise = self.noise.gauss(0.0, 0.05)

    def stamp(self):
        start = datetime.datetime(2024, 1, 8) + datetime.timedelta(minutes=5 * self.start)
        return str(start + datetime.timedelta(minutes=5 * self.elapsed))
