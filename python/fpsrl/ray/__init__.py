"""Searches and fits on the machines of a Ray cluster: the same rules, byte for byte, as on one machine.

    with fpsrl.ray.Evaluator("10.0.0.5:6379") as machines:
        worlds = fpsrl.fit(problem, log, evaluator=machines)
        found = fpsrl.search(worlds, evaluator=machines)

Only small pieces of work go over: candidates with what each has to beat, or networks to be trained. The worlds and their log
travel once to each node. Every node needs fpsrl of the same version; nothing has to be shared but the network.
"""

from __future__ import annotations

from ._evaluator import Evaluator, Figures
from ._pool import Worker

__all__ = ["Evaluator", "Figures", "Worker"]


def _for_command(address: object, workers: object) -> object:
    """The evaluator of the command ``fpsrl … --ray``."""
    from ._evaluator import of_command

    return of_command(address, workers)
