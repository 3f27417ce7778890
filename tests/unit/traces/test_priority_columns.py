"""Priorities and nice values, as columns of a trace and as ranks of its jobs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.specs.fingerprints import fingerprint
from gpusched.traces.job_columns import precedence_of, unused
from tests.each import each
from tests.unit.traces.ways import through_all

NAN = float("nan")
RANKS: dict[str, Any] = {"priority": [3, NAN, -1.5], "nice": [NAN, -4, 0.5]}
EXPECTED = [[3, 0, -1.5], [0, -4, 0.5]]


def built(**columns: Any) -> gs.Trace:
    given = {"submit_s": [0, 5, 7], "service_s": [9, 9, 9], "gpus": [1, 1, 1]} | columns
    return gs.Trace.from_columns(**given)


def shown(trace: gs.Trace) -> list[list[float]]:
    return [trace.priority.tolist(), trace.nice.tolist()]


def test_every_way_in_and_out_keeps_them(tmp_path):
    trace = built(**RANKS)
    assert shown(trace) == EXPECTED
    parts = [gs.Trace.concat([trace[:1], trace[1:]]), gs.traces.anonymise(trace, salt="s")]
    for again in through_all(trace, tmp_path) + parts:
        assert shown(again) == EXPECTED
    assert unused(trace) == []


def test_a_trace_of_before_has_no_nice():
    trace = built(priority=[1, 2, 3])
    state = {name: value for name, value in vars(trace).items() if name != "nice"}
    made = gs.Trace.__new__(gs.Trace)
    made.__setstate__(state)
    assert made.nice is None
    assert fingerprint(made) == fingerprint(trace)
    assert fingerprint(built(nice=[0, 0, 0])) != fingerprint(built())


def test_columns_that_are_left_out_leave_nothing():
    assert fingerprint(built(**RANKS).with_columns(priority=None, nice=None)) == fingerprint(
        built()
    )


@each(
    "columns, age_s, ranks",
    [
        ({}, None, None),
        ({"priority": [5, 5, 5]}, None, None),
        ({"priority": [1, 2, 3], "nice": [0, 1, 2]}, None, None),
        ({"priority": [1, 3, 1]}, None, [1, 0, 1]),
        ({"nice": [2, NAN, -1]}, None, [2, 1, 0]),
        (RANKS, None, [1, 0, 2]),  # 3, 4 and -2
        ({"priority": [0.0, -0.0, NAN]}, None, None),
        # A point is worth the wait from one submission to the next.
        ({"priority": [0, 1, 0]}, 5, [0, 0, 1]),
        ({"priority": [0, 1, 0]}, 4.999999, [0, 1, 2]),
        ({"priority": [0, 1, 0]}, 5.000001, [1, 0, 2]),
        ({"priority": [0, 10, 50]}, 0.1, [0, 2, 1]),
        ({"nice": [1, 1, 1]}, 60, [0, 1, 2]),  # by submission
        ({}, 60, [0, 1, 2]),
        ({"submit_s": [3, 3, 3]}, 60, None),
        # Slurm's greatest priority, at a day a point, exceeds the time type.
        ({"priority": [2**32 - 2, 2**32 - 1, 0]}, 86_400, [1, 0, 2]),
        ({"priority": [1e308, -1e308, 0]}, 1, [0, 2, 1]),
    ],
)
def test_ranks_are_dense_and_exact(columns, age_s, ranks):
    found = precedence_of(built(**columns), age_s)
    assert (None if found is None else found.tolist()) == ranks
    assert found is None or found.dtype == np.int32


jobs = st.lists(
    st.tuples(st.integers(0, 6), st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=9
)


@given(jobs, st.none() | st.integers(1, 4))
def test_a_rank_is_the_number_of_better_values(rows, age_s):
    submit_s, priority, nice = map(list, zip(*sorted(rows), strict=True))
    trace = gs.Trace.from_columns(
        submit_s, [1] * len(rows), [1] * len(rows), priority=priority, nice=nice
    )
    better = [
        -(up - down) if age_s is None else at - (up - down) * age_s
        for at, up, down in zip(trace.submit_s, trace.priority, trace.nice, strict=True)
    ]
    ranks = [sorted(set(better)).index(value) for value in better]
    found = precedence_of(trace, age_s)
    assert found.tolist() == ranks if any(ranks) else found is None


@each(
    "given, expected",
    [
        # Slurm subtracts nice from the priority that it prints.
        ([{"priority": 90, "nice": 10}, {"priority": 80, "nice": 0}], [[90, 80], None]),
        ([{"nice": 10}, {"nice": -5}], [[0, 0], [10, -5]]),
        ([{}, {}], [[0, 0], None]),
    ],
)
def test_a_queue_of_slurm_has_nice_where_it_has_no_priority(tmp_path, given, expected):
    queued = {
        "job_state": "PENDING", "submit_time": 1_700_000_000, "time_limit": 60,
        "tres_req_str": "gres/gpu=1",
    }  # fmt: skip
    records = [queued | {"job_id": number} | more for number, more in enumerate(given, 1)]
    (tmp_path / "squeue.json").write_text(json.dumps({"meta": {}, "jobs": records}))
    trace = gs.read_trace(tmp_path / "squeue.json")
    assert trace.priority.tolist() == expected[0]
    assert (None if trace.nice is None else trace.nice.tolist()) == expected[1]


@pytest.mark.parametrize("name", ["priority", "nice"])
def test_a_value_must_be_finite(name):
    with pytest.raises(ValueError, match=f"row 1, column '{name}': inf must be a finite number"):
        built(**{name: [1.0, float("inf"), 2.0]})
