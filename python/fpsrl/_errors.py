"""What can go wrong, as exceptions that say where, and what to do about it."""

from __future__ import annotations

import builtins
from typing import Any, Optional


def visible(text: str) -> str:
    """Text from outside on one line: what a terminal or a page would obey, or hide, is shown by its number."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else f"\\u{{{ord(sign):x}}}" for sign in text)


class Error(Exception):
    """Everything that fpsrl refuses or fails at.

    The message says what is wrong and where. What it says is there as attributes, too; each is ``None`` where it does not
    apply.

    >>> import fpsrl
    >>> try:
    ...     fpsrl.Problem("mountain-cat")
    ... except fpsrl.Error as error:
    ...     print(error.message, "|", error.remedy.split("?")[0])
    there is no plant called `mountain-cat` | did you mean `mountain-car`
    """

    #: What to do about it.
    remedy: Optional[str]
    #: The setting whose value cannot be used, as in a problem file: ``search.particles``.
    setting: Optional[str]
    #: The file, or ``<frame>`` for data that came from memory.
    file: Optional[str]
    #: The line of the file, counted from 1.
    line: Optional[int]
    #: The row of a frame or an array, counted from 0: ``frame.iloc[error.row]``.
    row: Optional[int]
    #: The column, by its name.
    column: Optional[str]

    def __init__(
        self,
        message: str,
        *,
        remedy: Optional[str] = None,
        setting: Optional[str] = None,
        file: Optional[str] = None,
        line: Optional[int] = None,
        row: Optional[int] = None,
        column: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.setting = setting
        self.file = file
        self.line = line
        self.row = row
        self.column = column

    def __str__(self) -> str:
        told = f"{self.message}\nhint: {self.remedy}" if self.remedy else self.message
        return "\n".join(visible(line) for line in told.split("\n"))

    def __reduce__(self) -> Any:
        # Exceptions cross processes by pickle, which would otherwise lose what was given by name.
        return (_again, (type(self), self.message, self.__dict__))


def _again(kind: type[Error], message: str, state: dict[str, Any]) -> Error:
    error = kind(message)
    error.__dict__.update(state)
    return error


class ProblemError(Error, ValueError):
    """A problem that cannot be used as it is written: a setting out of its range, an unknown name, a broken file."""


class LogError(Error, ValueError):
    """A log that cannot be used: a column that is missing, a cell that is no number, too few rows."""


class PolicyError(Error, ValueError):
    """Rules that cannot be used, or do not fit the problem."""


class RunError(Error):
    """A run directory that cannot be used: files that do not belong together, that are missing, that are in use."""


class FileError(Error, OSError):
    """A file that cannot be read or written."""


class SimulatorError(Error):
    """A function or a process that is the world has failed; ``__cause__`` is what the function raised."""


class ClusterError(Error):
    """Other machines that should have worked for this one could not: no Ray, no answer, no worker, an fpsrl of another version.

    Of a search, ``checkpoint`` has where it stood.
    """

    #: Where the search stood, for ``fpsrl.search(worlds, checkpoint=…)``; ``None`` of other work.
    checkpoint: Any = None


class Stopped(Error):
    """A listener has ended the work by raising this; of a search, ``checkpoint`` has where it stood."""

    #: Where the search stood, for ``fpsrl.search(worlds, checkpoint=…)``; ``None`` of other work, and of a search that was over
    #: by then.
    checkpoint: Any = None

    def __init__(self, message: str = "stopped", **details: Any) -> None:
        super().__init__(message, **details)


class InternalError(Error):
    """A failure of ours, which no input should be able to cause. Please report it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C has ended a search; ``checkpoint`` has where it stood."""

    #: Where the search stood, for ``fpsrl.search(worlds, checkpoint=…)``.
    checkpoint: Any = None


class Warning(builtins.UserWarning):
    """Something about a log that does not stop the work, but may decide what comes of it."""
