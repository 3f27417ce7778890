"""Traces: jobs as columns, and what a column cannot hold."""

import copy
import dataclasses
import io
import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.labels import Labels
from gpusched.base.ticks import seconds_to_us
from gpusched.specs.fingerprints import fingerprint
from gpusched.traces.job_columns import JOB_COLUMNS
from gpusched.traces.workload import Trace
from tests.each import each

jobs = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 10), st.integers(1, 4)), min_size=1, max_size=12
)


def built(**changes: Any) -> Trace:
    columns: dict[str, Any] = {"submit_s": [3, 1, 2.5], "service_s": [1, 2, 3], "gpus": [1, 8, 2]}
    return Trace.from_columns(**{**columns, **changes})


def test_jobs_are_sorted_by_submit_and_keep_their_rows_and_ids():
    trace = built(id=["x", "y", "z"], user=["ann", None, "bob"])
    assert trace.submit_us.tolist() == [1_000_000, 2_500_000, 3_000_000]
    assert trace.row.tolist() == [1, 2, 0]
    assert trace.id.tolist() == ["y", "z", "x"]
    assert trace.gpus.tolist() == [8, 2, 1]
    assert trace.user.values().tolist() == ["", "bob", "ann"]


@given(jobs)
def test_the_order_is_by_submit_and_then_by_row(rows):
    submit, service, gpus = zip(*rows, strict=True)
    trace = Trace.from_columns(submit, service, gpus)
    expected = sorted(range(len(rows)), key=lambda row: (submit[row], row))
    assert trace.row.tolist() == expected
    assert trace.id.tolist() == expected
    assert trace.service_s.tolist() == [service[row] for row in expected]


def test_seconds_round_half_to_even_and_a_positive_service_lasts_a_tick():
    assert seconds_to_us(np.array([0.5e-6, 1.5e-6, 2.5e-6])).tolist() == [0, 2, 2]
    trace = built(submit_s=[0.5e-6, 1.5e-6, 2.5e-6], service_s=[1e-9, 0.5e-6, 2.5e-6])
    assert trace.submit_us.tolist() == [0, 2, 2]
    assert trace.service_us.tolist() == [1, 1, 2]


def test_integers_are_converted_without_a_detour_through_floats():
    trace = built(submit_s=np.array([2**41 + 1, 0, 1]), service_s=np.array([1, 2, 3], dtype="u1"))
    assert trace.submit_us[-1] == (2**41 + 1) * 1_000_000


def test_columns_have_the_types_of_the_core_and_cannot_be_written():
    trace = built(
        user=["a", "b", "c"], weight=[1, 2, 3], estimate_s=[1, 2, 3], gpu_types=["T4"] * 3
    )

    for name, dtype in (
        ("submit_us", "i8"), ("service_us", "i8"), ("gpus", "i4"), ("row", "i8"), ("id", "i8"),
        ("weight", "f8"), ("estimate_us", "i8"), ("type_set", "i4"),
    ):  # fmt: skip
        column = getattr(trace, name)
        assert column.dtype == np.dtype(dtype), name
        assert column.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        trace.user.codes[0] = 1
    with pytest.raises(AttributeError):
        trace.name = "other"


def test_the_columns_handed_in_stay_as_they_were():
    gpus = np.array([1, 8, 2], dtype=np.int32)
    trace = built(gpus=gpus, submit_s=[0, 1, 2])
    gpus[0] = 7
    assert trace.gpus.tolist() == [1, 8, 2]


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_a_copy_and_a_pickle_are_as_read_only_as_the_original(duplicate):
    trace = built(user=["a", "b", "c"], id=["x", "y", "z"])
    other = duplicate(trace)
    assert other.to_polars().equals(trace.to_polars())
    assert not other.submit_us.flags.writeable
    assert not other.user.codes.flags.writeable
    assert repr(other) == repr(trace)


def test_labels_number_names_in_order_of_appearance_and_merge_equal_ones():
    labels = Labels.of(["b", "", None, float("nan"), 1, "1", "b"])
    assert labels.names == ("b", "", "1")
    assert labels.codes.tolist() == [0, 1, 1, 1, 2, 2, 0]
    assert labels.counts().tolist() == [2, 3, 2]
    assert repr(labels) == "Labels(7 jobs, 3 names: 'b', '', '1')"


