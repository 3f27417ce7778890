"""The metrics, by hand and as a person reads them; jobs broken down, deadlines, admission."""

import math
import warnings
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.arrays import nearest_rank
from gpusched.base.wording import duration, plural, span, written
from gpusched.reference import Network, Profile
from gpusched.results.breakdown import GROUPINGS
from gpusched.results.metric_registry import summarise
from gpusched.results.result import Result
from gpusched.results.run_facts import RunFacts, exact_sum
from gpusched.results.run_window import RunWindow
from gpusched.results.shown_metrics import Column, all_metrics, columns, main_metrics
from gpusched.schedules.schedule import UNFINISHED
from tests.each import each
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


def test_the_summary_has_its_keys_in_order_and_names_its_run(preempted):
    summary = preempted.summary()
    assert [key for key in summary if key in KEYS] == KEYS  # others may be added anywhere
    named = {
        "policy": "srtf:cost_s=3.0", "placement": "consolidated", "predictor": "oracle",
        "clairvoyant": True, "seed": 0, "wall_s": 0.5, "jobs_per_s": 6.0,
        "digest": preempted.digest, "num_jobs": 3, "num_finished": 2, "num_rejected": 1,
        "num_unfinished": 0,
    }  # fmt: skip
    assert summary.items() >= named.items()


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


def _growth(jct_s: list[float], jobs: int = 300, warm_up_s: float | None = None) -> float:
    """Of jobs with a server each, in equal parts with these JCTs; the service is 1 s."""
    parts = np.repeat(jct_s, jobs)
    trace = gs.Trace.from_columns(np.arange(len(parts), dtype=float), parts, [1] * len(parts))
    result = gs.simulate(trace, gs.Cluster.uniform(servers=20, gpus=1), policy="fifo")
    short = replace(trace, service_us=np.full(len(parts), 1_000_000))
    window = RunWindow.checked(trace, warm_up_s, None)
    run = RunFacts(short, result.cluster, result.schedule, window=window)
    return float(gs.metrics()["growth"].compute(run))


def test_growth_is_that_of_the_jct_over_the_service():
    assert _growth([1.0, 1.5, 2.5]) == pytest.approx(2.5)
    assert _growth([2.0, 9.0, 2.0]) == pytest.approx(1.0)
    assert math.isnan(_growth([1.0, 1.0, 1.0], jobs=99))


def test_growth_in_a_window_is_that_of_its_jobs():
    assert _growth([9.0, 1.0, 2.0], warm_up_s=300.0) == pytest.approx(2.0)


def test_bursts_of_long_jobs_do_not_grow():
    service = np.repeat([1.0, 5.0, 9.0], 200)
    trace = gs.Trace.from_columns(np.arange(600.0), service, [1] * 600)
    result = gs.simulate(trace, gs.Cluster.uniform(servers=20, gpus=1), policy="fifo")
    assert result.metric("growth") == pytest.approx(1.0)


def column(key: str, *values: Any) -> Column:
    metrics = [metric for metric in all_metrics() if metric.key == key]
    (laid_out,) = columns([{key: value} for value in values], metrics)
    return laid_out


