"""The examples of studies run as they stand, with fewer jobs, and leave what they promise."""

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import gpusched as gs
from tests.docs.blocks import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
EXAMPLES = ROOT / "examples"


def run(name: str, folder: Path, jobs: int = 120) -> str:
    """Run an example with so many jobs in a folder; return what it printed."""
    pytest.importorskip("vl_convert")
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, str(jobs)], cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def is_pdf(path: Path) -> bool:
    return path.read_bytes().startswith(b"%PDF") and path.stat().st_size > 3_000


def test_five_policies_at_three_loads_with_twelve_seeds(tmp_path):
    printed = run("study.py", tmp_path)
    assert len(re.findall(r"^\| (?:0\.7|0\.9|1\.1) ", printed, re.MULTILINE)) == 15
    latex = (tmp_path / "mean-jct.tex").read_text()
    assert r"\toprule" in latex
    assert r"\caption{Mean JCT." in latex
    assert is_pdf(tmp_path / "mean-jct.pdf")
    assert is_pdf(tmp_path / "p99-jct.pdf")
    assert (
        "180 runs, 5 policies, 3 values of load." in (tmp_path / "five-policies.html").read_text()
    )
    kept = tmp_path.glob("five-policies/**/*.parquet")
    assert sum(len(pl.read_parquet(path)) for path in kept) >= 180
    # Thirty lines are all that it takes.
    lines = (EXAMPLES / "study.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 30
    assert run("study.py", tmp_path) == printed


def test_prediction_error_against_jct(tmp_path):
    printed = run("prediction_error.py", tmp_path)
    for policy in ("sjf", "srtf", "a-srpt"):
        assert len(re.findall(rf"^\| {policy} \| noise:sigma=", printed, re.MULTILINE)) == 5
    assert is_pdf(tmp_path / "prediction-error.pdf")


def test_a_policy_of_ones_own_against_the_others(tmp_path):
    printed = run("own_policy_study.py", tmp_path)
    names = re.findall(r"^\| ([\w-]+) \|", printed, re.MULTILINE)[2:]
    assert names[0] == "my-hrrn"
    assert {"fifo", "sjf", "srtf", "2d-las", "easy"} < set(names)
    assert is_pdf(tmp_path / "my-policy.pdf")
    assert is_pdf(tmp_path / "my-front.pdf")


def test_capacity_planning(tmp_path):
    printed = run("capacity_study.py", tmp_path)
    found = re.findall(r"^([\w-]+) +(\d+|more than 128) servers: p95 wait", printed, re.MULTILINE)
    assert [policy for policy, _ in found] == ["fifo-skip", "easy", "2d-las"]
    assert is_pdf(tmp_path / "capacity.pdf")


def test_the_study_of_the_readme_gives_its_table_and_its_picture(tmp_path):
    where = importlib.util.spec_from_file_location("study_example", ROOT / "docs/study_example.py")
    assert where is not None
    assert where.loader is not None
    example = importlib.util.module_from_spec(where)
    where.loader.exec_module(example)
    shown = (ROOT / "README.md").read_text()
    row = next(line for line in shown.splitlines() if re.match(r" 0\.9 +srtf ", line))
    stale = shown.replace(row, row.replace("0.9 ", "0.8 "))
    assert stale != shown
    made = example.with_table(stale, tmp_path)
    assert made == shown, "README.md is out of date: run `python docs/study_example.py`"
    pytest.importorskip("vl_convert")
    drawn, picture = example.drawn(tmp_path), example.PICTURE.read_text()
    assert example.shown_by(drawn)[0] == example.shown_by(picture)[0]
    assert example.is_same_picture(drawn, picture), "run `python docs/study_example.py`"
    # A point that lies elsewhere, and a name that is another one, are seen.
    curve = re.findall(r'd="(M[\d.]+,[\d.]+(?:L[\d.]+,[\d.]+)+)"', drawn)[0]
    x, y = curve.rpartition("L")[2].split(",")
    moved = curve.replace(f"{x},{y}", f"{x},{float(y) + 5}")
    assert not example.is_same_picture(drawn.replace(curve, moved), picture)
    assert not example.is_same_picture(drawn.replace(">2d-las", ">las"), picture)
    with pytest.raises(ValueError, match="shows no study"):
        example.with_table("# Nothing\n", tmp_path)


def test_a_queue_policy_is_trained_and_held_against_others(tmp_path):
    pytest.importorskip("gymnasium")
    few = ["--rounds", "2", "--population", "10", "--episodes", "1", "--jobs", "60"]
    done = subprocess.run(
        [
            sys.executable,
            EXAMPLES / "train_queue_policy.py",
            *few,
            "--seeds",
            "3",
            "--held-out",
            "200",
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout
    assert "mean wait on 3 held-out workloads of 200 jobs" in printed
    for policy in ("fifo-skip", "easy", "sjf"):
        assert re.search(rf"learned / {policy}: [\d.]+ \[", printed)


def test_looking_ahead_waits_less_than_any_of_its_policies(tmp_path):
    printed = run("look_ahead.py", tmp_path, 300)
    found = {
        name: int(minutes) for name, minutes in re.findall(r"^([\w -]+): (\d+) min", printed, re.M)
    }
    assert list(found) == ["looking ahead", "fifo", "fifo-skip", "sjf", "swf", "sgf"]
    assert found["looking ahead"] < min(found[name] for name in list(found)[1:])


def test_the_parameter_of_the_order_matters_and_both_orders_see_run_times():
    try:
        made = runpy.run_path(str(EXAMPLES / "order.py"))
        asked = ["hrrn", "hrrn:power=0.5", "my-srsf"]
        found = gs.compare(made["trace"], made["cluster"], asked).results
        assert found["hrrn"].digest != found["hrrn:power=0.5"].digest
        assert all(result.clairvoyant for result in found.values())
    finally:
        for name in ("hrrn", "my-srsf"):
            gs.unregister(name)
