"""Handle Ctrl-C before a command begins and after it ends: exit silently.

Imports only fast modules, so that Ctrl-C is handled from the start.
"""

import atexit
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""The exit code."""


def leave(signum: int = signal.SIGINT, frame: FrameType | None = None) -> NoReturn:
    """Flush the output and exit at once, even during imports."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, RuntimeError, ValueError):
            continue  # closed, or in the middle of a write
    os._exit(INTERRUPTED)


def listen() -> None:
    """Exit on Ctrl-C from now on, unless SIGINT was ignored at the start."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, leave)


def ignore_at_the_very_end() -> None:
    """Ignore Ctrl-C after all other exit handlers, when all output is done.

    Python would restore the system's handler, which kills. Call this before registering any other
    exit handler.
    """
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def hand_over() -> None:
    """Raise KeyboardInterrupt on Ctrl-C from now on, for a command that has begun."""
    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is a Ctrl-C, or was caused by one, for example during an import."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
