"""Priorities, and columns that are left out, at the command line."""

from __future__ import annotations

import pytest

import gpusched as gs
from tests.each import each

ASKED = ("-p", "fifo", "--servers", 1, "--gpus-per-server", 2)
CLUSTER = gs.Cluster.uniform(1, 2)
JOBS = """id,submit_s,service_s,gpus,priority,nice,user,estimate_s
a,0,10,2,0,,ann,20
b,1,20,2,5,1,ann,30
c,2,5,2,8,,bob,10
d,3,9,2,8,10,,20
"""


@pytest.fixture
def jobs_csv(tmp_path):
    (tmp_path / "jobs.csv").write_text(JOBS)
    return tmp_path / "jobs.csv"


def test_a_file_orders_jobs_by_priority(gpusched_json, jobs_csv):
    trace = gs.read_trace(jobs_csv)
    assert (trace.priority.tolist(), trace.nice.tolist()) == ([0, 5, 8, 8], [0, 1, 0, 10])
    begins = {None: [0, 15, 10, 35], "3m": [0, 15, 10, 35], "0.1": [0, 10, 30, 35]}
    for age, start_s in begins.items():
        more = () if age is None else ("--priority-age", age)
        made = gpusched_json("run", jobs_csv, *ASKED, *more, "--out", "kept")["result"]
        kept = gs.load_result("kept/result.npz")
        age_s = {None: None, "3m": 180, "0.1": 0.1}[age]
        expected = gs.simulate(trace, CLUSTER, policy="fifo", priority_age_s=age_s)
        assert kept.spec == expected.spec
        assert made["digest"] == kept.digest == expected.digest
        assert kept.jobs.start_s.tolist() == start_s


def test_other_commands_have_the_option_too(gpusched_json, jobs_csv):
    trace = gs.read_trace(jobs_csv)
    aged = gs.simulate(trace, CLUSTER, policy="fifo", priority_age_s=0.1)
    more = (*ASKED[2:], "--priority-age", "0.1")
    rows = gpusched_json("compare", jobs_csv, *more, "-p", "fifo,easy")["results"]
    assert [row["digest"] for row in rows if row["policy"] == "fifo"] == [aged.digest]
    answer = gpusched_json("whatif", jobs_csv, *more, "--base", "fifo", "--change", "load=*1.5")
    assert answer["base"]["mean_wait_s"] == aged.metric("mean_wait_s")
    generated = ("--servers", 4, "--jobs", 50, "--seeds", 2, "-p", "sjf")
    seeds = gpusched_json("compare", *generated, "--priority-age", "1h")["runs"]
    cluster = gs.Cluster.uniform(4, 8)
    trace = gs.generate("philly", 50, cluster=cluster, seed=1)
    expected = gs.simulate(trace, cluster, policy="sjf", seed=1, priority_age_s=3600)
    assert seeds[1]["digest"] == expected.digest


@each(
    "columns",
    [["priority", "nice"], ["priority"], ["nice"], ["user", "id"], ["estimate_s", "estimate_s"]],
)
def test_columns_are_left_out(gpusched_json, jobs_csv, columns):
    trace = gs.read_trace(jobs_csv).with_columns(**dict.fromkeys(columns))
    more = [part for name in columns for part in ("--ignore", name)]
    made = gpusched_json("run", jobs_csv, *ASKED, *more, "--out", "kept")["result"]
    kept = gs.load_result("kept/result.npz")
    assert kept.spec == gs.simulate(trace, CLUSTER, policy="fifo").spec
    assert made["digest"] == gs.simulate(trace, CLUSTER, policy="fifo").digest
    assert not set(columns) & {*kept.trace.to_polars().columns} - {"id"}


def test_other_commands_leave_columns_out_after_the_filter(gpusched, gpusched_json, jobs_csv):
    more = ("--filter", "priority > 4", "--ignore", "priority", "--ignore", "nice")
    assert gpusched("trace", "convert", jobs_csv, "less.csv", *more).exit_code == 0
    less = gs.read_trace("less.csv")
    assert (less.priority, less.nice, less.id.tolist()) == (None, None, ["b", "c", "d"])
    expected = gs.simulate(less, CLUSTER, policy="fifo-skip").digest
    rows = gpusched_json("compare", jobs_csv, *ASKED[2:], "-p", "fifo-skip,srtf", *more)["results"]
    assert rows[0]["digest"] == expected


@each(
    "arguments, message",
    [
        (("--ignore", "prioritty"), "--ignore: unknown column 'prioritty'; did you mean 'priority"),
        (("--ignore", "xyz"), "--ignore: unknown column 'xyz'; known: id, estimate_s,"),
        (("--ignore", "gpus"), "--ignore: a trace needs the column 'gpus'"),
        (("--priority-age", "soon"), "'soon' must be"),
        (("--priority-age", "0"), "priority_age_s: 0.0 must be finite and positive"),
    ],
)
def test_a_mistake_is_one_line(gpusched, jobs_csv, arguments, message):
    result = gpusched("run", jobs_csv, *ASKED, *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_only_a_file_has_columns_to_leave_out(gpusched):
    result = gpusched("run", "-p", "fifo", "--jobs", 10, "--ignore", "user")
    assert result.exit_code == 2
    assert "--ignore: needs a TRACE" in result.stderr


def test_a_search_over_many_runs_has_no_such_option(gpusched, jobs_csv):
    result = gpusched("size", jobs_csv, "--priority-age", "1h")
    assert result.exit_code == 2
    assert "No such option" in result.stderr


def test_a_policy_that_does_not_use_them_says_so(gpusched, jobs_csv):
    said = "policy=a-srpt does not use priorities"
    for arguments in (("run", jobs_csv, *ASKED[2:], "-p", "a-srpt"),
                      ("compare", jobs_csv, *ASKED[2:], "-p", "fifo,a-srpt")):  # fmt: skip
        told = gpusched(*arguments)
        assert " ".join((told.stdout + told.stderr).split()).count(said) == 1
        told = gpusched(*arguments, "--ignore", "priority", "--ignore", "nice")
        assert said not in told.stdout + told.stderr


def test_an_explanation_names_the_priority(gpusched, jobs_csv):
    told = gpusched("run", jobs_csv, *ASKED, "--explain", "d")
    assert "2 GPUs, run time 9 s, priority -2." in told.stdout
    told = gpusched("run", jobs_csv, *ASKED, "--explain", "d", "--ignore", "nice")
    assert "2 GPUs, run time 9 s, priority 8." in told.stdout
