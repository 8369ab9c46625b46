"""The estimator of scikit-learn: its contract, rules that imitate, and rules that are found for a reward."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")

from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fpsrl
from fpsrl import FuzzyController
from fpsrl import _imitation as imitation

#: Worlds and a search that take a moment.
SMALL: dict[str, Any] = {
    "world": {"kind": "ensemble", "members": 2, "layers": 1, "epochs": 10},
    "search": {"start_states": 10},
    "evaluation": {"start_states": 40},
}


def reward_controller(**changes: Any) -> FuzzyController:
    given = {"rules": 2, "reward": "-abs(level - 1)", "horizon": 30, "budget": 300_000, "settings": SMALL}
    return FuzzyController(**{**given, **changes})


def operator(rows: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Somebody who holds a level at 1 with a valve that saturates, and does not look at the second input."""
    random = np.random.default_rng(seed)
    X = np.column_stack([random.uniform(0.0, 2.0, rows), random.normal(20.0, 5.0, rows)])
    return X, np.clip(0.5 + 2.0 * (1.0 - X[:, 0]) + random.normal(0.0, 0.02, rows), 0.0, 1.0)


@pytest.fixture(scope="module")
def clone_of_operator() -> FuzzyController:
    return FuzzyController(rules=2).fit(*operator())


@pytest.fixture(scope="module")
def tank(log: dict[str, Any]) -> tuple[pd.DataFrame, pd.Series]:
    rows = 700
    return pd.DataFrame({"level": log["level"][:rows]}), pd.Series(log["valve"][:rows], name="valve")


@pytest.fixture(scope="module")
def controller(tank: tuple[pd.DataFrame, pd.Series]) -> FuzzyController:
    return reward_controller().fit(*tank)


