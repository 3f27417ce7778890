"""Forecasts of starts, held against what then happens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gpusched as gs
from gpusched.deciding.start_calibration import StartCalibration, calibrate_starts, main


def test_shares_count_who_had_started_by_each_quantile() -> None:
    found = StartCalibration(
        (0.1, 0.5, 0.9), np.array([1.0, 5.0, 9.0, 20.0]), np.array([[1.0, 5.0, 10.0]] * 4)
    )
    assert found.share.tolist() == [0.25, 0.5, 0.75]
    assert found.share_within == 0.75
    assert found.median_error_s == 4.0
    assert "started by the 50 % quantile: 50%" in str(found)


def test_jobs_whose_run_times_are_drawn_alike_start_as_forecast() -> None:
    rng = np.random.default_rng(3)
    count = 4000
    trace = gs.Trace.from_columns(
        np.cumsum(rng.exponential(62.0, count)), rng.exponential(3600, count) + 1, [8] * count
    )
    # 58 servers at a load of about 1: always somebody waits, and nobody passes another.
    cluster = gs.Cluster.uniform(57, 8)
    found = calibrate_starts(trace, cluster, weeks=0.2, questions=60, samples=64, seed=1)
    assert len(found.wait_s) == 60
    assert (np.abs(found.share - found.quantiles) < 0.25).all()


def test_it_is_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = gs.generate("philly", 600, load=1.3, cluster=gs.Cluster.uniform(2, 8), seed=1)
    path = tmp_path / "jobs.csv"
    jobs.to_polars()["submit_s", "service_s", "gpus"].write_csv(path)
    options = ["--servers", "2", "--questions", "10", "--samples", "8", "--policy", "fifo-skip"]
    assert main([str(path), *options]) == 0
    printed = capsys.readouterr().out
    assert "2 servers, fifo-skip" in printed
    assert "between the outer two" in printed


def test_where_nobody_waits_nothing_is_asked() -> None:
    jobs = gs.Trace.from_columns([0, 10], [1, 1], [1, 1])
    with pytest.raises(ValueError, match="nobody waits"):
        calibrate_starts(jobs, gs.Cluster.uniform(2, 8), questions=3)
