"""Held, dependent and cancelled jobs: the core equals the readable engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import gpusched as gs
from gpusched import _core
from gpusched.engine.seams import policy_seam
from gpusched.reference import (
    CANCELLED,
    HELD,
    PLACEMENTS,
    UNFINISHED,
    Dependency,
    Job,
    make_scheduler,
)
from gpusched.reference.engine import Change
from gpusched.reference.packing import OWN
from tests.campaigns.lawful import WITHOUT_TWIN
from tests.campaigns.seams import followed_trial
from tests.campaigns.trials import ENDLESS, SAME, Frail
from tests.each import each
from tests.parity.core import MOST_INSTANTS, assert_same, outcome_of
from tests.parity.native import begin_case, run_case, run_native
from tests.reference.cases import SECOND, Case
from tests.reference.drawing import Seeded
from tests.reference.held_cases import held_cases
from tests.reference.outage_cases import EVERY

ON_SERVERS = tuple(name for name in PLACEMENTS if name != "count")
UNITS = st.sampled_from([1, 7, SECOND])
CHANGING = ("fifo", "sjf", "easy", "srtf", "las")
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


class Forgetful(gs.Scheduler):
    """Starts nothing, and does not know how to forget a job."""

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        pass


def test_a_policy_that_cannot_forget_a_waiting_job_is_refused_at_that_instant():
    jobs = [Job(0, 5, 1), Job(1, 5, 1, eligible_us=2, cancel_at_us=3)]
    with pytest.raises(ValueError, match=r"^at 3 us: cancel_at_u?s: job 1 is waiting, and the"):
        run_native(jobs, [(2, "gpu")], Forgetful(), "first-fit")
    held = [jobs[0], replace(jobs[1], eligible_us=HELD)]
    outcome = run_native(held, [(2, "gpu")], Forgetful(), "first-fit")
    assert outcome.status == [UNFINISHED, CANCELLED]


def hand_over(run: _core.Run, case: Case, policy: str, at_us: int) -> Change:
    """Go on with another policy."""
    seam = policy_seam(policy)
    description = _core.RunDescription(
        policy=seam.native, policy_values=seam.parameters, policy_flags=seam.flags,
        placement=case.placement, placement_values=case.placement_params, seed=case.seed,
    )  # fmt: skip
    run.hand_over(description, at_us)
    return Change(at_us, scheduler=make_scheduler(policy, {}))


@pytest.mark.parametrize("policy", CHANGING)
@given(data=st.data(), unit=UNITS)
def test_changes_of_runs_with_held_jobs_equal_the_reference(policy, data, unit):
    placement = data.draw(st.sampled_from(ON_SERVERS))
    case = data.draw(held_cases(policy, placement)).at(unit)
    names = ("submit_us", "eligible_us", "cancel_at_us")
    marks = {time for job in case.jobs for name in names if (time := getattr(job, name))}
    marks |= {job.submit_us + job.service_us for job in case.jobs}
    times = sorted(marks | {time + 1 for time in marks if time < HELD})
    times = [time for time in times if min(job.submit_us for job in case.jobs) < time < HELD // 2]
    at_us = sorted(data.draw(st.lists(st.sampled_from(times), max_size=3, unique=True)))
    try:
        run = begin_case(case)
    except ValueError:
        reject()
    changes, over = [], []
    submits = [job.submit_us for job in case.jobs]
    for time in at_us:
        run.proceed(time, 2**40)
        for _ in range(data.draw(st.integers(1, 2))):
            if data.draw(st.booleans()):
                name = data.draw(st.sampled_from((policy, *CHANGING)))
                changes.append(hand_over(run, case, name, time))
                continue
            job = data.draw(st.integers(0, sum(submit < time for submit in submits) - 1))
            there = run.state()
            if job in there["waiting"] and data.draw(st.booleans()):
                run.hold(job, time)
                changes.append(Change(time, job=job, what="hold"))
                continue
            was_held = any(change.job == job and change.what == "hold" for change in changes)
            if was_held and job in there["held"] and data.draw(st.booleans()):
                run.release(job, time)
                changes.append(Change(time, job=job, what="release"))
                continue
            try:
                run.cancel(job, time)
                changes.append(Change(time, job=job))
            except ValueError:
                over.append((job, time))
    try:
        expected = case.replay(max_instants=MOST_INSTANTS, changes=changes)
    except RuntimeError:
        reject()
    assert_same(expected, outcome_of(run.finish()))
    for job, time in over:
        assert expected.status[job] != UNFINISHED
        assert expected.finish_us[job] < time
