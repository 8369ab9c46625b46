"""The fitness in JAX: one compiled program, a scan over the steps, all lanes of a step at once.

There is more than one good way to write it, and which is the fastest depends on the size and on the version of the
compiler. Each way has a name; whoever times takes the best.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from case import Case, decode

# Minimax coefficients of atan z / z in z², lowest power first; the same degree of exactness as the engine's.
ARCTANGENT = (0.9999961, -0.33317368, 0.19807816, -0.13233342, 0.07962367, -0.03360422, 0.006811793)
# Lanes of a block: their hidden layers take a few hundred kilobytes.
BLOCK = 1_600
TURN = np.float32(2.0 * np.pi)


def short_arctangent(x: jax.Array) -> jax.Array:
    """The arctangent to 5e-7, written out, because the compiler's own is exact to the last bit and slow."""
    size = jnp.abs(x)
    z = (size - 1.0) / (size + 1.0)
    square = z * z
    series = jnp.float32(ARCTANGENT[-1])
    for coefficient in ARCTANGENT[-2::-1]:
        series = series * square + jnp.float32(coefficient)
    return jnp.copysign(z * series + jnp.float32(np.pi / 4), x)


class Rollouts:
    """Rollouts of a case. Compiled programs are kept, one for each formulation."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.dynamics = [(jnp.asarray(weights), jnp.asarray(biases)) for weights, biases in case.dynamics.folded()]
        self.reward = [(jnp.asarray(weights[0]), jnp.asarray(biases[0])) for weights, biases in case.reward.folded()]
        self.starts = jnp.asarray(case.starts, dtype=jnp.float32)
        self.discounts = jnp.asarray(case.discounts, dtype=jnp.float32)
        self.programs: dict[str, Callable] = {}

    def prepare(self, positions: np.ndarray) -> dict[str, jax.Array]:
        """The policies as arrays on the device."""
        policies = decode(positions)
        arrays = {
            "centres": policies.centres,
            "inverses": 1.0 / (policies.widths * np.sqrt(2.0)),
            "outputs": policies.alphas[:, None] * policies.outputs,
        }
        return {name: jnp.asarray(array, dtype=jnp.float32) for name, array in arrays.items()}

    def fitness(self, policies: dict[str, jax.Array], formulation: str) -> np.ndarray:
        """The mean return of each policy."""
        if formulation not in self.programs:
            program = FORMULATIONS[formulation](self)
            self.programs[formulation] = over_devices(program, len(policies["outputs"]))
        return np.asarray(jax.block_until_ready(self.programs[formulation](policies)), dtype=np.float64)

    def _scan(self, step: Callable, start: jax.Array, lanes: tuple[int, ...]) -> jax.Array:
        def body(carry: tuple, discount: jax.Array) -> tuple:
            state, returns = carry
            state, reward = step(state)
            return (state, returns + discount * jnp.clip(reward, *self.case.reward_limits)), None

        (_, returns), _ = jax.lax.scan(body, (start, jnp.zeros(lanes, jnp.float32)), self.discounts)
        return returns

    def _scale(self, unit: jax.Array) -> jax.Array:
        low, high = self.case.action_limits
        return np.float32(0.5 * (low + high)) + np.float32(0.5 * (high - low)) * unit

    # One lane, made many by vmap: the way of the textbook.

    def _lane_fitness(self, policy: dict, start: jax.Array, arctangent: Callable) -> jax.Array:
        def step(state: jax.Array) -> tuple:
            distance = (state - policy["centres"]) * policy["inverses"]
            logs = -jnp.sum(distance * distance, axis=-1)
            memberships = jnp.exp(logs - jnp.max(logs))
            action = self._scale(jnp.tanh(memberships @ policy["outputs"] / jnp.sum(memberships)))
            known = jnp.append(state, action)
            (weights, biases), *middle, last = self.dynamics
            hidden = arctangent(weights.reshape(-1, 5) @ known + biases.reshape(-1)).reshape(4, -1)
            for weights, biases in middle:
                hidden = arctangent(jnp.einsum("koi,ki->ko", weights, hidden) + biases)
            following = state + (jnp.einsum("koi,ki->ko", last[0], hidden) + last[1])[:, 0]
            following = jnp.where(self.case.angles, following - TURN * jnp.rint(following / TURN), following)
            hidden = jnp.concatenate([known, following])
            for weights, biases in self.reward[:-1]:
                hidden = arctangent(weights @ hidden + biases)
            return following, (self.reward[-1][0] @ hidden + self.reward[-1][1])[0]

        return self._scan(step, start, ())

    def vmap(self, arctangent: Callable = jnp.arctan) -> Callable:
        """vmap over start states and policies."""
        lane = partial(self._lane_fitness, arctangent=arctangent)
        many = jax.vmap(jax.vmap(lane, in_axes=(None, 0)), in_axes=(0, None))
        return lambda policies: many(policies, self.starts).mean(axis=1)

    # All lanes in the last axis, networks side by side: what one writes after looking at a profile.

    def _lanes_fitness(self, policies: dict, start_states: jax.Array, arctangent: Callable) -> jax.Array:
        count, starts = policies["outputs"].shape[0], start_states.shape[0]
        lanes = count * starts
        centres = jnp.moveaxis(policies["centres"], 0, 2)[..., None]
        inverses = jnp.moveaxis(policies["inverses"], 0, 2)[..., None]
        outputs = policies["outputs"].T[..., None]
        first, *middle, last = [(weights, biases[..., None]) for weights, biases in self.dynamics]
        first = (first[0].reshape(-1, 5), first[1].reshape(-1, 1))
        reward = [(weights, biases[:, None]) for weights, biases in self.reward]
        angles = jnp.asarray(self.case.angles)[:, None]

        def step(state: jax.Array) -> tuple:
            distance = (state.reshape(4, count, starts) - centres) * inverses
            logs = -jnp.sum(distance * distance, axis=1)
            memberships = jnp.exp(logs - jnp.max(logs, axis=0))
            drive = jnp.sum(memberships * outputs, axis=0) / jnp.sum(memberships, axis=0)
            action = self._scale(jnp.tanh(drive)).reshape(1, lanes)
            known = jnp.concatenate([state, action])
            hidden = arctangent(first[0] @ known + first[1]).reshape(4, -1, lanes)
            for weights, biases in middle:
                hidden = arctangent(weights @ hidden + biases)
            following = state + (last[0] @ hidden + last[1])[:, 0]
            following = jnp.where(angles, following - TURN * jnp.rint(following / TURN), following)
            hidden = jnp.concatenate([known, following])
            for weights, biases in reward[:-1]:
                hidden = arctangent(weights @ hidden + biases)
            return following, (reward[-1][0] @ hidden + reward[-1][1])[0]

        return self._scan(step, jnp.tile(start_states.T, count), (lanes,)).reshape(count, starts).mean(axis=1)

    def lanes(self, arctangent: Callable = jnp.arctan) -> Callable:
        """All policies and start states as lanes of one block."""
        return partial(self._lanes_fitness, start_states=self.starts, arctangent=arctangent)

    def lanes_in_blocks(self, arctangent: Callable = jnp.arctan) -> Callable:
        """The same, block after block of start states, so that what a step touches stays in the caches."""

        def fitness(policies: dict) -> jax.Array:
            most = max(1, BLOCK // policies["outputs"].shape[0])
            count = self.starts.shape[0]
            size = max(size for size in range(1, min(most, count) + 1) if count % size == 0)
            blocks = self.starts.reshape(-1, size, 4)
            return jax.lax.map(lambda block: self._lanes_fitness(policies, block, arctangent), blocks).mean(axis=0)

        return fitness


FORMULATIONS: dict[str, Callable[[Rollouts], Callable]] = {
    "vmap": Rollouts.vmap,
    "lanes": Rollouts.lanes,
    "lanes in blocks": Rollouts.lanes_in_blocks,
    "vmap, short arctangent": partial(Rollouts.vmap, arctangent=short_arctangent),
    "lanes, short arctangent": partial(Rollouts.lanes, arctangent=short_arctangent),
    "lanes in blocks, short arctangent": partial(Rollouts.lanes_in_blocks, arctangent=short_arctangent),
}



def over_devices(program: Callable, count: int) -> Callable:
    """The program compiled; with several devices, policies are divided among them if they come out even."""
    devices = jax.devices()
    if len(devices) == 1 or count % len(devices) != 0:
        return jax.jit(program)
    mesh = jax.sharding.Mesh(np.array(devices), ("policies",))
    along = jax.sharding.PartitionSpec("policies")
    return jax.jit(jax.shard_map(program, mesh=mesh, in_specs=along, out_specs=along, check_vma=False))
