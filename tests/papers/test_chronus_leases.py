"""Chronus with the rule of its authors' program, on jobs that a hand can follow."""

import random
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched_papers.chronus_leases import FURTHEST, LONGEST, Claim, LeasePlans, first_leases
from tests.unit.core.schedulers.two_types import NONE, random_workload, runs

POLICY = "chronus-leases:lease_s=10,margin=0"


def simulate(jobs: list[tuple], gpus: int, policy: str = POLICY, **options: Any) -> gs.Result:
    """Run jobs of (submit, service, gpus, deadline)."""
    submit, service, widths, deadline = map(list, zip(*jobs, strict=True))
    estimate = options.pop("estimate_s", service)
    trace = gs.Trace.from_columns(submit, service, widths, deadline_s=deadline, estimate_s=estimate)
    cluster = gs.Cluster.uniform(1, gpus)
    return gs.simulate(trace, cluster, policy=policy, **options)


def start_s(result: gs.Result) -> list[float]:
    return (result.schedule.start_us / 1e6).tolist()


def test_an_admitted_job_waits_for_the_last_leases_before_its_deadline():
    assert start_s(simulate([(0, 20, 1, 59)], 1)) == [30]


def test_a_job_that_no_lease_is_left_for_runs_where_nobody_has_a_lease():
    result = simulate([(0, 20, 1, 49), (0, 30, 1, 49)], 1)
    assert runs(result) == [(1, 0, 20, 1), (0, 20, 40, 1), (1, 40, 50, 1)]


def test_of_those_judged_together_the_wide_and_the_tight_take_the_latest_leases():
    jobs = [(0, 10, 1, 49), (0, 20, 1, 49), (0, 10, 2, 49)]
    assert start_s(simulate(jobs, 2)) == [20, 10, 30]


def test_best_effort_goes_by_the_gpu_time_that_is_left():
    jobs = [(0, 30, 2, NONE), (0, 40, 1, NONE), (0, 10, 2, NONE)]
    assert start_s(simulate(jobs, 2)) == [50, 10, 0]


def test_who_can_no_longer_end_in_time_comes_after_all_best_effort():
    assert start_s(simulate([(0, 10, 1, 5), (0, 90, 1, NONE)], 1)) == [90, 0]


def test_gpus_that_come_free_within_a_lease_stay_idle():
    assert start_s(simulate([(0, 4, 1, NONE), (0, 5, 1, NONE)], 1)) == [0, 10]


def test_a_margin_asks_for_more_leases():
    policy = "chronus-leases:lease_s=10,margin=0.2"
    assert start_s(simulate([(0, 20, 1, 59)], 1, policy)) == [20]


def test_the_program_runs_an_admitted_job_as_early_as_it_can():
    assert start_s(simulate([(0, 20, 1, 59)], 1, POLICY + ",plans=program")) == [10]


def test_the_program_makes_way_where_a_job_was_turned_down():
    jobs = [(0, 20, 1, 59), (0, 40, 1, 59)]
    result = simulate(jobs, 1, POLICY + ",plans=program")
    assert runs(result) == [(1, 0, 30, 1), (0, 30, 50, 1), (1, 50, 60, 1)]


def test_who_runs_longer_than_was_predicted_loses_its_leases_and_goes_first():
    jobs = [(0, 40, 1, 69), (0, 5, 1, NONE), (45, 5, 1, NONE)]
    result = simulate(jobs, 1, estimate_s=[10, 5, 5], predictor="estimate")
    assert runs(result) == [(1, 0, 5, 1), (0, 50, 90, 1), (2, 90, 95, 1)]


def test_a_job_takes_leases_on_the_type_where_it_is_fastest():
    cluster = gs.Cluster((gs.ServerGroup(1, 1, "A"), gs.ServerGroup(1, 1, "B")))
    profile = gs.model.JobProfile("p", throughput={"A": {1: 1.0}, "B": {1: 2.0}})
    trace = gs.Trace.from_columns([0], [20], [1], deadline_s=[59], profiles=[profile], profile=[0])
    result = gs.simulate(trace, cluster, policy=POLICY, speed="table")
    assert runs(result) == [(0, 30, 50, 1)]
    assert result.schedule.intervals()["server"].tolist() == [1]


