"""What list schedulers, orders and solvers once got wrong, each as small as it was found."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from gpusched.online.assignment import assign
from gpusched.reference import Job, replay
from gpusched_papers import exact
from tests.each import each
from tests.parity.core import make_cluster, run_core
from tests.reference.cases import SECOND


def assert_finishes(
    finish_s: list[int],
    jobs: list[Job],
    servers: list[tuple[int, str]],
    policy: str,
    placement: str = "count",
    params: dict[str, Any] | None = None,
) -> None:
    """Run both engines and compare them with what the rule gives by hand."""
    core = run_core(jobs, servers, policy, placement, params)
    assert [finish // SECOND for finish in core.finish_us] == finish_s
    assert core == replay(jobs, servers, policy, placement, policy_params=params)


def test_serverfilling_lets_the_first_of_the_jobs_it_did_not_take_go_on():
    jobs = [
        Job(0, 10 * SECOND, 1, share_milli=400),
        Job(0, 20 * SECOND, 1, share_milli=400),
        Job(1 * SECOND, 1 * SECOND, 1, share_milli=300),
        Job(1 * SECOND, 6 * SECOND, 2),
    ]
    assert_finishes([10, 21, 2, 7], jobs, [(3, "gpu")], "serverfilling-srpt", "first-fit")


def test_entry_decides_inside_a_queue_beyond_the_512th_limit():
    limits = [tick / SECOND for tick in range(1, 601)]
    params = {"limits": limits, "inside": "entry", "period_s": 0.0}
    servers = [(3, "gpu")]
    for more in ([], [Job(20, 1, 3)]):  # one decision more or fewer before
        # Job 1 enters queue 512 a tick before job 0, and goes on when there is room for one.
        jobs = [Job(0, 5000, 1), Job(255 + len(more), 5000, 2), Job(513, 10, 1), *more]
        core = run_core(jobs, servers, "2d-las", "count", params)
        assert core == replay(jobs, servers, "2d-las", "count", policy_params=params)
        assert core.preemptions[0] >= 1


def test_a_run_refuses_a_task_without_gpus_that_came_past_the_checks_of_a_trace():
    row = np.array([0, 0], np.int32)
    table = _core.JobTable(
        np.array([0, 0], np.int64), np.array([SECOND, SECOND], np.int64),
        np.array([1, 0], np.int32), demand=row, demand_share_milli=np.array([1000], np.int32),
        demand_cpu_milli=np.array([500], np.int64), demand_memory_mib=np.array([0], np.int64),
    )  # fmt: skip
    cluster = make_cluster([(2, "gpu")])
    servers = _core.Cluster(cluster.server_gpus, cluster.server_type, **cluster.core_columns())
    for policy in ("2d-las", "easy", "srtf", "conservative", "fifo"):
        with pytest.raises(ValueError, match=r"gpus: row 1 is 0; it must be at least 1"):
            _core.Run(table, servers, _core.RunDescription(policy=policy, placement="first-fit"))


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
