"""``--by``, ``--price``, ``--losers`` and ``--as``."""

import csv
import json
import re

import pytest

import gpusched as gs
from gpusched.base.wording import written
from gpusched.results import breakdown
from tests.each import each

FOUR = ("--servers", 4)


@pytest.fixture
def result(jobs_csv):
    return gs.simulate(gs.read_trace(jobs_csv), gs.Cluster.uniform(4, 8), policy="easy")


@each("by", [*breakdown.GROUPINGS, "widths"])
def test_the_option_knows_the_groupings_of_results(gpusched, jobs_csv, by):
    made = gpusched("run", jobs_csv, "-p", "easy", *FOUR, "--by", by)
    assert ("--by: unknown" in made.stderr) is (by not in breakdown.GROUPINGS)


def test_a_run_is_broken_down_and_priced(gpusched, jobs_csv, result):
    made = gpusched(
        "run", jobs_csv, "-p", "easy", *FOUR, "--by", "gpus", "--by", "month", "--price", 2.5
    )
    assert made.exit_code == 0, made.stderr
    lines = [line.split() for line in made.stdout.splitlines()]
    for row in result.by("gpus").iter_rows(named=True):
        (line,) = (cells for cells in lines if cells[:2] == [row["gpus"], str(row["num_jobs"])])
        assert line[-1] == written(row["gpu_hours"], "count")
    assert any(cells[:2] == ["days", "0-29"] for cells in lines)
    assert written(result.cost(2.5).held, "count") in made.stdout
    assert max(map(len, made.stdout.splitlines())) <= 100
    assert "makespan" not in made.stdout  # what was asked for stands alone


def test_json_holds_all_groups(gpusched_json, jobs_csv, result):
    made = gpusched_json("run", jobs_csv, "-p", "easy", *FOUR, "--by", "gpus", "--price", "gpu=3")
    assert made["by"]["gpus"] == result.by("gpus").to_dicts()
    assert made["cost"]["held"] == result.cost(3).held
    assert made["cost"]["types"][0]["type"] == "gpu"
    made = gpusched_json("run", jobs_csv, "-p", "easy", *FOUR)
    assert not {"by", "cost"} & made.keys()


def test_a_comparison_tells_who_lost_and_who_won(gpusched, jobs_csv):
    made = gpusched("compare", jobs_csv, *FOUR, "-p", "fifo,srtf", "--losers", "--by", "gpus")
    assert made.exit_code == 0, made.stderr
    found = gs.compare(gs.read_trace(jobs_csv), gs.Cluster.uniform(4, 8), ["fifo", "srtf"])
    num_lost = len(found.losers(limit=None))
    assert f"srtf after fifo: {num_lost} jobs lost" in made.stdout
    assert f"srtf after fifo: {len(found.winners(limit=None))} jobs won" in made.stdout
    first = found.losers().row(0, named=True)
    assert any(line.split()[:1] == [str(first["job"])] for line in made.stdout.splitlines())
    policies = [line.split()[:2] for line in made.stdout.splitlines()]
    assert ["1", "fifo"] in policies
    assert ["1", "srtf"] in policies


def test_losers_as_json_have_their_baseline(gpusched_json, jobs_csv):
    made = gpusched_json(
        "compare", jobs_csv, *FOUR, "-p", "fifo,srtf,easy", "--losers", "--baseline", "easy",
        "--price", 1,
    )  # fmt: skip
    assert set(made["losers"]) == {"fifo", "srtf"}
    assert made["losers"]["srtf"]["baseline"] == "easy"
    found = gs.compare(gs.read_trace(jobs_csv), gs.Cluster.uniform(4, 8), ["srtf", "easy"])
    assert made["losers"]["srtf"]["losers"] == found.losers("srtf", baseline="easy").to_dicts()
    assert made["cost"]["fifo"]["held"] == found.results["srtf"].cost(1).held


def test_many_users_are_cut_and_counted(gpusched):
    made = gpusched("run", "-p", "fifo", "--jobs", 4_000, *FOUR, "--by", "user")
    assert made.exit_code == 0, made.stderr
    assert "more: see --as csv" in made.stdout


def test_ids_are_written_as_they_are(gpusched, jobs_csv):
    named = [
        f"{row[0]},{row[1]},{row[2]},{12_345 + at}" if at else "submit_s,service_s,gpus,id"
        for at, row in enumerate(line.split(",") for line in jobs_csv.read_text().splitlines())
    ]
    jobs_csv.write_text("\n".join(named) + "\n")
    lost = gpusched("compare", jobs_csv, *FOUR, "-p", "fifo,srtf", "--losers").stdout
    ids = [cells[1] for cells in map(str.split, lost.splitlines()) if "finished" in cells]
    assert ids
    assert all(re.fullmatch(r"12\d{3}", name) for name in ids)
    told = gpusched("run", jobs_csv, *FOUR, "-p", "fifo", "--explain", f"id={ids[0]}").stdout
    assert f"(id {ids[0]})" in told


JOBS = "JOBS"
SMALL = (JOBS, "--servers", "4")


@each(
    "command",
    [
        ("run", *SMALL, "-p", "fifo"),
        ("run", *SMALL, "-p", "fifo", "--by", "gpus", "--price", "2"),
        ("compare", *SMALL, "-p", "fifo,las", "--losers", "--wide"),
        ("compare", *SMALL, "-p", "fifo,las", "--sort", "makespan_s"),
        ("whatif", JOBS, "--change", "servers=+1", "--sort", "num_gain"),
        ("size", JOBS, "--goal", "p95_wait_s < 1 h", "--resamples", "0"),
        ("trace", "info", JOBS),
        ("trace", "audit", JOBS, "--all"),
        ("trace", "formats"),
        ("policies",),
        ("metrics",),
    ],
)
def test_the_tables_of_a_command_stand_alone(gpusched, jobs_csv, command):
    asked = [jobs_csv if word == JOBS else word for word in command]
    made = {form: gpusched(*asked, "--as", form) for form in ("markdown", "latex", "csv", "json")}
    assert all(result.exit_code == 0 for result in made.values()), made["csv"].stderr
    for table in made["csv"].stdout.split("\n\n"):
        head, *rows = csv.reader(table.splitlines())
        assert rows
        assert {len(row) for row in rows} == {len(head)}
    assert all(line[:1] in ("|", "*", "") for line in _first_table(made["markdown"].stdout))
    assert "\\begin{tabular}" in made["latex"].stdout
    assert (
        json.loads(made["json"].stdout).keys()
        == json.loads(gpusched(*asked, "--json").stdout).keys()
    )


def _first_table(text: str) -> list[str]:
    return text.split("|\n\n")[0].splitlines()
