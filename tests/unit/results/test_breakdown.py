"""Jobs broken down by what they are, and what their GPUs cost, worked by hand."""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta, timezone

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.results.breakdown import GROUPINGS
from gpusched.traces.trace_facts import nearest_rank
from tests.unit.small_runs import job, simulated

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


def test_widths_stand_in_their_order(typed):
    assert rows(typed.by("gpus"), "gpus", "num_jobs", "num_finished", "gpu_hours") == [
        ("1", 2, 2, 3.0), ("2-8", 2, 2, 10.0), ("9+", 1, 0, 0.0),
    ]  # fmt: skip


def test_waits_and_jcts_are_those_of_the_group(typed):
    found = typed.by("gpus")
    assert rows(found, "mean_wait_s", "p50_wait_s", "p99_wait_s", "mean_jct_s", "p95_jct_s") == [
        (0.5 * H, 0.0, 1 * H, 2 * H, 2 * H),
        (1.5 * H, 0.0, 3 * H, 4 * H, 4 * H),
        (None, None, None, None, None),
    ]


def test_users_stand_by_their_gpu_hours_and_the_unnamed_are_said(typed):
    assert rows(typed.by("user"), "user", "num_jobs", "gpu_hours") == [
        ("bob", 2, 8.0), ("ann", 2, 3.0), ("(not given)", 1, 2.0),
    ]  # fmt: skip


def test_types_are_those_that_a_job_held(typed):
    assert rows(typed.by("type"), "type", "num_jobs", "gpu_hours") == [
        ("V100", 2, 10.0), ("A100", 2, 3.0), ("(never ran)", 1, 0.0),
    ]  # fmt: skip


def test_a_job_on_two_types_is_a_group_of_its_own():
    found = simulated([job(0, H, 3)], [(1, "A100"), (2, "V100")]).by("type")
    assert rows(found, "type", "gpu_hours") == [("A100 + V100", 3.0)]


def test_months_are_those_of_the_calendar_or_of_thirty_days(typed):
    assert rows(typed.by("month"), "month", "num_jobs") == [("2024-01", 2), ("2024-02", 3)]
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


def test_what_cannot_be_broken_down_is_named(typed):
    with pytest.raises(ValueError, match="by: unknown 'users'; did you mean 'user'"):
        typed.by("users")
    with pytest.raises(ValueError, match="the trace trace has no column queue"):
        typed.by("queue")
    with pytest.raises(TypeError, match="by: expected text, not 3"):
        typed.by(3)


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


@pytest.mark.parametrize(
    ("prices", "error", "message"),
    [
        ({"A100": 1}, ValueError, "prices: GPU type V100 has none"),
        ({"A100": 1, "V10": 1}, ValueError, "no GPU is of type 'V10'; did you mean 'V100'"),
        ({"A100": 1, "V100": -1}, ValueError, "V100: -1 must be finite and not negative"),
        (float("nan"), ValueError, "A100: nan must be finite"),
        ("2", TypeError, "A100: expected a number, not '2'"),
    ],
)
def test_wrong_prices_are_named(typed, prices, error, message):
    with pytest.raises(error, match=message):
        typed.cost(prices)


def test_a_pool_of_several_types_does_not_know_what_was_held():
    cluster = gs.Cluster((gs.ServerGroup(1, 2, "A100"), gs.ServerGroup(1, 2, "V100")))
    jobs = gs.Trace.from_columns([0, 0], [H, H], [1, 3])
    pool = gs.simulate(jobs, cluster, placement="count")
    assert rows(pool.by("type"), "type", "gpu_hours") == [("any type", 4.0)]
    alike = gs.simulate(pool.trace, gs.Cluster.uniform(2, 4, "A100"), placement="count")
    assert rows(alike.by("type"), "type", "gpu_hours") == [("A100", 4.0)]
    with pytest.raises(ValueError, match="log of one pool does not tell which of A100, V100"):
        pool.cost(1)
