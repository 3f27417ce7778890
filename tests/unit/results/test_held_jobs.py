"""What comes out of runs with held and cancelled jobs, by hand."""

from __future__ import annotations

import dataclasses
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base import container
from gpusched.reporting.charts.highlights import comparison_of
from gpusched.reporting.report import render_report
from gpusched.results.result_store import KIND
from gpusched.results.run_remarks import unserved
from gpusched.schedules.schedule import CANCELLED, FINISHED, NEVER, StoredSchedule
from gpusched.studies.comparison import comparison_table
from tests.examples import examples
from tests.unit.held_runs import NODE, NONE, a_chain_of_cancellations, each_hold, held
from tests.unit.small_runs import job, simulated


@pytest.fixture(scope="module")
def each():
    return each_hold()


@pytest.fixture(scope="module")
def chain():
    return a_chain_of_cancellations()


def test_the_core_runs_them_as_they_are_written_down(each, chain):
    for written, options in ((each, {}), (chain, {"kill_invalid_depend": True})):
        with pytest.warns(gs.RunWarning):
            found = gs.simulate(
                written.trace, NODE, policy="fifo-skip", placement="first-fit", **options
            )
        assert found.digest == written.digest
        assert found.to_polars().equals(written.to_polars())
        assert found.events.to_polars().equals(written.events.to_polars())
        assert found.series.to_polars().equals(written.series.to_polars())
        assert found.summary()["mean_hold_s"] == written.summary()["mean_hold_s"]
        for row in range(len(written.trace)):
            assert found.explain(row).lines == written.explain(row).lines


def test_the_metrics_of_holds(each):
    summary = each.summary()
    assert (summary["num_never"], summary["num_cancelled"], summary["num_unfinished"]) == (1, 3, 5)
    # Of a, c, d, e, f, g, h and j, which joined the queue.
    assert summary["mean_hold_s"] == (0 + 10 + 5 + 0 + 4 + 0 + 0 + 70) / 8
    assert summary["mean_wait_s"] == (10 + 5 + 4 + 70) / 6


def test_a_part_of_a_run_counts_the_jobs_submitted_in_it():
    trace = gs.Trace.from_columns([0, 4], [1, 1], [1, 1], eligible_s=[9, 5])
    runs = [[(9, 10, {0: 1})], [(5, 6, {0: 1})]]
    result = held(trace, runs, [9, 5], [FINISHED] * 2)
    assert result.summary()["mean_hold_s"] == 5
    assert result.summary(warm_up_s=1)["mean_hold_s"] == 1
    assert result.metric("num_never", warm_up_s=1) == 0


def test_a_run_in_which_no_job_joined_the_queue_has_no_mean():
    trace = gs.Trace.from_columns([0], [1], [1], eligible_s=[math.inf])
    result = held(trace, [[]], [-1], [2])
    assert math.isnan(result.summary()["mean_hold_s"])
    assert len(result.series) == 0
    assert result.explain(0).lines[1:] == (
        "Held for good: it has no eligible time.",
        "It never ran.",
        "It had not finished when the run ended.",
    )


def test_a_run_without_holds_has_none_of_their_metrics():
    result = simulated([job(0, 10, 4), job(0, 10, 4)], [(4, "V100")], "fifo")
    assert not {"num_never", "mean_hold_s"} & set(result.summary())
    assert "eligible_s" not in result.jobs.columns
    assert result.jobs.eligible_s.tolist() == []
    with pytest.raises(ValueError, match="only where jobs can be held or have a cancel time"):
        result.metric("mean_hold_s")


def test_the_column_of_jobs(each):
    assert each.jobs.columns[-2:] == ("reason", "eligible_s")
    since = [0, None, 10, 5, 0, 4, 0, 0, None, 70, None]
    assert each.to_polars()["eligible_s"].to_list() == since
    assert np.isnan(each.jobs["eligible_s"]).tolist() == [value is None for value in since]


