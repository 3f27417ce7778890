"""Predictions that come with the trace: the predictor ``column``."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs

CLUSTER = gs.Cluster.uniform(1, 1)


def trace(**columns: object) -> gs.Trace:
    return gs.Trace.from_columns([0, 0, 0], [5, 3, 1], [1, 1, 1], **columns)


def test_a_policy_orders_by_the_predictions_of_the_trace():
    jobs = trace(predicted_s=[1, 2, 3])
    result = gs.simulate(jobs, CLUSTER, policy="sjf", predictor="column")
    assert result.jobs.start_s.tolist() == [0, 5, 8]
    assert result.spec.predictor == "column"
    assert not result.clairvoyant
    assert gs.simulate(jobs, CLUSTER, policy="sjf").jobs.start_s.tolist() == [4, 1, 0]


def test_predictions_stand_in_where_a_job_has_no_estimate():
    # One job runs; the head of the queue waits for two GPUs, and backfilling asks for estimates.
    jobs = gs.Trace.from_columns(
        [0, 1, 2], [10, 5, 5], [1, 2, 1],
        estimate_s=[10, np.nan, np.nan], predicted_s=[10, 5, 60],
    )  # fmt: skip
    late = gs.simulate(jobs, gs.Cluster.uniform(1, 2), policy="easy", predictor="column")
    assert late.jobs.start_s.tolist() == [0, 10, 15]  # 60 s would delay the head
    early = gs.simulate(jobs, gs.Cluster.uniform(1, 2), policy="easy")
    assert early.jobs.start_s.tolist() == [0, 10, 2]


def test_predictions_are_kept_by_frames_and_files(tmp_path):
    jobs = trace(predicted_s=[1, 2.5, 3])
    assert jobs.to_polars()["predicted_s"].to_list() == [1, 2.5, 3]
    again = gs.Trace.from_polars(jobs.to_polars())
    assert again.predicted_us.tolist() == [1_000_000, 2_500_000, 3_000_000]
    result = gs.simulate(jobs, CLUSTER, policy="sjf", predictor="column")
    result.save(tmp_path / "result.npz")
    assert (
        gs.load_result(tmp_path / "result.npz").trace.predicted_us.tolist()
        == again.predicted_us.tolist()
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "predictor 'column': the trace has no predicted_s"),
        ({"predicted_s": [1, np.nan, np.nan]}, r"job 1 \(row 1\) has no predicted_s, nor have 1"),
    ],
)
def test_a_missing_prediction_is_named(columns, message):
    with pytest.raises(ValueError, match=message):
        gs.simulate(trace(**columns), CLUSTER, policy="sjf", predictor="column")


def test_a_bad_prediction_is_named():
    with pytest.raises(ValueError, match=r"predicted_s.*must be positive"):
        trace(predicted_s=[1, 0, 3])
