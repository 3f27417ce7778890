"""The result as a user meets it."""

import math
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched import _core
from gpusched import readable as reference
from gpusched.results.cost import held_gpu_us
from gpusched.results.result import Result
from gpusched.schedules.jobs_table import COLUMNS
from gpusched.schedules.schedule import (
    REJECT_REASONS,
    STATUSES,
    contention_excess_us,
    contention_slowdown,
    digest_of,
    whole_intervals,
)
from tests.each import each
from tests.unit.small_runs import SECOND, job, simulated


@pytest.fixture(scope="module")
def result():
    """Four GPUs: job b runs 2-3 and, its restart of 2 s paid, 5-11; c runs 3-5; a does not fit."""
    jobs = [job(1, 7, 5), job(2, 5, 4), job(3, 2, 2)]
    return simulated(
        jobs, [(2, "V100"), (2, "V100")], "srtf", policy_params={"cost_s": 2.0}, id=["a", "b", "c"],
        user=["ann", "bob", "ann"],
    )  # fmt: skip


@each(
    ("column", "values"),
    [
        ("id", ["a", "b", "c"]),
        ("submit_s", [1.0, 2.0, 3.0]),
        ("start_s", [None, 2.0, 3.0]),
        ("finish_s", [None, 11.0, 5.0]),
        ("jct_s", [None, 9.0, 2.0]),
        ("wait_s", [None, 2.0, 0.0]),
        ("queueing_delay_s", [None, 0.0, 0.0]),
        ("service_s", [7.0, 5.0, 2.0]),
        ("held_s", [0.0, 7.0, 2.0]),
        ("overhead_s", [None, 2.0, 0.0]),
        ("slowdown_contention", [None, 1.0, 1.0]),
        ("gpus", [5, 4, 2]),
        ("preemptions", [0, 1, 0]),
        ("servers", [0, 2, 1]),
        ("status", ["rejected", "finished", "finished"]),
        ("reason", ["needs more GPUs than the cluster has", "", ""]),
    ],
)
def test_each_column_of_the_jobs(result, column, values):
    as_array = result.jobs[column].tolist()
    assert [None if v != v else v for v in as_array] == values
    assert getattr(result.jobs, column) is not None
    assert result.to_polars()[column].to_list() == values


def test_the_columns_are_those_that_the_table_lists(result):
    assert tuple(result.jobs) == result.jobs.columns == COLUMNS
    assert len(result.jobs) == 3
    assert result.to_polars().columns == [*COLUMNS, "user"]
    assert result.to_polars()["user"].to_list() == ["ann", "bob", "ann"]


def test_an_unknown_column_is_a_key_error_that_lists_the_others(result):
    with pytest.raises(KeyError, match=r"unknown column 'jct'; known: id, submit_s"):
        result.jobs["jct"]


def test_a_slowdown_counts_what_is_more_than_the_rounding_of_the_finish(result):
    held_us = np.array([0, 7 * SECOND, 3])  # of the second, two are paid
    alone_us = np.array([0.0, 4.0 * SECOND, 2.25])
    schedule = replace(result.schedule, held_us=held_us, uncontended_us=alone_us)
    assert contention_excess_us(schedule).tolist() == [0.0, 1.0 * SECOND, 0.0]
    slowdown = contention_slowdown(schedule).tolist()
    assert math.isnan(slowdown[0])
    assert slowdown[1:] == [1.25, 1.0]


def test_gpu_time_is_counted_to_the_last_instant_of_a_run_that_was_stopped():
    jobs = gs.Trace.from_columns([0, 1, 2], [50, 50, 50], [2, 2, 4])
    run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
    run.run_until(10)
    schedule = run.result().schedule
    assert (schedule.status == STATUSES.index("unfinished")).all()
    assert held_gpu_us(jobs, schedule, is_fixed=True).tolist() == [4e6, 2e6, 0]