def test_sets_of_gpu_types_are_shared_sorted_and_free_of_repeats():
    trace = built(gpu_types=["V100|T4|T4", ["T4", "V100"], None], submit_s=[0, 1, 2])
    assert trace.type_sets == (("T4", "V100"), ())
    assert trace.allowed_types == [("T4", "V100"), ("T4", "V100"), ()]
    assert built(gpu_types=["", None, ()]).type_set is None


def test_frames_of_polars_and_pandas_make_the_same_trace():
    data = {
        "start": [3.0, 1.0, 2.5],
        "service_s": [1, 2, 3],
        "gpus": [1, 8, 2],
        "user": ["a", "b", "a"],
    }
    expected = Trace.from_columns(
        submit_s=data["start"], service_s=data["service_s"], gpus=data["gpus"], user=data["user"]
    ).to_polars()
    frames = [
        Trace.from_polars(pl.DataFrame(data), {"submit_s": "start"}),
        Trace.from_polars(
            pl.DataFrame(data, schema_overrides={"user": pl.Categorical}), {"submit_s": "start"}
        ),
        Trace.from_pandas(pd.DataFrame(data), {"submit_s": "start"}),
        Trace.from_pandas(
            pd.DataFrame(data).astype({"gpus": "Int32", "start": "Float64", "user": "category"}),
            {"submit_s": "start"},
        ),
    ]

    for trace in frames:
        assert trace.to_polars().equals(expected)


def test_a_missing_value_of_a_frame_is_not_a_number():
    data = {"submit_s": [0, 1], "service_s": [1, None], "gpus": [1, 1]}
    frame = pd.DataFrame(data).astype({"service_s": "Int64"})
    for read in (lambda: Trace.from_polars(pl.DataFrame(data)), lambda: Trace.from_pandas(frame)):
        with pytest.raises(ValueError, match="row 1, column 'service_s': nan must be a finite num"):
            read()


def test_a_frame_without_a_required_column_says_which_there_are():
    frame = pl.DataFrame({"submit_s": [0], "length": [1], "gpus": [1]})
    with pytest.raises(
        ValueError, match="'service_s' is missing; there are submit_s, length, gpus"
    ):
        Trace.from_polars(frame)
    with pytest.raises(ValueError, match=r"no column 'lengths' .* did you mean 'length'\?"):
        Trace.from_polars(frame, {"service_s": "lengths"})


def test_a_trace_survives_the_way_through_polars():
    trace = built(
        id=["x", "y", "z"], user=["a", "b", "a"], estimate_s=[1, np.nan, 2], weight=[1, 2, 3],
        gpu_types=["T4", "", "V100"], checkpoint_s=[0, 1, 2], source_wait_s=[1, 2, np.nan],
    )  # fmt: skip
    back = Trace.from_polars(trace.to_polars())
    assert back.to_polars().drop("row").equals(trace.to_polars().drop("row"))


def test_head_between_and_filter_keep_the_columns_together():
    trace = built(id=["x", "y", "z"], user=["a", "b", "c"], weight=[1, 2, 3])
    assert trace.head(2).id.tolist() == ["y", "z"]
    assert len(trace.head(99)) == 3
    assert trace.between(1, 3).id.tolist() == ["y", "z"]
    assert trace.between(1, 3).submit_s.tolist() == [1, 2.5]
    assert trace.between(2.5, 3.5).weight.tolist() == [3, 1]
    wide = trace.filter(trace.gpus > 1)
    assert wide.user.values().tolist() == ["b", "c"]
    assert wide.row.tolist() == [1, 2]


@each(
    ("call", "error", "message"),
    [
        (lambda trace: trace.between(10, 20), ValueError, "small: no jobs are left"),
        (lambda trace: trace.head(0), ValueError, "head: 0 must be at least 1"),
        (lambda trace: trace.filter([0, 1, 2]), TypeError,
         "the mask must hold booleans, not int64"),
        (lambda trace: trace.filter([True, False]), ValueError,
         r"mask has shape \(2,\), not \(3,\)"),
        (lambda trace: trace.filter(np.ma.masked_array([True, False, True], [0, 1, 0])), ValueError,
         "filter: the mask must not have masked values"),
    ],
)  # fmt: skip
def test_a_selection_that_cannot_be_made_is_an_error(call, error, message):
    with pytest.raises(error, match=message):
        call(built(name="small"))


