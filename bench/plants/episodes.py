"""Episodes of a true plant in closed loop, and the figures that controllers are compared by."""
from interface import clamp
from today import Today

MOVEMENT_WEIGHT = 0.1


def drive(kind, controllers, seed, episodes, steps):
    """The figures of a controller over many episodes. `controllers(plant, today)` makes a fresh one for each."""
    figures = Figures(kind)
    for number in range(seed, seed + episodes):
        # Logs have other seeds, whatever their numbers: none of them has seen these inputs.
        plant = kind("episode-%d" % number)
        today = Today(plant)
        history, last = [], dict(kind.idle)
        for _ in range(kind.warm_up):
            advance(plant, today, history, last)
        controller = controllers(plant, today)
        figures.begin()
        for _ in range(steps):
            before = dict(last)
            advance(plant, controller, history, last)
            figures.add(plant, before, last)
            if plant.done:
                break
        figures.end(getattr(controller, "outside", None))
    return figures.result()


def advance(plant, controller, history, last):
    """One step of a plant; the row with its actuators becomes history, and they become the last ones applied."""
    row = plant.row()
    for actuator, value in controller.act(row, history, last).items():
        last[actuator] = clamp(value, *plant.actuators[actuator])
    row.update(last)
    plant.step(last)
    history.append(row)


class Figures:
    """Error: mean |output - set-point|. Bias: the same with its sign. Offset: what is left when the set-point has
    rested for `settle` steps: the |mean| error of each rest, so that noise and swinging around the set-point are no
    offset. Movement: mean |change| of an actuator in a step. Cost: errors and a tenth of movements, by their scales."""

    def __init__(self, kind):
        self.kind = kind
        self.steps = self.episodes = 0
        self.errors = {output: [] for output in kind.tracked}
        self.offsets = {output: (0.0, 0) for output in kind.tracked}
        self.moves = {actuator: 0.0 for actuator in kind.actuators}
        self.outside = None

    def begin(self):
        self.episodes += 1
        self.rests = {output: (None, 0, []) for output in self.kind.tracked}

    def add(self, plant, before, last):
        self.steps += 1
        row = plant.row()
        for output, value in plant.outputs().items():
            target = row[self.kind.tracked[output]]
            self.errors[output].append(value - target)
            held, age, stretch = self.rests[output]
            if target != held:
                self.close(output)
                age, stretch = 0, []
            if age >= self.kind.settle:
                stretch.append(value - target)
            self.rests[output] = target, age + 1, stretch
        for actuator in self.moves:
            self.moves[actuator] += abs(last[actuator] - before[actuator])

    def close(self, output):
        stretch = self.rests[output][2]
        total, rows = self.offsets[output]
        self.offsets[output] = total + abs(sum(stretch)), rows + len(stretch)

    def end(self, outside):
        for output in self.rests:
            self.close(output)
        if outside is not None:
            self.outside = (self.outside or 0) + outside

    def result(self):
        error = {output: sum(map(abs, values)) / self.steps for output, values in self.errors.items()}
        movement = {actuator: moved / self.steps for actuator, moved in self.moves.items()}
        result = {
            "error": error,
            "bias": {output: sum(values) / self.steps for output, values in self.errors.items()},
            "offset": {output: total / rows if rows else None for output, (total, rows) in self.offsets.items()},
            "movement": movement,
            "cost": mean(error[output] / self.kind.error_scale[output] for output in error)
            + MOVEMENT_WEIGHT * mean(movement[actuator] / self.kind.move_scale[actuator] for actuator in movement),
            "steps_per_episode": self.steps / self.episodes,
        }
        if self.outside is not None:
            result["outside"] = self.outside / self.steps
        return result


def mean(values):
    values = list(values)
    return sum(values) / len(values)
