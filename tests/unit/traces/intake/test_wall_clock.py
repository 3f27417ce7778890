"""ISO 8601 times in files and frames: each spelling is the same moment, or a named error."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gpusched as gs
from tests.each import each

NAIVE = datetime(2024, 5, 1, 9)
AWARE = NAIVE.replace(tzinfo=UTC)


def read(tmp_path: Path, *submits: str) -> gs.Trace:
    path = tmp_path / "a.csv"
    rows = "".join(f"{submit},60,1\n" for submit in submits)
    path.write_text(f"submit_s,service_s,gpus\n{rows}")
    return gs.read_trace(path)


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-01 09:00:00", "2024-05-01T09:00:00", "2024-05-01T09:00", "2024-05-01 09:00:00.0",
        "2024-05-01T09:00:00.000000000",
    ],
)  # fmt: skip
def test_naive_times_stay_as_they_stand(tmp_path, text):
    trace = read(tmp_path, text, "2024-05-01 09:00:00.25")
    assert trace.epoch == NAIVE
    assert trace.submit_us.tolist() == [0, 250_000]


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-01T09:00:00Z", "2024-05-01 09:00:00z", "2024-05-01T09:00Z",
        "2024-05-01T11:00:00+02:00", "2024-05-01T11:00:00+0200", "2024-05-01T11:00:00+02",
        "2024-05-01 01:30:00.000-07:30", "2024-05-01 11:00:00 +02:00",
    ],
)  # fmt: skip
def test_zones_and_offsets_are_honoured(tmp_path, text):
    trace = read(tmp_path, text, "2024-05-01T12:00:01+03:00")
    assert trace.epoch == AWARE
    assert trace.submit_us.tolist() == [0, 1_000_000]


def test_a_bare_date_is_its_midnight(tmp_path):
    trace = read(tmp_path, "2024-05-01", "2024-05-02", "2024-05-01 00:00:05")
    assert trace.epoch == datetime(2024, 5, 1)
    assert trace.submit_us.tolist() == [0, 5_000_000, 86_400_000_000]


def test_times_with_and_without_a_zone_are_not_mixed(tmp_path):
    with pytest.raises(ValueError, match=r"'submit_s': times with a zone \(line 3\) and without"):
        read(tmp_path, "2024-05-01T09:00:00", "2024-05-01T09:00:00Z")
    path = tmp_path / "b.csv"
    path.write_text(
        "submit_s,service_s,gpus,deadline_s\n2024-05-01T09:00:00Z,60,1,2024-05-01T10:00:00\n"
    )
    with pytest.raises(
        ValueError, match="'submit_s' has times with a zone and column 'deadline_s'"
    ):
        gs.read_trace(path)


@pytest.mark.parametrize(
    "text", ["2024-02-30 09:00:00", "0000-01-01 00:00:00", "2024-05-01 25:00:00", "soon", ""]
)
def test_what_is_no_time_is_a_rejected_row(tmp_path, text):
    trace = read(tmp_path, "2024-05-01 09:00:00", text)
    assert trace.rejects.first == {"submit_s must be a time like 2017-10-09 07:01:55": (3,)}


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_what_polars_writes_is_read_back(tmp_path, unit, zone):
    moments = [NAIVE, NAIVE + timedelta(milliseconds=1500)]
    submit = pl.Series(moments, dtype=pl.Datetime(unit))
    if zone is not None:
        submit = submit.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    frame = pl.DataFrame({"submit_s": submit, "service_s": [60, 60], "gpus": [1, 1]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    made = [gs.read_trace(tmp_path / f"a.{ending}") for ending in ("csv", "parquet")]
    made += [gs.Trace.from_polars(frame), gs.Trace.from_pandas(frame.to_pandas())]
    for trace in made:
        assert trace.epoch == (NAIVE if zone is None else AWARE)
        assert trace.submit_us.tolist() == [0, 1_500_000]
        assert trace.origin_s == (AWARE - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()


DATES: dict[str, Callable[[list[datetime]], Any]] = {
    "list": list,
    "texts": lambda v: [moment.isoformat() for moment in v],
    "NumPy texts": lambda v: np.array([moment.isoformat() for moment in v]),
    "NumPy": lambda v: np.array(v, "M8[s]"),
    "NumPy ns": lambda v: np.array(v, "M8[ns]"),
    "NumPy objects": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "pandas index": pd.DatetimeIndex,
    "pandas texts": lambda v: pd.Series([moment.isoformat() for moment in v]),
    "pandas Arrow": lambda v: pd.Series(v, dtype="timestamp[us][pyarrow]"),
    "Polars": pl.Series,
    "Polars texts": lambda v: pl.Series([moment.isoformat() for moment in v]),
    "Arrow": pa.array,
    "Arrow chunked": lambda v: pa.chunked_array([v[:1], v[1:]]),
}


@each("kind", DATES)
def test_dates_of_every_library_are_submit_times(kind):
    given = DATES[kind]([NAIVE + timedelta(seconds=5), NAIVE])
    trace = gs.Trace.from_columns(given, [60, 60], [1, 1])
    assert trace.epoch == NAIVE
    assert trace.submit_us.tolist() == [0, 5_000_000]
    assert trace.row.tolist() == [1, 0]


ZONED: dict[str, Callable[[list[datetime]], Any]] = {
    "list": list,
    "texts": lambda v: [moment.isoformat() for moment in v],
    "pandas": lambda v: pd.Series(v),
    "pandas index": lambda v: pd.DatetimeIndex(v),
    "Polars": lambda v: pl.Series(v, dtype=pl.Datetime("us", "UTC")),
    "Arrow": lambda v: pa.array(v, pa.timestamp("us", "UTC")),
}


@each("kind", ZONED)
def test_dates_with_a_zone_are_counted_in_utc(kind):
    moment = AWARE.astimezone(timezone(timedelta(hours=2)))
    given = ZONED[kind]([moment + timedelta(seconds=5), moment])
    trace = gs.Trace.from_columns(given, [60, 60], [1, 1])
    assert trace.epoch == AWARE
    assert trace.submit_us.tolist() == [0, 5_000_000]


def test_deadlines_are_dates_where_submissions_are():
    trace = gs.Trace.from_columns(
        [NAIVE, NAIVE], [60, 60], [1, 1], deadline_s=[NAIVE + timedelta(minutes=5), None]
    )
    assert trace.deadline_us.tolist() == [300_000_000, -1]
    with pytest.raises(TypeError, match=r"'deadline_s' .*; the submit times must be dates, too"):
        gs.Trace.from_columns([0, 0], [60, 60], [1, 1], deadline_s=[NAIVE, NAIVE])


def test_a_missing_date_is_an_error_that_names_the_row():
    for given in (
        [NAIVE, None],
        np.array([NAIVE, "NaT"], "M8[s]"),
        pd.Series([NAIVE, pd.NaT]),
        pl.Series([NAIVE, None]),
        pd.Series([AWARE, pd.NaT]),
        ["2024-05-01", None],
    ):
        with pytest.raises(ValueError, match=r"row 1, column 'submit_s': .* must be a time like"):
            gs.Trace.from_columns(given, [60, 60], [1, 1])


def test_dates_that_cannot_be_meant_are_refused():
    with pytest.raises(ValueError, match="with a zone and without must not be mixed"):
        gs.Trace.from_columns([NAIVE, AWARE], [60, 60], [1, 1])
    with pytest.raises(ValueError, match=r"with a zone .* and without"):
        gs.Trace.from_columns(["2024-05-01", "2024-05-01T09:00Z"], [60, 60], [1, 1])
    with pytest.raises(TypeError, match="must hold only dates"):
        gs.Trace.from_columns([NAIVE, 5], [60, 60], [1, 1])
    with pytest.raises(ValueError, match="years 1 to 9999"):
        gs.Trace.from_columns(np.array([2**40, 0], "M8[Y]"), [60, 60], [1, 1])
    with pytest.raises(ValueError, match="epoch: the dates in 'submit_s' have their own"):
        gs.Trace.from_columns([NAIVE, NAIVE], [60, 60], [1, 1], epoch=NAIVE)


def test_days_of_python_and_of_typed_files_are_dates(tmp_path):
    frame = pl.DataFrame({"submit_s": [date(2024, 5, 2), date(2024, 5, 1)]})
    frame = frame.with_columns(service_s=pl.lit(60), gpus=pl.lit(1))
    frame.write_parquet(tmp_path / "a.parquet")
    for trace in (
        gs.read_trace(tmp_path / "a.parquet"),
        gs.Trace.from_polars(frame),
        gs.Trace.from_columns(frame["submit_s"].to_list(), [60, 60], [1, 1]),
    ):
        assert trace.epoch == datetime(2024, 5, 1)
        assert trace.submit_us.tolist() == [0, 86_400_000_000]


def test_durations_in_a_typed_file_are_seconds(tmp_path):
    service = pl.Series([timedelta(seconds=1.5), timedelta(hours=2)])
    frame = pl.DataFrame({"submit_s": [timedelta(0), timedelta(1)], "service_s": service})
    frame.with_columns(gpus=pl.lit(1)).write_parquet(tmp_path / "a.parquet")
    trace = gs.read_trace(tmp_path / "a.parquet")
    assert trace.submit_us.tolist() == [0, 86_400_000_000]
    assert trace.service_us.tolist() == [1_500_000, 7_200_000_000]


def test_a_column_without_any_time_has_no_zone_to_agree_with(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("submit_s,service_s,gpus,deadline_s\n2024-05-01T09:00:00Z,60,1,\n")
    trace = gs.read_trace(path)
    assert trace.epoch == AWARE
    assert trace.deadline_us is None or trace.deadline_us.tolist() == [-1]
