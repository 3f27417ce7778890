"""Held, dependent and cancelled jobs: the core equals the readable engine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import CANCELLED, HELD, PLACEMENTS, Dependency, Job
from gpusched.reference.packing import OWN
from tests.campaigns.lawful import WITHOUT_TWIN
from tests.campaigns.seams import followed_trial
from tests.campaigns.trials import ENDLESS, SAME, Frail
from tests.each import each
from tests.parity.core import assert_same
from tests.parity.native import run_case
from tests.reference.cases import SECOND, Case
from tests.reference.drawing import Seeded
from tests.reference.held_cases import held_cases
from tests.reference.outage_cases import EVERY

ON_SERVERS = tuple(name for name in PLACEMENTS if name != "count")
UNITS = st.sampled_from([1, 7, SECOND])
NUM_FOLLOWED = 15


def check(case: Case) -> None:
    if Frail(case).check() == ENDLESS:
        reject()


@pytest.mark.parametrize("policy", EVERY)
@given(data=st.data(), unit=UNITS)
def test_the_core_equals_the_reference(policy, data, unit):
    placement = data.draw(st.sampled_from([*ON_SERVERS, *OWN]))
    check(data.draw(held_cases(policy, placement)).at(unit))


@pytest.mark.parametrize("speed", ["ring", "proportional", "table"])
@given(data=st.data(), unit=UNITS)
def test_the_core_equals_the_reference_where_speed_depends_on_placement(speed, data, unit):
    policy, placement = data.draw(st.sampled_from(EVERY)), data.draw(st.sampled_from(ON_SERVERS))
    check(data.draw(held_cases(policy, placement, speed)).at(unit))


def test_every_policy_has_a_twin_or_is_followed():
    assert sorted({*EVERY, *WITHOUT_TWIN}) == sorted(gs.policies())


@each("policy", WITHOUT_TWIN)
def test_jobs_of_policies_without_a_twin_are_held_and_end_by_the_rules(policy):
    for index in range(NUM_FOLLOWED):
        assert followed_trial(Seeded(f"{policy}/{index}"), policy).check() == SAME, index


DEPENDS = (Dependency(0),)


def small(*jobs: Job, **changes: object) -> Case:
    case = Case([*jobs], [(2, "gpu")] * 2, "fifo", "first-fit", {}, {}, 0, array_limits=[2])
    return replace(case, **changes)


@each(
    "case",
    named={
        "eligible": small(Job(2, 5, 1, eligible_us=1)),
        "beyond held": small(Job(2, 5, 1, eligible_us=HELD + 1)),
        "cancelled at the submission": small(Job(2, 5, 1, cancel_at_us=2)),
        "array": small(Job(2, 5, 1, array=1)),
        "limit": small(Job(2, 5, 1, array=0), array_limits=[0]),
        "itself": small(Job(2, 5, 1, dependencies=DEPENDS)),
        "unknown": small(Job(2, 5, 1, dependencies=(Dependency(1),))),
        "negative": small(Job(2, 5, 1, dependencies=(Dependency(-1),))),
        "delay": small(Job(2, 5, 1), Job(2, 5, 1, dependencies=(Dependency(0, "after", -1),))),
        "delay of an end": small(
            Job(2, 5, 1), Job(2, 5, 1, dependencies=(Dependency(0, "afterok", 1),))
        ),
    },
)
def test_what_is_out_of_range_is_refused(case):
    for run in (case.replay, lambda: run_case(case)):
        with pytest.raises(ValueError, match=r"eligible_us|cancel_at_us|array|dependency"):
            run()


@each("policy", sorted(gs.policies()))
def test_a_job_that_waits_is_cancelled_under_every_policy(policy):
    # Job 1 waits behind job 0 from 1 on.
    params = {"limits": [5.0]} if policy == "2d-las" else {}
    unit = 100 * SECOND
    jobs = [
        Job(0, 9, 4, deadline_us=20),
        Job(1, 5, 4, deadline_us=40, cancel_at_us=3),
        Job(2, 4, 2, deadline_us=60, dependencies=(Dependency(1),)),
    ]
    case = Case(jobs, [(2, "gpu")] * 2, policy, "first-fit", params, {}, 0).at(unit)
    outcome = run_case(case)
    assert outcome.status == [0, CANCELLED, 0]
    assert outcome.eligible_us == [0, unit, 3 * unit]
    if policy in EVERY:
        assert_same(case.replay(), outcome)
