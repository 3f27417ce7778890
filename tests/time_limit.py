"""A generous limit that turns a run without an end into a failure."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TookTooLong(AssertionError):
    """What ran was still running at the limit."""


@contextmanager
def time_limit(seconds: float, what: str = "it") -> Iterator[None]:
    """Raise :class:`TookTooLong` in the main thread after so many seconds.

    Long native calls look for signals now and then, as they do for Ctrl-C.
    """

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLong(f"{what} did not end within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
