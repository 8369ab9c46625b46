"""A user's function as a simulator: whatever it returns, as arrays."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

Arrays = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def arrays_of(function: Callable[..., Any]) -> Callable[[NDArray[np.float64], NDArray[np.float64]], Arrays]:
    """The function with what the extension module expects of it."""

    def step(states: NDArray[np.float64], actions: NDArray[np.float64]) -> Arrays:
        rows, width = states.shape
        answer = function(states, actions)
        if not isinstance(answer, (tuple, list)) or not 2 <= len(answer) <= 4:
            raise TypeError("a simulator returns next states and rewards, and perhaps what is terminated and later rewards")
        next_states = np.asarray(answer[0], dtype=np.float64)
        if next_states.ndim == 1 and width == 1:
            next_states = next_states[:, None]
        if next_states.shape != (rows, width):
            raise ValueError(f"next states have the shape {next_states.shape}; {(rows, width)} was asked for")
        columns = [np.asarray(column, dtype=np.float64).reshape(-1) for column in answer[1:]]
        columns += [np.zeros(rows)] * (3 - len(columns))
        for name, column in zip(("rewards", "terminated", "later rewards"), columns):
            if column.shape != (rows,):
                raise ValueError(f"{name} have {column.size} values; {rows} were asked for")
        if not all(np.isfinite(numbers).all() for numbers in (next_states, *columns)):
            raise ValueError("a next state or a reward is not a finite number")
        return np.ascontiguousarray(next_states), columns[0], columns[1], columns[2]

    return step
