"""Candidates and trainings, dealt out to the workers of a cluster."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from .. import _core as core
from .._errors import ClusterError
from .._problem import Problem
from .._stages import Log, Worlds
from ._cluster import connect
from ._long import Training, runs_of
from ._pool import MOST_DEATHS, Pool, Worker, first_line

logger = logging.getLogger("fpsrl.ray")

#: Work that a message carries at least, in seconds: a message costs about half a millisecond.
LEAST_SECONDS = 0.03

#: Workers that are chosen if nobody says how many CPUs each has: a driver serves so many well (docs/scale.md).
MOST_WORKERS = 64

#: Into how many batches each worker's share of a round is cut, while much of the round is left.
CUTS = 4

#: A batch that takes so many times as long as expected is given to somebody else, too.
LATE = 3.0

#: But not before so many seconds.
LEAST_LATE = 1.0

#: A batch may wait behind another one of its worker's.
DEPTH_TIME = 2.0

#: How long a wait lasts before whoever asked may see whether it shall end, in seconds.
PAUSE = 0.2

#: How much the latest batch counts in what is known of speed and cost.
FRESH = 0.2

FAST = "search with numerics=\"reproducible\" (the command: --numerics reproducible), or on nodes of one kind"
ALIKE = "learn worlds on nodes of one kind, or on this machine: leave the evaluator out of `fit` (the command: --ray)"


SWEPT = "make a sweep on nodes of one kind: worlds that nodes of several kinds learn differ in their last bits"


@dataclass
class Figures:
    """What went over, and what became of it."""

    #: Batches and trainings that were sent, those that were sent twice included.
    messages: int = 0
    #: Rounds of searches that were scored.
    rounds: int = 0
    #: Positions that were scored, and networks that were trained.
    positions: int = 0
    trainings: int = 0
    #: Runs of sweeps that came to an end.
    runs: int = 0
    #: Bytes of arrays and texts in messages, both ways; without Ray's own envelopes.
    bytes_sent: int = 0
    bytes_received: int = 0
    #: Bytes of worlds and logs in the object store, which every node gets once.
    bytes_shared: int = 0
    #: Batches that were sent to a second worker because the first was late, or died.
    late: int = 0
    lost: int = 0
    #: Workers that died.
    deaths: int = 0
    #: Seconds of work on workers, all together.
    worked: float = 0.0


class Evaluator:
    """Machines of a Ray cluster, for searches and fits.

    Args:
        address: The cluster, as ``host:port`` or ``"auto"``. Without it: the one that this process is connected to, the one that
            ``RAY_ADDRESS`` names, or a new one on this machine, which ends with the evaluator.
        workers: How many workers at most; without it, as many as the cluster has room for, whenever it grows or shrinks.
        cpus_per_worker: CPUs, and threads, of each worker. One message serves all threads of a worker, and they share one copy
            of worlds and log: large nodes are used best by large workers. Without it: one, or as many as make at most 64 workers
            of the cluster as it is now.
        options: Further options of Ray for each worker: ``memory``, ``resources``, ``runtime_env``, ``scheduling_strategy``.

    What it finds is the same, byte for byte, with any number of workers, and when they die.
    """

    def __init__(
        self, address: Optional[str] = None, *, workers: Optional[int] = None, cpus_per_worker: Optional[int] = None, **options: Any
    ) -> None:
        for name, value in (("workers", workers), ("cpus_per_worker", cpus_per_worker)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ClusterError(f"{name} is {value!r}", remedy="give a whole number from 1 on")
        unknown = set(options) - {"memory", "resources", "runtime_env", "scheduling_strategy", "label_selector"}
        if unknown:
            raise TypeError(f"there is no option `{sorted(unknown)[0]}`\nhint: known: memory, resources, runtime_env, scheduling_strategy")
        self._closed = False
        self._local = False
        self._pool: Optional[Pool] = None
        self._ray, self._connected = connect(address, None)
        self._local = self._connected and self._ray._private.worker._global_node.is_head()
        self.figures = Figures()
        self._pool = Pool(self._ray, workers, cpus_per_worker or 1, options, self._tell, grows=not self._local)
        if cpus_per_worker is None and workers is None:
            total, largest = self._pool.room()
            self._pool.cpus = max(min(-(-total // MOST_WORKERS), largest), 1)
            self._pool.options["num_cpus"] = self._pool.cpus
        #: Steps of a world a second and CPU, as far as it is known; 0 if it is not.
        self._speed = 0.0
        #: What share of its steps a candidate of a scope takes before it is given up.
        self._shares: dict[tuple[int, ...], float] = {}

    def _tell(self, message: str) -> None:
        import warnings

        from .._errors import Warning
        from .._events import _outside

        warnings.warn(message, Warning, stacklevel=_outside())

    @property
    def workers(self) -> list[Worker]:
        """The workers that are there at present."""
        return list(self._opened().workers)

    def _opened(self) -> Pool:
        if self._closed or self._pool is None:
            raise ClusterError("this evaluator is closed", remedy="make another one: fpsrl.ray.Evaluator(…)")
        return self._pool

    def close(self) -> None:
        """Ends the workers; and Ray, if it was started for them."""
        if self._closed:
            return
        self._closed = True
        if self._pool is not None:
            self._pool.close()
            if self._connected:
                self._ray.shutdown()

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return "Evaluator(closed)"
        ready = sum(worker.ready for worker in self.workers)
        return f"Evaluator({ready} workers with {self._opened().cpus} CPUs each)"

    def __reduce__(self) -> Any:
        raise TypeError("an evaluator cannot be sent to another process: make one there")

    # What the extension module asks for.

    def _searching(self, inner: core.Worlds, worlds: Optional[Worlds] = None) -> _Search:
        worlds = worlds or Worlds._of(inner, _as_it_is(inner.problem))
        return _Search(self, inner, self._shared(worlds))

    def _learning(self, inner: core.Log, text: str, log: Optional[Log] = None) -> Training:
        log = log or Log._of(inner, _as_it_is(inner.problem))
        self._opened().must_be(core.instruction_set(), ALIKE)
        return Training(self, self._shared(log), text)

    def _sweeping(self, sweep: core.Sweep, names: Sequence[str], shared: bool) -> Iterator[Any]:
        self._opened().must_be(core.instruction_set(), SWEPT)
        return runs_of(self, sweep, names, shared)

    def _shared(self, artefact: Any) -> tuple[str, Any]:
        """Puts worlds or a log where every node gets them once."""
        packed = self._ray.cloudpickle.dumps(artefact)
        self.figures.bytes_shared += len(packed)
        logger.info("%r takes %.1f MB in the object store", artefact, len(packed) / 1e6)
        return hashlib.sha256(packed).hexdigest(), self._ray.put(artefact)


def _as_it_is(problem: core.Problem) -> Problem:
    """A problem of the command, with the permission that it has there."""
    return Problem.from_toml(problem.to_toml(), allow_process=problem.allow_process)


@dataclass(eq=False)
class _Batch:
    """Positions that go over together."""

    places: NDArray[np.int64]
    #: What it is expected to cost, in steps.
    cost: float
    #: Workers that have it, by their references.
    sent: dict[Any, tuple[Worker, float]] = field(default_factory=dict)
    done: bool = False
    deaths: int = 0


class _Search:
    """A search under way: its worlds are where the workers find them."""

    def __init__(self, evaluator: Evaluator, inner: core.Worlds, shared: tuple[str, Any]) -> None:
        self.evaluator = evaluator
        self.pool = evaluator._opened()
        self.ray = evaluator._ray
        self.inner = inner
        self.key, self.reference = shared
        #: For each form, what proves that a worker computes the same bits.
        self.proofs: dict[str, tuple[Any, NDArray[np.float64]]] = {}

    def score(
        self,
        form: tuple[str, str, bool],
        positions: NDArray[np.float64],
        to_beat: NDArray[np.float64],
        scopes: NDArray[np.int64],
        most_steps: NDArray[np.uint64],
    ) -> Iterator[Any]:
        """Scores positions, in parts: their places, values, whether those are known, steps; ``None`` in between."""
        text, numerics, prune = form
        name = hashlib.sha256(f"{text}{prune}".encode()).hexdigest()[:16]
        instructions = None if numerics == "reproducible" else core.instruction_set()
        self.pool.must_be(instructions, FAST)
        yield from self.pool.gather()
        introduction = self._introduction(name, text, prune, positions)
        figures = self.evaluator.figures
        figures.rounds += 1
        costs = self._costs(scopes, most_steps)
        order = np.argsort(-costs, kind="stable")
        left, at = float(costs.sum()), 0
        flying: dict[Any, _Batch] = {}
        again: list[_Batch] = []
        finished = 0
        while finished < len(positions):
            self.pool.look()
            for worker in self.pool.free():
                if again:
                    batch = again.pop()
                elif at < len(order):
                    size = self._size(left, costs[order[at:]])
                    batch = _Batch(order[at : at + size], float(costs[order[at : at + size]].sum()))
                    at, left = at + size, left - batch.cost
                else:
                    if worker.load:
                        continue
                    late = self._late(flying)
                    if late is None:
                        break
                    figures.late += 1
                    batch = late
                chosen = batch.places
                arrays = (positions[chosen], to_beat[chosen], scopes[chosen])
                known = introduction if name not in worker.forms else None
                sent = worker.calls["score"].remote(self.key, [self.reference], name, prune, arrays, known)
                worker.forms.add(name)
                worker.load += 1
                batch.sent[sent] = (worker, time.monotonic())
                flying[sent] = batch
                figures.messages += 1
                figures.bytes_sent += sum(array.nbytes for array in arrays) + (len(text) if known else 0)
            for answer in self._answers(flying):
                batch = flying.pop(answer)
                worker, _ = batch.sent.pop(answer)
                worker.load -= 1
                part = self._part(answer, batch, worker, name, introduction)
                if batch.done:
                    continue
                if part is None:
                    if not batch.sent:
                        again.append(batch)
                    continue
                batch.done = True
                finished += len(batch.places)
                figures.positions += len(batch.places)
                values, known_ones, steps = part
                self._learn(scopes[batch.places], most_steps[batch.places], steps)
                yield batch.places, values, known_ones, steps
            yield None
        # Whoever is late with what others have done meanwhile keeps his place taken until he has answered.
        for answer, batch in flying.items():
            self.pool.leave(answer, batch.sent[answer][0])

    def _introduction(self, name: str, text: str, prune: bool, positions: NDArray[np.float64]) -> Any:
        """What a worker is told of a form, and a batch whose scores this machine knows."""
        if name not in self.proofs:
            here = core.Scorer(self.inner, text, prune, 1)
            probe = (positions[:1].copy(), np.array([-np.inf]), np.array([[1, 0, 4, 0, 20]]))
            self.proofs[name] = ((text, probe), here.score(*probe)[0])
        return self.proofs[name][0]

    def _costs(self, scopes: NDArray[np.int64], most_steps: NDArray[np.uint64]) -> NDArray[np.float64]:
        """What positions are expected to take, in steps."""
        shares = self.evaluator._shares
        share = [shares.get(tuple(scope), 1.0) for scope in scopes.tolist()]
        return np.maximum(most_steps.astype(np.float64) * share, 1.0)

    def _learn(self, scopes: NDArray[np.int64], most_steps: NDArray[np.uint64], steps: NDArray[np.uint64]) -> None:
        shares = self.evaluator._shares
        for scope in set(map(tuple, scopes.tolist())):
            alike = (scopes == scope).all(axis=1)
            seen = float(steps[alike].sum()) / max(float(most_steps[alike].sum()), 1.0)
            shares[scope] = (1 - FRESH) * shares.get(scope, seen) + FRESH * seen

    def _size(self, left: float, costs: NDArray[np.float64]) -> int:
        """How many of the positions that are left go over next: many at first, few at the end, so that all end together; but
        not so few that messages cost more than work."""
        workers = max(sum(worker.ready for worker in self.pool.workers), 1)
        least = self.evaluator._speed * self.pool.cpus * LEAST_SECONDS
        wanted = max(left / (CUTS * workers), least)
        count = int(np.searchsorted(np.cumsum(costs), wanted)) + 1
        return max(count, min(2 * self.pool.cpus, len(costs)) if self.pool.cpus > 1 else 1)

    def _late(self, flying: dict[Any, _Batch]) -> Optional[_Batch]:
        """A batch whose worker takes far longer than expected, and that no other worker has."""
        now, speed = time.monotonic(), self.evaluator._speed * self.pool.cpus
        for batch in flying.values():
            if batch.done or len(batch.sent) != 1:
                continue
            (_, began), *_ = batch.sent.values()
            expected = batch.cost / speed if speed > 0 else 0.0
            if now - began > max(LATE * DEPTH_TIME * expected, LEAST_LATE):
                return batch
        return None

    def _answers(self, flying: dict[Any, _Batch]) -> list[Any]:
        """Calls that have ended; new workers are greeted meanwhile."""
        waiting = {worker.greeting: worker for worker in self.pool.workers if not worker.ready}
        left = self.pool.left_behind()
        everything = [*flying, *waiting, *left]
        if not everything:
            time.sleep(PAUSE)
            return []
        done, _ = self.ray.wait(everything, timeout=PAUSE)
        if done and len(everything) > 1:
            # Whatever else is there already comes along.
            done, _ = self.ray.wait(everything, num_returns=len(everything), timeout=0, fetch_local=True)
        for reference in done:
            if reference in waiting:
                self.pool.greet(waiting[reference])
            elif reference in left:
                self.pool.back(reference)
        return [reference for reference in done if reference in flying]

    def _part(self, answer: Any, batch: _Batch, worker: Worker, name: str, introduction: Any) -> Any:
        """The scores of a batch, or ``None`` if they have to come from somebody else."""
        figures, exceptions = self.evaluator.figures, self.ray.exceptions
        try:
            told = self.ray.get(answer)
        except exceptions.RayActorError as error:
            self.pool.bury(worker, error)
            figures.deaths = self.pool.deaths
            figures.lost += 1
            batch.deaths += 1
            if batch.deaths >= MOST_DEATHS:
                raise ClusterError(
                    f"{batch.deaths} workers died while they scored the same {len(batch.places)} candidates; "
                    f"the last, {worker.name}: {first_line(error)}",
                    remedy="often a node has too little memory: use fewer workers with more CPUs each (`cpus_per_worker`)",
                ) from None
            return None
        except exceptions.RayError as error:
            raise self.pool.failed(worker, error, f"score {len(batch.places)} candidates") from error
        if told is None:
            # It has forgotten the form, for others that came meanwhile.
            worker.forms.discard(name)
            return None
        values, known, steps, seconds, memory, proof = told
        if proof is not None:
            ours = self.proofs[name][1]
            if not np.array_equal(proof, ours, equal_nan=True):
                raise ClusterError(
                    f"{worker.name} computes other bits than this machine: {proof[0]!r} instead of {ours[0]!r}",
                    remedy=f"install the same build of fpsrl on every node; or {FAST}",
                )
        figures.bytes_received += values.nbytes + known.nbytes + steps.nbytes
        figures.worked += seconds
        speed = float(steps.sum()) / max(seconds, 1e-6) / self.pool.cpus
        evaluator = self.evaluator
        evaluator._speed = speed if evaluator._speed == 0.0 else (1 - FRESH) * evaluator._speed + FRESH * speed
        self.pool.note_memory(worker, memory)
        return values, known, steps


def of_command(address: object, workers: object) -> Evaluator:
    """The evaluator of the command, which tells what it has to say on standard error, and ends with the process."""
    import atexit
    import sys

    class OfCommand(Evaluator):
        def _tell(self, message: str) -> None:
            print(f"warning: {message}", file=sys.stderr)

    made = OfCommand(
        address if isinstance(address, str) else None, workers=workers if isinstance(workers, int) else None
    )
    atexit.register(made.close)
    return made