# No check is expected to fail, so there is no list of them.
@parametrize_with_checks([FuzzyController()])
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_package_works_without_scikit_learn_and_says_what_needs_it() -> None:
    code = """
import sys
import fpsrl
assert "sklearn" not in sys.modules, "fpsrl loads scikit-learn"
sys.modules["sklearn"] = sys.modules["sklearn.base"] = None
try:
    fpsrl.FuzzyController
except ImportError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'fpsrl[sklearn]'" in told


# Imitation


def test_an_operator_is_imitated_where_nobody_has_looked(clone_of_operator: FuzzyController) -> None:
    assert clone_of_operator.score(*operator(seed=1)) > 0.99


def test_rules_speak_in_the_units_of_the_rows(clone_of_operator: FuzzyController) -> None:
    X, y = operator()
    # Levels in millimetres above the sea.
    scaled = np.column_stack([4e5 + 1e3 * X[:, 0], X[:, 1]])
    there = FuzzyController(rules=2).fit(scaled, 100.0 * y)
    ahead = sorted(rule.conditions["x0"].centre for rule in there.policy_.rules if rule.conditions)
    assert ahead and all(4e5 <= centre <= 4.02e5 for centre in ahead)
    np.testing.assert_allclose(there.predict(scaled), 100.0 * clone_of_operator.predict(X), atol=2.0)
    # Nothing stands between the rules and a row of X.
    np.testing.assert_array_equal(there.policy_.act(scaled, precision="double")[:, 0], there.predict(scaled))


@pytest.mark.parametrize(("scale", "offset"), [(1e-9, 0.0), (1e9, 0.0), (1.0, 1e9), (1e-200, 0.0)])
def test_any_scale_of_inputs_works(scale: float, offset: float) -> None:
    X, y = operator()
    X = offset + scale * X
    assert FuzzyController(rules=2).fit(X, y).score(X, y) > 0.98


def test_a_scale_that_no_rule_can_be_written_in_is_refused() -> None:
    X, y = operator()
    with pytest.raises(ValueError, match=r"column 1 of X [^\n]*\n.*larger unit"):
        FuzzyController().fit(X * [1.0, 1e30], y)


def test_inputs_that_do_not_matter_are_left_out(clone_of_operator: FuzzyController) -> None:
    assert clone_of_operator.explain()[-1] == "not looked at: x1"
    X, y = make_friedman1(400, noise=0.5, random_state=0)
    fitted = FuzzyController(rules=4).fit(X, y)
    # Five of its ten inputs are noise.
    seen = {name for rule in fitted.policy_.rules for name in rule.conditions}
    assert {"x0", "x1", "x2", "x3"} <= seen <= {f"x{place}" for place in range(5)}
    assert fitted.score(*make_friedman1(400, random_state=1)) > 0.9


def test_noise_is_not_learned_by_heart() -> None:
    X, y = load_diabetes(return_X_y=True)
    # A linear regression reaches 0.48 here, and rules that follow every row as far as they can, 0.32.
    assert cross_val_score(FuzzyController(rules=4), X, y, cv=5).mean() > 0.42


def test_the_order_of_rows_does_not_matter(clone_of_operator: FuzzyController) -> None:
    X, y = operator()
    order = np.random.default_rng(3).permutation(len(X))
    assert FuzzyController(rules=2).fit(X[order], y[order]).policy_ == clone_of_operator.policy_


def test_the_gradient_is_the_slope_of_the_cost() -> None:
    random = np.random.default_rng(0)
    form = imitation.Form.of({"rules": 3, "reach": 1.5}, None)
    fitted = imitation._Fitted(form, random.normal(size=(60, 2)), random.uniform(-1.0, 1.0, 60))
    looks = np.array([[True, True], [True, False], [False, True]])
    begin, place = random.uniform(0.2, 0.8, (2, 16))
    # A slope that is no more than moderate, so that differences are exact enough.
    place[-1] = 0.1
    _, gradient = fitted.cost(place, begin, 0.1, looks)
    for index in range(16):
        step = np.zeros(16)
        step[index] = 1e-6
        values = [fitted.cost(place + sign * step, begin, 0.1, looks)[0] for sign in (1.0, -1.0)]
        assert gradient[index] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-4, abs=1e-4), index


def test_refinement_finds_what_the_swarm_alone_misses() -> None:
    x = np.random.default_rng(0).uniform(-3.0, 3.0, (400, 1))
    # The swarm alone reaches 0.80 at three rules.
    assert FuzzyController(rules=3).fit(x, np.sin(2.0 * x[:, 0])).score(x, np.sin(2.0 * x[:, 0])) > 0.9


def test_actions_stay_within_what_was_seen_or_said() -> None:
    X, y = operator()
    far = np.array([[-50.0, 20.0], [50.0, 20.0]])
    seen = FuzzyController(rules=2).fit(X, 0.1 + 0.5 * y)
    assert seen.limits_ == {"action": (0.1, 0.6)}
    assert ((seen.predict(far) >= 0.1) & (seen.predict(far) <= 0.6)).all()
    said = FuzzyController(rules=2, limits=(0.2, 0.7)).fit(X, y)
    assert said.predict(X).min() == pytest.approx(0.2, abs=0.02)
    assert said.predict(X).max() == pytest.approx(0.7, abs=0.02)
    two = FuzzyController(rules=1, limits={"action1": (-3, 3)}).fit(X, np.column_stack([y, y]))
    assert two.limits_ == {"action0": (0.0, 1.0), "action1": (-3.0, 3.0)}


def test_what_never_changes_is_imitated_too() -> None:
    X, y = operator(50)
    np.testing.assert_allclose(FuzzyController().fit(X, np.full(50, 7.0)).predict(X), 7.0)
    np.testing.assert_allclose(FuzzyController().fit(np.ones((50, 2)), y).predict(np.ones((3, 2))), y.mean(), rtol=1e-6)
    # Beside an input that never moves, the others are seen as without it.
    more = np.column_stack([X, np.ones(50)])
    alone, beside = (FuzzyController(rules=2).fit(states, y).predict(states) for states in (X, more))
    np.testing.assert_array_equal(beside, alone)


def test_an_input_that_hardly_ever_moves_counts_when_it_does() -> None:
    X, _ = operator(600)
    alarm = np.isin(np.arange(600), [100, 300])
    fitted = FuzzyController(rules=2).fit(np.column_stack([X, alarm]), np.where(alarm, 5.0, 2.0))
    np.testing.assert_allclose(fitted.predict([[1.0, 20.0, 0.0], [1.0, 20.0, 1.0]]), [2.0, 5.0], atol=0.1)


def test_frames_give_the_rules_their_names() -> None:
    X, y = operator()
    frame = pd.DataFrame(X, columns=["level", "reward, of sorts"])
    settings = {"states": {"level": {"unit": "m"}}, "actions": {"valve": "%"}}
    fitted = FuzzyController(rules=2, settings=settings).fit(frame, pd.Series(100.0 * y, name="valve"))
    assert list(fitted.feature_names_in_) == ["level", "reward, of sorts"]
    assert fitted.policy_.states == ["level", "reward, of sorts"]
    assert fitted.policy_.units == {"level": "m", "reward, of sorts": "", "valve": "%"}
    assert "level" in fitted.explain()[0] and " m THEN valve" in fitted.explain()[0]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["reward, of sorts", "level"]])


def test_several_actions_have_rules_of_their_own() -> None:
    X, y = operator()
    both = np.column_stack([y, X[:, 1]])
    fitted = FuzzyController(rules=2).fit(X, pd.DataFrame(both, columns=["valve", "heater"]))
    assert fitted.n_outputs_ == 2 and fitted.predict(X).shape == both.shape
    assert [action.name for action in fitted.policy_.actions] == ["valve", "heater"]
    assert [rule.action for rule in fitted.policy_.rules] == ["valve"] * 2 + ["heater"] * 2
    assert fitted.score(X, both) > 0.98
    single = FuzzyController(rules=2).fit(X, both[:, :1])
    assert single.predict(X).shape == (len(X), 1)
    np.testing.assert_array_equal(single.predict(X)[:, 0], fitted.predict(X)[:, 0])


def test_seeds_decide_and_nothing_else_does() -> None:
    X, y = make_friedman1(100, random_state=0)
    rules = [FuzzyController(random_state=seed).fit(X, y).policy_ for seed in (None, None, 5, 5)]
    assert rules[0] == rules[1] and rules[2] == rules[3] and rules[0] != rules[2]
    drawn = [FuzzyController(random_state=np.random.RandomState(0)).fit(X, y).policy_ for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_searches_pipelines_and_transformed_targets() -> None:
    x = np.random.default_rng(0).uniform(-3.0, 3.0, (300, 1))
    y = np.sin(2.0 * x[:, 0])
    grid = GridSearchCV(FuzzyController(), {"rules": np.array([1, 3]), "settings": [None, {"reach": 3.0}]}, cv=3)
    grid.fit(x, y)
    # One rule says the same everywhere.
    assert grid.best_params_["rules"] == 3 and grid.best_score_ > 0.9
    X, y = operator()
    piped = make_pipeline(StandardScaler(), FuzzyController(rules=2)).fit(X, y)
    assert piped.score(*operator(seed=1)) > 0.99
    logarithms = TransformedTargetRegressor(FuzzyController(rules=2), func=np.log, inverse_func=np.exp)
    assert logarithms.fit(X, np.exp(3.0 * y)).score(X, np.exp(3.0 * y)) > 0.95


def test_a_controller_can_be_copied_pickled_and_set() -> None:
    X, y = operator(100)
    fitted = FuzzyController(rules=2, settings={"reach": 3.0}).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.explain() == fitted.explain()
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        fresh.explain()
    assert len(fresh.set_params(rules=3).fit(X, y).policy_.rules) == 3
    assert {action.reach for action in fitted.policy_.actions} == {3.0}
    # The bounds of slopes hold after refinement, too.
    flat = FuzzyController(settings={"policy": {"alpha": [0.1, 0.4]}}).fit(X, y)
    assert 0.1 <= flat.policy_.actions[0].alpha <= 0.4


def test_weights_count_in_the_score(clone_of_operator: FuzzyController) -> None:
    X, y = operator()
    y = np.where(np.arange(len(y)) < 100, 1.0 - y, y)
    assert clone_of_operator.score(X, y) < 0.9
    assert clone_of_operator.score(X, y, sample_weight=np.arange(len(y)) >= 100) > 0.99


# With a reward


def test_with_a_reward_the_whole_method_runs(controller: FuzzyController, tank: tuple[pd.DataFrame, pd.Series]) -> None:
    low, high = controller.predict(pd.DataFrame({"level": [0.6, 1.4]}))
    assert low > 0.8 and high < 0.2
    assert controller.promise_ == controller.run_.promise and controller.verdict_ == controller.run_.verdict
    assert controller.policy_.states == ["level"] and controller.limits_["valve"] == (tank[1].min(), tank[1].max())
    # Whoever moved the valve at random earned less.
    assert controller.score(*tank) > controller.run_.summary["gain"]["today"]
    # From the start states of the promise, the score is the promise.
    starts = pd.DataFrame(controller.run_.worlds.starts(40, of="judge"), columns=["level"])
    assert controller.score(starts) == pytest.approx(controller.promise_.mean, rel=1e-6)


def test_the_score_is_what_the_rules_earn_from_the_rows(controller: FuzzyController) -> None:
    X = pd.DataFrame({"level": [0.3, 1.0, 1.7]})
    run = controller.run_
    core, worlds = run.problem._checked(), run.worlds
    expected = np.zeros(3)
    for member in range(2):
        state, discount = X.to_numpy(), 1.0
        for _ in range(30):
            step = worlds.step(state, run.policy.act(state), member=member)
            expected += 0.5 * discount * step.rewards
            state, discount = step.next_states, discount * core.discount
    assert controller.score(X) == pytest.approx(expected.mean(), rel=1e-6)
    assert controller.score(X, sample_weight=[0, 1, 0]) == pytest.approx(expected[1], rel=1e-6)
    assert expected[1] > expected[0] and expected[1] > expected[2]
    with pytest.raises(ValueError, match="inconsistent"):
        controller.score(X, sample_weight=[1, 2])


def test_a_score_does_not_depend_on_how_many_rows_are_rolled_out_at_a_time(
    controller: FuzzyController, tank: tuple[pd.DataFrame, pd.Series], monkeypatch: pytest.MonkeyPatch
) -> None:
    score = controller.score(*tank)
    monkeypatch.setattr("fpsrl.sklearn._ROLLOUTS", 300)
    assert controller.score(*tank) == pytest.approx(score, rel=1e-9)


def test_a_column_of_rewards_does_as_well_as_a_formula(tank: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = tank
    earned = -np.abs(np.append(X["level"].to_numpy()[1:], 1.0) - 1.0)
    fitted = reward_controller(reward=None).fit(X, y, reward=earned)
    low, high = fitted.predict(pd.DataFrame({"level": [0.6, 1.4]}))
    assert low > 0.8 and high < 0.2


def test_steps_that_never_were_are_not_learned_from(tank: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = tank
    keep = np.r_[0:300, 400:700]
    inner = {"budget": 20_000}

    def learned(*rows: Any, **given: Any) -> int:
        return len(reward_controller(**inner).fit(*rows, **given).run_.log)

    # An array does not tell that rows are missing between its rows; the index of a frame does, and so do times.
    array = X.to_numpy()[keep], y.to_numpy()[keep]
    named = pd.DataFrame(array[0], columns=["level"]), array[1]
    assert learned(*named) == 599
    assert learned(X.iloc[keep], y.iloc[keep]) == 598
    assert learned(*named, time=keep) == 598
    assert learned(*named, time=np.datetime64("2024-01-01") + keep.astype("timedelta64[m]")) == 598
    assert learned(*named, episode=np.where(keep < 350, "before", "after")) == 598
    # Rows that bring their next state stand by themselves, in whichever order.
    order = np.random.default_rng(0).permutation(699)
    assert learned(X.iloc[order], y.iloc[order], next_X=X.to_numpy()[order + 1]) == 699


def test_rows_at_which_the_plant_stopped_are_known(tank: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = tank
    stopped = np.zeros(699, dtype=bool)
    stopped[[200, 450]] = True
    after = X.to_numpy()[1:]
    fitted = reward_controller(budget=20_000).fit(X[:-1], y[:-1], next_X=after, terminated=stopped)
    recorded = fitted.run_.log.to_dict()["terminated"]
    assert np.flatnonzero(recorded).tolist() == [200, 450]


def test_a_pickle_keeps_the_rules_and_not_the_run(
    controller: FuzzyController, tank: tuple[pd.DataFrame, pd.Series]
) -> None:
    again = pickle.loads(pickle.dumps(controller))
    np.testing.assert_array_equal(again.predict(tank[0]), controller.predict(tank[0]))
    assert again.promise_ == controller.promise_ and not hasattr(again, "run_")
    with pytest.raises(AttributeError, match=r"run_\.save"):
        again.score(*tank)
    # The original still has it.
    assert controller.run_.policy == controller.policy_


def test_rules_that_imitate_have_no_run(
    clone_of_operator: FuzzyController, tank: tuple[pd.DataFrame, pd.Series]
) -> None:
    with pytest.raises(AttributeError, match="give a reward"):
        _ = clone_of_operator.run_
    with pytest.raises(AttributeError, match="before `fit`"):
        _ = FuzzyController().run_
    changed = reward_controller(budget=20_000).fit(*tank)
    changed.set_params(reward=None, budget=None, settings=None).fit(*tank)
    assert not hasattr(changed, "run_") and not hasattr(changed, "promise_") and not hasattr(changed, "verdict_")


def test_a_search_over_parameters_takes_rows_with_what_belongs_to_them(tank: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = tank
    base = reward_controller(reward=None, budget=20_000)
    earned = -np.abs(np.append(X["level"].to_numpy()[1:], 1.0) - 1.0)
    grid = GridSearchCV(base, {"rules": [1, 2]}, cv=KFold(2), error_score="raise")
    grid.fit(X.to_numpy(), y.to_numpy(), reward=earned, time=np.arange(len(X)))
    # One rule cannot tell a low level from a high one.
    assert grid.best_params_ == {"rules": 2}


def test_inputs_that_nothing_moves_may_stand_in_any_column(tank: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = tank
    load = np.repeat(np.random.default_rng(1).uniform(size=100), 7)
    X = pd.DataFrame({"load": load, "level": X["level"]})
    fitted = reward_controller(budget=20_000, settings={**SMALL, "inputs": ["load"]}).fit(X, y)
    assert fitted.policy_.states == ["level", "load"]
    expected = fitted.policy_.act(X[["level", "load"]].to_numpy(), precision="double")[:, 0]
    np.testing.assert_array_equal(fitted.predict(X), expected)
    # Only the log knows how the load goes on: the start states are those of the evaluation.
    assert fitted.score(X) == fitted.score(X[:5])


def test_with_a_history_rows_count_as_at_rest(tank: tuple[pd.DataFrame, pd.Series]) -> None:
    fitted = reward_controller(budget=20_000, settings={**SMALL, "history": 2}).fit(*tank)
    X = pd.DataFrame({"level": [0.5, 1.5]})
    run = fitted.run_
    assert run.worlds.states == ["level", "level_1", "level_2", "valve_1", "valve_2"]
    acts = run.policy.act(X.to_numpy(), precision="double")
    starts = np.column_stack([X, X, X, acts, acts])
    discounts = run.problem._checked().discount ** np.arange(30)
    earned = [discounts @ run.worlds.rollout(run.policy, starts, 30, member=member)["rewards"] for member in range(2)]
    assert fitted.score(X) == pytest.approx(np.mean(earned), rel=1e-9)


# What is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rules": 0}, "1 rule"),
        ({"rules": 2.5}, "whole number"),
        ({"rules": "many"}, "whole number"),
        ({"rules": "auto"}, "needs a reward"),
        ({"terminal": "level > 2"}, "no reward"),
        ({"effort": "quick"}, "no reward"),
        ({"budget": 1000}, "no reward"),
        ({"limits": 3}, "pair"),
        ({"limits": (1, 0)}, "below the upper"),
        ({"limits": (0, float("inf"))}, "below the upper"),
        ({"limits": [(0, 1), (0, 1)]}, "2 actions, and y has 1"),
        ({"limits": {"pump": (0, 1)}}, "known: valve"),
        ({"random_state": -1}, "whole number from 0"),
        ({"settings": {"policy": {"rules": 3}}}, r"FuzzyController\(rules=…\)"),
        ({"settings": {"seed": 3}}, r"FuzzyController\(random_state=…\)"),
        ({"settings": {"members": 3}}, "`members` was set, but there is no reward"),
        ({"settings": {"states": {"levle": "m"}}}, "known: level"),
        ({"settings": {"states": {"level": {"angle": True}}}}, "nothing but the units"),
        ({"settings": {"alpha": "steep"}}, "a list of two is meant"),
        ({"reward": "-abs(levle - 1)"}, "did you mean `level`"),
        ({"reward": "-level", "settings": {"membrs": 3}}, "did you mean `members`"),
        ({"reward": "-level", "settings": {"states": {"level": {"angle": "degrees"}}}}, "radians"),
        ({"reward": "-level", "settings": {"states": {"level": {"column": "x"}}}}, "rename the column"),
        ({"reward": "-level", "settings": {"data": {"history": 1}, "lags": 1}}, "which X does not have"),
        ({"reward": "-level", "horizon": 1}, "2 to 1,000,000 steps"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_remedy(
    tank: tuple[pd.DataFrame, pd.Series], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FuzzyController(**changes).fit(*tank)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reward": np.zeros(700)}, "leave one of them out"),
        ({"episode": np.zeros(3)}, "inconsistent"),
        ({"terminated": np.full(700, np.nan)}, "row 0"),
        ({"terminated": ["yes"] * 700}, "no number"),
        ({"time": np.zeros((700, 2))}, "a value for each row"),
        ({"next_X": np.zeros((700, 2))}, r"\(700, 2\), and X has \(700, 1\)"),
    ],
)
def test_row_data_that_do_not_fit_are_refused(
    tank: tuple[pd.DataFrame, pd.Series], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        reward_controller().fit(*tank, **given)


def test_names_that_stand_for_two_things_are_refused(tank: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = tank
    with pytest.raises(ValueError, match="column of X and of y"):
        FuzzyController().fit(X, y.rename("level"))
    with pytest.raises(ValueError, match="choose another name"):
        reward_controller().fit(X.assign(reward=0.0), y)
    with pytest.raises(ValueError, match="in every row"):
        reward_controller().fit(X, pd.Series(np.ones(len(y)), name="valve"))
    with pytest.raises(TypeError, match="settings"):
        FuzzyController(settings=["reach"]).fit(X, y)
    assert issubclass(fpsrl.ProblemError, ValueError)
