"""The command as a process of its own: pipes, signals, imports."""

import os
import signal
import subprocess
import sys
import time

import polars
import pytest

import gpusched as gs

pytestmark = pytest.mark.long

COMMAND = (sys.executable, "-m", "gpusched")
SMALL = ("--servers", "4", "--jobs", "200", "--seeds", "1", "-p", "fifo,srtf")


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_version_is_that_of_the_package():
    assert run("--version").stdout == f"gpusched {gs.__version__}\n"


def test_piped_output_has_no_escape_codes_and_no_progress():
    made = run("compare", *SMALL)
    assert made.returncode == 0, made.stderr
    assert "\x1b" not in made.stdout + made.stderr
    assert "\r" not in made.stdout + made.stderr
    assert made.stderr.splitlines() == [
        "wrote gpusched-report/report.html",
        "wrote gpusched-report/jobs.parquet",
    ]


def test_output_survives_a_locale_without_unicode():
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    made = subprocess.run(
        [*COMMAND, "compare", *SMALL], capture_output=True, env=environment, timeout=60, check=False
    )
    assert made.returncode == 0, made.stderr.decode()
    assert b"makespan" in made.stdout


def test_a_mistake_is_one_line_of_the_process_too():
    made = run("compare", "nowhere.csv")
    assert made.returncode == 2
    assert made.stderr == "gpusched: nowhere.csv: No such file or directory\n"


def test_a_reader_that_leaves_early_is_not_worth_a_word():
    shell = f"{sys.executable} -m gpusched policies --json | head -c 10"
    made = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, timeout=60, check=False
    )
    assert made.stdout == '{\n  "plugi'
    assert made.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_within_a_second_and_reports_what_finished(tmp_path):
    # fifo is done long before las, whose jobs take turns each minute, is.
    arguments = ("compare", "--seeds", "1", "--jobs", "60000", "--load", "3.0", "-p", "fifo,las")
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--threads", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=tmp_path,
    )  # fmt: skip
    time.sleep(6)
    assert process.poll() is None, "the run was too short for the test"
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    stdout, stderr = process.communicate(timeout=30)
    assert time.monotonic() - asked < 3  # a second, and two more for a busy machine
    assert process.returncode == 130
    assert "makespan" in stdout
    assert stderr.splitlines() == ["interrupted, not in the table: las", "no files were written"]


def test_a_damaged_page_of_parquet_is_named_in_the_last_line(tmp_path):
    num_jobs = 40
    path = tmp_path / "jobs.parquet"
    columns = {
        "submit_s": range(num_jobs),
        "service_s": [5 + job % 3 for job in range(num_jobs)],
        "gpus": [1 + job % 4 for job in range(num_jobs)],
    }
    polars.DataFrame(columns).write_parquet(path, compression="uncompressed", statistics=False)
    # Positions in a dictionary, of 2 bits each, are said to have 255: Polars panics of that.
    damaged = path.read_bytes().replace(b"\x02\x0b", b"\xff\x0b")
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)

    done = run("trace", "info", str(path), cwd=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    line = done.stderr.splitlines()[-1]  # behind what Polars writes of its panic
    assert line.startswith(f"gpusched: {path}: truncated or damaged Parquet")
