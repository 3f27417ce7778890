"""What was wrong with what comes in through Python, and with what names a run."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from tests.each import each

CLUSTER = gs.Cluster.uniform(1, 4)


def trace(**columns: Any) -> gs.Trace:
    given = {"submit_s": [0, 0, 1], "service_s": [3, 5, 2], "gpus": [4, 4, 4]}
    return gs.Trace.from_columns(**given | columns)


@each(
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
)
def test_a_masked_argument_is_refused(call):
    with pytest.raises(ValueError, match=r"mask|missing"):
        call(np.ma.array([1, 999, 3], mask=[0, 1, 0]))


def test_complex_keys_of_an_order_are_a_type_error():
    class Imaginary(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            return jobs * 1j

    with pytest.raises(TypeError, match="rank must return real numbers, not complex128"):
        gs.simulate(trace(), CLUSTER, policy=Imaginary())


def test_complex_costs_are_a_type_error():
    with pytest.raises(TypeError, match="cost must hold integers or floats, not complex numbers"):
        gs.online.assign(np.array([[1 + 2j]]))


def test_a_matrix_of_truth_values_is_one_of_zeros_and_ones():
    assert gs.online.assign(np.array([[True, False], [False, True]])).cost == 0.0
    masked = np.ma.array([[True, False]], mask=[[0, 1]])
    with pytest.raises(ValueError, match=r"cost\[0, 1\]: is masked"):
        gs.online.assign(masked)


def test_a_reader_takes_an_unknown_status_as_unknown(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("submit_s,service_s,gpus,status\n0,1,1,banana\n0,1,1,ok\n")
    assert list(gs.read_trace(path).status.values()) == ["unknown", "ok"]


class Scaled(gs.Order):
    def __init__(self, sign: int) -> None:
        super().__init__()
        self.sign = sign

    def rank(self, view: Any, jobs: Any) -> Any:
        return self.sign * jobs


def test_objects_with_other_states_are_not_listed_twice():
    assert len(gs.compare(trace(), CLUSTER, [Scaled(1), Scaled(-1)]).results) == 2
