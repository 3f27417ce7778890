"""``gpusched tune``."""

import os
from pathlib import Path

import pytest

import gpusched as gs
from tests.other_processes import interrupted_at

pytest.importorskip("optuna", reason="the extra tune is not installed")

STUDY = """
name = "tuned"
seeds = [1, 2]

[[traces]]
generate = "philly"
jobs = 90
loads = [0.9]

[[clusters]]
servers = 2
gpus = 8
"""
SPACE = """
[[space]]
policy = "2d-las"
limits = [[3250, 7200], [60, 600]]

[[space]]
policy = "las"
period_s = { low = 10, high = 600, log = true }
"""


@pytest.fixture
def files(tmp_path):
    """The arguments of a small search."""
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "space.toml").write_text(SPACE)
    return ("study.toml", "--space", "space.toml", "--metric", "mean_jct_s", "--held-out", 3)


def test_search_and_held_out_jobs_stand_side_by_side(gpusched, files):
    result = gpusched("tune", *files, "--trials", 6, "--report", "tuning.html")
    assert result.exit_code == 0, result.stderr
    expected = gs.tune(
        "space.toml", "study.toml", "mean_jct_s", trials=6, held_out=3, folder="study.tune"
    )
    lines = result.stdout.splitlines()
    assert lines[0] == f"tuned: {expected.counts}"
    assert lines[-1] == f"best of the search: {expected.best}; recommended: {expected.baseline}"
    for row in expected.rows[1]:
        assert any(row[0] in line and row[4] in line for line in lines), row
    for warning in expected.warnings:
        assert " ".join(warning.split()) in " ".join(result.stderr.split())
    assert "finished runs are saved in study.tune/search and study.tune/held-out" in result.stderr
    assert result.stderr.endswith("wrote tuning.html\n")
    assert str(expected.best) in Path("tuning.html").read_text()


def test_json_has_all_trials(gpusched_json, files):
    made = gpusched_json("tune", *files, "--trials", 5, "--batch", 2, "--seed", 3, "--out", "here")
    expected = gs.tune(
        "space.toml", "study.toml", "mean_jct_s", trials=5, held_out=3, batch=2, seed=3
    )
    assert made["best"] == str(expected.best)
    assert made["baseline"] == "2d-las"
    assert made["folder"] == "here"
    assert [row["value"] for row in made["trials"]] == expected.trials["value"].to_list()
    assert [row["typical"] for row in made["held_out"]] == expected.held_out["typical"].to_list()


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_soon_and_says_how_to_go_on(files, tmp_path):
    (tmp_path / "study.toml").write_text(STUDY.replace("jobs = 90", "jobs = 20000"))
    stderr = interrupted_at("study.tune/search/runs/*.parquet", "tune", *files, folder=tmp_path)
    assert stderr == (
        "interrupted: finished runs are saved in study.tune; repeat the command to resume\n"
    )
