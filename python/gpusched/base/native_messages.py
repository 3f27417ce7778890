"""What libraries write to the standard error themselves, past Python and its ``sys.stderr``."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_STDERR: Final = 2
_lock: Final = threading.Lock()


class _Command:
    """Whether this process is a command whose messages have a descriptor of their own."""

    is_apart = False


def set_messages_apart() -> None:
    """Give Python's messages a descriptor of their own, so that a library's can be held back.

    For a command, which is alone in its process; nothing is done where the standard error is
    another one already.
    """
    own = sys.stderr
    if own is not sys.__stderr__ or not isinstance(own, io.TextIOWrapper):
        return
    if own.fileno() != _STDERR:
        return
    own.flush()
    apart = io.FileIO(os.dup(_STDERR), "w")
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(apart), own.encoding, own.errors, line_buffering=True
    )
    _Command.is_apart = True


def is_panic(error: BaseException) -> bool:
    """Whether a library written in Rust gave up; its panics are no Exception."""
    return type(error).__name__ == "PanicException"


@contextmanager
def without_panics() -> Iterator[None]:
    """Hold back what libraries write; all is passed on unless the body ends in their panic.

    A panic is written where it happens, for each thread, before it comes here as an exception that
    says the same. Without :func:`set_messages_apart` nothing is held back: the descriptor is one
    for all threads, whose own messages would be held back with it.
    """
    if not _Command.is_apart:
        yield
        return
    with _lock, tempfile.TemporaryFile() as held:
        kept = os.dup(_STDERR)
        os.dup2(held.fileno(), _STDERR)
        try:
            yield
        except BaseException as error:
            if is_panic(error):
                # Other threads of the library may still be about to say so: they are not heard.
                raise
            _pass_on(held.fileno(), kept)
            raise
        else:
            _pass_on(held.fileno(), kept)
        finally:
            os.close(kept)


def _pass_on(held: int, kept: int) -> None:
    """Put the standard error back, and write what was held."""
    os.dup2(kept, _STDERR)
    os.lseek(held, 0, os.SEEK_SET)
    while piece := os.read(held, 1 << 16):
        os.write(_STDERR, piece)
