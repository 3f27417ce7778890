"""What results say of deadlines, admission, widths that change, and of one job."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched.results.result import Result

TYPES = gs.Cluster((gs.ServerGroup(1, 4, "V100"), gs.ServerGroup(1, 4, "K80")))
PROFILE = gs.model.JobProfile(
    "model", throughput={"V100": {1: 4, 2: 6, 4: 8}, "K80": {1: 1, 2: 1.5, 4: 2}}
)


def jobs(num_jobs: int = 4, **columns: object) -> gs.Trace:
    """Gangs of two on the hour, ten minutes each on V100."""
    return gs.Trace.from_columns(
        submit_s=[0] * num_jobs,
        service_s=[600] * num_jobs,
        gpus=[2] * num_jobs,
        profiles=[PROFILE],
        profile=[0] * num_jobs,
        **columns,
    )


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
        "Job 0 (id 0) came at 00:00:00: 2 GPUs, 10.0 min of service.",
        "Ran from 00:00:00 for 5.00 min on 2 V100 of server 0.",
        "Ran from 00:05:00 for 3.75 min on 4 V100 of server 0.",
        "Finished at 00:08:45, 8.75 min after it came (1 resize).",
        "Met its deadline, at 00:08:45, to the instant.",
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
    trace = gs.Trace.from_columns([0], [1], [9])
    result = gs.simulate(trace, gs.Cluster.uniform(1, 8))
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
