"""Rows of a trace that are no jobs are told once by every command that reads one."""

from __future__ import annotations

import json

import pytest

import gpusched as gs

# What the two rows of `jobs_csv` say that are no jobs.
REASON = "service_s must be positive"


@pytest.fixture
def study(jobs_csv):
    """A study of that trace, with two policies and two seeds."""
    path = jobs_csv.with_name("study.toml")
    path.write_text(
        'name = "s"\nseeds = [1, 2]\npolicies = ["fifo-skip", "sjf"]\n'
        f'traces = [{{file = "{jobs_csv.name}"}}]\nclusters = [{{servers = 6, gpus = 8}}]\n'
    )
    return path


@pytest.fixture
def state(tmp_path):
    """A cluster on which the job ``waits`` waits for the job ``runs``."""
    runs = {
        "id": "runs", "submit_s": 0, "gpus": 8, "service_s": 3600, "start_s": 0,
        "held": [{"server": 1, "gpus": list(range(8))}],
    }  # fmt: skip
    waits = {"id": "waits", "submit_s": 10, "gpus": 16, "service_s": 60}
    cluster = {"servers": [{"count": 2, "gpus": 8}]}
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"now_s": 1800, "cluster": cluster, "jobs": [runs, waits]}))
    return path


def test_size_tells_them_once(gpusched, jobs_csv):
    done = gpusched("size", jobs_csv, "--goal", "mean_wait_s < 1 h", "--resamples", 0)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count(REASON) == 1


@pytest.mark.parametrize("more", [(), ("--processes", 2), ("--json",)])
def test_sweep_tells_them_once(gpusched, study, more):
    done = gpusched("sweep", study, *more)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count(REASON) == 1
    assert REASON not in done.stdout


def test_in_python_a_sweep_warns_of_them_once(study):
    with pytest.warns(gs.RunWarning, match=REASON) as told:
        gs.sweep(study)
    assert len(told) == 1


def test_tune_tells_them_once(gpusched, study):
    pytest.importorskip("optuna", reason="the extra tune is not installed")
    study.with_name("space.toml").write_text(
        '[[space]]\npolicy = "las"\nperiod_s = { low = 10, high = 600, log = true }\n'
    )
    done = gpusched(
        "tune", study, "--space", "space.toml", "--metric", "mean_jct_s", "--trials", 2,
        "--held-out", 2,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count(REASON) == 1


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_when_tells_those_of_the_history_once(gpusched, state, jobs_csv, more):
    done = gpusched(
        "when", "waits", "--state", state, "--history", jobs_csv, "--samples", 20, *more
    )
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count(REASON) == 1
    if more:
        assert json.loads(done.stdout)["num_samples"] == 20
