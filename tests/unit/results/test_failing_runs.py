"""What comes out of runs with outages, time limits and checkpoints, by hand."""

import csv
import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base import container
from gpusched.base.arrays import exact_dot
from gpusched.model.outages import Outages
from gpusched.reporting.charts.highlights import comparison_of
from gpusched.reporting.report import render_report
from gpusched.results.result_store import KIND
from gpusched.results.run_remarks import free_restarts, restart_costs, unserved
from gpusched.results.run_window import RunWindow
from gpusched.results.same_jobs import SameJobs
from gpusched.schedules.schedule import FAILED, FINISHED, KILLED, UNFINISHED
from gpusched.schedules.series import KINDS
from gpusched.studies.comparison import comparison_table
from tests.each import each
from tests.examples import examples
from tests.unit.failing_runs import (
    ALL,
    PAIR,
    SECOND,
    TYPES,
    each_end,
    failing,
    one_server_of_a_gang_fails,
    outages_of,
)
from tests.unit.small_runs import job, simulated

F19 = {
    "capacity": 1440, "down": 120, "held": 1120, "idle": 200, "useful": 880,
    "lost_to_failures": 240, "lost_to_limits": 0, "checkpoint_writes": 0, "restarts": 0,
    "unfinished": 0, "slowed": 0,
}  # fmt: skip
OF_FAILURES = [key for key, metric in gs.metrics().items() if metric.group == "failures"]


@pytest.fixture(scope="module")
def ends():
    return each_end()


def test_the_sums_of_a_gang_with_a_failing_server():
    result = one_server_of_a_gang_fails()
    assert result.capacity.gpu_s == F19
    assert result.capacity is result.capacity
    summary = result.summary()
    told = {
        "availability": 11 / 12, "goodput": 2 / 3, "num_failures": 1, "num_killed": 0,
        "num_failed": 0, "lost_to_failures_gpu_s": 240, "lost_to_limits_gpu_s": 0,
        "requeues_per_job": 0.5, "time_to_recover_s": 30, "allocation": 7 / 9,
        "utilisation": 11 / 18, "preemptions": 0,
        "ettr": (8 * 100 / 160 + 4 * 1) / 12, "ettr_queue": (8 * 100 / 160 + 4 * 20 / 175) / 12,
    }  # fmt: skip
    assert {key: summary[key] for key in told} == pytest.approx(told, rel=1e-12)
    assert str(result.capacity).startswith("capacity 1,440 GPU s, down 120 GPU s, held 1,120")


def test_the_sums_of_jobs_that_end_in_other_ways(ends):
    assert ends.capacity.gpu_s == {
        "capacity": 16 * 137, "down": 4 * (10 + 10 + 20 + 20), "held": 4 * (70 + 50 + 100 + 117),
        "idle": 16 * 137 - 240 - 1348, "useful": 4 * 200, "lost_to_failures": 4 * (50 + 6),
        "lost_to_limits": 4 * 6, "checkpoint_writes": 4 * 10, "restarts": 4 * 5,
        "unfinished": 4 * 60, "slowed": 0,
    }  # fmt: skip
    summary = ends.summary()
    assert (summary["num_failures"], summary["num_failed"], summary["num_killed"]) == (3, 1, 1)
    assert summary["num_unfinished"] == 2
    assert summary["requeues_per_job"] == 2 / 4
    assert summary["time_to_recover_s"] == (10 + 20) / 2  # the second failure of job 1 ends it
    assert summary["ettr"] == pytest.approx((1 + 100 / 137) / 2)  # of the finished jobs


