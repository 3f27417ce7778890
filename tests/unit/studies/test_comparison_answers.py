"""Who lost and who won by a change of policy, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.schedules.schedule import UNFINISHED, StoredSchedule
from gpusched.studies.comparison import Comparison

ONE = gs.Cluster.uniform(1, 1)


@pytest.fixture(scope="module")
def swapped() -> Comparison:
    """One GPU. Under fifo a, b, c end at 10, 16, 18; under sjf a, c, b at 10, 12, 18."""
    jobs = gs.Trace.from_columns(
        [0, 1, 2], [10, 6, 2], [1, 1, 1], id=["a", "b", "c"], user=["ann", "bob", "bob"]
    )
    return gs.compare(jobs, ONE, ["fifo", "sjf"])


def test_losers_end_later_and_winners_earlier(swapped):
    lost, won = swapped.losers(), swapped.winners()
    assert lost.columns == [
        "job", "id", "user", "gpus", "submit_s", "service_s", "baseline_status", "baseline_wait_s",
        "baseline_jct_s", "policy_status", "policy_wait_s", "policy_jct_s", "lost_s",
    ]  # fmt: skip
    shown = ("job", "id", "baseline_wait_s", "policy_wait_s", "baseline_jct_s", "policy_jct_s")
    assert lost.select(*shown, "lost_s").rows() == [(1, "b", 9, 11, 15, 17, 2)]
    assert won.select(*shown, "won_s").rows() == [(2, "c", 14, 8, 16, 10, 6)]


def test_the_other_direction_swaps_them(swapped):
    assert swapped.losers("fifo")["id"].to_list() == ["c"]
    assert swapped.winners("fifo", baseline="sjf")["id"].to_list() == ["b"]


def test_groups_are_told_what_they_lost_in_all(swapped):
    lost = swapped.losers(by="user")
    assert lost.rows() == [("bob", 2, 1, 1, 2, -2, 11.5, 9.5), ("ann", 1, 0, 0, 0, 0, 0, 0)]
    assert lost.columns == [
        "user", "num_jobs", "num_worse", "num_better", "lost_s", "mean_change_s",
        "baseline_mean_wait_s", "policy_mean_wait_s",
    ]  # fmt: skip
    won = swapped.winners(by="user", limit=1)
    assert won.rows() == [("bob", 2, 1, 1, 6, -2, 11.5, 9.5)]


def test_a_job_that_no_longer_finishes_has_lost_the_most(swapped):
    fifo, sjf = swapped.results.values()
    of = StoredSchedule.of(sjf.schedule)
    status = of.status.copy()
    status[0] = UNFINISHED
    cut = gs.Result(sjf.trace, sjf.cluster, sjf.spec, replace(of, status=status), 1.0)
    made = Comparison(swapped.trace, ONE, {"fifo": fifo, "sjf": cut})
    assert made.losers().select("id", "policy_status", "lost_s").rows() == [
        ("a", "unfinished", None), ("b", "finished", 2.0),
    ]  # fmt: skip
    assert made.winners("fifo").select("id", "won_s").rows() == [("a", None), ("b", 2.0)]
    assert made.losers(by="user").select("user", "num_jobs", "num_worse", "lost_s").rows() == [
        ("bob", 2, 1, 2.0), ("ann", 1, 1, 0.0),
    ]  # fmt: skip


def test_all_jobs_are_accounted_for():
    cluster = gs.Cluster.uniform(4, 8)
    jobs = gs.generate("philly", 400, load=1.1, cluster=cluster, seed=3)
    made = gs.compare(jobs, cluster, ["fifo", "srtf"])
    lost, won = made.losers("srtf", limit=None), made.winners("srtf", limit=None)
    before, after = made.results["fifo"].jobs.jct_s, made.results["srtf"].jobs.jct_s
    assert sorted([*lost["job"], *won["job"]]) == np.flatnonzero(before != after).tolist()
    assert lost["lost_s"].is_sorted(descending=True)
    assert lost["lost_s"].sum() - won["won_s"].sum() == pytest.approx((after - before).sum())
    assert len(made.losers("srtf", limit=3)) == 3
    groups = made.losers("srtf", by="gpus")
    assert groups["num_worse"].sum() == len(lost)
    assert groups["num_better"].sum() == len(won)
    assert groups["lost_s"].sum() == pytest.approx(lost["lost_s"].sum())
    assert made.winners("srtf", by="queue")["won_s"].sum() == pytest.approx(won["won_s"].sum())


def test_every_policy_is_broken_down(swapped):
    found = swapped.by("user")
    assert found.columns[:3] == ["policy", "user", "num_jobs"]
    for label, result in swapped.results.items():
        own = found.filter(pl.col("policy") == label).drop("policy")
        assert own.equals(result.by("user"))


def test_what_is_wrong_is_named():
    jobs = gs.Trace.from_columns([0], [1], [1])
    made = gs.compare(jobs, ONE, ["fifo", "srtf", "easy"])
    with pytest.raises(ValueError, match="policy: 'srft' is not compared; did you mean 'srtf'"):
        made.losers("srft")
    with pytest.raises(ValueError, match="baseline: 'sjf' is not compared"):
        made.losers("srtf", baseline="sjf")
    with pytest.raises(ValueError, match="policy: name one of srtf, easy"):
        made.losers()
    with pytest.raises(ValueError, match="policy: fifo is the baseline itself"):
        made.losers("fifo", baseline="fifo")
    with pytest.raises(ValueError, match="by: unknown 'users'"):
        made.losers("srtf", by="users")
    with pytest.raises(TypeError, match="limit"):
        made.losers("srtf", limit=2.5)
    with pytest.raises(ValueError, match="policy: name one of two or more"):
        made.select(["fifo"]).losers()
