"""Runs by the slow twins of the core: what each fast path has to equal, on inputs of any size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpusched import _core


@contextmanager
def slow_twins() -> Iterator[None]:
    """Let the runs of this process that begin inside take the slow twin of their scheduler."""
    _core._testing.take_slow_twins(True)
    try:
        yield
    finally:
        _core._testing.take_slow_twins(False)
