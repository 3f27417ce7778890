"""Laws of runs whose jobs have priorities."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import PREEMPTIVE
from gpusched.reference.orders import NON_PREEMPTIVE
from tests.each import each
from tests.examples import examples
from tests.parity.core import outcome_of

pytestmark = pytest.mark.long

COLUMNS = ("estimate_s", "weight", "deadline_s", "restart_s")
LISTS = (*NON_PREEMPTIVE, "easy")
ORDERED = (*LISTS, *PREEMPTIVE)
"""Policies that go by priorities."""
UNORDERED = sorted({*gs.policies()} - {*ORDERED})
LIMITS = {"2d-las": "2d-las:limits=5"}
PLACEMENTS = ("count", "consolidated", "first-fit", "spread")
placements, on_servers = st.sampled_from(PLACEMENTS), st.sampled_from(PLACEMENTS[1:])
points = st.sampled_from((0.0, 1.0, 2.0, -1.0, 0.5, 10.0))
ranks = st.lists(points, min_size=12, max_size=12)
workloads = gs.testing.workloads(columns=COLUMNS)
Workload = tuple[gs.Trace, gs.Cluster]


def run(workload: Workload, policy: str, placement: str = "count", **how: Any) -> gs.Result:
    """Run the jobs; ``priority`` and ``nice`` are theirs, as many as there are jobs."""
    trace, cluster = workload
    given = {name: how.pop(name)[: len(trace)] for name in ("priority", "nice") if name in how}
    trace = trace.with_columns(**given) if given else trace
    return gs.simulate(
        trace, cluster, policy=LIMITS.get(policy, policy), placement=placement, **how
    )


@each("policy", sorted(gs.policies()))
@examples(8)
@given(workloads, on_servers, points)
def test_equal_priorities_change_nothing(policy, workload, placement, point):
    plain = run(workload, policy, placement)
    same = [point] * 12
    assert run(workload, policy, placement, priority=same).digest == plain.digest
    raised = [point + of for of in range(12)]
    levelled = run(workload, policy, placement, priority=raised, nice=[*range(12)])
    assert levelled.digest == plain.digest


@each("policy", UNORDERED)
@examples(8)
@given(workloads, on_servers, ranks)
def test_under_other_policies_priorities_change_nothing(policy, workload, placement, priority):
    plain = run(workload, policy, placement)
    assert run(workload, policy, placement, priority=priority).digest == plain.digest


@each("policy", ORDERED)
@examples(15)
@given(workloads, placements, ranks, ranks, points)
def test_only_the_order_of_priorities_matters(policy, workload, placement, priority, nice, point):
    ranked = run(workload, policy, placement, priority=priority, nice=nice)
    less = np.subtract(priority, nice)
    for other in (less, less + point, 3 * less, np.sign(less) * less**2, np.exp(less)):
        assert run(workload, policy, placement, priority=other).digest == ranked.digest
    assert run(workload, policy, placement, nice=-less).digest == ranked.digest


@each("policy", LISTS)
@examples(15)
@given(workloads, placements)
def test_priorities_in_the_order_of_submission_make_any_list_first_come_first_served(
    policy, workload, placement
):
    falling = -np.arange(12.0)
    name = "easy" if policy == "easy" else f"{policy}:scan=skip"
    plain = "easy" if policy == "easy" else "fifo-skip"
    ranked = run(workload, name, placement, priority=falling)
    assert ranked.digest == run(workload, plain, placement).digest


PLAIN = ("srtf", "srsf", "las:period_s=0", "edf", "llf:period_s=0", "a-srpt-p")


@examples(60)
@given(workloads, placements, st.permutations(range(12)), st.sampled_from(("skip", "strict")))
def test_where_all_priorities_differ_no_key_matters(workload, placement, priority, scan):
    digests = set()
    for policy in PLAIN:
        name = f"{policy}{',' if ':' in policy else ':'}scan={scan}"
        digests.add(run(workload, name, placement, priority=priority).digest)
    assert len(digests) == 1


@each("policy", ["srtf", "srsf", "edf", "srtf:scan=strict"])
@examples(60)
@given(workloads, ranks)
def test_the_first_class_runs_as_if_it_were_alone_where_preemption_is_free_of_places(
    policy, workload, priority
):
    # In a pool, and by keys by which no waiting job overtakes a running one as time goes by.
    trace, cluster = workload
    result = run(workload, policy, priority=priority)
    first = np.flatnonzero(np.array(priority[: len(trace)]) == max(priority[: len(trace)]))
    alone = run((trace.filter(np.isin(np.arange(len(trace)), first)), cluster), policy)
    for name in ("start_us", "finish_us", "preemptions", "held_us", "status"):
        mine = np.asarray(getattr(result.schedule, name))[first]
        assert mine.tolist() == np.asarray(getattr(alone.schedule, name)).tolist(), name


# Ages.


def aged(trace: gs.Trace, points: Sequence[float], age_s: float) -> list[int]:
    """When each job would have come to be where its priority has it, by exact arithmetic."""
    shifts = [round(Fraction(point) * Fraction(age_s) * 10**6) for point in points]
    return [at - shift for at, shift in zip(trace.submit_us.tolist(), shifts, strict=False)]


ages = st.sampled_from((1e-6, 0.5, 1.0, 3.0, 7.25, 1e6))


@each("policy", ORDERED)
@examples(15)
@given(workloads, placements, ranks, ages)
def test_an_age_makes_up_for_priority(policy, workload, placement, priority, age_s):
    other = [-float(at) for at in aged(workload[0], priority, age_s)]
    by_age = run(workload, policy, placement, priority=priority, priority_age_s=age_s)
    assert outcome_of(by_age.schedule) == outcome_of(
        run(workload, policy, placement, priority=other).schedule
    )


@each("policy", ["fifo", "fifo-skip", "easy"])
@examples(30)
@given(workloads, placements, ranks)
def test_who_waits_for_ages_is_first_come_first_served_and_who_does_not_is_strict(
    policy, workload, placement, priority
):
    digests = [
        run(workload, policy, placement, priority=priority, priority_age_s=age_s).digest
        for age_s in (1e-9, 1e9)
    ]
    assert digests == [
        run(workload, policy, placement).digest,
        run(workload, policy, placement, priority=priority).digest,
    ]


@each("policy", LISTS)
@examples(10)
@given(workloads, placements)
def test_an_age_alone_makes_any_list_first_come_first_served(policy, workload, placement):
    trace, cluster = workload
    trace = trace.with_columns(submit_s=trace.submit_s + np.arange(len(trace)) / 1000)  # no ties
    name = "easy" if policy == "easy" else f"{policy}:scan=skip"
    plain = run((trace, cluster), "easy" if policy == "easy" else "fifo-skip", placement)
    assert run((trace, cluster), name, placement, priority_age_s=60.0).digest == plain.digest
