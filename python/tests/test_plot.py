"""Pictures of rules: what is drawn, where, over which ranges, and that names cannot break a page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import fpsrl
from fpsrl import Policy, Rule

matplotlib = pytest.importorskip("matplotlib", reason="pictures are drawn with matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

TWO = Policy(
    {"level": "m", "flow": "l/s"},
    {"valve": (0.0, 2.0)},
    [Rule({"level": (1.0, 0.5)}, 1.0), Rule({"level": (2.0, 0.25), "flow": (3.0, 1.0)}, -1.0)],
    alpha=1.0,
)


@pytest.fixture(autouse=True)
def no_figure_is_left() -> Any:
    plt.close("all")
    yield
    plt.close("all")


def cells(ax: Any) -> list[list[Any]]:
    """The cells of a picture, a list for each rule, from left to right."""
    placed = [(cell.get_axes_locator()(cell, None).bounds, cell) for cell in ax.child_axes]
    edges = sorted({round(bounds[1], 6) for bounds, _ in placed}, reverse=True)
    return [
        [cell for bounds, cell in sorted(placed, key=lambda item: item[0][0]) if round(bounds[1], 6) == edge]
        for edge in edges
    ]


def texts(ax: Any) -> list[str]:
    return [text.get_text() for cell in ax.child_axes for text in [cell.title, *cell.texts]]


def overlapping(ax: Any) -> list[tuple[str, str]]:
    """Pairs of texts that lie over each other when the picture is drawn."""
    ax.figure.canvas.draw()
    drawn = [text for cell in ax.child_axes for text in [cell.title, *cell.texts]]
    for cell in ax.child_axes:
        shown = [tick.label1 for tick in cell.xaxis.get_major_ticks() if tick.label1.get_visible()]
        low, high = sorted(cell.get_xlim())
        drawn += [label for label in shown if low <= label.get_position()[0] <= high]
    drawn = [text for text in [*drawn, *ax.texts] if text.get_text().strip() and text.get_visible()]
    straight = [text for text in drawn if text.get_rotation() == 0.0]
    boxes = [(text.get_text(), text.get_window_extent().padded(-1.0)) for text in straight]
    return [(a, b) for n, (a, one) in enumerate(boxes) for b, other in boxes[n + 1 :] if one.overlaps(other)]


def many(rules: int, states: list[str], actions: dict[str, tuple[float, float]]) -> Policy:
    random = np.random.default_rng(rules)
    conditions = [{name: (random.normal(), random.uniform(0.2, 1.0)) for name in states} for _ in range(rules)]
    made = [Rule(one, random.uniform(-1, 1), action) for action in actions for one in conditions]
    return Policy(dict.fromkeys(states, "m/s"), actions, made)


def test_axes_that_are_given_are_drawn_on_and_nothing_else() -> None:
    figure, (mine, other) = plt.subplots(1, 2)
    before = other.get_children()
    assert TWO.plot(mine) is mine
    assert plt.get_fignums() == [figure.number] and figure.axes == [mine, other]
    assert other.get_children() == before and not other.child_axes
    assert len(mine.child_axes) == 6


def test_without_axes_a_figure_is_made_as_large_as_the_rules_need() -> None:
    small, large = TWO.plot().figure, many(8, ["a", "b", "c", "d"], {"u": (-1, 1)}).plot().figure
    assert plt.get_fignums() == [small.number, large.number]
    assert large.get_size_inches()[0] > small.get_size_inches()[0]
    assert large.get_size_inches()[1] > small.get_size_inches()[1]


def test_a_list_of_axes_is_refused() -> None:
    _, axes = plt.subplots(1, 2)
    with pytest.raises(TypeError, match="ndarray was given where one axes of matplotlib is meant"):
        TWO.plot(axes)


def test_a_row_is_a_rule_and_a_column_a_variable() -> None:
    first, second = cells(TWO.plot())
    assert [cell.title.get_text() for cell in first] == ["level [m]", "flow [l/s]", "valve"]
    assert [cell.texts[0].get_text() for cell in first] == ["1 ± 0.5", "any", "1.76"]
    assert [cell.texts[0].get_text() for cell in second] == ["2 ± 0.25", "3 ± 1", "0.238"]
    assert [row[0].get_ylabel() for row in (first, second)] == ["1", "2"]


def test_a_curve_is_the_membership() -> None:
    first, second = cells(TWO.plot(ranges={"level": (0.0, 4.0)}))
    values, heights = first[0].lines[0].get_data()
    assert np.allclose(heights, np.exp(-0.5 * ((values - 1.0) / 0.5) ** 2))
    # A variable that does not matter has no curve.
    assert not first[1].lines and second[1].lines


def test_what_a_rule_wants_is_what_the_policy_does_where_it_is_alone() -> None:
    rule = Rule({"level": (1.0, 0.1)}, 0.3)
    policy = Policy(["level"], {"valve": (2.0, 10.0)}, [rule], alpha=2.0)
    ((_, output),) = cells(policy.plot())
    bar = output.patches[0]
    (acted,) = policy.act([1.0])
    assert bar.get_x() + bar.get_width() == pytest.approx(acted)
    assert output.get_xlim() == (2.0, 10.0)


def test_a_tangent_that_reaches_beyond_the_limits_is_cut_off_there() -> None:
    valve = fpsrl.Action("valve", "%", (0.0, 100.0), alpha=1.0, reach=3.0, rate=None)
    policy = Policy(["level"], [valve], [Rule({"level": (0, 1)}, 0.2), Rule({"level": (5, 1)}, 1.0)])
    wanted = [row[1].texts[0].get_text() for row in cells(policy.plot())]
    assert wanted == [f"{policy.act([-60.0])[0]:.3g} %", "100 %"] and policy.act([-60.0])[0] > 75.0


def test_the_range_is_the_given_one_or_the_logs_or_what_the_rules_reach(run: fpsrl.Run) -> None:
    policy = run.policy
    assert any("level" in rule.conditions for rule in policy.rules)
    assert cells(run.plot())[0][0].get_xlim() == run.log.ranges()["level"]
    assert cells(policy.plot(ranges={"level": (-3.0, 7.0)}))[0][0].get_xlim() == (-3.0, 7.0)
    assert cells(TWO.plot())[0][0].get_xlim() == (1.0 - 2.5 * 0.5, 2.0 + 2.5 * 0.25)


def test_a_range_of_one_value_tells_nothing() -> None:
    assert cells(TWO.plot(ranges={"level": (0.0, 0.0)}))[0][0].get_xlim() == cells(TWO.plot())[0][0].get_xlim()


def test_a_rule_that_is_as_good_as_indifferent_does_not_hide_the_others() -> None:
    policy = TWO.with_rule(1, Rule({"level": (2.0, 1e6)}, -1.0))
    low, high = cells(policy.plot())[0][0].get_xlim()
    assert low < 1.0 and high > 2.0 and high - low < 20.0


def test_modes_are_words() -> None:
    problem = fpsrl.Problem(
        "hall",
        horizon=10,
        states=["warm"],
        inputs={"mode": {"values": ["eco", "comfort"]}},
        actions={"heat": (0, 1)},
        reward="-abs(warm)",
    )
    policy = Policy.for_problem(problem, [Rule({"warm": (0, 1), "mode": (1, 0.1)}, 1), Rule({"warm": (1, 1)}, -1)])
    first, second = cells(policy.plot())
    assert first[1].texts[0].get_text() == "comfort" and second[1].texts[0].get_text() == "any"
    assert [tick.get_text() for tick in second[1].get_xticklabels()] == ["eco", "comfort"]
    heights = [bar.get_height() for bar in first[1].patches]
    assert heights[0] < 0.01 and heights[1] == 1.0
    page = policy._repr_html_()
    assert "<b>comfort</b>" in page and ">any</span>" in page


def test_what_no_rule_looks_at_has_no_column_and_is_named() -> None:
    policy = TWO.with_rules([Rule({"level": (1, 1)}, 1), Rule({"level": (0, 1)}, -1)])
    ax = policy.plot()
    assert [len(row) for row in cells(ax)] == [2, 2]
    assert [text.get_text() for text in ax.texts] == ["not looked at: flow"]
    assert "not looked at: flow" in policy._repr_html_()


def test_each_action_has_its_own_scale() -> None:
    policy = many(2, ["a"], {"heater": (0.0, 12.0), "valve": (0.0, 100.0)})
    rows = cells(policy.plot())
    assert [row[-1].get_xlim() for row in rows] == [(0.0, 12.0)] * 2 + [(0.0, 100.0)] * 2
    assert [row[-1].title.get_text() for row in rows] == ["heater", "", "valve", ""]
    shown = [row[-1].xaxis.get_major_ticks()[0].label1.get_visible() for row in rows]
    assert shown == [False, True, False, True]


@pytest.mark.parametrize(("rules", "actions"), [(1, 1), (2, 2), (4, 1), (8, 2)])
def test_no_text_lies_over_another(rules: int, actions: int) -> None:
    long = ["TIC101_reactor_jacket_temperature.PV", "x", "FIC202_cooling_water_flow.PV"]
    limits = {f"FIC303_flow_setpoint_number_{number}.SP": (0.0, 125_000.0) for number in range(actions)}
    assert overlapping(many(rules, long, limits).plot()) == []


def test_letters_become_smaller_where_there_is_less_room() -> None:
    _, axes = plt.subplots(2, 2, figsize=(9, 5))
    ax = TWO.plot(axes[0, 1])
    assert overlapping(ax) == []
    assert ax.child_axes[0].title.get_fontsize() < TWO.plot().child_axes[0].title.get_fontsize()


def test_a_dollar_is_a_dollar() -> None:
    policy = Policy({"$a$": "$"}, {"u$x$": (0, 1)}, [Rule({"$a$": (0, 1)}, 1), Rule({"$a$": (1, 1)}, -1)])
    ax = policy.plot()
    ax.figure.canvas.draw()
    assert [cell.title.get_text() for cell in cells(ax)[0]] == [r"\$a\$ [\$]", r"u\$x\$"]


def test_numbers_are_as_exact_as_the_width_asks() -> None:
    policy = Policy(["p"], {"u": (0, 2e6)}, [Rule({"p": (1013.2501, 1e-4)}, 1), Rule({"p": (1013.25, 3)}, -9)])
    first, second = cells(policy.plot())
    assert first[0].texts[0].get_text() == "1013.2501 ± 0.0001"
    assert second[0].texts[0].get_text() == "1013 ± 3"
    # What is left of a value at its limit is nothing.
    assert second[1].texts[0].get_text() == "0"


class Page(HTMLParser):
    """What a browser would make of a page: its tags, its texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.open: list[str] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("br", "polygon", "polyline", "line", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def test_names_cannot_break_the_page() -> None:
    evil = ['<script>alert("x")</script>', "\"><img src=x onerror='y'>", "a & b"]
    policy = Policy(
        {name: "<b>" for name in evil},
        {"</table>": (0, 1), "'\"": (0, 1)},
        [Rule({name: (0, 1) for name in evil}, 1, action) for action in ("</table>", "'\"")],
    )
    page = Page(policy._repr_html_())
    assert not page.open
    assert {tag for tag, _ in page.tags} <= {
        *("table", "thead", "tbody", "tr", "th", "td", "b", "br"),
        *("svg", "polygon", "polyline", "line", "rect", "text"),
    }
    assert not [key for _, attributes in page.tags for key in attributes if key.startswith("on") or key == "src"]
    said = "".join(page.said)
    assert all(f"{name} [<b>]" in said for name in evil) and "</table>" in said and "'\"" in said


def test_modes_cannot_break_the_page() -> None:
    inputs = {"mode": {"values": ["<script>", "b"]}}
    problem = fpsrl.Problem("p", horizon=5, states=["x"], inputs=inputs, actions={"u": (0, 1)}, reward="x")
    page = Page(Policy.for_problem(problem, [Rule({"mode": (0, 1)}, 1), Rule({"x": (1, 1)}, -1)])._repr_html_())
    assert not page.open and "<script>" in page.said and "script" not in dict(page.tags)


def test_a_run_shows_itself_with_names_that_cannot_break_the_page(run: fpsrl.Run) -> None:
    page = Page(run._repr_html_())
    assert not page.open
    said = "".join(page.said)
    assert "promises" in said and "level [m]" in said


def test_the_page_tells_numbers_beside_its_curves() -> None:
    page = TWO._repr_html_()
    said = " ".join(Page(page).said)
    for told in ("1 ± 0.5", "2 ± 0.25", "3 ± 1", "any", "1.76", "0.238"):
        assert told in said
    assert len(re.findall("<polyline", page)) == 3 and len(re.findall("<rect", page)) == 2
