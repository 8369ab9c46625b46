"""The fitness in NumPy: f32, vectorised over lanes; and plainly in f64, as the reference for everybody."""

from __future__ import annotations

import numpy as np

from case import Case, Networks, decode

FORMULATIONS = ("one policy at a time", "all policies together")
TURN = 2.0 * np.pi


class Rollouts:
    """Rollouts of a case; lanes are the last axis of every array, so that each operation runs over long rows."""

    def __init__(self, case: Case) -> None:
        self.case = case
        first, *later = case.dynamics.folded()
        # The four networks share their inputs: one product serves the first layer of all.
        self.first = (first[0].reshape(-1, first[0].shape[2]), first[1].reshape(-1, 1))
        self.later = [(weights, biases[..., None]) for weights, biases in later]
        self.reward = [(weights[0], biases[0][:, None]) for weights, biases in case.reward.folded()]
        self.starts = np.ascontiguousarray(case.starts.T, dtype=np.float32)
        self.discounts = case.discounts.astype(np.float32)

    def fitness(self, positions: np.ndarray, formulation: str = FORMULATIONS[0]) -> np.ndarray:
        """The mean return of the policy at each position."""
        if formulation == FORMULATIONS[1]:
            return self._roll(positions)
        return np.concatenate([self._roll(position[None]) for position in positions])

    def _roll(self, positions: np.ndarray) -> np.ndarray:
        case = self.case
        policies = decode(positions)
        count, lanes = len(positions), len(positions) * len(case.starts)
        shape = (count, len(case.starts))
        # Of each rule and state: -½ ((s - c) / σ)² = -(s·w - c·w)² with w = 1 / (σ √2).
        inverse = np.moveaxis(1.0 / (policies.widths * np.sqrt(2.0)), 0, 2)[..., None].astype(np.float32)
        offset = np.moveaxis(policies.centres, 0, 2)[..., None].astype(np.float32) * inverse
        outputs = (policies.alphas[:, None] * policies.outputs).T[..., None].astype(np.float32)
        low, high = case.action_limits
        middle, half = np.float32(0.5 * (low + high)), np.float32(0.5 * (high - low))
        turn = np.float32(TURN)

        everything = np.empty((9, lanes), dtype=np.float32)
        state, action, following = everything[:4], everything[4], everything[5:]
        state[:] = np.tile(self.starts, count)
        returns = np.zeros(lanes, dtype=np.float64)
        for discount in self.discounts:
            distance = state.reshape(4, *shape) * inverse
            distance -= offset
            distance *= distance
            logs = -distance.sum(axis=1)
            logs -= logs.max(axis=0)
            memberships = np.exp(logs, out=logs)
            drive = (memberships * outputs).sum(axis=0) / memberships.sum(axis=0)
            np.multiply(np.tanh(drive).reshape(lanes), half, out=action)
            action += middle

            hidden = self.first[0] @ everything[:5]
            hidden += self.first[1]
            np.arctan(hidden, out=hidden)
            hidden = hidden.reshape(4, -1, lanes)
            for weights, biases in self.later[:-1]:
                hidden = weights @ hidden
                hidden += biases
                np.arctan(hidden, out=hidden)
            weights, biases = self.later[-1]
            np.add(state, (weights @ hidden + biases)[:, 0], out=following)
            following[case.angles] -= turn * np.rint(following[case.angles] / turn)

            hidden = everything
            for weights, biases in self.reward[:-1]:
                hidden = weights @ hidden
                hidden += biases
                np.arctan(hidden, out=hidden)
            weights, biases = self.reward[-1]
            reward = (weights @ hidden + biases)[0]
            returns += discount * np.clip(reward, *case.reward_limits)
            state[:] = following
        return returns.reshape(shape).mean(axis=1)


def reference(case: Case, positions: np.ndarray) -> np.ndarray:
    """The fitness in f64, equation by equation, with no rearrangement; slow."""
    policies = decode(positions)
    low, high = case.action_limits
    state = np.broadcast_to(case.starts, (len(positions), *case.starts.shape))
    returns = np.zeros(state.shape[:2])
    for discount in case.discounts:
        distance = (policies.centres[:, None] - state[:, :, None]) / policies.widths[:, None]
        logs = -0.5 * (distance**2).sum(axis=-1)
        memberships = np.exp(logs - logs.max(axis=-1, keepdims=True))
        mean = (memberships * policies.outputs[:, None]).sum(axis=-1) / memberships.sum(axis=-1)
        unit = np.tanh(policies.alphas[:, None] * mean)
        action = 0.5 * (low + high) + 0.5 * (high - low) * unit
        known = np.concatenate([state, action[..., None]], axis=-1)
        following = state + _predict(case.dynamics, known)
        wrapped = following - TURN * np.rint(following / TURN)
        following = np.where(case.angles, wrapped, following)
        reward = _predict(case.reward, np.concatenate([known, following], axis=-1))[..., 0]
        returns += discount * np.clip(reward, *case.reward_limits)
        state = following
    return returns.mean(axis=1)


def _predict(networks: Networks, inputs: np.ndarray) -> np.ndarray:
    outputs = []
    for index in range(len(networks.output_centres)):
        hidden = (inputs - networks.input_centres[index]) / networks.input_spreads[index]
        for weights, biases in networks.layers[:-1]:
            hidden = np.arctan(hidden @ weights[index].T + biases[index])
        weights, biases = networks.layers[-1]
        scaled = hidden @ weights[index].T + biases[index]
        outputs.append(scaled[..., 0] * networks.output_spreads[index] + networks.output_centres[index])
    return np.stack(outputs, axis=-1)
