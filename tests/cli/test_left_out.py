"""Rows of a trace that are no jobs are told once by every command that reads one."""

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


COMMANDS = {
    "size": ["size", "jobs.csv", "--goal", "mean_wait_s < 1 h", "--resamples", 0],
    "sweep": ["sweep", "study.toml"],
    "sweep in processes": ["sweep", "study.toml", "--processes", 2],
    "sweep as JSON": ["sweep", "study.toml", "--json"],
    "tune": [
        "tune", "study.toml", "--space", "space.toml", "--metric", "mean_jct_s", "--trials", 2,
        "--held-out", 2,
    ],
    "when": ["when", "waits", "--state", "state.json", "--history", "jobs.csv", "--samples", 20],
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_tells_them_once(gpusched, study, state, name):
    if name == "tune":
        pytest.importorskip("optuna", reason="the extra tune is not installed")
    study.with_name("space.toml").write_text(
        '[[space]]\npolicy = "las"\nperiod_s = { low = 10, high = 600, log = true }\n'
    )
    done = gpusched(*COMMANDS[name])
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count(REASON) == 1
    assert REASON not in done.stdout


def test_in_python_a_sweep_warns_of_them_once(study):
    with pytest.warns(gs.RunWarning, match=REASON) as told:
        gs.sweep(study)
    assert len(told) == 1
