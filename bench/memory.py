"""Peak memory of a run beyond the columns of its trace."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from bench.table import Bar, Section

BYTES_A_JOB = 200.0
CASES = (
    ("fifo-skip", "count"),
    ("fifo-skip", "consolidated"),
    ("sjf", "consolidated"),
    ("srtf", "count"),
    ("srtf", "consolidated"),
    ("easy", "consolidated"),
)
METHOD = (
    "A process of its own: the trace is loaded, the peak of the resident memory is set back to "
    "its present value (`/proc/self/clear_refs`; where that is refused `ru_maxrss` is compared), "
    "the run is made and the peak read again. The difference holds all that the run needs, its "
    "result included. The allocator returns freed pages at once (`MALLOC_TRIM_THRESHOLD_`), so "
    "that the run does not live in what the loading left."
)
COLUMNS = ("jobs", "policy, placement", "trace MB", "peak beyond it MB", "bytes a job")


def section(sizes: tuple[int, ...]) -> Section:
    """Measure each case in a process of its own."""
    out = Section("Memory", METHOD, COLUMNS)
    worst = 0.0
    for jobs in sizes:
        for policy, placement in CASES:
            trace_bytes, peak = in_a_process("bench.memory", str(jobs), policy, placement)
            worst = max(worst, peak / jobs)
            out.rows.append(
                (
                    f"{jobs:,}",
                    f"{policy}, {placement}",
                    f"{trace_bytes / 1e6:.1f}",
                    f"{peak / 1e6:.1f}",
                    f"{peak / jobs:.0f}",
                )
            )
    out.bars.append(Bar("worst peak beyond the trace's columns", worst, BYTES_A_JOB, "bytes/job"))
    return out


def in_a_process(module: str, *arguments: str) -> tuple[int, ...]:
    """Run a module in a process that returns freed pages at once; return the integers it prints."""
    root = str(Path(__file__).resolve().parent.parent)
    environment = os.environ | {
        "MALLOC_TRIM_THRESHOLD_": "131072",
        "MALLOC_MMAP_THRESHOLD_": "131072",
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
    }
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return tuple(map(int, done.stdout.split()))


def peak_bytes() -> int:
    """Return the peak of the resident memory since the last :func:`forget_peak`."""
    return _status_bytes("VmHWM:")


def resident_bytes() -> int:
    """Return the resident memory; its peak if the system does not report it."""
    return _status_bytes("VmRSS:")


def _status_bytes(entry: str) -> int:
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith(entry):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def forget_peak() -> None:
    """Set the peak back to the present value, where the system allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _child(jobs: int, policy: str, placement: str) -> None:
    import gpusched as gs
    from bench.workloads import philly

    warm = philly(1000, 64)  # imports and thread stacks are not the run's
    gs.simulate(warm.trace, warm.cluster, policy=policy, placement=placement)
    workload = philly(jobs, 64)
    trace = workload.trace
    forget_peak()
    before = peak_bytes()
    result = gs.simulate(trace, workload.cluster, policy=policy, placement=placement)
    after = peak_bytes()
    assert len(result.schedule.finish_us) == jobs
    columns = (trace.submit_us, trace.service_us, trace.gpus, trace.row)
    print(sum(column.nbytes for column in columns), after - before)


if __name__ == "__main__":
    _child(int(sys.argv[1]), sys.argv[2], sys.argv[3])
