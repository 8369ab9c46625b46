"""Problems: settings by their names, drafts, and what is said of those that cannot be used."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fpsrl
from conftest import tank_problem


def refused(*names: Any, **settings: Any) -> fpsrl.ProblemError:
    with pytest.raises(fpsrl.ProblemError) as caught:
        fpsrl.Problem(*names, **settings)
    return caught.value


def test_a_built_in_problem_is_known_by_its_name() -> None:
    problem = fpsrl.Problem("mountain-car", seed=3, search={"particles": 50})
    assert (problem.name, problem.seed, problem.horizon) == ("mountain-car", 3, 200)
    assert problem.states == ["position", "velocity"] and problem.limits == {"force": (-1.0, 1.0)}
    assert "particles = 50" in problem.to_toml()


def test_keywords_say_what_a_problem_file_says(tmp_path: Path) -> None:
    by_keywords = tank_problem(data={"time": "time", "file": "log.csv"})
    path = tmp_path / "tank.toml"
    path.write_text(by_keywords.to_toml())
    by_file = fpsrl.Problem.from_toml(path)
    ours, theirs = [fpsrl.Problem.from_toml(problem.to_toml())._written for problem in (by_keywords, by_file)]
    # Files stand beside the problem file.
    assert theirs["data"].pop("file") == str(tmp_path / "log.csv") and ours["data"].pop("file") == "log.csv"
    assert ours == theirs


def test_numbers_of_numpy_paths_and_none_are_settings_too() -> None:
    problem = tank_problem(seed=np.int64(7), world={"members": np.int32(2), "judge": np.float32(0.25), "mirror": None})
    assert problem.seed == 7 and "judge = 0.25" in problem.to_toml()
    limits = np.array([0.0, 2.0])
    problem = fpsrl.Problem("p", states=["x"], actions={"u": limits}, reward="-x*x", horizon=5)
    assert problem.limits == {"u": (0.0, 2.0)}
    with pytest.raises(TypeError, match=r"`search.particles`: set was given where"):
        fpsrl.Problem("mountain-car", search={"particles": {1, 2}})


def test_replace_finds_the_section_of_a_setting_and_leaves_the_old_problem_as_it_was() -> None:
    problem = tank_problem()
    other = problem.replace(rules=3, effort="quick", epochs=5, seed=2)
    text = other.to_toml()
    assert "rules = 3" in text and 'effort = "quick"' in text and "epochs = 5" in text and other.seed == 2
    assert problem.seed == 1 and "rules = 2" in problem.to_toml()
    assert other.replace(rules=None, policy={"reach": None}) == problem.replace(
        policy=None, effort="quick", epochs=5, seed=2
    )
    with pytest.raises(fpsrl.ProblemError, match="search and evaluation") as caught:
        problem.replace(start_states=5)
    assert caught.value.setting == "start_states" and "evaluation={'start_states': …}" in str(caught.value.remedy)


def test_what_is_wrong_is_named_with_what_to_do() -> None:
    error = refused("mountain-car", search={"particles": 1})
    assert error.setting == "search.particles" and error.remedy and "hint: " in str(error)
    error = refused("mountain-car", search={"partcles": 50})
    assert "[search]" in error.message and "`particles`" in str(error.remedy)
    error = refused("mountain-car", hrizon=50)
    assert "`hrizon`" in error.message and "`horizon`" in str(error.remedy)
    error = refused("mountain-cat")
    assert "mountain-cat" in error.message and "did you mean `mountain-car`?" in str(error.remedy)
    error = refused("p", states=["x"], actions={"u": (1.0, 1.0)}, reward="-x", horizon=5)
    assert error.remedy
    error = refused("p", states=["x"], actions={"u": (0, 1)}, reward="-abs(y)", horizon=5)
    assert "y" in error.message
    assert isinstance(error, ValueError) and isinstance(error, fpsrl.Error)


def test_a_problem_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("horizon = 5\nhorizn = 3\n")
    with pytest.raises(fpsrl.ProblemError) as caught:
        fpsrl.Problem.from_toml(path)
    assert (caught.value.line, caught.value.file) == (2, str(path)) and "`horizon`" in str(caught.value.remedy)
    with pytest.raises(fpsrl.FileError) as missing:
        fpsrl.Problem.from_toml(tmp_path / "nowhere.toml")
    assert isinstance(missing.value, OSError) and missing.value.file == str(tmp_path / "nowhere.toml")
    path.write_bytes(b"name = '\xff'\n")
    with pytest.raises(fpsrl.ProblemError, match="UTF-8"):
        fpsrl.Problem.from_toml(path)


def test_a_draft_says_what_it_found_and_is_a_problem(log: dict[str, Any]) -> None:
    draft = fpsrl.Problem.draft(log, name="tank", actions=["valve"], time="time")
    assert draft.name == "tank" and draft.states == ["level"] and draft.actions == ["valve"]
    assert any("valve" in line for line in draft.found) and draft.unknown
    assert draft.text is not None and "# " in draft.text and 'file = "<frame>"' in draft.text
    draft = draft.replace(reward="-abs(level - 1)", horizon=30)
    assert draft.check(log)["import"]["rows"] == len(log["level"])


def test_a_draft_that_is_not_sure_says_so_when_it_is_used(log: dict[str, Any]) -> None:
    draft = fpsrl.Problem.draft(log, name="tank", actions=["valve"])
    with pytest.raises(fpsrl.Error) as caught:
        fpsrl.Log(draft, log)
    assert "reward" in str(caught.value) and caught.value.remedy


def test_problems_are_equal_by_what_was_written_and_survive_pickle() -> None:
    problem = tank_problem()
    again = pickle.loads(pickle.dumps(problem))
    assert again == problem and again.to_toml() == problem.to_toml() and problem != problem.replace(seed=2)
    assert "tank" in repr(problem)
    with pytest.raises(fpsrl.ProblemError, match="soon"):
        problem.replace(budget="soon")


def test_replace_keeps_what_is_not_said_of_a_variable(log: dict[str, Any]) -> None:
    draft = fpsrl.Problem.draft({"t": log["time"], "level[m]": log["level"], "valve": log["valve"]}, actions="valve")
    other = draft.replace(reward="-abs(level - 1)", actions={"valve": (0.0, 2.0)}, states={"level": {"keep": [0.0, 3.0]}})
    assert other.limits == {"valve": (0.0, 2.0)} and other.units["level"] == "m"
    assert 'column = "level[m]"' in other.to_toml()
    with pytest.raises(TypeError, match="tracks"):
        fpsrl.Problem.draft(log, tracks=["level"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="states: 1"):
        fpsrl.Problem.draft(log, states=[1])  # type: ignore[list-item]
