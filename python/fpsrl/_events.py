"""Progress: typed events for whoever listens, a bar for whoever watches."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any, Callable, Optional, Union

from ._errors import Warning

logger = logging.getLogger("fpsrl")


@dataclass(frozen=True)
class Event:
    """What a stage reports."""

    #: ``"began"``, ``"advanced"``, ``"ended"``, or ``"noticed"``.
    kind: str
    #: ``"read"``, ``"generate"``, ``"fit"``, ``"search"``, ``"front"``, ``"evaluate"``, ``"ceiling"``, ``"report"`` or
    #: ``"sweep"``.
    stage: str
    #: How much of the total is done.
    done: int
    #: What the stage counts up to.
    total: int
    #: How it stands, in words.
    message: str
    #: The best return so far, of a search.
    best: Optional[float]


#: What a stage may be given: nothing, ``True`` for a bar, or a function that is called with each event. A function that
#: raises ends the work; raising :class:`fpsrl.Stopped` ends a search with a checkpoint.
Progress = Union[None, bool, Callable[[Event], Any]]


def listener(progress: Progress) -> Callable[..., None]:
    """What the stages call. Warnings go to ``warnings``, everything to the logger ``fpsrl``, and the rest to the user."""
    tell: Optional[Callable[[Event], Any]]
    tell = None if progress is None or progress is False else _Bar() if progress is True else progress
    if tell is not None and not callable(tell):
        raise TypeError(f"progress: {type(progress).__name__} was given where True or a function is meant")
    totals: dict[str, int] = {}

    def hear(kind: str, stage: str, done: int, total: int, message: str, best: Optional[float]) -> None:
        if kind == "began":
            totals[stage] = total
            logger.debug("%s begins", stage)
        elif kind == "ended":
            logger.debug("%s has ended", stage)
        elif kind == "noticed":
            if message.startswith("warning: "):
                warnings.warn(message[len("warning: ") :], Warning, stacklevel=_outside())
            logger.info(message)
        if tell is not None:
            tell(Event(kind, stage, done, totals.get(stage, 0), message, best))

    return hear


def _outside() -> int:
    """How far up whoever called the package is: a warning names that place."""
    level, frame = 2, sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("fpsrl."):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level


class _Bar:
    """A bar for each stage: tqdm's where it is installed, else a line on standard error."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self._tqdm: Any = tqdm
        self._bar: Any = None
        self._told = 0.0

    def __call__(self, event: Event) -> None:
        if self._tqdm is None:
            self._plain(event)
        elif event.kind == "began":
            self._close()
            self._bar = self._tqdm(total=event.total, desc=event.stage, unit="", leave=True)
        elif event.kind == "advanced" and self._bar is not None:
            self._bar.set_postfix_str(event.message, refresh=False)
            self._bar.update(event.done - self._bar.n)
        elif event.kind == "ended":
            self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _plain(self, event: Event) -> None:
        # A line now and then tells enough, wherever standard error goes.
        if event.kind == "advanced" and time.monotonic() - self._told > 5.0:
            self._told = time.monotonic()
            share = f"{100 * event.done / event.total:3.0f} %" if event.total else ""
            print(f"{event.stage} {share} {event.message}".rstrip(), file=sys.stderr)
