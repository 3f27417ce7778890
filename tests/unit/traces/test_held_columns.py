"""Holds, cancellations, arrays and their limits, as columns of a trace."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pandas
import pytest

import gpusched as gs
from gpusched.prediction.online import _veiled
from gpusched.specs.fingerprints import fingerprint
from gpusched.traces.job_columns import HELD, HOLDS, unused
from gpusched.traces.writers import write_trace
from tests.each import each
from tests.unit.traces.ways import through_all

NAN, INF = float("nan"), float("inf")
COLUMNS: dict[str, Any] = {
    "eligible_s": [NAN, INF, 7.5], "cancel_at_s": [9, NAN, 8], "array": ["m", "", "m"],
    "array_limit": [2, NAN, 2], "dependency": ["", "afterok:0", ""],
}  # fmt: skip
NAMES = [*COLUMNS]


def built(**more: Any) -> gs.Trace:
    given = COLUMNS | {"submit_s": [0, 5, 7], "service_s": [9, 9, 9], "gpus": [1, 1, 1]} | more
    return gs.Trace.from_columns(**given)


def shown(trace: gs.Trace) -> dict[str, list[Any]]:
    return trace.to_polars().select(NAMES).to_dict(as_series=False)


EXPECTED = {
    "eligible_s": [None, INF, 7.5], "cancel_at_s": [9, None, 8], "array": ["m", "", "m"],
    "array_limit": [2, None, 2], "dependency": ["", "afterok:0", ""],
}  # fmt: skip


def test_every_way_in_and_out_keeps_them(tmp_path):
    trace = built()
    assert shown(trace) == EXPECTED
    assert trace.eligible_us.tolist() == [-1, HELD, 7_500_000]
    assert trace.cancel_at_us.tolist() == [9_000_000, -1, 8_000_000]
    assert (trace.array_limit.dtype, trace.array_limit.tolist()) == (np.int32, [2, -1, 2])
    for again in through_all(trace, tmp_path):
        assert shown(again) == EXPECTED
    assert trace.describe()["num_arrays"] == 2


def test_parts_and_sums_of_traces_keep_them():
    trace = built()
    assert shown(trace[1:]) == {name: values[1:] for name, values in EXPECTED.items()}
    assert shown(gs.Trace.concat([trace[:1], trace[1:]])) == EXPECTED
    plain = gs.Trace.from_columns([1], [9], [1], id=[7])
    both = shown(gs.Trace.concat([trace, plain]))
    assert both["eligible_s"] == [None, None, INF, 7.5]
    assert (both["array"], both["array_limit"]) == (["m", "", "", "m"], [2, None, None, 2])


def test_times_move_with_the_submissions_and_held_jobs_stay_held():
    late = built(submit_s=[2, 5, 7])
    assert shown(late.rebased())["eligible_s"] == [None, INF, 5.5]
    assert shown(late.rebased())["cancel_at_s"] == [7, None, 6]
    slower = late.scale_load(0.5)
    assert slower.submit_s.tolist() == [2, 8, 12]
    assert shown(slower)["eligible_s"] == [None, INF, 12.5]
    assert shown(slower)["cancel_at_s"] == [9, None, 13]


@each("as_dates", [False, True])
def test_dates_have_them_too(as_dates, tmp_path):
    trace = built(epoch=datetime(2024, 5, 1))
    frame = trace.to_polars(dates=True)
    assert frame["cancel_at_s"][0] == datetime(2024, 5, 1, 0, 0, 9)
    assert frame["eligible_s"][1] == INF  # no date is infinite
    again = gs.Trace.from_polars(frame)
    assert (again.epoch, shown(again)) == (trace.epoch, EXPECTED)
    given = [datetime(2024, 5, 1, 0, 0, second) for second in (0, 5, 7)]
    eligible = [None, given[2], None] if as_dates else [NAN, INF, NAN]
    dated = built(submit_s=given, eligible_s=eligible, cancel_at_s=[given[1], None, None])
    assert shown(dated)["eligible_s"] == [None, 7 if as_dates else INF, None]
    assert shown(dated)["cancel_at_s"] == [5, None, None]
    write_trace(dated, tmp_path / "jobs.csv")
    assert shown(gs.read_trace(tmp_path / "jobs.csv")) == shown(dated)


def test_missing_values_of_any_library_are_none():
    for none in (None, np.nan, pandas.NA):
        trace = built(
            eligible_s=pandas.Series([none, INF, 7.5], dtype=object),
            array_limit=pandas.Series([2, none, 2], dtype=object),
            array=["m", none, "m"],
        )
        assert shown(trace) == EXPECTED


def test_a_column_without_a_value_is_none_and_moves_no_fingerprint():
    plain = built(**dict.fromkeys(NAMES))
    blank = plain.with_columns(cancel_at_s=NAN, array_limit=NAN, array="")
    assert fingerprint(blank) == fingerprint(plain)
    for name in ("cancel_at_s", "array_limit", "array", "eligible_s"):
        assert fingerprint(plain.with_columns(**{name: COLUMNS[name]})) != fingerprint(plain)


@each(
    "change, message",
    [
        ({"eligible_s": [-INF, 5, 7]}, r"row 0, column 'eligible_s': -inf must be a finite number"),
        ({"eligible_s": [0, 4, 7]}, r"row 1, column 'eligible_s': 4.0 must not lie before the sub"),
        ({"cancel_at_s": [INF, 9, 9]}, r"row 0, column 'cancel_at_s': inf must be a finite number"),
        ({"cancel_at_s": [1, 5, 9]}, r"row 1, column 'cancel_at_s': 5.0 must lie after the submis"),
        ({"array_limit": [2, 2.5, 2]}, r"row 1, column 'array_limit': 2.5 must be a whole number"),
        ({"array_limit": [2, 0, 2]}, r"row 1, column 'array_limit': 0.0 must be at least 1"),
        ({"array": [1.5, [], ""]}, r"column 'array' must hold text or integers, not list \[\]"),
    ],
)
def test_what_cannot_be_is_refused_by_row_value_and_rule(change, message):
    change = {
        name: [float(value) if isinstance(value, int) else value for value in values]
        for name, values in change.items()
    }
    with pytest.raises((ValueError, TypeError), match=message):
        built(**change)


def test_rows_that_cannot_be_are_counted():
    trace = built(cancel_at_s=[9, 5, 8], on_bad="reject")
    assert trace.rejects.counts == {"cancel_at_s must lie after the submission": 1}
    assert len(trace) == 2


def test_a_run_uses_them_and_a_decision_does_not():
    trace = built()
    assert unused(trace) == []
    told = "columns kept, but used by no policy: eligible_s, cancel_at_s, array_limit, dependency"
    assert unused(trace, *HOLDS) == [told]


def test_what_is_sent_keeps_who_waits_for_whom():
    trace = built(id=["a", "b", "c"], dependency=["", "afterok:m:a", ""], array=["m", "", "m"])
    sent = gs.traces.anonymise(trace, salt="s", round_s=10)
    assert sent["cancel_at_s"].to_list() == [10, None, 10]
    assert sent["eligible_s"].to_list() == [None, INF, 0]
    assert sent.dependency[1] == f"afterok:{sent.array[0]}:{sent.id[0]}"
    assert gs.simulate(sent, gs.Cluster.uniform(1, 1), policy="fifo").trace is not None


def test_a_predictor_sees_neither_times_of_the_future():
    seen = _veiled(built(), np.zeros(3, np.int64))
    assert (seen.eligible_us, seen.cancel_at_us) == (None, None)
