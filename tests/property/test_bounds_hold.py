"""Lower bounds never exceed an exact optimum, nor any schedule there is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.bounds.certificates import makespan_bound
from gpusched.bounds.known import excluding, mean_busy_time, priced_time, shared_cost
from gpusched.bounds.registry import BoundedJobs, JobColumns, known_bounds
from gpusched.reference import Job, replay
from tests.a_srpt_bound import srpt_completion
from tests.examples import examples
from tests.theorems.exact_schedules import Jobs, least_makespan, least_sum_of_jct
from tests.theorems.shortest_remaining import least_flow

pytestmark = pytest.mark.long


def bound(name: str, jobs: JobColumns, num_gpus: int = 1) -> Fraction:
    """Return the registered bound on gangs that keep their widths."""
    found: Fraction = known_bounds()[name].compute(BoundedJobs.gangs(jobs, num_gpus))
    return found


def columns(jobs: Jobs) -> JobColumns:
    submit_us, service_us, gpus = zip(*sorted(jobs), strict=True)
    return JobColumns(
        np.array(submit_us, np.int64), np.array(service_us, np.int64), np.array(gpus, np.int32)
    )


def largest_sum(jobs: Jobs, num_gpus: int) -> Fraction:
    some = columns(jobs)
    return max(
        bound("trivial", some),
        bound("squashed-srpt", some, num_gpus),
        mean_busy_time(some, num_gpus),
        shared_cost(some, num_gpus),
        priced_time(some, num_gpus, rounds=40),
    )


@st.composite
def gang_instances(draw: st.DrawFn) -> tuple[Jobs, int]:
    num_gpus = draw(st.sampled_from([1, 2, 4, 8]))
    one = st.tuples(st.integers(0, 5), st.integers(1, 4), st.integers(1, num_gpus))
    return draw(st.lists(one, min_size=3, max_size=6)), num_gpus


def test_the_optima_are_those_worked_by_hand():
    jobs = [(0, 4, 2), (1, 1, 1), (1, 1, 1)]
    # Both short jobs interrupt the long one together: 5 + 1 + 1; or wait: 4 + 4 + 4.
    assert least_sum_of_jct(jobs, 2) == 7
    assert least_makespan(jobs, 2) == 5
    assert largest_sum(jobs, 2) <= 7
    assert makespan_bound(columns(jobs), 2) == 5


@given(gang_instances(), st.lists(st.floats(0.1, 10), min_size=6, max_size=6))
def test_the_weighted_bound_does_not_exceed_a_schedule(instance, weights):
    jobs, num_gpus = instance
    jobs.sort()
    weight = np.array(weights[: len(jobs)])
    workload = [Job(*one, weight=w) for one, w in zip(jobs, weight.tolist(), strict=True)]
    outcome = replay(workload, [(num_gpus, "gpu")], "wspt", "count")
    flow = sum(
        Fraction(w) * (finish - submit)
        for w, finish, (submit, _, _) in zip(weight.tolist(), outcome.finish_us, jobs, strict=True)
    )
    assert mean_busy_time(columns(jobs), num_gpus, weight=weight) <= flow


@given(gang_instances())
@examples(200)
def test_no_gangs_that_fit_overload_the_machine_on_which_wide_ones_exclude(instance):
    jobs, num_gpus = instance
    some = columns(jobs)
    found = excluding(some, num_gpus)
    if found is None:
        assert all(2 * gpus <= num_gpus or gpus == num_gpus for _, _, gpus in jobs)
        return
    raised = dict(zip(found[1].tolist(), found[0].gpus.tolist(), strict=True))
    for chosen in range(1 << len(jobs)):
        members = [job for job in range(len(jobs)) if chosen >> job & 1]
        if sum(int(some.gpus[job]) for job in members) <= num_gpus:
            assert sum(raised.get(job, 0) for job in members) <= num_gpus
    assert any(raised[job] > some.gpus[job] for job in raised)


@given(gang_instances(), st.integers(0, 6))
def test_sharing_the_cost_is_no_worse_than_services_however_many_rounds(instance, rounds):
    jobs, num_gpus = instance
    some = columns(jobs)
    lower, more = (shared_cost(some, num_gpus, rounds=count) for count in (rounds, rounds + 1))
    assert float(bound("trivial", some)) * (1 - 1e-12) <= lower <= more


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 6)), min_size=1, max_size=5))
def test_no_order_of_priorities_beats_the_shortest_remaining_first_of_the_bound(jobs):
    submit, work = map(list, zip(*sorted(jobs), strict=True))
    completions = srpt_completion([*map(float, submit)], [*map(float, work)])
    assert completions == least_flow(submit, work) + sum(submit)