@each(
    ("said", "text"),
    [
        (duration(0.0), "0 s"), (duration(0.02), "20 ms"), (duration(0.0213), "21.3 ms"),
        (duration(1.0), "1 s"), (duration(42.04), "42.0 s"), (duration(59.97), "1.00 min"),
        (duration(90.0), "1.50 min"), (duration(24_588.0), "6.83 h"), (duration(111_600.0), "31 h"),
        (duration(172_800.0), "2 d"), (duration(31_536_000.0), "365 d"),
        (duration(1e8), "1,160 d"), (duration(-7_200.0), "-2 h"), (duration(1e-6), "<0.01 ms"),
        (written(None), "-"), (written(math.inf, "time"), "-"), (written(0.786), "0.786"),
        (written(1.0), "1.00"), (written(9.996), "10.0"), (written(1_234.5), "1,230"),
        (written(0.0), "0.00"), (written(1e-9), "<0.0001"), (written(-1e-9), ">-0.0001"),
        (written(0.931, "percent"), "93.1%"), (written(1.0, "percent"), "100%"),
        (written(0.0004, "percent"), "<0.1%"), (written(-0.02, "percent", "+"), "-2%"),
        (written(0.1234, "percent", "+"), "+12.3%"), (written(0.0, "percent", "+"), "0%"),
        (written(1_234, "count"), "1,234"), (written(69.5, "count"), "69.5"),
        (written(9_973.1, "count"), "9,973"), (written(2_352_345, "rate"), "2,350,000"),
        (span(21_564.0, 29_772.0, "time"), "5.99 .. 8.27 h"), (span(1.0, None, "time"), "-"),
        (span(30.0, 7_200.0, "time"), "30 s .. 2 h"), (span(0.8, 1.2, "ratio"), "0.800 .. 1.20"),
        (written(0.03125, "p"), "0.031"), (written(0.0001, "p"), "<0.001"),
        (span(-0.1, 0.2, "percent", "+"), "-10 .. +20%"),
        (plural(1, "job"), "1 job"), (plural(0, "job"), "0 jobs"),
        (plural(2_000, "job"), "2,000 jobs"),
    ],
)  # fmt: skip
def test_a_number_is_written_as_a_person_would(said, text):
    assert said == text


# Values of a metric under several policies, how they are written, and which is the best.
@each(
    ("key", "values", "written", "marks"),
    [
        # Each figure has its own unit.
        ("mean_jct_s", (3_600.0, 36_000.0, 360_000.0), ["1 h", "10 h", "4.17 d"], [1, 0, 0]),
        ("utilisation", (0.3, 0.2, 0.4), ["30%", "20%", "40%"], [0, 0, 1]),
        # What reads the same wins nothing.
        ("utilisation", (0.71231, 0.71229, 0.5), ["71.2%", "71.2%", "50%"], [0, 0, 0]),
        # Nothing is best where all are equal, or alone.
        ("preemptions", (0, 0, 0), ["0", "0", "0"], [0, 0, 0]),
        ("mean_jct_s", (7.0,), ["7 s"], [0]),
        # What is undefined is a dash, and never the best; one that is left has not won.
        ("mean_jct_s", (math.nan, 20.0, None), ["-", "20 s", "-"], [0, 0, 0]),
        ("mean_wait_s", (36_000.0, 9.0, 0.0), ["10 h", "9 s", "0 s"], [0, 0, 1]),
        # Rates have three digits and separators, ratios are percentages.
        ("jobs_per_s", (1_234_567.0, 987.6), ["1,230,000", "988"], [1, 0]),
        ("gap", (0.123, 1.5), ["12.3%", "150%"], [1, 0]),
    ],
)
def test_figures_have_their_units_and_one_that_wins_alone_is_marked(key, values, written, marks):
    laid_out = column(key, *values)
    assert [cell.text for cell in laid_out.cells] == written
    assert [cell.best for cell in laid_out.cells] == list(map(bool, marks))


def test_what_sees_the_truth_wins_nothing():
    metric = gs.metrics()["mean_jct_s"]
    values = [(1.0, True), (3.0, False), (2.0, False)]
    rows = [{"mean_jct_s": value, "clairvoyant": sees} for value, sees in values]
    (laid_out,) = columns(rows, [metric])
    assert [cell.best for cell in laid_out.cells] == [False, False, True]
    (laid_out,) = columns(rows[:2], [metric])
    assert not any(cell.best for cell in laid_out.cells)


def test_a_metric_that_is_undefined_everywhere_has_no_column():
    assert columns([{"mean_jct_s": math.nan}, {}], main_metrics()[:1]) == []


H = 3600


