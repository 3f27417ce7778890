"""A run that cannot fit is refused before it begins, by name; one that may not is told of."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gpusched as gs
from gpusched.engine import memory
from gpusched.engine.run_memory import least_bytes

CLUSTER = gs.Cluster.uniform(64, 8)
NUM_JOBS = 200_000
CODE = f"""
import resource
from pathlib import Path
import gpusched as gs

cluster = gs.Cluster.uniform(64, 8)
trace = gs.generate("philly", {NUM_JOBS}, load=0.9, cluster=cluster, seed=1)
gs.simulate(gs.generate("philly", 100, cluster=cluster), cluster)
status = Path("/proc/self/status").read_text().splitlines()
used = next(int(line.split()[1]) for line in status if line.startswith("VmSize:")) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), resource.RLIM_INFINITY))
try:
    gs.simulate(trace, cluster, policy="fifo")
except MemoryError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def trace() -> gs.Trace:
    return gs.generate("philly", NUM_JOBS, load=0.9, cluster=CLUSTER, seed=1)


def have(monkeypatch: pytest.MonkeyPatch, num_bytes: float) -> None:
    """Let there be so much memory."""
    monkeypatch.setattr(memory, "available", lambda: memory.Available(int(num_bytes), "a test"))


def test_a_limit_of_the_address_space_is_seen_before_the_run_begins() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.startswith("a run of 200,000 jobs needs at least 20 MiB of memory, and ")
    assert "MiB are available (limit of the address space, ulimit -v): run fewer" in done.stdout


def test_what_is_said_to_be_needed_at_least_is(trace: gs.Trace) -> None:
    """The records and the log of the result alone take as much."""
    needed = least_bytes(trace, CLUSTER, is_pooled=False)
    assert needed == NUM_JOBS * 104
    assert least_bytes(trace, CLUSTER, is_pooled=True) == NUM_JOBS * 88
    assert least_bytes(trace, gs.Cluster.uniform(1, 1), is_pooled=True) < NUM_JOBS * 88


@pytest.mark.parametrize("start", [gs.simulate, gs.Simulation, gs.compare])
def test_a_run_that_cannot_fit_is_refused(
    start: object, trace: gs.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    have(monkeypatch, NUM_JOBS * 103)
    with pytest.raises(MemoryError, match=r"200,000 jobs .*needs? at least .* \(a test\)"):
        start(trace, CLUSTER)  # type: ignore[operator]


def test_a_run_that_needs_more_than_half_says_so(
    trace: gs.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    have(monkeypatch, NUM_JOBS * 150)
    with pytest.warns(gs.RunWarning, match="needs at least 20 MiB of memory, and 29 MiB are"):
        gs.simulate(trace, CLUSTER, policy="fifo-skip")


def test_the_results_of_a_comparison_count_together(
    trace: gs.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    have(monkeypatch, NUM_JOBS * 250)
    with pytest.raises(MemoryError, match="3 runs of up to 200,000 jobs together need"):
        gs.compare(trace, CLUSTER, ["fifo", "sjf", "srtf"])


def test_the_runs_of_a_study_that_are_under_way_at_a_time_are_told_of_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "LEAST_LOOKED_UP", 1)
    have(monkeypatch, 1000 * 200)
    study = {
        "name": "wide", "policies": ["fifo", "sjf", "srtf"],
        "traces": [{"generate": "philly", "jobs": 1000, "loads": [0.9]}],
        "clusters": [{"servers": 8, "gpus": 8}],
    }  # fmt: skip
    with pytest.warns(gs.RunWarning, match="3 runs of up to 1,000 jobs together need at least"):
        assert gs.sweep(study, executor="threads:3").num_failed == 0
