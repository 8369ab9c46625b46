"""Fuzzy rules that can be read, edited, built by hand, drawn, and used."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._errors import PolicyError, Warning, visible

if TYPE_CHECKING:
    from ._problem import Problem

#: A width from which a condition holds everywhere.
_ANYWHERE = 1e18

#: The width of a condition on a mode.
_MODE_WIDTH = 0.09128709291752769


@dataclass(frozen=True)
class Condition:
    """A variable is around a centre, by so much: the width of a Gaussian."""

    centre: float
    width: float

    def __str__(self) -> str:
        return f"{self.centre:.3g} ± {self.width:.3g}"


@dataclass(frozen=True)
class Rule:
    """IF each variable is around its centre THEN the output. Rules do not change; :meth:`replace` makes another one.

    >>> import fpsrl
    >>> rule = fpsrl.Rule({"velocity": (0.2, 0.3)}, output=1.0)
    >>> rule.replace(output=0.5)
    Rule(conditions={'velocity': Condition(centre=0.2, width=0.3)}, output=0.5, action='')
    """

    #: What it looks at: each variable with its condition. A variable that is not there does not matter to it.
    conditions: Mapping[str, Condition]
    #: What it wants, from -1 (the action's lower limit) to 1 (its upper one).
    output: float
    #: The action that it is for; may be left out where there is only one.
    action: str = ""

    def __post_init__(self) -> None:
        conditions: dict[str, Condition] = {}
        given: dict[Any, Any] = dict(self.conditions)
        for name, condition in given.items():
            if not isinstance(condition, Condition):
                try:
                    centre, width = condition
                    condition = Condition(float(centre), float(width))
                except (TypeError, ValueError):
                    told = f"the condition on `{name}` is {condition!r}"
                    raise PolicyError(told, remedy="give its centre and its width: (1.0, 0.3)", column=str(name)) from None
            conditions[str(name)] = condition
        object.__setattr__(self, "conditions", conditions)
        object.__setattr__(self, "output", float(self.output))

    def replace(self, **changes: Any) -> Rule:
        """The same rule with something else in it."""
        return dataclasses.replace(self, **changes)

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.conditions.items(), key=lambda item: item[0])), self.output, self.action))


@dataclass(frozen=True)
class Action:
    """What a policy sets, and how its rules become a value."""

    name: str
    unit: str
    #: The lowest and the highest value.
    limits: tuple[float, float]
    #: The slope before the hyperbolic tangent.
    alpha: float
    #: How far the hyperbolic tangent reaches, in half ranges of the limits; beyond them it is cut off.
    reach: float
    #: How far it may move in a step; the rules themselves do not know of it.
    rate: Optional[float]


class Policy:
    """Fuzzy rules.

    A policy does not change; what edits it makes another one. It compares equal to one of the same rules, and can be copied
    and pickled.

    >>> import fpsrl
    >>> push, pull = fpsrl.Rule({"velocity": (1, 0.5)}, 1), fpsrl.Rule({"velocity": (-1, 0.5)}, -1)
    >>> policy = fpsrl.Policy(["position", "velocity"], {"force": (-2, 2)}, [push, pull], alpha=3)
    >>> round(float(policy.act([0.2, 0.7])[0]), 3)
    1.99
    >>> policy.act([[0.2, 0.7], [0.2, -0.7]]).shape
    (2, 1)
    """

    def __init__(
        self,
        states: Union[Sequence[str], Mapping[str, str]],
        actions: Union[Mapping[str, Any], Sequence[Action]],
        rules: Iterable[Rule],
        *,
        alpha: float = 1.0,
    ) -> None:
        """Builds a policy by hand.

        Args:
            states: What it sees: names, or names with units.
            actions: What it sets: names with their limits.
            rules: The rules.
            alpha: The slope of each action that does not say its own.
        """
        names = list(states)
        units = states if isinstance(states, Mapping) else dict.fromkeys(names, "")
        content = {
            "states": [{"name": name, "unit": units[name]} for name in names],
            "mirrored": False,
            "actions": [],
        }
        listed: list[Action] = []
        pairs = actions.items() if isinstance(actions, Mapping) else [(one.name, one) for one in actions]
        for name, given in pairs:
            if not isinstance(given, Action):
                low, high = given
                given = Action(name, "", (float(low), float(high)), float(alpha), 1.0, None)
            listed.append(given)
        _put_rules(content, listed, rules)
        self._set(_of_content(content))

    def _set(self, core: _core.Policy, ranges: Optional[dict[str, tuple[float, float]]] = None) -> None:
        self._core = core
        self._content: dict[str, Any] = json.loads(core.to_json())
        self._ranges = ranges or {}
        self._width = len(self._content["states"])

    @classmethod
    def _of(cls, core: _core.Policy, ranges: Optional[dict[str, tuple[float, float]]] = None) -> Policy:
        policy = cls.__new__(cls)
        policy._set(core, ranges)
        return policy

    @classmethod
    def for_problem(cls, problem: Problem, rules: Iterable[Rule], *, alpha: float = 1.0) -> Policy:
        """Builds a policy by hand for the variables of a problem."""
        core = problem._checked()
        content = {
            "states": [{"name": n, "unit": u, **({"values": v} if v else {})} for n, u, v in core.states],
            "mirrored": False,
            "actions": [],
        }
        actions = [Action(n, u, (low, high), float(alpha), 1.0, None) for n, u, (low, high) in core.actions]
        _put_rules(content, actions, rules)
        return cls._of(_of_content(content))

    @classmethod
    def read(cls, path: Union[str, os.PathLike[str]]) -> Policy:
        """Reads rules from a file: ``policy.json``, or another tool's FLL, FCL or FIS."""
        inner, _, notes = _core.import_policy(os.fspath(path))
        for note in notes:
            warnings.warn(f"{os.fspath(path)}: {note}", Warning, stacklevel=2)
        return cls._of(inner)

    @classmethod
    def from_json(cls, text: str) -> Policy:
        """A policy from the text of ``policy.json``."""
        return cls._of(_checked(text))

    def to_json(self) -> str:
        """The text of ``policy.json``."""
        return self._core.to_json()

    @property
    def states(self) -> list[str]:
        """What it sees, in the order of an observation."""
        return [state["name"] for state in self._content["states"]]

    @property
    def actions(self) -> list[Action]:
        """What it sets."""
        return [
            Action(
                base["name"],
                base["unit"],
                (base["limits"][0], base["limits"][1]),
                base["alpha"],
                base.get("reach", 1.0),
                base.get("rate"),
            )
            for base in self._content["actions"]
        ]

    @property
    def units(self) -> dict[str, str]:
        """The unit of each variable and action; may be empty."""
        return {one["name"]: one["unit"] for one in [*self._content["states"], *self._content["actions"]]}

    @property
    def mirrored(self) -> bool:
        """Whether the second half of the rules mirrors the first."""
        return bool(self._content["mirrored"])

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Its rules, those of the first action first."""
        names = self.states
        found = []
        for base in self._content["actions"]:
            for rule in base["rules"]:
                trios = zip(names, rule["centre"], rule["width"])
                conditions = {name: Condition(centre, width) for name, centre, width in trios if width < _ANYWHERE}
                found.append(Rule(conditions, rule["output"], base["name"]))
        return tuple(found)

    def with_rules(self, rules: Iterable[Rule]) -> Policy:
        """The same policy with other rules. It stays a mirrored one as long as the rules are their own mirror image."""
        content = json.loads(json.dumps(self._content))
        _put_rules(content, self.actions, rules)
        content["mirrored"] = self.mirrored and _is_mirrored(content)
        return type(self)._of(_of_content(content), self._ranges)

    def with_rule(self, index: int, rule: Rule) -> Policy:
        """The same policy with another rule in one place."""
        rules = list(self.rules)
        rules[index] = rule
        return self.with_rules(rules)

    def with_alpha(self, alpha: Union[float, Mapping[str, float]]) -> Policy:
        """The same policy with another slope, of all actions or of those that are named."""
        content = json.loads(json.dumps(self._content))
        for base in content["actions"]:
            base["alpha"] = float(alpha.get(base["name"], base["alpha"]) if isinstance(alpha, Mapping) else alpha)
        return type(self)._of(_of_content(content), self._ranges)

    def act(self, observation: ArrayLike, *, precision: str = "auto") -> NDArray[np.float64]:
        """The actions for one observation, or for many with a row each.

        One observation is answered in double precision, as an exported controller answers. Many are answered on lanes of
        single precision, as in rollouts: the difference is a rounding. ``precision="double"`` answers many as one, more
        slowly.

        Args:
            observation: The variables of :attr:`states`, in their order; an array with a row for each observation; or a
                dictionary, a series or a frame, whose numbers are taken by the names of the variables.
            precision: ``"auto"``, or ``"double"``.
        """
        if precision not in ("auto", "double"):
            raise ValueError(f"precision is {precision!r}; it is 'auto' or 'double'")
        if type(observation) is not np.ndarray and (isinstance(observation, Mapping) or _has_names(observation)):
            observation = self._by_names(observation)
        array: NDArray[Any] = observation if type(observation) is np.ndarray else np.asarray(observation)
        # A row of numbers is what controllers are asked most often; nothing else may cost it time.
        if array.ndim == 1 and array.dtype.kind == "f" and array.shape[0] == self._width:
            values = array.tolist()
            if all(map(math.isfinite, values)):
                return np.array(self._core.act(values))
        if array.ndim == 2 and array.shape[1] == self._width and array.dtype.isnative:
            acted = None
            if array.dtype == np.float64:
                acted = self._core.act_all(np.ascontiguousarray(array), precision == "double")
            elif array.dtype == np.float32 and precision == "auto":
                acted = self._core.act_all_single(np.ascontiguousarray(array))
            if acted is not None:
                return acted
        # Whatever is left is converted first, or refused with its place.
        array = self._observations(array)
        if array.ndim == 1:
            return np.array(self._core.act(array.tolist()))
        acted = self._core.act_all(np.ascontiguousarray(array), precision == "double")
        if acted is None:
            raise PolicyError("a number is not finite, and was a moment ago", remedy="let nobody change the observations")
        return acted

    __call__ = act

    def _by_names(self, observation: Any) -> NDArray[np.float64]:
        """Numbers that have names, in the order of the variables: whatever order they come in."""
        names = [str(name) for name in (observation.columns if hasattr(observation, "columns") else observation.keys())]
        columns = []
        for state in self.states:
            if names.count(state) != 1:
                told = f"the observation has {names.count(state)} numbers called `{state}`"
                raise PolicyError(told, remedy=f"give one of each: {', '.join(self.states)}", column=state)
            columns.append(np.asarray(observation[state], dtype=np.float64))
        return np.stack(columns, axis=-1)

    def _observations(self, array: NDArray[Any]) -> NDArray[np.float64]:
        """One observation or several as numbers, or what is wrong with them."""
        width, names = self._width, ", ".join(self.states)
        if array.dtype.kind not in "fiub":
            try:
                if array.dtype.kind == "c":
                    raise TypeError("complex numbers are no measurements")
                array = array.astype(np.float64)
            except (TypeError, ValueError) as error:
                told = f"an observation of type {array.dtype} holds no numbers"
                raise PolicyError(told, remedy=f"give {names} as numbers") from error
        array = array.astype(np.float64, copy=False)
        if array.ndim == 0 and width == 1:
            array = array.reshape(1)
        if array.ndim not in (1, 2) or array.shape[-1] != width:
            told = f"observations of shape {array.shape} do not fit: each needs {width} numbers"
            raise PolicyError(told, remedy=f"give {names} in this order, or a row of them for each observation")
        finite = np.isfinite(array)
        if not finite.all():
            place = np.argwhere(~finite)[0]
            column = self.states[int(place[-1])]
            row = int(place[0]) if array.ndim == 2 else None
            where = "" if row is None else f"row {row} (counted from 0), "
            told = f"{where}`{column}` is {array[tuple(place)]}, which is no measurement"
            remedy = "leave such rows out; an exported controller has a guard that says what to do then"
            raise PolicyError(told, remedy=remedy, row=row, column=column)
        return array

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Optional[NDArray[Any]] = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], Any]:
        """The actions as Stable-Baselines3 asks for them: with a state that is handed back, since rules keep none.

        An observation that is a dictionary is taken by the names of the variables.
        """
        return self.act(observation).astype(np.float32), state

    def explain(self) -> list[str]:
        """Its rules as sentences; then how steep it is, and what it does not look at."""
        sentences, steepness, unused = self._core.explain()
        return [*sentences, *steepness, *([f"not looked at: {', '.join(unused)}"] if unused else [])]

    def memberships(self, observation: ArrayLike) -> NDArray[np.float64]:
        """How much each rule has to say in each of many observations, a row each; in a row, the rules of an action sum to 1."""
        array = np.atleast_2d(self._observations(np.asarray(observation)))
        shares = []
        for base in self._content["actions"]:
            logs = np.zeros((len(array), len(base["rules"])))
            for index, rule in enumerate(base["rules"]):
                for place, quantity in enumerate(self._content["states"]):
                    if rule["width"][place] >= _ANYWHERE:
                        continue
                    difference = array[:, place] - rule["centre"][place]
                    if quantity.get("periodic"):
                        difference = (difference + np.pi) % (2 * np.pi) - np.pi
                    logs[:, index] -= 0.5 * (difference / rule["width"][place]) ** 2
            memberships = np.exp(logs - logs.max(axis=1, keepdims=True))
            shares.append(memberships / memberships.sum(axis=1, keepdims=True))
        return np.concatenate(shares, axis=1)

    def export(
        self,
        to: str,
        path: Union[str, os.PathLike[str]],
        *,
        name: str = "controller",
        guard: Optional[str] = None,
        **options: Any,
    ) -> Export:
        """Writes it for another machine: ``"c"``, ``"st"``, ``"python"``, ``"javascript"``, ``"rust"``, ``"onnx"``, ``"fll"``,
        ``"fcl"``, ``"fis"`` or ``"json"``.

        A policy alone has no data to guard with: :meth:`fpsrl.Run.export` writes a controller that knows what the log
        covered. The options are those of that method.
        """
        return Export._of(self._core.export(name, _export(to, path, name, guard, **options)))

    def plot(self, ax: Any = None, *, ranges: Optional[Mapping[str, tuple[float, float]]] = None) -> Any:
        """Draws the rules with matplotlib: a row for each rule, a picture for each variable, and what it wants. Returns the
        axes.

        Args:
            ax: The axes to draw into; without it, a new figure.
            ranges: What to show of each variable; without it, what the log covered, or else what the rules reach.
        """
        from ._plot import plot

        return plot(self, ax, {**self._ranges, **(ranges or {})})

    def _repr_html_(self) -> str:
        from ._plot import page

        return page(self, self._ranges)

    def __repr__(self) -> str:
        actions = ", ".join(action.name for action in self.actions)
        return visible(f"Policy({len(self.rules)} rules for {actions}, of {', '.join(self.states)})")

    def __str__(self) -> str:
        return "\n".join(self.explain())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return self._content == other._content

    def __hash__(self) -> int:
        return hash(self._core.to_json())

    def __reduce__(self) -> Any:
        return (_unpickled, (PICKLE, self._core.to_json(), self._ranges))


def _has_names(observation: Any) -> bool:
    """Whether an observation is a frame, or a series whose index has names."""
    package = type(observation).__module__.split(".")[0]
    if package not in ("pandas", "polars"):
        return False
    if hasattr(observation, "columns"):
        return True
    return package == "pandas" and any(isinstance(name, str) for name in observation.index)


#: The form of a pickled policy.
PICKLE = 1


def _unpickled(form: int, text: str, ranges: dict[str, tuple[float, float]]) -> Policy:
    if form != PICKLE:
        raise PolicyError(
            f"a pickled policy has the form {form}, and this fpsrl reads the form {PICKLE}",
            remedy="use the fpsrl that pickled it, and keep policies as `policy.to_json()`, which every version reads",
        )
    return Policy._of(_checked(text), ranges)


@dataclass(frozen=True)
class Export:
    """What was written for another machine."""

    #: The files: the controller's, its test vectors, its certificate.
    files: list[str]
    #: How far what they compute is from the reference, and on what that was tried.
    certificate: dict[str, Any]
    #: What whoever uses them must know.
    notes: list[str]

    @classmethod
    def _of(cls, written: tuple[list[Path], str, list[str]]) -> Export:
        files, certificate, notes = written
        return cls([os.fspath(file) for file in files], json.loads(certificate), notes)


_EXPORT: dict[str, Any] = {
    "single": False,
    "dialect": None,
    "own_mathematics": False,
    "fallback": {},
    "rate_limits": {},
    "provenance": True,
    "force": False,
}


def _export(
    to: str, path: Union[str, os.PathLike[str]], name: Optional[str], guard: Optional[str], **options: Any
) -> dict[str, Any]:
    """What the extension module takes; options that nobody knows are refused by their names."""
    for option in options:
        if option not in _EXPORT:
            raise TypeError(f"there is no option `{option}` of an export\nhint: known: guard, name, {', '.join(_EXPORT)}")
    chosen = {**_EXPORT, **options}
    for option in ("fallback", "rate_limits"):
        if not isinstance(chosen[option], Mapping):
            raise TypeError(f"{option}: {chosen[option]!r} was given where a value for each action is meant: {{'valve': 0.2}}")
    return {
        "to": to,
        "path": os.fspath(path),
        "name": name,
        "guard": guard,
        "single": bool(chosen["single"]),
        "dialect": chosen["dialect"],
        "own_mathematics": bool(chosen["own_mathematics"]),
        "fallback": [(str(key), float(value)) for key, value in chosen["fallback"].items()],
        "rate_limits": [(str(key), float(value)) for key, value in chosen["rate_limits"].items()],
        "provenance": bool(chosen["provenance"]),
        "force": bool(chosen["force"]),
    }


def _checked(text: str) -> _core.Policy:
    try:
        return _core.Policy(text)
    except ValueError as error:
        raise PolicyError(f"these are no rules: {error}", remedy="give the text of a policy.json") from None


def _of_content(content: dict[str, Any]) -> _core.Policy:
    try:
        return _core.Policy(json.dumps(content))
    except ValueError as error:
        raise PolicyError(f"the rules cannot be used: {error}", remedy="correct the rule that is named") from None


def _put_rules(content: dict[str, Any], actions: Sequence[Action], rules: Iterable[Rule]) -> None:
    """Puts rules into the content of a policy."""
    quantities = {state["name"]: state for state in content["states"]}
    names = list(quantities)
    known = [action.name for action in actions]
    of_action: dict[str, list[dict[str, Any]]] = {name: [] for name in known}
    for number, rule in enumerate(rules, start=1):
        if not isinstance(rule, Rule):
            raise TypeError(f"rule {number}: {type(rule).__name__} was given where a fpsrl.Rule is meant")
        action = rule.action or (known[0] if len(known) == 1 else "")
        if action not in of_action:
            told = f"rule {number} is for the action `{rule.action}`" if rule.action else f"rule {number} names no action"
            raise PolicyError(told, remedy=f"known: {', '.join(known)}")
        for name in rule.conditions:
            if name not in quantities:
                raise PolicyError(f"rule {number} looks at `{name}`", remedy=f"known: {', '.join(names)}")
        centre, width = [], []
        for name in names:
            condition = rule.conditions.get(name)
            if condition is None:
                centre.append(0.0)
                width.append(_ANYWHERE)
            else:
                centre.append(float(condition.centre))
                width.append(_MODE_WIDTH if quantities[name].get("values") else float(condition.width))
        of_action[action].append({"centre": centre, "width": width, "output": rule.output})
    content["actions"] = [
        {
            "name": action.name,
            "unit": action.unit,
            "limits": [float(limit) for limit in action.limits],
            **({"rate": action.rate} if action.rate is not None else {}),
            **({"reach": action.reach} if action.reach != 1.0 else {}),
            "alpha": float(action.alpha),
            "rules": of_action[action.name],
        }
        for action in actions
    ]
    _refuse_what_is_no_number(content)


def _refuse_what_is_no_number(content: dict[str, Any]) -> None:
    for base in content["actions"]:
        for number, rule in enumerate(base["rules"], start=1):
            for value in (*rule["centre"], *rule["width"], rule["output"]):
                if not math.isfinite(value):
                    told = f"rule {number} of `{base['name']}` has the number {value}"
                    raise PolicyError(told, remedy="give finite numbers")


def _is_mirrored(content: dict[str, Any]) -> bool:
    for base in content["actions"]:
        rules = base["rules"]
        half = len(rules) // 2
        if len(rules) % 2:
            return False
        for one, other in zip(rules[:half], rules[half:]):
            same = one["width"] == other["width"] and one["output"] == -other["output"]
            if not same or any(a != -b for a, b in zip(one["centre"], other["centre"])):
                return False
    return True


def escape(text: str) -> str:
    """Text as it may stand in a page."""
    return html.escape(visible(text), quote=True)
