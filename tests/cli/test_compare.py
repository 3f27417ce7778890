"""``gpusched compare``."""

import csv
import dataclasses
import io
import json
from pathlib import Path

import polars as pl
import pytest

import gpusched as gs
from gpusched.cli.compare import SEEDS
from gpusched.studies import comparison as study
from tests.each import each
from tests.unit.real_data import DATA, counted

SMALL = ("--servers", 4, "--jobs", 200, "--seeds", 1)


def table_lines(stdout: str) -> list[str]:
    """The lines of the table, from its heading on."""
    lines = stdout.splitlines()
    ruler = next(index for index, line in enumerate(lines) if set(line) == {" ", "─"})
    return lines[ruler - 1 :]


def test_without_a_trace_a_generated_workload_is_compared(gpusched):
    result = gpusched("compare", *SMALL)
    assert result.exit_code == 0
    heading, _, *rows = table_lines(result.stdout)
    assert heading.split() == [
        "policy", "JCT", "JCT", "wait", "wait", "slowdown", "bound", "makespan", "util.",
        "preempt.",
    ]  # fmt: skip
    assert "philly: 200 jobs" in result.stdout
    assert "workload assumed" in result.stdout
    labels = [row.split("  ")[0].strip() for row in rows]
    assert labels[:5] == ["fifo-skip", "sjf †", "srtf †", "2d-las ≈", "easy †"]
    assert "jobs/s" not in result.stdout


def test_no_line_is_wider_than_100_columns_and_none_is_coloured(gpusched):
    many = ",".join(sorted(gs.policies()))
    for policies in ("fifo,srtf", many, "2d-las:preset=lucid,period_s=120,quota=free,easy"):
        result = gpusched("compare", *SMALL, "--jobs", 40, "--policies", policies)
        assert result.exit_code == 0, result.stderr
        assert max(map(len, result.stdout.splitlines())) <= 100
        assert "\x1b" not in result.output


def test_a_table_that_is_too_wide_is_turned_and_else_the_rest_is_named(gpusched):
    long = "2d-las:limits=3250/36000,period_s=60"
    result = gpusched("compare", *SMALL, "--policies", f"fifo,{long}")
    assert [line[:9] for line in table_lines(result.stdout)[2:5]] == [
        " mean JCT", " p99 JCT ", " mean wai",
    ]  # fmt: skip
    result = gpusched("compare", *SMALL, "--policies", f"fifo,srtf,sjf,swf,sgf,easy,las,{long}")
    rows = [line.split() for line in table_lines(result.stdout)[2:]]
    assert [row[0] for row in rows[:4]] == ["fifo", "srtf", "sjf", "swf"]
    assert "preemptions" in " ".join(result.stdout.split("--wide shows")[1].split())


def test_wide_shows_every_metric(gpusched):
    result = gpusched("compare", *SMALL, "--policies", "fifo,srtf", "--wide")
    (ruler,) = (line for line in result.stdout.splitlines() if set(line) == {" ", "─"})
    assert len(ruler) > 100
    for word in ("area", "geomean", "p90", "jobs/s", "servers"):
        assert word in result.stdout


def test_the_best_of_each_metric_carries_a_mark(gpusched):
    result = gpusched("compare", *SMALL, "--policies", "fifo,srtf", "--servers", 2)
    # Only fifo could be deployed, and there is nothing to win.
    assert "*" not in result.stdout
    result = gpusched("compare", *SMALL, "--policies", "fifo,srtf,2d-las", "--servers", 2)
    marked = {line.split()[0] for line in table_lines(result.stdout) if "*" in line}
    assert marked <= {"fifo", "2d-las", "*"}
    assert "* best value among deployable policies" in result.stdout


def test_a_table_has_five_forms_and_an_order(gpusched):
    asked = ("compare", *SMALL, "--policies", "fifo,srtf,las", "--servers", 2)
    found = gpusched_rows(gpusched(*asked, "--as", "csv", "--sort", "mean_jct_s").stdout)
    means = [float(row["mean_jct_s"]) for row in found]
    assert means == sorted(means)
    assert {row["policy"] for row in found} == {"fifo", "srtf", "las"}
    assert "wall_s" not in found[0]
    shares = gpusched_rows(
        gpusched(*asked, "--as", "csv", "--sort", "utilisation", "--wide").stdout
    )
    values = [float(row["utilisation"]) for row in shares]
    assert values == sorted(values, reverse=True)
    assert "wall_s" in shares[0]
    assert gpusched(*asked, "--as", "markdown").stdout.startswith("| policy | mean JCT |")
    assert gpusched(*asked, "--as", "latex").stdout.startswith("\\begin{tabular}{lrrr")
    assert "results" in json.loads(gpusched(*asked, "--as", "json").stdout)
    assert "--as: unknown 'cvs'; did you mean 'csv'" in gpusched(*asked, "--as", "cvs").stderr
    assert "--sort: unknown 'mean'" not in gpusched(*asked, "--sort", "mean").stderr
    missing = gpusched(*asked, "--sort", "max_jct_s")
    assert "--sort max_jct_s: not a column here; known: policy, mean_jct_s" in missing.stderr
    unknown = gpusched(*asked, "--sort", "mean_jct")
    assert unknown.exit_code == 2
    assert "--sort: unknown 'mean_jct'; did you mean 'mean_jct_s'" in unknown.stderr


