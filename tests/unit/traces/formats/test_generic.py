"""CSV, Parquet and NumPy files whose columns the user names, whole and damaged."""

import io
import re
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.traces.reading import read_trace, write_trace
from gpusched.traces.workload import Trace
from tests.each import each
from tests.fuzz.whole_files import parquets
from tests.unit.real_data import DATA, IS_REAL, counted

COLUMNS = {"submit_s": "t0", "service_s": "length", "gpus": "n"}


def test_a_csv_with_usual_names_needs_no_column_map():
    trace = read_trace(DATA / "peers" / "trace.csv")
    num_jobs = counted(real=1_000, excerpt=50)
    assert len(trace) == num_jobs
    assert trace.id.tolist() == list(range(num_jobs))
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
    assert trace.user.values().tolist() == ["x", 'says "hi"', "two\nlines"]
    assert trace.rejects.first == {"service_s must be positive": (7,)}


def test_simply_quoted_files_read_like_unquoted_ones(tmp_path):
    plain = "id,submit_s,service_s,gpus,user\na,0,1.25,1,x\nb,1,2,3,\n"
    quoted = '"id",submit_s,service_s,gpus,"user"\n"a",0,"1.25",1,x\nb,1,2,"3",""\n'
    (tmp_path / "plain.csv").write_text(plain)
    (tmp_path / "quoted.csv").write_text(quoted)
    read = [read_trace(tmp_path / f"{name}.csv") for name in ("plain", "quoted")]
    assert read[0].to_polars().equals(read[1].to_polars())


@each(
    ("text", "rows"),
    [
        (b"\xef\xbb\xbfsubmit_s,service_s,gpus,user\r\n0,1.25,1,x\r\n1,2,3,y\r\n", [2, 3]),
        (b"submit_s,service_s,gpus\n\n0,1,1\n\n\n1,1,1\n\n", [3, 6]),
    ],
)
def test_marks_line_ends_of_windows_and_blank_lines_are_no_rows_but_count_as_lines(
    tmp_path, text, rows
):
    (tmp_path / "a.csv").write_bytes(text)
    trace = read_trace(tmp_path / "a.csv")
    assert trace.row.tolist() == rows
    assert trace.user is None or trace.user.names == ("x", "y")


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
    assert trace.estimate_us.tolist() == [-1, 5_000_000]
    assert trace.allowed_types == [("T4", "V100"), ("T4",)]
    assert trace.rejects.first == {"service_s must not be empty": (3,)}


@each(
    ("columns", "message"),
    [
        ({"submits": "t0"}, r"unknown name 'submits'; did you mean 'submit_s'\?"),
        ({**COLUMNS, "service_s": "lengths"}, r"no column 'lengths' .*; did you mean 'length'\?"),
        (
            {"submit_s": "t0", "service_s": "length"},
            "column 'gpus' is missing; there are t0, length",
        ),
    ],
)
def test_the_map_must_name_columns_that_exist_on_both_sides(tmp_path, columns, message):
    (tmp_path / "a.csv").write_text("t0,length,n\n0,1,1\n")
    with pytest.raises(ValueError, match=message):
        read_trace(tmp_path / "a.csv", columns=columns)


NUM_ROWS = 100


def written(**options: Any) -> bytes:
    file = io.BytesIO()
    ones = [1] * NUM_ROWS
    frame = pl.DataFrame({"submit_s": range(NUM_ROWS), "service_s": ones, "gpus": ones})
    frame.write_parquet(file, compression="uncompressed", **options)
    return file.getvalue()


def refused(data: bytes) -> str:
    with pytest.raises(ValueError, match="<stream>: truncated or damaged Parquet") as error:
        gs.read_trace(io.BytesIO(data), format="parquet")
    return str(error.value)


WHOLE = written()
# A page begins with its type, its two sizes, and a structure whose first field counts values.
_NUMBER = rb"([\x80-\xff]*[\x00-\x7f])"
PAGE = re.compile(rb"\x15\x00\x15" + _NUMBER + rb"\x15" + _NUMBER + rb"\x2c\x15" + _NUMBER)
ENTRIES = re.compile(rb"\x15\x04\x15" + _NUMBER + rb"\x15" + _NUMBER + rb"\x4c\x15" + _NUMBER)
SIZE, PACKED, COUNT = 1, 2, 3


