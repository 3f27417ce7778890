"""What the solvers once got wrong, each in the smallest case that showed it."""

import numpy as np
import pytest

import gpusched as gs
from gpusched.online.assignment import assign
from gpusched_papers import exact
from tests.each import each


def test_an_epsilon_that_prices_cannot_grow_by_is_refused():
    cost = np.rint(np.random.default_rng(0).random((8, 8)) * 1e16)
    with pytest.raises(ValueError, match=r"epsilon: 0\.1 is too small .* at least"):
        assign(cost, method="auction", epsilon=0.1)


def test_placements_on_many_servers_are_not_all_counted():
    profile = gs.model.JobProfile("m", 1e6, 32.0, 0.0, 0.1)
    trace = gs.Trace.from_columns(
        [0.0], [10.0], [4], profile=np.zeros(1, np.int32), profiles=(profile,)
    )
    cluster = gs.Cluster.uniform(64, 8, nic_gbps=10, intra_gbps=200)
    with pytest.raises(ValueError, match="job 0 has more than 200 placements"):
        exact.instance(trace, cluster)


def plan_of(*jobs: gs.online.DeadlineJob, gpus: int = 8) -> gs.online.DeadlinePlan:
    return gs.online.plan_deadlines(jobs, {"A": gpus})


def test_a_window_of_hundreds_of_thousands_of_slots_is_planned_over():
    plan = plan_of(gs.online.DeadlineJob(0.0, 1e8, 9e7, {("A", 1): 1.0}))
    assert (plan.reason, plan.value, plan.upper_bound) == (("admitted",), 1, 1)


def test_a_window_that_is_too_long_to_be_planned_over_is_bounded_in_full():
    plan = plan_of(gs.online.DeadlineJob(0.0, 4e12, 3.9e12, {("A", 1): 1.0}))
    assert (plan.reason, plan.value, plan.upper_bound) == (("too long",), 0, 1)
    assert "first 2^22 slots" in plan.explain(0)


@each(("field", "figure"), [("value", 1e300), ("work", 0.0), ("work", 1e-300), ("work", 1e300)])
def test_a_figure_that_no_plan_can_count_with_is_named(field, figure):
    figures = {"arrival_s": 0.0, "deadline_s": 3600.0, "work": 100.0, field: figure}
    with pytest.raises(ValueError, match=rf"jobs\[0\]\.{field}"):
        plan_of(gs.online.DeadlineJob(rates={("A", 1): 1.0}, **figures))
