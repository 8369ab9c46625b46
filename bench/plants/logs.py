"""Logs of plants, as today's controller drives them."""
import random

from episodes import advance
from today import Today


def write_log(kind, seed, rows, out, shuffle_actions=False):
    """Writes a log of so many rows."""
    table = list(log_rows(kind, seed, rows))
    lose_cells(kind, seed, table)
    if shuffle_actions:
        # Each actuator keeps its values, at other times: nothing can be learned from them.
        for actuator in kind.actuators:
            column = kind.columns.index(actuator)
            values = [cells[column] for cells in table]
            random.Random("shuffle-%s-%s" % (seed, actuator)).shuffle(values)
            for cells, value in zip(table, values):
                cells[column] = value
    for cells in [kind.columns] + table:
        out.write(kind.separator.join(cells) + "\n")


def log_rows(kind, seed, rows):
    """The cells of each row; one episode after the other, if the plant has episodes."""
    number = 0
    while rows > 0:
        number += 1
        plant = kind("log-%s-%d" % (seed, number), number)
        today = Today(plant)
        history, last = [], dict(kind.idle)
        over = False
        while rows > 0 and not over:
            # The row that is done is written too: it has the end's values.
            over = plant.done
            stamp = plant.stamp()
            advance(plant, today, history, last)
            row = history.pop()
            if kind.clock:
                row[kind.clock] = stamp
            yield [cell(kind, column, row[column]) for column in kind.columns]
            rows -= 1


def cell(kind, column, value):
    return "%.*f" % (kind.decimals[column], value) if column in kind.decimals else str(value)


def lose_cells(kind, seed, table):
    """Historians lose values now and then; never the time, the set-point or a mode."""
    lost = random.Random("missing-%s" % seed)
    kept = {kind.clock, *kind.modes, *kind.tracked.values()}
    for cells in table:
        for index, column in enumerate(kind.columns):
            if column not in kept and lost.random() < kind.missing:
                cells[index] = lost.choice(kind.missing_words)
