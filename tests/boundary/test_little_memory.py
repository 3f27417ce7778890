"""What cannot fit into memory is refused before it begins, by name; what may not is told of."""

import gzip
import subprocess
import sys
import tracemalloc

import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched.base import memory
from gpusched.base.run_warning import unwarned
from gpusched.cli import app
from gpusched.engine.prepare import least_bytes
from gpusched.traces.writers import write_trace

CLUSTER = gs.Cluster.uniform(64, 8)
NUM_JOBS = 400_000
CODE = f"""
import resource, sys
from pathlib import Path
import gpusched as gs

cluster = gs.Cluster.uniform(64, 8)
trace = gs.generate("philly", {NUM_JOBS}, load=0.9, cluster=cluster, seed=1)
gs.simulate(gs.generate("philly", 100, cluster=cluster), cluster)
Path("jobs.csv").write_text("submit_s,service_s,gpus\\n" + "0,1,1\\n" * 3_500_000)
status = Path("/proc/self/status").read_text().splitlines()
used = next(int(line.split()[1]) for line in status if line.startswith("VmSize:")) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), resource.RLIM_INFINITY))
what = {{
    "run": lambda: gs.simulate(trace, cluster, policy="fifo"),
    "generate": lambda: gs.generate("philly", {NUM_JOBS}),
    "read": lambda: gs.read_trace("jobs.csv"),
}}
try:
    what[sys.argv[1]]()
except MemoryError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def trace():
    return gs.generate("philly", NUM_JOBS, load=0.9, cluster=CLUSTER, seed=1)


def have(monkeypatch: pytest.MonkeyPatch, num_bytes: float) -> None:
    """Let there be so much memory."""
    monkeypatch.setattr(memory, "available", lambda: memory.Available(int(num_bytes), "a test"))


@pytest.mark.parametrize(
    ("what", "needs"),
    [
        ("run", "a run of 400,000 jobs needs at least 21 MiB"),
        ("generate", "generating 400,000 jobs needs at least 42 MiB"),
        ("read", "jobs.csv: to read it needs at least 20 MiB"),
    ],
)
def test_a_limit_of_the_address_space_is_seen_before_anything_begins(what, needs, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE, what],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.startswith(f"{needs} of memory, and ")
    assert "MiB are available (limit of the address space, ulimit -v): " in done.stdout


def test_what_is_said_to_be_needed_at_least_is(trace):
    """The records and the log of the result alone take as much."""
    needed = least_bytes(trace, CLUSTER, is_pooled=False)
    assert needed == NUM_JOBS * 56
    assert least_bytes(trace, CLUSTER, is_pooled=True) == NUM_JOBS * 40
    assert least_bytes(trace, gs.Cluster.uniform(1, 1), is_pooled=True) < NUM_JOBS * 40


@pytest.mark.parametrize("start", [gs.simulate, gs.Simulation, gs.compare])
def test_a_run_that_cannot_fit_is_refused(start, trace, monkeypatch):
    have(monkeypatch, NUM_JOBS * 55)
    with pytest.raises(MemoryError, match=r"400,000 jobs .*needs? at least .* \(a test\)"):
        start(trace, CLUSTER)  # type: ignore[operator]


def test_a_run_that_needs_more_than_half_says_so(trace, monkeypatch):
    have(monkeypatch, NUM_JOBS * 80)
    with pytest.warns(gs.RunWarning, match="needs at least 21 MiB of memory, and 31 MiB are"):
        gs.simulate(trace, CLUSTER, policy="fifo-skip")


def test_the_results_of_a_comparison_count_together(trace, monkeypatch):
    have(monkeypatch, NUM_JOBS * 150)
    with pytest.raises(MemoryError, match="3 runs of up to 400,000 jobs together need"):
        gs.compare(trace, CLUSTER, ["fifo", "sjf", "srtf"])


def test_the_runs_of_a_study_that_are_under_way_at_a_time_are_told_of_together(monkeypatch):
    monkeypatch.setattr(memory, "LEAST_LOOKED_UP", 1)
    have(monkeypatch, 1000 * 200)
    study = {
        "name": "wide", "policies": ["fifo", "sjf", "srtf"],
        "traces": [{"generate": "philly", "jobs": 1000, "loads": [0.9]}],
        "clusters": [{"servers": 8, "gpus": 8}],
    }  # fmt: skip
    with pytest.warns(gs.RunWarning, match="3 runs of up to 1,000 jobs together need at least"):
        assert gs.sweep(study, executor="threads:3").num_failed == 0


def test_to_generate_takes_what_is_said_to_be_needed_at_least_and_little_more(monkeypatch):
    gs.generate("philly", 1_000)  # tables of the profile
    tracemalloc.start()
    try:
        gs.generate("philly", NUM_JOBS)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most / 1.2 < NUM_JOBS * 110 < most
    have(monkeypatch, NUM_JOBS * 110)
    gs.generate("philly", NUM_JOBS)
    have(monkeypatch, NUM_JOBS * 110 - 1)
    with pytest.raises(MemoryError, match=r"generating 400,000 jobs needs at least 42 MiB"):
        gs.generate("philly", NUM_JOBS)


def test_to_generate_what_needs_more_than_half_is_told(monkeypatch):
    have(monkeypatch, NUM_JOBS * 200)
    with pytest.warns(gs.RunWarning, match="generating 400,000 jobs needs at least 42 MiB"):
        gs.generate("philly", NUM_JOBS)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "npz", "swf"])
def test_a_file_that_cannot_fit_is_not_read(ending, tmp_path, monkeypatch):
    path = tmp_path / f"jobs.{ending}"
    jobs = gs.generate("philly", 2_000, seed=1)
    if ending == "csv.gz":
        write_trace(jobs, tmp_path / "jobs.csv")
        path.write_bytes(gzip.compress((tmp_path / "jobs.csv").read_bytes()))
    else:
        with unwarned():
            write_trace(jobs, path)
    monkeypatch.setattr(memory, "LEAST_LOOKED_UP", 1)
    have(monkeypatch, 1 << 30)
    with unwarned():
        assert len(gs.read_trace(path)) == 2_000
    unpacked = {
        "csv.gz": lambda: (tmp_path / "jobs.csv").stat().st_size,
        "parquet": lambda: 2_000 * 8 * len(jobs.to_polars().columns),
    }.get(ending, lambda: path.stat().st_size)()
    assert unpacked > path.stat().st_size or ending not in ("csv.gz", "parquet")
    have(monkeypatch, unpacked - 1)
    with (
        unwarned(),
        pytest.raises(MemoryError, match=rf"jobs\.{ending}: to read it needs at least"),
    ):
        gs.read_trace(path)


def test_a_file_that_needs_more_than_half_is_told_of(tmp_path, monkeypatch):
    path = tmp_path / "jobs.csv"
    write_trace(gs.generate("philly", 2_000, seed=1), path)
    monkeypatch.setattr(memory, "LEAST_LOOKED_UP", 1)
    have(monkeypatch, 1.5 * path.stat().st_size)
    with pytest.warns(gs.RunWarning, match=r"jobs\.csv: to read it needs at least"):
        gs.read_trace(path)


def test_on_the_command_line_it_is_a_mistake_in_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "LEAST_LOOKED_UP", 1)
    have(monkeypatch, 1_000)
    command = ["trace", "generate", "philly", str(tmp_path / "jobs.csv"), "--jobs", "2000"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "generating 2,000 jobs needs at least" in done.stderr
    assert list(tmp_path.iterdir()) == []
