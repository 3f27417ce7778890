"""CSV, Parquet and NumPy files whose columns the user names."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import polars as pl
import pytest

from gpusched.traces.reading import read_trace
from tests.unit.real_data import DATA, IS_REAL, counted

COLUMNS = {"submit_s": "t0", "service_s": "length", "gpus": "n"}


def test_a_csv_with_usual_names_needs_no_column_map():
    trace = read_trace(DATA / "peers" / "trace.csv")

    num_jobs = counted(real=1_000, excerpt=50)
    assert len(trace) == num_jobs
    assert trace.id.tolist() == list(range(num_jobs))
    assert trace.user is not None
    if IS_REAL:
        assert (trace.service_s[0], trace.gpus[0]) == (168, 1)
        assert trace.user[0] == "u21"


def test_a_column_map_names_the_columns_of_every_kind_of_file(tmp_path):
    (tmp_path / "a.csv").write_text("n,length,t0,who\n1,2.5,10,ann\n8,1,4,bob\n")
    frame = pl.read_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    arrays = {name: frame[name].to_numpy() for name in ("n", "length", "t0")}
    np.savez(tmp_path / "a.npz", **arrays, who=np.array(["ann", "bob"]))
    np.save(
        tmp_path / "a.npy",
        np.array(
            [(1, 2.5, 10, "ann"), (8, 1.0, 4, "bob")],
            dtype=[("n", "i4"), ("length", "f8"), ("t0", "i8"), ("who", "U3")],
        ),
    )
    (tmp_path / "a.tsv").write_text((tmp_path / "a.csv").read_text().replace(",", "\t"))

    for ending in ("csv", "tsv", "parquet", "npz", "npy"):
        trace = read_trace(tmp_path / f"a.{ending}", columns={**COLUMNS, "user": "who"})
        assert trace.submit_us.tolist() == [0, 6_000_000]
        assert trace.service_us.tolist() == [1_000_000, 2_500_000]
        assert trace.gpus.tolist() == [8, 1]
        assert trace.user is not None
        assert trace.user.values().tolist() == ["bob", "ann"]
        assert trace.row.tolist() == ([3, 2] if ending in ("csv", "tsv") else [1, 0])


def test_wall_clock_times_of_submission_are_understood(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("submit,duration,gpus\n2024-02-29 00:00:10,5,1\n2024-02-28 23:59:50,5,1\n")
    pl.read_csv(path, try_parse_dates=True).write_parquet(tmp_path / "a.parquet")

    for trace in (read_trace(path), read_trace(tmp_path / "a.parquet")):
        assert trace.submit_us.tolist() == [0, 20_000_000]
        assert trace.epoch == datetime(2024, 2, 28, 23, 59, 50)


def test_quoted_fields_may_hold_separators_quotes_and_line_ends(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        'id,submit_s,"service_s",gpus,user\n'
        '"a, b",0,1,1,"x"\n'
        'c,1,1,1,"says ""hi"""\n'
        "\n"
        'd,2,1,1,"two\nlines"\n'
        'e,3,0,1,""\n'
    )

    trace = read_trace(path)

    assert trace.id.tolist() == ["a, b", "c", "d"]
    assert trace.row.tolist() == [2, 3, 5]
    assert trace.user is not None
    assert trace.user.values().tolist() == ["x", 'says "hi"', "two\nlines"]
    assert trace.rejects.first == {"service_s must be positive": (7,)}


def test_simply_quoted_files_read_like_unquoted_ones(tmp_path):
    plain = "id,submit_s,service_s,gpus,user\na,0,1.25,1,x\nb,1,2,3,\n"
    quoted = '"id",submit_s,service_s,gpus,"user"\n"a",0,"1.25",1,x\nb,1,2,"3",""\n'
    (tmp_path / "plain.csv").write_text(plain)
    (tmp_path / "quoted.csv").write_text(quoted)

    read = [read_trace(tmp_path / f"{name}.csv") for name in ("plain", "quoted")]

    assert read[0].to_polars().equals(read[1].to_polars())


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path):
    text = "id,submit_s,service_s,gpus,user\r\n1,0,1.25,1,x\r\n2,1,2,3,y\r\n"
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())

    trace = read_trace(tmp_path / "a.csv")

    assert trace.row.tolist() == [2, 3]
    assert trace.user is not None
    assert trace.user.names == ("x", "y")


def test_blank_lines_are_no_rows_but_count_as_lines(tmp_path):
    (tmp_path / "a.csv").write_text("submit_s,service_s,gpus\n\n0,1,1\n\n\n1,1,1\n\n")

    assert read_trace(tmp_path / "a.csv").row.tolist() == [3, 6]


def test_ids_stay_text_unless_all_are_plain_integers(tmp_path):
    for ids, expected in ((["7", "-3"], [7, -3]), (["7", "007"], ["7", "007"])):
        rows = "".join(f"{name},{i},1,1\n" for i, name in enumerate(ids))
        (tmp_path / "a.csv").write_text("id,submit_s,service_s,gpus\n" + rows)
        assert read_trace(tmp_path / "a.csv").id.tolist() == expected


def test_an_empty_estimate_means_none_and_an_empty_duration_is_a_reject(tmp_path):
    (tmp_path / "a.csv").write_text(
        "submit_s,service_s,gpus,estimate_s,gpu_types\n0,1,1,,V100|T4\n1,,1,5,\n2,1,1,5,T4\n"
    )

    trace = read_trace(tmp_path / "a.csv")

    assert trace.estimate_us is not None
    assert trace.estimate_us.tolist() == [-1, 5_000_000]
    assert trace.allowed_types == [("T4", "V100"), ("T4",)]
    assert trace.rejects.first == {"service_s must not be empty": (3,)}


def test_the_map_must_name_columns_that_exist_on_both_sides(tmp_path):
    (tmp_path / "a.csv").write_text("t0,length,n\n0,1,1\n")

    with pytest.raises(ValueError, match=r"unknown name 'submits'; did you mean 'submit_s'\?"):
        read_trace(tmp_path / "a.csv", columns={"submits": "t0"})
    with pytest.raises(ValueError, match=r"a.csv: no column 'lengths' .*; did you mean 'length'\?"):
        read_trace(tmp_path / "a.csv", columns={**COLUMNS, "service_s": "lengths"})
    with pytest.raises(ValueError, match=r"a.csv: column 'gpus' is missing; there are t0, length"):
        read_trace(tmp_path / "a.csv", columns={"submit_s": "t0", "service_s": "length"})
