"""Pictures of rules: with matplotlib, and as a page in a notebook.

A row is a rule, a column a variable: the curve is the membership, how much the rule holds there by this variable alone.
On the right stands what the rule wants.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._policy import Condition, Rule, escape

if TYPE_CHECKING:
    from ._policy import Action, Policy

Ranges = Mapping[str, tuple[float, float]]

_HOLDS = "#2a6f97"
_WANTS = "#c1553b"
_QUIET = "#767b80"
_PALE = "#d7dade"

#: Where a curve ends within its cell: above it stand the numbers.
_ROOM = 1.4

# Sizes in inches.
_CELL_WIDTH, _ROW_HEIGHT = 1.75, 1.0
_GAP, _LEFT, _LINE, _TICKS = 0.3, 0.35, 0.16, 0.25


def _shown(policy: Policy) -> list[str]:
    """The variables that some rule looks at."""
    seen = [name for name in policy.states if any(name in rule.conditions for rule in policy.rules)]
    return seen or policy.states


def _range(policy: Policy, name: str, ranges: Ranges) -> tuple[float, float]:
    """What to show of a variable: what is known to be covered, or else what the rules reach."""
    # Where a log holds one value only, as it does of running sums, its range tells nothing.
    if name in ranges and ranges[name][0] < ranges[name][1]:
        low, high = ranges[name]
    elif _is_periodic(policy, name):
        low, high = -np.pi, np.pi
    else:
        conditions = [rule.conditions[name] for rule in policy.rules if name in rule.conditions]
        low, high = _reach(conditions) if conditions else (-1.0, 1.0)
    return (float(low), float(high)) if high > low else (float(low) - 0.5, float(low) + 0.5)


def _reach(conditions: Sequence[Condition]) -> tuple[float, float]:
    # One rule that is as good as indifferent must not squeeze the others into a line.
    centres = [one.centre for one in conditions]
    most = 4.0 * min(one.width for one in conditions) + max(centres) - min(centres)
    widths = [min(one.width, most) for one in conditions]
    lows = [centre - 2.5 * width for centre, width in zip(centres, widths)]
    highs = [centre + 2.5 * width for centre, width in zip(centres, widths)]
    return min(lows), max(highs)


def _is_periodic(policy: Policy, name: str) -> bool:
    return any(state["name"] == name and state.get("periodic") for state in policy._content["states"])


def _membership(policy: Policy, rule: Rule, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    condition = rule.conditions[name]
    difference = values - condition.centre
    if _is_periodic(policy, name):
        difference = (difference + np.pi) % (2 * np.pi) - np.pi
    return np.asarray(np.exp(-0.5 * (difference / condition.width) ** 2))


def _modes(policy: Policy, name: str) -> list[str]:
    return next((list(state.get("values", [])) for state in policy._content["states"] if state["name"] == name), [])


def _wants(action: Action, rule: Rule) -> float:
    """What a rule that is alone does."""
    low, high = action.limits
    value = 0.5 * (low + high) + 0.5 * (high - low) * action.reach * np.tanh(action.alpha * rule.output)
    value = float(min(max(value, low), high))
    # Beside its limits, what is left of a value at zero is nothing.
    return value if abs(value) > 1e-6 * (high - low) else 0.0


def _number(value: float, digits: int = 3) -> str:
    """A number to three digits, or more; without an exponent as long as it can be read without."""
    return f"{float(f'{value:.{digits}g}') + 0.0:.{max(digits, 6)}g}"


def _told(policy: Policy, rule: Rule, name: str) -> str:
    """A condition in words: its mode, or its centre and width."""
    condition = rule.conditions.get(name)
    if condition is None:
        return "any"
    modes = _modes(policy, name)
    place = round(condition.centre)
    if 0 <= place < len(modes):
        return modes[place]
    # The centre as exactly as the width tells places apart.
    exact = int(np.ceil(np.log10(max(abs(condition.centre) / condition.width, 1e-9))))
    return f"{_number(condition.centre, min(max(3, exact + 1), 9))} ± {_number(condition.width)}"


def _title(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _groups(policy: Policy) -> list[tuple[Action, list[tuple[int, Rule]]]]:
    """The rules of each action, with their numbers."""
    numbered = list(enumerate(policy.rules, start=1))
    return [(action, [(n, rule) for n, rule in numbered if rule.action == action.name]) for action in policy.actions]


@dataclass(frozen=True)
class _Grid:
    """Where the cells are, in inches from the lower left corner of the axes, and how large letters are."""

    width: float
    height: float
    cell: tuple[float, float]
    bottom: float
    #: The lower edge of each rule's row.
    rows: list[float]
    letters: float

    def place(self, column: int, row: int) -> list[float]:
        left = _LEFT + column * (self.cell[0] + _GAP)
        where = [left / self.width, self.rows[row] / self.height]
        return [*where, self.cell[0] / self.width, self.cell[1] / self.height]


def plot(policy: Policy, ax: Any, ranges: Ranges) -> Any:
    """Draws the rules with matplotlib."""
    try:
        import matplotlib.axes
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    names, groups = _shown(policy), _groups(policy)
    units = policy.units
    if ax is not None and not isinstance(ax, matplotlib.axes.Axes):
        raise TypeError(f"ax: {type(ax).__name__} was given where one axes of matplotlib is meant")
    # The room that is not for rules: titles above, the names of modes and a remark below.
    columns = len(names) + 1
    size = None if ax is None else _inches(ax)
    cell_width = _CELL_WIDTH if size is None else max((size[0] - _LEFT) / columns - _GAP, 0.1)
    wrapped = [_wrapped(name, units[name], cell_width) for name in names]
    wants = [_wrapped(action.name, action.unit, cell_width) for action, _ in groups]
    first = max(text.count("\n") + 1 for text in [*wrapped, wants[0]])
    tops = [_LINE * (first + 0.6), *(_LINE * (text.count("\n") + 1.6) + _TICKS for text in wants[1:])]
    unseen = [name for name in policy.states if name not in names]
    tilted = {name for name in names if _is_tilted(_modes(policy, name), cell_width)}
    longest = max((len(mode) for name in tilted for mode in _modes(policy, name)), default=0)
    bottom = _TICKS + (0.045 * longest if tilted else 0.0) + (1.3 * _LINE if unseen else 0.0)
    count = sum(len(rules) for _, rules in groups)
    if ax is None:
        import matplotlib.pyplot as plt

        height = sum(tops) + bottom + count * _ROW_HEIGHT
        _, ax = plt.subplots(figsize=(_LEFT + columns * (_CELL_WIDTH + _GAP), height), layout="constrained")
        size = (_LEFT + columns * (_CELL_WIDTH + _GAP), height)
    assert size is not None
    row_height = max((size[1] - sum(tops) - bottom) / max(count, 1), 0.05)
    rows, edge = [], size[1]
    for top, (_, rules) in zip(tops, groups):
        edge -= top
        for _ in rules:
            edge -= row_height
            rows.append(edge + 0.0)
    scale = min(row_height / 0.8, _scale(cell_width), 1.0)
    grid = _Grid(size[0], size[1], (cell_width, 0.82 * row_height), bottom, rows, max(9.0 * scale, 4.0))
    ax.set_axis_off()
    row = 0
    for (action, rules), wanted in zip(groups, wants):
        for place, (number, rule) in enumerate(rules):
            is_last = row == count - 1
            for column, name in enumerate(names):
                cell = _cell(ax, grid, column, row, with_ticks=is_last)
                _draw_condition(policy, rule, name, cell, ranges, grid, name in tilted)
                if row == 0:
                    cell.set_title(_plain(wrapped[column]), fontsize=grid.letters, pad=7)
                if column == 0:
                    cell.set_ylabel(
                        str(number), rotation=0, labelpad=8, va="center", fontsize=grid.letters, weight="bold"
                    )
            cell = _cell(ax, grid, len(names), row, with_ticks=place == len(rules) - 1)
            _draw_output(action, rule, cell, grid)
            if place == 0:
                cell.set_title(_plain(wanted), fontsize=grid.letters, pad=7)
            row += 1
    if unseen:
        told = _plain("not looked at: " + ", ".join(unseen))
        told = textwrap.shorten(told, max(int(size[0] / 0.06), 20), placeholder=" …")
        ax.text(
            0.0, 0.0, told, transform=ax.transAxes, ha="left", va="bottom", fontsize=0.9 * grid.letters, color=_QUIET
        )
    return ax


def _inches(ax: Any) -> tuple[float, float]:
    box = ax.get_window_extent()
    return max(box.width / ax.figure.dpi, 0.5), max(box.height / ax.figure.dpi, 0.5)


def _scale(width: float) -> float:
    """How large letters are in cells of this width, 1 where there is room."""
    return min(width / 1.2, 1.0)


def _wrapped(name: str, unit: str, width: float) -> str:
    """A title in up to three lines that are as wide as a cell."""
    letters = max(int((width + 0.5 * _GAP) / (0.08 * _scale(width))), 6)
    lines: list[str] = []
    line = ""
    for part in [*_parts(f"{name} " if unit else name), *([f"[{unit}]"] if unit else [])]:
        if line and len(line) + len(part.rstrip()) > letters:
            lines.append(line.rstrip())
            line = ""
        while len(part) > letters + 1:
            lines.append(part[:letters])
            part = part[letters:]
        line += part
    lines.append(line.rstrip())
    if len(lines) > 3:
        lines = [*lines[:2], lines[2][: letters - 1] + "…"]
    return "\n".join(lines)


def _parts(text: str) -> list[str]:
    # Names of instruments have no spaces, but other places where they may be parted.
    parts = [""]
    for letter in text:
        parts[-1] += letter
        if letter in " _.-/":
            parts.append("")
    return [part for part in parts if part]


def _is_tilted(modes: Sequence[str], width: float) -> bool:
    """Whether the names of modes are too long to stand beside each other."""
    return len(modes) > 0 and max(len(mode) for mode in modes) * 0.075 > width / len(modes)


def _plain(text: str) -> str:
    """Text in which a dollar is a dollar: matplotlib sets what stands between two of them as a formula."""
    return text.replace("$", r"\$")


def _cell(ax: Any, grid: _Grid, column: int, row: int, *, with_ticks: bool) -> Any:
    cell = ax.inset_axes(grid.place(column, row))
    cell.set_yticks([])
    cell.grid(False)
    cell.spines[["top", "right", "left"]].set_visible(False)
    cell.spines["bottom"].set_color(_QUIET)
    cell.tick_params(labelsize=0.85 * grid.letters, labelbottom=with_ticks, length=2.5, color=_QUIET, pad=2)
    return cell


def _note(cell: Any, text: str, grid: _Grid, color: str = "black") -> None:
    cell.text(
        0.5,
        1.0,
        _plain(text),
        transform=cell.transAxes,
        ha="center",
        va="top",
        fontsize=0.9 * grid.letters,
        color=color,
    )


def _draw_condition(
    policy: Policy, rule: Rule, name: str, cell: Any, ranges: Ranges, grid: _Grid, is_tilted: bool
) -> None:
    from matplotlib.ticker import MaxNLocator

    modes, is_any = _modes(policy, name), name not in rule.conditions
    cell.set_ylim(0, _ROOM)
    _note(cell, _told(policy, rule, name), grid, _QUIET if is_any else "black")
    if modes:
        places = np.arange(len(modes), dtype=np.float64)
        heights = np.ones(len(modes)) if is_any else _membership(policy, rule, name, places)
        cell.bar(places, heights, color=_PALE if is_any else _HOLDS, width=0.7)
        tilt = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if is_tilted else {}
        cell.set_xticks(places, [_plain(mode) for mode in modes], **tilt)
        return
    low, high = _range(policy, name, ranges)
    cell.set_xlim(low, high)
    cell.xaxis.set_major_locator(MaxNLocator(max(int(grid.cell[0] / 0.5), 1), steps=[1, 2, 5, 10]))
    cell.xaxis.get_offset_text().set_fontsize(0.8 * grid.letters)
    if is_any:
        cell.axhspan(0, 1, color=_PALE, alpha=0.35, linewidth=0)
        return
    values = np.linspace(low, high, 201)
    heights = _membership(policy, rule, name, values)
    cell.fill_between(values, heights, color=_HOLDS, alpha=0.18, linewidth=0)
    cell.plot(values, heights, color=_HOLDS, linewidth=1.4)


def _draw_output(action: Action, rule: Rule, cell: Any, grid: _Grid) -> None:
    value, (low, high) = _wants(action, rule), action.limits
    middle = min(max(0.0, low), high)
    cell.set_xlim(low, high)
    cell.set_ylim(0, _ROOM)
    cell.barh([0.5], [value - middle], left=middle, color=_WANTS, height=0.6)
    cell.plot([middle, middle], [0, 1], color=_QUIET, linewidth=0.8)
    ticks = [low, middle if low < middle < high else 0.5 * (low + high), high]
    cell.set_xticks(ticks, [_number(tick) for tick in ticks])
    _note(cell, f"{_number(value)} {action.unit}".rstrip(), grid)


#: Points of a curve in a page, and the size of its picture.
_POINTS, _WIDTH, _HEIGHT = 49, 144, 40


def page(policy: Policy, ranges: Ranges) -> str:
    """The rules as a table of small pictures, for notebooks."""
    names = _shown(policy)
    units = policy.units
    several = len(policy.actions) > 1
    then = "then" if several else _title(policy.actions[0].name, policy.actions[0].unit)
    narrow = ' style="text-align:center;max-width:12em;overflow-wrap:anywhere"'
    head = "".join(
        f"<th{narrow}>{escape(title)}</th>" for title in [*(_title(name, units[name]) for name in names), then]
    )
    rows = []
    for action, rules in _groups(policy):
        for number, rule in rules:
            cells = "".join(f"<td{narrow}>{_condition_in_page(policy, rule, name, ranges)}</td>" for name in names)
            cells += f"<td{narrow}>{_output_in_page(action, rule, several)}</td>"
            rows.append(f"<tr><td><b>{number}</b></td>{cells}</tr>")
    unseen = [name for name in policy.states if name not in names]
    below = f'<p style="opacity:0.7"><small>not looked at: {escape(", ".join(unseen))}</small></p>' if unseen else ""
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{below}"


def _picture(inside: str, low: float, high: float, label: str) -> str:
    """A picture above its scale, in colours that stand out on white and on black."""
    ends = "".join(
        f'<text x="{x}" y="{_HEIGHT + 11}" font-size="9" text-anchor="{anchor}" fill="{_QUIET}">{_number(end)}</text>'
        for x, anchor, end in ((0, "start", low), (_WIDTH, "end", high))
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT + 14}" viewBox="0 0 {_WIDTH} {_HEIGHT + 14}" role="img"'
        f' aria-label="{escape(label)}">{inside}'
        f'<line x1="0" y1="{_HEIGHT}" x2="{_WIDTH}" y2="{_HEIGHT}" stroke="{_QUIET}"/>{ends}</svg>'
    )


def _condition_in_page(policy: Policy, rule: Rule, name: str, ranges: Ranges) -> str:
    told = _told(policy, rule, name)
    if name not in rule.conditions:
        return f'<span style="opacity:0.6">{told}</span>'
    if _modes(policy, name):
        return f"<b>{escape(told)}</b>"
    low, high = _range(policy, name, ranges)
    heights = _membership(policy, rule, name, np.linspace(low, high, _POINTS))
    points = " ".join(f"{3 * place},{_HEIGHT - (_HEIGHT - 4) * height:.1f}" for place, height in enumerate(heights))
    curve = (
        f'<polygon points="0,{_HEIGHT} {points} {_WIDTH},{_HEIGHT}" fill="{_HOLDS}" fill-opacity="0.25"/>'
        f'<polyline points="{points}" fill="none" stroke="{_HOLDS}" stroke-width="1.5"/>'
    )
    return f"{_picture(curve, low, high, f'{name}: {told}')}<br>{escape(told)}"


def _output_in_page(action: Action, rule: Rule, with_name: bool) -> str:
    value, (low, high) = _wants(action, rule), action.limits
    middle = min(max(0.0, low), high)
    from_, to = sorted(_WIDTH * (end - low) / (high - low) for end in (middle, value))
    zero = _WIDTH * (middle - low) / (high - low)
    bar = (
        f'<rect x="{from_:.1f}" y="12" width="{to - from_:.1f}" height="18" fill="{_WANTS}"/>'
        f'<line x1="{zero:.1f}" y1="6" x2="{zero:.1f}" y2="{_HEIGHT}" stroke="{_QUIET}"/>'
    )
    told = f"{action.name + ' ' if with_name else ''}{_number(value)} {action.unit}".rstrip()
    return f"{_picture(bar, low, high, f'{action.name}: {_number(value)}')}<br>{escape(told)}"