def test_the_core_runs_them_as_they_are_written_down(ends):
    none = float("nan")
    columns = {
        "checkpoint_every_s": [30, none, none, 30], "checkpoint_write_s": [2, none, none, 2],
        "time_limit_s": [70, none, none, none], "max_requeues": [none, 1, none, none],
        "restart_s": [5, 0, 0, 5], "id": ends.trace.id.tolist(),
        "gpu_types": [[kind] for kind in TYPES],
    }  # fmt: skip
    trace = gs.Trace.from_columns([0] * 4, [100] * 4, [4] * 4, **columns)
    with pytest.warns(gs.RunWarning, match="1 job killed at the time limit"):
        found = gs.simulate(
            trace, ends.cluster, policy="fifo", placement="first-fit", outages=ends.outages
        )
    gang = one_server_of_a_gang_fails()
    again = gs.simulate(
        gang.trace, PAIR, policy="fifo", placement="first-fit", outages=gang.outages
    )
    for result, written in ((found, ends), (again, gang)):
        assert result.digest == written.digest
        assert result.to_polars().equals(written.to_polars())
        assert result.capacity == written.capacity
        assert result.events.to_polars().equals(written.events.to_polars())
        assert result.series.to_polars().equals(written.series.to_polars())


def test_maintenance_is_no_failure(tmp_path):
    """A gang on both servers: maintenance hits it, then a failure, then both at once."""
    trace = gs.Trace.from_columns([0], [40], [8], max_requeues=[2])
    outages = gs.Outages.from_columns(
        [0, 1, 0, 1], [10, 30, 50, 50], [20, 31, 51, 51], ["maint", "fail", "maint", "fail"],
        [10, None, 50, None],
    )  # fmt: skip
    result = gs.simulate(trace, PAIR, policy="fifo", placement="first-fit", outages=outages)
    summary = result.summary()
    assert (summary["num_failures"], summary["num_maintained"]) == (2, 1)
    assert (summary["num_failed"], summary["requeues_per_job"]) == (0, 3)
    assert summary["availability"] == 1 - 4 * (10 + 1 + 2) / (8 * 91)
    assert result.schedule.finish_us.tolist() == [91_000_000]
    assert result.by("gpus")["mttf_s"].to_list() == [(10 + 10 + 19 + 40) / 2]
    assert str(result.audit()) == "no problems"
    text = str(result.explain(0))
    assert "until server 0 had maintenance" in text
    assert "until server 1 failed" in text
    assert "until servers 0, 1 failed or had maintenance" in text
    result.save(tmp_path / "maint.npz")
    assert gs.load_result(tmp_path / "maint.npz").outages.sha256 == outages.sha256


NAN = float("nan")
WINDOW = gs.Outages.from_columns([0], [50], [80], "maint")


@each(
    ("policy", "columns", "starts"),
    [
        ("fifo", {"time_limit_s": [100, 40, 30]}, [0, 0, 80]),
        ("srtf", {"time_limit_s": [100, 40, 30]}, [40, 0, 0]),
        # By the estimates job 1 is the last; its limit goes before its estimate.
        ("sjf", {"estimate_s": [60, 99, 30], "time_limit_s": [NAN, 40, NAN]}, [0, 80, 0]),
        ("fifo", {"estimate_s": [50, 40, NAN]}, [0, 0, 40]),
    ],
)
def test_no_job_starts_that_its_length_carries_into_known_maintenance(policy, columns, starts):
    trace = gs.Trace.from_columns([0, 0, 0], [100, 40, 30], [4, 4, 4], **columns)
    run = {"policy": policy, "placement": "first-fit"}
    result = gs.simulate(trace, PAIR, outages=WINDOW, **run)
    assert (result.schedule.start_us / SECOND).tolist() == starts
    assert str(result.audit()) == "no problems"
    assert result.audit(level="decisions").ok
    again = gs.Simulation(trace, PAIR, outages=WINDOW, **run)
    again.run_until(45)
    fork = again.fork()
    again.run()
    fork.run()
    assert again.result().digest == fork.result().digest == result.digest


def test_a_job_starts_until_maintenance_is_known():
    trace = gs.Trace.from_columns([10, 20], [45, 45], [8, 8], estimate_s=[45, 45])
    for known_s, starts in ((0, [80, 125]), (10, [80, 125]), (11, [80, 125]), (50, [80, 125])):
        outages = gs.Outages.from_columns([1], [50], [80], "maint", [known_s])
        result = gs.simulate(trace, PAIR, policy="fifo", outages=outages)
        assert (result.schedule.start_us[1:] / SECOND).tolist() == starts[1:]
        assert result.summary()["num_maintained"] == (known_s > 10)
        assert result.schedule.start_us[0] == (80 if known_s <= 10 else 10) * SECOND


