"""Dependencies, arrays, holds and cancellations at the command line."""

from __future__ import annotations

import re

import pytest

import gpusched as gs

ASKED = ("-p", "fifo", "--servers", 1, "--gpus-per-server", 2)
CLUSTER = gs.Cluster.uniform(1, 2)
JOBS = """id,submit_s,service_s,gpus,dependency,status,array,array_limit,eligible_s,cancel_at_s
a,0,10,1,,failed,,,,
b,0,10,1,afterok:a,ok,,,,
c,0,10,1,"after:a+0.1,afterany:a",ok,,,,
m1,0,5,1,,ok,m,1,,
m2,0,5,1,,ok,m,1,,
late,1,5,1,,ok,,,30,
held,1,5,1,,ok,,,inf,
gone,1,5,2,,ok,,,,8
"""


@pytest.fixture
def held_csv(tmp_path):
    (tmp_path / "held.csv").write_text(JOBS)
    return tmp_path / "held.csv"


def test_a_file_holds_jobs_back(gpusched_json, held_csv):
    trace = gs.read_trace(held_csv)
    for more in ((), ("--kill-invalid-depend",)):
        made = gpusched_json("run", held_csv, *ASKED, *more, "--out", "kept")["result"]
        expected = gs.simulate(trace, CLUSTER, policy="fifo", kill_invalid_depend=bool(more))
        assert made["digest"] == expected.digest
        kept = gs.load_result("kept/result.npz")
        assert kept.spec == expected.spec
        assert kept.trace.to_polars().equals(trace.to_polars())
        assert made["num_cancelled"] == (2 if more else 1)
        start_s = dict(zip(kept.trace.id.tolist(), kept.jobs.start_s.tolist(), strict=True))
        assert start_s["late"] == 30
        assert start_s["m2"] >= start_s["m1"] + 5
    assert "kept, but used by no policy" not in str(made)


def test_other_commands_have_the_option_too(gpusched_json, held_csv):
    trace = gs.read_trace(held_csv)
    kills = gs.simulate(trace, CLUSTER, policy="srtf", kill_invalid_depend=True)
    rows = gpusched_json("compare", held_csv, *ASKED[2:], "-p", "fifo,srtf",
                         "--kill-invalid-depend")["results"]  # fmt: skip
    assert [row["digest"] for row in rows if row["policy"] == "srtf"] == [kills.digest]
    answer = gpusched_json(
        "whatif", held_csv, *ASKED[2:], "--change", "policy=srtf", "--kill-invalid-depend"
    )
    assert "2 jobs cancelled" in " ".join(answer["remarks"])
    seeds = gpusched_json("compare", "--servers", 4, "--jobs", 50, "--seeds", 2, "-p", "fifo",
                          "--kill-invalid-depend")["runs"]  # fmt: skip
    trace = gs.generate("philly", 50, cluster=gs.Cluster.uniform(4, 8), seed=1)
    expected = gs.simulate(trace, gs.Cluster.uniform(4, 8), policy="fifo", seed=1)
    assert seeds[1]["digest"] == expected.digest


def test_a_command_that_has_no_such_runs_has_no_such_option(gpusched):
    result = gpusched("size", "jobs.csv", "--kill-invalid-depend")
    assert result.exit_code == 2
    assert re.search("No such option:? '?--kill-invalid-depend", " ".join(result.stderr.split()))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("afterok:a", "afterok:c,singleton", "jobs b -> c -> b wait for each other (first: row 3)"),
        ("afterok:a", "afterok:b", "dependency: job b (row 3) waits for itself"),
        ("afterok:a", "aftrok:a", "'aftrok:a': unknown kind 'aftrok'; did you mean 'afterok'?"),
        ("+0.1", "+soon", "+soon: minutes must be a number from 0 to"),
        ("m,1,,\nm2", "m,2,,\nm2", "array_limit: job m2 (row 6): 1 must be equal for all tasks"),
        ("m,1,,\nm2", "m,0,,\nm2", "array_limit must be at least 1: 1 row (line 5)"),
        (",,30,", ",,0.5,", "eligible_s must not lie before the submission: 1 row (line 7)"),
        (",,,8", ",,,1", "cancel_at_s must lie after the submission: 1 row (line 9)"),
    ],
)
def test_a_mistake_is_one_line(gpusched, held_csv, old, new, message):
    if new.startswith("afterok:c"):
        held_csv.write_text(JOBS.replace("after:a+0.1,afterany:a", "afterok:b"))
    text = held_csv.read_text()
    assert old in text
    held_csv.write_text(text.replace(old, f'"{new}"' if "," in new and ":" in new else new, 1))
    result = gpusched("run", held_csv, *ASKED)
    assert message in " ".join(result.stderr.split())
    assert (result.exit_code == 2) == ("1 row" not in message)


def test_targets_that_are_not_there_are_remarked(gpusched, held_csv):
    held_csv.write_text(JOBS.replace("afterok:a", "afterok:zz:a"))
    result = gpusched("run", held_csv, *ASKED)
    said = "dependency: 1 target not found in the trace, counted as met (first: 'zz' of job b"
    assert said in " ".join((result.stdout + result.stderr).split())
