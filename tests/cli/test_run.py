"""``gpusched run``."""

from pathlib import Path

import polars as pl

import gpusched as gs
from gpusched.audit import AuditReport

SMALL = ("--servers", 4, "--jobs", 200)


def test_a_run_prints_a_metric_per_line(gpusched):
    result = gpusched("run", "--policy", "2d-las:preset=lucid", *SMALL)
    assert result.exit_code == 0, result.stderr
    assert "2d-las:preset=lucid" in result.stdout
    lines = [line.split() for line in result.stdout.splitlines()]
    assert "wall time" not in result.stdout
    assert "wall time" in gpusched("run", "--policy", "fifo", *SMALL, "--wide").stdout
    assert any(line[:2] == ["mean", "JCT"] and len(line) == 4 for line in lines)
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_json_holds_the_summary(gpusched_json, jobs_csv):
    made = gpusched_json("run", jobs_csv, "-p", "srtf", "--servers", 4)
    expected = gs.simulate(gs.read_trace(jobs_csv), gs.Cluster.uniform(4, 8), policy="srtf")
    assert made["result"]["digest"] == expected.digest
    assert made["result"]["mean_jct_s"] == expected.summary()["mean_jct_s"]
    assert made["trace"]["num_rejects"] == 2
    assert made["cluster"]["num_gpus"] == 32


def test_the_result_is_saved_and_loads_again(gpusched, tmp_path):
    result = gpusched("run", "-p", "srtf", *SMALL, "--out", tmp_path / "srtf")
    assert result.exit_code == 0, result.stderr
    loaded = gs.load_result(tmp_path / "srtf" / "result.npz")
    assert loaded.spec.policy == "srtf"
    assert pl.read_parquet(tmp_path / "srtf" / "jobs.parquet").equals(loaded.to_polars())


def test_a_report_is_written_where_it_is_asked_for(gpusched, gpusched_json, tmp_path):
    path = tmp_path / "a" / "fifo.html"
    result = gpusched("run", "-p", "fifo", *SMALL, "--report", path)
    assert result.exit_code == 0, result.stderr
    assert f"wrote {path}" in result.stderr
    text = path.read_text()
    assert text.startswith("<!doctype html>")
    assert "fifo: mean JCT" in text
    assert "cluster assumed" not in text
    made = gpusched_json("run", "-p", "fifo", *SMALL, "--out", "kept", "--gantt", "0:3600")
    assert made["files"]["report"] == "kept/report.html"
    text = Path("kept/report.html").read_text()
    assert "From 0 s to 1 h after the first submission" in text
    made = gpusched_json("run", "-p", "fifo", *SMALL, "--out", "kept", "--report", "here.html")
    assert made["files"]["report"] == "here.html"


def test_nothing_is_written_unless_asked(gpusched, tmp_path):
    assert gpusched("run", "-p", "srtf", *SMALL).exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_an_audit_that_finds_nothing_says_so(gpusched, gpusched_json):
    result = gpusched("run", "-p", "srtf", *SMALL, "--audit")
    assert result.exit_code == 0
    assert "audit: every rule holds" in result.stdout
    assert gpusched_json("run", "-p", "srtf", *SMALL, "--audit")["audit"]["ok"]


def test_an_audit_that_finds_something_fails(gpusched, monkeypatch):
    monkeypatch.setattr(gs.Result, "audit", lambda _: AuditReport(["GPU 3 is used twice"]))
    result = gpusched("run", "-p", "srtf", *SMALL, "--audit")
    assert result.exit_code == 1
    assert "audit: GPU 3 is used twice" in result.stdout


def test_a_clairvoyant_policy_is_marked(gpusched):
    assert "srtf †" in gpusched("run", "-p", "srtf", *SMALL).stdout
    assert "†" not in gpusched("run", "-p", "fifo", *SMALL).stdout


def test_a_job_is_explained(gpusched, gpusched_json, jobs_csv):
    result = gs.simulate(gs.read_trace(jobs_csv), gs.Cluster.uniform(4, 8), policy="fifo")
    job = int(result.jobs.wait_s.argmax())
    arguments = ("run", jobs_csv, "-p", "fifo", "--servers", 4, "--explain", job)
    lines = result.explain(job).lines
    assert gpusched_json(*arguments)["explanation"] == list(lines)
    assert any(line.startswith("  Their GPU time during the wait: ") for line in lines)
    shown = " ".join(gpusched(*arguments).stdout.split())
    assert all(" ".join(line.split()) in shown for line in lines)