def test_a_file_and_a_pickle_keep_the_column(each, tmp_path):
    each.save(tmp_path / "a.npz")
    loaded = gs.load_result(tmp_path / "a.npz")
    assert loaded.summary() == each.summary()
    assert loaded.schedule.eligible_us.tolist() == each.schedule.eligible_us.tolist()
    assert loaded.events.kind.tolist() == each.events.kind.tolist()
    assert loaded.explain("b").lines == each.explain("b").lines
    again = pickle.loads(pickle.dumps(each))
    assert again.jobs.eligible_s.tolist() == pytest.approx(each.jobs.eligible_s, nan_ok=True)


def test_older_files_and_pickles_lack_the_column(tmp_path):
    plain = simulated([job(0, 1)])
    plain.save(tmp_path / "b.npz")
    _, arrays = container.read(tmp_path / "b.npz", KIND)
    assert "schedule.eligible_us" not in arrays
    assert gs.load_result(tmp_path / "b.npz").schedule.eligible_us.tolist() == []
    state = {name: value for name, value in vars(plain.schedule).items() if name != "eligible_us"}
    older = StoredSchedule.__new__(StoredSchedule)
    older.__setstate__(state)
    assert older.eligible_us.tolist() == []
    assert older.eligible_us.dtype == np.int64


def test_what_is_left_out_is_named(each):
    assert unserved(each) == [
        "2 jobs unfinished, left out of the job metrics",
        "3 jobs cancelled, left out of the job metrics",
    ]


def test_the_table_and_the_report_show_holds_only_where_there_are_some(each):
    trace = gs.Trace.from_columns([0], [1], [1], cancel_at_s=[9])
    unused = held(trace, [[(0, 1, {0: 1})]], [0], [FINISHED])
    assert unused.summary()["mean_hold_s"] == 0
    for result, is_there in ((each, True), (unused, False), (simulated([job(0, 9)]), False)):
        text = str(comparison_table(comparison_of(result)))
        page = render_report(result)
        assert ("never" in text) == ("mean hold" in page) == is_there


WHY = {
    "b": "Held: its dependencies can never be met, as it waits for the success of job 0 (id a), "
    "which ended with an error.",
    "c": "Held for 10 s, until 00:00:10: it waited for the end of job 0 (id a).",
    "d": "Held for 5 s, until 00:00:05, its eligible time.",
    "f": "Held for 4 s, until 00:00:04: only 1 task of array x may be queued or running.",
    "i": "Held for good: it has no eligible time.",
    "j": "Held for 1.17 min, until 00:01:10: it waited for 1 min after the start of job 2 (id c).",
    "k": "Held: it waited for the failure of job 0 (id a).",
}


@pytest.mark.parametrize("name", "abcdefghijk")
def test_a_story_names_what_held_the_job(each, name):
    held_lines = [line for line in each.explain(name).lines if line.startswith("Held")]
    assert held_lines == ([WHY[name]] if name in WHY else [])


def test_a_cancelled_job_tells_when(each):
    waited = each.explain("g")
    assert waited.lines[1:3] == (
        "It never ran.",
        "  At submission, 1 of the 4 GPUs that it may use were free; 3 jobs held 3.",
    )
    assert waited.lines[-1] == "It was cancelled at 00:00:07."
    assert [wait.length_us for wait in waited.waits] == [7_000_000]
    assert each.explain("h").lines[1:] == (
        "Ran from 00:00:00 for 3 s on 1 gpu of server 0.",
        "It was cancelled at 00:00:03.",
    )
    assert each.explain("k").lines[2:] == ("It never ran.", "It was cancelled at 00:00:02.")


def test_a_cancelled_job_that_had_run_before_tells_its_last_wait():
    trace = gs.Trace.from_columns([0], [9], [4], cancel_at_s=[8])
    result = held(trace, [[(0, 5, {0: 0b1111})]], [0], [3])
    lines = result.explain(0).lines
    assert lines[2:4] == (
        "Waited for 3 s.", "  When it lost its GPUs, all 4 GPUs that it may use were free.",
    )  # fmt: skip
    assert lines[-1] == "It was cancelled at 00:00:08."
    assert result.events.kind.tolist() == ["arrival", "start", "preempt", "cancel"]


