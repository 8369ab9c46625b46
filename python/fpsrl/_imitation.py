"""Rules that imitate: a swarm finds about where they belong, steps along the gradient fit them, and conditions that
explain nothing are dropped.

Everything here is about one action from -1 to 1 and inputs on one scale; :class:`Scaled` leads there and back.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from . import _core
from ._errors import ProblemError
from ._policy import _ANYWHERE
from ._problem import Problem

Array = NDArray[np.float64]

#: Rows on which the rules of an imitation are refined, at most.
_ROWS = 4_000

#: How far refinement goes from what the swarm has found, in the ranges of the parameters: a step as long as this has to
#: pay as much as one standard deviation of what is missed. Without it, small logs with noise are learned by heart.
_REFINEMENT = 0.1

#: A condition has to explain more than this share of the action's variance, or readers do better without it.
_WORTH_READING = 0.003

#: A condition that is wider than this, in the user's units, is one that always holds.
_WIDEST = 1e-3 * _ANYWHERE


class Form(NamedTuple):
    """What rules that imitate may look like."""

    policy: dict[str, Any]
    rules: int
    reach: float
    #: The lowest and the highest slope.
    slopes: tuple[float, float]
    seed: Optional[int]

    @classmethod
    def of(cls, policy: dict[str, Any], seed: Optional[int]) -> Form:
        written = _core.parse_toml(_imitable(1, policy, seed).to_toml(), "the problem")["policy"]
        low, high = written["alpha"]
        return cls(policy, int(written["rules"]), float(written["reach"]), (float(low), float(high)), seed)


def _imitable(inputs: int, policy: dict[str, Any], seed: Optional[int]) -> Problem:
    return Problem(
        "imitation",
        horizon=2,
        states=[f"x{place}" for place in range(inputs)],
        actions={"action": (-1.0, 1.0)},
        reward="0",
        policy=policy,
        seed=seed,
        data={"file": _core.FRAME},
    )


class Imitation(NamedTuple):
    """The rules of an action, on the scale that they are made on."""

    centres: Array
    widths: Array
    outputs: Array
    alpha: float
    #: Which rule looks at which input.
    looks: NDArray[np.bool_]


class Scaled(NamedTuple):
    """Inputs on one scale; those that never move are left out."""

    values: Array
    middle: Array
    spread: Array
    moves: NDArray[np.bool_]

    @classmethod
    def of(cls, states: Array) -> Scaled:
        moves = states.min(axis=0) < states.max(axis=0)
        largest = np.where(moves, np.abs(states).max(axis=0), 1.0)
        # Divided first, so that squares of large numbers stay finite and those of small ones stay apart from zero.
        shares = states / largest
        middle, spread = shares.mean(axis=0) * largest, shares.std(axis=0) * largest
        spread = np.where(moves & (spread > 0.0), spread, 1.0)
        if spread.max() * 10.0 > _WIDEST:
            told = f"column {int(spread.argmax())} of X (counted from 0) spreads over {spread.max():.3g}"
            raise ProblemError(told, remedy="give it in a larger unit")
        return cls(((states - middle) / spread)[:, moves], middle, spread, moves)

    def back(self, found: Imitation) -> tuple[Array, Array]:
        """The centres and widths in the units of the inputs."""
        centres = np.zeros((len(found.outputs), len(self.moves)))
        widths = np.full(centres.shape, _ANYWHERE)
        middle, spread = self.middle[self.moves], self.spread[self.moves]
        centres[:, self.moves] = np.where(found.looks, middle + spread * found.centres, 0.0)
        widths[:, self.moves] = np.where(found.looks, spread * found.widths, _ANYWHERE)
        return centres, widths


def imitated(form: Form, inputs: Array, wanted: Array) -> Imitation:
    """Rules that do in each row what is wanted there, from -1 to 1, as nearly as they can.

    A swarm finds about where they belong. From there, steps along the gradient fit them as well as the rows can tell;
    conditions that then do not matter are left out, and what is left is fitted again.
    """
    count = inputs.shape[1]
    if count == 0 or wanted.min() == wanted.max():
        return _constant(form, count, float(wanted.mean()))
    problem = _imitable(count, form.policy, form.seed)
    core, _ = _core.imitate(problem._checked(), np.ascontiguousarray(inputs), np.ascontiguousarray(wanted[:, None]))
    base = json.loads(core.to_json())["actions"][0]
    stride = -(-len(inputs) // _ROWS)
    fitted = _Fitted(form, inputs[::stride], wanted[::stride])
    found = Imitation(
        np.array([rule["centre"] for rule in base["rules"]]),
        np.array([rule["width"] for rule in base["rules"]]),
        np.array([rule["output"] for rule in base["rules"]]),
        float(base["alpha"]),
        np.ones((form.rules, count), dtype=bool),
    )
    # Products of matrices this thin are slower on many threads than on one, and not always the same to the last bit.
    with threadpool_limits(1, "blas"):
        return fitted.refined(fitted.pruned(fitted.refined(found)))


def _constant(form: Form, inputs: int, wanted: float) -> Imitation:
    """Rules that want the same everywhere."""
    before = math.atanh(max(-1.0 + 1e-9, min(1.0 - 1e-9, wanted / form.reach)))
    alpha = min(max(abs(before), form.slopes[0], min(1.0, form.slopes[1])), form.slopes[1])
    output = max(-1.0, min(1.0, before / alpha)) if alpha > 0.0 else 0.0
    shape = (form.rules, inputs)
    return Imitation(np.zeros(shape), np.ones(shape), np.full(form.rules, output), alpha, np.zeros(shape, dtype=bool))


class _Fitted:
    """The rules of an action as a smooth function of their parameters, and the rows that they are to fit."""

    def __init__(self, form: Form, inputs: Array, wanted: Array) -> None:
        self.form, self.inputs, self.wanted = form, inputs, wanted
        self.squares = inputs**2
        # The bounds of the swarm's own space.
        low, high = np.quantile(inputs, [0.005, 0.995], axis=0)
        margin = np.where(high > low, 0.0, np.maximum(np.abs(low), 1.0))
        self.low, self.span = low - margin, high - low + 2.0 * margin
        self.narrowest, self.octaves = 0.05 * self.span, math.log(2.0 / 0.05)
        # Below this error, rows are fitted as exactly as anybody could want.
        self.least = 1e-6

    def memberships(self, found: Imitation) -> tuple[Array, Array]:
        """How much each rule has to say in each row, and the logarithms before they were made to sum to 1."""
        sharpness = np.where(found.looks, found.widths**-2.0, 0.0)
        offsets = (found.centres**2 * sharpness).sum(axis=1)
        logs = self.inputs @ (found.centres * sharpness).T - 0.5 * (self.squares @ sharpness.T) - 0.5 * offsets
        return _shares(logs), logs

    def acts(self, shares: Array, found: Imitation) -> tuple[Array, Array, Array]:
        """The actions, the mean output before the slope, and the hyperbolic tangent."""
        mean = shares @ found.outputs
        tangent = np.tanh(found.alpha * mean)
        return np.clip(self.form.reach * tangent, -1.0, 1.0), mean, tangent

    def error(self, found: Imitation) -> float:
        """The mean squared error."""
        return self._error(self.memberships(found)[0], found)

    def _error(self, shares: Array, found: Imitation) -> float:
        return float(np.mean((self.acts(shares, found)[0] - self.wanted) ** 2))

    def refined(self, found: Imitation) -> Imitation:
        """The rules after steps along the gradient, as far from where they were as pays."""
        begin = self.places(found)
        best = self.at(begin, found.looks)
        error = self.error(best)
        # How much of the error is noise is not known before the fit, and known better after it.
        for _ in range(2):
            place = self._descend(self.places(best), begin, max(error, self.least), found.looks)
            then = self.at(place, found.looks)
            if self.error(then) >= error:
                break
            best, error = then, self.error(then)
        return best

    def _descend(self, place: Array, begin: Array, noise: float, looks: NDArray[np.bool_]) -> Array:
        bounds = [(0.0, 1.0)] * len(place)
        more = {"args": (begin, noise, looks), "jac": True, "bounds": bounds, "options": {"maxiter": 200}}
        found = minimize(self.cost, place, method="L-BFGS-B", **more)
        return np.asarray(found.x, dtype=np.float64)

    def cost(self, place: Array, begin: Array, noise: float, looks: NDArray[np.bool_]) -> tuple[float, Array]:
        """What is missed in units of the noise, with how far the parameters are from their beginning; and the gradient."""
        found = self.at(place, looks)
        shares, _ = self.memberships(found)
        acts, mean, tangent = self.acts(shares, found)
        missed = acts - self.wanted
        # Beyond the limits an action is cut off, and nothing moves it.
        slope = missed * self.form.reach * (1.0 - tangent**2) * (np.abs(self.form.reach * tangent) < 1.0) / noise
        by_log = (slope * found.alpha)[:, None] * shares * (found.outputs - mean[:, None])
        first, total = by_log.T @ self.inputs, by_log.sum(axis=0)[:, None]
        sharpness = np.where(looks, found.widths**-2.0, 0.0)
        by_centre = (first - total * found.centres) * sharpness * self.span
        spread = by_log.T @ self.squares - 2.0 * found.centres * first + found.centres**2 * total
        by_width = spread * sharpness * self.octaves
        by_output = 2.0 * found.alpha * (slope @ shares)
        by_alpha = (self.form.slopes[1] - self.form.slopes[0]) * (slope @ mean)
        away = place - begin
        gradient = np.concatenate([by_centre.ravel(), by_width.ravel(), by_output, [by_alpha]])
        value = 0.5 * float(missed @ missed) / noise + 0.5 * float(away @ away) / _REFINEMENT**2
        return value, gradient + away / _REFINEMENT**2

    def pruned(self, found: Imitation) -> Imitation:
        """The rules without what does not matter, from what matters least: first whole inputs, because conditions on an
        input may cancel each other across rules; then single conditions."""
        inputs = [[(rule, place) for rule in range(self.form.rules)] for place in range(found.looks.shape[1])]
        found = self._without(inputs, found)
        return self._without([[(int(rule), int(place))] for rule, place in np.argwhere(found.looks)], found)

    def _without(self, groups: list[list[tuple[int, int]]], found: Imitation) -> Imitation:
        rows = len(self.wanted)
        shares, begin = self.memberships(found)
        error = self._error(shares, found)
        worth = _WORTH_READING * float(np.var(self.wanted))
        # What a centre and a width explain of mere noise, by the criterion of Bayes' information. Conditions on
        # one input mostly say the same together as one does, so an input gets no more.
        noise = math.expm1(2.0 * math.log(rows) / rows)

        def dropped(logs: Array, group: list[tuple[int, int]]) -> Array:
            changed = logs.copy()
            for rule, place in group:
                distance = (self.inputs[:, place] - found.centres[rule, place]) / found.widths[rule, place]
                changed[:, rule] += 0.5 * distance**2
            return changed

        costs = [self._error(_shares(dropped(begin, group)), found) for group in groups]
        looks, logs = found.looks.copy(), begin
        for place in np.argsort(costs, kind="stable"):
            group = groups[int(place)]
            changed = dropped(logs, group)
            then = self._error(_shares(changed), found)
            if then - error <= max(error * noise, worth):
                looks[tuple(zip(*group))] = False
                logs, error = changed, max(error, then)
        return found._replace(looks=looks)

    def places(self, found: Imitation) -> Array:
        """Parameters as places from 0 to 1 between their bounds; widths by their logarithms."""
        low, high = self.form.slopes
        centres = (found.centres - self.low) / self.span
        widths = np.log(np.maximum(found.widths, self.narrowest) / self.narrowest) / self.octaves
        alpha = (found.alpha - low) / (high - low) if high > low else 0.0
        places = [centres.ravel(), widths.ravel(), 0.5 * (found.outputs + 1.0), np.array([alpha])]
        together: Array = np.concatenate(places)
        np.clip(together, 0.0, 1.0, out=together)
        return together

    def at(self, place: Array, looks: NDArray[np.bool_]) -> Imitation:
        """The rules whose parameters have these places."""
        rules, size = self.form.rules, looks.size
        low, high = self.form.slopes
        return Imitation(
            self.low + self.span * place[:size].reshape(looks.shape),
            self.narrowest * np.exp(self.octaves * place[size : 2 * size].reshape(looks.shape)),
            2.0 * place[2 * size : 2 * size + rules] - 1.0,
            low + (high - low) * float(place[-1]),
            looks,
        )


def _shares(logs: Array) -> Array:
    weights: Array = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
