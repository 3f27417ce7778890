"""gpusched against the baseline loop: check for equal schedules, then time both in turn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from bench import bare
from bench.measure import UNDISTURBED, Timing, interleave
from bench.table import Bar, Section
from bench.workloads import SERVERS, Workload, mean_waiting, most_waiting, philly


@dataclass(frozen=True)
class Case:
    """A policy under a placement, and the loop it is compared with."""

    policy: str
    placement: str
    floor: str
    ratio: float
    is_equal: bool = False
    jobs_per_s: float | None = None

    @property
    def label(self) -> str:
        return f"{self.policy}, {self.placement}"


CASES = (
    Case("fifo-skip", "count", "fifo", 2.5, is_equal=True, jobs_per_s=2e6),
    Case("fifo-skip", "consolidated", "fifo", 2.5, jobs_per_s=2e6),
    Case("fifo", "count", "fifo", 2.5, jobs_per_s=2e6),
    Case("fifo", "consolidated", "fifo", 2.5, jobs_per_s=2e6),
    Case("sjf", "count", "sjf", 3, is_equal=True, jobs_per_s=2e6),
    Case("sjf", "consolidated", "sjf", 3, jobs_per_s=2e6),
    Case("srtf", "count", "srtf", 3, is_equal=True, jobs_per_s=8e5),
    Case("easy", "count", "fifo", 5),
    Case("easy", "consolidated", "fifo", 5),
)
BAR_JOBS = 1_000_000  # the ratios and rates are asked for from this size on

METHOD = (
    "`floor` and `native` are the loops alone (for gpusched: `Result.wall_s`, the call into "
    "the compiled core); `call` is the whole `gs.simulate`. Median of interleaved repetitions, "
    "the minimum in brackets. `ratio` is native / floor, median / median. `equal` rows were "
    "compared with the floor finish for finish before the first timing. Waiting jobs: mean "
    "over time, and most at once."
)


@dataclass(frozen=True)
class Measured:
    """One line of the table."""

    case: Case
    jobs: int
    servers: int
    load: float
    floor: Timing
    native: Timing
    call: Timing
    mean_waiting: float
    most_waiting: int

    @property
    def ratio(self) -> float:
        return self.native.median / self.floor.median

    @property
    def jobs_per_s(self) -> float:
        return self.jobs / self.native.median

    def cells(self) -> list[str]:
        return [
            f"{self.jobs:,}",
            str(self.servers),
            self.case.label,
            "equal" if self.case.is_equal else "",
            _nanoseconds(self.floor, self.jobs),
            _nanoseconds(self.native, self.jobs),
            f"{self.ratio:.2f}",
            f"{self.jobs_per_s / 1e6:.2f}",
            f"{self.call.median:.3f}",
            f"{self.mean_waiting:,.0f}",
            f"{self.most_waiting:,}",
        ]


COLUMNS = (
    "jobs",
    "servers",
    "policy, placement",
    "schedule",
    "floor ns/job",
    "native ns/job",
    "ratio",
    "M jobs/s",
    "call s",
    "waiting",
    "most",
)


def measure(
    sizes: tuple[int, ...], repeats: int, servers: tuple[int, ...] = SERVERS
) -> Iterator[Measured]:
    """Time every case on every size and cluster at load 0.9."""
    for jobs in sizes:
        for count in servers:
            workload = philly(jobs, count)
            for case in CASES:
                yield measure_case(case, workload, _repeats(repeats, jobs))


def section(found: list[Measured]) -> Section:
    """Report the rows and the bars on ratio and rate."""
    out = Section("gpusched against the baseline loop", METHOD, COLUMNS)
    out.rows = [row.cells() for row in found]
    for row in found:
        if row.jobs < BAR_JOBS:
            continue
        where = f"{row.case.label}, {row.servers} servers, {row.jobs:,} jobs"
        out.bars.append(Bar(f"{where}: native / floor", row.ratio, row.case.ratio))
        if row.case.jobs_per_s is not None:
            bar = Bar(where, row.jobs_per_s, row.case.jobs_per_s, "jobs/s", at_least=True)
            out.bars.append(bar)
    out.notes.append(quiet_note(found))
    return out


def measure_case(case: Case, workload: Workload, repeats: int) -> Measured:
    """Compare one case with its floor.

    Raises
    ------
    AssertionError
        If the case must equal the floor and a finish differs; the message names the job.
    """
    floor = _floor(case, workload)
    result = _simulate(case, workload)
    schedule = result.schedule
    if case.is_equal:
        _assert_equal(case, workload, floor, schedule.finish_us)
        most = floor.max_waiting
    else:
        most = most_waiting(workload.trace.submit_us, schedule.start_us)
    waited_us = schedule.finish_us - workload.trace.submit_us - schedule.held_us
    mean = mean_waiting(workload, waited_us, int(schedule.finish_us.max()))
    kept_us = floor.finish_us  # as gpusched keeps its memory, so does the floor
    del floor, result, schedule, waited_us

    native_s: list[float] = []

    def call() -> float:
        begin = time.perf_counter()
        run = _simulate(case, workload)
        elapsed = time.perf_counter() - begin
        native_s.append(run.wall_s)
        return elapsed

    floors, calls = interleave([lambda: _floor(case, workload, kept_us).wall_s, call], repeats)
    return Measured(
        case=case,
        jobs=workload.num_jobs,
        servers=workload.servers,
        load=workload.load,
        floor=floors,
        native=Timing(tuple(native_s), calls.cores),
        call=calls,
        mean_waiting=mean,
        most_waiting=most,
    )


def _floor(
    case: Case, workload: Workload, finish_us: NDArray[np.int64] | None = None
) -> bare.FloorRun:
    trace = workload.trace
    columns = (trace.submit_us, trace.service_us, trace.gpus)
    return bare.run(case.floor, *columns, workload.num_gpus, finish_us=finish_us)


def _simulate(case: Case, workload: Workload) -> gs.Result:
    return gs.simulate(
        workload.trace, workload.cluster, policy=case.policy, placement=case.placement
    )


def _assert_equal(
    case: Case, workload: Workload, floor: bare.FloorRun, finish_us: np.ndarray
) -> None:
    different = np.flatnonzero(floor.finish_us != finish_us)
    if different.size:
        job = int(different[0])
        raise AssertionError(
            f"{case.label} on {workload.servers} servers: {different.size:,} of "
            f"{workload.num_jobs:,} finishes differ from the floor, first job {job}: "
            f"{finish_us[job]} against {floor.finish_us[job]} us"
        )


def _repeats(repeats: int, jobs: int) -> int:
    # Runs of milliseconds need many repetitions; runs of seconds say as much with a few.
    if jobs <= 100_000:
        return 5 * repeats
    return repeats if jobs < 10_000_000 else max(3, repeats // 2)


def quiet_note(found: list[Measured]) -> str:
    """Say how many of the timed runs had their core to themselves."""
    timings = [timing for row in found for timing in (row.floor, row.call)]
    disturbed = sum(timing.num_disturbed for timing in timings)
    total = sum(len(timing.samples) for timing in timings)
    return f"{disturbed:,} of {total:,} timed calls got less than {UNDISTURBED:.0%} of a core: " + (
        "the machine was quiet." if disturbed <= total // 50 else "the machine was not quiet."
    )


def _nanoseconds(timing: Timing, jobs: int) -> str:
    return f"{timing.median / jobs * 1e9:.0f} ({timing.least / jobs * 1e9:.0f})"