def test_a_column_is_taken_by_its_name_and_jobs_by_position_slice_or_mask():
    trace = built(id=["x", "y", "z"], user=["a", "b", "c"])
    assert trace["user"].to_list() == ["b", "c", "a"]
    assert all(trace[name].equals(trace.to_polars()[name]) for name in trace.to_polars().columns)
    for key, ids in (
        (0, ["y"]), (-1, ["x"]), (slice(1, None), ["z", "x"]), (slice(None, None, 2), ["y", "x"]),
        ([0, 2], ["y", "x"]), (trace["gpus"] > 1, ["y", "z"]),
        (np.array([False, True, True]), ["z", "x"]),
    ):  # fmt: skip
        assert trace[key].id.tolist() == ids, key


@each(
    ("key", "error", "message"),
    [
        ("users", KeyError, r"small has no column 'users'; did you mean 'user'\?"),
        ("weight", KeyError, "small has no column 'weight'"),
        (3, IndexError, "out of bounds"),
        (slice(2, 2), ValueError, "small: no jobs are left"),
        ([1, 0], ValueError, "positions must ascend"),
        ([1, 1], ValueError, "positions must ascend"),
        ([True, False], ValueError, r"mask has shape \(2,\)"),
        (0.5, TypeError, "by column name or job position, not by 0.5"),
    ],
)
def test_what_a_trace_does_not_have_cannot_be_taken(key, error, message):
    with pytest.raises(error, match=message):
        built(name="small", user=["a", "b", "c"])[key]


def test_a_trace_is_no_sequence():
    with pytest.raises(TypeError, match="not iterable"):
        list(built())


def test_other_columns_are_those_of_a_trace_that_is_made_of_them():
    columns: dict[str, Any] = {
        "id": ["x", "y", "z"], "user": ["a", "b", "c"], "weight": [1, 2, 3],
        "deadline_s": [50, np.nan, 40], "gpu_types": ["T4", "", "V100"], "max_gpus": [np.nan, 9, 9],
        "checkpoint_every_s": [9, 9, 8], "max_requeues": [np.nan, 1, 0],
        "requeue_back": [0, np.nan, 1],
    }  # fmt: skip
    trace = built(**columns)
    changes: tuple[dict[str, Any], ...] = (
        {"service_s": [7, 8, 9]}, {"submit_s": [9, 0, 4]}, {"deadline_s": [np.nan, 11, 12]},
        {"user": None, "weight": None}, {"gpu_types": None}, {"gpu_types": ["A", "B", ""]},
        {"status": ["ok", "", "failed"], "time_limit_s": [1, np.nan, 2]}, {"id": [4, 5, 6]},
        {"gpus": [9, 1, 1], "max_gpus": [9, 1, np.nan]}, {"max_requeues": [np.nan] * 3},
    )  # fmt: skip
    for change in changes:
        made = trace.with_columns(**change)
        given = {
            name: trace.to_polars()[name] for name in trace.to_polars().columns if name != "row"
        }
        again = Trace.from_columns(**{**given, **change})
        assert made.to_polars().drop("row").equals(again.to_polars().drop("row")), change
        assert dict(zip(made.id.tolist(), made.row.tolist(), strict=True)).keys() == {
            *made.id.tolist()
        }
    one = trace.with_columns(cpu=4, user="d", gpu_types="T4", weight=np.float64(2))
    each_job = {"cpu": [4] * 3, "user": ["d"] * 3, "gpu_types": ["T4"] * 3, "weight": [2] * 3}
    assert one.to_polars().equals(trace.with_columns(**each_job).to_polars())
    for name in (name for name, column in JOB_COLUMNS.items() if column.kind == "duration"):
        long = trace.with_columns(**{name: timedelta(minutes=2)})
        assert long[name].to_list() == [120] * 3
    drawn = trace.with_deadlines(seed=1)
    assert drawn.with_columns(user="d").source == drawn.source
    assert drawn.with_columns(deadline_s=[50, 60, 70]).source == trace.source
    assert drawn.with_columns(deadline_s=None).source == trace.source
    wide = built().with_graphs([gs.model.graph_for("gpt2-xl", width) for width in (1, 2, 8)])
    with pytest.raises(ValueError, match="has 8 replicas, but job 0"):
        wide.with_columns(gpus=[4, 2, 1])
    kept = trace.with_profiles(list(gs.model.zoo().values())[:2], index=[0, 1, 0])
    moved = kept.with_columns(submit_s=[9, 0, 4])
    assert moved.profile.tolist() == [1, 0, 0]
    assert moved.row.tolist() == [2, 0, 1]


