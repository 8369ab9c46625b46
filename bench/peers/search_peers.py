"""Optimisers of others on a fitness in the unit box. Each goes on until the fitness raises `Spent`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Fitness = Callable[[np.ndarray], np.ndarray]

PACKAGES = {"pyswarms": "pyswarms", "pycma": "cma"}
# The first step of pycma and the largest growth of its population are those of our own CMA-ES.
FIRST_STEP = 0.3
LARGEST_GROWTH = 16
# Costs must be numbers: this is worse than any return.
WORST = 1e12


class Spent(Exception):
    """The steps of a search are used up."""


def pyswarms(fitness: Fitness, case: dict, seed: int) -> None:
    """The local-best swarm with the settings of the problem's own one."""
    import pyswarms

    np.random.seed(seed)
    swarm = pyswarms.single.LocalBestPSO(
        n_particles=case["particles"],
        dimensions=case["parameters"],
        # pyswarms counts a particle among its neighbours.
        options={
            "w": case["inertia"],
            "c1": case["cognitive"],
            "c2": case["social"],
            "k": 2 * case["ring"] + 1,
            "p": 2,
        },
        bounds=(np.zeros(case["parameters"]), np.ones(case["parameters"])),
        # As in our swarm; its default puts a particle that leaves on one side back on the other.
        bh_strategy="nearest",
        velocity_clamp=(-case["velocity_limit"], case["velocity_limit"]),
        static=True,
    )
    swarm.optimize(lambda positions: _costs(fitness, positions), iters=1_000_000_000, verbose=False)


def pycma(fitness: Fitness, case: dict, seed: int) -> None:
    """CMA-ES from random positions, anew with twice the population whenever it says that it has converged (IPOP)."""
    import cma

    random = np.random.default_rng(seed)
    usual = 4 + int(3 * math.log(case["parameters"]))
    restart = 0
    while True:
        # 0 would be a seed of its own choice.
        options = {
            "bounds": [0, 1],
            "popsize": usual * min(2**restart, LARGEST_GROWTH),
            "seed": int(random.integers(1, 2**31)),
            "verbose": -9,
        }
        strategy = cma.CMAEvolutionStrategy(random.random(case["parameters"]), FIRST_STEP, options)
        while not strategy.stop():
            positions = strategy.ask()
            strategy.tell(positions, _costs(fitness, np.array(positions)).tolist())
        restart += 1


def _costs(fitness: Fitness, positions: np.ndarray) -> np.ndarray:
    return np.minimum(-fitness(positions), WORST)


SEARCHES = {"pyswarms": pyswarms, "pycma": pycma}
