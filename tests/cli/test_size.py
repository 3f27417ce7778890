"""``gpusched size``."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusched as gs

GOAL = ("--goal", "p95_wait_s < 10 min")


def test_it_ends_with_the_servers_needed_and_a_picture(gpusched, jobs_csv):
    result = gpusched("size", jobs_csv, *GOAL, "-p", "fifo-skip", "--resamples", 5)
    assert result.exit_code == 0, result.stderr
    expected = gs.size(gs.read_trace(jobs_csv), "p95_wait_s < 600", policy="fifo-skip", resamples=5)
    assert str(expected) in result.stdout
    for note in expected.notes():
        assert note[:90] in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "wrote gpusched-size/size.html" in result.stderr
    assert str(expected.servers) in Path("gpusched-size/size.html").read_text()
    assert "cluster assumed" not in result.stdout


def test_json_holds_the_runs(gpusched_json, jobs_csv, tmp_path):
    made = gpusched_json("size", jobs_csv, *GOAL, "--resamples", 0, "--out", tmp_path / "x")
    expected = gs.size(gs.read_trace(jobs_csv), "p95_wait_s < 600", resamples=0)
    assert made["servers"] == expected.servers
    assert [row["servers"] for row in made["runs"]] == expected.table()["servers"].to_list()
    assert made["files"] == {"picture": str(tmp_path / "x" / "size.html")}


def test_a_mix_of_types_has_a_price(gpusched_json, jobs_csv):
    made = gpusched_json(
        "size", jobs_csv, *GOAL, "--prices", "V100=2.5,A100=4", "--resamples", 0,
        "--gpus-per-server", "V100=4,A100=8",
    )  # fmt: skip
    assert set(made["counts"]) == {"V100", "A100"}
    counts = made["counts"]
    assert made["hourly_price"] == counts["V100"] * 4 * 2.5 + counts["A100"] * 8 * 4


def test_an_answer_that_does_not_exist_is_no_success(gpusched, jobs_csv):
    result = gpusched("size", jobs_csv, "--goal", "mean_jct_s < 1")
    assert result.exit_code == 1
    assert "no number of servers was found" in result.stdout


def test_a_goal_of_a_part_of_the_runs(gpusched_json, jobs_csv):
    made = gpusched_json("size", jobs_csv, *GOAL, "--resamples", 0, "--warm-up", 3_600)
    expected = gs.size(gs.read_trace(jobs_csv), "p95_wait_s < 600", resamples=0, warm_up_s=3_600)
    assert made["servers"] == expected.servers
    assert made["window"] == {"warm_up_s": 3_600, "tail_s": None}


def test_the_answer_is_printed_before_the_picture_is_written(gpusched, jobs_csv, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "size.html")

    monkeypatch.setattr("gpusched.reporting.sizing_page.write_sizing", full)
    result = gpusched("size", jobs_csv, *GOAL, "--resamples", 0)
    assert result.exit_code != 0
    assert "you need" in result.stdout


def test_the_chart_library_may_be_linked(gpusched, jobs_csv):
    arguments = ("size", jobs_csv, *GOAL, "--resamples", 0)
    assert gpusched(*arguments, "--plotly", "cdn").exit_code == 0
    page = Path("gpusched-size/size.html").read_text()
    assert len(page) < 200_000
    assert '<script src="https://cdn.plot.ly/plotly-' in page
    refused = gpusched(*arguments, "--plotly", "web")
    assert refused.exit_code == 2
    assert "--plotly: must be 'inline'" in refused.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("size", *GOAL, "--resamples", 0),
        ("whatif", "--change", "policy=sjf"),
        ("run", "-p", "fifo"),
    ],
    ids=lambda command: command[0],
)
def test_every_study_takes_a_part_of_the_trace(gpusched, jobs_csv, command):
    name, *more = command
    result = gpusched(name, jobs_csv, *more, "--filter", "gpus < 8")
    assert result.exit_code == 0, result.stderr
    assert "--filter" in result.stderr
    count = int((gs.read_trace(jobs_csv).gpus < 8).sum())
    assert f"jobs: {count} jobs" in result.stdout
