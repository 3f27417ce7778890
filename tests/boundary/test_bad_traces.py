"""Bad input ends in a counted reject or in an error that says where, what and why."""

import gzip
import io
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace
from tests.each import each

ITP = "job_id,submission_time,duration,num_gpu\na,0,10,1\nb,1,20,2\n"
ROW = "1 0 0 5 2 -1 -1 2 9 -1 1 1 1 1 1 1 -1 -1\n"
SWF = "; UnixStartTime: 0\n" + ROW
PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
GAVEL = "LM\tcmd\t--steps\t1\t1000\t0\t1\n"
JOB = (
    '{"status": "Pass", "vc": "v", "jobid": "j", "user": "u", "attempts": [{"start_time": '
    '"2017-10-09 07:01:00", "end_time": "2017-10-09 07:01:30", "detail": [{"ip": "m", "gpus": '
    '["gpu0"]}]}], "submitted_time": "2017-10-09 07:00:00"}'
)


def columns(**changes: Any) -> dict[str, Any]:
    return {"submit_s": [0, 1, 2], "service_s": [1, 2, 3], "gpus": [1, 8, 2], **changes}


@each(
    ("changes", "message"),
    [
        ({"service_s": [1, np.nan, 2]}, "row 1, column 'service_s': nan must be a finite number"),
        ({"service_s": [1, 2, np.inf]}, "row 2, column 'service_s': inf must be a finite number"),
        ({"service_s": [0, 1, 2]}, "row 0, column 'service_s': 0 must be positive"),
        ({"service_s": [1, -2.5, 2]}, "row 1, column 'service_s': -2.5 must be positive"),
        ({"service_s": [1, 2, 9.1e9]}, "'service_s': 9100000000.0 must be at most 9007199255 s"),
        ({"service_s": [1, 2, 10**40]}, "row 2, column 'service_s': 1e+40 must be at most"),
        ({"submit_s": [0, np.nan, 1]}, "row 1, column 'submit_s': nan must be a finite number"),
        ({"submit_s": [0, 1, -1]}, "row 2, column 'submit_s': -1 must not be negative"),
        ({"submit_s": [0, 1, 1e300]}, "'submit_s': 1e+300 must be at most 2305843009214 s"),
        ({"submit_s": [0, 1, 2**63 - 1]}, "'submit_s': 9223372036854775807 must be at most"),
        ({"submit_s": [0, 1, -(2**63)]}, "must not be negative"),
        ({"gpus": [1, 0, 2]}, "row 1, column 'gpus': 0 must be positive"),
        ({"gpus": [1, -8, 2]}, "row 1, column 'gpus': -8 must be positive"),
        ({"gpus": [1, 1.5, 2]}, "row 1, column 'gpus': 1.5 must be a whole number"),
        ({"gpus": [1, 2, np.nan]}, "row 2, column 'gpus': nan must be a finite number"),
        ({"gpus": [1, 2, 2**31]}, "row 2, column 'gpus': 2147483648 must be at most 2147483647"),
        ({"weight": [1, 0, 1]}, "row 1, column 'weight': 0 must be positive"),
        ({"weight": [1, None, 1]}, "row 1, column 'weight': nan must be a finite number"),
        ({"status": ["ok", "banana", "ok"]}, "column 'status': 'banana' must be one of ok, failed"),
        ({"weight": [1, np.nan, 1]}, "row 1, column 'weight': nan must be a finite number"),
        ({"estimate_s": [1, 0, 1]}, "row 1, column 'estimate_s': 0 must be positive"),
        ({"estimate_s": [1, np.inf, 1]}, "row 1, column 'estimate_s': inf must be a finite number"),
        ({"restart_s": [1, -1, 1]}, "row 1, column 'restart_s': -1 must not be negative"),
        ({"checkpoint_s": [1, np.nan, 1]}, "row 1, column 'checkpoint_s': nan must be a finite"),
        ({"source_wait_s": [1, -1, 1]}, "row 1, column 'source_wait_s': -1 must not be negative"),
        ({"id": ["a", "b", "a"]}, "row 2, column 'id': 'a' must be unique, row 0 has it too"),
        ({"id": [7, 8, 7]}, "row 2, column 'id': 7 must be unique, row 0 has it too"),
    ],
)
def test_a_bad_value_names_row_column_value_and_rule(changes, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        Trace.from_columns(**columns(**changes))

    assert str(error.value).startswith("columns, row ")
    assert message in str(error.value)


@each(
    ("changes", "message"),
    [
        ({"id": [1.0, 2.0, 3.0]}, "column 'id' must hold integers or text, not float64"),
        ({"id": ["a", 1, "b"]}, "column 'id' must hold integers or text, not both"),
        ({"user": "ann"}, "column 'user' must hold one name per job, not 'ann'"),
        ({"gpu_types": "V100"}, "column 'gpu_types' must hold one entry per job, not 'V100'"),
        ({"gpu_types": [1, 2, 3]}, "column 'gpu_types' must hold text or collections of text"),
    ],
)
def test_a_wrong_kind_of_name_is_a_type_error(changes, message):
    with pytest.raises(TypeError, match=message):
        Trace.from_columns(**columns(**changes))


@each("column", ["service_s", "gpus", "id", "user", "weight", "gpu_types"])
def test_columns_of_another_length_are_named(column):
    values = ["T4", "T4"] if column == "gpu_types" else [1, 2]
    with pytest.raises(ValueError, match=f"column '{column}' has length 2, not 3"):
        Trace.from_columns(**columns(**{column: values}))


def test_a_trace_without_jobs_is_an_error():
    with pytest.raises(ValueError, match="columns: no jobs"):
        Trace.from_columns([], [], [])
    with pytest.raises(
        ValueError, match="no jobs; all 3 rows were rejected: gpus must be positive"
    ):
        Trace.from_columns(**columns(gpus=[0, 0, 0]), on_bad="reject")
    with pytest.raises(ValueError, match="on_bad: 'ignore' must be"):
        Trace.from_columns(**columns(), on_bad="ignore")


def test_a_duplicate_id_of_a_rejected_row_does_no_harm():
    trace = Trace.from_columns(**columns(id=["a", "a", "b"], gpus=[0, 1, 1]), on_bad="reject")

    assert trace.id.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="'a' must be unique"):
        Trace.from_columns(**columns(id=["a", "a", "b"]), on_bad="reject")


