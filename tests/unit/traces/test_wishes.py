"""Demands, deadlines and widths of jobs: checked, carried along, and given to the core."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.base import draws
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.reference import rng
from gpusched.specs.case import job_columns
from gpusched.specs.run_spec import fingerprint
from gpusched.traces.model_columns import demand_columns
from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace
from tests.each import each

NAN = float("nan")
CLUSTER = Cluster.uniform(2, 8)


def built(**changes: Any) -> Trace:
    columns: dict[str, Any] = {"submit_s": [3, 1, 2], "service_s": [1, 2, 4], "gpus": [1, 8, 2]}
    return Trace.from_columns(**{**columns, **changes})


WHOLE: dict[str, Any] = {
    "gpu_share": [0.5, NAN, 1],
    "cpu": [2.5, 0, NAN],
    "memory_gib": [0.0001, NAN, 4],
    "deadline_s": [4.5, NAN, 2.5],
    "value": [2, NAN, 0.5],
    "min_gpus": [1, 2, NAN],
    "max_gpus": [1, NAN, 4],
}


def test_columns_are_counted_in_whole_units_in_the_order_of_submission():
    trace = built(**WHOLE)
    expected = {
        "share_milli": [1000, 1000, 500],
        "cpu_milli": [0, 0, 2500],
        "memory_mib": [0, 4096, 1],  # a little is not nothing
        "deadline_us": [-1, 2_500_000, 4_500_000],
        "value": [1, 0.5, 2],
        "min_gpus": [2, 1, 1],
        "max_gpus": [2**31 - 1, 4, 1],
    }
    for column, values in expected.items():
        assert getattr(trace, column).tolist() == values, column
        assert not getattr(trace, column).flags.writeable
        assert getattr(trace.head(2), column).tolist() == values[:2]
        assert getattr(trace.filter(trace.gpus < 8), column).tolist() == values[1:]
        assert getattr(pickle.loads(pickle.dumps(trace)), column).tolist() == values
        assert getattr(built(), column) is None
    assert trace.gpu_share.tolist() == [1, 1, 0.5]
    assert trace.gpu_seconds == 8 * 2 + 2 * 4 + 0.5
    assert fingerprint(trace) != fingerprint(built())
    assert fingerprint(trace) != fingerprint(built(**{**WHOLE, "value": [1, 1, 1]}))


@each(
    ("changes", "message"),
    [
        ({"gpu_share": [0, 1, 1]}, "row 0, column 'gpu_share': 0 must be positive"),
        ({"gpu_share": [1.5, 1, 1]}, "row 0, .*'gpu_share': 1.5 must be at most 1"),
        ({"gpu_share": [1, 0.5, 1]}, "row 1, .*: 0.5 must be 1 for a job of several GPUs"),
        ({"gpus": [0, 1, 1], "cpu": [1, 1, 1]}, "row 0, column 'gpus': 0 must be positive"),
        ({"cpu": [1, -1, 1]}, "row 1, column 'cpu': -1 must not be negative"),
        ({"cpu": [1, 1, np.inf]}, "row 2, column 'cpu': inf must be at most"),
        ({"memory_gib": [1, 1, 1e10]}, "row 2, column 'memory_gib': 1.*must be at most 1073741824"),
        ({"deadline_s": [3, 9, 9]}, "row 0, .*'deadline_s': 3 must lie after the submission"),
        ({"deadline_s": [NAN, NAN, -1]}, "row 2, .*: -1.0 must lie after the submission"),
        ({"deadline_s": [np.inf, 9, 9]}, "row 0, .*: inf must be a finite number"),
        ({"deadline_s": [1e30, 9, 9]}, "row 0, .*: 1e.30 must be at most"),
        ({"value": [1, 0, 1]}, "row 1, column 'value': 0 must be positive"),
        ({"value": [1, np.inf, 1]}, "row 1, column 'value': inf must be a finite number"),
        ({"min_gpus": [2, 1, 1]}, "row 0, column 'min_gpus': 2 must not exceed gpus"),
        ({"min_gpus": [0, 1, 1]}, "row 0, column 'min_gpus': 0 must be at least 1"),
        ({"max_gpus": [1, 8.5, 2]}, "row 1, .*'max_gpus': 8.5 must be a whole number"),
        ({"max_gpus": [1, 7, 2]}, "row 1, column 'max_gpus': 7 must be at least gpus"),
        ({"cpu": [1]}, "column 'cpu' has length 1, not 3"),
    ],
)
def test_a_wrong_value_names_row_field_value_and_rule(changes, message):
    with pytest.raises(ValueError, match=message):
        built(**changes)


def test_a_file_with_bad_rows_counts_them_by_reason(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "submit_s,service_s,gpus,gpu_share,deadline_s,max_gpus\n"
        "10,5,1,0.5,11,\n12,5,1,2,,\n13,5,2,0.5,,\n14,5,1,,14,\n15,5,4,,20,2\n16,5,4,,,8\n"
    )
    trace = read_trace(path)
    assert trace.rejects.first == {
        "gpu_share must be at most 1": (3,),
        "gpu_share must be 1 for a job of several GPUs": (4,),
        "deadline_s must lie after the submission": (5,),
        "max_gpus must be at least gpus": (6,),
    }
    assert trace.deadline_us.tolist() == [1_000_000, -1]  # moved with the submissions
    assert trace.origin_s == 10


def test_deadlines_may_be_wall_clock_times_as_submissions_are(tmp_path):
    path = tmp_path / "a.csv"
    rows = "2024-01-01 00:00:10,5,1,\n2024-01-01 00:00:20,5,1,2024-01-01 00:01:00\n"
    path.write_text(f"submit,duration,gpus,deadline_s\n{rows}")
    trace = read_trace(path)
    assert trace.deadline_us.tolist() == [-1, 50_000_000]
    path.write_text("submit,duration,gpus,deadline_s\n10,5,1,2024-01-01 00:01:00\n")
    with pytest.raises(ValueError, match="'deadline_s' has wall-clock times"):
        read_trace(path)


def test_other_loads_leave_each_job_its_time_to_the_deadline():
    trace = built(**WHOLE)
    slower = trace.scale_load(0.5)
    assert slower.submit_s.tolist() == [1, 3, 5]
    assert slower.deadline_us.tolist() == [-1, 3_500_000, 6_500_000]


def test_jobs_that_ask_for_nothing_cost_nothing():
    plain = job_columns(built(), CLUSTER, uses_estimates=False)
    empty = built(gpu_share=[1, 1, 1], cpu=[0, 0, 0], memory_gib=[NAN, 0, 0])
    same = job_columns(empty, CLUSTER, uses_estimates=False)
    assert plain.keys() == same.keys()
    assert not any(name.startswith(("demand", "deadline", "min_", "max_")) for name in plain)


share = st.sampled_from([0.5, 0.25, 1.0])
amounts = st.tuples(share, st.integers(0, 3), st.integers(0, 3))


@given(st.lists(amounts, min_size=1, max_size=12))
def test_every_distinct_demand_is_given_once(rows):
    shares, cpu, memory = zip(*rows, strict=True)
    ones = [1] * len(rows)
    trace = Trace.from_columns(ones, ones, ones, gpu_share=shares, cpu=cpu, memory_gib=memory)
    columns = demand_columns(trace)
    if all(row == (1.0, 0, 0) for row in rows):
        assert columns == {}
        return
    names = ("demand_share_milli", "demand_cpu_milli", "demand_memory_mib")
    table = list(zip(*(columns[name].tolist() for name in names), strict=True))
    assert table == sorted(set(table))
    assert {name: columns[name].dtype for name in columns} == {
        "demand": np.int32, names[0]: np.int32, names[1]: np.int64, names[2]: np.int64,
    }  # fmt: skip
    expected = [(round(s * 1000), c * 1000, m * 1024) for s, c, m in rows]
    assert [table[index] for index in columns["demand"].tolist()] == expected


def test_servers_tell_the_core_what_they_have():
    servers = Cluster(
        (ServerGroup(2, 8, cpu=96.5, memory_gib=512), ServerGroup(1, 4, memory_gib=0.5))
    )
    columns = servers.core_columns()
    assert columns["cpu_milli"].tolist() == [96_500, 96_500, -1]
    assert columns["memory_mib"].tolist() == [524_288] * 2 + [512]
    assert not {"cpu_milli", "memory_mib"} & CLUSTER.core_columns().keys()


def test_draws_are_those_of_the_core():
    rows = np.array([0, 1, 7, 2**40])
    drawn = draws.uniform(2**64 - 1, 2, rows)
    expected = [rng.draw(2**64 - 1, "placement", row, 0) for row in rows.tolist()]
    assert drawn.tolist() == [rng.uniform(bits) for bits in expected]


MANY = Trace.from_columns(np.arange(500) * 10, np.full(500, 100), np.ones(500, dtype=int))


def test_a_drawn_deadline_depends_on_the_seed_and_the_row_alone():
    drawn = MANY.with_deadlines(tightness=2, seed=3)
    assert drawn.deadline_s is not None
    slack = (drawn.deadline_s - drawn.submit_s) / drawn.service_s
    assert 1 <= slack.min() < 1.05
    assert 2.95 < slack.max() <= 3
    assert abs(slack.mean() - 2) < 0.1
    late = MANY.filter(MANY.row >= 250).with_deadlines(tightness=2, seed=3)
    assert late.deadline_us.tolist() == drawn.deadline_us[250:].tolist()  # type: ignore
    other = MANY.with_deadlines(tightness=2, seed=4)
    assert other.deadline_us.tolist() != drawn.deadline_us.tolist()  # type: ignore
    assert drawn.value is None
    assert drawn.source == (
        "columns; deadlines drawn by elasticflow (tightness 2, share 1, seed 3)"
    )
    assert drawn.with_deadlines().source.count("drawn") == 1


def test_some_jobs_may_stay_without_deadline_and_values_differ():
    drawn = MANY.with_deadlines("constant", share=0.3, value=np.arange(1, 501))
    has = drawn.deadline_us >= 0
    assert 110 < has.sum() < 190
    assert (drawn.deadline_us[has] == (MANY.submit_us + MANY.service_us)[has]).all()
    assert drawn.value[-1] == 500
    assert (MANY.with_deadlines(share=0).deadline_us == -1).all()


@each(
    ("arguments", "error", "message"),
    [
        ({"recipe": "elastic"}, ValueError, "recipe: unknown 'elastic'"),
        ({"tightness": 0}, ValueError, "tightness: 0 must be finite and positive"),
        ({"tightness": NAN}, ValueError, "tightness: nan must be finite"),
        ({"tightness": 1e300}, ValueError, "sets deadlines beyond"),
        ({"tightness": "1"}, TypeError, "tightness: '1' must be a number"),
        ({"share": 1.1}, ValueError, r"share: 1.1 must lie in 0\.\.1"),
        ({"value": -1}, ValueError, "with_deadlines, row 0, column 'value': -1 must be positive"),
        ({"seed": -1}, ValueError, "seed: -1 must lie between 0 and"),
        ({"seed": 1.0}, TypeError, "seed: expected an integer"),
    ],
)
def test_wrong_wishes_for_deadlines(arguments, error, message):
    with pytest.raises(error, match=message):
        MANY.with_deadlines(**arguments)


def test_one_width_for_all_binds_no_job_within_its_own():
    elastic = built().with_elasticity(min_gpus=2, max_gpus=4)
    assert elastic.gpus.tolist() == [8, 2, 1]
    assert elastic.min_gpus.tolist() == [2, 2, 1]
    assert elastic.max_gpus.tolist() == [8, 4, 4]
    assert built().with_elasticity(max_gpus=4).min_gpus is None
    with pytest.raises(ValueError, match=r"with_elasticity, row 2, .*: 4 must not exceed gpus"):
        built().with_elasticity(min_gpus=[1, 4, 1])
    with pytest.raises(ValueError, match="column 'max_gpus': 0 must be at least 1"):
        built().with_elasticity(max_gpus=[0, 8, 8])


def test_a_description_counts_what_jobs_ask_for():
    facts = built(**WHOLE).describe()
    assert (facts["num_shares"], facts["mean_share"]) == (1, 0.5)
    assert (facts["max_cpu"], facts["max_memory_gib"]) == (2.5, 4)
    assert (facts["num_deadlines"], facts["num_slack_below_1"]) == (2, 1)
    assert (facts["total_value"], facts["num_elastic"]) == (3.5, 2)
    assert not {"num_shares", "max_cpu", "num_deadlines"} & built().describe().keys()
