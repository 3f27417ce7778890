"""What was wrong with what comes in through Python, and with what names a run."""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.prediction.known import Oracle
from tests.learners import learner

CLUSTER = gs.Cluster.uniform(1, 4)


def trace(**columns: Any) -> gs.Trace:
    given = {"submit_s": [0, 0, 1], "service_s": [3, 5, 2], "gpus": [4, 4, 4]}
    return gs.Trace.from_columns(**given | columns)


def test_a_masked_estimate_is_missing() -> None:
    jobs = trace(estimate_s=np.ma.array([1, 999, 3], mask=[0, 1, 0]))
    assert jobs.estimate_us.tolist() == [1_000_000, -1, 3_000_000]


def test_a_masked_width_is_an_error_that_names_the_row() -> None:
    with pytest.raises(ValueError, match="row 1, column 'gpus'"):
        trace(gpus=np.ma.array([1, 999, 3], mask=[0, 1, 0]))


@pytest.mark.parametrize(
    "call",
    [
        lambda masked: gs.online.assign(
            np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 0], [0, 1]])
        ),
        lambda masked: gs.online.transport([[1.0, 1.0]], [2], masked[:2]),
        lambda masked: gs.online.place_jobs([[1.0]] * 3, rounds=masked, round_samples=1.0),
        lambda masked: gs.prediction.predict(trace(), "oracle", finish_s=masked),
        lambda masked: trace().filter(np.ma.array([True] * 3, mask=[0, 1, 0])),
        lambda masked: trace().with_profiles(gs.model.zoo(), masked),
    ],
    ids=["assign", "transport", "place_jobs", "predict", "filter", "with_profiles"],
)
def test_a_masked_argument_is_refused(call: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"mask|missing"):
        call(np.ma.array([1, 999, 3], mask=[0, 1, 0]))


def test_complex_keys_of_an_order_are_a_type_error() -> None:
    class Imaginary(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            return jobs * 1j

    with pytest.raises(TypeError, match="rank must return real numbers, not complex128"):
        gs.simulate(trace(), CLUSTER, policy=Imaginary())


def test_complex_costs_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="cost must hold integers or floats, not complex numbers"):
        gs.online.assign(np.array([[1 + 2j]]))


def test_a_matrix_of_truth_values_is_one_of_zeros_and_ones() -> None:
    assert gs.online.assign(np.array([[True, False], [False, True]])).cost == 0.0
    masked = np.ma.array([[True, False]], mask=[[0, 1]])
    with pytest.raises(ValueError, match=r"cost\[0, 1\]: is masked"):
        gs.online.assign(masked)


@pytest.mark.parametrize("column", ["submit_us", "gpus", "row", "id"])
def test_no_column_of_a_trace_becomes_writeable(column: str) -> None:
    with pytest.raises(ValueError, match="WRITEABLE"):
        getattr(trace(), column).flags.writeable = True


def test_a_lazy_frame_is_refused_with_the_remedy() -> None:
    lazy = pl.LazyFrame({"submit_s": [0], "service_s": [1], "gpus": [1]})
    with pytest.raises(TypeError, match=r"call \.collect\(\)"):
        gs.Trace.from_polars(lazy)


def test_a_duration_column_is_a_duration_in_its_unit() -> None:
    durations = [datetime.timedelta(milliseconds=n) for n in (1, 2, 3)]
    for unit in ("ms", "us", "ns"):
        frame = pl.DataFrame({"submit_s": [0, 0, 0], "service_s": durations, "gpus": [1, 1, 1]})
        jobs = gs.Trace.from_polars(frame.with_columns(pl.col("service_s").dt.cast_time_unit(unit)))
        assert jobs.service_us.tolist() == [1000, 2000, 3000]


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(ValueError, match="row 1, column 'status': 'banana' must be one of ok, f"):
        trace(status=["ok", "banana", "ok"])


def test_a_reader_takes_an_unknown_status_as_unknown(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,service_s,gpus,status\n0,1,1,banana\n0,1,1,ok\n")
    assert list(gs.read_trace(path).status.values()) == ["unknown", "ok"]


class Scaled(gs.Order):
    def __init__(self, sign: int) -> None:
        super().__init__()
        self.sign = sign

    def rank(self, view: Any, jobs: Any) -> Any:
        return self.sign * jobs


def test_objects_with_other_states_have_other_specifications() -> None:
    specs = [gs.simulate(trace(), CLUSTER, policy=Scaled(sign)).spec for sign in (1, 1, -1)]
    assert specs[0] == specs[1] != specs[2]


def test_objects_with_other_states_are_not_listed_twice() -> None:
    assert len(gs.compare(trace(), CLUSTER, [Scaled(1), Scaled(-1)]).results) == 2


@pytest.mark.parametrize(
    "columns",
    [
        {"gpu_types": ["gpu", "", ""]},
        {"weight": [1, 2, 3]},
        {"estimate_s": [1, 2, 3]},
        {"predicted_s": [1, 2, 3]},
        {"restart_s": [1, 2, 3]},
        {"checkpoint_s": [1, 2, 3]},
        {"id": [3, 2, 1]},
        {"user": ["a", "b", "a"]},
        {"group": ["a", "b", "a"]},
    ],
    ids=lambda columns: next(iter(columns)),
)
def test_every_column_that_a_run_reads_is_in_the_fingerprint(columns: dict[str, Any]) -> None:
    from gpusched.specs.run_spec import fingerprint

    assert fingerprint(trace(**columns)) != fingerprint(trace())


def test_traces_with_equal_profiles_have_equal_fingerprints_after_a_pickle() -> None:
    from gpusched.specs.run_spec import fingerprint

    jobs = trace(gpus=[2, 2, 2]).with_graphs(
        gs.model.JobGraph("g", (gs.model.Stage(1, 0.1, 1.0, 2.0), gs.model.Stage(1, 0.1, 1.0)))
    )
    assert fingerprint(pickle.loads(pickle.dumps(jobs))) == fingerprint(jobs)


def test_what_a_predictor_learned_of_users_is_in_the_specification() -> None:
    labels = [
        learner("group-mean").train(trace(user=users)).label
        for users in (["a", "b", "a"], ["c", "d", "c"])
    ]
    assert labels[0] != labels[1]


def test_a_subclass_of_the_oracle_is_asked_for_its_predictions() -> None:
    class Wrong(Oracle):
        def predict(self, jobs: Any) -> Any:
            return super().predict(jobs)[::-1]

    result = gs.simulate(trace(), CLUSTER, policy="sjf", predictor=Wrong())
    assert result.spec.predictor != "oracle"


def test_an_error_of_one_policy_does_not_lose_the_others() -> None:
    class Bad(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            raise ValueError("never")

    with pytest.raises(ValueError, match=r"policy python:.*Bad: never") as caught:
        gs.compare(trace(), CLUSTER, [Bad(), "fifo", "sjf"])
    assert list(caught.value.comparison.results) == ["fifo", "sjf"]  # type: ignore[attr-defined]
