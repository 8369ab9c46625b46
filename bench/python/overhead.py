"""What `fpsrl.run` costs over the command: core seconds of both, interleaved, for the same problem and seed.

    python bench/python/overhead.py target/release/fpsrl [ROUNDS]

Both make every stage and a run directory. The package's start is counted too: importing NumPy and fpsrl.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
import fpsrl, sys
fpsrl.run(fpsrl.Problem("mountain-car", effort="quick")).save(sys.argv[1])
"""


def core_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    times: dict[str, list[float]] = {"command": [], "package": [], "import": []}
    with tempfile.TemporaryDirectory() as parent:
        for number in range(rounds):
            out = Path(parent) / str(number)
            arguments = ["run", "mountain-car", "--effort", "quick", "--quiet", "--out"]
            times["command"].append(core_seconds([program, *arguments, f"{out}-command"]))
            times["package"].append(core_seconds([sys.executable, "-c", SCRIPT, f"{out}-package"]))
            times["import"].append(core_seconds([sys.executable, "-c", "import fpsrl"]))
        same = (Path(f"{out}-command") / "policy.json").read_bytes() == (Path(f"{out}-package") / "policy.json").read_bytes()
    ratios = [package / command for package, command in zip(times["package"], times["command"])]
    for name, values in times.items():
        print(f"{name:<8} {statistics.median(values):7.2f} core seconds (least {min(values):.2f}, most {max(values):.2f})")
    print(f"package / command: median of {rounds} rounds {statistics.median(ratios):.3f}, least {min(ratios):.3f}, most {max(ratios):.3f}")
    print(f"the same policy: {same}")


if __name__ == "__main__":
    main()
