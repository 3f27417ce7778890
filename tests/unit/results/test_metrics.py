"""The metrics, worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import Network, Profile
from gpusched.results.metric_registry import summarise
from gpusched.results.run_facts import RunFacts, exact_sum
from gpusched.schedules.schedule import UNFINISHED
from gpusched.traces.trace_facts import nearest_rank
from tests.unit.small_runs import SECOND, job, simulated

KEYS = [
    "policy", "placement", "predictor", "speed", "contention", "clairvoyant", "seed",
    "num_jobs", "num_finished", "num_rejected", "num_unfinished", "num_cancelled",
    "mean_jct_s", "p50_jct_s", "p90_jct_s", "p95_jct_s",
    "p99_jct_s", "max_jct_s", "geomean_jct_s", "mean_wait_s",
    "p50_wait_s", "p90_wait_s", "p95_wait_s", "p99_wait_s", "mean_queueing_delay_s",
    "mean_bounded_slowdown", "p95_bounded_slowdown", "area_weighted_jct_s", "weighted_jct_s",
    "makespan_s", "allocation",
    "gpu_hours", "utilisation", "preemptions", "resizes", "mean_servers",
    "lower_bound_mean_jct_s", "gap",
    "lower_bound_name", "completion_ratio", "makespan_bound_s", "makespan_gap", "load", "wall_s",
    "jobs_per_s", "digest",
]  # fmt: skip


@pytest.fixture(scope="module")
def preempted():
    """Four GPUs. Job 0 runs 10-12 and, its restart of 3 s paid, 16-29; job 1 runs 12-16."""
    jobs = [job(10, 12, 4, weight=2.0), job(12, 4, 2, weight=1.0), job(20, 1, 5)]
    return simulated(jobs, [(2, "V100"), (2, "V100")], "srtf", policy_params={"cost_s": 3.0})


def test_the_summary_has_its_keys_in_order(preempted):
    # Others may be added anywhere.
    assert [key for key in preempted.summary() if key in KEYS] == KEYS


def test_the_summary_names_its_run(preempted):
    summary = preempted.summary()
    assert summary["policy"] == "srtf:cost_s=3.0"
    assert summary["placement"] == "consolidated"
    assert (summary["predictor"], summary["clairvoyant"], summary["seed"]) == ("oracle", True, 0)
    assert (summary["wall_s"], summary["jobs_per_s"]) == (0.5, 6.0)
    assert summary["digest"] == preempted.digest


def test_tenants_are_users_and_else_queues(preempted):
    assert "tenant_fairness" not in preempted.summary()
    # Jobs of 100 s on one GPU wait 0, 100 and 200 s: their slowdowns are 1, 2 and 3.
    users, queues = ["a", "a", "b"], ["x", "y", "z"]
    for tenants, means in (
        ({"user": users}, [1.5, 3]),
        ({"user": users, "queue": queues}, [1.5, 3]),
        ({"queue": queues}, [1, 2, 3]),
    ):
        trace = gs.Trace.from_columns([0, 0, 0], [100, 100, 100], [1, 1, 1], **tenants)
        summary = gs.simulate(trace, gs.Cluster.uniform(servers=1, gpus=1)).summary()
        even = sum(means) ** 2 / (len(means) * sum(x * x for x in means))
        assert summary["tenant_fairness"] == pytest.approx(even, rel=1e-12)
        assert summary["p95_bounded_slowdown"] == 3


def test_jobs_are_counted_by_their_end(preempted):
    summary = preempted.summary()
    assert [summary[f"num_{key}"] for key in ("jobs", "finished", "rejected", "unfinished")] == [
        3, 2, 1, 0,
    ]  # fmt: skip


def test_times_of_a_preempted_job(preempted):
    summary = preempted.summary()
    jct = (19.0, 4.0)
    assert summary["mean_jct_s"] == 11.5
    assert summary["p50_jct_s"] == 4.0
    assert [summary[f"{rank}_jct_s"] for rank in ("p90", "p95", "p99", "max")] == [19.0] * 4
    assert summary["geomean_jct_s"] == pytest.approx(math.sqrt(19 * 4), rel=1e-12)
    assert summary["mean_wait_s"] == 2.0  # 19 - 15 with GPUs, and nothing
    assert summary["mean_queueing_delay_s"] == 0.0
    assert summary["mean_bounded_slowdown"] == pytest.approx((19 / 12 + 1) / 2, rel=1e-12)
    assert summary["weighted_jct_s"] == pytest.approx((2 * jct[0] + jct[1]) / 3, rel=1e-12)
    assert summary["area_weighted_jct_s"] == pytest.approx((48 * 19 + 8 * 4) / 56, rel=1e-12)


def test_the_cluster_of_a_preempted_job(preempted):
    summary = preempted.summary()
    assert summary["makespan_s"] == 19.0
    assert summary["allocation"] == pytest.approx((4 * 15 + 2 * 4) / (4 * 19), rel=1e-12)
    assert summary["utilisation"] == pytest.approx((4 * 12 + 2 * 4) / (4 * 19), rel=1e-12)
    assert summary["preemptions"] == 1
    assert summary["mean_servers"] == 1.5
    assert summary["load"] == pytest.approx((48 + 8) / (4 * 10), rel=1e-12)  # one is rejected


def test_the_certificate_counts_the_finished_jobs(preempted):
    summary = preempted.summary()
    # On the squashed machine job 0 is busy in 10-12 and 14-24, job 1 in 12-14.
    total = (2 * 1 + 10 * 9) / 12 + 12 / 2 + (13 - 12) + 4 / 2
    assert summary["lower_bound_name"] == "mean-busy-time"
    assert summary["lower_bound_mean_jct_s"] == pytest.approx(total / 2, rel=1e-7)
    assert summary["gap"] == pytest.approx(23 / total - 1, rel=1e-6)
    assert summary["makespan_bound_s"] == 14.0
    assert summary["makespan_gap"] == pytest.approx(19 / 14 - 1, rel=1e-12)


def test_the_completion_ratio_is_over_the_larger_bound_on_completions(preempted):
    # Since the first submit the jobs end at 19 and 6, on the squashed machine at 14 and 4.
    assert preempted.summary()["completion_ratio"] == pytest.approx(25 / 18, rel=1e-12)
    # Two GPUs: the squashed machine ends at 1 and 3, but no job ends before its service.
    summary = simulated([job(0, 2), job(0, 4)], [(2, "gpu")], "srtf", "count").summary()
    assert summary["completion_ratio"] == 1.0


def test_an_optimal_schedule_has_no_gap():
    jobs = [job(0, 3), job(0, 5), job(1, 1)]
    summary = simulated(jobs, [(1, "gpu")], "srtf", "count").summary()
    assert summary["gap"] == 0.0
    assert summary["makespan_gap"] == 0.0
    assert summary["mean_servers"] == 0.0


def test_a_short_service_counts_ten_seconds_in_the_slowdown():
    # The second job waits 27 s for one second of service; the third has none to wait for.
    jobs = [job(0, 30), job(3, 1), job(100, 2)]
    summary = simulated(jobs, [(1, "gpu")], "fifo", "count").summary()
    assert summary["mean_bounded_slowdown"] == pytest.approx((1 + 2.8 + 1) / 3, rel=1e-12)


def test_without_weights_there_is_no_weighted_mean_under_that_name():
    summary = simulated([job(0, 1), job(0, 3)], weight=None).summary()
    assert "weighted_jct_s" not in summary


def test_what_no_finished_job_defines_is_nan():
    result = simulated([job(0, 1, 99), job(5, 1, 99)])
    summary = result.summary()
    assert (summary["num_finished"], summary["num_rejected"]) == (0, 2)
    for key in [*KEYS[12:27], "mean_servers", "lower_bound_mean_jct_s", "gap", "makespan_gap"]:
        assert math.isnan(summary[key]), key
    assert summary["preemptions"] == 0
    assert result.audit().ok


def test_contention_by_hand(preempted):
    # Of its 12 s of run time on two servers, job 0 would have taken 8 alone and 6 at best.
    trace = replace(preempted.trace, service_us=np.array([6, 4, 1]) * SECOND)
    alone_us = np.array([8.0, 4.0, 0.0]) * SECOND
    schedule = replace(preempted.schedule, uncontended_us=alone_us)
    summary = summarise(
        RunFacts(trace, preempted.cluster, schedule, contention=preempted.contention)
    )
    assert summary["mean_slowdown_contention"] == 1.25
    assert summary["p99_slowdown_contention"] == summary["max_slowdown_contention"] == 1.5
    assert summary["lost_to_contention"] == pytest.approx(4 * 4 / (4 * 19), rel=1e-12)
    assert summary["lost_to_placement"] == pytest.approx(4 * 2 / (4 * 19), rel=1e-12)
    assert (summary["mean_contention_level"], summary["max_contention_level"]) == (1.0, 1)
    assert summary["num_contended_links"] == 0
    restarts = 4 * 3 / (4 * 19)
    parts = [summary[key] for key in ("utilisation", "lost_to_contention", "lost_to_placement")]
    assert summary["allocation"] == pytest.approx(sum(parts) + restarts, rel=1e-12)


def test_contention_is_part_of_a_summary_only_where_it_can_matter():
    profile = Profile(1e8, 1.0, {"gpu": 0.1}, {"gpu": 0.1})
    jobs = [job(0, 5, 4, profile=profile), job(0, 5, 4, profile=profile)]
    servers = [(4, "gpu"), (4, "gpu")]
    network = Network([8.0, 8.0], [80.0, 80.0])
    shared = simulated(jobs, servers, "fifo", "spread", network=network, contention="shared")
    summary = shared.summary()
    assert (summary["speed"], summary["contention"]) == ("ring", "shared")
    assert [key for key in summary if key not in KEYS] == [
        "mean_slowdown_contention", "p99_slowdown_contention", "max_slowdown_contention",
        "mean_contention_level", "max_contention_level", "num_contended_links",
        "lost_to_contention", "lost_to_placement",
    ]  # fmt: skip
    assert summary["max_contention_level"] == summary["num_contended_links"] == 2
    # 2 x 0.75e8 bytes at 1e9 B/s: 0.15 s, and 0.15 s more as two share; 0.20125 s otherwise.
    assert summary["mean_slowdown_contention"] == pytest.approx(1 + 0.15 / 0.35125, rel=1e-6)
    alone = simulated(jobs, servers, "fifo", "spread", network=network)
    assert alone.summary()["max_slowdown_contention"] == 1.0


def test_no_finished_job_defines_no_slowdown():
    profile = Profile(1e8, 1.0, {"gpu": 0.1}, {"gpu": 0.1})
    result = simulated(
        [job(0, 5, 9, profile=profile)], [(4, "gpu")], network=Network([8.0], [80.0])
    )
    summary = result.summary()
    for key in ("mean_slowdown_contention", "mean_contention_level", "lost_to_placement"):
        assert math.isnan(summary[key]), key
    assert summary["max_contention_level"] == 0


def test_unfinished_jobs_count_only_in_the_allocation():
    # Both hold one of two GPUs until 10 s; the first is then finished, the second goes on.
    result = simulated([job(0, 10), job(0, 20)], [(2, "gpu")], "fifo", "count")
    schedule = replace(
        result.schedule,
        status=np.array([0, UNFINISHED], np.uint8),
        finish_us=np.array([10 * SECOND, -1]),
    )
    summary = summarise(RunFacts(result.trace, result.cluster, schedule))
    assert summary["num_unfinished"] == 1
    assert summary["mean_jct_s"] == 10.0
    assert (summary["allocation"], summary["utilisation"]) == (1.0, 0.5)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 100))
def test_nearest_rank_is_the_least_value_that_enough_values_do_not_exceed(values, percent):
    ordered = np.sort(values)
    enough = [v for v in ordered if np.sum(ordered <= v) * 100 >= percent * len(ordered)]
    assert nearest_rank(ordered, percent) == enough[0]


@given(st.lists(st.integers(-(2**62), 2**62), max_size=20))
def test_exact_sum_neither_rounds_nor_overflows(values):
    assert exact_sum(np.array(values, dtype=np.int64)) == sum(values)


def _queue(submit_s: list[float], service_s: list[float], **window: float) -> float:
    trace = gs.Trace.from_columns(submit_s=submit_s, service_s=service_s, gpus=[1] * len(submit_s))
    result = gs.simulate(trace, gs.Cluster.uniform(servers=1, gpus=1), policy="fifo")
    return float(result.metric("queue_growth", **window))


def test_queue_growth_compares_the_last_third_with_the_one_before():
    # Every ten seconds a job of five: one is there half of the time.
    steady = [10.0 * at for at in range(31)]
    assert _queue(steady, [5.0] * 31) == pytest.approx(1.0)
    # One a second leaves and two come: half of them stay, so the number grows with the time.
    assert _queue([0.5 * at for at in range(6_001)], [1.0] * 6_001) == pytest.approx(
        5 / 3, rel=1e-3
    )
    # From 10 s to 20 s one job, from 20 s to 30 s three, of which one came with the last.
    assert _queue([0.0, 20.0, 20.0, 30.0], [100.0, 1, 1, 1]) == pytest.approx(3.0)
    assert math.isnan(_queue([0.0], [1.0]))
    assert math.isnan(_queue([0.0, 30.0], [1.0, 1.0]))


def test_queue_growth_in_a_window_is_that_of_its_time():
    submit = [0.0, *(10.0 * at for at in range(10, 41))]
    whole, service = _queue(submit, [5.0] * 32), [5.0] * 32
    assert _queue(submit, service, warm_up_s=100) == pytest.approx(1.0)
    assert whole == pytest.approx(1.0, rel=0.1)
    assert _queue([0.0, 20.0, 20.0, 30.0], [100.0, 1, 1, 1], tail_s=15.0) == pytest.approx(1.0)


def test_jobs_that_are_refused_are_in_no_queue():
    trace = gs.Trace.from_columns(
        submit_s=[0.0, 20.0, 20.0, 30.0], service_s=[100.0, 1, 1, 1], gpus=[1, 1, 2, 1]
    )
    result = gs.simulate(trace, gs.Cluster.uniform(servers=1, gpus=1), policy="fifo")
    assert result.metric("queue_growth") == pytest.approx(2.0)