def test_known_maintenance_is_refused_where_a_policy_does_not_plan_around_it():
    trace = gs.Trace.from_columns([0], [40], [8])
    with pytest.raises(ValueError, match=r"^policy easy:depth=2 does not plan around maint"):
        gs.simulate(trace, PAIR, policy="easy:depth=2", outages=WINDOW)
    run = gs.Simulation(trace, PAIR, policy="fifo", outages=WINDOW)
    run.run_until(5)
    with pytest.raises(ValueError, match="policy easy:depth=2 does not plan around maintenance"):
        run.set(policy="easy:depth=2")


def test_backfilling_reserves_for_the_end_of_known_maintenance():
    # The wide job would reach the window of 50 to 80. The long ones may not delay it beyond 80.
    jobs = {"service_s": [40, 30, 60, 75], "gpus": [4, 8, 4, 4], "estimate_s": [40, 30, 60, 75]}
    trace = gs.Trace.from_columns([0, 10, 11, 12], **jobs)
    window = gs.Outages.from_columns([1], [50], [80], "maint")
    for policy, starts_s in (
        ("fifo-skip", [0, 155, 40, 80]),
        ("easy", [0, 80, 110, 110]),
        ("easy:backfill=shortest", [0, 80, 110, 110]),
    ):
        result = gs.simulate(trace, PAIR, policy=policy, outages=window)
        result.audit(level="decisions").raise_if_bad()
        assert (result.schedule.start_us / SECOND).tolist() == starts_s


def test_a_part_of_a_run_counts_what_lies_in_it(ends):
    """After a warm-up of 1 s, when only job 3 is submitted."""
    later = replace(ends.trace, submit_us=np.array([0, 0, 0, 1_000_000]))
    result = gs.Result(later, ends.cluster, ends.spec, ends.schedule, 0.5, outages=ends.outages)
    summary = result.summary(warm_up_s=1)
    assert summary["num_failures"] == 1
    assert summary["num_failed"] == summary["num_killed"] == 0
    assert summary["availability"] == 1 - 240 / (16 * 136)
    # Even over the time of a job: of job 2 the useful part is 99 of 100 s, of job 3 116 of 117.
    useful = 4 * (99 + 100 * 116 / 117)
    assert summary["goodput"] == pytest.approx(useful / (16 * 136 - 240))
    assert summary["restarts_gpu_s"] == pytest.approx(20 * 116 / 117)
    sums = result._facts(RunWindow(1.0)).capacity
    assert sums.capacity == sums.down + sums.held + sums.idle
    assert sums.held == pytest.approx(4 * (69 + 49 + 99 + 116) * 1e9, rel=1e-12)


def test_a_run_without_failures_has_sums_and_none_of_their_metrics():
    result = simulated([job(0, 10, 4), job(0, 10, 4), job(0, 1, 9)], [(4, "V100")], "fifo")
    assert not set(OF_FAILURES) & set(result.summary())
    assert result.jobs.columns[-1] == "reason"
    assert result.capacity.gpu_s == dict.fromkeys(F19, 0) | {
        "capacity": 80, "held": 80, "useful": 80,
    }  # fmt: skip
    with pytest.raises(ValueError, match="defined only where the run has outages, time limits"):
        result.metric("goodput")
    nothing = simulated([job(0, 1, 99)])
    assert set(nothing.capacity.gpu_s.values()) == {0}


def test_shares_of_gpus_are_counted_as_such():
    trace = gs.Trace.from_columns([0, 0], [10, 20], [1, 1], gpu_share=[0.3, 0.5])
    result = failing(
        trace, gs.Cluster.uniform(1, 1), [[(0, 10, {0: 1})], [(0, 20, {0: 1})]],
        Outages.from_columns([0], [10], [15], "drain"), failures=[0, 0],
    )  # fmt: skip
    sums = result.capacity
    assert sums.gpu_s == dict.fromkeys(F19, 0) | {
        "capacity": 20, "held": 13, "useful": 13, "down": 2.5, "idle": 4.5,
    }  # fmt: skip


