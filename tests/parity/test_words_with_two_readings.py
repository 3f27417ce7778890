"""Sentences of docs/reference that could be read in two ways: a case that tells which one holds."""

from collections.abc import Callable

import pytest

import gpusched as gs
from gpusched.model import Domain
from gpusched.reference import Job, Outcome, replay
from tests.parity.core import run_core

SECOND = 1_000_000

both = pytest.mark.parametrize("engine", [replay, run_core], ids=["reference", "core"])
Engine = Callable[..., Outcome]


@both
def test_a_reservation_that_has_come_keeps_its_turn_when_a_job_ends_early(engine):
    """The first gang's has come at 8, as it is; the second, wider one moves up, behind it.

    If the first took a new one at 8, too, both would be of one instant only by JobId.
    """
    rows = [(0, 2, 1, 2), (0, 8, 1, 16), (0, 7, 1, 9), (0, 8, 1, 8), (1, 7, 2, 7), (2, 5, 3, 5)]
    jobs = [
        Job(submit * SECOND, service * SECOND, gpus, estimate_us=estimate * SECOND)
        for submit, service, gpus, estimate in rows
    ]
    outcome = engine(jobs, [(2, "gpu")] * 2, "conservative", "consolidated")
    assert [start // SECOND for start in outcome.start_us] == [0, 0, 0, 0, 8, 15]


def floored(engine: Engine, jobs: list[Job], limits: list[float], promote: float) -> list[float]:
    """When jobs finish on two GPUs, with decisions at floored crossings."""
    params = {"limits": limits, "crossing": "floored", "period_s": 0.0, "promote": promote}
    outcome = engine(jobs, [(2, "gpu")], "2d-las", "consolidated", policy_params=params)
    return [finish / SECOND for finish in outcome.finish_us]


@both
def test_a_floored_crossing_counts_from_the_end_of_a_restart(engine):
    rows = [(0, 14, 1), (1, 13, 2), (7, 9, 2)]
    jobs = [
        Job(submit * SECOND, service * SECOND, gpus, restart_us=3 * SECOND)
        for submit, service, gpus in rows
    ]
    # Counted from the decision on, the last would finish at 44.
    assert floored(engine, jobs, [7.0, 17.0], 0.0) == [27, 48, 43]


@both
def test_a_floored_crossing_counts_service_from_the_last_promotion(engine):
    rows = [(1, 5, 2), (2, 8, 2), (4, 6, 2)]
    jobs = [Job(submit * SECOND, service * SECOND, gpus) for submit, service, gpus in rows]
    # With all attained service they would finish at 13, 18 and 20.
    assert floored(engine, jobs, [4.0], 1.0) == [14, 20, 18]


def test_topology_takes_whole_parts_only_while_none_of_the_others_holds_the_rest():
    """Of servers with 8, 5, 4 and 3 free GPUs a gang of 11 takes all 8, and then the 3."""
    servers = (8, 5, 4, 3, 16)
    cluster = gs.Cluster(
        tuple(
            gs.ServerGroup(1, gpus, nic_gbps=100.0, domain="a" if i < 4 else "b")
            for i, gpus in enumerate(servers)
        ),
        domains=(
            Domain("top"),
            Domain("a", "top", oversubscription=1.0),
            Domain("b", "top", oversubscription=1.0),
        ),
    )
    trace = gs.Trace.from_columns([0, 1], [100, 10], [15, 11])
    result = gs.simulate(trace, cluster, policy="fifo", placement="topology")
    rows = result.intervals
    held = [
        (server, int(mask).bit_count())
        for job, server, mask in zip(rows["job"], rows["server"], rows["mask"], strict=True)
        if job == 1
    ]
    assert held == [(0, 8), (3, 3)]


def test_topology_goes_on_inside_the_part_that_holds_the_rest():
    """Block a (8 free) is taken whole; of b and c, c holds the rest more tightly: its 4, then 1.

    Inside c, no server holds the 5 that are missing: the largest is taken whole, then the tightest.
    """
    racks = {"a": (4, 4), "b": (4, 3), "c": (4, 1, 1)}
    groups = tuple(
        gs.ServerGroup(1, gpus, nic_gbps=100.0, domain=name)
        for name, sizes in racks.items()
        for gpus in sizes
    )
    domains = (Domain("top"), *(Domain(name, "top", oversubscription=1.0) for name in racks))
    trace = gs.Trace.from_columns([0], [10], [13])
    result = gs.simulate(
        trace, gs.Cluster(groups, domains=domains), policy="fifo", placement="topology"
    )
    rows = result.intervals
    held = [
        (int(server), int(mask).bit_count())
        for server, mask in zip(rows["server"], rows["mask"], strict=True)
    ]
    assert held == [(0, 4), (1, 4), (4, 4), (5, 1)]