def gpusched_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_report_and_the_jobs_are_written(gpusched, tmp_path):
    result = gpusched("compare", *SMALL, "--policies", "fifo,srtf", "--out", tmp_path / "a" / "b")
    assert f"wrote {tmp_path / 'a' / 'b' / 'report.html'}" in result.stderr
    assert (tmp_path / "a" / "b" / "report.html").read_text().startswith("<!doctype html>")
    jobs = pl.read_parquet(tmp_path / "a" / "b" / "jobs.parquet")
    assert jobs.height == 400


def test_the_window_of_the_timeline_may_be_chosen(gpusched, tmp_path):
    arguments = ("compare", *SMALL, "--policies", "fifo,srtf", "--out", tmp_path)
    assert gpusched(*arguments, "--gantt", "0:7200").exit_code == 0
    text = (tmp_path / "report.html").read_text()
    assert len(text) < 1_600_000
    assert "From 0 s to 2 h after the first submission" in text


def test_json_is_all_that_goes_to_stdout(gpusched_json):
    made = gpusched_json("compare", *SMALL, "--policies", "fifo,srtf")
    assert [row["policy"] for row in made["results"]] == ["fifo", "srtf"]
    assert made["cluster"]["num_gpus"] == 32
    assert Path(made["files"]["report"]).is_file()
    assert made["assumptions"] == [
        "workload assumed: generated philly-like jobs, as no trace was given",
        "3 jobs wider than a quarter of the cluster were narrowed to 8 GPUs",
    ]
    before = gpusched_json("compare", *SMALL, "--policies", "fifo", "--option", "model=1")
    assert len(before["assumptions"]) == 1
    assert before["results"][0]["digest"] != made["results"][0]["digest"]


def test_a_trace_without_a_cluster_gets_the_fewest_servers(gpusched, gpusched_json, jobs_csv):
    made = gpusched_json("compare", jobs_csv, "--policies", "fifo")
    trace = gs.read_trace(jobs_csv)
    num_gpus = made["cluster"]["num_gpus"]
    assert num_gpus >= 32
    assert trace.offered_load(num_gpus) <= 0.9
    assert num_gpus == 32 or trace.offered_load(num_gpus - 8) > 0.9
    printed = gpusched("compare", jobs_csv, "--policies", "fifo").stdout
    assert "the fewest 8-GPU servers" in printed
    smaller = gpusched_json("compare", jobs_csv, "--policies", "fifo", "--gpus-per-server", 4)
    assert "x 4 GPUs" in smaller["cluster"]["description"]


def test_a_cluster_comes_from_a_file(gpusched_json, jobs_csv, tmp_path):
    (tmp_path / "cluster.toml").write_text(gs.Cluster.uniform(7, 8, "V100").to_toml())
    made = gpusched_json("compare", jobs_csv, "-p", "fifo", "--cluster", tmp_path / "cluster.toml")
    assert made["cluster"]["description"].startswith("7 servers x 8 V100")
    assert made["assumptions"] == []


@pytest.mark.parametrize(
    ("file", "num_jobs", "num_gpus"),
    counted(
        real=[("itp/cluster06.csv", 2_396, 104), ("philly/philly.csv", 74_276, 440)],
        excerpt=[("itp/cluster06.csv", 80, None), ("philly/philly.csv", 300, None)],
    ),
)
def test_real_traces_run_on_a_cluster_of_their_size(gpusched_json, file, num_jobs, num_gpus):
    made = gpusched_json("compare", DATA / file, "-p", "fifo-skip,sjf")
    if num_gpus is not None:
        assert made["cluster"]["num_gpus"] == num_gpus
    assert made["results"][0]["load"] <= 0.9
    assert [row["num_finished"] for row in made["results"]] == [num_jobs, num_jobs]