def test_a_schedule_that_would_overflow_the_time_type_is_refused():
    longest = 2**53 / 1e6
    fits = 511

    Trace.from_columns(np.zeros(fits), np.full(fits, longest), np.ones(fits))
    with pytest.raises(ValueError, match=r"'service_s': the last submit plus .* below 2\^62 us"):
        Trace.from_columns(np.zeros(fits + 1), np.full(fits + 1, longest), np.ones(fits + 1))


values = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.floats(), st.sampled_from([0, 1, -1, 2**53, 1e-7])
)


@given(st.lists(st.tuples(values, values, values), min_size=1, max_size=6))
def test_whatever_the_numbers_the_jobs_that_are_left_are_sound(rows):
    submit, service, gpus = (np.array([float(v) for v in column]) for column in zip(*rows))  # noqa: B905
    try:
        trace = Trace.from_columns(submit, service, gpus, on_bad="reject")
    except ValueError as error:
        assert "no jobs" in str(error)  # noqa: PT017 - either end is fine
        return

    assert len(trace) + trace.rejects.total == len(rows)
    assert (trace.submit_us >= 0).all()
    assert (trace.submit_us <= 2**61).all()
    assert (trace.service_us >= 1).all()
    assert (trace.service_us <= 2**53).all()
    assert (trace.gpus >= 1).all()
    assert (np.diff(trace.submit_us) >= 0).all()


