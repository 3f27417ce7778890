"""A run ends where its log passes the limit that it was given, and keeps what was done."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import gpusched as gs

CLUSTER = gs.Cluster.uniform(4, 8)
TRACE = gs.generate("philly", 300, load=0.9, cluster=CLUSTER, seed=3)


def num_intervals(result: gs.Result) -> int:
    """How often a job held GPUs, on one server or several."""
    table = result.schedule.intervals()
    return len({*zip(table["job"].tolist(), table["start_us"].tolist(), strict=True)})


def limited(most: int | None, **options: Any) -> gs.Result:
    return gs.simulate(TRACE, CLUSTER, policy="srtf", max_intervals=most, **options)


@pytest.mark.parametrize("placement", ["spread", "count"])
def test_a_run_may_have_as_many_intervals_as_its_limit_and_no_more(placement):
    free = limited(None, placement=placement)
    rows = num_intervals(free)
    assert limited(rows, placement=placement).digest == free.digest
    assert limited(rows, placement=placement).spec == free.spec
    with pytest.raises(gs.LogLimitError, match=f"max_intervals is {rows - 1};"):
        limited(rows - 1, placement=placement)


def test_the_error_names_the_time_the_job_and_both_numbers_and_has_what_was_done():
    with pytest.raises(gs.LogLimitError) as caught:
        limited(100)
    result = caught.value.result  # type: ignore[attr-defined]
    rows = result.schedule.intervals()
    end_us = int(result.schedule.finish_us.max())
    last = int(rows["end_us"].max())
    assert f"at {last} us: the log has " in str(caught.value)
    assert "of job " in str(caught.value)
    assert "max_intervals is 100" in str(caught.value)
    assert result.is_partial
    assert end_us <= last
    assert 100 < num_intervals(result) <= 100 + 2 * CLUSTER.num_gpus
    done = result.schedule.status == 0
    free = limited(None).schedule
    assert 0 < done.sum() < len(TRACE)
    assert np.array_equal(result.schedule.finish_us[done], free.finish_us[done])


def test_a_run_in_steps_ends_at_the_same_instant_and_tells_what_was_done():
    with pytest.raises(gs.LogLimitError) as whole:
        limited(100)
    run = gs.Simulation(TRACE, CLUSTER, policy="srtf", max_intervals=100)
    with pytest.raises(gs.LogLimitError) as stepped:
        all(iter(run.step, False))
    assert str(stepped.value) == str(whole.value)
    result = whole.value.result  # type: ignore[attr-defined]
    assert run.result().digest == result.digest


def test_forks_saved_runs_and_other_policies_keep_the_limit(tmp_path):
    run = gs.Simulation(TRACE, CLUSTER, policy="srtf", max_intervals=100)
    run.run_until(3600)
    run.save(tmp_path / "run.npz")
    other = run.fork()
    other.set(policy="fifo")
    for again in (run.fork(), gs.resume(tmp_path / "run.npz"), other):
        with pytest.raises(gs.LogLimitError, match="max_intervals is 100"):
            again.run()


def test_a_policy_of_python_and_a_predictor_that_learns_are_limited_too():
    class First(gs.Order):
        preemptive = True

        def rank(self, view: Any, jobs: Any) -> Any:
            return jobs.astype(float)

    with pytest.raises(gs.LogLimitError):
        gs.simulate(TRACE, CLUSTER, policy=First(), max_intervals=50)
    with pytest.raises(gs.LogLimitError) as caught:
        gs.simulate(TRACE, CLUSTER, policy="sjf", predictor="last-value", max_intervals=50)
    assert caught.value.result.is_partial  # type: ignore[attr-defined]


def test_a_comparison_keeps_the_runs_that_stay_below():
    with pytest.raises(gs.LogLimitError) as caught:
        gs.compare(TRACE, CLUSTER, ["fifo", "las"], placement="count", max_intervals=310)
    assert list(caught.value.comparison.results) == ["fifo"]  # type: ignore[attr-defined]


def test_a_study_tells_of_runs_beyond_its_limit_and_does_them_when_it_is_raised(tmp_path):
    study = {
        "name": "limited", "policies": ["fifo", "las"], "placements": ["count"],
        "traces": [{"generate": "philly", "jobs": 300, "loads": [0.9]}],
        "clusters": [{"servers": 4, "gpus": 8}],
    }  # fmt: skip
    first = gs.sweep(study | {"max_intervals": 310}, folder=tmp_path / "out")
    assert first.num_failed == 1
    assert "LogLimitError" in first.runs["error"].drop_nulls()[0]
    free = gs.sweep(study)
    assert free.num_failed == 0
    assert free.runs["run"].to_list() == first.runs["run"].to_list()
    with pytest.raises(ValueError, match="max_intervals: 0 must be at least 1"):
        gs.Study.of(study | {"max_intervals": 0})


@pytest.mark.parametrize("wrong", [0, -1, 2**62 + 1])
def test_a_limit_is_at_least_one_interval(wrong):
    with pytest.raises(ValueError, match="max_intervals: "):
        limited(wrong)


@pytest.mark.parametrize("wrong", [True, 1.5, "9"])
def test_a_limit_is_an_integer(wrong):
    with pytest.raises(TypeError, match=r"max_intervals: .* must be an integer"):
        limited(wrong)


def test_the_error_can_travel_to_another_process():
    with pytest.raises(gs.LogLimitError) as caught:
        limited(100)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.result.digest == caught.value.result.digest  # type: ignore[attr-defined]