def test_a_wait_begins_when_the_job_is_released():
    trace = gs.Trace.from_columns([0, 0], [20, 1], [4, 4], eligible_s=[NONE, 5])
    runs = [[(0, 20, {0: 0b1111})], [(20, 21, {0: 0b1111})]]
    story = held(trace, runs, [0, 5], [FINISHED] * 2).explain(1)
    assert (story.waits[0].begin_us, story.waits[0].length_us) == (5_000_000, 15_000_000)
    assert story.lines[2:4] == (
        "Waited for 15 s.",
        "  When it was released, 0 of the 4 GPUs that it may use were free; 1 job held 4.",
    )


def test_jobs_whose_dependencies_are_impossible_are_cancelled_at_that_time(chain):
    told = ("It never ran.", "It was cancelled at 00:00:10, as its dependencies can never be met.")
    for name in "bdeg":
        assert chain.explain(name).lines[-2:] == told
    assert (
        chain.explain("d")
        .lines[1]
        .endswith("as it waits for the success of job 1 (id b), which was cancelled.")
    )
    assert chain.explain("f").lines[1].startswith("Held for 10 s, until 00:00:10: it waited for")
    assert chain.summary()["num_never"] == 4


def test_a_cancellation_follows_the_arrival_if_its_cause_is_older():
    trace = gs.Trace.from_columns(
        [0, 5], [2, 1], [1, 1], status=["killed", "ok"], dependency=["", "afterok:0"]
    )
    runs = [[(0, 2, {0: 1})], []]
    result = held(trace, runs, [0, -2], [FINISHED, 3], kills=True)
    frame = result.events.to_polars()["time_s", "kind"].rows()
    assert frame[-2:] == [(5, "arrival"), (5, "cancel")]


def test_a_story_names_the_last_or_the_first_of_several_dependencies():
    trace = gs.Trace.from_columns(
        [0] * 4, [2, 4, 1, 1], [1] * 4, dependency=["", "", "afterany:0:1", "afterany:0?afterany:1"]
    )
    runs = [[(0, 2, {0: 1})], [(0, 4, {0: 2})], [(4, 5, {0: 1})], [(2, 3, {0: 1})]]
    result = held(trace, runs, [0, 0, 4, 2], [FINISHED] * 4)
    assert result.explain(2).lines[1] == (
        "Held for 4 s, until 00:00:04: it waited for the end of job 1, the last of its 2 "
        "dependencies."
    )
    assert result.explain(3).lines[1] == (
        "Held for 2 s, until 00:00:02: it waited for the end of job 0, the first of its 2 "
        "dependencies."
    )


def test_a_job_that_was_cancelled_before_its_eligible_time_names_it():
    trace = gs.Trace.from_columns([0], [1], [1], eligible_s=[9], cancel_at_s=[4])
    lines = held(trace, [[]], [-1], [3]).explain(0).lines
    assert lines[1:] == (
        "Held: its eligible time is 00:00:09.", "It never ran.", "It was cancelled at 00:00:04.",
    )  # fmt: skip


def test_a_job_that_a_stopped_run_did_not_reach_was_not_held():
    trace = gs.Trace.from_columns(
        [0, 1, 9], [8, 1, 1], [4, 1, 1], dependency=["", "afterany:0", "afterany:0"]
    )
    run = gs.Simulation(trace, NODE, policy="fifo")
    run.run_until(5)
    story = run.result().explain(1)
    assert story.lines[1] == "Held: it waited for the end of job 0."
    assert run.result().explain(2).lines[1] == "It never ran."


def test_a_schedule_copied_from_another_keeps_the_column(each):
    assert StoredSchedule.of(each.schedule).eligible_us is not None
    copied = StoredSchedule.of(each.schedule)
    assert copied.eligible_us.tolist() == each.schedule.eligible_us.tolist()
    assert dataclasses.replace(copied).eligible_us.tolist() == copied.eligible_us.tolist()


