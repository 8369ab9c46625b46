"""The command ``fpsrl``: the same program as the one that cargo builds, inside the extension module."""

from __future__ import annotations

import signal
import sys

from . import _core


def main() -> int:
    """Runs the command with the arguments of this process; returns its exit code."""
    # The command catches Ctrl-C itself, and writes its checkpoint.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    return _core.command(["fpsrl", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
