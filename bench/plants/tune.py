"""Tunes a plant's PIs on the true plant, with the cost that controllers are compared by."""
import math

from episodes import drive
from pi import PI

# Apart from the seeds that `drive` is given: a PI must not know its test.
TUNING_SEED = 1000000


def tune(kind, seed, episodes=20, steps=200, evaluations=120):
    """Gain and reset of each loop. Signs are those of today's loops, the search is over logarithms."""
    signs = [math.copysign(1.0, loop["gain"]) for loop in kind.today_loops]

    def gains(point):
        return [(sign * math.exp(point[2 * i]), math.exp(point[2 * i + 1])) for i, sign in enumerate(signs)]

    def cost(point):
        if max(map(abs, point)) > 12.0:
            return math.inf
        found = gains(point)
        return drive(kind, lambda plant, today: PI(plant, found), TUNING_SEED + 1000 * seed, episodes, steps)["cost"]

    start = [math.log(value) for loop in kind.today_loops for value in (abs(loop["gain"]), loop["reset"])]
    return gains(nelder_mead(cost, start, 0.7, evaluations))


def nelder_mead(cost, start, size, evaluations):
    """The best point that a simplex finds with so many evaluations."""
    points = [list(start)]
    for i in range(len(start)):
        points.append([value + (size if i == j else 0.0) for j, value in enumerate(start)])
    simplex = sorted((cost(point), point) for point in points)
    left = evaluations - len(simplex)

    def between(share):
        """On the line from the worst point through the centre of the others."""
        worst = simplex[-1][1]
        others = [point for _, point in simplex[:-1]]
        centre = [sum(values) / len(others) for values in zip(*others)]
        point = [c + share * (c - w) for c, w in zip(centre, worst)]
        return cost(point), point

    while left > 0:
        reflected = between(1.0)
        left -= 1
        if reflected < simplex[0]:
            left -= 1
            simplex[-1] = min(reflected, between(2.0))
        elif reflected < simplex[-2]:
            simplex[-1] = reflected
        else:
            contracted = between(0.5 if reflected < simplex[-1] else -0.5)
            left -= 1
            if contracted < min(reflected, simplex[-1]):
                simplex[-1] = contracted
            else:
                best = simplex[0][1]
                for i in range(1, len(simplex)):
                    point = [(b + value) / 2.0 for b, value in zip(best, simplex[i][1])]
                    simplex[i] = cost(point), point
                    left -= 1
        simplex.sort()
    return simplex[0][1]
