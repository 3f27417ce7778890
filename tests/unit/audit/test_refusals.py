"""Refusals on an empty cluster of placements with rules of their own are judged both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.audit.case import kinds_of
from gpusched.schedules.schedule import SCHEDULE_COLUMNS, StoredSchedule
from tests.unit.audit.test_audit import named, problems, with_value

OWN_RULES = ("buddy", "topology", "consolidated")
REFUSED = 3  # among the reasons
REJECTED, UNFINISHED = 1, 2  # among the states


def simulate(cluster: gs.Cluster, placement: str, gpus: list[int], **more: Any) -> gs.Result:
    """A run whose schedule is made of arrays, each job alone on the cluster."""
    trace = gs.Trace.from_columns(np.arange(len(gpus)) * 10, np.ones(len(gpus)), gpus, **more)
    result = gs.simulate(trace, cluster, policy="fifo", placement=placement)
    made = result.schedule
    result.schedule = StoredSchedule(
        **{name: getattr(made, name) for name in (*SCHEDULE_COLUMNS, "uncontended_us", "digest")},
        rows=made.intervals(),
        decision_rows=made.decisions(),
    )
    return result


def told_otherwise(result: gs.Result, job: int) -> list[str]:
    """What the audit says where the refusal of a job is hidden, or made up."""
    is_refused = result.schedule.reason[job] != 0
    status, reason = (UNFINISHED, 0) if is_refused else (REJECTED, REFUSED)
    return problems(
        result,
        status=with_value(result.schedule.status, job, status),
        reason=with_value(result.schedule.reason, job, reason),
    )


def drawn(seed: int, *, asks_more: bool) -> tuple[gs.Cluster, list[int], dict[str, Any]]:
    """Servers of a few sizes in two racks, and jobs of any width that they have GPUs for."""
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.choice([1, 2, 3, 4, 6, 8], rng.integers(2, 7)))[::-1].tolist()
    groups = tuple(
        gs.ServerGroup(
            1, size, "A", nic_gbps=10, intra_gbps=100, domain="ab"[i % 2],
            cpu=float(rng.integers(1, 2 * size + 1)) if asks_more else None,
            memory_gib=float(rng.integers(1, 2 * size + 1)) if asks_more else None,
        )
        for i, size in enumerate(sizes)
    )  # fmt: skip
    domains = (gs.Domain("top"), *(gs.Domain(n, parent="top", uplink_gbps=10) for n in "ab"))
    gpus = rng.integers(1, sum(sizes) + 1, 12).tolist()
    if not asks_more:
        return gs.Cluster(groups, domains=domains), gpus, {}
    more = {"cpu": rng.choice([0, 0.5, 1, 1.5], 12), "memory_gib": rng.choice([0, 0.5, 1], 12)}
    return gs.Cluster(groups, domains=domains), gpus, more


@pytest.mark.parametrize("asks_more", [False, True])
@pytest.mark.parametrize("placement", OWN_RULES)
def test_the_audit_agrees_with_every_refusal_and_with_none_that_is_changed(placement, *, asks_more):
    reasons = set()
    for seed in range(40):
        cluster, gpus, more = drawn(seed, asks_more=asks_more)
        result = simulate(cluster, placement, gpus, **more)
        assert problems(result) == [], (seed, gpus)
        reasons |= set(result.schedule.reason.tolist())
        for job in range(0, len(gpus), 3):
            named(told_otherwise(result, job), "false reject", f"job {job} of {gpus[job]} GPUs")
    # Without demands only `consolidated` refuses what the cluster has GPUs for.
    assert (REFUSED in reasons) == (asks_more or placement == "consolidated")


def test_buddy_fills_idle_servers_of_all_sizes_and_the_others_do_not():
    groups = [gs.ServerGroup(1, 8, "A", cpu=64), gs.ServerGroup(2, 4, "A", cpu=32)]
    for placement, reason in (("buddy", 0), ("topology", REFUSED), ("consolidated", REFUSED)):
        result = simulate(gs.Cluster(tuple(groups)), placement, [16], cpu=[1.0])
        assert result.schedule.reason.tolist() == [reason], placement
        assert problems(result) == []
        named(told_otherwise(result, 0), "false reject", "job 0 of 16 GPUs")


def test_buddy_leaves_out_servers_that_lack_cpu_for_all_their_gpus():
    groups = [gs.ServerGroup(1, 8, "A", cpu=4), gs.ServerGroup(2, 4, "A", cpu=32)]
    result = simulate(gs.Cluster(tuple(groups)), "buddy", [12, 16], cpu=[1.0, 1.0])
    assert result.schedule.reason.tolist() == [0, REFUSED]
    assert problems(result) == []
    for job in (0, 1):
        named(told_otherwise(result, job), "false reject", f"job {job} of")


def test_refusals_of_one_trace_are_judged_by_the_placement_and_the_cluster_of_each_run():
    trace = gs.Trace.from_columns([0], [10], [16])
    small = gs.Cluster((gs.ServerGroup(1, 8, "A"), gs.ServerGroup(2, 4, "A")))
    for cluster in (small, gs.Cluster.uniform(2, 8), small):
        for placement in ("buddy", "consolidated", "buddy"):
            result = gs.simulate(trace, cluster, policy="fifo", placement=placement)
            is_refused = cluster is small and placement == "consolidated"
            assert result.schedule.reason.tolist() == [REFUSED * is_refused]
            assert result.audit().ok, (cluster, placement)


few = st.integers(-2, 3)
many = st.integers(-(2**40), 2**40)


@given(st.lists(st.tuples(few, few, many, many), min_size=1, max_size=20), st.booleans())
def test_rows_are_told_apart_as_by_a_look_at_each(rows, is_absent):
    table = np.array(rows, dtype=np.int64)
    columns = [table[:, 0], table[:, 1].astype(np.int32), None if is_absent else table[:, 2],
               table[:, 3]]  # fmt: skip
    if is_absent:
        table[:, 2] = 7
    kinds, kind_of_job = kinds_of(columns, [0, 0, 7, 0])
    assert [kinds[kind] for kind in kind_of_job] == table.tolist()
    assert len(kinds) == len({tuple(row) for row in table.tolist()})
