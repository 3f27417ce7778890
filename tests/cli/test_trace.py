"""``gpusched trace info|convert|generate``."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched.cli import app


def test_info_shows_counts_widths_load_and_rejects_with_lines(gpusched, jobs_csv):
    result = gpusched("trace", "info", jobs_csv, "--servers", 4)
    assert result.exit_code == 0, result.stderr
    rows = {line[:27].strip(): line[27:].strip() for line in result.stdout.splitlines()}
    assert rows["jobs"] == "300"
    assert rows["left out"] == "2 rows"
    assert rows["load"].endswith("on 4 servers x 8 GPUs (32 GPUs)")
    assert "left out: service_s" in result.stdout
    assert "line 6" in result.stdout
    assert "share of GPU time" in result.stdout


def test_info_as_json_adds_up(gpusched_json, jobs_csv):
    made = gpusched_json("trace", "info", jobs_csv)
    assert made["num_jobs"] == sum(row["jobs"] for row in made["widths"]) == 300
    assert sum(row["share_of_gpu_time"] for row in made["widths"]) == pytest.approx(1)
    assert sum(reason["count"] for reason in made["rejects"].values()) == 2
    assert {line for reason in made["rejects"].values() for line in reason["first_lines"]} == {6, 7}


def test_info_counts_the_load_of_the_jobs_that_fit(gpusched, gpusched_json, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("submit_s,service_s,gpus,gpu_types\n0,10,1,\n1,10,99,\n2,10,1,A100\n5,10,2,\n")
    shown = " ".join(gpusched("trace", "info", path, "--servers", 1).stdout.split())
    assert "load 1.000 on 1 server x 8 A100 (8 GPUs); without 1 job that does not fit" in shown
    made = gpusched_json("trace", "info", path, "--servers", 1)
    assert (made["num_jobs"], made["num_fitting"], made["load"]) == (4, 3, pytest.approx(1))


def test_info_shows_what_jobs_ask_for_beside_gpus(gpusched, tmp_path):
    (tmp_path / "wishes.csv").write_text(
        "submit_s,service_s,gpus,gpu_share,cpu,memory_gib,value,deadline_s,max_gpus,user,status\n"
        "0,10,1,0.5,2,8,3,15,1,ann,ok\n5,10,2,1,4,16,4.5,100,8,bob,\n9,10,1,0.25,3,9,1,12,1,bob,ok\n"
    )
    result = gpusched("trace", "info", tmp_path / "wishes.csv")
    assert result.exit_code == 0, result.stderr
    shown = {" ".join(line.split()) for line in result.stdout.splitlines()}
    assert {
        "users 2", "shares of a GPU 2 jobs, 0.38 of it on average",
        "CPU per worker, mean / max 3.0 / 4.0 cores",
        "memory per worker, mean / max 11.0 / 16.0 GiB", "deadlines below one run time 1 job",
        "value of all jobs 8.5", "elastic 1 job", "status ok 2, unknown 1",
    } <= shown  # fmt: skip


def test_info_says_where_no_load_is_defined(gpusched, tmp_path):
    (tmp_path / "burst.csv").write_text("submit_s,service_s,gpus\n5,10,1\n5,20,2\n")
    result = gpusched("trace", "info", tmp_path / "burst.csv")
    assert result.exit_code == 0
    assert "undefined: all jobs arrive at one instant" in result.stdout


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_a_converted_trace_reads_back_equal(gpusched, jobs_csv, tmp_path, ending):
    target = tmp_path / f"out.{ending}"
    result = gpusched("trace", "convert", jobs_csv, target)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert "left out: service_s" in result.stderr
    assert f"wrote 300 jobs to {target}" in result.stderr
    before, after = gs.read_trace(jobs_csv), gs.read_trace(target)
    assert (before.submit_us == after.submit_us).all()
    assert (before.service_us == after.service_us).all()
    assert (before.gpus == after.gpus).all()


def test_columns_are_mapped_by_name(gpusched_json, tmp_path):
    (tmp_path / "odd.csv").write_text("t0,length,width\n0,10,1\n5,20,2\n")
    pairs = ("--column", "submit_s=t0", "--column", "service_s=length", "--column", "gpus=width")
    assert gpusched_json("trace", "info", tmp_path / "odd.csv", *pairs)["num_jobs"] == 2


@pytest.mark.parametrize("command", ["run -p fifo", "compare -p fifo", "trace info"])
def test_columns_that_are_not_used_are_remarked(gpusched, tmp_path, command):
    (tmp_path / "odd.csv").write_text(
        "submit_s,service_s,gpus,colour,qos,account,priority\n0,10,1,red,a,,0\n5,20,2,red,,,0\n"
    )
    result = gpusched(*command.split(), tmp_path / "odd.csv")
    assert result.exit_code == 0, result.stderr
    assert "odd: columns not used: colour\n" in result.stderr
    assert result.stderr.count("odd: columns kept, but used by no policy: qos\n") == 1


def test_a_trace_may_come_from_stdin_packed_or_in_several_files(tmp_path):
    one = "submit_s,service_s,gpus\n0,10,1\n5,20,2\n"
    (tmp_path / "b.csv").write_text("submit_s,service_s,gpus\n3,10,4\n")
    runner = CliRunner()
    for stdin in (one.encode(), gzip.compress(one.encode())):
        made = runner.invoke(app, ["trace", "info", "-", "--json"], input=stdin)
        assert json.loads(made.stdout)["num_jobs"] == 2, made.stderr
        made = runner.invoke(app, ["trace", "convert", "-", "b.csv", "all.csv"], input=stdin)
        assert "wrote 3 jobs to all.csv" in made.stderr
        assert gs.read_trace(tmp_path / "all.csv").gpus.tolist() == [1, 4, 2]


def test_a_member_and_a_limit_can_be_named(gpusched, tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("a.csv", "submit_s,service_s,gpus\n0,10,1\n")
        archive.writestr("b.csv", "submit_s,service_s,gpus\n0,10,1\n5,20,2\n")
    assert "name one with --member a.csv" in gpusched("trace", "info", "all.zip").stderr
    made = gpusched("trace", "info", "all.zip", "--member", "b.csv", "--json")
    assert json.loads(made.stdout)["num_jobs"] == 2
    refused = gpusched("run", "-p", "fifo", "all.zip", "--max-bytes", 20)
    assert refused.exit_code == 2
    assert "more than 20 bytes; to read it, set a larger --max-bytes" in refused.stderr
    refused = gpusched("run", "-p", "fifo", "--max-bytes", 20)
    assert "--max-bytes: needs a TRACE" in refused.stderr


def test_a_trace_is_cut_by_time_condition_and_chance(gpusched, tmp_path):
    rows = "".join(f"2024-05-01T{hour:02}:00Z,60,{hour % 4 + 1}\n" for hour in range(24))
    (tmp_path / "a.csv").write_text(f"submit_s,service_s,gpus\n{rows}")
    cuts = ("--from", "2024-05-01T06:00", "--to", 18 * 3600, "--filter", "gpus > 2")
    result = gpusched("trace", "info", "a.csv", *cuts, "--json")
    made = json.loads(result.stdout)
    assert made["num_jobs"] == 6
    assert made["epoch"] == "2024-05-01 06:00:00+00:00"
    assert "--to 64800, --filter gpus > 2: 6 of 24 jobs, 35.0% of their GPU hours" in result.stderr
    sampled = gpusched("run", "-p", "fifo", "a.csv", "--sample", 0.5, "--seed", 2, "--json")
    kept = gs.read_trace(tmp_path / "a.csv").sample(0.5, 2)
    assert json.loads(sampled.stdout)["trace"]["num_jobs"] == len(kept)
    refused = gpusched("compare", "--from", 5)
    assert refused.exit_code == 2
    assert "--from: needs a TRACE" in refused.stderr


def test_options_of_a_format_are_passed_on(gpusched_json, tmp_path):
    fields = [1, 0, -1, 100, 16, -1, -1, 16, -1, -1, 1, 1, 1, -1, 1, -1, -1, -1]
    (tmp_path / "log.swf").write_text(" ".join(map(str, fields)) + "\n")
    made = gpusched_json("trace", "info", tmp_path / "log.swf", "--option", "processors_per_gpu=8")
    assert made["max_gpus"] == 2


def test_a_generated_trace_has_the_jobs_and_the_load_asked_for(gpusched, tmp_path):
    target = tmp_path / "jobs.parquet"
    arguments = ("--jobs", 500, "--load", 0.7, "--servers", 8, "--seed", 4)
    result = gpusched("trace", "generate", "helios", target, *arguments)
    assert result.exit_code == 0, result.stderr
    made = gs.read_trace(target)
    assert len(made) == 500
    assert made.offered_load(64) == pytest.approx(0.7, rel=1e-3)
    assert "narrowed to 16 GPUs" in result.stderr
    gpusched("trace", "generate", "helios", target, *arguments, "--model", 1)
    cluster = gs.Cluster.uniform(8, 8)
    expected = gs.generate("helios", 500, load=0.7, cluster=cluster, seed=4, model=1)
    assert gs.read_trace(target).gpus.tolist() == expected.gpus.tolist() != made.gpus.tolist()


def bad_csv(folder: Path) -> Path:
    """A trace in which an id is there twice, and a job is wider than a server."""
    path = folder / "bad.csv"
    path.write_text("id,submit_s,service_s,gpus\na,0,5,1\nb,1,60,16\na,2,7,1\nc,2,0,1\n")
    return path


def test_an_audit_names_rows_effects_and_thresholds(gpusched, tmp_path):
    result = gpusched("trace", "audit", bad_csv(tmp_path), "--servers", 1)
    assert result.exit_code == 0, result.stderr
    text = " ".join(result.stdout.split())
    assert "duplicate-ids wrong 1 job has the id of another (line 4)" in text
    assert "runs need unique ids" in text
    assert "wider-than-cluster wrong" in text
    assert "service_s must be positive: 1 (25.0% of the rows) (line 5)" in text
    assert "dominant-user" not in text
    assert f"3 jobs, {len(gs.traces.trace_checks())} checks: 3 wrong" in text
    every = gpusched("trace", "audit", bad_csv(tmp_path), "--all")
    assert set(gs.traces.trace_checks()) <= set(every.stdout.split())


def test_a_strict_audit_fails_on_what_is_wrong_alone(gpusched, jobs_csv, tmp_path):
    assert gpusched("trace", "audit", bad_csv(tmp_path), "--strict").exit_code == 1
    odd = gpusched("trace", "audit", jobs_csv, "--strict", "--servers", 1, "--gpus-per-server", 32)
    assert odd.exit_code == 0
    assert "times-not-positive" in odd.stdout
    assert " 0 wrong, 2 odd" in odd.stdout
    missing = gpusched("trace", "audit", tmp_path / "none.csv", "--strict")
    assert missing.exit_code == 2
    assert missing.stdout == ""


def test_an_audit_as_json_is_that_of_python(gpusched_json, tmp_path):
    path = bad_csv(tmp_path)
    made = gpusched_json("trace", "audit", path, "--servers", 1)
    assert made == gs.traces.audit_trace(path, gs.Cluster.uniform(1, 8)).to_dict()
    assert made["verdict"] == "wrong"
    assert made["findings"][0]["rows"] == [4]


def test_an_anonymised_trace_has_the_same_jobs_under_other_names(gpusched, tmp_path):
    source, targets = tmp_path / "log.csv", [tmp_path / f"{name}.csv" for name in "abc"]
    source.write_text(
        "id,submit_s,service_s,gpus,user,queue\njob-1,100,30,8,ann,ann\njob-2,161,95,1,ann,q\n"
    )
    for target, salt in zip(targets, (["--salt", "s3cret"], ["--salt", "s3cret"], []), strict=True):
        made = gpusched("trace", "anonymise", source, target, "--round", "60", *salt)
        assert made.exit_code == 0, made.stderr
        assert "s3cret" not in made.stderr
    first, again, other = (target.read_text() for target in targets)
    assert first == again != other
    assert not any(word in first for word in ("job", "ann", "q,"))
    trace = gs.read_trace(targets[0])
    assert (trace.submit_s.tolist(), trace.service_s.tolist()) == ([0, 60], [60, 120])
    assert trace.user[0] == trace.user[1] != trace.queue[0]
