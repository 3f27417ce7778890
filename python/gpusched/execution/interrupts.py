"""Ctrl-C at a moment that suits: nothing that was done is lost on its way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType


class HeldInterrupt:
    """A Ctrl-C that has come and was not raised yet."""

    def __init__(self) -> None:
        self.has_come = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.has_come:  # who insists does not wait
            signal.default_int_handler(number, frame)
        self.has_come = True


@contextmanager
def held_interrupts() -> Iterator[HeldInterrupt]:
    """Hold back the first Ctrl-C, for who asks and raises it; a second one is raised at once.

    Where another handler than Python's own is in force, or in other threads than the main one,
    all stays as it is.
    """
    held = HeldInterrupt()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield held
        return
    signal.signal(signal.SIGINT, held._note)
    try:
        yield held
    finally:
        with suppress(ValueError):  # a generator that was left is closed by whatever thread
            signal.signal(signal.SIGINT, signal.default_int_handler)
