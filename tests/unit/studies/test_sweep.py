"""gs.sweep: every run a row, the same wherever it runs, and nothing twice."""

import os
import pickle
import random
import signal
import sys
import threading
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.results.same_jobs import Apart
from gpusched.studies.sweep import PythonTime, run_batch
from gpusched.studies.sweep_result import overview
from gpusched.traces.outages import drawn_for
from tests.time_limit import time_limit
from tests.unit.studies.places import dask_cluster, opened_at
from tests.unit.studies.studies import Broken, Deadly, NarrowFirst, a_trace, small

TIMES = ("wall_s", "total_s", "jobs_per_s", "prediction_share")


def facts(result: gs.studies.SweepResult) -> pl.DataFrame:
    """All but what a clock says."""
    return result.runs.drop(key for key in TIMES if key in result.runs.columns)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the runs that are done from now on, in threads."""
    done: list[str] = []
    running: Any = sys.modules[run_batch.__module__]
    before = running.row_of

    def row_of(context: Any, trace: Any, name: str, run: Any, apart: Any) -> Any:
        done.append(name)
        return before(context, trace, name, run, apart)

    monkeypatch.setattr(running, "row_of", row_of)
    return done


def test_a_row_is_what_simulate_says():
    result = gs.sweep(small())
    assert result.num_done == len(result.runs) == 8
    assert result.num_failed == 0
    cluster = gs.Cluster.uniform(4, 8)
    for row in result.runs.iter_rows(named=True):
        trace = gs.generate(
            "philly", 60, load=row["load"], cluster=cluster, seed=row["seed"], model=1
        )
        run = gs.simulate(trace, cluster, policy=row["policy"], seed=row["seed"])
        tenth_s = float(trace.submit_s[6] - trace.submit_s[0])  # of 60 jobs
        summary = run.summary() | run.summary(warm_up_s=tenth_s)
        assert row["num_jobs"] == 54
        assert row["digest"] == run.digest
        assert row["offered_load"] == run.summary()["load"]
        assert row["predictor"] == "auto"
        skipped = {"policy", "predictor", "speed", "load", *TIMES}
        for key in summary.keys() - skipped:
            np.testing.assert_equal(row[key], summary[key], err_msg=key)


def test_an_object_is_not_changed_by_its_runs():
    policy = NarrowFirst()
    first = gs.sweep(small(policies=[policy]))
    assert policy.calls == 0
    assert facts(gs.sweep(small(policies=[policy]))).equals(facts(first))


def test_what_is_kept_is_not_run_again(tmp_path, monkeypatch):
    done = counted(monkeypatch)
    first = gs.sweep(small(), folder=tmp_path)
    assert len(done) == 8
    again = gs.sweep(small(), folder=tmp_path)
    assert len(done) == 8
    assert again.runs.equals(first.runs)
    more = gs.sweep(small(seeds=[2, 1, 3]), folder=tmp_path)
    assert len(done) == 12
    assert facts(more).equals(facts(gs.sweep(small(seeds=[2, 1, 3]))))
    status = gs.studies.sweep_status(tmp_path)
    assert (status.num_runs, status.num_done, status.num_left) == (12, 12, 0)


def test_a_folder_is_that_of_one_study(tmp_path):
    gs.sweep(small(), folder=tmp_path)
    with pytest.raises(ValueError, match="holds the study 'small', not 'other'"):
        gs.sweep(small(name="other"), folder=tmp_path)
    with pytest.raises(ValueError, match="holds no study"):
        gs.studies.sweep_status(tmp_path / "runs")


def test_the_study_in_the_folder_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/jobs.csv").write_text("submit_s,service_s,gpus\n0,60,1\n5,60,2\n")
    Path("in/study.toml").write_text(gs.Study.of(small(traces=[{"file": "jobs.csv"}])).to_toml())
    first = gs.sweep("in/study.toml", folder="out")
    done = counted(monkeypatch)
    assert gs.sweep("out/study.toml", folder="out").runs.equals(first.runs)
    assert done == []


def test_a_run_that_fails_is_a_row(tmp_path, monkeypatch):
    crowded = {"generate": "philly", "model": 1, "jobs": 60, "loads": [2.0, 3.0]}
    study = small(policies=["fifo", Broken()], traces=[crowded])
    result = gs.sweep(study, folder=tmp_path)
    failed = result.runs.filter(pl.col("error").is_not_null())
    assert result.num_failed == len(failed) == 4
    assert set(failed["policy"]) == {"python:Broken"}
    assert set(failed["error"]) == {"RuntimeError: out of ideas"}
    assert failed["mean_jct_s"].null_count() == 4
    assert result.runs["error"].null_count() == 4
    only = failed["run"][0][:12]
    assert failed["repeat"][0] == f'gs.sweep(study, only="{only}")'
    assert any("4 of 8 runs failed: RuntimeError: out of ideas" in line for line in result.warnings)
    repeated = gs.sweep(study, only=only)
    assert repeated.runs["error"].to_list() == ["RuntimeError: out of ideas"]
    done = counted(monkeypatch)
    gs.sweep(study, folder=tmp_path)
    assert sorted(done) == sorted(failed["run"])  # they are tried again, the others are not
    with pytest.raises(ValueError, match="no run of the study has a name that starts with 'zz'"):
        gs.sweep(study, only="zz")


def test_jobs_that_cannot_be_made_fail_their_runs_alone():
    trace = {"trace": a_trace(), "label": "none", "filter": "gpus > 1000"}
    result = gs.sweep(small(traces=[trace, a_trace()]))
    assert result.num_failed == 4
    assert all("no jobs are left" in error for error in result.runs["error"].drop_nulls())


@pytest.mark.long
def test_a_policy_that_ends_its_worker_costs_its_own_runs():
    crowded = [{"generate": "philly", "model": 1, "jobs": 60, "loads": [2.0, 3.0]}]
    study = small(policies=["fifo", Deadly(), "srtf"], seeds=[1], traces=crowded)
    with time_limit(300):
        result = gs.sweep(study, executor="processes:2")
    failed = result.runs.filter(pl.col("error").is_not_null())
    assert set(failed["policy"]) == {"python:Deadly"}
    assert len(failed) == 2
    assert all(error.startswith("WorkerDied") for error in failed["error"])
    assert (
        facts(result)
        .filter(pl.col("error").is_null())
        .drop("run")
        .equals(facts(gs.sweep(small(seeds=[1], traces=crowded))).drop("run"))
    )


def test_a_stop_keeps_what_was_done(tmp_path, monkeypatch):
    monkeypatch.setattr("gpusched.studies.sweep._WRITE_SECONDS", 0.0)
    monkeypatch.setattr("gpusched.studies.sweep._WRITE_SHARE", 1.0)  # however slow the disk is
    stop = threading.Event()
    study = small(seeds=list(range(80)))

    def progress(told: gs.Progress) -> None:
        if told.done >= 20:
            stop.set()

    with time_limit(60), pytest.raises(gs.Cancelled) as caught:
        gs.sweep(study, folder=tmp_path, progress=progress, stop=stop)
    kept = gs.studies.sweep_status(tmp_path)
    assert 20 <= kept.num_done < 320
    assert (caught.value.num_finished, caught.value.total) == (kept.num_done, 320)
    assert kept.left_s is not None
    assert "runs are left" in str(kept) or "of runs are left" in str(kept)
    assert facts(gs.sweep(study, folder=tmp_path)).equals(facts(gs.sweep(study)))


def test_progress_never_falls_and_ends_at_all():
    told: list[gs.Progress] = []
    gs.sweep(small(), progress=told.append)
    assert [one.total for one in told] == [8] * len(told)
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert told[-1].done == 8


def test_a_damaged_part_is_told_and_run_again(tmp_path):
    first = gs.sweep(small(), folder=tmp_path)
    for part in (tmp_path / "runs").glob("*.parquet"):
        part.write_bytes(part.read_bytes()[:-9])
    with pytest.warns(gs.RunWarning, match="damaged: the content does not match the file name"):
        again = gs.sweep(small(), folder=tmp_path)
    assert facts(again).equals(facts(first))
    assert any("damaged" in line for line in again.warnings)
    assert gs.studies.sweep_status(tmp_path).damaged


def test_a_warm_up_leaves_the_first_jobs_out():
    trace, cluster = a_trace(200), gs.Cluster.uniform(4, 8)
    warm_up_s = float(trace.submit_s[80])
    result = gs.simulate(trace, cluster, policy="srtf")
    summary = result.summary(warm_up_s=warm_up_s)
    later = trace.submit_s >= warm_up_s
    jct = (np.asarray(result.jobs.finish_s) - trace.submit_s)[later]
    assert summary["mean_jct_s"] == pytest.approx(jct.mean(), rel=1e-12)
    assert summary["num_jobs"] == later.sum()
    study = small(traces=[trace], policies=["srtf"], seeds=[0], warm_up_s=warm_up_s)
    row = gs.sweep(study).runs.row(0, named=True)
    assert row["mean_jct_s"] == summary["mean_jct_s"]
    late = gs.sweep(small(warm_up_s=1e12))
    assert late.num_failed == 8
    assert "none is left without the first 1e+12 s" in late.runs["error"][0]


def test_metrics_that_no_summary_has_can_be_asked_for():
    extra = [key for key, metric in gs.metrics().items() if not metric.is_default]
    chosen = [key for key in extra if not gs.metrics()[key].needs][:1]
    result = gs.sweep(small(metrics=["mean_jct_s", *chosen]))
    assert set(chosen) <= set(result.runs.columns)


def test_what_makes_a_table_wrong_is_told():
    over = gs.sweep(small(traces=[{"generate": "philly", "jobs": 60, "loads": [1.5]}]))
    assert any("overloaded (load 1.5" in line for line in over.warnings)
    busy = small(traces=[{"generate": "philly", "jobs": 300, "loads": [0.95]}])
    warnings = gs.sweep(busy | {"warm_up": "0%"}).warnings
    assert any(line.startswith("no warm-up at load 0.8 or more: ") for line in warnings)
    calm = small(traces=[{"generate": "philly", "jobs": 60, "loads": [0.2]}])
    assert gs.sweep(calm).warnings == []
    for measured in ({}, {"warm_up_s": 9.0}, {"warm_up": "1m"}):
        assert not any("warm_up" in line for line in gs.sweep(busy | measured).warnings)
    lacking = gs.sweep(small(policies=["easy"]))
    assert any(line.startswith("easy: ") and "(4 runs)" in line for line in lacking.warnings)


def test_a_result_is_a_value(tmp_path):
    result = gs.sweep(small())
    copied = pickle.loads(pickle.dumps(result))
    assert copied.runs.equals(result.runs)
    assert copied.study == result.study
    result.to_parquet(tmp_path / "runs.parquet")
    assert pl.read_parquet(tmp_path / "runs.parquet").equals(result.runs)
    assert repr(result) == "SweepResult('small': 8 of 8 runs)"
    assert "<table>" in result._repr_html_()
    assert pl.DataFrame(result).equals(result.runs)


def test_how_many_jobs_a_seed_draws_is_no_axis():
    result = gs.sweep(small(traces=[{"trace": a_trace(100), "sample": 0.5}], seeds=[1, 2, 3]))
    assert result.runs["jobs"].n_unique() > 1
    table = overview(result.study, result.runs)
    assert list(table.headings[:2]) == ["policy", "seeds"]
    assert [row[:2] for row in table.texts] == [("fifo", "3"), ("srtf †", "3")]
    numbers = small(traces=[{"generate": "philly", "jobs": [50, 60]}])
    assert overview(gs.Study.of(numbers), gs.sweep(numbers).runs).headings[0] == "jobs"


def test_policies_are_compared_for_each_setting():
    statistics = pytest.importorskip("gpusched.studies")
    study = small(seeds=[1, 2, 3, 4], baseline="srtf", metrics=["p99_jct_s"])
    result = gs.sweep(study)
    found = result.compare()
    assert (found.metric, found.by, found.baseline) == ("p99_jct_s", ("load",), "srtf")
    expected = statistics.compare_runs(
        result.runs, "p99_jct_s", by=("load",), baseline="srtf", warm_up_s=0.0
    )
    assert found.frame.equals(expected.frame)
    by_load = result.compare("mean_jct_s", axis="load", baseline=None)
    assert by_load.by == ("policy",)
    broken = gs.sweep(small(traces=[{"trace": a_trace(), "filter": "gpus > 1000"}]))
    with pytest.raises(ValueError, match="small: no run was done, or all failed"):
        broken.compare()


def test_threads_that_are_long_in_python_name_processes(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.sweep(small(policies=[NarrowFirst()]))  # a short time is not told
    monkeypatch.setattr(sys.modules[PythonTime.__module__], "_LONG_S", 0.0)
    mixed = small(policies=["fifo", NarrowFirst()])
    with pytest.warns(gs.RunWarning, match=r'^python:NarrowFirst: .*executor="processes"') as told:
        gs.sweep(mixed)
    assert [warning.filename for warning in told] == [__file__]
    for study, executor in ((mixed, "threads"), (small(), None)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gs.sweep(study, executor=executor)


def test_a_bar_is_shown_where_one_is_asked_for(monkeypatch):
    seen = []

    @contextmanager
    def watched(progress: object, label: str, what: str) -> Iterator[Any]:
        assert (progress, label, what) == (True, small()["name"], "runs")
        yield seen.append

    monkeypatch.setattr("gpusched.studies.sweep.watched", watched)
    gs.sweep(small(), progress=True)
    assert seen[-1] == gs.Progress(8, 8)


def test_where_jobs_pile_up_below_a_load_of_one_it_stands_beside_the_row():
    # Jobs of all GPUs and of one in turn: in strict order half of the cluster is idle.
    number = 400
    trace = gs.Trace.from_columns(
        submit_s=[float(at) for at in range(number)],
        service_s=[1.0] * number,
        gpus=[8 if at % 2 else 1 for at in range(number)],
    )
    result = gs.sweep({
        "name": "blocked",
        "seeds": [1, 2, 3],
        "policies": ["fifo", "fifo-skip"],
        "traces": [{"trace": trace, "loads": [0.3, 0.8], "sample": 0.9}],
        "clusters": [{"servers": 1, "gpus": 8}],
    })  # fmt: skip
    assert result.runs["growth"].null_count() == 0
    marks = {row[0] + " " + row[1]: row[-1] for row in overview(result.study, result.runs).texts}
    assert float(marks.pop("0.8 fifo")) > 1.5
    assert set(marks.values()) == {""}
    compared = result.compare("mean_jct_s")
    assert compared.headline[0].startswith("At load 0.8 jobs pile up under fifo (growth ")


IN_THE_LONG_RUN = [
    pytest.param(place, marks=pytest.mark.long) for place in ("given processes", "dask", "ray")
]


@pytest.mark.parametrize("place", ["threads:1", "threads:3", "processes:2", *IN_THE_LONG_RUN])
def test_the_table_is_the_same(place, tmp_path):
    study = small(
        traces=[
            {"generate": "philly", "jobs": 60, "loads": [0.7, 2.0]},
            {"trace": a_trace(), "label": "given", "windows": [{"to": 9e3}, {"from": 9e3}]},
            {"trace": a_trace(), "label": "none left", "filter": "gpus > 1000"},
        ],
        policies=["fifo", "srtf", NarrowFirst()],
    )
    with time_limit(180), opened_at(place) as backend:
        found = gs.sweep(study, executor=backend, folder=tmp_path)
    expected = gs.sweep(study)
    assert facts(found).drop("repeat").equals(facts(expected).drop("repeat"))
    assert found.num_failed == 6


@pytest.mark.long
def test_workers_that_die_at_random_moments_cost_nothing():
    study = small(seeds=list(range(40)))
    expected = facts(gs.sweep(study))
    chance = random.Random(0)
    with time_limit(300), dask_cluster() as address:
        import distributed

        with distributed.Client(address) as client:
            ends = threading.Event()

            def kill() -> None:
                for _ in range(3):
                    time.sleep(0.2 + chance.random())
                    workers = list(client.run(os.getpid).values())
                    if ends.is_set() or not workers:
                        return
                    os.kill(chance.choice(workers), signal.SIGKILL)

            killer = threading.Thread(target=kill)
            killer.start()
            found = gs.sweep(study, executor=client)
            ends.set()
            killer.join()
    assert facts(found).equals(expected)


class OnlyNarrow(gs.Scheduler):
    """Never starts a job of several GPUs."""

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for job in state.waiting.tolist():
            allocation = state.place(job) if state.gpus[job] == 1 else None
            if allocation is not None:
                actions.start(job, allocation)


def narrow_and_all(wide: int) -> dict[str, Any]:
    """A study of 200 jobs, ``wide`` of them of two GPUs, which one of its policies never starts."""
    rows = [(at, 100 + at, 2 if at < wide else 1) for at in range(200)]
    return {
        "name": "left", "traces": [gs.Trace.from_columns(*map(list, zip(*rows, strict=True)))],
        "clusters": [{"servers": 4, "gpus": 8}], "seeds": [0], "warm_up": "0%",
        "policies": ["fifo-skip", {"policy": OnlyNarrow(), "label": "narrow"}],
    }  # fmt: skip


def test_runs_that_leave_other_jobs_are_not_compared_in_percent():
    result = gs.sweep(narrow_and_all(wide=20))
    shares = dict(zip(result.runs["policy"], result.runs["unserved_share"], strict=True))
    assert shares["fifo-skip"] == 0
    assert result.runs["others_share"].to_list() == [pytest.approx(shares["narrow"])] * 2
    compared = result.compare("mean_jct_s", baseline="fifo-skip")
    (row,) = compared.frame.filter(pl.col("policy") == "narrow").iter_rows(named=True)
    assert row["ratio"] is None
    assert any("of the GPU time were not finished" in line for line in compared.warnings)
    assert row["is_beaten"] is None
    whole = result.compare("makespan_s", baseline="fifo-skip").frame
    assert whole["ratio"].null_count() == 0, "it is of the run, whichever jobs that finishes"


def test_rows_without_some_jobs_are_told_apart_by_what_others_finish_of_these():
    one, two = (zlib.compress(bytes([jobs])) for jobs in (0b01, 0b11))
    some, all_left = Apart.of([one, two, None]), Apart.of([one, two])
    assert (some.left, some.others) == (b"\3", b"\3")
    assert (all_left.left, all_left.others) == (b"\3", b"\2")
    assert some.name("run") != all_left.name("run")


def test_policies_are_measured_by_the_jobs_that_all_of_them_finish(tmp_path, monkeypatch):
    study = narrow_and_all(wide=1)
    (trace,), cluster = study["traces"], gs.Cluster.uniform(4, 8)
    alone = gs.sweep(study | {"policies": ["fifo-skip"]}, folder=tmp_path)
    assert alone.runs["mean_jct_s"][0] == gs.simulate(trace, cluster).metric("mean_jct_s")
    done = counted(monkeypatch)
    for executor in ("threads:2", "threads:1"):
        result = gs.sweep(study, folder=tmp_path, executor=executor)
        compared = gs.compare(trace, cluster, ["fifo-skip", OnlyNarrow()]).summaries.values()
        for key in ("mean_jct_s", "p99_wait_s"):
            assert result.runs[key].to_list() == [summary[key] for summary in compared]
        assert result.runs["num_finished"].to_list() == [200, 199]
        assert any("every policy finishes" in line for line in result.warnings)
        assert result.compare("mean_jct_s").frame["ratio"].null_count() == 0
    assert len(done) == 3, "the new policy, and both on the jobs that both finish"
    again = gs.sweep(study | {"policies": ["fifo-skip"]}, folder=tmp_path)
    assert again.runs["mean_jct_s"].equals(alone.runs["mean_jct_s"])


def test_preemption_that_costs_nothing_is_told():
    free = gs.sweep(small(policies=["srtf"]))
    assert any("costs nothing" in line for line in free.warnings)
    traces = [{"generate": "philly", "model": 1, "jobs": 60, "restart_s": 60}]
    paid = gs.sweep(small(policies=["srtf"], traces=traces))
    assert not any("costs nothing" in line for line in paid.warnings)


def test_limits_and_checkpoints_are_columns_of_all_jobs():
    columns = {
        "time_limit_s": 3600.0, "checkpoint_every_s": 600.0, "checkpoint_write_s": 5.0,
        "max_requeues": 1,
    }  # fmt: skip
    trace, cluster = a_trace(60), gs.Cluster.uniform(4, 8)
    traces = [{"trace": trace, **columns}, {"trace": trace, "label": "plain"}]
    runs = gs.sweep(small(traces=traces, clusters=[cluster], policies=["fifo"])).runs
    limited, plain = trace.with_columns(**columns), trace
    for jobs, label in ((limited, trace.name), (plain, "plain")):
        digests = runs.filter(runs["trace"] == label)["digest"].unique().to_list()
        assert digests == [gs.simulate(jobs, cluster, policy="fifo").digest]


def test_failures_are_drawn_with_the_seed_of_the_run():
    trace, cluster = a_trace(60), gs.Cluster.uniform(4, 8)
    traces = [
        {"trace": trace, "mtbf_s": 2e4, "requeue_back": 1}, {"trace": trace, "label": "plain"}
    ]  # fmt: skip
    back = trace.with_columns(requeue_back=1)
    asked = small(traces=traces, clusters=[cluster], policies=["fifo"], seeds=[3, 4])
    runs = gs.sweep(asked).runs.sort("trace", "seed")
    for row in runs.iter_rows(named=True):
        outages = drawn_for(trace, cluster, 2e4, 14_400, row["seed"])
        of_row = None if row["trace"] == "plain" else outages
        run = gs.simulate(back, cluster, policy="fifo", seed=row["seed"], outages=of_row)
        assert row["digest"] == run.digest
        if of_row is not None:
            same = gs.simulate(trace, cluster, policy="fifo", seed=row["seed"], outages=of_row)
            assert row["digest"] != same.digest
    assert runs["run"].n_unique() == 4
    for wrong in ({"mtbf_s": 0.0}, {"repair_s": -1.0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}: .* must be finite and positi"):
            gs.sweep(small(traces=[{"trace": trace, **wrong}], clusters=[cluster]))


def test_what_all_runs_take_for_granted_is_said_once():
    cluster = gs.Cluster((gs.ServerGroup(2, 8, "V100"), gs.ServerGroup(2, 8, "A100", speed=2.1)))
    trace = a_trace(60).with_reference_type("V100")
    result = gs.sweep(small(traces=[trace], clusters=[cluster]))
    assert "run times: those on V100, as declared (4 runs)" in result.warnings
    assert not any("equally fast" in line for line in result.warnings)


def test_what_was_assumed_of_throughputs_is_said(tmp_path):
    table = tmp_path / "rates.csv"
    table.write_text("model,gpu_type,gpus,iterations_per_s\nm,gpu,1,10\nm,gpu,2,18\n")
    traces = [{"generate": "philly", "model": 1, "jobs": 60, "throughputs": str(table)}]
    lines = gs.sweep(small(traces=traces, speeds=["table"])).warnings
    assert any(line.startswith("models assumed: those of 60 jobs drawn from 1") for line in lines)
    assert any(line.startswith("throughputs assumed for ") for line in lines)
