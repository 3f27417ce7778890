"""``gpusched whatif``."""

from __future__ import annotations

import pytest

import gpusched as gs
from tests.unit.studies.site_logs import SITE, jobs, logged


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.parquet"
    logged(jobs(0), policy="easy").to_polars().write_parquet(path)
    return path


def test_it_prints_what_the_package_finds(gpusched, log):
    result = gpusched(
        "whatif", log, "--base", "easy", "--change", "policy=sjf", "--change", "servers=+1"
    )
    assert result.exit_code == 0, result.stderr
    assert "base: easy, placement consolidated, predictor estimate, 6 servers" in result.stdout
    assert "grade A (all measures)" in result.stdout
    assert "all together" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_json_holds_the_differences_and_the_grade(gpusched_json, log):
    made = gpusched_json("whatif", log, "--servers", 6, "--base", "fifo", "--change", "policy=easy")
    expected = gs.whatif(gs.read_trace(log), SITE, "fifo", ["policy=easy"])
    assert made == expected.to_dict() | {"assumptions": []}
    assert made["grade"]["letter"] in "DE"


def test_a_trace_without_starts_has_no_grade_and_an_assumed_cluster(gpusched, jobs_csv):
    result = gpusched("whatif", jobs_csv, "--change", "load=*1.2")
    assert result.exit_code == 0, result.stderr
    assert "no grade: the trace has no starts of its own" in result.stdout
    assert "cluster assumed: the fewest 8-GPU servers with load at most 0.9" in result.stdout
    assert "left out of the trace" in result.stderr


def test_it_needs_no_trace(gpusched_json):
    made = gpusched_json("whatif", "--jobs", 200, "--servers", 2, "--change", "policy=srtf")
    assert made["trace"]["num_jobs"] == 200
    assert any("generated philly-like jobs" in said for said in made["assumptions"])


def test_links_and_profiles_reach_the_base_case(gpusched_json, jobs_csv):
    made = gpusched_json(
        "whatif", jobs_csv, "--profiles", "zoo", "--speed", "ring", "--nic-gbps", 10,
        "--intra-gbps", 400, "--servers", 8, "--change", "contention=shared",
    )  # fmt: skip
    assert made["base"]["speed"].startswith("ring")
    assert [change["contention"].partition(":")[0] for change in made["changes"]] == ["shared"]
