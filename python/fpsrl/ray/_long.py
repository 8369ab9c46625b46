"""Work that takes a worker seconds to hours: networks to be trained, runs of sweeps to be made. Each goes to one worker at a time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional

from .. import _core as core
from .._errors import ClusterError
from .._stages import _packed, _unpack
from ._pool import MOST_DEATHS, Worker, first_line

if TYPE_CHECKING:
    from ._evaluator import Evaluator

#: How long a wait lasts before whoever asked may see whether it shall end, in seconds.
PAUSE = 0.2


def dealt(
    evaluator: Evaluator,
    todo: list[int],
    send: Callable[[int, Worker], Any],
    doing: str,
    given_up: Callable[[int, str], bool],
) -> Iterator[Any]:
    """Deals pieces of work out, the last of the list first, each to a worker that has nothing else. Gives each place with its answer,
    and ``None`` in between. ``send`` returns a reference, or ``None`` where there is nothing to be waited for. A piece that has taken
    too many workers down is ``given_up`` with the reason, if that is possible."""
    pool, ray, figures = evaluator._opened(), evaluator._ray, evaluator.figures
    deaths: dict[int, int] = {}
    flying: dict[Any, tuple[int, Worker]] = {}
    yield from pool.gather()
    try:
        while todo or flying:
            pool.look()
            for worker in pool.free():
                while todo and not worker.load:
                    place = todo.pop()
                    sent = send(place, worker)
                    if sent is None:
                        yield place, None
                        continue
                    worker.load += 1
                    flying[sent] = (place, worker)
                    figures.messages += 1
            waiting = {worker.greeting: worker for worker in pool.workers if not worker.ready}
            everything = [*flying, *waiting]
            done: list[Any] = []
            if everything:
                done, _ = ray.wait(everything, timeout=PAUSE)
            else:
                time.sleep(PAUSE)
            for answer in done:
                if answer in waiting:
                    pool.greet(waiting[answer])
                    continue
                place, worker = flying.pop(answer)
                worker.load -= 1
                try:
                    told = ray.get(answer)
                except ray.exceptions.RayActorError as error:
                    pool.bury(worker, error)
                    figures.deaths = pool.deaths
                    figures.lost += 1
                    deaths[place] = deaths.get(place, 0) + 1
                    if deaths[place] < MOST_DEATHS:
                        todo.append(place)
                        continue
                    why = f"{deaths[place]} workers died while they tried to {doing}; the last, {worker.name}: {first_line(error)}"
                    if not given_up(place, why):
                        remedy = "often a node has too little memory: use fewer workers (`workers`), or a shorter log"
                        raise ClusterError(why, remedy=remedy) from None
                    yield place, None
                    continue
                except ray.exceptions.RayError as error:
                    raise pool.failed(worker, error, doing) from error
                *answered, seconds, memory = told
                figures.worked += seconds
                pool.note_memory(worker, memory)
                yield place, answered
            yield None
    finally:
        # Whoever ends this early does not wait for what is under way: it cannot be ended but with its worker.
        for answer, (_, worker) in flying.items():
            pool.leave(answer, worker)


class Training:
    """Trainings on a log, which is where the workers find it."""

    def __init__(self, evaluator: Evaluator, shared: tuple[str, Any], text: str) -> None:
        self.evaluator = evaluator
        self.key, self.reference = shared
        self.text = text

    def train(self, jobs: Sequence[str], costs: Sequence[int]) -> Iterator[Any]:
        """Does jobs, the dearest first, and gives each result as soon as it is there; ``None`` in between."""
        figures = self.evaluator.figures

        def send(job: int, worker: Worker) -> Any:
            figures.bytes_sent += len(jobs[job]) + len(self.text)
            return worker.calls["train"].remote(self.key, [self.reference], self.text, jobs[job])

        # Of equal ones, the first comes first.
        todo = sorted(range(len(jobs)), key=lambda job: (costs[job], -job))
        for part in dealt(self.evaluator, todo, send, "train a network", lambda *_: False):
            if part is None:
                yield None
                continue
            job, (result,) = part
            figures.bytes_received += len(result)
            figures.trainings += 1
            yield job, result


def runs_of(evaluator: Evaluator, sweep: core.Sweep, names: Sequence[str], shared: bool) -> Iterator[Any]:
    """Makes runs of a sweep. Gives the place of each when it is finished or its failure is kept; ``None`` in between."""
    figures = evaluator.figures
    coming = Path(sweep.directory) / "coming"
    # What an interrupted sweep was sent is not whole.
    shutil.rmtree(coming, ignore_errors=True)

    def send(place: int, worker: Worker) -> Any:
        directory: Optional[Path] = sweep.prepare(names[place])
        if directory is None:
            return None
        packed = None if shared else _packed(directory)
        figures.bytes_sent += len(packed or b"")
        return worker.actor.run.options(name=f"fpsrl: run {names[place]}").remote(
            packed, str(directory), sweep.allow_process
        )

    def given_up(place: int, why: str) -> bool:
        sweep.keep_failure(names[place], why, "often a node has too little memory: use fewer workers", False)
        return True

    for part in dealt(evaluator, list(range(len(names)))[::-1], send, "make a run", given_up):
        if part is None:
            yield None
            continue
        place: int = part[0]
        answer = part[1]
        if answer is not None:
            packed, failure = answer
            if failure is not None:
                sweep.keep_failure(names[place], *failure)
            elif packed is not None:
                figures.bytes_received += len(packed)
                _unpack(packed, coming / names[place])
                sweep.adopt(names[place], coming / names[place])
        figures.runs += 1
        yield place
    shutil.rmtree(coming, ignore_errors=True)
