"""Deadlines that can just be met are promised and met; those a tick sooner are not promised."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import gpusched as gs
from tests.examples import examples

pytestmark = pytest.mark.long

GPUS = 8
SECOND = 1_000_000
CURVE = {1: 1.0, 2: 1.7, 4: 2.9, 8: 4.3}
"""Service per second; that of the own width is 1 if it is scaled so."""

POLICIES = (
    "dancer", "dancer:prices=density", "dancer:prices=constant", "elasticflow",
    "elasticflow:types=pinned", "elasticflow:admission=batch", "chronus",
    "edf-greatest:admission=true",
)  # fmt: skip


def decided(
    policy: str, submit_us: int, service_us: int, patience_us: int, *, width: int, widest: int
) -> tuple[bool, bool]:
    """Run one job on an empty cluster; whether it was admitted, and whether it ended in time."""
    deadline_us = submit_us + patience_us
    trace = gs.Trace.from_columns(
        submit_s=[0.0, submit_us / SECOND],
        service_s=[1.0, service_us / SECOND],  # the first one is over when the other comes
        gpus=[1, width],
        max_gpus=[1, max(width, widest)],
        deadline_s=[math.nan, deadline_us / SECOND],
        profiles=[gs.model.JobProfile("p", throughput={"T4": CURVE})],
        profile=[0, 0],
    )
    assert trace.deadline_us is not None
    assert trace.deadline_us[1] == deadline_us
    cluster = gs.Cluster((gs.ServerGroup(1, GPUS, "T4"),))
    result = gs.simulate(trace, cluster, policy=policy, speed="table", placement="consolidated")
    decisions = result.schedule.decisions()
    admitted = decisions["admitted"][decisions["job"] == 1].tolist()
    return admitted == [1], bool(result.schedule.finish_us[1] <= deadline_us)


def least_us(service_us: int, width: int, widest: int) -> int:
    """How long it takes at its fastest, as the engine counts."""
    best = max(rate for gpus, rate in CURVE.items() if gpus <= max(width, widest))
    return math.ceil(service_us / (best / CURVE[width]))


times = st.one_of(
    st.integers(1, 20).map(lambda s: s * 100 * SECOND),
    st.integers(1, 3_000 * SECOND),
    st.integers(1, 40_000 * SECOND),
)


submits = st.one_of(
    st.integers(1, 9).map(lambda lease: lease * 600 * SECOND),
    st.integers(70 * SECOND, 2_000 * SECOND),
)


@pytest.mark.parametrize("policy", POLICIES)
@examples(60)
@given(
    submit_us=st.one_of(
        st.integers(1, 9).map(lambda k: k * 600 * SECOND), st.integers(70 * SECOND, 2_000 * SECOND)
    ),
    service_us=times,
    width=st.sampled_from([1, 2, 4, 8]),
    widest=st.sampled_from([1, 8]),
)
@example(submit_us=600 * SECOND, service_us=100 * SECOND, width=8, widest=8)
def test_a_deadline_is_promised_if_and_only_if_it_can_be_met_to_the_tick(
    policy, submit_us, service_us, width, widest
):
    if policy.startswith("chronus"):
        widest = 1  # it knows own widths alone
    if policy.startswith("edf"):
        submit_us -= submit_us % SECOND  # it decides in whole seconds
    patience_us = least_us(service_us, width, widest)
    job = {"width": width, "widest": widest}
    assert decided(policy, submit_us, service_us, patience_us, **job) == (True, True)
    if patience_us > 1:
        admitted, met = decided(policy, submit_us, service_us, patience_us - 1, **job)
        assert not admitted
        assert not met


@pytest.mark.parametrize("policy", ["edf", "edf-fastest", "chronus-leases:lease_s=600"])
def test_where_no_decision_is_told_deadlines_are_met_to_the_tick(policy):
    job = {"width": 8, "widest": 8}
    assert decided(policy, 600 * SECOND, 100 * SECOND, 100 * SECOND, **job)[1]
    assert not decided(policy, 600 * SECOND, 100 * SECOND, 100 * SECOND - 1, **job)[1]
