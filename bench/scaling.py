"""Ten times the jobs: how the time grows, on a stable and on an overloaded cluster."""

from __future__ import annotations

from collections.abc import Iterator

from bench.speed import COLUMNS, Case, Measured, measure_case, quiet_note
from bench.table import Bar, Section
from bench.workloads import backlog

OVERLOAD = 1.2
OVERLOADED_SERVERS = 64
GROWTH = 13.0
DEEP = 100_000  # waiting jobs that count as an overloaded queue

OVERLOADED_CASES = (
    Case("fifo-skip", "count", "fifo", 2.5, is_equal=True),
    Case("fifo-skip", "consolidated", "fifo", 2.5),
    Case("fifo", "count", "fifo", 2.5),
    Case("sjf", "count", "sjf", 3, is_equal=True),
    Case("sjf", "consolidated", "sjf", 3),
    Case("srtf", "count", "srtf", 3, is_equal=True),
    Case("easy", "count", "fifo", 5),
)

METHOD = (
    f"Load {OVERLOAD} on {OVERLOADED_SERVERS} servers, and an eighth of the jobs is there at the "
    "first instant: the queue is deep from the start, grows to the end of the arrivals and drains "
    "after it. With skipping mostly large and long jobs stay in it; the strict queue keeps "
    "everything."
)
GROWTH_METHOD = (
    "The lowest native times of the tables above, size against ten times the size: jobs of one "
    "load, cluster, policy and placement. The growth of the baseline loop is next to it: larger "
    "columns leave the caches, and a longer trace has deeper queues."
)
GROWTH_COLUMNS = (
    "load",
    "servers",
    "policy, placement",
    "jobs",
    "10 x / 1 x",
    "floor",
    "most waiting",
)


def measure_overload(sizes: tuple[int, ...], repeats: int) -> Iterator[Measured]:
    """Time the cases at load 1.2 with a backlog."""
    for jobs in sizes:
        workload = backlog(jobs, OVERLOADED_SERVERS, OVERLOAD, jobs // 8)
        for case in OVERLOADED_CASES:
            yield measure_case(case, workload, repeats)


def overload_section(found: list[Measured]) -> Section:
    """Report the overloaded runs: depth of the queue, and the ratio to the floor."""
    out = Section("An overloaded queue", METHOD, COLUMNS)
    out.rows = [row.cells() for row in found]
    largest = max(row.jobs for row in found)
    for row in found:
        if row.jobs == largest:
            out.bars.append(Bar(f"{row.case.label}: native / floor", row.ratio, row.case.ratio))
    out.notes.append(quiet_note(found))
    depth = min(row.most_waiting for row in found if row.jobs == largest)
    out.bars.append(Bar("waiting at once, every case", depth, DEEP, "jobs", at_least=True))
    return out


def growth_section(found: list[Measured]) -> Section:
    """Report the time of 10 x the jobs over the time of the jobs."""
    out = Section("Ten times the jobs", GROWTH_METHOD, GROWTH_COLUMNS)
    at = {(row.load, row.servers, row.case.label, row.jobs): row for row in found}
    worst: Bar | None = None
    for (load, servers, label, jobs), small in at.items():
        large = at.get((load, servers, label, 10 * jobs))
        if large is None:
            continue
        growth = large.native.least / small.native.least
        out.rows.append(
            (
                f"{load}",
                str(servers),
                label,
                f"{jobs:,} to {10 * jobs:,}",
                f"{growth:.1f}",
                f"{large.floor.least / small.floor.least:.1f}",
                f"{large.most_waiting:,}",
            )
        )
        if worst is None or growth > worst.measured:
            what = f"worst growth: {label}, {servers} servers, load {load}, {10 * jobs:,} jobs"
            worst = Bar(what, growth, GROWTH, "x")
    if worst is not None:
        out.bars.append(worst)
    return out