def test_jobs_and_load_reshape_the_trace(gpusched_json, jobs_csv):
    arguments = (*SMALL, "--jobs", 100, "--load", 0.5, "-p", "fifo")
    (row,) = gpusched_json("compare", jobs_csv, *arguments)["results"]
    assert row["num_jobs"] == 100
    assert row["load"] == pytest.approx(0.5)
    (row,) = gpusched_json("compare", *arguments)["results"]
    assert row["num_jobs"] == 100
    assert row["load"] == pytest.approx(0.5, rel=1e-3)


def test_the_seed_decides_the_generated_workload(gpusched_json):
    def digest(seed: int) -> str:
        made = gpusched_json("compare", *SMALL, "-p", "random", "--seed", seed)
        return str(made["results"][0]["digest"])

    assert digest(1) == digest(1) != digest(2)


def test_rejected_rows_and_jobs_are_said_with_their_reasons(gpusched, jobs_csv):
    result = gpusched("compare", jobs_csv, "-p", "fifo,srtf", "--servers", 2)
    assert result.exit_code == 0
    assert "left out of the trace: service_s" in result.stderr
    assert "rejected: needs more GPUs than the cluster has" in result.stderr


def interrupt_after(policy: str, *, summarised: bool, patch: pytest.MonkeyPatch) -> None:
    """Make ``compare`` behave as if Ctrl-C came when only ``policy`` had finished."""
    compare = study.compare

    def interrupted(*arguments, **options):
        whole = compare(*arguments[:2], [policy], **options)
        cut_off = tuple(label for label in arguments[2] if label != policy)
        if summarised:
            raise study.Interrupted(dataclasses.replace(whole, unfinished=cut_off))
        raise study.Interrupted(
            study.Comparison(whole.trace, whole.cluster, whole.results, cut_off)
        )

    patch.setattr(study, "compare", interrupted)


def test_interrupted_runs_leave_a_table_of_the_others(gpusched, monkeypatch):
    interrupt_after("fifo", summarised=True, patch=monkeypatch)
    result = gpusched("compare", *SMALL, "-p", "fifo,sjf,srtf")
    assert result.exit_code == 130
    assert "makespan" in result.stdout
    assert "interrupted, not in the table: sjf, srtf" in result.stderr


def test_an_interrupt_does_not_wait_for_summaries(gpusched, monkeypatch):
    interrupt_after("fifo", summarised=False, patch=monkeypatch)
    result = gpusched("compare", *SMALL, "-p", "fifo,sjf")
    assert result.exit_code == 130
    assert result.stdout == ""
    assert "interrupted while summarising: fifo" in result.stderr


@each(
    ("texts", "policies"),
    [
        (["fifo"], ["fifo"]),
        (["fifo,sjf"], ["fifo", "sjf"]),
        (["easy:depth=2,extra=false,fifo"], ["easy:depth=2,extra=false", "fifo"]),
        (
            ["las:period_s=60,easy:depth=2,extra=false"],
            ["las:period_s=60", "easy:depth=2,extra=false"],
        ),
        (["2d-las:limits=3250/7200,period_s=60"], ["2d-las:limits=3250/7200,period_s=60"]),
        ([" fifo , sjf ", "las:period_s=60"], ["fifo", "sjf", "las:period_s=60"]),
        (["fifo,,sjf,"], ["fifo", "sjf"]),
    ],
)
def test_policies_are_split_where_no_parameter_follows(gpusched_json, texts, policies):
    named = [word for text in texts for word in ("-p", text)]
    shown = gpusched_json("compare", *SMALL, "--jobs", 20, *named)
    assert [run["policy"] for run in shown["results"]] == [
        str(gs.Policy.parse(p)) for p in policies
    ]


@pytest.mark.parametrize(
    ("error", "code"), [(ValueError("row 7"), 2), (ZeroDivisionError("so"), 1)]
)
def test_policies_that_fail_are_named_and_the_others_are_shown(
    gpusched, monkeypatch, tmp_path, error, code
):
    simulate = gs.simulate

    def run(*args, policy, **options):
        if policy.name in ("sjf", "easy"):
            raise error
        return simulate(*args, policy=policy, **options)

    monkeypatch.setattr(study, "simulate", run)
    result = gpusched("compare", *SMALL, "--policies", "sjf,fifo,easy,srtf")
    assert result.exit_code == code
    assert [line.split()[0] for line in table_lines(result.stdout)[2:4]] == ["fifo", "srtf"]
    lines = [line for line in result.stderr.splitlines() if line.startswith("gpusched:")]
    assert sorted(lines) == [f"gpusched: policy {name}: {error}" for name in ("easy", "sjf")]
    assert (tmp_path / "gpusched-report" / "report.html").exists()
    shown = gpusched("compare", *SMALL, "--policies", "sjf,fifo", "--json")
    assert json.loads(shown.stdout)["failed"] == {"sjf": str(error)}


