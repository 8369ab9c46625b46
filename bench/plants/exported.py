"""Controllers that `fpsrl export --to python` wrote, on a plant: inputs and actions are matched by name."""
import importlib.util
import inspect
import math
import re
import sys


class Mismatch(Exception):
    """The controller asks for what the plant has not, or gives what it cannot take."""


def plain(name):
    """A name as exports can spell it: letters and digits in single underscores, in any case."""
    return re.sub("[^0-9a-z]+", "_", name.lower()).strip("_")


def load(path):
    specification = importlib.util.spec_from_file_location("exported_controller", path)
    if specification is None:
        raise Mismatch("%s is no Python file" % path)
    module = importlib.util.module_from_spec(specification)
    # A run must leave nothing beside the export.
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        specification.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = written
    if not hasattr(module, "Controller"):
        raise Mismatch("%s has no class `Controller`" % path)
    return module


def find_input(name, columns):
    """The column that an input is, and how many steps back; `None` if it is none."""
    known = {plain(column): column for column in columns}
    wanted = plain(name)
    if wanted in known:
        return known[wanted], 0
    lagged = re.fullmatch("(.+)_([0-9]+)", wanted)
    if lagged and lagged.group(1) in known:
        return known[lagged.group(1)], int(lagged.group(2))
    # What exports append to keywords.
    if wanted.endswith("_value"):
        return find_input(wanted[: -len("_value")], columns)
    return None


def find_action(name, actuators):
    """The actuator that an action is, and whether the action is a change of it."""
    known = {plain(actuator): actuator for actuator in actuators}
    wanted = plain(name)
    if wanted in known:
        return known[wanted], False
    if wanted.endswith("_change") and wanted[: -len("_change")] in known:
        return known[wanted[: -len("_change")]], True
    raise Mismatch("there is no actuator for the action `%s`; the plant has %s" % (name, ", ".join(actuators)))


class Binding:
    """A module of a controller bound to a kind of plant. It makes a fresh controller for each episode."""

    def __init__(self, module, kind):
        self.module = module
        self.kind = kind
        columns = [column for column in kind.columns if column != kind.clock]
        parameters = list(inspect.signature(module.Controller.step).parameters.values())[1:]
        self.inputs = []
        for parameter in parameters:
            found = find_input(parameter.name, columns)
            if found is None and parameter.name == "last":
                found = None, 0
            if found is not None:
                self.inputs.append((parameter.name,) + found)
            elif parameter.default is parameter.empty:
                known = ", ".join(columns)
                raise Mismatch("there is no column for the input `%s`; the plant has %s" % (parameter.name, known))
        names = getattr(module, "ACTIONS", tuple(kind.actuators))
        self.actions = [find_action(name, kind.actuators) for name in names]
        if sorted(actuator for actuator, _ in self.actions) != sorted(kind.actuators):
            raise Mismatch("the plant's actuators are %s" % ", ".join(kind.actuators))
        own = {plain(column): list(words) for column, words in getattr(module, "MODES", {}).items()}
        self.words = {column: own.get(plain(column), sorted(words)) for column, words in kind.modes.items()}

    def __call__(self, plant, today):
        return Exported(self)


class Exported:
    """A controller in an episode."""

    def __init__(self, binding):
        self.binding = binding
        self.controller = binding.module.Controller()
        self.begun = False
        self.outside = 0

    def act(self, row, history, last):
        if not self.begun:
            # A controller that limits its rate goes on from where the actuators stand.
            self.begun = True
            if hasattr(self.controller, "last"):
                self.controller.last = self.applied(last)
        inputs = {name: self.input(column, lag, row, history, last) for name, column, lag in self.binding.inputs}
        return self.actions(self.controller.step(**inputs), last)

    def applied(self, last):
        """The last actions as the controller counts them: of a change, none."""
        return tuple(0.0 if change else last[actuator] for actuator, change in self.binding.actions)

    def input(self, column, lag, row, history, last):
        if column is None:
            return self.applied(last)
        if column in last:
            # The row's own action is what is asked for; so the present value is the last one applied.
            value = history[-max(lag, 1)][column] if len(history) >= max(lag, 1) else last[column]
        else:
            value = history[-lag][column] if 0 < lag <= len(history) else row[column]
        words = self.binding.words.get(column)
        return words.index(value) if words is not None else value

    def actions(self, result, last):
        """Results are `(actions, outside)`, or flat, or without the flag, or one number, or by name."""
        bound = self.binding.actions
        if isinstance(result, dict):
            named = {find_action(name, self.binding.kind.actuators): value
                     for name, value in result.items() if plain(name) != "outside"}
            self.outside += bool(result.get("outside", False))
        else:
            values = list(result) if isinstance(result, (tuple, list)) else [result]
            if values and isinstance(values[0], (tuple, list)):
                values = list(values[0]) + values[1:]
            if len(values) == len(bound) + 1:
                self.outside += bool(values.pop())
            if len(values) != len(bound):
                raise Mismatch("the controller gave %d actions instead of %d" % (len(values), len(bound)))
            named = dict(zip(bound, values))
        if not all(math.isfinite(value) for value in named.values()):
            raise Mismatch("the controller gave an action that is no number: %s" % (result,))
        return {actuator: last[actuator] + value if change else value for (actuator, change), value in named.items()}