def test_products_are_summed_without_rounding():
    weights, values = np.array([3, 2**40]), np.array([2**60 + 1, 2**60 + 1])
    assert exact_dot(weights, values) == (3 + 2**40) * (2**60 + 1)
    assert exact_dot(weights[:1], np.array([2**53 + 1])) == 3 * (2**53 + 1)


def test_the_columns_of_jobs(ends):
    assert ends.jobs.columns[-3:] == ("failures", "lost_s", "written_s")
    assert ends.jobs.failures.tolist() == [0, 2, 0, 1]
    assert ends.jobs["lost_s"].tolist() == [6, 50, 0, 6]
    assert ends.jobs["written_s"].tolist() == [4, 0, 0, 6]
    frame = ends.to_polars()
    assert frame["status"].to_list() == ["killed", "failed", "finished", "finished"]
    assert frame["lost_s"].to_list() == [6, 50, 0, 6]
    assert np.isnan(ends.jobs.jct_s).tolist() == [True, True, False, False]


def test_groups_of_jobs_have_a_mean_time_to_failure(ends):
    frame = ends.by("gpus")
    assert frame["num_failures"].to_list() == [3]
    assert frame["mttf_s"].to_list() == [(70 + 50 + 100 + 117) / 3]
    none = failing(ends.trace, ends.cluster, [[(0, 100, {at: ALL})] for at in range(4)])
    assert none.by("gpus")["mttf_s"].to_list() == [None]
    assert "mttf_s" not in simulated([job(0, 1)]).by("gpus").columns


def test_a_result_keeps_its_failures_and_outages_in_a_file(ends, tmp_path):
    ends.save(tmp_path / "a.npz")
    loaded = gs.load_result(tmp_path / "a.npz")
    assert loaded.summary() == ends.summary()
    assert loaded.jobs.lost_s.tolist() == ends.jobs.lost_s.tolist()
    assert loaded.outages.to_polars().equals(ends.outages.to_polars())
    assert loaded.outages.source == ends.outages.source
    assert loaded.events.kind.tolist() == ends.events.kind.tolist()
    assert pickle.loads(pickle.dumps(ends)).capacity == ends.capacity
    plain = simulated([job(0, 1)])
    plain.save(tmp_path / "b.npz")
    assert gs.load_result(tmp_path / "b.npz").outages is None
    _, arrays = container.read(tmp_path / "b.npz", KIND)
    assert not [name for name in arrays if name.startswith("outages") or name.endswith("lost_us")]


def test_other_outages_in_a_file_are_refused(ends, tmp_path):
    path = tmp_path / "a.npz"
    ends.save(path)
    header, arrays = container.read(path, KIND)
    others = {"outages.server": arrays["outages.server"][::-1].copy()}
    container.write(path, KIND, header, {**arrays, **others})
    with pytest.raises(ValueError, match="its outages do not match the stored digest"):
        gs.load_result(path)
    simulated([job(0, 1)]).save(path)
    header, plain = container.read(path, KIND)
    container.write(path, KIND, header, {**plain, "outages.server": arrays["outages.server"]})
    with pytest.raises(ValueError, match=r"unexpected entry outages\.server"):
        gs.load_result(path)


def test_a_failed_job_tells_its_story(ends):
    assert ends.explain("loser").lines[1:] == (
        "Ran from 00:00:00 for 40 s on 4 H100 of server 1, until server 1 failed.",
        "Waited for 10 s.",
        "  When it lost its GPUs, 0 of the 4 GPUs that it may use were free; 4 were down.",
        "  Their GPU time during the wait: 100% down.",
        "  Fewer than its 4 GPUs were free for 10 s (100%).",
        "Ran from 00:00:50 for 10 s on 4 H100 of server 1, until server 1 failed.",
        "It failed, as it was interrupted more often than it may be requeued (2 interruptions, "
        "50 s of work lost).",
    )
    # Jobs 0 and 1 are over, and server 1 is back.
    told = "  Of the types that it may not use, 8.0 GPUs were free on average."
    assert told in ends.explain("saver").lines


