"""What every policy states of its preemptions holds, and is no empty word."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from tests.contract.preemptions import Course, check, course_of
from tests.each import each
from tests.examples import examples
from tests.golden import workload as golden

POLICIES = {name: info for name, info in gs.policies().items() if info.source}
PREEMPTIVE = [name for name, info in POLICIES.items() if info.preempts]
OVERTAKEN_BY_NEWCOMERS = [
    name for name in PREEMPTIVE if POLICIES[name].preemption.one_per_arrival
]  # fmt: skip
ONE_GPU = gs.Cluster.uniform(1, 1)
SHORT_S = (1.0, 3.0, 7.0)
"""Of periods, slots and leases, among jobs of at most ten seconds."""


def shortened(name: str, seconds: float) -> gs.Policy:
    """Return the policy with whatever times its preemptions set to so many seconds."""
    bound = POLICIES[name].preemption
    timer = bound.period or bound.least_run
    if not timer:
        return gs.Policy(name)
    least = POLICIES[name].parameter(timer)["minimum"] or 0.0
    return gs.Policy(name, **{timer: max(seconds, least)})


def of_one_gpu(services: list[float], **columns: Any) -> gs.Trace:
    """Return jobs of one GPU that arrive a second apart."""
    return gs.Trace.from_columns(
        list(range(len(services))), services, [1] * len(services), **columns
    )


def test_every_policy_that_preempts_says_when():
    assert len(PREEMPTIVE) >= 17
    for name, info in POLICIES.items():
        bound = info.preemption
        assert bound.is_none == (not info.preempts), name
        assert bool(bound.reason) == bool(info.preempts), name
        for parameter in (bound.period, bound.per_entry, bound.least_run):
            assert not parameter or info.parameter(parameter) is not None, name


@pytest.mark.parametrize("name", sorted(POLICIES))
@examples(25)
@given(data=st.data())
def test_a_policy_preempts_when_it_says_and_at_no_other_time(name, data):
    trace = data.draw(
        gs.testing.traces(columns=("deadline_s", "checkpoint_s", "restart_s", "estimate_s"))
    )
    cluster = data.draw(gs.testing.clusters(max_servers=3))
    placement = data.draw(st.sampled_from(["consolidated", "count", "spread"]))
    if POLICIES[name].has("places"):
        placement = "consolidated"
    policy = data.draw(st.sampled_from([gs.Policy(name), *(shortened(name, s) for s in SHORT_S)]))
    check(course_of(trace, cluster, policy, placement=placement), policy)


@pytest.mark.parametrize("name", PREEMPTIVE)
@pytest.mark.parametrize("seconds", [pytest.param(1.0, marks=pytest.mark.long), 60.0, 97.0])
def test_so_it_does_where_jobs_may_change_their_widths(name, seconds):
    trace, policy = golden.urgent(is_typed=True), shortened(name, seconds)
    _, speed = golden.fitting(name)
    course = course_of(trace, golden.cluster(), policy, speed=speed)
    check(course, policy)


@pytest.mark.parametrize("name", OVERTAKEN_BY_NEWCOMERS)
@examples(50)
@given(data=st.data())
def test_in_a_pool_of_single_gpus_each_arrival_preempts_one_job_at_most(name, data):
    trace = data.draw(gs.testing.traces(max_gpus=1, columns=("deadline_s", "restart_s")))
    cluster = data.draw(gs.testing.clusters(max_servers=1))
    course = course_of(trace, cluster, gs.Policy(name), placement="count")
    assert all(number <= course.arrivals[at] for at, number in course.instants.items())


@each("name", OVERTAKEN_BY_NEWCOMERS)
def test_and_all_but_the_first_do_where_each_is_more_urgent(name):
    services = [100.0 - 5 * place for place in range(16)]
    trace = of_one_gpu(services, deadline_s=[1000 - place for place in range(16)])
    course = course_of(trace, ONE_GPU, gs.Policy(name), placement="count")
    assert len(course.preempted) == 15


@each("name", ["srtf", "srsf", "edf", "edf-fastest", "serverfilling-srpt"])
def test_one_arrival_may_stop_all_that_run(name):
    """So that a bound on the preemptions of an instant can be no less than that."""
    trace = gs.Trace.from_columns(
        [0] * 8 + [1], [100.0] * 8 + [1.0], [1] * 8 + [8], deadline_s=[900] * 8 + [3]
    )
    course = course_of(trace, gs.Cluster.uniform(1, 8), gs.Policy(name))
    assert course.instants == {1_000_000: 8}


def _turns(policy: gs.Policy, service_s: float = 50.0) -> Course:
    trace = gs.Trace.from_columns([0, 0], [service_s] * 2, [1, 1], deadline_s=[200, 200])
    return course_of(trace, ONE_GPU, policy)


@pytest.mark.parametrize("policy", [gs.Policy("las", period_s=1.0), gs.Policy("gavel", round_s=1)])
def test_two_jobs_alike_take_turns_at_nearly_every_multiple_of_the_period(policy):
    course = _turns(policy)
    check(course, policy)
    assert len(course.preempted) >= 40  # of the 99 multiples before the last finish


def test_a_lease_may_end_as_soon_as_it_can():
    course = _turns(gs.Policy("themis-greedy", period_s=5.0))
    assert len(course.preempted) >= 8
    assert {ran_us for _, _, ran_us in course.preempted} == {5_000_000}


def test_a_slot_may_end_as_soon_as_it_can():
    trace = of_one_gpu([100.0] * 12, deadline_s=[1000 - 10 * place for place in range(12)])
    course = course_of(trace, ONE_GPU, gs.Policy("edf-greatest", slot_s=1.0))
    assert len(course.preempted) == 11
    assert {ran_us for _, _, ran_us in course.preempted} == {1_000_000}


def test_every_job_may_be_preempted_as_it_passes_each_limit():
    policy = gs.Policy("2d-las", limits=[1, 2, 3], period_s=0.0)
    trace = gs.Trace.from_columns([0] * 6, [10.0] * 6, [1] * 6)
    course = course_of(trace, ONE_GPU, policy)
    check(course, policy)
    assert len(course.preempted) == 3 * 6
