"""The cluster over time, tables of its events and jobs, against counting by hand and the log."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from gpusched import _core
from gpusched.reference import POLICIES
from gpusched.schedules.jobs_table import write_jobs
from gpusched.schedules.series import Series
from tests.each import each
from tests.examples import examples
from tests.reference.cases import SECOND, cases
from tests.unit.small_runs import job, simulated


@pytest.fixture(scope="module")
def result():
    """Four GPUs: job 0 runs 0-1 and 3-5, job 1 runs 1-3, job 2 2-3; job 3 is rejected."""
    return simulated([job(0, 3, 3), job(1, 2, 3), job(2, 1, 1), job(2, 1, 9)], [(4, "gpu")], "srtf")


def test_steps_of_a_small_schedule(result):
    series = result.series
    assert len(series) == 5
    assert series.to_polars().to_dict(as_series=False) == {
        "time_s": [0, 1, 2, 3, 5], "allocated_gpus": [3, 3, 4, 3, 0],
        "queue_jobs": [0, 1, 1, 0, 0], "queue_gpus": [0, 3, 3, 0, 0],
        "running_jobs": [1, 1, 2, 1, 0], "down_gpus": [0, 0, 0, 0, 0],
    }  # fmt: skip
    assert result.series is series is series.resample(5)
    with pytest.raises(ValueError, match="points must be at least 2, not 1"):
        series.resample(1)
    assert len(simulated([job(0, 1, 99)]).series) == 0  # nothing started


@given(st.sampled_from(POLICIES).flatmap(lambda policy: cases(policy, "first-fit")))
@examples(50)
def test_each_step_counts_the_log_at_its_instant(case):
    case = case.at(SECOND)
    result = simulated(
        case.jobs, case.servers, case.policy, "first-fit", policy_params=case.policy_params
    )
    rows, trace, schedule = result.intervals, result.trace, result.schedule
    for i, instant in enumerate(np.rint(result.series.time_s * SECOND).astype(int)):
        held = (rows["start_us"] <= instant) & (instant < rows["end_us"])
        running = set(rows["job"][held].tolist())
        waiting = [
            j
            for j in range(len(trace))
            if schedule.status[j] != 1
            and trace.submit_us[j] <= instant < schedule.finish_us[j]
            and j not in running
        ]
        assert result.series.running_jobs[i] == len(running)
        assert result.series.allocated_gpus[i] == sum(trace.gpus[list(running)])
        assert result.series.queue_jobs[i] == len(waiting)
        assert result.series.queue_gpus[i] == sum(trace.gpus[waiting])


def test_a_resampled_series_keeps_the_area_and_the_end():
    time_s = np.array([0.0, 1.0, 1.5, 4.0, 10.0])
    values = np.array([4, 0, 8, 2, 1])
    resampled = Series(time_s, values, values * 2, values, values, values).resample(3)
    assert resampled.time_s.tolist() == [0.0, 5.0, 10.0]
    assert resampled.allocated_gpus == pytest.approx([(4 + 20 + 2) / 5, 2, 1])
    assert resampled.queue_jobs == pytest.approx([2 * (4 + 20 + 2) / 5, 4, 2])


def test_a_long_log_is_counted_as_a_short_one_is():
    """2,000 intervals and more are sorted by digits; here all hold one GPU for a second."""
    submit_us = np.arange(5_000) * (SECOND // 4)
    job = np.arange(5_000)
    ones = np.ones(5_000, dtype=np.int64)
    time_us, allocated_gpus, queue_jobs, _, running_jobs = _core.cluster_series(
        submit_us=submit_us, gpus=ones.astype(np.int32), finish_us=submit_us + SECOND,
        status=np.zeros(5_000, np.uint8), job=job, start_us=submit_us,
        end_us=submit_us + SECOND, server=ones * 0, mask=ones.astype(np.uint64),
    )  # fmt: skip
    assert np.array_equal(time_us, np.arange(5_004) * (SECOND // 4))
    assert np.array_equal(running_jobs, np.r_[1:4, [4] * 4_997, 3:-1:-1])
    assert np.array_equal(allocated_gpus, running_jobs)
    assert not queue_jobs.any()


@each(
    ("changed", "message"),
    [
        ({"gpus": np.ones(3, np.int32)}, "gpus: must have 2 values, not 3"),
        ({"server": np.zeros(2, np.int64)}, "server: must have 1 values, not 2"),
        ({"submit_us": np.array([1, 0])}, r"submit_us\[1\]: 0 is before its predecessor"),
        ({"job": np.array([2])}, r"job\[0\]: unknown job 2 of 2"),
        ({"job": np.array([-1])}, r"job\[0\]: unknown job -1 of 2"),
    ],
)
def test_columns_that_cannot_be_counted_are_named(changed, message):
    columns = {
        "submit_us": np.array([0, 1]), "gpus": np.ones(2, np.int32),
        "finish_us": np.array([1, 2]), "status": np.zeros(2, np.uint8), "job": np.array([0]),
        "start_us": np.array([0]), "end_us": np.array([1]), "server": np.array([0]),
        "mask": np.array([1], np.uint64),
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        _core.cluster_series(**(columns | changed))


MOST = 2**63 - 1
PERCENTS = [50, 90, 99, 100]


def random_times(span: int, size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-span // 2, span - span // 2, size)


# 2,000 and more are sorted by digits: of a part of 24 bits, of two and of three.
@each("size", [0, 1, 1_999, 2_000, 5_000])
@each("span", [1, 7, 2**12, 2**24, 2**25, 2**45, 2**63])
def test_times_are_ordered_as_a_stable_sort_orders_them(size, span):
    time_us = random_times(span, size, seed=size)
    for times in (time_us, np.tile([MOST, -MOST - 1, 0, -1], 1_000)):
        assert np.array_equal(_core.time_order(times), np.argsort(times, kind="stable"))


def of_groups(times: list[int], groups: list[int], num_groups: int) -> Any:
    time_us = np.array(times, dtype=np.int64)
    order = _core.time_order(time_us)
    return _core.group_times(
        order=order, time_us=time_us[order], group=np.array(groups, dtype=np.int32),
        num_groups=num_groups, percents=PERCENTS,
    )  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 2)), max_size=40))
@examples(200)
def test_each_group_has_the_mean_and_the_nearest_ranks_of_its_times(jobs):
    count, mean_us, percentiles_us = of_groups([t for t, _ in jobs], [g for _, g in jobs], 3)
    for group in range(3):
        times = sorted(time for time, of in jobs if of == group)
        assert count[group] == len(times)
        if not times:
            assert math.isnan(mean_us[group])
            assert [row[group] for row in percentiles_us] == [-1] * len(PERCENTS)
            continue
        assert mean_us[group] == float(Fraction(sum(times), len(times)))
        for percent, row in zip(PERCENTS, percentiles_us, strict=True):
            assert row[group] == times[math.ceil(percent * len(times) / 100) - 1]


def test_a_mean_is_that_of_the_exact_sum():
    times = [2**62, 1, 2**62, 3]
    _, mean_us, _ = of_groups(times, [0, 0, 0, 0], 1)
    assert mean_us[0] == float(sum(times)) / 4


@each(
    ("changed", "message"),
    [
        ({"time_us": np.array([1])}, "time_us: must have one value per entry of order, 2, not 1"),
        ({"group": np.zeros(3, np.int32)}, "group: must have one value per entry of order, 2"),
        ({"group": np.array([0, 4], np.int32)}, r"group\[1\]: 4; it must be below 1"),
        ({"order": np.array([0, 2], np.uint32)}, r"order\[1\]: unknown job 2 of 2"),
        ({"percents": [50, 50]}, r"percents: must ascend within 1..100, not 50 after 50"),
        ({"percents": [0]}, r"percents: must ascend within 1..100, not 0 after 0"),
        ({"percents": [101]}, r"percents: must ascend within 1..100, not 101 after 0"),
    ],
)
def test_columns_that_do_not_fit_are_named(changed, message):
    given_columns: dict[str, object] = {
        "order": np.array([0, 1], np.uint32), "time_us": np.array([1, 2]),
        "group": np.zeros(2, np.int32), "num_groups": 1, "percents": [50],
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        _core.group_times(**(given_columns | changed))


def test_events_of_one_instant_stand_in_the_engines_order():
    # At 3 s: job 2 finishes, 3 and 4 arrive, 4 is rejected, 3 takes the GPUs of 0 and 1.
    jobs = [job(0, 10, 1), job(0, 10, 1), job(0, 3, 2), job(3, 1, 4), job(3, 1, 9)]
    events = simulated(jobs, [(4, "gpu")], "srtf", id=list("abcde")).events
    frame = events.to_polars()
    assert frame.columns == ["time_s", "kind", "job", "id", "gpus"]
    at_3 = [row[1:4] for row in frame.rows() if row[0] == 3.0]
    assert at_3 == [
        ("finish", 2, "c"),
        ("arrival", 3, "d"),
        ("arrival", 4, "e"),
        ("reject", 4, "e"),
        ("preempt", 0, "a"),
        ("preempt", 1, "b"),
        ("start", 3, "d"),
    ]
    assert [row[1:4] for row in frame.rows() if row[0] == 4.0] == [
        ("finish", 3, "d"),
        ("resume", 0, "a"),
        ("resume", 1, "b"),
    ]
    assert events.kind.tolist() == frame["kind"].to_list()
    assert events.time_s.tolist() == frame["time_s"].to_list()
    assert repr(events) == "Events(4 finish, 5 arrival, 1 reject, 2 preempt, 4 start, 2 resume)"


@given(st.sampled_from(POLICIES).flatmap(lambda policy: cases(policy, "consolidated")))
@examples(50)
def test_events_tell_the_life_of_each_job(case):
    case = case.at(SECOND)
    result = simulated(
        case.jobs, case.servers, case.policy, "consolidated", policy_params=case.policy_params
    )
    lives = {j: [] for j in range(len(result.trace))}
    free = result.cluster.num_gpus
    change = {"start": -1, "resume": -1, "preempt": 1, "finish": 1}
    for _, kind, j, _, gpus in result.events.to_polars().rows():
        lives[j].append(kind)
        free += change.get(kind, 0) * gpus
        assert 0 <= free <= result.cluster.num_gpus  # at each event, in their order
    for j, life in lives.items():
        if result.schedule.status[j] == 1:
            assert life == ["arrival", "reject"]
        else:
            assert life.count("resize") == result.schedule.resizes[j]
            again = ["preempt", "resume"] * int(result.schedule.preemptions[j])
            life = [kind for kind in life if kind != "resize"]
            assert life == ["arrival", "start", *again, "finish"]


FRAME = pl.DataFrame(
    {
        "policy": pl.Series(["fifo", "sjf", "fifo"], dtype=pl.Enum(["fifo", "sjf"])),
        "status": ["finished", "rejected", "unfinished"],
        "reason": ["", "", ""],
        "user": ["ann", None, "somebody whose name is long"],
        "wait_s": [0.5, None, 2.0],
    }
)


@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_a_file_reads_back_as_one_of_polars_own_does(rows, compression, tmp_path):
    path, plain = tmp_path / "frame.parquet", tmp_path / "plain.parquet"
    write_jobs(FRAME.head(rows), path, compression)
    FRAME.head(rows).write_parquet(plain)
    assert_frame_equal(pl.read_parquet(path), pl.read_parquet(plain))


def test_a_version_of_polars_that_takes_no_schema_writes_the_same(monkeypatch, tmp_path):
    write = pl.DataFrame.write_parquet

    def without_schema(self: pl.DataFrame, path: Path, *, compression: str) -> None:
        write(self, path, compression=compression)

    monkeypatch.setattr(pl.DataFrame, "write_parquet", without_schema)
    write_jobs(FRAME, tmp_path / "frame.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "frame.parquet"), FRAME)


def test_readers_of_arrow_find_texts(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    write_jobs(FRAME, tmp_path / "frame.parquet")
    texts = parquet.read_table(tmp_path / "frame.parquet")["reason"]
    assert texts.cast(pa.string()).to_pylist() == ["", "", ""]
