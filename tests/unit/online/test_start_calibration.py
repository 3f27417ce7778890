"""Forecasts of starts, held against what then happens."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from bench.start_calibration import held_out, main
from gpusched.online.starting import StartCalibration, calibrate_starts, stretch_factors, stretched


def test_shares_count_who_had_started_by_each_quantile():
    found = StartCalibration(
        (0.1, 0.5, 0.9),
        np.arange(4.0),
        np.array([1.0, 5.0, 9.0, 20.0]),
        np.array([[1.0, 5.0, 10.0]] * 4),
    )
    assert found.share.tolist() == [0.25, 0.5, 0.75]
    assert found.share_within == 0.75
    assert found.median_error_s == 4.0
    assert "started by the 50 % quantile: 50%" in str(found)


def test_jobs_whose_run_times_are_drawn_alike_start_as_forecast():
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


def test_it_is_a_command(tmp_path, capsys):
    jobs = gs.generate("philly", 600, load=1.3, cluster=gs.Cluster.uniform(2, 8), seed=1)
    path = tmp_path / "jobs.csv"
    jobs.to_polars()["submit_s", "service_s", "gpus"].write_csv(path)
    days = jobs.submit_s[-1] / 86_400
    weeks = ["--weeks", str(days / 14), "--before", str(days / 14)]
    options = ["--servers", "2", "--questions", "80", "--samples", "8", "--policy", "fifo-skip"]
    assert main([str(path), str(path), *options, *weeks]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[:3] for row in rows[2:]] == [
        ["| jobs", "2", "`fifo-skip`"], ["| jobs", "2", "`fifo-skip`"], ["| all", "", "`fifo-skip`"]
    ]  # fmt: skip


def test_where_nobody_waits_nothing_is_asked():
    jobs = gs.Trace.from_columns([0, 10], [1, 1], [1, 1])
    with pytest.raises(ValueError, match="nobody waits"):
        calibrate_starts(jobs, gs.Cluster.uniform(2, 8), questions=3)


QUANTILES = (0.05, 0.5, 0.95)


def late(count: int, seed: int) -> StartCalibration:
    """Return forecasts that are right but for a factor of three."""
    rng = np.random.default_rng(seed)
    scale_s = rng.uniform(1e4, 1e6, count)
    spread = np.quantile(rng.lognormal(size=100_000), QUANTILES)
    wait_s = 3 * scale_s * rng.lognormal(size=count)
    asked_s = np.sort(rng.uniform(0, 6 * 7 * 86_400.0, count))
    return StartCalibration(QUANTILES, asked_s, wait_s, scale_s[:, None] * spread)


def test_corrected_forecasts_hold_what_they_say_on_questions_they_have_not_seen():
    earlier, later = late(400, 1), late(2000, 2)
    assert later.share_within < 0.8
    found = stretched(later.forecast_s, earlier.factors())
    within = (later.wait_s >= found[:, 0]) & (later.wait_s <= found[:, -1])
    assert 0.86 < within.mean() < 0.95
    assert abs((later.wait_s <= found[:, 1]).mean() - 0.5) < 0.06


def test_held_out_weeks_are_corrected_by_the_weeks_before_each():
    asked = late(600, 3)
    raw, made = held_out(asked, 2)
    assert (
        len(raw.wait_s)
        == len(made.wait_s)
        == (asked.asked_s >= asked.asked_s[-1] - 14 * 86_400).sum()
    )
    assert raw.share_within < 0.8 < made.share_within
    week_s, begin_s = 7 * 86_400, float(asked.asked_s[-1]) - 14 * 86_400
    # What comes after its beginning changes nothing of a week.
    cut = asked.asked_s < begin_s + week_s
    short = StartCalibration(
        QUANTILES, asked.asked_s[cut], asked.wait_s[cut], asked.forecast_s[cut]
    )
    assert short.factors(begin_s).tolist() == asked.factors(begin_s).tolist()
    changed = asked.wait_s.copy()
    changed[asked.asked_s >= begin_s] *= 7
    other = StartCalibration(QUANTILES, asked.asked_s, changed, asked.forecast_s)
    assert other.factors(begin_s).tolist() == asked.factors(begin_s).tolist()


def test_who_still_waits_counts_for_as_long_as_was_known():
    waits = np.array([1e4] * 6 + [1e5] * 6)
    asked = StartCalibration((0.5,), np.zeros(12), waits, np.full((12, 1), 1e4))
    assert asked.factors(2e4)[0] > 1  # at which half of them wait, and longer than they did so far
    assert asked.factors(5e5)[0] == pytest.approx((1e5 + 600) / (1e4 + 600))


def test_a_few_questions_correct_nothing():
    over = np.ones(3, np.bool_)
    assert stretch_factors((0.5,), np.ones(3), over, np.ones((3, 1))).tolist() == [1]


def test_a_forecast_is_corrected_by_a_calibration_of_its_quantiles():
    cluster = gs.Cluster.uniform(2, 8)
    jobs = gs.generate("philly", 400, load=1.4, cluster=cluster, seed=2)
    run = gs.Simulation(jobs, cluster, policy="fifo")
    while run.state.num_waiting < 10:
        run.step()
    job, calibration = int(run.state.waiting[-1]), late(100, 4)
    plain = gs.when(job, run, samples=40, alternatives=False, quantiles=QUANTILES)
    found = gs.when(job, run, samples=40, alternatives=False, calibration=calibration)
    assert found.start_s.tolist() == plain.start_s.tolist()
    wait_s = stretched(plain.quantile_s - run.now, calibration.factors())
    assert found.quantile_s.tolist() == (run.now + wait_s).tolist()
    with pytest.raises(ValueError, match="not those of the calibration"):
        gs.when(job, run, quantiles=(0.5,), calibration=calibration)
