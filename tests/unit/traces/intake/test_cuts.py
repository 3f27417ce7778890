"""Parts of a trace: by time, by a condition in SQL, and by chance."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

import gpusched as gs
from tests.each import each

DATES = ["2024-05-01T09:00", "2024-05-01T10:00", "2024-05-02T09:00"]


def dated(zone: str = "") -> gs.Trace:
    return gs.Trace.from_columns([date + zone for date in DATES], [60] * 3, [1, 8, 4])


@each(
    ("start", "end", "gpus"),
    [
        ("2024-05-01T10:00", None, [8, 4]),
        (None, "2024-05-01T10:00", [1]),
        (datetime(2024, 5, 1, 9, 30), datetime(2024, 5, 2), [8]),
        ("2024-05-02", None, [4]),
        ("3600", 3601.0, [8]),
        (None, None, [1, 8, 4]),
    ],
)
def test_jobs_between_moments(start, end, gpus):
    assert dated().between(start, end).gpus.tolist() == gpus
    if isinstance(start, str) and "T" in start:
        zoned = dated("Z")
        assert zoned.between(start, end).gpus.tolist() == gpus
        assert zoned.between(f"{start}Z", end).gpus.tolist() == gpus
    moment = datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert dated("+00:00").between(moment).gpus.tolist() == [8, 4]


@each(
    ("trace", "limits", "message"),
    [
        (dated(), ("soon",), "from: 'soon' must be seconds, or a time like"),
        (dated(), ("2024-05-99",), "from: '2024-05-99' must be seconds, or a time like"),
        (dated(), ("2024-05-01T09:00Z",), "has dates without a zone"),
        (dated(), (5, 4), "to: 4 must not lie before 5"),
        (dated(), (float("nan"),), "from: nan must be a number of seconds"),
        (dated(), ("2025-01-01",), "no jobs are left"),
        (gs.Trace.from_columns([0], [1], [1]), ("2024-05-01",), "has seconds without a date"),
    ],
)
def test_limits_that_cannot_be_meant_are_refused(trace, limits, message):
    with pytest.raises(ValueError, match=message):
        trace.between(*limits)
    with pytest.raises(TypeError, match="from: True must be seconds"):
        trace.between(True)


def trace() -> gs.Trace:
    return gs.Trace.from_columns(
        [0, 1, 2, 3], [10, 20, 30, 40], [1, 8, 8, 16], user=["x", "x", "y", "z"],
        estimate_s=[1, float("nan"), 5, 9],
    )  # fmt: skip


@each(
    ("condition", "rows"),
    [
        ("gpus >= 8 and user != 'x'", [2, 3]),
        ("user = 'x'", [0, 1]),
        ("user in ('user', 'y')", [2]),
        ("\"user\" like 'x%' or gpus = 16", [0, 1, 3]),
        ("estimate_s > 1", [2, 3]),
        ("estimate_s is null", [1]),
        ("service_s * gpus between 100 and 250", [1, 2]),
        ("abs(gpus) = 1", [0]),
        ("1 = 1", [0, 1, 2, 3]),
    ],
)
def test_a_condition_in_sql_chooses_jobs(condition, rows):
    taken = trace().filter(condition)
    assert taken.row.tolist() == rows
    assert taken.source == f"columns; filtered by {condition}"


@pytest.mark.parametrize("column", ["user", "queue", "group", "status"])
def test_a_column_that_this_trace_does_not_have_is_named(column):
    bare = gs.Trace.from_columns([0, 1], [10, 20], [1, 8])
    with pytest.raises(ValueError, match=f"filter: there is no column '{column}'"):
        bare.filter(f"gpus >= 8 and {column} != 'x'")


@each(
    ("condition", "message"),
    [
        ("gpu > 1", r"filter: there is no column 'gpu'; did you mean 'gpus'\?"),
        ("gpus > > 1", "filter: 'gpus > > 1' cannot be read"),
        ("gpus", "filter: 'gpus' must be a condition"),
        ("", "cannot be read"),
        ("gpus > 99", "no jobs are left"),
        ("user > 3", "cannot be read"),
        ("gpus > 1; drop table jobs", "cannot be read"),
    ],
)
def test_what_is_no_condition_is_refused(condition, message):
    with pytest.raises(ValueError, match=message):
        trace().filter(condition)


def test_a_sample_is_about_that_part_and_the_same_again():
    whole = gs.generate("philly", 5_000, seed=1)
    tenth = whole.sample(0.1, seed=3)
    assert 400 < len(tenth) < 600
    assert tenth.row.tolist() == whole.sample(0.1, seed=3).row.tolist()
    assert tenth.row.tolist() != whole.sample(0.1, seed=4).row.tolist()
    assert set(tenth.row.tolist()) <= set(whole.sample(0.3, seed=3).row.tolist())
    # What is drawn for a job does not depend on the others.
    half = whole.head(2_500)
    kept = set(half.sample(0.1, seed=3).row.tolist())
    assert kept == set(tenth.row.tolist()) & set(half.row.tolist())
    assert tenth.source.endswith("; 0.1 of the jobs drawn (seed 3)")
    assert len(whole.sample(1.0)) == len(whole)


@pytest.mark.parametrize("fraction", [0, -1, 1.5, float("nan")])
def test_a_sample_is_a_part(fraction):
    with pytest.raises(ValueError, match="must be above 0 and at most 1"):
        trace().sample(fraction)
    with pytest.raises(TypeError, match="sample: '1' must be a number"):
        trace().sample("1")


def test_a_part_can_begin_at_0_again():
    late = dated().between("2024-05-01T10:00").rebased()
    assert late.submit_s.tolist() == [0, 23 * 3600]
    assert late.epoch == datetime(2024, 5, 1, 10)
    assert late.origin_s == dated().origin_s + 3600
    due = gs.Trace.from_columns([5, 9], [1, 1], [1, 1], deadline_s=[8, np.nan]).rebased()
    assert due.deadline_us is not None
    assert due.deadline_us.tolist() == [3_000_000, -1]
    assert due.rebased() is due