@each(
    ("columns", "error", "message"),
    [
        ({"users": [1, 2, 3]}, ValueError, r"column 'users' cannot be set; did you mean 'user'\?"),
        ({"profile": [0, 0, 0]}, ValueError, "'profile' cannot be set; see with_profiles"),
        ({"gpus": [1, 0, 1]}, ValueError, "with_columns, row 2, column 'gpus': 0 must be positive"),
        ({"gpus": [9, 9, 9]}, ValueError, "row 1, column 'max_gpus': 8 must be at least gpus"),
        ({"deadline_s": [1, 9, 9]}, ValueError, "row 1, .*must lie after the submission"),
        ({"weight": [1, 2]}, ValueError, "column 'weight' has length 2, not 3"),
        ({"max_requeues": [0, 1, -1]}, ValueError, "row 0, .*-1 must not be negative"),
        ({"requeue_back": [0, 1, 2]}, ValueError, "row 0, .*'requeue_back': 2 must be at most 1"),
        ({"checkpoint_every_s": [9, 0, 9]}, ValueError,
         "row 2, column 'checkpoint_every_s': 0 must be positive"),
        ({"checkpoint_every_s": [9, np.nan, 9], "checkpoint_write_s": [1, 1, 0]}, ValueError,
         "row 2, column 'checkpoint_write_s': 1 needs a checkpoint_every_s"),
        ({"checkpoint_write_s": 1}, ValueError, "'checkpoint_write_s': 1 needs a checkpoint_every"),
        ({"id": [1, 1, 2]}, ValueError, "1 must be unique, row 1 has it too"),
        ({"service_s": None}, ValueError, "with_columns: a trace needs the column 'service_s'"),
        ({"submit_s": None}, ValueError, "with_columns: a trace needs the column 'submit_s'"),
    ],
)  # fmt: skip
def test_other_columns_are_checked_as_the_first_were(columns, error, message):
    with pytest.raises(error, match=message):
        built(name="small", max_gpus=[8, 8, 8]).with_columns(**columns)


def test_a_column_of_failures_and_limits_without_a_value_is_as_none():
    plain, nothing = built(), [np.nan] * 3
    names = (
        "time_limit_s", "checkpoint_every_s", "checkpoint_write_s", "max_requeues", "cancel_at_s",
        "array", "array_limit", "requeue_back",
    )  # fmt: skip
    blank = built(**dict.fromkeys(names, nothing))
    assert blank.to_polars().columns == plain.to_polars().columns
    assert fingerprint(blank) == fingerprint(plain)
    given = built(time_limit_s=[9, 9, 9], checkpoint_every_s=[9, 9, 9], max_requeues=[0, 0, 0])
    assert fingerprint(given) != fingerprint(plain)
    again = given.with_columns(**dict.fromkeys(names, nothing))
    assert fingerprint(again) == fingerprint(plain)


def test_the_parts_of_a_trace_put_together_are_the_trace():
    trace = built(
        id=["x", "y", "z"], user=["a", "b", "c"], deadline_s=[50, np.nan, 40], eligible_s=[3, 3, 3],
        gpu_types=["T4", "", "V100"], epoch=datetime(2024, 5, 1),
    ).rebased()  # fmt: skip
    both = Trace.concat([trace[:1], trace[1:]])
    assert both.to_polars().drop("row").equals(trace.to_polars().drop("row"))
    late = dataclasses.replace(trace[2:].rebased(), row=np.array([0]))
    assert Trace.concat([late, trace[:2]])["deadline_s"].equals(trace["deadline_s"])
    with pytest.raises(ValueError, match="concat: at least one trace is needed"):
        Trace.concat([])


def test_ids_that_a_dependency_names_do_not_count_on():
    waits, free = built(dependency=["", "afterok:0", ""]), built(dependency=["singleton", "", ""])
    assert sorted(Trace.concat([free, free]).id.tolist()) == [*range(6)]
    for parts in ([waits, free], [free, waits]):
        with pytest.raises(ValueError, match=r"both have a job 1; an id must be unique"):
            Trace.concat(parts)
    late = free.with_columns(id=[7, 8, 9])
    both = Trace.concat([waits, late])
    assert sorted(both.id.tolist()) == [0, 1, 2, 7, 8, 9]
    assert both.filter("dependency = 'afterok:0'").id.tolist() == [1]