# Tiny ranges: holds that end together, and cancellations of jobs in each state.
one_job = st.tuples(
    st.integers(0, 6), st.integers(1, 5), st.integers(1, 4),
    st.none() | st.integers(0, 12) | st.just(math.inf), st.none() | st.integers(1, 12),
    st.sampled_from(["ok", "failed"]), st.sampled_from(["", "", "x", "y"]),
    st.lists(st.tuples(st.sampled_from(["after", "afterany", "afterok", "afternotok"]),
                       st.integers(0, 99)), max_size=2),
    st.sampled_from(",?"),
)  # fmt: skip
LIMITS = {"": NONE, "x": 1, "y": 2}


def drawn(jobs):
    """The jobs as a trace; each depends on earlier ones, so that there are no circles."""
    submit, service, gpus, hold, cancel, status, array, needs, join = zip(
        *sorted(jobs, key=lambda each: each[0]), strict=True
    )
    return gs.Trace.from_columns(
        list(submit), list(service), list(gpus), status=list(status), array=list(array),
        array_limit=[LIMITS[name] for name in array],
        eligible_s=[NONE if h is None else s + h for s, h in zip(submit, hold, strict=True)],
        cancel_at_s=[NONE if c is None else s + c for s, c in zip(submit, cancel, strict=True)],
        dependency=[
            by.join(f"{kind}:{target % at}" for kind, target in of) if at else ""
            for at, (of, by) in enumerate(zip(needs, join, strict=True))
        ],
    )  # fmt: skip


@given(
    st.lists(one_job, min_size=1, max_size=7), st.sampled_from(["fifo", "fifo-skip", "srtf"]),
    st.booleans(),
)  # fmt: skip
@examples(300)
def test_events_queue_and_stories_of_any_run_agree(jobs, policy, kills):
    trace = drawn(jobs)
    choice = {"policy": policy, "kill_invalid_depend": kills}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = gs.simulate(trace, NODE, **choice)
    schedule, events = result.schedule, result.events
    shown = [*zip(events.time_s.tolist(), events.kind.tolist(), events.job.tolist(), strict=True)]
    seen = []
    run = gs.Simulation(trace, NODE, **choice)
    for what in ("start", "finish", "cancel", "release", "preempt"):
        run.on(what, lambda event: seen.append((event.time_s, event.what, event.job)))
    run.run()
    assert sorted(seen) == sorted(
        (at, "start" if kind == "resume" else kind, of)
        for at, kind, of in shown
        if kind != "arrival"
    )
    assert sum(kind == "cancel" for _, kind, _ in shown) == (schedule.status == CANCELLED).sum()
    joined_us = schedule.eligible_us if len(schedule.eligible_us) else trace.submit_us
    ends = {of: at for at, kind, of in shown if kind in ("finish", "cancel")}
    rows = result.intervals
    for i, at in enumerate(result.series.time_s.tolist()):
        now_us = round(at * 1e6)
        runs = set(rows["job"][(rows["start_us"] <= now_us) & (now_us < rows["end_us"])].tolist())
        waits = [
            of
            for of in range(len(trace))
            if 0 <= joined_us[of] <= now_us and at < ends.get(of, math.inf) and of not in runs
        ]
        assert result.series.queue_jobs[i] == len(waits)
        assert result.series.queue_gpus[i] == trace.gpus[waits].sum()
        assert result.series.running_jobs[i] == len(runs)
    for of in range(len(trace)):
        lines = result.explain(of).lines
        is_held = joined_us[of] != trace.submit_us[of]
        assert [line.startswith("Held") for line in lines[1:]].count(True) == is_held
        if is_held and "array" in lines[1]:
            assert trace.array is not None
            assert trace.array[of]
        assert ("can never be met" in lines[1]) == (is_held and joined_us[of] == NEVER)
