"""``--as``: every command with a table writes it for people, papers and programs."""

import csv
import json

from tests.each import each

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