def varint(number: int) -> bytes:
    coded = number << 1 if number >= 0 else (-number << 1) - 1
    made = b""
    while coded > 127:
        made, coded = made + bytes([coded & 127 | 128]), coded >> 7
    return made + bytes([coded])


def changed(part: int, number: int, page: re.Pattern[bytes] = PAGE) -> bytes:
    """Write another number into the head of the first page of a kind."""
    data = WHOLE
    found = page.search(data)
    assert found is not None
    begin, end = found.span(part)
    made = varint(number)
    if len(made) > end - begin:
        # What is longer takes its room from the page, so that nothing else moves.
        last = found.end()
        return data[:begin] + made + data[end:last] + data[last + len(made) - end + begin :]
    while len(made) < end - begin:
        made = made[:-1] + bytes([made[-1] | 128, 0])
    return data[:begin] + made + data[end:]


@each("name", sorted(parquets()))
def test_whole_files_of_every_kind_are_read(name):
    assert len(gs.read_trace(io.BytesIO(parquets()[name]))) > 0


@each(
    ("part", "number", "page"),
    [
        (COUNT, 2**31 - 1, PAGE), (COUNT, 2**31, PAGE),
        (SIZE, -1, PAGE), (SIZE, 2**31 - 1, PAGE),
        (PACKED, -1, PAGE), (PACKED, 2**31 - 1, PAGE),
        (COUNT, -1, ENTRIES), (COUNT, 2**31 - 1, ENTRIES), (SIZE, 2**31 - 1, ENTRIES),
    ],
)  # fmt: skip
def test_a_page_or_a_dictionary_that_says_more_than_can_be_is_refused(part, number, page):
    refused(changed(part, number, page))


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"PAR1", "the end of the file is missing"),
        (WHOLE[:-1], "the end of the file is missing"),
        (WHOLE[:-8] + b"\xff\xff\xff\x7fPAR1", "its footer is longer than the file"),
        (WHOLE[:-8] + b"\x03\x00\x00\x00PAR1", ""),
    ],
)
def test_a_file_without_a_footer_is_refused(data, rule):
    assert rule in refused(data)


def whole_trace() -> Trace:
    return Trace.from_columns(
        submit_s=[0, 1.000001, 7], service_s=[0.1, 123_456.654321, 3], gpus=[1, 8, 128],
        id=["a", "b,c", "d"], user=["ann", "", "bob"], queue=["q", "q", "p"], group=["x", "y", "x"],
        status=["ok", "failed", "killed"], estimate_s=[np.nan, 4, 5], weight=[1, 2, 0.5],
        gpu_types=["V100", "", "T4|V100"], checkpoint_s=[0, 1, 2], restart_s=[3, 0, 0],
        source_wait_s=[0, np.nan, 9], gpu_share=[0.25, 1, 1], cpu=[1.5, 0, 96],
        memory_gib=[0.5, 0, 512], deadline_s=[0.5, np.nan, 7.000001], value=[1, 2, 0.5],
        min_gpus=[1, 2, 128], max_gpus=[np.nan, 16, 128], epoch=datetime(2024, 1, 1),
    )  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_all_columns_come_back_exactly(tmp_path, ending):
    trace = whole_trace()
    path = tmp_path / f"a.{ending}"
    write_trace(trace, path)
    back = read_trace(path)
    assert back.to_polars().drop("row").equals(trace.to_polars().drop("row"))
    assert back.submit_us.tolist() == trace.submit_us.tolist()
    assert back.service_us.tolist() == trace.service_us.tolist()
    assert back.type_sets == trace.type_sets
    assert back.epoch == trace.epoch


