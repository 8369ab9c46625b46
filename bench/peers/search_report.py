"""Curves of searches as text, Markdown, JSON and a picture."""

from __future__ import annotations

import json
import math
import re
import statistics
from pathlib import Path

from report import replace_section

# Colour-blind safe (Okabe and Ito); ours are solid, those of others are dashed.
STYLES = {
    "auto": ("auto, the race", "#0072b2", "-", 2.6),
    "swarm": ("swarm", "#009e73", "-", 1.5),
    "shade": ("shade", "#56b4e9", "-", 1.5),
    "cma-es": ("cma-es", "#cc79a7", "-", 1.5),
    "pyswarms": ("pyswarms", "#d55e00", "--", 1.8),
    "pycma": ("pycma", "#000000", "--", 1.8),
}
# Shares of the budget that the table looks at, and shares of the way from a random policy to the best of all.
LOOKS = (0.03, 0.1, 0.3)
LEVELS = (0.9, 0.97)


def line(run: dict) -> str:
    """One run for the terminal."""
    ended = "ended by itself" if run["finished"] else "steps used up"
    return (
        f"  {run['contender']:<10} seed {run['seed']}: {_number(run['returns'][-1])} after {_millions(run['steps'])}"
        f" million steps, {run['evaluations']:,} evaluations, {run['seconds']:.0f} s; {ended}"
    )


def write(results: dict, out: Path, readme: Path | None) -> None:
    """Writes search.json, search.md, search.svg and search.png, and brings a page up to date."""
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1)
    # Lists of numbers on one line.
    text = re.sub(r"\[[^\[\]{}]*\]", lambda match: re.sub(r"\s+", " ", match[0]), text)
    (out / "search.json").write_text(text + "\n")
    text = markdown(results)
    (out / "search.md").write_text(f"# Time to a result\n\n{text}\n![return against model steps](search.svg)\n")
    plot(results, out)
    if readme is not None:
        replace_section(readme, "search", f"{text}\n![return against model steps](results/search.svg)\n")


