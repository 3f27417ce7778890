"""What is called inside of a stop scope ends with it, and knows nothing of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import gpusched as gs
from gpusched.base.supervision import StopScope, scope_here
from tests.time_limit import time_limit

CLUSTER = gs.Cluster.uniform(servers=64, gpus=8)


def endless(call: Callable[[gs.Trace], Any]) -> Any:
    """Call again and again, on jobs that take a while."""
    trace = gs.generate("philly", jobs=100_000, load=1.5, cluster=CLUSTER, seed=1)
    while True:
        call(trace)


CALLS = {
    "simulate": lambda trace: gs.simulate(trace, CLUSTER, policy="srtf"),
    "simulate, with progress": lambda trace: gs.simulate(
        trace, CLUSTER, policy="srtf", progress=lambda _: None
    ),
    "simulate, with a stop": lambda trace: gs.simulate(
        trace, CLUSTER, policy="srtf", stop=threading.Event()
    ),
    "compare": lambda trace: gs.compare(trace, CLUSTER, ["fifo", "srtf"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_inside_end_with_the_scope(name):
    scope = StopScope()

    def run() -> None:
        with scope.entered():
            endless(CALLS[name])

    with time_limit(120, name), ThreadPoolExecutor(1) as pool:
        future = pool.submit(run)
        threading.Timer(1.0, scope.set).start()
        with pytest.raises(gs.Cancelled):
            future.result()


def test_what_begins_in_a_scope_that_has_ended_does_not_run():
    scope = StopScope()
    scope.set()
    trace = gs.generate("philly", jobs=10, seed=1)
    with scope.entered(), pytest.raises(gs.Cancelled):
        gs.simulate(trace, CLUSTER)
    assert scope_here() is None
    gs.simulate(trace, CLUSTER)


def test_scopes_stand_in_each_other():
    outer, inner = StopScope(), StopScope()
    with outer.entered():
        with inner.entered():
            assert scope_here() is inner
        assert scope_here() is outer
    assert scope_here() is None