def test_arrow_pandas_and_parquet_hold_the_same_table(result, tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    polars = result.to_polars()
    assert pl.DataFrame(result.to_arrow()).equals(polars)
    result.to_parquet(tmp_path / "jobs.parquet")
    assert pl.read_parquet(tmp_path / "jobs.parquet").equals(polars)
    pandas = result.to_pandas()
    assert list(pandas.columns) == polars.columns
    assert pandas["status"].tolist() == polars["status"].to_list()
    assert math.isnan(pandas["jct_s"][0])
    assert pandas["jct_s"][1:].tolist() == [9.0, 2.0]


@pytest.mark.parametrize(
    ("method", "module", "extra"),
    [("to_arrow", "pyarrow", "arrow"), ("to_pandas", "pandas", "pandas")],
)
def test_a_missing_extra_is_named(result, monkeypatch, method, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ImportError, match=rf'needs {module}: pip install "gpusched-core\[{extra}\]"'
    ):
        getattr(result, method)()


def test_importing_the_result_loads_no_heavy_library():
    import subprocess

    code = (
        "import sys, gpusched.results.result; "
        "print([m for m in ('polars', 'pandas', 'pyarrow', 'scipy', 'altair') if m in sys.modules])"
    )
    path = ":".join(entry for entry in sys.path if entry)
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": path}
    )
    assert ran.stdout.strip() == "[]", ran.stderr


def test_intervals_are_read_only_rows(result):
    rows = result.intervals
    assert list(rows) == ["job", "start_us", "end_us", "server", "mask"]
    assert np.stack(list(rows.values()), axis=1).tolist() == [
        [1, 2 * SECOND, 3 * SECOND, 0, 3],
        [1, 2 * SECOND, 3 * SECOND, 1, 3],
        [1, 5 * SECOND, 11 * SECOND, 0, 3],
        [1, 5 * SECOND, 11 * SECOND, 1, 3],
        [2, 3 * SECOND, 5 * SECOND, 0, 3],
    ]
    with pytest.raises(ValueError, match="read-only"):
        rows["job"][0] = 5


def test_whole_intervals_join_the_servers_of_a_gang(result):
    first, opens = whole_intervals(result.intervals)
    assert first.tolist() == [0, 2, 4]
    assert opens.tolist() == [True, False, True]


def test_the_digest_is_that_of_the_log(result):
    schedule = result.schedule
    assert result.digest == digest_of(result.intervals, schedule.status, schedule.reason)
    other = dict(result.intervals) | {"mask": np.array([3, 3, 3, 3, 1], np.uint64)}
    assert result.digest != digest_of(other, schedule.status, schedule.reason)
    assert result.digest != digest_of(result.intervals, schedule.status, [3, 0, 0])


def test_codes_are_those_of_the_reference_and_of_the_core():
    assert tuple(_core.REJECT_REASONS) == reference.REJECT_REASONS == REJECT_REASONS
    codes = (reference.FINISHED, reference.REJECTED, reference.UNFINISHED)
    assert [STATUSES[code] for code in codes] == ["finished", "rejected", "unfinished"]


def test_a_result_says_what_it_is(result):
    assert repr(result).startswith("Result(srtf:cost_s=2.0, consolidated on ")
    assert repr(result).endswith("(4 GPUs): 2 of 3 jobs finished)")
    assert repr(result.jobs).startswith("Jobs(3 jobs: id, submit_s")
    assert result.warnings == []
    assert result.jobs_per_s == 6.0
    assert result.audit().ok


def test_a_result_is_whole_and_of_a_policy_that_does_not_see_the_truth_unless_said(result):
    made = Result(result.trace, result.cluster, result.spec, result.schedule, 0.0)
    assert (made.clairvoyant, made.is_partial, made.prediction) == (False, False, None)


def test_a_changed_summary_does_not_change_the_result(result):
    result.summary()["mean_jct_s"] = 0.0
    assert result.summary()["mean_jct_s"] == 5.5