def test_swf_keeps_whole_seconds_and_turns_names_into_numbers(tmp_path):
    with pytest.warns(UserWarning, match="SWF") as said:
        write_trace(whole_trace(), tmp_path / "a.swf")
    told = "\n".join(str(warning.message) for warning in said)
    assert "SWF has no names: user, group, queue became numbers" in told
    left_out = "checkpoint_s, restart_s, weight, gpu_share, cpu, memory_gib, value, min_gpus, "
    left_out += "deadline_s, max_gpus, gpu_types"
    assert f"SWF has no field for {left_out}: left out" in told
    back = read_trace(tmp_path / "a.swf")

    assert back.submit_s.tolist() == [0, 1, 7]
    assert back.service_s.tolist() == [1, 123_457, 3]
    assert back.gpus.tolist() == [1, 8, 128]
    assert back.id.tolist() == [1, 2, 3]
    assert back.epoch.replace(tzinfo=None) == datetime(2024, 1, 1)
    assert back.user.values().tolist() == ["1", "", "3"]
    assert back.status.values().tolist() == ["ok", "failed", "killed"]
    assert back.estimate_us.tolist() == [-1, 4_000_000, 5_000_000]
    assert back.source_wait_us.tolist() == [0, -1, 9_000_000]


def test_the_format_may_differ_from_the_ending_and_an_unknown_one_suggests_the_nearest(tmp_path):
    write_trace(whole_trace(), tmp_path / "jobs.txt", format="npz")
    assert len(read_trace(tmp_path / "jobs.txt", format="numpy")) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.txt"]
    with pytest.raises(ValueError, match=r"unknown format 'parquets'; did you mean 'parquet'\?"):
        write_trace(whole_trace(), tmp_path / "a.parquets")


@each("mark", [";", "\t", "|"])
def test_fields_may_be_separated_by_other_marks(mark, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(
        "\n".join(row.replace(",", mark) for row in ("submit_s,service_s,gpus", "0,60,2"))
    )
    trace = gs.read_trace(path)
    assert (trace.service_s.tolist(), trace.gpus.tolist()) == ([60], [2])
    assert any("fields are separated by" in note for note in trace.notes) == (mark != "\t")


@each(
    ("name", "text", "seconds"),
    [
        ("wall", "2:00:00", 7200), ("wall", "1-02:00:30", 93_630), ("wall", "7200", 7200),
        ("run_hours", "1.5", 5400), ("run_min", "90", 5400), ("run_ms", "5000", 5),
        ("wall (h)", "2", 7200), ("days", "2", 2),
    ],
)  # fmt: skip
def test_a_duration_has_the_unit_of_its_name_or_is_a_clock_time(name, text, seconds, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit_s,{name},gpus\n0,{text},2\n")
    trace = gs.read_trace(path, columns={"service_s": name})
    assert trace.service_s.tolist() == [seconds]
    assert any(f"from {name!r} (x " in note for note in trace.notes) == ("_" in name or "(" in name)


def test_submissions_have_the_unit_of_their_name_too(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("submit_ms,service_s,gpus\n0,60,2\n2500,60,2\n")
    trace = gs.read_trace(path, columns={"submit_s": "submit_ms"})
    assert trace.submit_s.tolist() == [0, 2.5]
    assert trace.notes == ("understood: submit_s from 'submit_ms' (x 0.001)",)


@each("text", ["2:00", "2h", "1:2:3:4", "-1:00:00"])
def test_a_duration_that_can_be_read_in_two_ways_is_no_number(text, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit_s,service_s,gpus\n0,{text},2\n0,60,1\n")
    trace = gs.read_trace(path, on_bad="reject")
    assert (len(trace), trace.rejects.total) == (1, 1)


def test_a_column_may_be_calculated_of_others(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,hours,nodes,gpus_per_node,x\n0,1.5,2,4,a\n5,0.5,many,4,b\n")
    columns = {"gpus": "nodes * gpus_per_node", "service_s": "hours*3600"}
    trace = gs.read_trace(path, columns=columns, on_bad="reject")
    assert (trace.gpus.tolist(), trace.service_s.tolist()) == ([8], [5400])
    assert trace.rejects.total == 1
    assert any(note == "columns not used: x" for note in trace.notes)


@each(
    ("text", "why"),
    [
        ("nodes * cards", "no column 'cards'"),
        ("node-s", "no column 'node-s' for gpus; did you mean 'nodes'"),
        ("nodes **", "cannot be calculated"),
        ("2 * 3", "no column in it"),
        ("SUM(nodes) * -", "cannot be calculated"),
    ],
)
def test_what_cannot_be_calculated_is_named(text, why, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,service_s,nodes\n0,60,2\n")
    with pytest.raises(ValueError, match=why):
        gs.read_trace(path, columns={"gpus": text})
