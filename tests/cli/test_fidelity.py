"""``gpusched fidelity``."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusched as gs
from tests.unit.studies.site_logs import SITE, jobs, logged


@pytest.fixture(scope="module")
def site() -> gs.Trace:
    return logged(jobs(0), policy="easy")


@pytest.fixture
def log(site: gs.Trace, tmp_path: Path) -> Path:
    path = tmp_path / "log.parquet"
    site.to_polars().write_parquet(path)
    return path


def test_it_prints_what_the_package_finds(gpusched, log: Path) -> None:
    result = gpusched("fidelity", log)
    assert result.exit_code == 0, result.stderr
    assert "nearest: easy, consolidated, 6 servers (48 GPUs)" in result.stdout
    assert "grade A (all measures)" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_json_holds_all_base_cases(gpusched_json, log: Path) -> None:
    made = gpusched_json("fidelity", log)
    assert made == gs.fidelity(gs.read_trace(log)).to_dict()
    assert made["grade"]["letter"] == "A"
    assert len(made["cases"]) == 14


def test_the_options_reach_it(gpusched_json, log: Path, tmp_path: Path) -> None:
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


def test_an_swf_log_has_its_own_starts(gpusched, gpusched_json, log: Path) -> None:
    made = gpusched("trace", "convert", log, "log.swf")
    assert made.exit_code == 0, made.output
    again = gpusched_json("fidelity", "log.swf", "-p", "fifo,easy", "--placements", "consolidated")
    # SWF counts whole seconds.
    assert again["cases"][0]["policy"] == "easy"
    assert again["cases"][0]["num_servers"] == 6
    assert again["grade"]["letter"] in "AB"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fidelity", "TRACE"),
        ("fidelity bare.csv", "bare: the jobs have no starts of their own (source_wait_s)"),
        ("fidelity log.parquet --servers six", "--servers: 'six' must be whole numbers"),
        ("fidelity log.parquet --servers 6,,8", "--servers: '6,,8' must be whole numbers"),
        ("fidelity log.parquet --servers 0", "servers: 0 must lie in 1..262,144"),
        (
            "fidelity log.parquet --placements kappa=2",
            "--placements: 'kappa=2' follows no placement",
        ),
        ("fidelity log.parquet --placements spred", "did you mean 'spread'"),
        ("fidelity log.parquet -p esay", "did you mean 'easy'"),
        ("fidelity log.parquet --warm-up 1e9", "at least 10 are needed"),
        ("fidelity log.parquet --tail -1", "tail_s: -1"),
        ("fidelity log.parquet --cluster x.toml --servers 4", "--cluster: cannot be combined"),
        ("fidelity nowhere.csv", "nowhere.csv: No such file"),
    ],
)
def test_a_mistake_is_one_line(
    gpusched, log: Path, tmp_path: Path, arguments: str, message: str
) -> None:
    (tmp_path / "bare.csv").write_text("submit_s,service_s,gpus\n0,10,1\n5,20,2\n")
    result = gpusched(*arguments.split())
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.startswith("gpusched: ")
    assert result.stderr.count("\n") == 1
