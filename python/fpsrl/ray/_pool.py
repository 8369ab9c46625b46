"""Workers on the nodes of a cluster: started, greeted, watched, replaced when they die."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from .._core import __version__
from .._errors import ClusterError, InternalError
from ._worker import worker_class

logger = logging.getLogger("fpsrl.ray")

#: Batches that a worker has at a time: while it works on one, the next is on its way.
DEPTH = 2

#: How often one piece of work may take its worker down before it is not given to another.
MOST_DEATHS = 5

#: Seconds between two looks at what the cluster has.
LOOK = 1.0

#: Seconds without any worker after which that is said.
SILENCE = 10.0

#: The share of a node's memory from which on it is said that it gets scarce.
SCARCE = 0.8


@dataclass(eq=False)
class Worker:
    """A worker as it presented itself."""

    number: int
    actor: Any = field(repr=False)
    greeting: Any = field(repr=False)
    #: Where it runs; empty until it has presented itself.
    host: str = ""
    pid: int = 0
    node: str = ""
    #: Bytes of memory that it took when it answered last.
    memory: int = 0
    #: Calls that it has not answered yet.
    load: int = 0
    ready: bool = False
    dead: bool = False
    #: Its calls, with the names that Ray's dashboard shows.
    calls: dict[str, Any] = field(default_factory=dict, repr=False)
    #: Forms of policies that it knows already.
    forms: set[str] = field(default_factory=set, repr=False)

    @property
    def name(self) -> str:
        """How it is called in messages."""
        where = f" (process {self.pid} on {self.host})" if self.host else ""
        return f"worker {self.number}{where}"


class Pool:
    """The workers of an evaluator."""

    def __init__(
        self, ray: Any, workers: Optional[int], cpus: int, options: dict[str, Any], tell: Callable[[str], None], grows: bool
    ) -> None:
        self.ray = ray
        self.wanted = workers
        self.cpus = cpus
        self.tell = tell
        #: Whether the cluster may get more nodes than it has.
        self.grows = grows
        self.lock = threading.RLock()
        self.workers: list[Worker] = []
        self.deaths = 0
        self.started = 0
        #: What every worker must be like, from the second one on.
        self.alike: dict[str, Any] = {}
        self._class = ray.remote(worker_class())
        self.options = {"num_cpus": cpus, "max_restarts": 0, "max_task_retries": 0, **options}
        self._left: dict[Any, Worker] = {}
        self._looked = 0.0
        self._lonely_since = time.monotonic()
        self._told: set[str] = set()

    def tell_once(self, about: str, message: str) -> None:
        """Says something, the first time."""
        with self.lock:
            if about in self._told:
                return
            self._told.add(about)
        self.tell(message)

    def room(self) -> tuple[int, int]:
        """CPUs of the whole cluster, and of its largest node."""
        nodes = [node["Resources"].get("CPU", 0.0) for node in self.ray.nodes() if node["Alive"]]
        return int(sum(nodes)), int(max(nodes, default=0.0))

    def look(self) -> None:
        """Starts workers where there is room for more, at most once a second."""
        with self.lock:
            now = time.monotonic()
            if now - self._looked < LOOK:
                return
            self._looked = now
            alive = [worker for worker in self.workers if not worker.dead]
            total, largest = self.room()
            wanted = self.wanted if self.wanted is not None else max(total // self.cpus, 1)
            if largest < self.cpus and not self.grows:
                raise ClusterError(
                    f"a worker of {self.cpus} CPUs was asked for, and this machine has {largest}",
                    remedy="ask for smaller workers",
                )
            if wanted * self.cpus > total:
                self.tell_once(
                    "room",
                    f"{wanted} workers with {self.cpus} CPUs each were asked for, and the cluster has {total} CPUs on nodes of "
                    f"at most {largest}: those that find no place wait until it grows",
                )
            for _ in range(len(alive), wanted):
                self._start()
            if any(worker.ready for worker in alive):
                self._lonely_since = now
                self._told.discard("alone")
            elif now - self._lonely_since > SILENCE:
                free = int(self.ray.available_resources().get("CPU", 0.0))
                self.tell_once(
                    "alone",
                    f"no worker has started within {SILENCE:.0f} seconds: each needs {self.cpus} CPUs, and the cluster has "
                    f"{total}, of which {free} are free; waiting",
                )

    def _start(self) -> None:
        self.started += 1
        actor = self._class.options(**self.options).remote(self.cpus)
        calls = {
            "score": actor.score.options(name="fpsrl: score candidates"),
            "train": actor.train.options(name="fpsrl: train a network"),
        }
        greeting = actor.hello.options(name="fpsrl: hello").remote()
        self.workers.append(Worker(self.started, actor, greeting, calls=calls))

    def greet(self, worker: Worker) -> None:
        """A worker has presented itself, or has died before it could."""
        try:
            told = self.ray.get(worker.greeting)
        except self.ray.exceptions.RayActorError as error:
            self.bury(worker, error)
            # A node on which none ever starts would be tried for ever.
            if self.deaths > MOST_DEATHS and not any(other.ready for other in self.workers):
                raise ClusterError(
                    f"{self.deaths} workers died before they could work; the last: {first_line(error)}",
                    remedy="look at Ray's logs on that node, usually below /tmp/ray/session_latest/logs",
                ) from None
            return
        with self.lock:
            worker.host, worker.pid, worker.node = told["host"], told["pid"], told["node"]
        if "fault" in told:
            missing = "No module named 'fpsrl'" in told["fault"]
            what = "has no fpsrl" if missing else f"cannot load fpsrl ({told['fault']})"
            raise ClusterError(
                f"the node {worker.host} {what}", remedy="install the same fpsrl on every node, or pass a `runtime_env` that does"
            )
        version = self.alike.get("version", told["version"])
        if told["version"] != version:
            raise ClusterError(
                f"the node {worker.host} has fpsrl {told['version']}, and this machine has {version}",
                remedy="install the same fpsrl on every node",
            )
        here = self.alike.get("instructions")
        if here is not None and told["instructions"] != here:
            raise ClusterError(
                f"the node {worker.host} computes with {told['instructions']}, and this machine with {here}: "
                "they would give other bits",
                remedy=self.alike["remedy"],
            )
        with self.lock:
            worker.ready = True
        logger.info("%s has started", worker.name)

    def bury(self, worker: Worker, error: BaseException) -> None:
        """A worker is dead; another takes its place."""
        with self.lock:
            if worker.dead:
                return
            worker.dead, worker.ready = True, False
            self.workers.remove(worker)
            self.deaths += 1
            self._looked = 0.0
        logger.warning("%s has died and is replaced: %s", worker.name, first_line(error))

    def must_be(self, instructions: Optional[str], remedy: str) -> None:
        """From now on, all workers must have this version, and these instructions if any are given."""
        wanted = {"version": __version__, "remedy": remedy, "instructions": instructions}
        with self.lock:
            if self.alike == wanted:
                return
            self.alike = wanted
            present = [worker for worker in self.workers if worker.ready]
            for worker in present:
                worker.ready = False
        for worker in present:
            self.greet(worker)

    def gather(self) -> Any:
        """Waits until those workers have presented themselves that find room at present; gives ``None`` now and then."""
        began = time.monotonic()
        while True:
            self.look()
            with self.lock:
                waiting = [worker for worker in self.workers if not worker.ready]
                ready = len(self.workers) - len(waiting)
            if not waiting:
                return
            done, _ = self.ray.wait([worker.greeting for worker in waiting], timeout=0.1)
            for worker in waiting:
                if worker.greeting in done:
                    self.greet(worker)
            room = self.room()[0] // self.cpus
            # Ray may have given CPUs to others; whoever has begun need not wait for those.
            if ready >= min(len(self.workers), max(room, 1)) or (ready and time.monotonic() - began > SILENCE):
                return
            yield None

    def free(self) -> list[Worker]:
        """Workers that can take work, those with the least first."""
        with self.lock:
            return sorted((one for one in self.workers if one.ready and one.load < DEPTH), key=lambda one: one.load)

    def leave(self, answer: Any, worker: Worker) -> None:
        """A worker's answer is not needed any more; until it comes, the worker has work."""
        with self.lock:
            self._left[answer] = worker

    def left_behind(self) -> dict[Any, Worker]:
        """Answers that nobody needs."""
        with self.lock:
            return dict(self._left)

    def back(self, answer: Any) -> None:
        """A worker has answered what nobody needs."""
        with self.lock:
            worker = self._left.pop(answer, None)
            if worker is None:
                return
            worker.load -= 1
        try:
            self.ray.get(answer)
        except self.ray.exceptions.RayActorError as error:
            self.bury(worker, error)
        except self.ray.exceptions.RayError:
            # Whoever did the same work in his place has not failed.
            logger.debug("%s failed late", worker.name)

    def note_memory(self, worker: Worker, memory: int) -> None:
        """A worker says how much memory it takes; where a node's gets scarce, that is said."""
        with self.lock:
            worker.memory = memory
            total = sum(one.memory for one in self.workers if one.node == worker.node)
            count = sum(one.node == worker.node for one in self.workers)
            if total < SCARCE * self._smallest_node():
                return
        self.tell_once(
            f"memory of {worker.node}",
            f"{count} workers on {worker.host} take {total / 1e9:.1f} GB, and Ray gives them "
            f"{self._smallest_node() / 1e9:.1f} GB: use fewer workers with more CPUs each (`cpus_per_worker`)",
        )

    def _smallest_node(self) -> float:
        if time.monotonic() - getattr(self, "_measured", -1e9) > 10.0:
            self._measured = time.monotonic()
            sizes = [node["Resources"].get("memory", float("inf")) for node in self.ray.nodes() if node["Alive"]]
            self._memory = min(sizes, default=float("inf"))
        return float(self._memory)

    def failed(self, worker: Worker, error: BaseException, doing: str) -> BaseException:
        """What an exception on a worker means, with the worker's name and its last words."""
        cause = getattr(error, "cause", None) or error
        try:
            words = self.ray.get(worker.actor.last_words.remote(), timeout=3.0)
        except Exception:
            words = ""
        tail = f"\nits last words on standard error:\n{words}" if words else ""
        told = getattr(cause, "message", None) or f"{type(cause).__name__}: {first_line(cause)}"
        kind = InternalError if isinstance(cause, InternalError) else ClusterError
        return kind(f"{worker.name} failed to {doing}: {told}{tail}", remedy=getattr(cause, "remedy", None))

    def close(self) -> None:
        """Ends all workers."""
        with self.lock:
            workers, self.workers = self.workers, []
        for worker in workers:
            try:
                self.ray.kill(worker.actor, no_restart=True)
            except Exception:
                # It is gone already, or Ray is.
                logger.debug("%s could not be ended", worker.name)


def first_line(error: BaseException) -> str:
    """The gist of what Ray says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