def test_jobs_that_end_in_other_ways_tell_why(ends):
    assert ends.explain("limit").lines[1:] == (
        "Ran from 00:00:00 for 1.17 min on 4 A100 of server 0, until its time limit.",
        "It was killed at its time limit (6 s of work lost, 4 s writing checkpoints).",
    )
    assert ends.explain("drained").lines[1].endswith("on 4 L40 of server 2.")
    assert ends.explain("saver").lines[-1] == (
        "Finished at 00:02:17, 2.28 min after submission (1 interruption, 5 s paid for restarts, "
        "6 s of work lost, 6 s writing checkpoints)."
    )
    story = one_server_of_a_gang_fails().explain(0)
    assert "  When it lost its GPUs, 4 of the 8 GPUs that it may use were free; 4 were down." in (
        story.lines
    )
    assert story.waits[0].shares["down"] == 0.5
    assert story.waits[0].holders == ()
    queued = one_server_of_a_gang_fails().explain(1)
    assert queued.waits[0].shares == pytest.approx(
        {"running": 25 / 155, "earlier": 100 / 155, "later": 0, "down": 15 / 155}
    )
    assert [holder.job for holder in queued.waits[0].holders] == [0]


def test_what_is_left_out_is_told(ends):
    assert unserved(ends) == [
        "1 job killed at the time limit, left out of the job metrics",
        "1 job failed after too many interruptions, left out of the job metrics",
    ]
    finished = failing(ends.trace, ends.cluster, [[(0, 100, {at: ALL})] for at in range(4)])
    results = {"a": ends, "b": finished}
    same = SameJobs(results, None)
    assert same.jobs.tolist() == [False, False, True, True]
    assert same.lines("every policy") == [
        "job metrics count the 2 jobs that every policy finishes; 2 others ask for 50% of the GPU "
        "time"
    ]
    assert same.measured("b", finished)["ettr"] == 1
    assert "num_failures" not in same.measured("b", finished)


def test_restarts_without_a_cost_are_told_after_failures():
    hint = " (the trace states no cost: --restart TIME, or a column restart_s)"
    result = one_server_of_a_gang_fails()
    assert free_restarts(result) == [f"a restart costs nothing{hint}"]
    assert restart_costs({"fifo": result}) == [f"a restart costs nothing under fifo{hint}"]
    assert free_restarts(simulated([job(0, 1)])) == []


def test_a_timetable_of_another_tool_has_the_jobs_that_are_over(ends, tmp_path):
    lost = ends.export_with_losses(tmp_path / "jobs.csv")
    with open(tmp_path / "jobs.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["final_state"] for row in rows] == [
        "COMPLETED_WALLTIME_REACHED", "COMPLETED_FAILED", *["COMPLETED_SUCCESSFULLY"] * 2,
    ]  # fmt: skip
    assert [float(row["finish_time"]) for row in rows] == [70, 60, 100, 137]
    assert [row["success"] for row in rows] == ["0", "0", "1", "1"]
    assert lost == [
        "2 jobs changed GPUs: the row has the last ones, and execution_time is from the first "
        "start to the end"
    ]
    assert ends.export_with_losses(tmp_path / "jobs.json") == []


def test_a_log_of_the_standard_format_has_statuses(ends, tmp_path):
    lost = ends.export_with_losses(tmp_path / "jobs.swf")
    assert any(line.startswith("2 jobs paused in between") for line in lost)
    again = gs.read_trace(tmp_path / "jobs.swf")
    assert [again.status[at] for at in range(4)] == ["killed", "failed", "ok", "ok"]
    assert (again.service_us / 1e6).tolist() == [70, 60, 100, 137]


def test_an_unfinished_job_is_in_no_sum_twice():
    trace = gs.Trace.from_columns([0, 0], [10, 10], [4, 4])
    result = failing(
        trace, PAIR, [[(0, 4, {0: ALL})], []], status=[UNFINISHED, UNFINISHED], lost=[1, 0],
    )  # fmt: skip
    assert result.capacity.gpu_s == dict.fromkeys(F19, 0) | {
        "capacity": 32, "held": 16, "idle": 16, "lost_to_failures": 4, "unfinished": 12,
    }  # fmt: skip
    assert math.isnan(result.summary()["ettr"])
    assert math.isnan(result.summary()["time_to_recover_s"])