def markdown(results: dict) -> str:
    """The tables."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    parts = [f"{machine['system']}; Python {machine['python']}, {versions}.\n"]
    for name, entry in results["problems"].items():
        case, budget = entry["case"], entry["steps"]
        best = _best(entry)
        parts.append(
            f"**{name}**: {case['parameters']} parameters; {case['start_states']} start states × {case['horizon']} steps,"
            f" dealt out to {case['members']} worlds ({case['instruction_set']}); {_millions(budget)} million steps a"
            f" search, {_count(entry['seeds'], 'seed')}. A random policy earns {_number(entry['random'])}, the best of all"
            f" {_number(best)}.\n"
        )
        looks = " | ".join(f"after {100 * look:.0f} %" for look in LOOKS)
        levels = " | ".join(f"to {100 * level:.0f} %" for level in LEVELS)
        parts.append(f"| contender | {looks} | at the end (worst to best) | {levels} | steps | evaluations |")
        parts.append("|---|" + "---:|" * (len(LOOKS) + len(LEVELS) + 3))
        for contender in STYLES:
            runs = _runs(entry, contender)
            if runs:
                parts.append(_row(entry, contender, runs, best))
            elif contender in entry["skipped"]:
                columns = len(LOOKS) + len(LEVELS) + 2
                parts.append(f"| {contender} | skipped: {entry['skipped'][contender]} |" + " |" * columns)
        parts.append("")
    return "\n".join(parts)


def _row(entry: dict, contender: str, runs: list[dict], best: float) -> str:
    marks, budget = entry["marks"], entry["steps"]
    cells = [_number(_middle([_at(run, marks, look * budget) for run in runs])) for look in LOOKS]
    ends = [_value(run["returns"][-1]) for run in runs]
    cells.append(f"{_number(_middle(ends))} ({_number(min(ends))} to {_number(max(ends))})")
    for level in LEVELS:
        goal = entry["random"] + level * (best - entry["random"])
        steps = [_reached(run, marks, goal) for run in runs]
        middle = _middle(steps, largest_is_worst=True)
        reached = sum(math.isfinite(each) for each in steps)
        text = f"{_millions(middle)} M" if math.isfinite(middle) else "not"
        cells.append(text if reached in (0, len(runs)) else f"{text} ({reached} of {len(runs)})")
    cells.append(f"{_millions(_middle([run['steps'] for run in runs]))} M")
    cells.append(f"{_middle([run['evaluations'] for run in runs]):,.0f}")
    return f"| {contender} | " + " | ".join(cells) + " |"


def plot(results: dict, out: Path) -> None:
    """Return against model steps: the middle of the seeds, and each of them faintly."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    from matplotlib import ticker

    plt.rcParams.update({"svg.hashsalt": "fpsrl", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    problems = results["problems"]
    figure, axes = plt.subplots(1, len(problems), figsize=(1.5 + 5.6 * len(problems), 4.8), squeeze=False)
    for axis, (name, entry) in zip(axes[0], problems.items()):
        millions = [mark / 1e6 for mark in entry["marks"]]
        for contender, (label, colour, dashes, width) in STYLES.items():
            runs = _runs(entry, contender)
            if not runs:
                continue
            curves = [[math.nan if value is None else value for value in run["returns"]] for run in runs]
            for curve in curves:
                axis.step(millions, curve, where="post", color=colour, lw=0.7, alpha=0.3)
            middle = [statistics.median(points) if not any(map(math.isnan, points)) else math.nan for points in zip(*curves)]
            axis.step(millions, middle, where="post", color=colour, ls=dashes, lw=width, label=label)
        best, random = _best(entry), entry["random"]
        axis.set(xscale="log", xlabel="million model steps", title=name)
        # What is worse than a random policy is of no interest.
        axis.set_ylim(random, best + 0.03 * (best - random))
        curves = [run["returns"] for run in entry["runs"]]
        first = next(mark for mark, *values in zip(millions, *curves) if any(value is not None for value in values))
        axis.set_xlim(first, millions[-1])
        axis.xaxis.set_major_formatter(ticker.FuncFormatter(lambda count, _: f"{count:,g}"))
        axis.grid(axis="both", which="major", color="#dddddd", lw=0.8)
        axis.set_axisbelow(True)
    axes[0][0].set_ylabel("return from unseen start states")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=3 if len(problems) == 1 else len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0.13 if len(problems) == 1 else 0.08, 1, 1))
    figure.savefig(out / "search.svg", metadata={"Date": None})
    figure.savefig(out / "search.png", dpi=110)
    plt.close(figure)


def _runs(entry: dict, contender: str) -> list[dict]:
    return [run for run in entry["runs"] if run["contender"] == contender]


def _best(entry: dict) -> float:
    """The best that any search ended with."""
    return max((_value(run["returns"][-1]) for run in entry["runs"]), default=math.nan)


def _at(run: dict, marks: list[int], steps: float) -> float:
    """The return by so many steps."""
    return _value(next((value for mark, value in zip(marks[::-1], run["returns"][::-1]) if mark <= steps), None))


def _reached(run: dict, marks: list[int], goal: float) -> float:
    """The steps after which a search has reached a return."""
    return next((mark for mark, value in zip(marks, run["returns"]) if value is not None and value >= goal), math.inf)


def _middle(values: list[float], largest_is_worst: bool = False) -> float:
    """The median; of an even number that is partly infinite, the worse of the two in the middle."""
    ordered = sorted(values)
    if all(math.isfinite(value) for value in ordered):
        return statistics.median(ordered)
    return statistics.median_high(ordered) if largest_is_worst else statistics.median_low(ordered)


def _value(value: float | None) -> float:
    return -math.inf if value is None else value


def _number(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.2f}"


def _millions(steps: float) -> str:
    """In millions, to two digits where there are not more before the point."""
    millions = steps / 1e6
    return f"{millions:,.0f}" if millions >= 9.5 else f"{millions:.2g}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
