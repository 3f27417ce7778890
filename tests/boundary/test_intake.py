"""Every column in every container and type: taken exactly, or refused by name."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gpusched import Trace
from gpusched.traces.checked_columns import ALL, LABELS, NUMERIC
from tests.each import each

# What every numeric column allows in a trace of three jobs of two GPUs.
GOOD: dict[str, list[Any]] = {
    "submit_s": [0, 1, 2],
    "service_s": [3, 4, 5],
    "gpus": [2, 2, 2],
    "deadline_s": [10, 11, 12],
    "gpu_share": [1, 1, 1],
    "min_gpus": [1, 2, 1],
    "max_gpus": [2, 3, 4],
    "gpus_per_node": [1, 2, 1],
    "id": [7, 8, 9],
    "user": ["a", "b", "a"],
    "queue": ["a", "b", "a"],
    "group": ["a", "b", "a"],
    "status": ["ok", "failed", "killed"],
    **{
        label: ["a", "b", "a"]
        for label in ("partition", "account", "qos", "dependency", "array", "ran_on")
    },
    "cancel_at_s": [3, 4, 5],
    "gpu_types": ["A", "A|B", ""],
    "requeue_back": [1, 0, 1],
}
SECONDS = tuple(column for column in NUMERIC if column.endswith("_s"))
MAY_MISS = (
    "estimate_s", "predicted_s", "source_wait_s", "gpu_share", "cpu", "memory_gib", "deadline_s",
    "value", "min_gpus", "max_gpus", "time_limit_s", "eligible_s", "priority", "gpus_per_node",
    "checkpoint_every_s", "checkpoint_write_s", "max_requeues", "cancel_at_s", "array_limit",
    "nice", "requeue_back",
)  # fmt: skip

Container = Callable[[list[Any]], Any]


def good(column: str) -> list[Any]:
    return GOOD.get(column, [1, 2, 3])


def built(**changes: Any) -> Trace:
    columns: dict[str, Any] = {"submit_s": [0, 1, 2], "service_s": [3, 4, 5], "gpus": [2, 2, 2]}
    if "checkpoint_write_s" in changes:
        columns["checkpoint_every_s"] = [9, 9, 9]
    return Trace.from_columns(**columns | changes)


def same(one: Trace, other: Trace) -> bool:
    return one.to_polars().equals(other.to_polars(), null_equal=True)


def strided(values: list[Any]) -> np.ndarray:
    wide = np.zeros((len(values), 2), dtype=np.int64)
    wide[:, 0] = values
    return wide[:, 0]


NUMBERS: dict[str, Container] = {
    "list": list,
    "tuple": tuple,
    "floats": lambda v: [float(x) for x in v],
    **{
        f"NumPy {kind}": (lambda v, kind=kind: np.array(v, kind))
        for kind in ("i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8", ">i4", ">f8", "O")
    },
    "NumPy strided": strided,
    "NumPy backwards": lambda v: np.array(v[::-1])[::-1],
    "NumPy masked, no mask": lambda v: np.ma.array(v),
    "pandas": pd.Series,
    "pandas, odd index": lambda v: pd.Series(v, index=[5, 3, 9]),
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "pandas Float64": lambda v: pd.Series(v, dtype="Float64"),
    "pandas int64[pyarrow]": lambda v: pd.Series(v, dtype="int64[pyarrow]"),
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "Polars": pl.Series,
    "Polars UInt8": lambda v: pl.Series(v, dtype=pl.UInt8),
    "Polars Float32": lambda v: pl.Series(v, dtype=pl.Float32),
    "Arrow": pa.array,
    "Arrow chunked": lambda v: pa.chunked_array([v[:1], v[1:]]),
}

NULLS: dict[str, Container] = {
    "list": list,
    "NumPy object": lambda v: np.array(v, dtype=object),
    "NumPy NaN": lambda v: np.array([np.nan if x is None else x for x in v]),
    "NumPy masked": lambda v: np.ma.array([99 if x is None else x for x in v], mask=[0, 1, 0]),
    "list of masked": lambda v: [np.ma.masked if x is None else x for x in v],
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "pandas int64[pyarrow]": lambda v: pd.Series(v, dtype="int64[pyarrow]"),
    "pandas object": lambda v: pd.Series([pd.NA if x is None else x for x in v], dtype=object),
    "Polars": pl.Series,
    "Arrow": pa.array,
    "Arrow chunked": lambda v: pa.chunked_array([v[:1], v[1:]]),
}

DURATIONS: dict[str, Container] = {
    "list": list,
    "NumPy object": lambda v: np.array(v, dtype=object),
    **{
        f"NumPy {unit}": (lambda v, unit=unit: np.array(v, f"m8[{unit}]"))
        for unit in ("s", "ms", "us", "ns", "10ms")
    },
    "NumPy big-endian": lambda v: np.array(v, ">m8[us]"),
    "pandas": pd.Series,
    "pandas Arrow": lambda v: pd.Series(v, dtype="duration[us][pyarrow]"),
    "Polars": pl.Series,
    "Polars ns": lambda v: pl.Series(v, dtype=pl.Duration("ns")),
    "Arrow": pa.array,
    "Arrow seconds": lambda v: pa.array(v, pa.duration("s")),
    "Arrow chunked": lambda v: pa.chunked_array([v[:1], v[1:]]),
}

_DAY = datetime.datetime(2024, 5, 1)
STRANGE: dict[str, Any] = {
    "complex": np.array([1, 2, 3]) + 0j,
    "complex list": [1, 2, 3j],
    "booleans": np.array([True, True, True]),
    "booleans among numbers": [1, True, 3],
    "pandas boolean": pd.Series([True, None, True], dtype="boolean"),
    "Polars booleans": pl.Series([True, None, True]),
    "Arrow booleans": pa.array([True, False, True]),
    "digits": ["1", "2", "3"],
    "NumPy digits": np.array(["1", "2", "3"]),
    "bytes": np.array([b"1", b"2", b"3"]),
    "Polars text": pl.Series(["1", "2", "3"]),
    "Polars categories": pl.Series(["1", "2", "3"], dtype=pl.Categorical),
    "Arrow text": pa.array(["1", "2", "3"]),
    "Arrow dictionary": pa.array(["1", "2", "1"]).dictionary_encode(),
    "decimals": [Decimal(1)] * 3,
    "Polars decimals": pl.Series([Decimal(1)] * 3),
    "Arrow decimals": pa.array([Decimal(1)] * 3),
    "dates": [_DAY] * 3,
    "NumPy dates": np.array([_DAY] * 3, "M8[s]"),
    "pandas dates": pd.Series([_DAY] * 3),
    "Polars dates": pl.Series([_DAY] * 3),
    "Arrow dates": pa.array([_DAY] * 3),
    "lists": pl.Series([[1], [2], [3]]),
    "objects": [object(), object(), object()],
    "a text": "123",
    "months": np.array([1, 2, 3], "m8[M]"),
}


@each("kind", list(NUMBERS))
@each("column", NUMERIC)
def test_numbers_are_taken_exactly(column, kind):
    values = good(column)
    assert same(built(**{column: NUMBERS[kind](values)}), built(**{column: values}))


@each("kind", list(NULLS))
@each("column", NUMERIC)
def test_a_value_that_is_missing_is_none_or_an_error_that_names_the_row(column, kind):
    first, _, last = good(column)
    given = NULLS[kind]([first, None, last])
    if column in MAY_MISS:
        expected = built(**{column: [first, np.nan, last]})
        assert same(built(**{column: given}), expected)
    else:
        with pytest.raises(ValueError, match=f"row 1, column '{column}': nan must"):
            built(**{column: given})


@each("kind", list(DURATIONS))
@each("column", SECONDS)
def test_durations_are_seconds_and_nothing_else(column, kind):
    values = [datetime.timedelta(seconds=seconds) for seconds in good(column)]
    assert same(built(**{column: DURATIONS[kind](values)}), built(**{column: good(column)}))
    with pytest.raises(TypeError, match="'gpus' must hold integers or floats, not durations"):
        built(gpus=DURATIONS[kind](values))


@each("kind", ["list", "NumPy us", "pandas", "Polars", "Arrow", "pandas Arrow"])
def test_a_missing_duration_is_missing(kind):
    values = [datetime.timedelta(seconds=1), None, datetime.timedelta(seconds=3)]
    jobs = built(estimate_s=DURATIONS[kind](values))
    assert jobs.estimate_us is not None
    assert jobs.estimate_us.tolist() == [1_000_000, -1, 3_000_000]


def test_durations_are_exact_to_the_microsecond_or_refused():
    longest = 2**51 - 1
    ticks = np.array([1, 1_234_567_890_123_457, longest], "m8[us]")
    assert built(service_s=ticks).service_us.tolist() == ticks.astype(np.int64).tolist()
    parts = np.array([1, 500, 1500, 2500, 1501], "m8[ns]")  # half to even, and one tick at least
    jobs = Trace.from_columns(np.zeros(5), parts, np.ones(5))
    assert jobs.service_us.tolist() == [1, 1, 2, 2, 2]
    with pytest.raises(ValueError, match=r"'submit_s', row 1: .* is too long for seconds"):
        built(submit_s=np.array([0, 2**60 + 1, 0], "m8[us]"))


@each("kind", list(STRANGE))
@each("column", NUMERIC)
def test_what_is_no_number_is_a_type_error_that_names_the_column(column, kind):
    if column == "submit_s" and "dates" in kind:
        assert built(submit_s=STRANGE[kind]).epoch == _DAY
        return
    with pytest.raises(TypeError, match=f"column '{column}' must "):
        built(**{column: STRANGE[kind]})


@each("column", ALL)
@each("shape", ["table", "number"])
def test_what_is_no_row_is_refused_by_name(column, shape):
    values = np.array([good(column)]) if shape == "table" else np.array(1)
    with pytest.raises((TypeError, ValueError), match=f"column '{column}'"):
        built(**{column: values})


@each("column", ALL)
def test_an_empty_column_is_refused_by_name(column):
    for nothing in ([], np.array([]), pl.Series([]), pa.array([])):
        with pytest.raises(ValueError, match=f"columns: no jobs|'{column}' has length 0, not 3|'"):
            built(**{column: nothing})


TEXTS: dict[str, Container] = {
    "list": list,
    "NumPy": np.array,
    "NumPy object": lambda v: np.array(v, dtype=object),
    "NumPy strings": lambda v: np.array(v, dtype=np.dtypes.StringDType()),
    "pandas": pd.Series,
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "Polars": pl.Series,
    "Polars categories": lambda v: pl.Series(v, dtype=pl.Categorical),
    "Arrow": pa.array,
    "Arrow chunked": lambda v: pa.chunked_array([v[:1], v[1:]]),
    "Arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
}


@each("kind", list(TEXTS))
@each("column", [*LABELS, "gpu_types", "id"])
def test_texts_are_taken_from_any_container(column, kind):
    values = ["x", "y", "z"] if column == "id" else good(column)
    assert same(built(**{column: TEXTS[kind](values)}), built(**{column: values}))


MISSING_TEXTS: dict[str, Container] = {
    "list": list,
    "NaN": lambda v: [np.nan if x is None else x for x in v],
    "NumPy masked": lambda v: np.ma.array(["?" if x is None else x for x in v], mask=[0, 1, 0]),
    "list of masked": lambda v: [np.ma.masked if x is None else x for x in v],
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas": pd.Series,
    "Polars": pl.Series,
    "Arrow": pa.array,
}


@each("kind", list(MISSING_TEXTS))
@each("column", [*LABELS, "gpu_types", "id"])
def test_a_missing_text_is_not_given_and_no_name(column, kind):
    first, _, last = good(column) if column != "id" else ("x", "y", "z")
    given = MISSING_TEXTS[kind]([first, None, last])
    if column == "id":
        with pytest.raises(ValueError, match="column 'id', row 1: an id must not be missing"):
            built(id=given)
    else:
        assert same(built(**{column: given}), built(**{column: [first, "", last]}))


@each("column", ["id", *LABELS])
@each("values", [[b"a", b"b", b"c"], [1j, 2j, 3j], [object()] * 3, [_DAY] * 3])
def test_what_is_no_name_is_a_type_error_that_names_the_column(column, values):
    with pytest.raises(TypeError, match=f"column '{column}' must hold"):
        built(**{column: values})


def test_ids_of_both_kinds_are_refused():
    with pytest.raises(TypeError, match="column 'id' must hold integers or text, not both"):
        built(id=["a", 1, 2])


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_frame_is_read_as_its_columns_are(library):
    data: dict[str, Any] = {
        "submit_s": [datetime.timedelta(seconds=s) for s in (0, 1, 2)],
        "service_s": [3, 4, 5],
        "gpus": [2, 2, 2],
        "estimate_s": [datetime.timedelta(seconds=1), None, datetime.timedelta(seconds=3)],
        "status": ["ok", None, "killed"],
        "user": ["a", None, "b"],
    }
    frame = pl.DataFrame(data)
    made = Trace.from_polars(frame) if library == "polars" else Trace.from_pandas(frame.to_pandas())
    assert same(made, built(**data))


def test_another_kind_of_frame_is_refused_with_the_remedy():
    frame = pl.DataFrame({"submit_s": [0], "service_s": [1], "gpus": [1]})
    wrong: list[tuple[Callable[..., Trace], Any, str]] = [
        (Trace.from_polars, frame.lazy(), r"not polars.LazyFrame; call \.collect\(\) first"),
        (Trace.from_polars, frame.to_pandas(), "not pandas.DataFrame; see Trace.from_pandas"),
        (Trace.from_polars, frame.to_arrow(), r"not pyarrow.Table; convert .* polars\.from_arrow"),
        (Trace.from_pandas, frame, "not polars.DataFrame; see Trace.from_polars"),
        (Trace.from_pandas, {"gpus": [1]}, "not builtins.dict; see Trace.from_columns"),
    ]
    for build, given, message in wrong:
        with pytest.raises(TypeError, match=message):
            build(given)


def test_a_pandas_frame_with_a_name_twice_is_refused():
    frame = pd.DataFrame([[0, 1, 2, 3]], columns=["submit_s", "service_s", "gpus", "gpus"])
    with pytest.raises(ValueError, match="frame: two columns are named 'gpus'"):
        Trace.from_pandas(frame)


def test_bad_statuses_are_counted_where_rows_may_be_bad():
    jobs = built(status=["ok", "banana", "pear"], on_bad="reject")
    assert len(jobs) == 1
    assert jobs.rejects.counts == {"status must be one of ok, failed, killed, unknown": 2}
