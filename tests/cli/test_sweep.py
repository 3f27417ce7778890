"""``gpusched sweep``."""

import os
import re
import signal
from pathlib import Path

import pytest

import gpusched as gs
from tests.other_processes import interrupted_at

STUDY = """
name = "loads"
seeds = [1, 2, 3]
policies = ["fifo", "sjf"]
baseline = "fifo"

[[traces]]
generate = "philly"
jobs = 100
loads = [0.7, 0.9]

[[clusters]]
servers = 8
gpus = 8
"""


@pytest.fixture
def study(tmp_path):
    """A study of twelve runs."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_it_ends_with_a_table_and_what_is_kept(gpusched, study):
    result = gpusched("sweep", study)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("loads\ntrace philly, cluster 8 servers x 8 GPUs (64 GPUs),")
    rows = [line.replace(" †", "").split()[:3] for line in result.stdout.splitlines()]
    assert [row for row in rows if row[:1] in (["0.7"], ["0.9"])] == [
        [load, policy, "3"] for load in ("0.7", "0.9") for policy in ("fifo", "sjf")
    ]
    assert "typical over the seeds, of 12 runs" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert result.stderr.endswith("12 runs saved in study.sweep\n")
    assert len(gs.sweep(study, folder="study.sweep").runs) == 12


def test_the_folder_stands_for_the_study(gpusched, study):
    first = gpusched("sweep", study, "--out", "here")
    assert first.exit_code == 0, first.stderr
    study.unlink()
    again = gpusched("sweep", "here")
    assert again.stdout == first.stdout
    wrong = gpusched("sweep", "here", "--out", "there")
    assert wrong.exit_code == 2
    assert "--out: cannot be combined with a study's folder, here" in wrong.stderr


def test_json_holds_every_run(gpusched_json, study):
    made = gpusched_json("sweep", study)
    expected = gs.sweep(study)
    assert made["num_runs"] == len(made["runs"]) == 12
    assert [row["digest"] for row in made["runs"]] == expected.runs["digest"].to_list()
    assert made["warnings"] == expected.warnings
    assert made["folder"] == "study.sweep"


def test_status_says_how_far_it_is(gpusched, gpusched_json, study):
    nothing = gpusched("sweep", study, "--status")
    assert nothing.exit_code == 2
    assert "study.sweep: holds no study" in nothing.stderr
    gpusched("sweep", study)
    assert gpusched("sweep", study, "--status").stdout.startswith("loads: 12 of 12 runs done")
    assert gpusched_json("sweep", "study.sweep", "--status")["num_left"] == 0


@pytest.mark.parametrize("command", ["sweep", "reproduce"])
def test_a_dry_run_has_one_name_that_is_shown(gpusched, gpusched_json, study, command):
    shown = gpusched(command, "--help").stdout
    assert "--dry-run" in shown
    assert "--dry " not in shown
    asked = (command, study if command == "sweep" else "sjf-bco")
    short, whole = (gpusched_json(*asked, option) for option in ("--dry", "--dry-run"))
    assert short.keys() == whole.keys()
    assert not study.with_suffix(".sweep").exists()


def test_dry_says_what_it_takes_and_runs_nothing(gpusched, gpusched_json, study):
    result = gpusched("sweep", study, "--dry-run", "--threads", 3)
    assert result.exit_code == 0, result.stderr
    assert "12 runs; 1,200 jobs to simulate, about " in result.stdout
    assert "on 3 workers" in result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines()[-3:] if line] == ["fifo", "sjf"]
    assert not Path("study.sweep").exists()
    told = gpusched_json("sweep", study, "--dry")
    assert told["num_runs"] == 12
    assert told["runs_s"] > 0
    assert told["memory_bytes"] > 2**20
    gpusched("sweep", study)
    assert "12 of them saved; 0 jobs" in gpusched("sweep", study, "--dry").stdout


def test_where_it_runs_makes_no_difference(gpusched, study):
    tables = {
        gpusched("sweep", study, "--out", option, *where).stdout
        for option, where in {
            "one": ("--threads", 1), "two": ("--threads", 2), "three": ("--processes", 2),
        }.items()
    }  # fmt: skip
    assert len(tables) == 1


def test_a_failed_run_is_told_with_the_line_that_repeats_it(gpusched, study):
    study.write_text(STUDY.replace("loads =", 'filter = "gpus > 16"\nloads ='))
    study.write_text(study.read_text().replace("jobs = 100", "jobs = [3, 100]"))
    result = gpusched("sweep", study)
    assert result.exit_code == 1
    assert "failed: ValueError: " in result.stderr
    line = result.stderr.partition("to repeat: ")[2].splitlines()[0]
    assert line.startswith(f"gpusched sweep {study} --only ")
    again = gpusched(*line.split()[1:])
    assert again.exit_code == 1
    assert "1 of 1 run failed: ValueError" in again.stderr
    assert "kept in" not in again.stderr


def test_a_metric_is_shown_with_intervals(gpusched, study):
    pytest.importorskip("gpusched.studies.compared_runs")
    result = gpusched("sweep", study, "--table", "mean_jct_s", "--table", "utilisation")
    assert result.exit_code == 0, result.stderr
    assert "\nmean JCT\n" in result.stdout
    assert "\nutilisation\n" in result.stdout
    assert "Compared with fifo." in result.stdout
    assert "Of these only fifo could be deployed; nothing to choose." in result.stdout
    expected = gs.sweep(study).compare("utilisation").frame
    assert len(re.findall(r"^ 0\.[79] +sjf ", result.stdout, re.MULTILINE)) == 2 * 2
    assert f"{100 * expected['typical'][0]:.1f}%" in result.stdout
    latex = gpusched("sweep", study, "--table", "mean_jct_s", "--as", "latex").stdout
    assert latex.startswith("\\begin{table}\n\\centering\n\\caption{mean JCT}")


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize(
    "where", ["--threads", pytest.param("--processes", marks=pytest.mark.long)]
)
def test_ctrl_c_ends_soon_and_says_how_to_go_on(study, tmp_path, where):
    slow = STUDY.replace('"sjf"]', '"sjf", "conservative"]').replace("jobs = 100", "jobs = 20000")
    study.write_text(slow.replace("0.9]", "3.0]"))
    stderr = interrupted_at("study.sweep/runs/*.parquet", "sweep", study, where, 2, folder=tmp_path)
    kept = gs.studies.sweep_status(tmp_path / "study.sweep").num_done
    assert 0 < kept < 18
    assert stderr == (
        f"interrupted: {kept} of 18 runs saved in study.sweep; repeat the command to resume\n"
    )


def test_the_report_stands_in_the_folder_of_the_study(gpusched, gpusched_json, study):
    made = gpusched_json("sweep", study)
    assert made["files"] == {"report": "study.sweep/report.html"}
    page = Path("study.sweep/report.html").read_text()
    assert "12 runs" in page
    assert re.findall(r'<select data-axis="(\w+)"', page) == ["load"]
    assert gpusched("sweep", "study.sweep", "--status").stdout.startswith("loads: 12 of 12")
    again = gpusched("sweep", study, "--report", "deep/here.html")
    assert "wrote deep/here.html" in again.stderr
    assert Path("deep/here.html").read_text() == page
    wrong = gpusched("sweep", study, "--report", study)
    assert wrong.exit_code == 2
    assert study.read_text() == STUDY


def test_a_single_run_has_a_table_and_no_report(gpusched, gpusched_json, study):
    name = gs.sweep(study).runs["run"][0]
    assert gpusched_json("sweep", study, "--only", name)["files"] == {}
    asked = gpusched("sweep", study, "--only", name, "--report", "one.html")
    assert asked.exit_code in (0, 2)
    assert Path("one.html").exists() == (asked.exit_code == 0)


@pytest.mark.skipif(os.name != "posix", reason="sets SIGPIPE")
@pytest.mark.parametrize("command", ["sweep", "reproduce"])
def test_the_pipe_of_a_dead_worker_does_not_end_a_command(gpusched, study, monkeypatch, command):
    seen = []

    class Seen(Exception):
        pass

    def run(*args: object, **options: object) -> None:
        seen.append(signal.getsignal(signal.SIGPIPE))
        raise Seen

    monkeypatch.setattr("gpusched.cli.sweep.run_study", run)
    monkeypatch.setattr("gpusched_papers.registry.Paper.reproduce", run)
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as the command has it
    try:
        result = gpusched(command, study if command == "sweep" else "fgd", "--processes", 2)
        after = signal.getsignal(signal.SIGPIPE)
    finally:
        signal.signal(signal.SIGPIPE, before)
    assert isinstance(result.exception, Seen)
    assert seen == [signal.SIG_IGN]
    assert after == signal.SIG_DFL


def test_a_policy_in_python_runs_in_processes_unless_told(gpusched, study, tmp_path, monkeypatch):
    asked = []

    class Seen(Exception):
        pass

    def run(*args: object, executor: object, **options: object) -> None:
        asked.append(executor)
        raise Seen

    monkeypatch.setattr("gpusched.cli.sweep.run_study", run)
    monkeypatch.setattr("gpusched.cli.sweep.python_parts", lambda read: ["my-order"])
    told = gpusched("sweep", study)
    assert "using processes because these are written in Python: my-order" in told.stderr
    gpusched("sweep", study, "--threads", 2)
    assert asked == ["processes", "threads:2"]
