"""Runs by the slow twins of the core: what each fast path has to equal, on inputs of any size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gpusched as gs
from gpusched import _core
from gpusched.base.run_warning import unwarned


@contextmanager
def slow_twins() -> Iterator[None]:
    """Let the runs of this process that begin inside take the slow twin of their scheduler."""
    _core._testing.take_slow_twins(True)
    try:
        yield
    finally:
        _core._testing.take_slow_twins(False)


def assert_equal_schedules(jobs_and_cluster: tuple[gs.Trace, gs.Cluster], **options: Any) -> None:
    """Compare the digests of both ways."""

    def digest() -> str:
        with unwarned():
            return gs.simulate(*jobs_and_cluster, **options).digest

    fast = digest()
    with slow_twins():
        assert fast == digest()
