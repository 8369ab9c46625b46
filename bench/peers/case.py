"""A case as the engine wrote it, as arrays: the networks, the start states and the policies.

Positions are decoded here and not taken from the case's rules, so that the agreement of the fitness values also says
that both sides mean the same policy by the same position.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

STATES = 4
SEARCHED_RULES = 2


@dataclass
class Networks:
    """Networks of one shape side by side; `layers` holds weights (network, to, from) and biases (network, to)."""

    layers: list[tuple[np.ndarray, np.ndarray]]
    input_centres: np.ndarray
    input_spreads: np.ndarray
    output_centres: np.ndarray
    output_spreads: np.ndarray

    def folded(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The layers in f32 with the scaling of inputs and outputs taken into the first and the last one."""
        layers = [(weights.copy(), biases.copy()) for weights, biases in self.layers]
        weights, biases = layers[0]
        weights = weights / self.input_spreads[:, None, :]
        layers[0] = (weights, biases - np.einsum("koi,ki->ko", weights, self.input_centres))
        weights, biases = layers[-1]
        layers[-1] = (
            weights * self.output_spreads[:, None, None],
            biases * self.output_spreads[:, None] + self.output_centres[:, None],
        )
        return [(weights.astype(np.float32), biases.astype(np.float32)) for weights, biases in layers]


@dataclass
class Policies:
    """Rules of all policies: centres and widths (policy, rule, state), outputs (policy, rule), alpha (policy)."""

    centres: np.ndarray
    widths: np.ndarray
    outputs: np.ndarray
    alphas: np.ndarray


@dataclass
class Case:
    """What is to be computed: the mean discounted return of each policy."""

    steps: int
    discounts: np.ndarray
    dynamics: Networks
    reward: Networks
    reward_limits: tuple[float, float]
    angles: np.ndarray
    action_limits: tuple[float, float]
    starts: np.ndarray
    positions: np.ndarray
    space: tuple[np.ndarray, np.ndarray]

    @property
    def model_steps(self) -> int:
        """Steps of all lanes together."""
        return self.steps * len(self.starts) * len(self.positions)


def load(path: str | Path) -> Case:
    """Reads a case."""
    case = json.loads(Path(path).read_text())
    world = case["world"]
    return Case(
        steps=case["steps"],
        discounts=case["discount"] ** np.arange(case["steps"]),
        dynamics=_networks(world["variables"]),
        reward=_networks([world["reward"]]),
        reward_limits=tuple(world["reward_limits"]),
        angles=np.array([variable["angle"] for variable in world["variables"]]),
        action_limits=tuple(case["policies"][0]["actions"][0]["limits"]),
        starts=np.array(case["starts"]),
        positions=np.array(case["positions"]),
        space=(np.array(case["space"][0]), np.array(case["space"][1])),
    )


def decode(positions: np.ndarray) -> Policies:
    """The rules at positions: the searched ones, then their mirrors."""
    count = len(positions)
    rules = positions[:, :-1].reshape(count, SEARCHED_RULES, 2 * STATES + 1)
    centres, widths, outputs = rules[..., :STATES], rules[..., STATES : 2 * STATES], rules[..., -1]
    return Policies(
        centres=np.concatenate([centres, -centres], axis=1),
        widths=np.concatenate([widths, widths], axis=1),
        outputs=np.concatenate([outputs, -outputs], axis=1),
        alphas=positions[:, -1],
    )


def _networks(parts: list[dict]) -> Networks:
    def layer(index: int) -> tuple[np.ndarray, np.ndarray]:
        layers = [part["network"]["layers"][index] for part in parts]
        weights = [np.reshape(one["weights"], (one["outputs"], one["inputs"])) for one in layers]
        return np.array(weights), np.array([one["biases"] for one in layers])

    def numbers(scales: list, field: str) -> np.ndarray:
        return np.array([scale[field] for scale in scales])

    depth = len(parts[0]["network"]["layers"])
    return Networks(
        layers=[layer(index) for index in range(depth)],
        input_centres=np.array([numbers(part["inputs"], "centre") for part in parts]),
        input_spreads=np.array([numbers(part["inputs"], "spread") for part in parts]),
        output_centres=numbers([part["output"] for part in parts], "centre"),
        output_spreads=numbers([part["output"] for part in parts], "spread"),
    )