def test_statuses_have_the_numbers_of_files():
    assert (FINISHED, UNFINISHED, KILLED, FAILED) == (0, 2, 4, 5)


def test_the_table_and_the_report_show_failures_only_where_there_are_some(ends):
    for result, is_there in ((ends, True), (simulated([job(0, 10, 4)]), False)):
        text = str(comparison_table(comparison_of(result)))
        assert ("goodput" in text) == is_there
        page = render_report(result)
        assert ("<h2>Failures</h2>" in page) == is_there
        assert ("GPUs down" in page) == is_there


# Tiny ranges: several outages of one server, hits in restarts and in writes, and limits that bind.
one_job = st.tuples(
    st.integers(0, 10), st.integers(1, 12), st.integers(1, 8), st.none() | st.integers(1, 5),
    st.integers(0, 2), st.none() | st.integers(1, 15), st.none() | st.integers(0, 2),
    st.integers(0, 2),
)  # fmt: skip
one_outage = st.tuples(
    st.integers(0, 1), st.integers(0, 30), st.integers(1, 9) | st.none(),
    st.sampled_from(["fail", "drain"]),
)  # fmt: skip
POLICIES = ["fifo", "fifo-skip", "easy", "srtf", "las"]


@given(
    st.lists(one_job, min_size=1, max_size=7), st.lists(one_outage, max_size=5),
    st.sampled_from(POLICIES), st.sampled_from(["first-fit", "consolidated"]),
)  # fmt: skip
@examples(300)
def test_the_sums_of_any_run_are_equal(jobs, outages, policy, placement):
    submit, service, gpus, every, write, limit, most, restart = zip(
        *sorted(jobs, key=lambda j: j[0]), strict=True
    )
    none = float("nan")
    trace = gs.Trace.from_columns(
        list(submit), list(service), list(gpus),
        checkpoint_every_s=[none if tau is None else tau for tau in every],
        checkpoint_write_s=[0 if tau is None else d for tau, d in zip(every, write, strict=True)],
        time_limit_s=[none if of is None else of for of in limit],
        max_requeues=[none if of is None else of for of in most],
        restart_s=list(restart),
    )  # fmt: skip
    drawn = outages_of(outages)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = gs.simulate(trace, PAIR, policy=policy, placement=placement, outages=drawn)
    sums = result.capacity
    assert sums.capacity == sums.down + sums.held + sums.idle
    assert min(vars(sums).values()) >= 0
    assert sums.held == sum([*vars(sums).values()][4:])
    assert sums.slowed == 0
    schedule = result.schedule
    if not len(schedule.failures):
        return
    kinds = result.events.kind
    count = {kind: int(np.count_nonzero(kinds == kind)) for kind in KINDS}
    assert count["interrupt"] + count["fail"] == schedule.failures.sum()
    assert count["kill"] == np.count_nonzero(schedule.status == KILLED)
    assert count["fail"] == np.count_nonzero(schedule.status == FAILED)
    assert count["preempt"] == schedule.preemptions.sum()
    assert count["finish"] == np.count_nonzero(schedule.status == FINISHED)
    assert result.series.down_gpus.max(initial=0) <= PAIR.num_gpus
    assert (result.series.down_gpus + result.series.allocated_gpus <= PAIR.num_gpus).all()
    waits = np.count_nonzero(schedule.status == UNFINISHED)
    if len(result.series):
        assert result.series.queue_jobs[-1] + result.series.running_jobs[-1] == waits
    for at in range(len(trace)):
        assert result.explain(at).lines
    told = []
    run = gs.Simulation(trace, PAIR, policy=policy, placement=placement, outages=drawn)
    for what in ("interrupt", "kill", "fail"):
        run.on(what, lambda event: told.append((event.time_s, event.what, event.job)))
    run.run()
    ended = np.isin(kinds, ["interrupt", "kill", "fail"])
    events = (result.events.time_s[ended], kinds[ended], result.events.job[ended])
    assert sorted(told) == sorted(zip(*(column.tolist() for column in events), strict=True))