def test_a_job_is_explained_by_its_id(gpusched, tmp_path):
    path = tmp_path / "named.csv"
    path.write_text("id,submit_s,service_s,gpus\n70,0,60,8\n1,5,60,8\n1001_2,9,60,8\n")
    run = ("run", path, "-p", "fifo", "--servers", 1, "--explain")
    for asked, said in (("id=1", "Job 1 (id 1)"), ("1", "Job 1 (id 1)"), ("1001_2", "Job 2")):
        assert said in gpusched(*run, asked).stdout
    path.write_text(path.read_text().replace("1001_2", "2"))
    assert "Job 0 (id 70)" in gpusched(*run, "id=70").stdout
    refused = gpusched(*run, 70)
    assert refused.exit_code == 2
    assert "no job 70; the last one is 2; id=70 is the one with this id" in refused.stderr
    assert "--explain: none has the id '7'" in gpusched(*run, "id=7").stderr


def test_a_warm_up_and_a_tail_are_left_out(gpusched, gpusched_json, jobs_csv):
    cuts = ("--warm-up", 3_600, "--tail", 600)
    made = gpusched_json("run", jobs_csv, "-p", "fifo", "--servers", 4, *cuts, "--by", "gpus")
    result = gs.simulate(gs.read_trace(jobs_csv), gs.Cluster.uniform(4, 8), policy="fifo")
    expected = result.summary(warm_up_s=3_600, tail_s=600)
    assert 0 < expected["num_jobs"] < 300
    for key in ("num_jobs", "mean_wait_s", "allocation", "window_begin_s", "window_end_s"):
        assert made["result"][key] == expected[key]
    assert made["window"] == {"warm_up_s": 3_600, "tail_s": 600}
    assert sum(row["num_jobs"] for row in made["by"]["gpus"]) == expected["num_jobs"]
    table = gpusched("run", jobs_csv, "-p", "fifo", "--servers", 4, *cuts).stdout
    assert "metrics cover the run after a warm-up of 1 h and until 10 min before" in table
    assert "gap to lower bound" not in table
    both = gpusched_json("compare", jobs_csv, "-p", "fifo,srtf", "--servers", 4, *cuts)
    assert both["results"][0]["mean_wait_s"] == expected["mean_wait_s"]
    refused = gpusched("run", jobs_csv, "-p", "fifo", "--warm-up", 1e9)
    assert refused.exit_code == 2
    assert "none is left without the first" in refused.stderr


def test_a_run_whose_log_passes_its_limit_ends_in_a_line(gpusched):
    result = gpusched("run", "-p", "srtf", *SMALL, "--max-intervals", 50)
    assert result.exit_code == 2
    assert "intervals, the last one of job" in result.stderr
    assert "max_intervals is 50" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert gpusched("run", "-p", "srtf", *SMALL, "--max-intervals", 10_000).exit_code == 0


def test_the_cost_of_a_restart_stands_in_the_heading(gpusched, tmp_path):
    plain = ("run", "-p", "srtf", "--servers", 4, "--jobs", 400)
    run, page = (*plain, "--option", "model=1"), tmp_path / "r" / "report.html"
    said = "a restart costs nothing under srtf"
    assert f"{said} (the trace states no cost:" in " ".join(gpusched(*run).stdout.split())
    assert "costs 10 min under srtf" in gpusched(*run, "--restart", "10m").stdout
    assert "costs 1 min under srtf" in gpusched(*plain).stdout
    policies = ("-p", "fifo,srtf,2d-las:cost_s=30", "--out", tmp_path / "r")
    both = " ".join(gpusched("compare", "--seeds", 1, *run[3:], *policies).stdout.split())
    assert f"{said}; 30 s under 2d-las:cost_s=30 (the" in both
    assert said in page.read_text()
    assert "restart" not in gpusched("run", "-p", "fifo", *run[3:]).stdout


