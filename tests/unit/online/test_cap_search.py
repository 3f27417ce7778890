"""Packers by hand on tiny clusters, what a plan shows, and how mistakes are answered."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from tests.each import each

SIX = gs.Cluster((gs.ServerGroup(1, 4), gs.ServerGroup(1, 2)))


def batch(*jobs: tuple[float, int]) -> gs.Trace:
    """Jobs of (seconds, GPUs), submitted at once."""
    service_s, gpus = zip(*jobs, strict=True)
    return gs.Trace.from_columns(submit_s=[0] * len(jobs), service_s=service_s, gpus=gpus)


def bind(
    trace: gs.Trace, cluster: gs.Cluster = SIX, policy: str = "sjf-bco", **options: Any
) -> list[dict[int, tuple[int, ...]]]:
    """Who gets which GPUs under a cap that hinders nobody."""
    options = {"contention": "none", "theta_s": 1000, "u": 1} | options
    plan = gs.online.plan(trace, cluster, policy=policy, **options)
    return [plan.allocation(job) for job in range(len(trace))]


def test_narrow_gangs_go_where_they_leave_the_fewest_gpus():
    assert bind(batch((10, 2)), kappas=[8]) == [{1: (0, 1)}]
    assert bind(batch((10, 3)), kappas=[8]) == [{0: (0, 1, 2)}]


def test_narrow_gangs_join_servers_that_host_jobs():
    # The second would fit the other server better.
    assert bind(batch((10, 3), (10, 4)), kappas=[8]) == [{0: (0, 1, 2)}, {0: (0, 1, 2, 3)}]
    assert bind(batch((10, 3), (10, 3)), kappas=[8])[1] == {0: (0, 1, 3)}


def test_a_narrow_gang_that_no_server_holds_takes_the_largest_and_the_best_fit():
    cluster = gs.Cluster((gs.ServerGroup(1, 4), gs.ServerGroup(1, 4), gs.ServerGroup(1, 1)))
    assert bind(batch((10, 5)), cluster, kappas=[8]) == [{0: (0, 1, 2, 3), 2: (0,)}]


def test_of_servers_with_as_many_gpus_the_one_that_hosts_jobs_is_filled():
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "A"), gs.ServerGroup(1, 4, "B")))
    jobs = gs.Trace.from_columns(
        submit_s=[0, 0], service_s=[9, 9], gpus=[1, 5], gpu_types=["B", ""]
    )
    assert bind(jobs, cluster, kappas=[8]) == [{1: (0,)}, {0: (0,), 1: (0, 1, 2, 3)}]


def test_a_server_hosts_a_job_no_longer_than_it_runs():
    jobs = gs.Trace.from_columns(submit_s=[0, 6], service_s=[5, 5], gpus=[3, 1])
    assert gs.simulate(jobs, SIX, policy="sjf-bco").intervals["server"].tolist() == [0, 1]


def test_the_cap_sends_a_gang_elsewhere():
    jobs = batch((6, 1), (6, 1), (6, 1))
    assert bind(jobs, kappas=[8]) == [{1: (0,)}, {1: (1,)}, {1: (0,)}]
    assert bind(jobs, kappas=[8], theta_s=11) == [{1: (0,)}, {1: (1,)}, {0: (0,)}]


def test_wide_gangs_go_to_the_servers_with_the_least_work():
    jobs = batch((6, 1), (5, 1), (4, 2))
    # One GPU each; then the mean of the server of four is 6 / 4, that of the server of two 5 / 2.
    assert bind(jobs, kappas=[0]) == [{0: (0,)}, {1: (0,)}, {0: (1, 2)}]
    # A pool of three per GPU asked for is never the small server alone.
    assert bind(jobs, kappas=[0], lambda_=3) == [{0: (0,)}, {0: (1,)}, {0: (2, 3)}]


def test_the_baselines_choose_as_they_are_named():
    jobs = batch((5, 1), (3, 5), (4, 2))
    assert bind(jobs, policy="ff") == [{0: (0,)}, {0: (0, 1, 2, 3), 1: (0,)}, {0: (0, 1)}]
    assert bind(jobs, policy="ls") == [{0: (0,)}, {0: (1, 2, 3), 1: (0, 1)}, {0: (1, 2)}]
    drawn = {str(bind(jobs, policy="rand", seed=seed)) for seed in range(8)}
    assert len(drawn) > 4


def test_the_theorem_ties_by_the_least_busy_gpu():
    jobs = batch((6, 1), (6, 1), (6, 1))
    assert bind(jobs, kappas=[8], tie="least-u") == [{0: (0,)}, {0: (1,)}, {0: (2,)}]


def test_narrow_gangs_are_bound_first_and_baselines_take_jobs_as_they_come():
    jobs = batch((5, 4), (5, 1))
    assert bind(jobs, policy="ls")[1] == {1: (0,)}
    assert bind(jobs, policy="ls", order="width")[1] == {0: (0,)}
    assert bind(jobs, kappas=[0])[1] == {0: (0,)}
    assert bind(jobs, kappas=[0], order="submit")[1] == {1: (0,)}


def test_a_cap_that_shuts_a_job_out_is_raised_just_enough():
    plan = gs.online.plan(batch((5, 6), (7, 6)), SIX, contention="none", theta_s=6, u=1, kappas=[8])
    assert plan.theta_s == 12
    result = gs.simulate(plan.result.trace, SIX, policy="sjf-bco:mode=queue,theta_s=6,u=1")
    assert "theta_s was raised 1 times, in the end to 12.000000 s" in result.warnings[0]
    assert "the cap theta_s counts with the true services" in result.warnings
    assert not gs.simulate(plan.result.trace, SIX, policy="sjf-bco").warnings


def test_a_job_whose_pool_is_over_the_cap_starts_once_nothing_runs():
    # At 8 s four GPUs are under the cap, but only three of the pool: the server with less work.
    cluster = gs.Cluster((gs.ServerGroup(1, 4), gs.ServerGroup(1, 1)))
    jobs = gs.Trace.from_columns(submit_s=[0, 6, 7], service_s=[8, 3, 2], gpus=[1, 1, 4])
    result = gs.simulate(jobs, cluster, policy="sjf-bco:kappa=0,theta_s=8,u=1")
    assert (result.schedule.start_us / 1e6).tolist() == [0, 6, 9]
    assert "to 10.000000 s" in result.warnings[0]


def test_in_queue_no_gpu_waits_for_a_gang_unless_it_serves_in_order():
    # The gang lacks the first GPU until 9 s; those after it are bound to the second one.
    two = gs.Cluster((gs.ServerGroup(2, 1),))
    jobs = gs.Trace.from_columns(submit_s=[0, 1, 2, 3], service_s=[9, 9, 5, 3], gpus=[1, 2, 1, 1])

    def starts(start: str) -> list[float]:
        result = gs.simulate(jobs, two, policy=f"ls:mode=queue,start={start},u=1")
        return (result.schedule.start_us / 1e6).tolist()

    assert starts("ready") == [0, 10, 2, 7]
    assert starts("in-order") == [0, 9, 18, 23]


def test_idle_starts_only_on_idle_gpus_and_others_pass_what_waits():
    jobs = gs.Trace.from_columns(submit_s=[0, 1, 2], service_s=[10, 5, 3], gpus=[5, 2, 1])
    for policy in ("sjf-bco", "ff", "ls", "rand"):
        result = gs.simulate(jobs, SIX, policy=policy)
        assert (result.schedule.start_us / 1e6).tolist() == [0, 10, 2], policy


def test_gangs_wider_than_any_packed_placement_would_take_are_run():
    # A consolidated placement refuses the gang; these policies do not ask it.
    cluster = gs.Cluster((gs.ServerGroup(3, 2), gs.ServerGroup(1, 4)))
    jobs = batch((3, 9), (3, 11))
    result = gs.simulate(jobs, cluster, policy="sjf-bco", placement="consolidated")
    assert result.schedule.status.tolist() == [0, 1]


def test_kappas_between_two_widths_give_one_plan():
    jobs = batch((5, 1), (3, 4), (4, 2), (9, 1))
    plan = gs.online.plan(jobs, SIX, contention="none", kappas=[3, 2, 4, 100])
    rows = [{**vars(known), "kappa": None} for known in plan.candidates]
    assert rows[0] == rows[1]
    assert rows[2] == rows[3]
    assert [known.kappa for known in plan.candidates] == [3, 2, 4, 100]
    default = gs.online.plan(jobs, SIX, contention="none")
    assert [known.kappa for known in default.candidates] == [0, 1, 2, 4]


def test_a_plan_shows_what_it_is():
    plan = gs.online.plan(batch((5, 1), (3, 4), (4, 2)), SIX, contention="none", kappas=[2], u=1)
    assert re.fullmatch(
        r"Plan\(policy='sjf-bco:kappa=2,mode=queue,theta_s=\S+,u=1', "
        r"chosen=PlanCandidate\(.*\), lower_bound_s=5\.0\)",
        repr(plan),
    )
    table = plan.table()
    assert isinstance(table, pl.DataFrame)
    assert table["theta_s"].to_list() == [plan.theta_s]
    assert plan.kappa == 2
    assert plan.busy_s.sum() == pytest.approx(5 + 12 + 8)
    np.testing.assert_allclose(plan.planned_busy_s, plan.busy_s)
    assert plan.makespan_s == plan.result.summary()["makespan_s"]
    assert plan.mean_jct_s == pytest.approx(plan.result.summary()["mean_jct_s"])
    with pytest.raises(IndexError, match="job: 3 is not one of 3 jobs"):
        plan.allocation(3)


def test_the_text_of_a_plan_runs_it_again():
    jobs = batch(*[(3 + i % 7, 1 + i % 5) for i in range(20)])
    plan = gs.online.plan(jobs, SIX, contention="none")
    again = gs.simulate(jobs, SIX, policy=plan.policy)
    assert again.digest == plan.result.digest


def test_idle_takes_the_cap_alone_from_the_plan():
    jobs = batch(*[(3 + i % 7, 1 + i % 5) for i in range(20)])
    plan = gs.online.plan(jobs, SIX, contention="none", mode="idle", kappas=[2])
    assert plan.policy.startswith("sjf-bco:kappa=2,mode=idle,theta_s=")
    assert plan.theta_s == gs.online.plan(jobs, SIX, contention="none", kappas=[2]).theta_s


def test_contention_lengthens_a_plan_and_needs_profiles():
    profile = gs.model.JobProfile(
        name="p", gradient_bytes=1e9, batch=1, forward_s=0.01, backward_s=0.01
    )
    cluster = gs.Cluster((gs.ServerGroup(3, 2, nic_gbps=10, intra_gbps=100),))
    jobs = batch((5, 3), (5, 3))
    with pytest.raises(ValueError, match="profile"):
        gs.online.plan(jobs, cluster)
    plan = gs.online.plan(jobs.with_profiles((profile,)), cluster, policy="ls", u=1)
    assert plan.chosen.planned_makespan_s == 5
    assert plan.makespan_s > 5
    assert plan.result.spec.contention == "shared"


def test_planning_works_outside_of_the_main_thread():
    plans: list[gs.online.Plan] = []
    jobs = batch((5, 1))
    thread = threading.Thread(
        target=lambda: plans.append(gs.online.plan(jobs, SIX, contention="none"))
    )
    thread.start()
    thread.join()
    assert plans[0].makespan_s == 5


@each(
    ("options", "message"),
    [
        ({"policy": "fifo"}, "policy fifo: does not bind gangs to GPUs"),
        ({"policy": "sjf-bcoo"}, "did you mean 'sjf-bco'"),
        ({"policy": "ls", "kappas": [1]}, "kappas: policy ls has no parameter kappa"),
        ({"policy": "ls", "tie": "least-u"}, "policy ls: unknown parameter 'tie'"),
        ({"policy": "sjf-bco:kappa=2", "kappas": [1]}, "kappa is given by kappas as well"),
        ({"policy": "sjf-bco:u=2", "u": 1}, "u is given as an argument as well"),
        ({"kappas": []}, "kappas: must not be empty"),
        ({"kappas": [-1]}, "parameter kappa is -1"),
        ({"theta_s": 0}, "theta_s: 0 must be positive"),
        ({"theta_s": float("nan")}, "theta_s: nan must be positive"),
        ({"lambda_": 0.5}, "parameter lambda is 0.5"),
        ({"mode": "later"}, "parameter mode is 'later'"),
        ({"tolerance": -1}, "tolerance: must be at least 0"),
        ({"seed": -1}, "seed: -1 must lie between 0 and 2"),
    ],
)
def test_a_mistake_is_named(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        gs.online.plan(batch((5, 1)), SIX, **{"contention": "none"} | options)


def test_a_plan_is_of_a_batch_that_fits():
    late = gs.Trace.from_columns(submit_s=[0, 0, 2], service_s=[1, 1, 1], gpus=[1, 1, 1])
    with pytest.raises(ValueError, match=r"submit_s\[2\] is 2 and submit_s\[0\] is 0: .* batch"):
        gs.online.plan(late, SIX, contention="none")
    with pytest.raises(ValueError, match=r"gpus\[1\] is 7: more GPUs than the cluster has"):
        gs.online.plan(batch((5, 1), (5, 7)), SIX, contention="none")
    with pytest.raises(TypeError, match="trace: expected a Trace"):
        gs.online.plan([], SIX)
