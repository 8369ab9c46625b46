"""Fuzzy rules as an estimator of scikit-learn: states in, actions out.

:class:`FuzzyController` keeps scikit-learn's contract: it can be cloned, searched over, and stand in a pipeline.
Without a reward its rules imitate whoever acted; with one they come from the whole method, worlds and search and judge.
"""

# The types that pyright brings for scikit-learn are those of older versions.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false, reportReturnType=false, reportRedeclaration=false
from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
    from sklearn.utils import check_array, check_consistent_length, check_random_state
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    told = "fpsrl.FuzzyController needs scikit-learn, which is not installed\nhint: pip install 'fpsrl[sklearn]'"
    raise ImportError(told) from error

try:
    from sklearn.utils.validation import validate_data
except ImportError:
    # Before scikit-learn 1.6, estimators had it as a method.
    def validate_data(estimator: Any, *args: Any, **settings: Any) -> Any:
        return estimator._validate_data(*args, **settings)


from ._errors import ProblemError
from ._events import Progress
from ._imitation import Form, Scaled, imitated
from ._policy import Policy, _of_content
from ._problem import Problem
from ._stages import Promise, Run, run

_Array = NDArray[np.float64]

#: Settings that mean something where rules only imitate.
_OF_IMITATION = ("alpha", "reach")

#: How far the hyperbolic tangent reaches where rules imitate. Actions of a log stand at their limits for long, and in
#: between they are often straight lines: between the paper's 1 and the nearly straight 3, this fits both.
_REACH = 1.5

#: Rollouts that are made at a time.
_ROLLOUTS = 4_096

#: What the constructor takes by itself, and in which section of a problem it stands. In the settings, it would undo
#: whatever a search over the constructor's parameters sets.
_PARAMETERS = {
    "rules": "policy",
    "reward": "world",
    "terminal": "world",
    "effort": "search",
    "budget": "search",
    "horizon": "",
    "seed": "",
}

