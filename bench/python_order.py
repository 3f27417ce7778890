"""Measure the overhead of an order written in Python, per scheduling point."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from bench.measure import interleave
from bench.table import Bar, Section
from bench.workloads import GPUS_PER_SERVER

if TYPE_CHECKING:
    from gpusched._core import State

ACTIVE = 64
POINTS = 20_000
LIMIT_US = 5.0
METHOD = (
    f"One job ends and one arrives at each instant, so that {ACTIVE} jobs are active at each of "
    f"{POINTS:,} scheduling points, half of them running. The order is `srtf` in Python "
    "(`view.remaining_us(jobs)`), under `consolidated` on 4 servers of 8; all finishes are equal "
    "to the native order's. The body of `rank` times itself with two reads of the clock. Overhead "
    "is the Python run minus the bodies minus the native run."
)
COLUMNS = (
    "lifetime",
    "calls a point",
    "jobs ranked a point",
    "run us/point",
    "its bodies",
    "native order",
    "overhead",
)


class ServiceSrtf(gs.Order):
    """Shortest remaining service first, timing its own body; running jobs are ranked again."""

    lifetime = "service"
    preemptive = True

    def __init__(self) -> None:
        super().__init__()
        self.body_ns = 0
        self.calls = 0
        self.jobs = 0

    def rank(self, view: State, jobs: NDArray[np.int64]) -> NDArray[np.int64]:
        begin = time.perf_counter_ns()
        key = view.remaining_us(jobs)
        self.calls += 1
        self.jobs += len(jobs)
        self.body_ns += time.perf_counter_ns() - begin
        return key


class ClockSrtf(ServiceSrtf):
    """The same with keys that may change at any time: every active job is ranked again."""

    lifetime = "clock"


def section(repeats: int) -> Section:
    """Measure orders of both lifetimes against the native one."""
    out = Section("An order in Python", METHOD, COLUMNS)
    trace = steady_trace(ACTIVE, POINTS)
    cluster = gs.Cluster.uniform(servers=ACTIVE // 2 // GPUS_PER_SERVER, gpus=GPUS_PER_SERVER)
    twin = gs.simulate(trace, cluster, policy="srtf").schedule.finish_us
    for kind in (ServiceSrtf, ClockSrtf):
        orders: list[ServiceSrtf] = []

        def run(kind: type[ServiceSrtf] = kind, orders: list[ServiceSrtf] = orders) -> gs.Result:
            orders.append(kind())
            return gs.simulate(trace, cluster, policy=orders[-1])

        if not np.array_equal(run().schedule.finish_us, twin):
            raise AssertionError(f"{kind.__name__} and the native order disagree")
        native, whole = interleave(
            [
                lambda: gs.simulate(trace, cluster, policy="srtf").wall_s,
                lambda run=run: run().wall_s,  # type: ignore[misc]
            ],
            repeats,
        )
        body_us = statistics.median(order.body_ns / 1e3 for order in orders[1:]) / POINTS
        native_us, whole_us = native.median * 1e6 / POINTS, whole.median * 1e6 / POINTS
        overhead_us = whole_us - body_us - native_us
        out.rows.append(
            (
                kind.lifetime,
                f"{orders[-1].calls / POINTS:.2f}",
                f"{orders[-1].jobs / POINTS:.1f}",
                f"{whole_us:.2f}",
                f"{body_us:.2f}",
                f"{native_us:.2f}",
                f"{overhead_us:.2f}",
            )
        )
        what = f"overhead of a Python order, lifetime {kind.lifetime}"
        out.bars.append(Bar(what, overhead_us, LIMIT_US, "us/point"))
    return out


def steady_trace(active: int, points: int) -> gs.Trace:
    """Make width-1 jobs for ``active / 2`` GPUs such that ``active`` jobs are always there.

    Each second one job ends and another arrives: the first ones end one a second, all others
    take as many seconds as there are GPUs and start in order of arrival.
    """
    running = active // 2
    jobs = active + points
    submit_s = np.maximum(np.arange(jobs) - active + 1, 0).astype(np.float64)
    service_s = np.full(jobs, float(running))
    service_s[:running] = np.arange(1, running + 1)
    return gs.Trace.from_columns(
        submit_s=submit_s, service_s=service_s, gpus=np.ones(jobs, np.int32), name="steady"
    )
