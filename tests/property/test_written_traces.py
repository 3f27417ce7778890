"""A trace that is written and read again is equal in every column, in every format that has all."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.labels import STATUSES
from gpusched.traces.format_registry import trace_formats
from gpusched.traces.job_columns import JOB_COLUMNS, JobColumn
from gpusched.traces.writers import write_trace

WITH_ALL_COLUMNS = [
    name for name, known in trace_formats().items() if known.write and "columns" in known.options
]
# Text that a table may trip over; zeros at the end are no part of a text in NumPy.
TEXT = st.text(st.sampled_from('abé,;"|\t \n#0-.'), max_size=4) | st.text(
    st.characters(exclude_categories=["Cs", "Cc"]), max_size=4
)
LATEST_US = 2**49
BERLIN = ZoneInfo("Europe/Berlin")
EPOCHS = (None, datetime(2024, 3, 31), datetime(1969, 5, 1, 9, 0, 0, 7, BERLIN))


def seconds(low_us: int, high_us: int = LATEST_US) -> st.SearchStrategy[float]:
    return st.integers(low_us, high_us).map(lambda us: us / 1e6)


def one(column: JobColumn, job: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Draw what one job has in a column, that what the job has already allows."""
    gpus, submit_us = job.get("gpus", 1), round(job.get("submit_s", 0) * 1e6)
    if column.name == "gpu_share":
        return st.integers(1 if gpus == 1 else 1000, 1000).map(lambda milli: milli / 1000)
    if column.name == "status":
        return st.sampled_from(STATUSES)
    if column.name == "gpu_types":
        return st.lists(st.sampled_from(["A", "B", "C 1"]), max_size=2)
    if column.name == "checkpoint_write_s" and not job.get("checkpoint_every_s", 0) > 0:
        return st.just(0.0)
    if column.kind == "duration":
        return seconds(0 if column.least == 0 else 1)
    if column.kind == "moment":
        is_later = column.name in ("deadline_s", "cancel_at_s")
        found = seconds(submit_us + is_later, submit_us + LATEST_US)
        return found if column.infinite is None else found | st.just(float("inf"))
    if column.name == "gpus_per_node":
        return st.sampled_from([0, 1, gpus])
    if column.name == "requeue_back":
        return st.integers(0, 1)
    if column.kind == "whole":
        low, high = {"min_gpus": (1, gpus), "max_gpus": (gpus, 2**31 - 2)}.get(column.name, (1, 9))
        return st.integers(low, high)
    if column.kind == "amount":
        return st.integers(0, 2**30).map(lambda stored: stored / column.units)
    if column.kind == "number":
        least = 1e-300 if column.above == 0 else -1e300
        return st.floats(least, 1e300, allow_subnormal=False)
    return TEXT


@st.composite
def columns_of_jobs(draw: st.DrawFn) -> dict[str, list[Any]]:
    drawn = [
        column
        for column in JOB_COLUMNS.values()
        if column.kind not in ("id", "model") and (column.is_required or draw(st.booleans()))
    ]
    drawn.sort(key=lambda column: column.name not in ("gpus", "submit_s"))
    jobs = []
    for _ in range(draw(st.integers(1, 4))):
        job: dict[str, Any] = {}
        for column in drawn:
            may_miss = column.is_numeric and column.may_miss
            value = one(column, job) | st.just(float("nan")) if may_miss else one(column, job)
            job[column.name] = draw(value)
        jobs.append(job)
    columns = {column.name: [job[column.name] for job in jobs] for column in drawn}
    ids: st.SearchStrategy[Any] = st.integers(-(2**63), 2**63 - 1) | st.none()
    if draw(st.booleans()):  # texts of digits alone would be numbers
        ids = TEXT.map(lambda text: f"j{text}")
    names = draw(st.lists(ids, min_size=len(jobs), max_size=len(jobs), unique=True))
    return columns if None in names else columns | {"id": names}


@settings(max_examples=60)
@given(columns_of_jobs(), st.sampled_from(EPOCHS))
def test_a_trace_that_is_written_and_read_again_is_equal(
    columns: dict[str, Any], epoch: datetime | None
) -> None:
    trace = gs.Trace.from_columns(**columns, epoch=epoch).rebased()
    whole = trace.to_polars()
    assert trace.with_columns().to_polars().equals(whole)
    if len(trace) > 1:
        both = gs.Trace.concat([trace[:1], trace[1:]])
        assert both["submit_s"].equals(whole["submit_s"])
        assert both.to_polars().drop("row", "id").equals(whole.drop("row", "id"))
    for name in WITH_ALL_COLUMNS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"jobs.{trace_formats()[name].endings[0]}"
            write_trace(trace, path)
            again = gs.read_trace(path)
        assert not again.rejects
        assert again.epoch == trace.epoch
        before, after = trace.to_polars(), again.to_polars()
        for column in {*before.columns, *after.columns} - {"row"}:
            if column != "id" or "id" in columns:  # positions are counted anew
                assert after[column].to_list() == before[column].to_list(), (name, column)
        for stored in ("submit_us", "service_us"):
            assert np.array_equal(getattr(again, stored), getattr(trace, stored))


def test_the_formats_with_all_columns_are_found() -> None:
    assert {"csv", "numpy", "parquet"} <= set(WITH_ALL_COLUMNS)