class FuzzyController(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Fuzzy rules that say which action to take in which state.

    ``X`` are states, a row each in the order of time. ``y`` are the actions that were taken in them, ``(n,)`` or
    ``(n, actions)``. :meth:`predict` gives the actions of the rules. There are two ways to get rules:

    * **Without a reward, they imitate** whoever acted: a regression by rules that can be read. The order of the rows
      does not matter then. Conditions that explain next to nothing are left out of the rules. :meth:`score` is R².
    * **With a reward, they are found by the whole method**: worlds are learned from the rows, rules are searched on
      them and judged. The reward is a formula here, or a column that :meth:`fit` is given. :meth:`score` is what the
      rules earn.

    Inputs may have any scale: they are put onto one inside, and the rules speak in the units of ``X``. Behind a
    ``StandardScaler`` they would speak in its units.

    Variables are called after the columns of a frame, or ``x0``, ``x1`` and so on; actions after the columns of ``y``,
    or ``action``, or ``action0``, ``action1`` and so on.

    Args:
        rules: Rules for each action. With a reward also ``"auto"``, which adds them while they pay.
        reward: The reward as a formula of the variables, such as ``"-abs(level - 1)"``.
        terminal: When the plant stops for good, as a formula. Needs a reward.
        horizon: Steps that the rules look ahead. Does nothing without a reward.
        limits: The lowest and the highest value of the action: a pair, a list of a pair for each action, or a
            dictionary of pairs by name. Without it, the lowest and the highest that were seen.
        effort: ``"quick"``, ``"normal"`` or ``"thorough"``. Needs a reward.
        budget: How much the search may do instead: ``"5m"``, or a number of model steps. Needs a reward.
        random_state: The seed: a whole number, or a ``numpy.random.RandomState``. ``None`` is a seed of its own, so
            that the same data always give the same rules.
        settings: All other settings, as :class:`fpsrl.Problem` takes them: ``{"world": {"members": 3}, "history": 2}``.
            ``states``, ``inputs`` and ``actions`` are settings of the columns there, such as their units:
            ``{"states": {"level": {"unit": "m"}}, "inputs": ["ambient"]}``. Imitation knows ``alpha`` and ``reach`` of
            them, and units.
        progress: See :data:`fpsrl.Progress`.

    Attributes:
        policy_: The rules, a :class:`fpsrl.Policy`.
        limits_: The lowest and the highest value of each action, by name.
        n_outputs_: How many actions there are.
        n_features_in_: How many variables a state has.
        feature_names_in_: What they are called, if ``X`` was a frame.
        run_: With a reward, the :class:`fpsrl.Run`: its worlds, its report, its exports. A pickle does not keep it.
        promise_: With a reward, what the rules promise.
        verdict_: With a reward, ``"go"``, ``"careful"`` or ``"no-go"``.

    >>> import numpy as np
    >>> from fpsrl import FuzzyController
    >>> level = np.linspace(0, 2, 200).reshape(-1, 1)
    >>> valve = np.clip(2.5 - 2 * level[:, 0], 0, 1)
    >>> operator = FuzzyController(rules=2).fit(level, valve)
    >>> bool(operator.score(level, valve) > 0.99)
    True
    >>> [rule[:8] for rule in operator.explain()[:2]]
    ['IF x0 is', 'IF x0 is']
    """

    policy_: Policy
    limits_: dict[str, tuple[float, float]]
    n_outputs_: int
    promise_: Promise
    verdict_: Optional[str]

    def __init__(
        self,
        rules: Union[int, str] = 3,
        *,
        reward: Optional[str] = None,
        terminal: Optional[str] = None,
        horizon: int = 100,
        limits: Any = None,
        effort: Optional[str] = None,
        budget: Union[None, int, str] = None,
        random_state: Any = None,
        settings: Optional[Mapping[str, Any]] = None,
        progress: Progress = None,
    ) -> None:
        self.rules = rules
        self.reward = reward
        self.terminal = terminal
        self.horizon = horizon
        self.limits = limits
        self.effort = effort
        self.budget = budget
        self.random_state = random_state
        self.settings = settings
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        reward: Any = None,
        terminated: Any = None,
        episode: Any = None,
        time: Any = None,
        next_X: Any = None,
    ) -> FuzzyController:
        """Makes the rules.

        Where there is a reward, row after row is taken for one step of the plant. Whatever takes rows out, such as
        cross-validation, makes steps that never were, unless it is known which rows belong together: give ``time``,
        ``episode`` or ``next_X`` then. Imitation needs none of these, and takes no notice of them.

        Args:
            X: The states.
            y: The action taken in each.
            reward: What each step earned, if no formula says so.
            terminated: Whether the plant has stopped for good with the step.
            episode: Which episode each row is of: numbers or words. No step leads from one to another.
            time: When each row was: numbers or times. Steps that are too long are no steps. Without it, the index of a
                frame of pandas, if it is one of numbers or times that no value stands in twice.
            next_X: The state that each row's action led to. Rows then stand by themselves, and their order does not
                matter.
        """
        named = _names_of_actions(y)
        index = getattr(X, "index", None) if type(X).__module__.split(".")[0] == "pandas" else None
        states, acted = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2
        )
        self._y_ndim = acted.ndim
        acted = np.asarray(acted, dtype=np.float64).reshape(len(states), -1)
        self.n_outputs_ = acted.shape[1]
        names = self._names()
        numbered = [f"action{place}" for place in range(acted.shape[1])]
        actions = named or (["action"] if len(numbered) == 1 else numbered)
        for gone in ("_run", "promise_", "verdict_"):
            self.__dict__.pop(gone, None)
        given = self._settings()
        columns = _Columns.of(names, actions, given)
        limits = _limits(self.limits, actions, acted)
        if self.reward is None and reward is None:
            policy = self._imitate(states, acted, columns, limits, given)
        else:
            rows = {"reward": reward, "terminated": terminated, "episode": episode, "time": time}
            if time is None and next_X is None and index is not None and _is_time(index):
                rows["time"] = index
            if next_X is not None:
                rows["time"] = None
                next_X = check_array(next_X, dtype=np.float64)
                if next_X.shape != states.shape:
                    told = f"next_X has the shape {next_X.shape}, and X has {states.shape}"
                    raise ValueError(f"{told}; give a row for each row")
            policy = self._search(states, acted, next_X, rows, columns, limits, given)
        self.limits_ = {name: (low, high) for name, (low, high) in zip(actions, limits)}
        self.policy_ = policy
        return self

    def predict(self, X: Any) -> _Array:
        """The actions of the rules, in the shape of the ``y`` that they were made from.

        >>> import numpy as np
        >>> from fpsrl import FuzzyController
        >>> X = np.random.default_rng(0).uniform(size=(50, 2))
        >>> y = np.column_stack([X[:, 0], 1 - X[:, 1]])
        >>> FuzzyController(rules=2).fit(X, y).predict(X[:3]).shape
        (3, 2)
        """
        check_is_fitted(self)
        states = validate_data(self, X, dtype=np.float64, reset=False)
        acted = self.policy_.act(self._seen(states), precision="double")
        return acted.reshape(-1) if self._y_ndim == 1 else acted

    def score(self, X: Any, y: Any = None, sample_weight: Optional[ArrayLike] = None) -> float:
        """How good the rules are; more is better.

        Where they imitate, R² of their actions against those in ``y``. It needs ``y``.

        With a reward, what they earn on the worlds that were learned in :meth:`fit`: the mean discounted return over
        the horizon, from each row of ``X`` as a start state, averaged over the worlds. ``y`` is not looked at, because
        the rules are not meant to act as the log did. The score compares rules, efforts and seeds of the search on the
        same data; for a horizon or settings of the worlds it says nothing, as worlds that are easier to please score
        higher. With a history, the rows count as at rest. With inputs, whose course only the log knows, the rules start
        in the states of the evaluation instead, and neither ``X`` nor the weights are looked at.

        Args:
            X: States.
            y: The actions that were taken in them.
            sample_weight: How much each row counts.
        """
        check_is_fitted(self)
        if not hasattr(self, "promise_"):
            return float(super().score(X, y, sample_weight))
        states = validate_data(self, X, dtype=np.float64, reset=False)
        weights: Optional[_Array] = None
        if sample_weight is not None:
            weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64)
            check_consistent_length(states, weights)
        made = self.run_
        worlds, core = made.worlds, made.problem._checked()
        starts = _starts(made, states, self._names())
        if starts is None:
            starts, weights = worlds.starts(1000, of="evaluation"), None
        discounts = core.discount ** np.arange(core.horizon)
        returns = np.zeros(len(starts))
        # A rollout keeps all of its states: many at once would take much memory.
        for first in range(0, len(starts), _ROLLOUTS):
            some = slice(first, first + _ROLLOUTS)
            for member in range(len(worlds)):
                rewards = worlds.rollout(made.policy, starts[some], core.horizon, member=member)["rewards"]
                returns[some] += discounts @ rewards / len(worlds)
        return float(np.average(returns, weights=weights))

    def explain(self) -> list[str]:
        """The rules as sentences."""
        check_is_fitted(self)
        return self.policy_.explain()

    @property
    def run_(self) -> Run:
        """The run that the rules are of, where there was a reward."""
        made = self.__dict__.get("_run")
        if made is None:
            if "promise_" in self.__dict__:
                told = "a pickle does not keep the run; `run_.save(directory)` does, and `fpsrl.load` loads it"
            elif "policy_" in self.__dict__:
                told = "rules that imitate have no run; give a reward"
            else:
                told = "there is no run before `fit`"
            raise AttributeError(told)
        return made  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        # Worlds are of another make than pickles; rules are not.
        state.pop("_run", None)
        return state

    def _names(self) -> list[str]:
        named = getattr(self, "feature_names_in_", None)
        return [f"x{place}" for place in range(self.n_features_in_)] if named is None else [str(name) for name in named]

    def _seen(self, states: _Array) -> _Array:
        """States as the rules see them: inputs come last there."""
        names = self._names()
        order = [names.index(name) for name in self.policy_.states]
        return np.ascontiguousarray(states if order == list(range(len(names))) else states[:, order])

    def _seed(self) -> Optional[int]:
        given = self.random_state
        if given is None:
            return None
        if isinstance(given, numbers.Integral):
            if not 0 <= int(given) < 2**63:
                raise ValueError(f"random_state is {given}; a seed is a whole number from 0 on, of at most 63 bits")
            return int(given)
        return int(check_random_state(given).randint(2**31 - 1))

    def _settings(self) -> dict[str, Any]:
        if self.settings is not None and not isinstance(self.settings, Mapping):
            raise TypeError(f"settings: {type(self.settings).__name__} was given where a dictionary is meant")
        given = dict(self.settings or {})
        for name, section in _PARAMETERS.items():
            within = given.get(section)
            if name in given or (isinstance(within, Mapping) and name in within):
                parameter = "random_state" if name == "seed" else name
                told = f"`{name}` stands in the settings"
                remedy = f"give it as a parameter: FuzzyController({parameter}=…)"
                raise ProblemError(told, remedy=remedy, setting=name)
        return given

    def _rules(self) -> Union[int, str]:
        if isinstance(self.rules, numbers.Integral) and not isinstance(self.rules, bool):
            return int(self.rules)
        if self.rules != "auto":
            remedy = "give a whole number, or 'auto'"
            raise ProblemError(f"`rules` is {self.rules!r}", remedy=remedy, setting="policy.rules")
        return "auto"

    def _imitate(
        self,
        states: _Array,
        acted: _Array,
        columns: _Columns,
        limits: Sequence[tuple[float, float]],
        settings: dict[str, Any],
    ) -> Policy:
        for name in ("terminal", "effort", "budget"):
            if getattr(self, name) is not None:
                told = f"`{name}` is {getattr(self, name)!r}, but there is no reward"
                remedy = "give a reward; without one, the rules imitate the actions in y, and nothing is searched"
                raise ProblemError(told, remedy=remedy, setting=name)
        if self.rules == "auto":
            remedy = "give a number; scikit-learn's GridSearchCV finds the best one"
            raise ProblemError("`rules` is 'auto', which needs a reward", remedy=remedy, setting="policy.rules")
        policy = {"reach": _REACH, **_of_imitation(settings), "rules": self._rules()}
        columns.refuse_all_but_units()
        form = Form.of(policy, self._seed())
        content: dict[str, Any] = {
            "states": [{"name": name, "unit": columns.unit(name)} for name in columns.names],
            "mirrored": False,
            "actions": [],
        }
        # Whichever order the rows come in, the rules are the same.
        order = np.lexsort((*acted.T[::-1], *states.T[::-1]))
        states, acted = states[order], acted[order]
        scaled = Scaled.of(states)
        for place, (low, high) in enumerate(limits):
            wanted = np.clip((acted[:, place] - low) / (high - low) * 2.0 - 1.0, -1.0, 1.0)
            found = imitated(form, scaled.values, wanted)
            centres, widths = scaled.back(found)
            name = columns.actions[place]
            content["actions"].append(
                {
                    "name": name,
                    "unit": columns.unit(name),
                    "limits": [low, high],
                    "reach": form.reach,
                    "alpha": found.alpha,
                    "rules": [
                        {"centre": centre.tolist(), "width": width.tolist(), "output": float(output)}
                        for centre, width, output in zip(centres, widths, found.outputs)
                    ],
                }
            )
        seen = np.quantile(states, [0.005, 0.995], axis=0)
        ranges = {name: (float(seen[0, place]), float(seen[1, place])) for place, name in enumerate(columns.names)}
        return Policy._of(_of_content(content), ranges)

    def _search(
        self,
        states: _Array,
        acted: _Array,
        next_states: Optional[_Array],
        rows: dict[str, Any],
        columns: _Columns,
        limits: Sequence[tuple[float, float]],
        settings: dict[str, Any],
    ) -> Policy:
        if self.reward is not None and rows["reward"] is not None:
            told = f"the reward is a formula, {self.reward!r}, and a column that was given to fit"
            raise ProblemError(told, remedy="leave one of them out", setting="world.reward")
        for name, (low, high), values in zip(columns.actions, limits, acted.T):
            if values.min() == values.max():
                told = f"`{name}` is {values[0]:g} in every row: nothing can be learned about what it does"
                raise ProblemError(told, remedy="give rows in which it differs", setting=f"action.{name}")
        problem = Problem(
            "controller",
            horizon=self.horizon,
            states=columns.states,
            inputs=columns.inputs or None,
            actions={
                name: {"limits": [low, high], **columns.of_actions.get(name, {})}
                for name, (low, high) in zip(columns.actions, limits)
            },
            reward=self.reward,
            terminal=self.terminal,
            rules=self._rules(),
            effort=self.effort,
            budget=self.budget,
            seed=self._seed(),
        ).replace(**settings)
        log: dict[str, Any] = {name: states[:, place] for place, name in enumerate(columns.names)}
        log.update((name, acted[:, place]) for place, name in enumerate(columns.actions))
        data: dict[str, Any] = {}
        keys = {"reward": "reward", "terminated": "terminal", "episode": "episode", "time": "time"}
        for what, values in rows.items():
            if values is None:
                continue
            check_consistent_length(states, values)
            title = what
            while title in log:
                title += "_"
            data[keys[what]] = title
            log[title] = _row_data(what, values)
        if next_states is not None:
            data["next"] = "next_"
            log.update((f"next_{name}", next_states[:, place]) for place, name in enumerate(columns.names))
        if data:
            problem = problem.replace(data=data)
        _refuse_what_x_has_not(problem.states, columns.names)
        made = run(problem, log, progress=self.progress)
        # What rules see may have been chosen by the log.
        _refuse_what_x_has_not(made.policy.states, columns.names)
        self._run = made
        self.promise_ = made.promise
        self.verdict_ = made.verdict
        return made.policy


class _Columns(NamedTuple):
    """What the columns of X and y are called, and what is said about them."""

    names: list[str]
    actions: list[str]
    #: The columns of X that the actions move.
    states: dict[str, dict[str, Any]]
    #: Those that nothing moves.
    inputs: dict[str, dict[str, Any]]
    of_actions: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, names: list[str], actions: list[str], settings: dict[str, Any]) -> _Columns:
        """What the settings say about columns; it is taken out of them."""
        states = _of_columns("states", names, settings)
        inputs = _of_columns("inputs", names, settings)
        of_actions = _of_columns("actions", actions, settings)
        twice = next((name for name in actions if name in names), None)
        if twice is not None:
            told = f"`{twice}` is a column of X and of y"
            raise ProblemError(told, remedy="rename one of them", column=twice)
        return cls(
            names,
            actions,
            {name: states.get(name, {}) for name in names if name not in inputs},
            {name: inputs[name] for name in names if name in inputs},
            of_actions,
        )

    def unit(self, name: str) -> str:
        return str(({**self.states, **self.inputs, **self.of_actions}).get(name, {}).get("unit", ""))

    def refuse_all_but_units(self) -> None:
        for name, settings in {**self.states, **self.inputs, **self.of_actions}.items():
            for key in settings:
                if key != "unit":
                    told = f"`{key}` was set for `{name}`, but there is no reward"
                    remedy = "rules that imitate know nothing but the units of columns"
                    raise ProblemError(told, remedy=remedy, setting=key)


def _of_columns(kind: str, names: Sequence[str], settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    given = settings.pop(kind, None)
    if given is None:
        return {}
    pairs = dict(given) if isinstance(given, Mapping) else dict.fromkeys([given] if isinstance(given, str) else given)
    found: dict[str, dict[str, Any]] = {}
    for name, value in pairs.items():
        if name not in names:
            told = f"settings[{kind!r}] has `{name}`, which is no column"
            raise ProblemError(told, remedy=f"known: {', '.join(names)}", setting=kind)
        if value is not None and not isinstance(value, (str, Mapping)):
            told = f"settings[{kind!r}][{name!r}]: {type(value).__name__} was given where a dictionary is meant"
            raise TypeError(told)
        said: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        for key in said:
            # Rules are asked with rows of X: nothing may stand between the two.
            if key in ("name", "column") or (key == "angle" and said[key] == "degrees"):
                told = f"`{key}` was set for `{name}`"
                remedy = "give angles in radians" if key == "angle" else "rename the column of X or y itself"
                raise ProblemError(told, remedy=remedy, setting=key)
        found[name] = {} if value is None else {"unit": value} if isinstance(value, str) else dict(said)
    return found


def _names_of_actions(y: Any) -> Optional[list[str]]:
    """What the columns of a frame or a series are called, if all of them are called something."""
    if hasattr(y, "columns"):
        named = list(y.columns)
    elif hasattr(y, "name") and hasattr(y, "dtype"):
        named = [y.name]
    else:
        return None
    is_named = all(isinstance(name, str) and name.strip() for name in named) and len(set(named)) == len(named)
    return [str(name) for name in named] if is_named else None


def _is_time(index: Any) -> bool:
    """Whether the index of a frame tells when its rows were."""
    kind = getattr(index.dtype, "kind", "O")
    is_dated = kind == "M" or "datetime" in str(index.dtype)
    return getattr(index, "nlevels", 1) == 1 and (is_dated or kind in "iuf") and bool(index.is_unique)


def _row_data(what: str, values: Any) -> Any:
    """What fit was given for each row, as a column of a log."""
    if type(values).__module__.split(".")[0] in ("pandas", "polars", "pyarrow") and what in ("episode", "time"):
        return values
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise ValueError(f"{what} has the shape {array.shape}; give a value for each row of X")
    if what in ("reward", "terminated"):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{what} holds something that is no number") from None
        if not np.isfinite(array).all():
            row = int(np.argmin(np.isfinite(array)))
            raise ValueError(f"{what}: row {row} (counted from 0) is {array[row]}; give numbers")
    return array


def _refuse_what_x_has_not(seen: Sequence[str], names: Sequence[str]) -> None:
    missing = [name for name in seen if name not in names]
    if missing:
        told = f"the rules are to see {', '.join(missing)}, which X does not have"
        remedy = "make it a column of X; or leave `lags`, `change` and the like out of the settings"
        raise ProblemError(told, remedy=remedy)


def _limits(given: Any, actions: Sequence[str], acted: _Array) -> list[tuple[float, float]]:
    """The lowest and the highest value of each action."""
    found = list(zip(acted.min(axis=0).tolist(), acted.max(axis=0).tolist()))
    if isinstance(given, Mapping):
        for name, pair in given.items():
            if name not in actions:
                raise ProblemError(f"limits has `{name}`, which is no action", remedy=f"known: {', '.join(actions)}")
            found[actions.index(name)] = _pair(pair)
    elif given is not None:
        try:
            pairs = [given] if len(actions) == 1 and np.shape(given) == (2,) else list(given)
        except (TypeError, ValueError):
            raise ProblemError(f"limits is {given!r}", remedy="give a pair, (low, high), for each action") from None
        if len(pairs) != len(actions):
            told = f"limits are given for {len(pairs)} actions, and y has {len(actions)}"
            raise ProblemError(told, remedy="give a pair for each: [(low, high), …]")
        found = [_pair(pair) for pair in pairs]
    # An action that never moved has no range to show; any range around it does.
    wide = [max(1.0, abs(low)) if low == high else 0.0 for low, high in found]
    return [(low - margin, high + margin) for (low, high), margin in zip(found, wide)]


def _pair(given: Any) -> tuple[float, float]:
    try:
        low, high = (float(limit) for limit in given)
    except (TypeError, ValueError):
        raise ProblemError(f"limits has {given!r} where a pair is meant", remedy="write it as (low, high)") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        told = f"limits has {given!r}, but the lower one must be below the upper one"
        raise ProblemError(told, remedy="write it as (low, high), with finite numbers")
    return low, high


def _starts(made: Run, states: _Array, names: Sequence[str]) -> Optional[_Array]:
    """Rows of X as states of the worlds; none if worlds need to know where in the log they are."""
    worlds = made.worlds
    known = dict(zip(names, states.T))
    wanted = made.policy.act(np.column_stack([known[name] for name in made.policy.states]), precision="double")
    # At rest, what was is what is, and the rules have been doing what they do.
    known.update((action.name, wanted[:, place]) for place, action in enumerate(made.policy.actions))
    columns = []
    for name in worlds.states:
        base, _, lag = name.rpartition("_")
        column = known.get(name, known.get(base) if lag.isdigit() else None)
        if column is None:
            return None
        columns.append(column)
    return np.column_stack(columns)


def _of_imitation(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that an imitation has a use for; others are refused."""
    policy = settings.pop("policy", {})
    if not isinstance(policy, Mapping):
        raise TypeError(f"settings['policy']: {type(policy).__name__} was given where a dictionary is meant")
    found = {**policy, **settings}
    for key in found:
        if key not in _OF_IMITATION:
            told = f"`{key}` was set, but there is no reward"
            remedy = "rules that imitate have `alpha`, `reach` and units of columns"
            raise ProblemError(told, remedy=remedy, setting=key)
    return found
