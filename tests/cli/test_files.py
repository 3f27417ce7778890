"""What the commands write, and what they do not write over."""

import os
import subprocess
import sys

import polars
import pytest

import gpusched as gs
from gpusched.reporting import report

SMALL = ("--servers", "4", "--jobs", "200", "-p", "fifo")


def mistake(result, *texts: str) -> None:
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1, result.stderr
    for text in ("gpusched: ", *texts):
        assert text in result.stderr


@pytest.mark.parametrize("alias", ["same", "link", "hard link", "folder"])
def test_convert_does_not_write_over_what_it_reads(gpusched, jobs_csv, tmp_path, alias):
    before = jobs_csv.read_bytes()
    target = tmp_path / "other.csv"
    if alias == "same":
        target = jobs_csv
    elif alias == "link":
        target.symlink_to(jobs_csv)
    elif alias == "hard link":
        target.hardlink_to(jobs_csv)
    else:
        (tmp_path / "there").symlink_to(tmp_path)
        target = tmp_path / "there" / jobs_csv.name
    mistake(gpusched("trace", "convert", jobs_csv, target), str(target), "is also the input trace")
    assert jobs_csv.read_bytes() == before


@pytest.mark.parametrize(
    ("command", "name"), [("run", "jobs.parquet"), ("compare", "jobs.parquet")]
)
def test_a_trace_in_the_folder_of_the_results_is_not_written_over(
    gpusched, tmp_path, command, name
):
    trace = gs.generate("philly", 50, load=0.9, cluster=gs.Cluster.uniform(8, 8))
    trace.to_polars().write_parquet(tmp_path / name)
    before = (tmp_path / name).read_bytes()
    result = gpusched(command, tmp_path / name, "-p", "fifo", "--out", tmp_path)
    mistake(result, name, "is also the input trace")
    assert (tmp_path / name).read_bytes() == before


def test_generate_does_not_write_over_its_cluster(gpusched, tmp_path):
    cluster = tmp_path / "cluster.toml"
    cluster.write_text("[[servers]]\ncount = 1\ngpus = 8\n")
    result = gpusched("trace", "generate", "philly", cluster, "--cluster", cluster)
    mistake(result, "is also the input cluster")


@pytest.mark.parametrize(
    ("command", "names"),
    [("compare", ("report.html", "runs.parquet")), ("run", ("result.npz", "jobs.parquet"))],
)
def test_a_full_disk_loses_neither_the_table_nor_the_old_files(
    gpusched, tmp_path, monkeypatch, command, names
):
    for name in names:
        (tmp_path / name).write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = gpusched(command, *SMALL, "--out", tmp_path)
    mistake(result, f"{tmp_path / names[0]}: No space left on device")
    assert ("makespan" if command == "run" else "typical") in result.stdout
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        names, "old"
    )


STUDY = """
name = "two"
policies = ["fifo", "sjf"]
[[traces]]
generate = "philly"
model = 1
jobs = 50
[[clusters]]
servers = 2
gpus = 8
"""


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("compare", "--seeds", "1", *SMALL, "--out", "."), ("report.html", "jobs.parquet")),
        (("run", *SMALL, "--out", "."), ("result.npz", "jobs.parquet")),
        (("sweep", "study.toml", "--report", "page.html", "--out", "runs"), ("page.html",)),
    ],
)
def test_a_reader_that_has_seen_enough_costs_none_of_the_files(tmp_path, arguments, names):
    (tmp_path / "study.toml").write_text(STUDY)
    reads, writes = os.pipe()
    os.close(reads)  # as `| head -1` does, sooner or later
    subprocess.run(
        [sys.executable, "-m", "gpusched", *arguments], stdout=writes, stderr=subprocess.DEVNULL
    )
    os.close(writes)
    assert all((tmp_path / name).stat().st_size for name in names)


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_the_table_is_shown_though_writing_the_files_is_interrupted(gpusched, monkeypatch, json):
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write_report", killed)
    result = gpusched("compare", "--seeds", "1", *SMALL, *json)
    assert result.exit_code == 130
    assert "makespan" in result.stdout or "mean_jct_s" in result.stdout


@pytest.mark.parametrize(
    ("command", "place"),
    [
        (
            ("trace", "generate", "philly", "nowhere/a.csv"),
            "nowhere/a.csv: folder 'nowhere' not found",
        ),
        (("trace", "generate", "philly", "folder.csv"), "folder.csv: Is a directory"),
        (("compare", "--seeds", "1", *SMALL, "--out", "file"), "file: File exists"),
        (("run", *SMALL, "--out", "taken"), "taken/result.npz: Is a directory"),
        (("reproduce", "sjf-bco", "--quick", "--out", "file"), "file: File exists"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_before_anything_runs(
    gpusched, tmp_path, command, place, monkeypatch
):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr("gpusched.studies.comparison.compare", never)
    monkeypatch.setattr(gs.traces, "write_trace", never, raising=False)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "taken" / "result.npz").mkdir(parents=True)
    (tmp_path / "file").write_text("")
    result = gpusched(*command)
    mistake(result, place)
    assert result.stdout == ""


def test_two_runs_into_one_folder_at_once_leave_whole_files_of_one_of_them(jobs_csv, tmp_path):
    folder = tmp_path / "out"
    running = [
        subprocess.Popen(
            [
                sys.executable, "-m", "gpusched", "run", str(jobs_csv), "-p", policy,
                "--servers", "4", "--out", str(folder),
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for policy in ("fifo", "sjf")
    ]  # fmt: skip
    for process in running:
        _, said = process.communicate(timeout=100)
        assert process.returncode == 0, said

    assert sorted(path.name for path in folder.iterdir()) == [
        "jobs.parquet", "report.html", "result.npz",
    ]  # fmt: skip
    result = gs.load_result(folder / "result.npz")
    assert result.spec.policy in ("fifo", "sjf")
    assert polars.read_parquet(folder / "jobs.parquet").height == len(result.trace)
    assert (folder / "report.html").read_text().rstrip().endswith("</html>")