@pytest.mark.parametrize("plans", ["latest", "program"])
def test_admitted_jobs_end_in_time_though_restarts_cost_time(plans):
    for seed in range(30):
        trace, cluster = random_workload(seed)
        policy = gs.Policy("chronus-leases", lease_s=20.0, plans=plans)
        result = gs.simulate(trace, cluster, policy=policy, placement="buddy", speed="table")
        result.audit().raise_if_bad()
        assert (result.schedule.status == 0).all()


near = st.builds(Claim, st.integers(1, 3), st.integers(1, 3), st.integers(3, 5))
far = st.builds(Claim, st.integers(1, 3), st.integers(1, 2), st.integers(2, 9))
claims = st.lists(near, min_size=1, max_size=3) | st.lists(far, min_size=1, max_size=2)


def best_first(known: list[Claim], capacity: int, *, spares: bool) -> int | None:
    """GPUs in the first lease, of all ways to give out leases."""
    found = []
    for plans in product(*(combinations(range(one.until), one.leases) for one in known)):
        held = [
            sum(one.gpus for one, plan in zip(known, plans, strict=True) if lease in plan)
            for lease in range(max(one.until for one in known))
        ]
        if max(held) <= capacity:
            found.append(held[0])
    return (min if spares else max)(found, default=None)


@given(claims, st.integers(3, 5), st.booleans())
def test_the_program_has_the_most_or_fewest_gpus_in_the_lease_that_begins(known, capacity, spares):
    best = best_first(known, capacity, spares=spares)
    shifted = [Claim(one.gpus, one.leases, one.until + 7) for one in known]
    plans = first_leases(shifted, capacity, 7, spares=spares)
    if best is None:
        assert plans is None
        return
    assert plans is not None
    assert sum(one.gpus for one, plan in zip(known, plans, strict=True) if 7 in plan) == best
    for lease in range(7, 17):
        held = sum(one.gpus for one, plan in zip(known, plans, strict=True) if lease in plan)
        assert held <= capacity
    for one, plan in zip(shifted, plans, strict=True):
        assert len(plan) == one.leases
        assert max(plan) < one.until


def test_plans_never_pass_the_capacity_and_dropped_leases_are_free_again():
    ledger = LeasePlans(2)
    found = ledger.together({0: Claim(1, 2, 4), 1: Claim(2, 1, 4)}, 0)
    assert found == {1: [3], 0: [1, 2]}
    for job, gpus in ((0, 1), (1, 2)):
        ledger.adopt(job, gpus, found[job])
    assert ledger.together({2: Claim(2, 2, 4)}, 0) is None
    ledger.drop(0)
    assert ledger.together({2: Claim(2, 2, 4)}, 0) == {2: [1, 2]}


def test_a_plan_of_too_many_leases_is_none():
    ledger = LeasePlans(1)
    assert ledger.together({0: Claim(1, LONGEST + 1, 10**9)}, 0) is None


@given(st.integers(0, 1 << 30), st.sampled_from([3, 12, 60, 200]))
def test_a_crowd_is_admitted_as_if_all_were_planned_again_for_each(seed, crowd):
    rng = random.Random(seed)
    start = rng.choice([0, 5, 1000])
    ledger = LeasePlans(rng.randint(1, 16))
    for job in range(rng.randint(0, 4)):
        leases = sorted(rng.sample(range(start - 5, start + 40), rng.randint(1, 20)))
        ledger.adopt(-1 - job, rng.randint(1, ledger.capacity // 4 + 1), leases)
    furthest = rng.choice([10, 60, crowd])
    claims = {
        job: Claim(
            min(rng.choice([1, 1, 2, 4, 8]), ledger.capacity),
            rng.randint(1, rng.choice([3, 12])),
            start + rng.randint(1, furthest),
        )
        for job in rng.sample(range(crowd), rng.randint(1, crowd))
    }
    admitted = ledger.admitted(claims, start)
    assert admitted == ledger.admitted_by_planning(claims, start)


def test_claims_far_ahead_are_admitted_alike():
    ledger = LeasePlans(1)
    claims = {job: Claim(1, 2, until) for job, until in enumerate((3, 3, 2 * FURTHEST))}
    assert ledger.admitted(claims, 0) == [0, 2]