def test_a_trace_says_whose_time_it_has():
    for epoch, clock in (
        (None, None), (datetime(2024, 5, 1), "local time"),
        (datetime(2024, 5, 1, tzinfo=UTC), "UTC"),
    ):  # fmt: skip
        assert built(epoch=epoch).describe()["clock"] == clock
        dated = built(epoch=epoch, deadline_s=[9, np.nan, 9]).rebased().to_polars(dates=True)
        again = Trace.from_polars(dated)
        assert (again.epoch, again.submit_s.tolist()) == (
            built(epoch=epoch).rebased().epoch,
            [0, 1.5, 2],
        )
    far = built(epoch=datetime(9999, 12, 31, 23, 59, 58))
    assert far.to_polars(dates=True).equals(far.to_polars())


def test_load_is_work_over_capacity_and_arrival_span():
    trace = built()
    assert trace.gpu_seconds == 2 * 8 + 3 * 2 + 1
    assert trace.offered_load(4) == 23 / (4 * 2)
    assert built(submit_s=[1, 1, 1]).offered_load(4) == np.inf


@given(jobs, st.sampled_from([0.1, 0.5, 0.9, 1.7]), st.integers(1, 16))
def test_a_load_comes_out_as_asked(rows, load, gpus):
    trace = Trace.from_columns(*zip(*rows, strict=True))
    if trace.span_us == 0:
        with pytest.raises(ValueError, match="all jobs arrive at one instant"):
            trace.with_load(load, gpus)
        return
    scaled = trace.with_load(load, gpus)
    assert scaled.offered_load(gpus) == pytest.approx(load, rel=1e-5)
    assert scaled.submit_us[0] == trace.submit_us[0]
    assert scaled.row.tolist() == trace.row.tolist()
    assert (np.diff(scaled.submit_us) >= 0).all()


def test_scaling_the_load_divides_the_gaps_and_nothing_else():
    trace = built()
    double = trace.scale_load(2)
    assert double.submit_s.tolist() == [1, 1.75, 2]
    assert double.service_us.tolist() == trace.service_us.tolist()
    assert trace.scale_load(1).submit_us.tolist() == trace.submit_us.tolist()
    for bad in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="must be finite and positive"):
            trace.scale_load(bad)
    with pytest.raises(ValueError, match=r"stretches the arrivals beyond 2\^61 us"):
        trace.scale_load(1e-300)


def test_describe_tells_the_facts_with_nearest_rank_percentiles():
    facts = built(user=["a", "b", "a"], status=["ok", "ok", "ok"]).describe()
    assert facts["num_jobs"] == 3
    assert (facts["mean_service_s"], facts["p50_service_s"], facts["p95_service_s"]) == (2, 2, 3)
    assert (facts["p50_gpus"], facts["max_gpus"], facts["span_s"]) == (2, 8, 2)
    assert (facts["num_users"], facts["num_statuses"]) == (2, 1)
    assert facts["gpu_hours"] == 23 / 3600


def test_the_repr_says_what_kind_of_trace_it_is():
    assert repr(built(name="small")) == (
        "Trace('small': 3 jobs over 2 s, 1 to 8 GPUs wide, 0.0 GPU hours)"
    )


def test_rejected_rows_are_counted_by_the_first_rule_they_break():
    trace = built(service_s=[0, 2, np.nan], gpus=[0, 8, 2], on_bad="reject")

    assert trace.row.tolist() == [1]
    assert trace.rejects.total == 2
    assert trace.rejects.counts == {
        "gpus must be positive": 1,
        "service_s must be a finite number": 1,
    }
    assert str(trace.rejects).splitlines() == [
        "gpus must be positive: 1 row (row 0)",
        "service_s must be a finite number: 1 row (row 2)",
    ]
    assert "2 rows rejected" in repr(trace)
    assert trace.head(1).rejects.total == 2


def test_only_the_first_rows_of_a_reason_are_kept():
    service = np.ones(50)
    service[5:40] = -1
    trace = Trace.from_columns(np.arange(50), service, np.ones(50), on_bad="reject")
    assert trace.rejects.first["service_s must be positive"] == tuple(range(5, 15))
    assert trace.rejects.lines() == [
        "service_s must be positive: 35 rows (rows 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, ...)"
    ]


