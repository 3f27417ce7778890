"""Rules of backfilling that other programs follow, on schedules that can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gpusched as gs
from gpusched.reference import Job, Outcome, replay
from tests.parity.core import run_core

SECOND = 1_000_000

both = pytest.mark.parametrize("engine", [replay, run_core], ids=["reference", "core"])
Engine = Callable[..., Outcome]


def starts(engine: Engine, jobs: list[tuple[int, int, int]], **params: Any) -> list[float]:
    """When jobs (submit, service, GPUs) start on a pool of four GPUs."""
    made = [Job(submit * SECOND, service * SECOND, gpus) for submit, service, gpus in jobs]
    outcome = engine(made, [(4, "gpu")], "easy", "count", policy_params=params)
    return [start / SECOND for start in outcome.start_us]


@both
def test_without_extra_only_jobs_that_end_by_the_reserved_start_go_ahead(engine):
    jobs = [(0, 100, 2), (1, 50, 3), (2, 200, 1), (3, 90, 1), (4, 40, 1)]
    assert starts(engine, jobs) == [0, 100, 2, 3, 150]
    assert starts(engine, jobs, extra=False) == [0, 100, 100, 3, 4]


@both
def test_the_shortest_is_backfilled_first(engine):
    jobs = [(0, 100, 3), (1, 50, 3), (3, 90, 1), (3, 40, 1)]
    assert starts(engine, jobs) == [0, 100, 3, 93]
    assert starts(engine, jobs, backfill="shortest") == [0, 100, 43, 3]
    assert starts(engine, jobs, backfill="shortest", extra=False) == [0, 100, 100, 3]


@both
def test_a_second_reservation_is_honoured(engine):
    jobs = [(0, 100, 3), (1, 50, 3), (2, 50, 4), (3, 500, 1)]
    assert starts(engine, jobs) == [0, 100, 503, 3]
    assert starts(engine, jobs, depth=2) == [0, 100, 150, 200]
    # Without the extra GPUs the last would have to end by the first of both.
    assert starts(engine, jobs, depth=2, extra=False) == [0, 100, 150, 200]


@pytest.mark.parametrize("placement", ["count", "consolidated"])
def test_who_runs_is_known_after_a_time_in_which_nobody_waited(placement):
    """Longer ago than so many decisions nobody waited, the ends of runs were forgotten."""
    quiet = [(0, 10_000, 1), *((10 * i, 5, 1) for i in range(1, 40)), (395, 200, 3)]
    crowd = [(400, 300, 3), (401, 50, 4), (402, 150, 2), (403, 10_000, 1), (404, 40, 4)]
    times = [*quiet, *crowd, *((6_000 + time, *job) for time, *job in (*quiet[1:], *crowd))]
    jobs = [Job(at * SECOND, length * SECOND, gpus) for at, length, gpus in times]
    servers = [(4, "gpu"), (2, "gpu")]
    expected = replay(jobs, servers, "easy", placement)
    assert run_core(jobs, servers, "easy", placement).start_us == expected.start_us
    assert any(start > job.submit_us for job, start in zip(jobs, expected.start_us, strict=True))


def test_several_reservations_count_whole_gpus():
    trace = gs.Trace.from_columns(
        submit_s=[0.0], service_s=[1.0], gpus=[1], cpu=[1.0], memory_gib=[1.0]
    )
    cluster = gs.Cluster.uniform(servers=1, gpus=4, cpu=8, memory_gib=8)
    with pytest.raises(ValueError, match="parameter depth: above 1 only whole GPUs are promised"):
        gs.simulate(trace, cluster, policy="easy:depth=2")
