#!/usr/bin/env python3
"""What it takes to take in a data frame: memory above the frame itself, and time.

    python3 bench/python/frames.py [--rows 1000000] [--kinds pandas polars dict]

A frame of ten columns of float64, all of which have a role: time, seven states, two actions; the reward is a formula,
and `samples` is the default. Every figure comes from a process of its own, since memory that was freed once is not
always given back. `frame` is the frame's size; `lent` is how many of its columns reach the extension module without a
copy; `peak` is the most memory that was resident above what there was before: for `fpsrl.Log(problem, frame)`, and for
the package's part of it alone (`columns`). With `--sweep`, the same of other numbers of rows, samples and frames, from
which follows what a row and what a kept transition costs. Linux only: the high-water mark is that of /proc/self.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

import numpy as np

KINDS = ("dict", "pandas", "polars", "pyarrow", "pandas-rows", "pandas-float32", "pandas-objects", "polars-chunks")
STATES = [f"x{place}" for place in range(7)]
ACTIONS = ["u0", "u1"]
COLUMNS = ["time", *STATES, *ACTIONS]


def arrays(rows: int) -> dict[str, Any]:
    """A plant of seven states: each follows its action slowly."""
    random = np.random.default_rng(0)
    columns: dict[str, Any] = {"time": np.arange(rows, dtype=np.float64)}
    for name in ACTIONS:
        columns[name] = random.random(rows)
    for place, name in enumerate(STATES):
        noise = random.random(rows)
        noise += columns[ACTIONS[place % 2]]
        columns[name] = noise
    return {name: columns[name] for name in COLUMNS}


def frame_of(kind: str, rows: int) -> Any:
    if kind == "dict":
        return arrays(rows)
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(arrays(rows))
    if kind == "pandas-rows":
        import pandas

        # One block, row after row: no column is contiguous.
        return pandas.DataFrame(np.stack(list(arrays(rows).values()), axis=1), columns=COLUMNS, copy=False)
    if kind == "pandas-float32":
        import pandas

        return pandas.DataFrame({name: values.astype(np.float32) for name, values in arrays(rows).items()})
    if kind == "pandas-objects":
        import pandas

        others = pandas.DataFrame({f"note{place}": np.full(rows, "a note", dtype=object) for place in range(200)})
        return pandas.concat([pandas.DataFrame(arrays(rows)), others], axis=1)
    if kind == "polars":
        import polars

        return polars.DataFrame(arrays(rows))
    if kind == "polars-chunks":
        import polars

        whole = polars.DataFrame(arrays(rows))
        parts = [whole.slice(begin, rows // 10) for begin in range(0, rows, rows // 10)]
        return polars.concat(parts, rechunk=False)
    if kind == "pyarrow":
        import pyarrow

        return pyarrow.table(arrays(rows))
    raise SystemExit(f"no such kind: {kind}")


def memory(key: str) -> int:
    """A figure of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(key + ":"):
            return 1024 * int(line.split()[1])
    raise SystemExit("/proc/self/status has no " + key)


def peak(work: Callable[[], Any]) -> tuple[int, float]:
    """The most memory that was resident above what there was before, and the seconds that it took."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before, began = memory("VmRSS"), time.perf_counter()
    held = work()
    took = time.perf_counter() - began
    most = memory("VmHWM")
    del held
    return most - before, took


def problem(samples: int) -> Any:
    import fpsrl

    return fpsrl.Problem(
        "plant",
        horizon=20,
        states=STATES,
        actions={name: (0.0, 1.0) for name in ACTIONS},
        reward="-abs(x0 - 1)",
        data={"time": "time"},
        samples=samples,
    )


def measure(what: str, kind: str, rows: int, samples: int, parts: int) -> dict[str, Any]:
    import fpsrl
    from fpsrl import _frames

    plant = problem(samples)
    # What is loaded once is no part of the measurement.
    fpsrl.Log(plant, arrays(1000))
    frame = frame_of(kind, rows // parts)
    names = ["time", *STATES, *ACTIONS]
    data = frame if parts == 1 else parts * [frame]
    if what == "lent":
        twice = [_frames.frames(frame, names)[0][0] for _ in range(2)]
        # What is copied stands in another place each time.
        return {"lent": sum(bool(np.shares_memory(one[2], other[2])) for one, other in zip(*twice))}
    work = (lambda: _frames.frames(data, names)) if what == "columns" else (lambda: fpsrl.Log(plant, data))
    most, took = peak(work)
    return {what: most, f"{what}_seconds": took}


def measured(kind: str, rows: int, samples: int, parts: int = 1) -> dict[str, Any]:
    size = 8 * rows * len(COLUMNS) // (2 if kind == "pandas-float32" else 1)
    one: dict[str, Any] = {"kind": kind, "rows": rows, "samples": samples, "parts": parts, "frame": size}
    for what in ("lent", "columns", "log"):
        words = [sys.executable, __file__, "--one", what, kind, str(rows), str(samples), str(parts)]
        one.update(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))
    return one


def table(lines: list[dict[str, Any]]) -> None:
    heads = ("kind", "rows", "samples", "frames", "frame MB", "lent", "columns: peak MB", "s", "log: peak MB", "s")
    print("|".join(["", *heads, "bytes a byte", "bytes a row", ""]))
    print("|" + (len(heads) + 2) * "---|")
    for one in lines:
        columns, log, frame = one["columns"] / 1e6, one["log"] / 1e6, one["frame"] / 1e6
        print(
            f"| {one['kind']} | {one['rows']:,} | {one['samples']:,} | {one['parts']} | {frame:.0f} "
            f"| {one['lent']} of {len(COLUMNS)} | {columns:.1f} | {one['columns_seconds']:.3f} "
            f"| {log:.1f} | {one['log_seconds']:.2f} | {log / frame:.2f} | {one['log'] / one['rows']:.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--sweep", action="store_true", help="other numbers of rows, samples and frames")
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        what, kind, *numbers = given.one
        print(json.dumps(measure(what, kind, *map(int, numbers))))
    elif given.sweep:
        counts = (1_000, 100_000, 200_000)
        sizes = [(rows, samples, 1) for rows in (500_000, 1_000_000, 2_000_000) for samples in counts]
        sizes += [(2_000_000, 100_000, parts) for parts in (5, 20)]
        table([measured("dict", *size) for size in sizes])
    else:
        table([measured(kind, given.rows, given.samples) for kind in given.kinds])


if __name__ == "__main__":
    main()
