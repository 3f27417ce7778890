"""Values of a kind that a column cannot hold are refused by the column, the row and the rule."""

from __future__ import annotations

import io
from datetime import datetime
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import gpusched as gs
from gpusched.base.labels import Labels
from tests.each import each

COLUMNS: dict[str, Any] = {"submit_s": [0, 1], "service_s": [5, 6], "gpus": [1, 2]}
MASKED = np.ma.masked_array([1.0, 2.0], [False, True])


def made(**columns: Any) -> gs.Trace:
    return gs.Trace.from_columns(**(COLUMNS | columns))


@each(
    ("columns", "message"),
    [
        ({"service_s": [True, 2.0]}, "column 'service_s' must not mix booleans with other values"),
        ({"service_s": [1 + 2j, 2]}, "column 'service_s' must hold .*, not complex numbers"),
        ({"service_s": np.array([1, 2], "m8[M]")}, "column 'service_s' must hold durations in a"),
        ({"service_s": [[1, 2], [3]]}, "column 'service_s': "),
        ({"id": [1, "a"]}, "column 'id' must hold integers or text, not both"),
        ({"id": [1.5, 2.5]}, "column 'id' must hold integers or text, not float64"),
        ({"id": ["a", None]}, "column 'id', row 1: an id must not be missing"),
        ({"id": np.array([1.0, np.nan])}, "column 'id', row 1: an id must not be missing"),
        ({"id": np.ma.masked_array([1, 2], [1, 0])}, "column 'id', row 0: an id must not be"),
        ({"id": np.array([1, 2**63], np.uint64)}, "column 'id' must fit 64-bit signed integers"),
        ({"id": ["a", "a"]}, r"'a' must be unique, row 0 has it too"),
        ({"user": [{}, "a"]}, "column 'user' must hold text or integers, not dict {}"),
        ({"user": ["a"]}, "column 'user'"),
        ({"weight": [1, 0]}, "must be positive"),
        ({"weight": [1, float("inf")]}, "row 1, column 'weight': inf must be a finite number"),
        ({"status": ["done", "gone"]}, "'done' must be one of ok, failed, killed"),
        ({"submit_s": [0, 2.0**43]}, "column 'submit_s'"),
        ({"deadline_s": [1, 2.0**43]}, "column 'deadline_s'"),
        ({"submit_s": [datetime(2020, 1, 1), 3]}, "column 'submit_s' must hold"),
    ],
)
def test_a_column_of_another_kind_is_refused(columns, message):
    with pytest.raises((TypeError, ValueError), match=message):
        made(**columns)


def test_missing_and_masked_numbers_are_missing_however_they_are_written():
    for given in ([None, 7.0], np.ma.masked_array([0.0, 7.0], [1, 0]), [np.ma.masked, 7.0]):
        assert made(deadline_s=given).deadline_us.tolist()[1] == 7_000_000
        assert np.isnan(made(deadline_s=given).deadline_s[0])
    spans = [None, np.timedelta64(7, "s")]
    assert np.isnan(made(deadline_s=np.array(spans, "m8[s]")).deadline_s[0])


def test_durations_of_python_and_masked_ones_are_seconds():
    given = np.ma.masked_array(np.array([3, 4], "m8[m]"), [0, 0])
    assert made(service_s=given).service_us.tolist() == [180_000_000, 240_000_000]
    days = [np.timedelta64(1, "D").astype(object), np.timedelta64(2, "D").astype(object)]
    assert made(service_s=days).service_us.tolist() == [86_400_000_000, 172_800_000_000]


@pytest.mark.parametrize(
    ("codes", "error", "message"),
    [
        (np.ma.masked_array([0, 0], [0, 1]), ValueError, "label codes must not be masked"),
        ([0.5], TypeError, "label codes must be one row of integers, not float64"),
        ([[0]], TypeError, "label codes must be one row of integers"),
        ([0, 2], ValueError, r"label codes must lie in 0\.\.1"),
    ],
)
def test_codes_of_labels_must_be_of_names(codes, error, message):
    with pytest.raises(error, match=message):
        Labels(codes, ("a", "b"))


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (
            lambda frame: gs.Trace.from_polars(frame.lazy()),
            r"frame: expected a polars.DataFrame, not .*; call .collect\(\) first",
        ),
        (
            lambda frame: gs.Trace.from_polars(frame.to_pandas()),
            r"frame: expected a polars.DataFrame, not .*from_pandas",
        ),
        (
            lambda frame: gs.Trace.from_pandas([1]),
            "frame: expected a pandas.DataFrame, not builtins.list",
        ),
        (
            lambda frame: gs.Trace.from_pandas(pandas.DataFrame([[1, 2]], columns=["a", "a"])),
            "frame: there are two columns 'a'",
        ),
    ],
)
def test_what_is_no_frame_says_what_is_one(read, message):
    frame = polars.DataFrame(COLUMNS)
    with pytest.raises((TypeError, ValueError), match=message):
        read(frame)


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


ROWS = np.array([(0, 5, 1)], [("submit_s", "f8"), ("service_s", "f8"), ("gpus", "i4")])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npz(**{**COLUMNS, "gpus": [1]}), "the columns must be equally long, not submit_s 2"),
        (npy(np.arange(3)), "there must be named columns"),
        (npz(**{**COLUMNS, "gpus": [[1], [2]]}), "column 'gpus' must be one-dimensional"),
        (npy(np.array([object()])), "Object arrays cannot be loaded when allow_pickle=False"),
        (npy(ROWS)[:6] + b"\x09" + npy(ROWS)[7:], r"version \(9, 0\) of the format is not known"),
        (npy(ROWS)[:-1], r"19 bytes do not hold shape \(1,\)"),
        (npz(**COLUMNS)[:-30], "damaged NumPy file, or pickled objects"),
    ],
)
def test_a_numpy_file_that_is_no_table_is_refused(data, message, tmp_path):
    path = tmp_path / "jobs.npz"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"(?s)jobs.npz.*{message}"):
        gs.read_trace(path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("jobs.swf", "; Version: 2\n", "no jobs; the file has only comments"),
        ("cluster_job_log.json", "[]", "no jobs; the array is empty"),
        ("cluster_job_log.json", "[{},", "job 0: Object missing required field"),
        ("cluster_job_log.json", "[] x", "line 1, character 4: text after the end of the array"),
        ("jobs.csv", "submit_s,service_s,gpus\n0,5,1\r0,5,1\n", "a carriage return without a"),
        ("jobs.csv", "submit_s,service_s,gpus\n0,5\0,1\n", "line 2: a zero byte must not occur"),
        ("jobs.csv", 'submit_s,service_s,gpus\n"0\n",5\n', "line 2: "),
        ("jobs.csv", 'submit_s,service_s,gpus\n0,"5"x,1\n', "line 2: "),
    ],
)
def test_a_text_that_holds_no_table_is_refused_by_its_line(name, text, message, tmp_path):
    path = tmp_path / name
    path.write_text(text, newline="")
    with pytest.raises(ValueError, match=f"{name}.*{message}"):
        gs.read_trace(path, "philly-json" if name.endswith("json") else None)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ma.masked_array([True, False], [0, 1]), "filter: the mask must not be masked itself"),
        ([1, 0], "filter: the mask must hold booleans, not int64"),
    ],
)
def test_a_mask_of_another_kind_filters_nothing(mask, message):
    with pytest.raises((TypeError, ValueError), match=message):
        made().filter(mask)
