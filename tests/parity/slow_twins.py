"""Runs by the slow twins of the core: what each fast path has to equal, on inputs of any size."""

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


def equal_runs(trace: gs.Trace, cluster: gs.Cluster, **options: Any) -> list[gs.Result]:
    """Run the fast way and by the slow twin; both must have one digest."""

    def run() -> gs.Result:
        with unwarned():
            return gs.simulate(trace, cluster, **options)

    fast = run()
    with slow_twins():
        slow = run()
    assert fast.digest == slow.digest
    return [fast, slow]
