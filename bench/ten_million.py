"""A trace of ten million jobs from its run to its digest: seconds and memory."""

from __future__ import annotations

import itertools
import sys
import time

from bench.memory import forget_peak, in_a_process, peak_bytes, resident_bytes
from bench.table import Bar, Section
from bench.workloads import philly

JOBS, SERVERS = 10_000_000, 512
SECONDS, BEYOND_BYTES = 12.0, 2e9
METHOD = (
    "A process of its own generates the trace, then runs it under `fifo` and `count`, summarizes "
    "the result and takes the digest of its schedule. Processor time of all threads; the peak of "
    "the resident memory after each step beyond what was resident before the run. The summary "
    "computes the trace's bounds. The bars are for 10^7 jobs."
)
COLUMNS = ("step", "s", "peak beyond the trace, MB")
STEPS = ("run", "summary", "digest")


def section(jobs: int) -> Section:
    """Measure the three steps of one trace."""
    out = Section(f"{jobs:,} jobs from the run to the digest", METHOD, COLUMNS)
    figures = in_a_process("bench.ten_million", str(jobs))
    spent_us, peaks = figures[: len(STEPS)], figures[len(STEPS) :]
    for step, step_us, peak in zip(STEPS, spent_us, peaks, strict=True):
        out.rows.append((step, f"{step_us / 1e6:.2f}", f"{peak / 1e6:,.0f}"))
    if jobs == JOBS:
        out.bars.append(Bar("run, summary and digest", sum(spent_us) / 1e6, SECONDS, "s"))
        out.bars.append(Bar("peak beyond the trace", max(peaks) / 1e6, BEYOND_BYTES / 1e6, "MB"))
    return out


def _child(jobs: int) -> None:
    import gpusched as gs

    warm = philly(1000, SERVERS)  # imports and thread stacks are not the run's
    _ = gs.simulate(warm.trace, warm.cluster, policy="fifo").schedule.digest
    workload = philly(jobs, SERVERS)
    forget_peak()
    before = resident_bytes()
    times, peaks = [time.process_time()], []

    def done() -> None:
        times.append(time.process_time())
        peaks.append(max(0, peak_bytes() - before))

    result = gs.simulate(workload.trace, workload.cluster, policy="fifo")
    done()
    result.summary()
    done()
    assert len(result.schedule.digest) > 0
    done()
    spent = (round(1e6 * (after - begin)) for begin, after in itertools.pairwise(times))
    print(*spent, *peaks)


if __name__ == "__main__":
    _child(int(sys.argv[1]))
