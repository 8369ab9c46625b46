"""What the tests share: a tank whose log is drawn once, and a run that is made once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fpsrl


def tank_log(rows: int = 1200, seed: int = 0) -> dict[str, Any]:
    """The log of a tank whose valve somebody moves: time, level, valve."""
    random = np.random.default_rng(seed)
    levels, valves = np.empty(rows), np.empty(rows)
    level, valve = 0.5, 0.5
    for row in range(rows):
        if row % 7 == 0:
            valve = random.uniform(0.0, 1.0)
        levels[row], valves[row] = level, valve
        level += 0.1 * valve - 0.05 * level
    return {"time": np.arange(rows) * 60.0, "level": levels, "valve": valves}


def tank_problem(**settings: Any) -> fpsrl.Problem:
    """A tank that is to be kept at a level of 1, with everything small."""
    small: dict[str, Any] = {
        "horizon": 30,
        "data": {"time": "time"},
        "world": {"kind": "ensemble", "members": 2, "layers": 1, "epochs": 10},
        "policy": {"rules": 2},
        "search": {"start_states": 10, "budget": 100_000},
        "evaluation": {"start_states": 40},
    }
    return fpsrl.Problem(
        "tank",
        states={"level": {"unit": "m"}},
        actions={"valve": (0.0, 1.0)},
        reward="-abs(level - 1)",
        **{**small, **settings},
    )


@pytest.fixture(scope="session")
def log() -> dict[str, Any]:
    return tank_log()


@pytest.fixture(scope="session")
def problem() -> fpsrl.Problem:
    return tank_problem()


@pytest.fixture(scope="session")
def worlds(problem: fpsrl.Problem, log: dict[str, Any]) -> fpsrl.Worlds:
    return fpsrl.fit(problem, log)


@pytest.fixture(scope="session")
def run(worlds: fpsrl.Worlds) -> fpsrl.Run:
    return fpsrl.search(worlds).judge()
