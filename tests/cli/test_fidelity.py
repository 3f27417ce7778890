"""``gpusched fidelity``."""

import polars as pl
import pytest

import gpusched as gs
from tests.unit.studies.site_logs import SITE, jobs, logged


@pytest.fixture(scope="module")
def site():
    return logged(jobs(0), policy="easy")


@pytest.fixture
def log(site, tmp_path):
    path = tmp_path / "log.parquet"
    site.to_polars().write_parquet(path)
    return path


def test_it_prints_what_the_package_finds(gpusched, log):
    result = gpusched("fidelity", log)
    assert result.exit_code == 0, result.stderr
    assert "nearest: easy, consolidated, 6 servers (48 GPUs)" in result.stdout
    assert "grade A (all measures)" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_json_holds_all_base_cases(gpusched_json, log):
    made = gpusched_json("fidelity", log)
    assert made == gs.fidelity(gs.read_trace(log)).to_dict()
    assert made["grade"]["letter"] == "A"
    assert len(made["cases"]) == 14


def test_the_options_reach_it(gpusched_json, log, tmp_path):
    made = gpusched_json(
        "fidelity", log, "-p", "fifo,2d-las:preset=lucid", "--placements",
        "consolidated-relaxed:kappa=2,spread", "--servers", "6,8", "--gpus-per-server", 8,
        "--predictor", "oracle", "--warm-up", 3600, "--tail", 7200, "--resolution", 30,
        "--threads", 1,
    )  # fmt: skip
    assert {case["policy"] for case in made["cases"]} == {"fifo", "2d-las:preset=lucid"}
    assert {case["placement"] for case in made["cases"]} == {
        "consolidated-relaxed:kappa=2", "spread",
    }  # fmt: skip
    assert {case["num_servers"] for case in made["cases"]} == {6, 8}
    assert {case["predictor"] for case in made["cases"]} == {"oracle"}
    assert (made["warm_up_s"], made["tail_s"], made["resolution_s"]) == (3600, 7200, 30)
    (tmp_path / "site.toml").write_text(SITE.to_toml())
    named = gpusched_json("fidelity", log, "--cluster", "site.toml", "-p", "easy", "--jobs", 400)
    assert {case["num_servers"] for case in named["cases"]} == {6}
    assert named["trace"]["num_jobs"] == 400


def test_an_swf_log_has_its_own_starts(gpusched, gpusched_json, log):
    made = gpusched("trace", "convert", log, "log.swf")
    assert made.exit_code == 0, made.output
    again = gpusched_json("fidelity", "log.swf", "-p", "fifo,easy", "--placements", "consolidated")
    # SWF counts whole seconds.
    assert again["cases"][0]["policy"] == "easy"
    assert again["cases"][0]["num_servers"] == 6
    assert again["grade"]["letter"] in "AB"


def test_ids_are_written_as_they_are(gpusched, site, tmp_path):
    path = tmp_path / "named.parquet"
    site.to_polars().with_columns(id=1_000_000 + pl.int_range(pl.len())).write_parquet(path)
    shown = gpusched("fidelity", path, "-p", "fifo", "--servers", 6).stdout
    found = gs.fidelity(gs.read_trace(path), policies=["fifo"], servers=[6]).jobs()["id"]
    table = shown.partition("waits that differ most")[2].splitlines()
    assert table[2].split()[0] == str(found[0])
