"""A contender in a process of its own: answers a request a line with a line, like the engine's `engine serve`.

    python worker.py jax|numpy|pyswarms THREADS

Requests are `{"case": FILE, "task": "fitness"|"swarm", "formulation": NAME}` and `{"task": "describe"}`. Only the
computation is timed: reading the case, compiling and starting up are not.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context

THREADS = int(sys.argv[2])
# Numeric libraries read these when they are loaded. NumPy uses more cores by more processes, as pyswarms does: the
# products of a rollout are too small for threads within one of them.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", JAX_PLATFORMS="cpu")
if THREADS == 1:
    FLAGS = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
else:
    # One device a core: policies can be spread over them, which is more than the compiler does by itself.
    FLAGS = f"--xla_force_host_platform_device_count={THREADS}"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}".strip()

import numpy as np  # noqa: E402

import case as cases  # noqa: E402

CASES: dict[str, tuple] = {}


class NumpyContender:
    """NumPy; several cores by a pool of processes over the policies."""

    def __init__(self) -> None:
        import rollout_numpy

        self.module = rollout_numpy
        self.pool = get_context("fork").Pool(THREADS) if THREADS > 1 else None

    def describe(self) -> dict:
        """What this contender is."""
        return {"version": np.__version__, "formulations": list(self.module.FORMULATIONS)}

    def fitness(self, path: str, formulation: str) -> Callable[[], np.ndarray]:
        """The computation to be timed."""
        positions = _numpy_case(path)[0].positions
        if self.pool is None:
            return lambda: _numpy_fitness(path, positions, formulation)
        parts = [part for part in np.array_split(positions, THREADS) if len(part)]
        work = [(path, part, formulation) for part in parts]
        return lambda: np.concatenate(self.pool.starmap(_numpy_fitness, work))


class JaxContender:
    """JAX; several cores by spreading the policies over one device a core, and by the compiler's own threads."""

    def __init__(self) -> None:
        import jax
        import rollout_jax

        self.jax, self.module = jax, rollout_jax
        self.rollouts: dict[str, tuple] = {}

    def describe(self) -> dict:
        """What this contender is."""
        return {"version": self.jax.__version__, "formulations": list(self.module.FORMULATIONS)}

    def fitness(self, path: str, formulation: str) -> Callable[[], np.ndarray]:
        """The computation to be timed, compiled."""
        if path not in self.rollouts:
            # Programs of other sizes are not needed again.
            self.rollouts.clear()
            case = cases.load(path)
            rollouts = self.module.Rollouts(case)
            self.rollouts[path] = (rollouts, rollouts.prepare(case.positions))
        rollouts, policies = self.rollouts[path]

        def run() -> np.ndarray:
            return rollouts.fitness(policies, formulation)

        if formulation not in rollouts.programs:
            run()
        return run


class SwarmContender:
    """pyswarms: its local-best swarm on a ring, with the NumPy rollouts as the function to minimise."""

    def __init__(self) -> None:
        import pyswarms

        self.pyswarms = pyswarms

    def describe(self) -> dict:
        """What this contender is."""
        return {"version": self.pyswarms.__version__, "formulations": list(_numpy_formulations())}

    def swarm(self, path: str, formulation: str) -> Callable[[], np.ndarray]:
        """One iteration of a swarm with as many particles as the case has policies."""
        case = _numpy_case(path)[0]
        options = {"w": 0.72981, "c1": 1.49618, "c2": 1.49618, "k": 3, "p": 2}
        span = case.space[1] - case.space[0]
        optimiser = self.pyswarms.single.LocalBestPSO(
            n_particles=len(case.positions),
            dimensions=case.positions.shape[1],
            options=options,
            bounds=case.space,
            velocity_clamp=(-0.1 * span, 0.1 * span),
            init_pos=case.positions.copy(),
            static=True,
        )

        def run() -> np.ndarray:
            processes = THREADS if THREADS > 1 else None
            cost, _ = optimiser.optimize(
                _cost, iters=1, n_processes=processes, verbose=False, path=path, formulation=formulation
            )
            return np.array([-cost])

        return run


def _numpy_formulations() -> tuple:
    import rollout_numpy

    return rollout_numpy.FORMULATIONS


def _numpy_case(path: str) -> tuple:
    import rollout_numpy

    if path not in CASES:
        case = cases.load(path)
        CASES[path] = (case, rollout_numpy.Rollouts(case))
    return CASES[path]


def _numpy_fitness(path: str, positions: np.ndarray, formulation: str) -> np.ndarray:
    return _numpy_case(path)[1].fitness(positions, formulation)


def _cost(positions: np.ndarray, path: str, formulation: str) -> np.ndarray:
    return -_numpy_fitness(path, positions, formulation)


def main() -> None:
    """Answers requests until the input ends."""
    contender = {"jax": JaxContender, "numpy": NumpyContender, "pyswarms": SwarmContender}[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        if request["task"] == "describe":
            answer = contender.describe()
        else:
            run = getattr(contender, request["task"])(request["case"], request["formulation"])
            began, processor_began = time.perf_counter(), time.process_time()
            fitness = run()
            answer = {
                "seconds": time.perf_counter() - began,
                "processor_seconds": time.process_time() - processor_began,
                "fitness": fitness.tolist(),
            }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