@pytest.fixture(scope="module")
def typed() -> gs.Result:
    """One A100, two V100. Jobs 0 and 1 wait for nothing, 2 and 3 for 1 h and 3 h; 4 never runs."""
    jobs = [
        job(0, 2 * H, 1, allowed=("A100",)),
        job(0, 4 * H, 2, allowed=("V100",)),
        job(1 * H, 1 * H, 1, allowed=("A100",)),
        job(1 * H, 1 * H, 2, allowed=("V100",)),
        job(2 * H, 1 * H, 9),
    ]
    return simulated(
        jobs,
        [(1, "A100"), (2, "V100")],
        user=["ann", "bob", "ann", "", "bob"],
        epoch=datetime(2024, 1, 31, 23),
    )


def rows(frame: pl.DataFrame, *columns: str) -> list[tuple[object, ...]]:
    return frame.select(*columns).rows()


@each(
    ("by", "groups"),
    [
        # Widths stand in their order, users and types by their GPU hours.
        ("gpus", [("1", 2, 3.0), ("2-8", 2, 10.0), ("9+", 1, 0.0)]),
        ("user", [("bob", 2, 8.0), ("ann", 2, 3.0), ("(not given)", 1, 2.0)]),
        ("type", [("V100", 2, 10.0), ("A100", 2, 3.0), ("(never ran)", 1, 0.0)]),
        ("month", [("2024-01", 2, 10.0), ("2024-02", 3, 3.0)]),
    ],
)
def test_groups_have_their_jobs_and_gpu_hours(typed, by, groups):
    assert rows(typed.by(by), by, "num_jobs", "gpu_hours") == groups


def test_waits_and_jcts_are_those_of_the_group(typed):
    found = typed.by("gpus")
    assert rows(found, "mean_wait_s", "p50_wait_s", "p99_wait_s", "mean_jct_s", "p95_jct_s") == [
        (0.5 * H, 0.0, 1 * H, 2 * H, 2 * H),
        (1.5 * H, 0.0, 3 * H, 4 * H, 4 * H),
        (None, None, None, None, None),
    ]


def test_a_job_on_two_types_is_a_group_of_its_own():
    found = simulated([job(0, H, 3)], [(1, "A100"), (2, "V100")]).by("type")
    assert rows(found, "type", "gpu_hours") == [("A100 + V100", 3.0)]


def test_without_a_calendar_months_are_of_thirty_days():
    day = 86_400
    found = simulated([job(0, 1), job(29 * day, 1), job(30 * day, 1), job(100 * day, 1)])
    assert rows(found.by("month"), "month", "num_jobs") == [
        ("days 0-29", 2), ("days 30-59", 1), ("days 90-119", 1),
    ]  # fmt: skip


