"""What runs on the machines of a cluster.

The class is made inside a function, so that Ray sends its code along: a node without fpsrl can then say so.
"""

from __future__ import annotations

from typing import Any


def worker_class() -> Any:
    """The class of workers, complete in itself."""

    class FpsrlWorker:
        """Holds worlds and logs that it was given, and works on them."""

        def __init__(self, threads: int) -> None:
            self._threads = threads
            #: What was fetched from the object store, by its key; the latest ones.
            self._fetched: dict[str, Any] = {}
            self._scorers: dict[tuple[str, str], Any] = {}
            self._workshops: dict[str, Any] = {}

        def __repr__(self) -> str:
            return "fpsrl"

        @staticmethod
        def _module(name: str) -> Any:
            import importlib

            return importlib.import_module(name)

        def hello(self) -> dict[str, Any]:
            """Who it is and what it can do."""
            import os
            import socket

            context = self._module("ray").get_runtime_context()
            told: dict[str, Any] = {"host": socket.gethostname(), "pid": os.getpid(), "node": context.get_node_id()}
            try:
                core = self._module("fpsrl._core")
                core.set_threads(self._threads)
                told.update(version=core.__version__, instructions=core.instruction_set())
            except Exception as error:
                told.update(fault=f"{type(error).__name__}: {error}")
            return told

        def _get(self, key: str, reference: Any) -> Any:
            if key not in self._fetched:
                # What an earlier stage needed is not needed again soon.
                while len(self._fetched) >= 2:
                    old = next(iter(self._fetched))
                    del self._fetched[old]
                    self._scorers = {which: one for which, one in self._scorers.items() if which[0] != old}
                    self._workshops.pop(old, None)
                self._fetched[key] = self._module("ray").get(reference)
            return self._fetched[key]

        def score(self, key: str, reference: list[Any], form: str, prune: bool, batch: Any, introduction: Any) -> Any:
            """Scores a batch: positions, what they have to beat, their scopes. ``None`` if it does not know the form.

            An introduction comes with the first batch of a form: the problem file's text, and a batch whose scores are
            known, to prove that this machine computes the same bits.
            """
            import time

            began = time.perf_counter()
            scorer, proof = self._scorers.get((key, form)), None
            if introduction is None:
                if scorer is None:
                    return None
            else:
                text, known_batch = introduction

                scorer = self._module("fpsrl._core").Scorer(self._get(key, reference[0])._core, text, prune, self._threads)
                self._scorers[key, form] = scorer
                proof = scorer.score(*known_batch)[0]
            ready = time.perf_counter()
            values, known, steps = scorer.score(*batch)
            return values, known, steps, time.perf_counter() - ready, self._memory(), proof

        def train(self, key: str, reference: list[Any], text: str, job: str) -> Any:
            """Trains a network."""
            import time

            began = time.perf_counter()
            workshop = self._workshops.get(key)
            if workshop is None:
                workshop = self._module("fpsrl._core").Workshop(self._get(key, reference[0])._core, text)
                self._workshops[key] = workshop
            return workshop.train(job), time.perf_counter() - began, self._memory()

        def run(self, packed: Any, directory: str, allow_process: bool = False) -> Any:
            """Makes the rest of a run: of one that is sent here, or of one in a directory that this machine sees. What comes back
            is its files and no failure, or a failure: its message, its hint, and whether it is a bug."""
            import os
            import tempfile
            import time

            began = time.perf_counter()
            core, stages = self._module("fpsrl._core"), self._module("fpsrl._stages")
            with tempfile.TemporaryDirectory(prefix="fpsrl-run-") as parent:
                here = directory
                if packed is not None:
                    here = os.path.join(parent, os.path.basename(directory))
                    stages._unpack(packed, here)
                elif not os.path.isdir(directory):
                    told = f"this machine does not see {directory}"
                    hint = "make the sweep without `shared`, or mount that directory on every machine at the same path"
                    return None, (told, hint, False), time.perf_counter() - began, self._memory()
                failure = core.finish(here, allow_process)
                if failure is not None:
                    # What is told of files is of those that the run has at home.
                    failure = tuple(text.replace(here, directory) if isinstance(text, str) else text for text in failure)
                    return None, failure, time.perf_counter() - began, self._memory()
                files = stages._packed(here) if packed is not None else None
            return files, None, time.perf_counter() - began, self._memory()

        def _memory(self) -> int:
            """Bytes of memory that it takes."""
            try:
                with open("/proc/self/statm", encoding="ascii") as file:
                    import os

                    return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            except OSError:
                return 0

        def last_words(self) -> str:
            """The end of what it wrote to standard error."""
            import glob
            import os

            ray = self._module("ray")
            worker = ray.get_runtime_context().get_worker_id()
            session = ray._private.worker._global_node.get_session_dir_path()
            for path in glob.glob(os.path.join(session, "logs", f"worker-{worker}-*.err")):
                with open(path, encoding="utf-8", errors="replace") as file:
                    lines = file.read()[-4000:].splitlines()
                    # What Ray writes there for itself tells nobody anything.
                    return "\n".join(line for line in lines if not line.startswith((":job_id:", ":actor_name:"))).strip()
            return ""

    return FpsrlWorker
