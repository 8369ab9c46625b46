"""Pictures of rules: with matplotlib, and as a page in a notebook.

A row is a rule, a column a variable: the curve is the membership, how much the rule holds there by this variable alone. On
the right stands what the rule wants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._policy import Rule, escape

if TYPE_CHECKING:
    from ._policy import Policy

Ranges = Mapping[str, tuple[float, float]]

_POINTS = 61
_HOLDS = "#2a6f97"
_WANTS = "#c1553b"
_QUIET = "#8a8f94"


def _shown(policy: Policy) -> list[str]:
    """The variables that some rule looks at."""
    seen = [name for name in policy.states if any(name in rule.conditions for rule in policy.rules)]
    return seen or policy.states


def _range(policy: Policy, name: str, ranges: Ranges) -> tuple[float, float]:
    """What to show of a variable: what is known to be covered, or else what the rules reach."""
    if name in ranges:
        low, high = ranges[name]
    else:
        conditions = [rule.conditions[name] for rule in policy.rules if name in rule.conditions]
        lows = [one.centre - 2.5 * one.width for one in conditions]
        highs = [one.centre + 2.5 * one.width for one in conditions]
        low, high = (min(lows), max(highs)) if conditions else (-1.0, 1.0)
    return (float(low), float(high)) if high > low else (float(low) - 0.5, float(low) + 0.5)


def _membership(policy: Policy, rule: Rule, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    condition = rule.conditions[name]
    difference = values - condition.centre
    if any(state["name"] == name and state.get("periodic") for state in policy._content["states"]):
        difference = (difference + np.pi) % (2 * np.pi) - np.pi
    return np.asarray(np.exp(-0.5 * (difference / condition.width) ** 2))


def _modes(policy: Policy, name: str) -> list[str]:
    return next((list(state.get("values", [])) for state in policy._content["states"] if state["name"] == name), [])


def _wants(policy: Policy, rule: Rule) -> tuple[float, tuple[float, float], str]:
    """What a rule that is alone does, the limits of its action, and the unit."""
    action = next(one for one in policy.actions if one.name == rule.action)
    low, high = action.limits
    value = 0.5 * (low + high) + 0.5 * (high - low) * action.reach * np.tanh(action.alpha * rule.output)
    return float(min(max(value, low), high)), action.limits, action.unit


def _title(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def plot(policy: Policy, ax: Any, ranges: Ranges) -> Any:
    """Draws the rules with matplotlib."""
    import matplotlib.pyplot as plt

    names, rules = _shown(policy), policy.rules
    columns, rows = len(names) + 1, max(len(rules), 1)
    if ax is None:
        _, ax = plt.subplots(figsize=(1.2 + 2.1 * columns, 0.9 + 1.15 * rows), layout="constrained")
    ax.set_axis_off()
    several = len(policy.actions) > 1
    width, height, left, bottom = 0.9 / columns, 0.84 / rows, 0.07, 0.1
    for row, rule in enumerate(rules):
        base = bottom + (rows - 1 - row) * height
        for column, name in enumerate([*names, ""]):
            cell = ax.inset_axes([left + column * width, base, 0.88 * width, 0.82 * height])
            cell.set_yticks([])
            cell.spines[["top", "right", "left"]].set_visible(False)
            cell.tick_params(labelsize=8, labelbottom=row == rows - 1)
            if name:
                _draw_condition(policy, rule, name, cell, ranges)
                head = _title(name, policy.units[name])
            else:
                _draw_output(policy, rule, cell, rule.action if several else "")
                head = "then" if several else _title(rule.action, policy.units[rule.action])
            if row == 0:
                cell.set_title(head, fontsize=9)
            if column == 0:
                cell.set_ylabel(str(row + 1), rotation=0, labelpad=10, va="center", fontsize=9)
    return ax


def _draw_condition(policy: Policy, rule: Rule, name: str, cell: Any, ranges: Ranges) -> None:
    modes = _modes(policy, name)
    if modes:
        places = np.arange(len(modes))
        heights = np.ones(len(modes)) if name not in rule.conditions else _membership(policy, rule, name, places * 1.0)
        cell.bar(places, heights, color=_HOLDS if name in rule.conditions else "#d7dade", width=0.7)
        cell.set_xticks(places, modes)
        cell.set_ylim(0, 1.1)
        return
    low, high = _range(policy, name, ranges)
    cell.set_xlim(low, high)
    cell.set_ylim(0, 1.1)
    if name not in rule.conditions:
        cell.text(0.5, 0.5, "any", transform=cell.transAxes, ha="center", va="center", color=_QUIET, fontsize=9)
        return
    values = np.linspace(low, high, 201)
    heights = _membership(policy, rule, name, values)
    cell.fill_between(values, heights, color=_HOLDS, alpha=0.18, linewidth=0)
    cell.plot(values, heights, color=_HOLDS, linewidth=1.4)


def _draw_output(policy: Policy, rule: Rule, cell: Any, action: str) -> None:
    value, (low, high), unit = _wants(policy, rule)
    middle = min(max(0.0, low), high)
    cell.barh([0], [value - middle], left=middle, color=_WANTS, height=0.5)
    cell.axvline(middle, color=_QUIET, linewidth=0.8)
    cell.set_xlim(low, high)
    cell.set_ylim(-0.8, 0.8)
    told = f"{action + ' ' if action else ''}{value:.3g}{' ' + unit if unit else ''}"
    cell.text(0.5, 0.92, told, transform=cell.transAxes, ha="center", va="top", fontsize=8)


def page(policy: Policy, ranges: Ranges) -> str:
    """The rules as a table of small pictures, for notebooks."""
    names = _shown(policy)
    units = policy.units
    head = "".join(f"<th>{escape(_title(name, units[name]))}</th>" for name in names)
    rows = []
    for number, rule in enumerate(policy.rules, start=1):
        cells = "".join(f"<td>{_cell(policy, rule, name, ranges)}</td>" for name in names)
        value, _, unit = _wants(policy, rule)
        then = f"{escape(rule.action)} {value:.4g}{' ' + escape(unit) if unit else ''}"
        rows.append(f"<tr><td>{number}</td>{cells}<td>{then}</td></tr>")
    return (
        '<table style="text-align:center"><thead><tr><th></th>'
        f"{head}<th>then</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _cell(policy: Policy, rule: Rule, name: str, ranges: Ranges) -> str:
    condition = rule.conditions.get(name)
    modes = _modes(policy, name)
    if condition is None:
        return f'<span style="color:{_QUIET}">any</span>'
    if modes:
        place = round(condition.centre)
        return escape(modes[place]) if 0 <= place < len(modes) else escape(str(condition))
    low, high = _range(policy, name, ranges)
    values = np.linspace(low, high, _POINTS)
    heights = _membership(policy, rule, name, values)
    points = " ".join(f"{2 * place},{34 - 30 * height:.1f}" for place, height in enumerate(heights))
    last = 2 * (_POINTS - 1)
    return (
        f'<svg width="{last}" height="36" viewBox="0 0 {last} 36" role="img" aria-label="{escape(str(condition))}">'
        f'<polygon points="0,34 {points} {last},34" fill="{_HOLDS}" fill-opacity="0.18"/>'
        f'<polyline points="{points}" fill="none" stroke="{_HOLDS}" stroke-width="1.5"/>'
        f'<line x1="0" y1="34.5" x2="{last}" y2="34.5" stroke="{_QUIET}"/></svg>'
        f'<br><small title="from {low:.4g} to {high:.4g}">{escape(str(condition))}</small>'
    )
