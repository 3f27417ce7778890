"""``gpusched size``."""

from inspect import signature
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


def test_the_policy_is_that_of_every_other_function_and_is_said(gpusched, jobs_csv):
    said = gpusched("size", jobs_csv, *GOAL, "--resamples", 0).stdout
    assert "for p95_wait_s < 600 (10 min) under fifo\n" in said
    asked = [gs.simulate, gs.whatif, gs.decide, gs.size]
    defaults = [signature(function).parameters for function in asked]
    assert {(of.get("policy") or of["base"]).default for of in defaults} == {"fifo"}


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


SACCT = """JobID|Submit|Start|End|ElapsedRaw|State|AllocTRES
1|2026-03-02T09:00:00|2026-03-02T09:00:00|2026-03-02T10:00:00|3600|COMPLETED|gres/gpu:a100=8
2|2026-03-02T09:10:00|2026-03-02T09:10:00|2026-03-02T09:40:00|1800|COMPLETED|gres/gpu:v100=8
3|2026-03-02T09:20:00|2026-03-02T09:20:00|2026-03-02T11:20:00|7200|COMPLETED|gres/gpu:v100=4
"""


def test_a_typed_log_of_slurm_answers_at_once(gpusched, gpusched_json, tmp_path):
    (tmp_path / "sacct.txt").write_text(SACCT)
    made = gpusched_json("size", "sacct.txt", *GOAL)
    assert made["counts"] == {"a100": 1, "v100": 2}
    result = gpusched("size", "sacct.txt", *GOAL, "--prices", "a100=4")
    assert result.exit_code == 0, result.stderr
    assert "you need 1 server x 8 a100 (8 GPUs), 32.00 an hour" in result.stdout
    assert "2 jobs that name v100, not on offer: left out (60.0% of the GPU time)" in result.stdout


def test_jobs_that_ran_on_types_not_on_offer_are_as_long_as_there(
    gpusched, gpusched_json, tmp_path
):
    (tmp_path / "sacct.txt").write_text(SACCT)
    asked = ("size", "sacct.txt", "--goal", "p99_jct_s < 61 min", "--prices", "a100=4")
    asked += ("--option", "gpu_types=any")
    made = gpusched_json(*asked, "--type-speeds", "a100=2,v100=1")
    jobs = gs.Trace.from_columns([0, 600, 1200], [3600, 900, 3600], [8, 8, 4])
    expected = gs.size(jobs, "p99_jct_s < 61 min", prices={"a100": 4})
    assert made["counts"] == {"a100": expected.servers} == {"a100": 3}
    equal = gpusched(*asked)  # the third job took two hours, on GPUs half as fast
    assert "no size found" in equal.stdout


def test_speeds_of_types_are_over_the_reference_type(gpusched_json, jobs_csv):
    made = gpusched_json(
        "size", jobs_csv, *GOAL, "--resamples", 0, "--prices", "V100=1,A100=2",
        "--type-speeds", "V100=2,A100=5", "--reference-type", "V100",
    )  # fmt: skip
    expected = gs.size(
        gs.read_trace(jobs_csv), "p95_wait_s < 600", resamples=0, prices={"V100": 1, "A100": 2},
        speeds={"A100": 2.5},
    )  # fmt: skip
    assert made["counts"] == dict(zip(("V100", "A100"), expected.counts, strict=True))
    assert "run times assumed: on a GPU of speed 1" in made["notes"]


def test_an_answer_that_does_not_exist_is_no_success(gpusched, jobs_csv):
    result = gpusched("size", jobs_csv, "--goal", "mean_jct_s < 1")
    assert result.exit_code == 1
    assert "no size found" in result.stdout


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


def test_the_picture_is_one_page(gpusched, jobs_csv):
    assert gpusched("size", jobs_csv, *GOAL, "--resamples", 0).exit_code == 0
    page = Path("gpusched-size/size.html").read_text()
    assert len(page) < 1_200_000
    assert 'id="p95_wait_s-chart"' in page


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


def test_a_policy_without_the_estimates_it_needs_is_noted_as_run_does(
    gpusched, gpusched_json, jobs_csv
):
    said = (
        "easy needs run-time estimates, but no job has one; using true run times (oracle) instead"
    )
    assert said in gpusched_json("run", jobs_csv, "-p", "easy", "--servers", 4)["warnings"]
    made = gpusched_json("size", jobs_csv, *GOAL, "-p", "easy", "--resamples", 0)
    assert said in made["notes"]
    assert said in gpusched("size", jobs_csv, *GOAL, "-p", "easy", "--resamples", 0).stdout
    assert said not in gpusched_json("size", jobs_csv, *GOAL, "--resamples", 0)["notes"]
