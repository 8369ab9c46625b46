"""The results as text, Markdown, JSON and a picture."""

from __future__ import annotations

import json
from pathlib import Path

ENGINE = "engine"
# Colour-blind safe (Okabe and Ito), and told apart by markers too.
STYLES = {
    "engine": ("#0072b2", "o"),
    "JAX, short arctangent": ("#e69f00", "D"),
    "JAX": ("#d55e00", "s"),
    "NumPy": ("#555555", "^"),
}


def lines(size: dict) -> str:
    """One size for the terminal."""
    ours = _median(size, ENGINE)
    head = f"\n{_cores(size['cores'])}, {size['starts']:,} start states (million model steps per second)"
    rows = [
        f"  {row['contender']:<24}{row['median']:>8.3f}  ({row['slowest']:.3f} to {row['fastest']:.3f})"
        f"{ours / row['median']:>8.1f} x  {row['formulation']}"
        for row in size["rows"]
    ]
    return "\n".join([head, *rows])


def swarm_lines(cores: int, times: dict) -> str:
    """One iteration of a swarm for the terminal."""
    ours = times[ENGINE]["median"]
    head = f"\n{_cores(cores)}: one iteration of a swarm, 100 particles x 100 start states x 500 steps"
    rows = [f"  {name:<34}{each['median']:>9.3f} s{each['median'] / ours:>8.1f} x" for name, each in times.items()]
    return "\n".join([head, *rows])


def write(results: dict, out: Path) -> None:
    """Writes peers.json, peers.md, peers.svg and peers.png, and brings bench/README.md up to date."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "peers.json").write_text(json.dumps(results, indent=2) + "\n")
    text = markdown(results)
    (out / "peers.md").write_text(f"# The engine beside its peers\n\n{text}\n![cost against size](peers.svg)\n")
    plot(results, out)
    readme = Path(__file__).parent.parent / "README.md"
    replace_section(readme, "peers", f"{text}\n![cost against size](results/peers.svg)\n")


def replace_section(path: Path, name: str, text: str) -> None:
    """Replaces what stands between the marks of a section; a page without them is left alone."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    page = path.read_text() if path.exists() else ""
    if begin in page and end in page:
        before, after = page.split(begin, 1)[0], page.split(end, 1)[1]
        path.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def markdown(results: dict) -> str:
    """The tables."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    parts = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['instruction_set']}, {machine['system']};"
        f" Python {machine['python']}, {versions}. {results['rounds']['fitness']} rounds,"
        f" {results['rounds']['swarm']} of swarms; {_load(results['load'])}.\n"
    ]
    for cores in sorted({size["cores"] for size in results["sizes"]}):
        parts.append(f"{_cores(cores).capitalize()} ({_clock(cores)}), in million model steps per second: median (slowest to fastest).\n")
        parts.append("| start states | contender | speed | engine is faster by | formulation |")
        parts.append("|---:|---|---:|---:|---|")
        for size in (size for size in results["sizes"] if size["cores"] == cores):
            for row in size["rows"]:
                ratio = _median(size, ENGINE) / row["median"]
                parts.append(
                    f"| {size['starts']:,} | {row['contender']} |"
                    f" {row['median']:.3f} ({row['slowest']:.3f} to {row['fastest']:.3f}) |"
                    f" {'' if row['contender'] == ENGINE else f'{ratio:.1f} ×'} | {row['formulation']} |"
                )
        parts.append("")
        times = results["swarm"].get(cores)
        if times:
            parts.append("One iteration of a swarm, 100 particles × 100 start states × 500 steps:\n")
            parts.append("| swarm | seconds | engine is faster by |")
            parts.append("|---|---:|---:|")
            for name, each in times.items():
                ratio = "" if name == ENGINE else f"{each['median'] / times[ENGINE]['median']:.1f} ×"
                parts.append(f"| {name} | {each['median']:.3f} | {ratio} |")
            parts.append("")
    return "\n".join(parts)


def plot(results: dict, out: Path) -> None:
    """Cost of a model step against the number of start states."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    from matplotlib import ticker

    plt.rcParams.update({"svg.hashsalt": "fpsrl", "font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    counts = sorted({size["cores"] for size in results["sizes"]})
    figure, axes = plt.subplots(1, len(counts), figsize=(1.0 + 4.6 * len(counts), 4.2), sharey=True, squeeze=False)
    for axis, cores in zip(axes[0], counts):
        sizes = sorted((size for size in results["sizes"] if size["cores"] == cores), key=lambda size: size["starts"])
        starts = [size["starts"] for size in sizes]
        for name, (colour, marker) in STYLES.items():
            rows = [next(row for row in size["rows"] if row["contender"] == name) for size in sizes]
            middle = [1e3 / row["median"] for row in rows]
            spread = [
                [centre - 1e3 / row["fastest"] for centre, row in zip(middle, rows)],
                [1e3 / row["slowest"] - centre for centre, row in zip(middle, rows)],
            ]
            axis.errorbar(starts, middle, yerr=spread, color=colour, marker=marker, capsize=3, lw=1.8, label=name)
        axis.set_xlim(starts[0] / 1.4, starts[-1] * 1.4)
        axis.set(xscale="log", yscale="log", xlabel="start states of a policy", title=_cores(cores))
        axis.set_xticks(starts, [f"{count:,}" for count in starts])
        axis.minorticks_off()
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(ticker.FuncFormatter(lambda cost, _: f"{cost:,.0f}"))
        axis.grid(axis="y", which="major", color="#dddddd", lw=0.8)
        axis.set_axisbelow(True)
    axes[0][0].set_ylabel("nanoseconds per model step")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(out / "peers.svg", metadata={"Date": None})
    figure.savefig(out / "peers.png", dpi=110)
    plt.close(figure)


def _median(size: dict, name: str) -> float:
    return next(row["median"] for row in size["rows"] if row["contender"] == name)


def _cores(count: int) -> str:
    return "one core" if count == 1 else f"{count} cores"


def _clock(cores: int) -> str:
    return "processor time" if cores == 1 else "on the clock"


def _load(load: float | None) -> str:
    if load is None:
        return "on a machine busy with other work (its load was not recorded)"
    return f"the machine's load before the run was {load:.1f}"
