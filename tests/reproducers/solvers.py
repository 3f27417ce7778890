"""What the solvers once got wrong, each in the smallest case that showed it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import gpusched as gs
from gpusched.online.assignment import assign
from gpusched_papers import exact


def test_an_exact_placement_ends_where_rates_are_far_apart() -> None:
    rates = [[0, 2, 0.5], [3.7, 0, 0.5], [1, 1000, 1]]
    for capacity in ([2, 3, 3], [3, 3, 2]):
        for rounds in ([1, 1, 1], [5, 3, 9], [100, 10, 1000]):
            found = gs.online.place_jobs(
                rates, rounds=rounds, round_samples=32, capacity=capacity, sampler="exact"
            )
            assert found.is_optimal
            assert found.lower_bound_s <= found.mean_jct_s <= found.lower_bound_s * (1 + 1e-8)


def test_an_auction_of_great_whole_costs_ends() -> None:
    cost = np.rint(np.random.default_rng(0).random((8, 8)) * 1e16)
    best = cost[linear_sum_assignment(cost)].sum()
    assert best <= assign(cost, method="auction").cost <= best + 8 * np.ptp(cost) * 2.0**-40


def test_an_auction_of_costs_that_hardly_differ_ends() -> None:
    cost = 1e9 + 1e-6 * np.random.default_rng(0).random((8, 8))
    best = cost[linear_sum_assignment(cost)].sum()
    assert assign(cost, method="auction").cost == pytest.approx(best, abs=8 * 1.2e-7)


def test_an_epsilon_that_prices_cannot_grow_by_is_refused() -> None:
    cost = np.rint(np.random.default_rng(0).random((8, 8)) * 1e16)
    with pytest.raises(ValueError, match=r"epsilon: 0\.1 is less than prices .* at least"):
        assign(cost, method="auction", epsilon=0.1)


def test_prices_kept_from_great_values_do_not_hide_small_ones() -> None:
    lasting = gs._core.Transportation()
    one = np.ones(3, dtype=np.int32)
    lasting.solve(np.array([2.0, 4, 1, 4, 1, 2, 3, 2, 2]) * 1e17, one, one)
    small = np.array([0.0, 7, 5, 3, 7, 3, 4, 1, 4])
    assert lasting.solve(small, one, one, is_warm=True)[3] == 16


def test_placements_on_many_servers_are_not_all_counted() -> None:
    profile = gs.model.JobProfile("m", 1e6, 32.0, 0.0, 0.1)
    trace = gs.Trace.from_columns(
        [0.0], [10.0], [4], profile=np.zeros(1, np.int32), profiles=(profile,)
    )
    cluster = gs.Cluster.uniform(64, 8, nic_gbps=10, intra_gbps=200)
    with pytest.raises(ValueError, match="job 0 has more than 200 placements"):
        exact.instance(trace, cluster)


def plan_of(*jobs: gs.online.DeadlineJob, gpus: int = 8) -> gs.online.DeadlinePlan:
    return gs.online.plan_deadlines(jobs, {"A": gpus})


def test_a_job_that_arrives_late_is_planned_like_any_other() -> None:
    plan = plan_of(gs.online.DeadlineJob(3e7, 3e7 + 3600, 100.0, {("A", 1): 1.0}))
    assert (plan.reason, plan.value, plan.upper_bound) == (("admitted",), 1, 1)


def test_a_window_of_hundreds_of_thousands_of_slots_is_planned_over() -> None:
    plan = plan_of(gs.online.DeadlineJob(0.0, 1e8, 9e7, {("A", 1): 1.0}))
    assert (plan.reason, plan.value, plan.upper_bound) == (("admitted",), 1, 1)


def test_a_window_that_is_too_long_to_be_planned_over_is_bounded_in_full() -> None:
    plan = plan_of(gs.online.DeadlineJob(0.0, 4e12, 3.9e12, {("A", 1): 1.0}))
    assert (plan.reason, plan.value, plan.upper_bound) == (("too long",), 0, 1)
    assert "first of the many slots" in plan.explain(0)


@pytest.mark.parametrize(
    ("field", "figure"), [("value", 1e300), ("work", 0.0), ("work", 1e-300), ("work", 1e300)]
)
def test_a_figure_that_no_plan_can_count_with_is_named(field: str, figure: float) -> None:
    figures = {"arrival_s": 0.0, "deadline_s": 3600.0, "work": 100.0, field: figure}
    with pytest.raises(ValueError, match=rf"jobs\[0\]\.{field}"):
        plan_of(gs.online.DeadlineJob(rates={("A", 1): 1.0}, **figures))