def test_bad_values_in_a_csv_are_counted_or_raised_with_their_line(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(
        ITP
        + "c,2,ten,1\nd,x,10,1\ne,3,-1,1\nf,4,5,0\ng,5,5,1.5\nh,6,nan,1\ni,,1,1\nj,7,1e400,1\n"
        + "k,8,0x10,1\n"
    )

    trace = read_trace(path)

    assert trace.id.tolist() == ["a", "b"]
    assert trace.rejects.unit == "line"
    assert trace.rejects.first == {
        "duration must be a number": (4, 12),
        "submission_time must be a number": (5,),
        "duration must be positive": (6,),
        "num_gpu must be positive": (7,),
        "num_gpu must be a whole number": (8,),
        "duration must be a finite number": (9, 11),
        "submission_time must not be empty": (10,),
    }
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        read_trace(path, on_bad="error")
    assert str(error.value) == (
        f"{path}, line 4, column 'duration': 'ten' must be a number (and 8 more invalid rows)"
    )


def test_a_file_of_rejects_only_is_an_error_that_gives_the_reasons(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("job_id,submission_time,duration,num_gpu\na,0,0,1\nb,0,1,0\n")

    with pytest.raises(ValueError, match="no jobs; all 2 rows were rejected: duration must be"):
        read_trace(path)


def test_a_philly_time_that_is_none_is_a_reject_with_its_line(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(PHILLY + "2017-13-09 07:01:55,66.0,1,66.0,11cb48\n09.10.2017,6,1,6,a\n")

    trace = read_trace(path)

    assert trace.rejects.first == {"timestamp must be a time like 2017-10-09 07:01:55": (3, 4)}
    with pytest.raises(ValueError, match="line 3, column 'timestamp': '2017-13-09 07:01:55' must"):
        read_trace(path, on_bad="error")


def test_a_word_in_an_swf_log_is_a_reject_with_its_line(tmp_path):
    path = tmp_path / "a.swf"
    path.write_text(SWF + ROW.replace("1 0 0 5", "2 0 0 five"))

    assert read_trace(path).rejects.first == {"run_time must be a number": (3,)}


def npz_bytes(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def parquet_bytes(**data: Any) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(data).write_parquet(file)
    return file.getvalue()


DAMAGED = [
    ("bad.csv", ITP.replace("b,1,20,2", "b,1,20"), "line 3: 3 fields, but a row must have 4"),
    ("bad.csv", ITP.replace("b,1,20,2", "b,1,20,2,9"), "line 3: 5 fields, but a row must have 4"),
    ("bad.csv", ITP.replace("b,1", "b\r,1"),
     "line 3: a carriage return without a line feed must not"),
    ("bad.csv", ITP.replace("a,0,10,1", "\n\na,0"), "line 4: 2 fields, but a row must have 4"),
    ("bad.csv", ITP + 'c,2,"5,1\n', "line 4: unexpected end of data"),
    ("bad.csv", ITP.replace("b,1", "a,1"),
     "line 3, column 'job_id': 'a' must be unique, line 2 has it"),
    ("bad.csv", ITP.splitlines()[0] + "\n", "no jobs; the file has no row below its header"),
    ("bad.csv", "job_id,submission_time,duration\na,0,1\n",
     "column 'gpus' is missing; there are job_id"),
    ("bad.csv", "submit_s,gpus,gpus\n1,1,1\n", "line 1: column 'gpus' is named twice"),
    ("bad.csv", "\n\n", "no jobs; the file has no row below its header"),
    ("log.json", f"[\n{JOB},\n{JOB[:60]}", "line 3, character"),
    ("log.json", f"[{JOB}", "line 1, character 230: expected ','"),
    ("log.json", f"[\n{JOB}\n{JOB}\n]", "line 3, character 1: expected ','"),
    ("log.json", f"[{JOB}]\nmore", "line 2, character 1: text after the end of the array"),
    ("log.json", "[]", "no jobs; the array is empty"),
    ("log.json", f"[\n{JOB},\n\n  17]", "line 4: an entry must be an object"),
    ("log.json", f"[\n{JOB.replace('vc', 'cv')}]",
     "line 2, job 0: Object missing required field `vc`"),
    ("log.json", f"[\n{JOB.replace('[{', '[5, {', 1)}]",
     "line 2, job 0: Expected `object`, got `int` - at `$.attempts[0]`"),
    ("log.json", f"[{JOB}, {JOB}]",
     "line 1, column 'jobid': 'j' must be unique, line 1 has it too"),
    ("log.json", "{}", "no known format begins with '{}'"),
    ("a.swf", SWF + "2 1 0 5\n", "line 3: 4 fields, but a row must have 18"),
    ("a.swf", "; only a comment\n", "no jobs; the file has only comments"),
    ("a.swf", SWF + ROW, "line 3, column 'job': 1 must be unique, line 2 has it too"),
    ("a.trace", GAVEL + "LM\tcmd\n", "line 2: 2 fields, but a row must have 7"),
    ("a.csv", b"", "the file is empty"),
    ("a.csv", ITP.encode() + b"c,\xff,1,1\n", "line 4: byte 0xff must be UTF-8"),
    ("a.csv", ITP.encode() + b"c,\0,1,1\n", "line 4: a zero byte must not occur"),
    ("a.csv.gz", gzip.compress(ITP.encode(), mtime=0)[:-9], "truncated or damaged gzip"),
    ("a.parquet", parquet_bytes(**columns())[:-20], "truncated or damaged Parquet"),
    ("a.npz", npz_bytes(**columns())[:-40], "damaged NumPy file"),
    ("a.npz", npz_bytes(**columns(gpus=[1])), "must be equally long, not"),
    ("a.npz", npz_bytes(**columns(gpus=np.ones((3, 2)))), "'gpus' must be one-dimensional"),
    ("a.npz", npz_bytes(**columns(gpus=np.array([{}]))), "pickled objects"),
    ("a.npz", npz_bytes(), "must have named columns"),
    ("a.parquet", parquet_bytes(**columns(gpus=[True] * 3)), "'gpus' must hold num"),
    ("a.parquet", parquet_bytes(**columns(id=[1.5, 2, 3])), "'id' must hold integ"),
    ("a.parquet", parquet_bytes(a=[1]), "column 'submit_s' is missing"),
    ("a.parquet", parquet_bytes(submit_s=[], service_s=[], gpus=[]), ""),
]  # fmt: skip


@each(
    ("name", "data", "message"),
    named={f"{name}: {message}": (name, data, message) for name, data, message in DAMAGED},
)
def test_a_damaged_or_malformed_file_is_named_with_line_and_field(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    for on_bad in ("reject", "error"):
        with pytest.raises((ValueError, TypeError)) as error:
            read_trace(path, on_bad=on_bad)
        assert str(error.value).startswith(str(path))
        assert message in str(error.value)