def test_where_every_policy_fails_the_first_is_named_in_one_line(gpusched, monkeypatch):
    def run(*args, policy, **options):
        raise ValueError("row 7")

    monkeypatch.setattr(study, "simulate", run)
    result = gpusched("compare", *SMALL, "--policies", "sjf,fifo")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "gpusched: policy sjf: row 7" in result.stderr


def test_one_policy_and_several_are_told_apart(gpusched, gpusched_json):
    refused = gpusched("run", "-p", "fifo,srtf:restart=work", *SMALL[:-2])
    assert refused.exit_code == 2
    assert (
        "--policy: takes one; gpusched compare -p fifo,srtf:restart=work runs all 2"
        in refused.stderr
    )
    made = gpusched_json("compare", "--policy", "fifo", *SMALL)
    assert [row["policy"] for row in made["results"]] == ["fifo"]


def test_generated_jobs_are_compared_over_seeds(gpusched, gpusched_json):
    asked = ("compare", "--servers", 4, "--jobs", 200, "-p", "fifo,sjf", "--seed", 3)
    made = gpusched_json(*asked)
    assert [row["num_seeds"] for row in made["comparison"]] == [SEEDS] * 2
    assert [row["seed"] for row in made["runs"]] == [seed for seed in range(3, 15) for _ in "ab"]
    cluster = gs.Cluster.uniform(4, 8)
    ran = gs.simulate(gs.generate("philly", 200, cluster=cluster, seed=4), cluster, seed=4)
    assert made["runs"][2]["digest"] == ran.digest
    assert made["headline"]
    shown = gpusched(*asked)
    for said in (
        "12 times 200 jobs, seeds 3 to 14",
        "the first 10% of the jobs",
        "sjf †",
        "p: exact",
    ):
        assert said in shown.stdout
    assert made["headline"][0] in " ".join(shown.stdout.split())
    assert sorted(path.name for path in Path("gpusched-report").iterdir()) == [
        "report.html", "runs.parquet",
    ]  # fmt: skip
    assert pl.read_parquet("gpusched-report/runs.parquet").height == 24


def test_options_of_the_workload_hold_for_every_seed(gpusched_json):
    made = gpusched_json(
        "compare", *SMALL, "--seeds", 2, "-p", "edf", "--deadlines", "tightness=2,seed=1",
        "--restart", "5m", "--option", "model=1", "--load", "50%", "--warm-up", 0,
    )  # fmt: skip
    cluster = gs.Cluster.uniform(4, 8)
    trace = gs.generate("philly", 200, 0.5, cluster, 1, model=1)
    trace = trace.with_columns(restart_s=300.0).with_deadlines(tightness=2, seed=1)
    assert made["runs"][1]["digest"] == gs.simulate(trace, cluster, policy="edf", seed=1).digest
    assert made["runs"][1]["num_jobs"] == 200


@each(
    "one", [("jobs.csv",), ("--by", "gpus"), ("--price", "2"), ("--losers",), ("--graphs", "zoo")]
)
def test_what_is_of_one_workload_is_not_asked_of_several(gpusched, jobs_csv, one):
    result = gpusched("compare", *[jobs_csv if word == "jobs.csv" else word for word in one],
                      "--seeds", 2)  # fmt: skip
    assert result.exit_code == 2
    assert "needs a single workload; use --seeds 1" in result.stderr


def test_every_metric_of_the_seeds_is_shown_where_it_is_asked_for(gpusched):
    asked = ("compare", *SMALL, "--seeds", 2, "-p", "fifo,sjf", "--as", "csv")
    main, wide = (gpusched(*asked, *more).stdout.split("\n")[0] for more in ((), ("--wide",)))
    assert "p95_wait_s" not in main
    assert "p95_wait_s" in wide.split(",")


def test_only_files_that_are_there_are_named(gpusched, monkeypatch):
    monkeypatch.setattr("gpusched.cli.sweep.rendered", lambda *_, **__: None)
    result = gpusched("compare", *SMALL, "--seeds", 2, "-p", "fifo")
    assert [path.name for path in Path("gpusched-report").iterdir()] == ["runs.parquet"]
    assert "report.html" not in result.stderr


def test_a_page_that_cannot_be_drawn_costs_no_figures(gpusched, monkeypatch):
    def fails(*_: object, **__: object) -> None:
        raise FileNotFoundError("vega.js is missing")

    monkeypatch.setattr("gpusched.cli.sweep.rendered", fails)
    result = gpusched("compare", *SMALL, "--seeds", 2, "-p", "fifo,sjf")
    assert result.exit_code == 2
    assert "typical" in result.stdout
    assert "vega.js is missing" in result.stderr