def test_months_of_a_clock_with_an_offset_are_its_own_and_warn_of_nothing():
    epoch = datetime(2024, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    found = simulated([job(0, 1), job(1799, 1), job(1800, 1)], epoch=epoch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        months = found.by("month")
    assert rows(months, "month", "num_jobs") == [("2024-01", 2), ("2024-02", 1)]


def test_jobs_that_share_a_gpu_are_counted_by_their_share():
    trace = gs.Trace.from_columns([0, 0], [H, H], [1, 1], gpu_share=[0.25, float("nan")])
    result = gs.simulate(trace, gs.Cluster.uniform(1, 2), policy="fifo")
    assert rows(result.by("gpus"), "gpus", "gpu_hours") == [("below 1", 0.25), ("1", 1.0)]
    assert result.metric("gpu_hours") == 1.25


def test_percentiles_are_nearest_rank_as_in_the_summary():
    cluster = gs.Cluster.uniform(4, 4)
    jobs = gs.generate("philly", 500, load=1.1, cluster=cluster, seed=3)
    result = gs.simulate(jobs, cluster, policy="srtf")
    summary, all_jobs = result.summary(), result.to_polars()
    for row in result.by("queue").iter_rows(named=True):
        own = all_jobs.filter(pl.col("queue") == row["queue"])
        for name in ("wait", "jct"):
            ordered = np.sort(own[f"{name}_s"].to_numpy())
            assert row[f"mean_{name}_s"] == pytest.approx(ordered.mean())
            for percent in (50, 90, 95, 99):
                assert row[f"p{percent}_{name}_s"] == nearest_rank(ordered, percent)
    waits = np.sort(all_jobs["wait_s"].to_numpy())
    for percent in (50, 90, 95, 99):
        assert summary[f"p{percent}_wait_s"] == nearest_rank(waits, percent)
    for by in GROUPINGS.keys() - {"group"}:
        found = result.by(by)
        assert found["num_jobs"].sum() == 500
        assert found["gpu_hours"].sum() == pytest.approx(summary["gpu_hours"])


def test_gpu_hours_follow_the_log_where_run_times_depend_on_it():
    jobs = gs.generate("philly", 60, load=1, cluster=gs.Cluster.uniform(2, 4), seed=2)
    jobs = jobs.with_elasticity(min_gpus=1, max_gpus=8).with_deadlines(seed=1)
    jobs = jobs.with_profiles(gs.model.zoo(), seed=1)
    cluster = gs.Cluster.uniform(2, 4, nic_gbps=10, intra_gbps=100)
    result = gs.simulate(jobs, cluster, policy="srtf", speed="ring", contention="shared")
    rows = result.intervals
    held = np.bitwise_count(rows["mask"]) * (rows["end_us"] - rows["start_us"])
    assert result.metric("gpu_hours") == pytest.approx(held.sum() / 3.6e9)


@each(
    ("call", "error", "message"),
    [
        (lambda run: run.by("users"), ValueError, "by: unknown 'users'; did you mean 'user'"),
        (lambda run: run.by("queue"), ValueError, "the trace trace has no column queue"),
        (lambda run: run.by(3), TypeError, "by: expected text, not 3"),
        (lambda run: run.cost({"A100": 1}), ValueError, "prices: GPU type V100 has no price"),
        (
            lambda run: run.cost({"A100": 1, "V10": 1}), ValueError,
            "no GPU is of type 'V10'; did you mean 'V100'",
        ),
        (lambda run: run.cost({"A100": 1, "V100": -1}), ValueError, "V100: -1 must be finite"),
        (lambda run: run.cost(float("nan")), ValueError, "A100: nan must be finite"),
        (lambda run: run.cost("2"), TypeError, "A100: expected a number, not '2'"),
    ],
)  # fmt: skip
def test_what_cannot_be_broken_down_or_priced_is_named(typed, call, error, message):
    with pytest.raises(error, match=message):
        call(typed)


def test_what_was_held_and_what_there_was_is_priced(typed):
    # The last job ends at 5 h: 5 h of one A100 and of two V100.
    cost = typed.cost({"A100": 4, "V100": 2.5})
    assert (cost.held, cost.total) == (3 * 4 + 10 * 2.5, 5 * 4 + 10 * 2.5)
    assert rows(cost.to_polars(), "type", "held_gpu_hours", "all_gpu_hours", "held_cost") == [
        ("A100", 3.0, 5.0, 12.0), ("V100", 10.0, 10.0, 25.0),
    ]  # fmt: skip
    assert str(cost).startswith("jobs held 13 GPU hours at a cost of 37.00;")
    assert typed.cost(1).held == 13
    assert typed.cost({"A100": 4, "V100": 0}).held == 3 * 4


def test_a_pool_of_several_types_does_not_know_what_was_held():
    cluster = gs.Cluster((gs.ServerGroup(1, 2, "A100"), gs.ServerGroup(1, 2, "V100")))
    jobs = gs.Trace.from_columns([0, 0], [H, H], [1, 3])
    pool = gs.simulate(jobs, cluster, placement="count")
    assert rows(pool.by("type"), "type", "gpu_hours") == [("any type", 4.0)]
    alike = gs.simulate(pool.trace, gs.Cluster.uniform(2, 4, "A100"), placement="count")
    assert rows(alike.by("type"), "type", "gpu_hours") == [("A100", 4.0)]
    with pytest.raises(ValueError, match="log of one pool does not say which of A100, V100"):
        pool.cost(1)


TYPES = gs.Cluster((gs.ServerGroup(1, 4, "V100"), gs.ServerGroup(1, 4, "K80")))
PROFILE = gs.model.JobProfile(
    "model", throughput={"V100": {1: 4, 2: 6, 4: 8}, "K80": {1: 1, 2: 1.5, 4: 2}}
)


def jobs(num_jobs: int = 4, **columns: object) -> gs.Trace:
    """Gangs of two on the hour, ten minutes each on V100."""
    return gs.Trace.from_columns(
        submit_s=[0] * num_jobs, service_s=[600] * num_jobs, gpus=[2] * num_jobs,
        profiles=[PROFILE], profile=[0] * num_jobs, **columns,
    )  # fmt: skip


class Widen(gs.Scheduler):
    """One job at a time, half its time on two GPUs and then on all of its type."""

    def decide(self, state, finished, arrived, actions):
        active = sorted({*state.waiting.tolist(), *state.running.tolist()})
        if not active:
            return
        first = active[0]
        is_wide = bool(state.parts_of(first)) or len(active) == 1
        actions.reallocate([(first, [(0, 4 if is_wide else 2)])])
        if not is_wide:
            actions.wake(state.now_us + 300_000_000)


@pytest.fixture(scope="module")
def widened() -> Result:
    trace = jobs(2, deadline_s=[525, float("nan")])
    return gs.simulate(trace, TYPES, policy=Widen(), placement="first-fit", speed="table")


def test_a_resize_shows_in_every_table(widened):
    # 300 s at rate 1, 300 s of service left at 8 / 6; then 600 s at 8 / 6.
    assert widened.jobs.finish_s.tolist() == [525.0, 975.0]
    assert widened.jobs.resizes.tolist() == [1, 0]
    assert widened.events.kind.tolist() == [
        "arrival", "arrival", "start", "resize", "finish", "start", "finish",
    ]  # fmt: skip
    assert widened.series.allocated_gpus.tolist() == [2, 4, 4, 0]
    assert widened.series.queue_jobs.tolist() == [1, 1, 0, 0]
    summary = widened.summary()
    assert summary["resizes"] == 1
    assert summary["allocation"] == pytest.approx((2 * 300 + 4 * 675) / (8 * 975))
    assert widened.audit().ok


def test_deadlines_met_are_counted_over_those_that_have_one(widened):
    summary = widened.summary()
    assert (summary["num_deadlines"], summary["deadlines_met"], summary["dsr"]) == (1, 1, 1.0)
    assert summary["tardiness_s"] == 0.0


def test_missed_and_rejected_deadlines_count_against_the_policy():
    trace = gs.Trace.from_columns(
        [0, 0, 0], [10, 10, 10], [1, 1, 9], deadline_s=[10, 15, 20], value=[1, 2, 5]
    )
    summary = gs.simulate(trace, gs.Cluster.uniform(1, 1)).summary()
    assert summary["dsr"] == pytest.approx(1 / 3)
    assert summary["value_met"] == pytest.approx(1 / 8)
    assert summary["tardiness_s"] == 5.0
    assert "num_admitted" not in summary


def test_the_summary_says_how_many_deadlines_could_be_met():
    trace = gs.Trace.from_columns([0, 0, 0], [8, 1, 4], [1, 1, 1], deadline_s=[20, 3, 2])
    late, best = (
        gs.simulate(trace, gs.Cluster.uniform(1, 1), policy=policy).summary()
        for policy in ("fifo", "sjf")
    )
    for summary in (late, best):
        assert summary["dsr_bound"] == pytest.approx(2 / 3)
        assert summary["dsr_bound_name"] == "alone"
    assert (late["deadlines_met"], late["dsr_gap"]) == (1, 1.0)
    assert (best["deadlines_met"], best["dsr_gap"]) == (2, 0.0)


def test_a_gap_without_deadlines_or_without_one_met_is_undefined():
    for deadline_s, bound in (([float("nan")], float("nan")), ([1.0], 0.0)):
        trace = gs.Trace.from_columns([0], [5], [1], deadline_s=deadline_s)
        summary = gs.simulate(trace, gs.Cluster.uniform(1, 1)).summary()
        assert summary["dsr_bound"] == pytest.approx(bound, nan_ok=True)
        assert np.isnan(summary["dsr_gap"])


def test_a_policy_with_admission_tells_how_many_it_took_and_let_down():
    trace = jobs(6, deadline_s=[700] * 6, min_gpus=[2] * 6, max_gpus=[2] * 6)
    result = gs.simulate(trace, TYPES, policy="dancer", placement="buddy", speed="table")
    summary = result.summary()
    assert 0 < summary["num_admitted"] < 6
    assert summary["broken_promises"] == 0
    assert summary["deadlines_met"] >= summary["num_admitted"]


def test_bounds_hold_where_jobs_may_run_wider_than_they_ask(widened):
    lower = gs.bounds.lower_bounds(widened.trace, TYPES)
    assert float(lower.best[1]) / 1e6 == 1200.0  # at their own widths
    summary = widened.summary()
    # 8 / 6 times as fast on four GPUs; one GPU does 4 / 6 of it, on half of the GPU time.
    assert summary["lower_bound_mean_jct_s"] == pytest.approx(450.0, abs=2e-6)
    assert summary["gap"] == pytest.approx(750 / 450 - 1, rel=1e-8)


def test_shares_count_as_what_they_hold():
    trace = gs.Trace.from_columns([0] * 4, [100] * 4, [1] * 4, gpu_share=[0.25] * 4)
    summary = gs.simulate(trace, gs.Cluster.uniform(1, 1), placement="best-fit").summary()
    assert summary["mean_jct_s"] == 100.0
    assert summary["allocation"] == pytest.approx(1.0)
    assert summary["gap"] == pytest.approx(0.0)


def test_a_job_is_explained_in_sentences(widened):
    assert str(widened.explain(0)).splitlines() == [
        "Job 0 (id 0) was submitted at 00:00:00: 2 GPUs, run time 10 min.",
        "Ran from 00:00:00 for 5 min on 2 V100 of server 0.",
        "Ran from 00:05:00 for 3.75 min on 4 V100 of server 0.",
        "Finished at 00:08:45, 8.75 min after submission (1 resize).",
        "Met its deadline, at 00:08:45, exactly.",
    ]
    assert widened.explain(job=1).lines[1] == "Waited for 8.75 min."
    with pytest.raises(IndexError, match="2 is not one of the 2 jobs"):
        widened.explain(2)
    with pytest.raises(TypeError, match="expected an integer, or the id as a text"):
        widened.explain(0.0)


def test_a_job_that_was_turned_down_is_told_the_price():
    trace = jobs(6, deadline_s=[700] * 6, min_gpus=[2] * 6, max_gpus=[2] * 6)
    result = gs.simulate(trace, TYPES, policy="dancer", placement="buddy", speed="table")
    decisions = result.schedule.decisions()
    turned_down = decisions["job"][np.asarray(decisions["admitted"]) == 0]
    story = str(result.explain(int(turned_down[-1])))
    assert "Not admitted at 00:00:00: " in story
    assert "V100s are" in story


def test_a_rejected_job_says_why():
    result = gs.simulate(gs.Trace.from_columns([0], [1], [9]), gs.Cluster.uniform(1, 8))
    assert result.explain(0).lines[1] == "Rejected: needs more GPUs than the cluster has."


def test_decisions_and_resizes_are_saved(tmp_path, widened):
    widened.save(tmp_path / "widened.npz")
    assert gs.load_result(tmp_path / "widened.npz").jobs.resizes.tolist() == [1, 0]
    trace = jobs(6, deadline_s=[700] * 6)
    result = gs.simulate(trace, TYPES, policy="dancer", placement="buddy", speed="table")
    result.save(tmp_path / "dancer.npz")
    loaded = gs.load_result(tmp_path / "dancer.npz")
    for column, values in result.schedule.decisions().items():
        assert list(loaded.schedule.decisions()[column]) == list(values), column
    assert str(loaded.explain(3)) == str(result.explain(3))
