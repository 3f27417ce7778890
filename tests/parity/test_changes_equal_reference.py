"""Open runs equal the readable engine: halted anywhere, with jobs taken back and other policies."""

from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.run_warning import unwarned
from gpusched.reference import Job, Outcome, make_scheduler
from gpusched.reference.engine import Change
from tests.examples import examples
from tests.parity.core import (
    MOST_INSTANTS,
    assert_same,
    choice_text,
    make_cluster,
    make_trace,
    outcome_of,
    predictor_of,
)
from tests.reference.cases import Case, cases

PLACEMENTS = ("count", "first-fit", "consolidated", "random")
LISTS = ("fifo", "fifo-skip", "sjf", "swf", "random")
PREEMPTIVE = ("srtf", "las", "2d-las", "a-srpt-p")
WITHDRAWING = (
    "easy", "srsf", "serverfilling-srpt", "wspt", "conservative", "ada-srsf", "a-srpt",
)  # fmt: skip
"""Beside those."""


def opened(case: Case) -> gs.Simulation:
    return gs.Simulation(
        make_trace(case.jobs),
        make_cluster(case.servers, case.network, case.room),
        policy=gs.Policy(case.policy, **case.policy_params),
        placement=choice_text(case.placement, case.placement_params),
        predictor=predictor_of(case.jobs),
        seed=case.seed,
    )


def outcome(run: gs.Simulation) -> Outcome:
    run.run()
    with unwarned():
        return outcome_of(run.result().schedule)


def expected(case: Case, changes: list[Change]) -> Outcome:
    try:
        return case.replay(max_instants=MOST_INSTANTS, changes=changes)
    except RuntimeError:
        reject()


def halts(case: Case) -> list[int]:
    """Instants worth halting at: of arrivals, of finishes, and between."""
    times = {tick for job in case.jobs for tick in (job.submit_us, job.submit_us + job.service_us)}
    return sorted(times | {time + 1 for time in times} | {time + 17 for time in times})


@pytest.mark.parametrize("policy", LISTS + PREEMPTIVE + WITHDRAWING)
@examples(40)
@given(data=st.data())
def test_jobs_taken_back_equal_the_reference(policy, data):
    case = data.draw(st.sampled_from(PLACEMENTS).flatmap(lambda p: cases(policy, p))).at(7)
    run, changes = opened(case), []
    for at_us in sorted(data.draw(st.lists(st.sampled_from(halts(case)), max_size=3, unique=True))):
        run.run_until(at_us / 1e6)
        state = run.state
        known = [*state.running.tolist(), *state.waiting.tolist()]
        if known:
            job = data.draw(st.sampled_from(known))
            run.cancel(job)
            changes.append(Change(at_us, job=job))
    assert_same(expected(case, changes), outcome(run))


@pytest.mark.parametrize("policy", LISTS + PREEMPTIVE)
@examples(30)
@given(data=st.data())
def test_another_policy_equals_the_reference(policy, data):
    before = st.tuples(st.sampled_from(("fifo", "srtf")), st.sampled_from(PLACEMENTS))
    case = data.draw(before.flatmap(lambda names: cases(*names))).at(7)
    at_us = data.draw(st.sampled_from(halts(case)))
    run = opened(case)
    run.run_until(at_us / 1e6)
    run.set(policy=policy)
    change = Change(at_us, scheduler=make_scheduler(policy, {}))
    assert_same(expected(case, [change]), outcome(run))


def test_a_restart_costs_what_the_policy_in_force_says():
    costly = {"cost_s": 2e-6, "wide_cost_s": 3e-6, "narrow_gpus": 2}
    jobs = [Job(0, 5, 3), Job(1, 2, 3)]
    case = Case(jobs, [(3, "gpu")], "a-srpt-p", "count", costly, {}, seed=0)
    run = opened(case)
    run.run_until(0.0)
    run.set(policy="a-srpt-p")
    change = Change(0, scheduler=make_scheduler("a-srpt-p", {}))
    found = outcome(run)
    assert_same(expected(case, [change]), found)
    assert found.start_us == [0, 1]


@pytest.mark.parametrize("policy", LISTS + PREEMPTIVE)
@examples(40)
@given(data=st.data())
def test_changes_of_one_instant_equal_the_reference_whatever_their_order(policy, data):
    case = data.draw(st.sampled_from(PLACEMENTS).flatmap(lambda p: cases("fifo", p))).at(7)
    run, changes = opened(case), []
    for at_us in sorted(data.draw(st.lists(st.sampled_from(halts(case)), max_size=2, unique=True))):
        run.run_until(at_us / 1e6)
        for _ in range(data.draw(st.integers(1, 4))):
            state = run.state
            known = [*state.running.tolist(), *state.waiting.tolist()]
            if known and data.draw(st.booleans()):
                job = data.draw(st.sampled_from(known))
                run.cancel(job)
                changes.append(Change(at_us, job=job))
            else:
                name = data.draw(st.sampled_from((policy, "fifo", "srtf")))
                run.set(policy=name)
                changes.append(Change(at_us, scheduler=make_scheduler(name, {})))
            if data.draw(st.booleans()):
                run = run.fork()
    assert_same(expected(case, changes), outcome(run))


BACKFILLING = (
    ("easy", {}),
    ("easy", {"extra": False}),
    ("easy", {"backfill": "shortest"}),
    ("easy", {"depth": 3}),
    ("conservative", {}),
)


@pytest.mark.parametrize(("policy", "params"), BACKFILLING)
@examples(60)
@given(data=st.data())
def test_expected_ends_count_from_resumes_as_in_the_reference(policy, params, data):
    # All of them read estimates, and so may follow each other whatever the jobs have.
    before = data.draw(st.sampled_from(("easy", "conservative")))
    case = data.draw(st.sampled_from(PLACEMENTS).flatmap(lambda p: cases(before, p))).at(7)
    at_us = data.draw(st.sampled_from(halts(case)))
    run = opened(case)
    run.run_until(at_us / 1e6)
    run.set(policy=gs.Policy(policy, **params))
    change = Change(at_us, scheduler=make_scheduler(policy, params))
    assert_same(expected(case, [change]), outcome(run))


@pytest.mark.parametrize("policy", LISTS + PREEMPTIVE)
@examples(25)
@given(data=st.data())
def test_jobs_submitted_at_their_times_are_those_of_the_trace(policy, data):
    case = data.draw(st.sampled_from(PLACEMENTS).flatmap(lambda p: cases(policy, p))).at(7)
    whole = make_trace(case.jobs)
    late = data.draw(st.sets(st.integers(1, max(1, len(whole) - 1)))) & set(range(len(whole)))
    early = [job for job in range(len(whole)) if job not in late]
    cluster = make_cluster(case.servers, case.network, case.room)
    options: dict[str, Any] = {
        "policy": gs.Policy(case.policy, **case.policy_params),
        "placement": choice_text(case.placement, case.placement_params),
        "predictor": "oracle",
        "seed": case.seed,
    }
    run = gs.Simulation(whole._take(early), cluster, **options)
    for job in sorted(late):
        run.run_until(int(whole.submit_us[job]) / 1e6)
        run.submit(whole._take([job]))
    run.run()
    assert run.result().digest == gs.simulate(run.trace, cluster, **options).digest