def test_importing_the_workload_loads_no_frame_library():
    code = (
        "import sys, gpusched.traces.workload, gpusched.model.cluster;"
        "import gpusched.traces.reading, gpusched.traces.generating.synthetic_traces;"
        "print([m for m in ('polars', 'pandas', 'pyarrow', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


COLUMNS: dict[str, Any] = {"submit_s": [0, 1], "service_s": [5, 6], "gpus": [1, 2]}
MASKED = np.ma.masked_array([1.0, 2.0], [False, True])


def made(**columns: Any) -> gs.Trace:
    return gs.Trace.from_columns(**(COLUMNS | columns))


# The values that tests/boundary/test_bad_traces.py refuses are not here once more.
@each(
    ("columns", "message"),
    [
        ({"service_s": [True, 2.0]}, "column 'service_s' must not mix booleans with other values"),
        ({"service_s": np.array([1, 2], "m8[M]")}, "column 'service_s' must hold durations in a"),
        ({"service_s": [[1, 2], [3]]}, "column 'service_s': "),
        ({"id": ["a", None]}, "column 'id', row 1: an id must not be missing"),
        ({"id": np.array([1.0, np.nan])}, "column 'id', row 1: an id must not be missing"),
        ({"id": np.ma.masked_array([1, 2], [1, 0])}, "column 'id', row 0: an id must not be"),
        ({"id": np.array([1, 2**63], np.uint64)}, "column 'id' must fit 64-bit signed integers"),
        ({"user": [{}, "a"]}, "column 'user' must hold text or integers, not dict {}"),
        ({"deadline_s": [1, 2.0**43]}, "column 'deadline_s'"),
        ({"submit_s": [datetime(2020, 1, 1), 3]}, "column 'submit_s' must hold"),
    ],
)
def test_a_column_of_another_kind_is_refused(columns, message):
    with pytest.raises((TypeError, ValueError), match=message):
        made(**columns)


def test_missing_and_masked_numbers_are_missing_however_they_are_written():
    for values in ([None, 7.0], np.ma.masked_array([0.0, 7.0], [1, 0]), [np.ma.masked, 7.0]):
        assert made(deadline_s=values).deadline_us.tolist()[1] == 7_000_000
        assert np.isnan(made(deadline_s=values).deadline_s[0])
    spans = [None, np.timedelta64(7, "s")]
    assert np.isnan(made(deadline_s=np.array(spans, "m8[s]")).deadline_s[0])


def test_durations_of_python_and_masked_ones_are_seconds():
    values = np.ma.masked_array(np.array([3, 4], "m8[m]"), [0, 0])
    assert made(service_s=values).service_us.tolist() == [180_000_000, 240_000_000]
    days = [np.timedelta64(1, "D").astype(object), np.timedelta64(2, "D").astype(object)]
    assert made(service_s=days).service_us.tolist() == [86_400_000_000, 172_800_000_000]


@each(
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


@each(
    ("read", "message"),
    [
        (lambda: gs.Trace.from_polars(pl.DataFrame(COLUMNS).lazy()),
         r"frame: expected a polars.DataFrame, not .*; call .collect\(\) first"),
        (lambda: gs.Trace.from_polars(pd.DataFrame(COLUMNS)),
         r"frame: expected a polars.DataFrame, not .*from_pandas"),
        (lambda: gs.Trace.from_pandas([1]), "expected a pandas.DataFrame, not builtins.list"),
        (lambda: gs.Trace.from_pandas(pd.DataFrame([[1, 2]], columns=["a", "a"])),
         "frame: two columns are named 'a'"),
    ],
)  # fmt: skip
def test_what_is_no_frame_says_what_is_one(read, message):
    with pytest.raises((TypeError, ValueError), match=message):
        read()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


ROWS = np.array([(0, 5, 1)], [("submit_s", "f8"), ("service_s", "f8"), ("gpus", "i4")])


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.npy", npy(np.arange(3)), "must have named columns"),
        ("a.npy", npy(np.array([object()])), "Object arrays cannot be loaded when allow_pickle=F"),
        (
            "a.npy",
            npy(ROWS)[:6] + b"\x09" + npy(ROWS)[7:],
            r"unknown version \(9, 0\) of the format",
        ),
        ("a.npy", npy(ROWS)[:-1], r"19 bytes do not match shape \(1,\)"),
        ("a.csv", b'submit_s,service_s,gpus\n"0\n",5\n', "line 2: "),
        ("a.csv", b'submit_s,service_s,gpus\n0,"5"x,1\n', "line 2: "),
    ],
)
def test_a_file_that_holds_no_table_is_refused(name, data, message, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=f"(?s){name}.*{message}"):
        gs.read_trace(tmp_path / name)
