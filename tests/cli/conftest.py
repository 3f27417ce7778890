"""What the tests of the command line share."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import gpusched as gs
from gpusched.cli import app


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in ("COLUMNS", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def gpusched():
    """Run the command with some arguments, without a terminal."""

    def invoke(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


@pytest.fixture
def gpusched_json(gpusched):
    """Run the command with ``--json`` and decode what it prints."""

    def invoke(*arguments: object) -> dict[str, Any]:
        result = gpusched(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        decoded: dict[str, Any] = json.loads(result.stdout)
        return decoded

    return invoke


@pytest.fixture
def jobs_csv(tmp_path):
    """A trace of 300 jobs, the widest of 32 GPUs, with two rows that are no jobs."""
    trace = gs.generate("philly", 300, load=0.9, cluster=gs.Cluster.uniform(4, 8), seed=1)
    gpus = [min(int(width), 32) for width in trace.gpus]
    gpus[0] = 32
    lines = ["submit_s,service_s,gpus"]
    rows = zip(trace.submit_s, trace.service_s, gpus, strict=True)
    lines += [f"{submit},{service},{width}" for submit, service, width in rows]
    lines[5:5] = ["7.0,0.0,1", "8.0,nan,1"]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