def test_times_and_shares_are_written_as_people_write_them(gpusched, gpusched_json):
    run = ("run", "-p", "srtf", "--servers", 4, "--jobs", 400)
    asked = ("--load", 0.8, "--warm-up", 5400, "--restart", 60)
    same = ("--load", "80%", "--warm-up", "1.5h", "--restart", "1 min")
    first, second = (gpusched_json(*run, *how)["result"] for how in (asked, same))
    timed = {"wall_s": 0, "jobs_per_s": 0}
    assert first | timed == second | timed
    for option, said in (
        ("--restart=5x", "'--restart': '5x' must be a time such as 90, 90s, 15m, 1.5h or 1d"),
        ("--restart=-5", "--restart: -5.0 must lie in 0.."),
        ("--load=80 %%", "'--load': '80 %%' must be a share such as 0.9 or 90%"),
    ):
        refused = gpusched(*run, option)
        assert refused.exit_code == 2
        assert said in refused.stderr


TYPED = """
[[servers]]
count = 4
gpus = 8
gpu_type = "V100"
[[servers]]
count = 4
gpus = 8
gpu_type = "A100"
speed = 2.1
"""


def test_types_of_the_cluster_differ_in_speed_and_what_run_times_are_is_said(
    gpusched, gpusched_json, jobs_csv, tmp_path
):
    (tmp_path / "typed.toml").write_text(TYPED)
    where = ("run", jobs_csv, "-p", "fifo", "--cluster", "typed.toml")
    made = gpusched_json(*where)
    cluster = gs.read_cluster(tmp_path / "typed.toml")
    trace = gs.read_trace(jobs_csv)
    assert made["result"]["digest"] == gs.simulate(trace, cluster, policy="fifo").digest
    assert made["assumptions"] == ["run times assumed: on a GPU of speed 1"]
    assert made["warnings"] == []
    made = gpusched_json(*where, "--type-speeds", "A100=3,V100=1.5", "--reference-type", "V100")
    faster = cluster.with_speeds({"A100": 3, "V100": 1.5})
    expected = gs.simulate(trace.with_reference_type("V100"), faster, policy="fifo")
    assert made["result"]["digest"] == expected.digest
    assert made["assumptions"] == ["run times: those on V100, as declared"]
    fixed = gpusched(*where, "--speed", "fixed")
    assert "speed fixed ignores the speeds of the cluster's GPU types" in fixed.stderr
    equal = gpusched(*where, "--type-speeds", "A100=1")
    assert "V100, A100 count as equally fast for 300 jobs that may run on several" in equal.stderr
    for wrong, said in [("2", "is not of the form A=X,B=Y"), ("T4=2", "unknown 'T4'")]:
        assert said in gpusched(*where, "--type-speeds", wrong).stderr


def typed_jobs(path, *types):
    rows = [f"{10 * row},60,2,{name}" for row, name in enumerate(types)]
    path.write_text("\n".join(["submit_s,service_s,gpus,gpu_types", *rows]) + "\n")
    return path


def test_equal_servers_have_the_one_type_that_jobs_name(gpusched, gpusched_json, tmp_path):
    path = typed_jobs(tmp_path / "typed.csv", "V100", "", "V100")
    made = gpusched_json("run", path, "-p", "fifo", "--servers", 1, "--type-speeds", "V100=2")
    assert made["cluster"]["description"] == "1 server x 8 V100 of speed 2 (8 GPUs)"
    assert made["result"]["num_finished"] == 3
    assert made["assumptions"][0] == "GPU type assumed: V100, the only one that jobs name"
    assert "GPU type assumed: V100" in gpusched("trace", "audit", path, "--servers", 1).stderr
    cut = gpusched_json("run", path, "-p", "fifo", "--servers", 1, "--from", 5, "--to", 15)
    assert cut["cluster"]["description"] == "1 server x 8 GPUs (8 GPUs)"


def test_equal_servers_of_several_types_must_be_listed(gpusched, tmp_path):
    path = typed_jobs(tmp_path / "typed.csv", "V100", "T4", "T4|V100")
    for command in (["compare"], ["run", "-p", "fifo"], ["trace", "info"], ["trace", "audit"]):
        result = gpusched(*command, path, "--servers", 2)
        assert result.exit_code == 2, result.output
        said = "--servers: jobs of typed name the GPU types T4, V100; list the servers of each"
        assert said in " ".join(result.stderr.split())
