"""Rules as objects: read, edited, built by hand, used."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fpsrl
from fpsrl import Condition, Policy, Rule


def car() -> Policy:
    """A policy that pushes where the car is going."""
    rules = [Rule({"velocity": (0.5, 0.3), "position": (0.1, 2.0)}, 1.0), Rule({"velocity": (-0.5, 0.3)}, -0.8)]
    return Policy({"position": "m", "velocity": "m/s"}, {"force": (-2.0, 2.0)}, rules, alpha=3.0)


def by_hand(policy: Policy, states: np.ndarray) -> np.ndarray:
    """Equation 4 of the paper, written down once more."""
    columns = []
    for action in policy.actions:
        rules = [rule for rule in policy.rules if rule.action == action.name]
        weights = np.ones((len(states), len(rules)))
        for index, rule in enumerate(rules):
            for name, condition in rule.conditions.items():
                distance = (states[:, policy.states.index(name)] - condition.centre) / condition.width
                weights[:, index] *= np.exp(-0.5 * distance**2)
        mean = weights @ [rule.output for rule in rules] / weights.sum(axis=1)
        low, high = action.limits
        columns.append(0.5 * (low + high) + 0.5 * (high - low) * np.tanh(action.alpha * mean))
    return np.stack(columns, axis=1)


def test_one_state_and_many_are_answered_as_the_paper_has_it() -> None:
    policy, states = car(), np.random.default_rng(1).normal(size=(20_000, 2)) * 0.5
    expected = by_hand(policy, states)
    assert np.allclose(policy.act(states), expected, atol=2e-5)
    assert np.allclose(policy.act(states, precision="double"), expected, atol=1e-12)
    assert np.allclose(policy.act(states.astype(np.float32)), expected, atol=2e-5)
    for row in (0, 7, 19_999):
        assert np.allclose(policy.act(states[row]), expected[row], atol=1e-12)
        assert np.allclose(policy.act(list(states[row])), expected[row], atol=1e-12)
    # A lane's numbers depend neither on its neighbours nor on their number.
    assert np.array_equal(policy.act(states)[:100], policy.act(states[:100]))


@pytest.mark.parametrize(
    "states",
    [
        np.asfortranarray(np.ones((5, 2))),
        np.ones((5, 4))[:, ::2],
        np.ones((10, 2))[::-2],
        np.ones((5, 2), dtype=np.float32),
        np.ones((5, 2), dtype=np.int64),
        np.ones((5, 2), dtype=bool),
        np.ones((5, 2), dtype=">f8"),
        [[1, 1]] * 5,
    ],
    ids=["columns first", "every other column", "backwards", "float32", "integers", "truths", "big-endian", "lists"],
)
def test_states_of_any_layout_are_the_same_states(states: Any) -> None:
    assert np.allclose(car().act(states), np.repeat(car().act([1.0, 1.0])[None], 5, axis=0), atol=1e-6)


def test_states_of_any_number_of_variables_reach_their_columns() -> None:
    random = np.random.default_rng(4)
    for width in range(1, 11):
        names = [f"x{place}" for place in range(width)]
        rules = [Rule({name: (random.normal(), 1.0) for name in names}, output) for output in (1.0, -0.5)]
        policy = Policy(names, {"u": (0.0, 3.0), "v": (-1.0, 1.0)}, [rule.replace(action=a) for a in "uv" for rule in rules])
        states = random.normal(size=(9_000, width))
        assert np.allclose(policy.act(states), by_hand(policy, states), atol=1e-5), width
        assert np.allclose(policy.act(states.astype(np.float32)), by_hand(policy, states), atol=1e-4), width
    far = np.array([[1e300], [-1e300], [0.0]])
    one = Policy(["x"], {"u": (-1.0, 1.0)}, [Rule({"x": (1.0, 1.0)}, 1.0), Rule({"x": (-1.0, 1.0)}, -1.0)])
    assert np.isfinite(one.act(far)).all()


def test_read_only_states_are_taken_and_left_as_they_are() -> None:
    states = np.random.default_rng(2).normal(size=(50, 2))
    before = states.copy()
    states.setflags(write=False)
    car().act(states)
    assert np.array_equal(states, before) and car().act(np.empty((0, 2))).shape == (0, 1)


@pytest.mark.parametrize(
    ("states", "said"),
    [
        (np.ones(3), "each needs 2 numbers"),
        (np.ones((4, 3)), "each needs 2 numbers"),
        (np.ones((2, 2, 2)), "each needs 2 numbers"),
        (1.0, "each needs 2 numbers"),
        ([0.0, np.nan], "`velocity` is nan"),
        ([[0.0, 0.0], [np.inf, 0.0]], "row 1 (counted from 0), `position` is inf"),
        (np.array([[1.0, np.nan]], dtype=np.float32), "`velocity` is nan"),
        (["a", "b"], "holds no numbers"),
        (np.ones((2, 2), dtype=complex), "holds no numbers"),
    ],
)
def test_what_is_no_observation_is_refused_with_what_to_give(states: Any, said: str) -> None:
    if isinstance(states, np.ndarray) and states.dtype.kind == "c":
        states = states * 1j
    with pytest.raises(fpsrl.PolicyError) as caught, np.errstate(all="raise"):
        car().act(states)
    assert said in caught.value.message and caught.value.remedy


def test_predict_is_what_stable_baselines_asks_of_a_policy() -> None:
    policy = car()
    names = list(inspect.signature(policy.predict).parameters)
    assert names == ["observation", "state", "episode_start", "deterministic"]
    observations = np.zeros((3, 2), dtype=np.float32)
    actions, state = policy.predict(observations, state=None, episode_start=np.ones(3, dtype=bool), deterministic=True)
    assert actions.shape == (3, 1) and actions.dtype == np.float32 and state is None
    assert policy.predict(np.zeros(2))[0].shape == (1,)
    with pytest.raises(fpsrl.PolicyError, match="0 numbers called `position`"):
        policy.predict({"velocity": 0.5})
    by_name = {"velocity": np.array([0.5, -0.5]), "position": np.zeros(2)}
    assert np.allclose(policy.predict(by_name)[0], policy.act([[0.0, 0.5], [0.0, -0.5]]), atol=1e-6)


def test_frames_and_series_are_taken_by_their_names() -> None:
    pd, policy = pytest.importorskip("pandas"), car()
    frame = pd.DataFrame({"velocity": [0.5, -0.5], "else": [7.0, 7.0], "position": [0.1, 0.2]})
    expected = policy.act([[0.1, 0.5], [0.2, -0.5]])
    assert np.array_equal(policy.act(frame), expected)
    assert np.array_equal(policy.act(frame.iloc[0]), policy.act([0.1, 0.5]))
    assert np.array_equal(policy.act(pd.Series([0.1, 0.5])), policy.act([0.1, 0.5]))
    polars = pytest.importorskip("polars")
    assert np.array_equal(policy.act(polars.from_pandas(frame)), expected)
    with pytest.raises(fpsrl.PolicyError) as caught:
        policy.act(frame.drop(columns="position"))
    assert caught.value.column == "position"


def test_rules_are_read_edited_and_put_back() -> None:
    policy = car()
    assert policy.rules[1].conditions == {"velocity": Condition(-0.5, 0.3)} and policy.rules[1].action == "force"
    weaker = policy.with_rule(0, policy.rules[0].replace(output=0.25))
    assert weaker.rules[0].output == 0.25 and policy.rules[0].output == 1.0
    assert weaker.rules[1] == policy.rules[1] and weaker != policy
    assert policy.with_rules(policy.rules) == policy and hash(policy.with_rules(policy.rules)) == hash(policy)
    assert policy.with_alpha(1.0).actions[0].alpha == 1.0
    three = policy.with_rules([*policy.rules, Rule({}, 0.0)])
    assert len(three.rules) == 3 and three.rules[2].conditions == {}
    with pytest.raises(AttributeError):
        policy.rules[0].output = 2.0  # type: ignore[misc]


def test_rules_that_cannot_be_are_refused_by_their_number() -> None:
    policy = car()
    for rule, said in [
        (Rule({"speed": (0, 1)}, 1.0), "rule 1 looks at `speed`"),
        (Rule({}, 1.0, action="brake"), "rule 1 is for the action `brake`"),
        (Rule({"velocity": (float("nan"), 1)}, 1.0), "rule 1 of `force` has the number nan"),
        (Rule({"velocity": (0.0, 0.0)}, 1.0), "rule 1"),
    ]:
        with pytest.raises(fpsrl.PolicyError) as caught:
            policy.with_rules([rule])
        assert said in caught.value.message and caught.value.remedy, caught.value
    for condition in (1.0, (1.0,), "wide", (1.0, 2.0, 3.0)):
        with pytest.raises(fpsrl.PolicyError, match="`velocity`"):
            Rule({"velocity": condition}, 1.0)  # type: ignore[dict-item]
    with pytest.raises(fpsrl.PolicyError):
        policy.with_rules([])
    with pytest.raises(fpsrl.PolicyError, match="no rules"):
        Policy.from_json("{}")


def test_a_mirrored_policy_stays_mirrored_as_long_as_its_rules_are() -> None:
    problem = fpsrl.Problem("cart-pole-balancing", samples=1500, world={"epochs": 2, "members": 1}, budget=20_000)
    policy = fpsrl.search(fpsrl.fit(problem)).best
    assert policy.mirrored and policy.with_rules(policy.rules).mirrored
    assert not policy.with_rule(0, policy.rules[0].replace(output=0.1)).mirrored
    # An angle is measured around the circle, in shares as in actions.
    turned = np.array([[0.3 + 2 * np.pi, 0.0, 0.1, 0.0], [0.3, 0.0, 0.1, 0.0]])
    shares = policy.memberships(turned)
    assert np.allclose(shares[0], shares[1]) and np.allclose(shares.sum(axis=1), 1.0)
    assert np.allclose(*policy.act(turned, precision="double"))


def test_policies_are_copied_and_pickled_and_old_pickles_are_refused_by_their_form() -> None:
    policy = car()
    for again in (copy.copy(policy), copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
        assert again == policy and np.array_equal(again.act([0.1, 0.2]), policy.act([0.1, 0.2]))
    make, (form, text, ranges) = policy.__reduce__()
    with pytest.raises(fpsrl.PolicyError, match=f"form {form + 1}"):
        make(form + 1, text, ranges)
    assert policy != "rules" and "2 rules for force" in repr(policy)


def test_files_of_other_tools_are_read_and_written(tmp_path: Path) -> None:
    policy = car()
    for to, ending in [("fll", "fll"), ("fcl", "fcl"), ("fis", "fis"), ("json", "json")]:
        written = policy.export(to, tmp_path / f"car.{ending}", guard="off")
        assert all(Path(file).exists() for file in written.files) and written.certificate["states"]
        assert Policy.read(tmp_path / f"car.{ending}") == policy
    with pytest.raises(fpsrl.FileError, match="already"):
        policy.export("fll", tmp_path / "car.fll", guard="off")
    policy.export("fll", tmp_path / "car.fll", guard="off", force=True)
    with pytest.raises(fpsrl.ProblemError, match="no data to guard with"):
        policy.export("c", tmp_path / "car.c", guard="clamp")
    with pytest.raises(TypeError, match="no option `forse`"):
        policy.export("c", tmp_path / "car.c", forse=True)
    with pytest.raises(TypeError, match="fallback"):
        policy.export("c", tmp_path / "car.c", fallback=0.5)
    with pytest.raises(fpsrl.ProblemError, match="called `cc`"):
        policy.export("cc", tmp_path / "car.c")


def test_an_exported_controller_does_what_the_policy_does(tmp_path: Path) -> None:
    policy = car()
    policy.export("python", tmp_path / "controller.py", guard="off")
    script = "import controller, json; print(json.dumps([n for n in dir(controller) if not n.startswith('_')]))"
    names = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "Controller" in names.stdout or "step" in names.stdout or "act" in names.stdout


def test_rules_are_told_in_sentences() -> None:
    lines = car().explain()
    assert lines[0].startswith("IF position is around 0.1") and "THEN force" in lines[0]
    two = Policy(["x", "y"], {"u": (0, 1)}, [Rule({"x": (0, 1)}, 1.0), Rule({"x": (1, 1)}, -1.0)])
    assert any(line == "not looked at: y" for line in two.explain())
