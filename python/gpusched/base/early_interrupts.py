"""Ctrl-C before a command has begun, and after it has ended: the program leaves without a word.

Imports nothing that takes time, so that there is no moment at which nobody listens.
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
    """End the program at once, whatever it imports; what was printed is flushed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, RuntimeError, ValueError):
            continue  # closed, or in the middle of a write
    os._exit(INTERRUPTED)


def listen() -> None:
    """Leave on Ctrl-C from now on, unless who started the program has it ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, leave)


def ignore_at_the_very_end() -> None:
    """Ignore Ctrl-C once all that was registered for the exit is done: everything is said by then.

    Python would put the system's own handler back, which kills. To be called before anything else
    is registered for the exit.
    """
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def hand_over() -> None:
    """Raise KeyboardInterrupt on Ctrl-C from now on, for a command that has begun."""
    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is a Ctrl-C, or what a library made of one, as in the midst of an import."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
