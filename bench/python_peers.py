"""For scale: the same FIFO trace in plain Python, with ``heapq`` and with SimPy."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

import gpusched as gs
from bench.measure import interleave
from bench.table import Section
from bench.workloads import Workload, philly

METHOD = (
    "Strict FIFO on one pool of GPUs, the model that SimPy's `Container` has. All finishes are "
    "equal to gpusched's before anything is timed. Lists of Python integers are made outside "
    "the timing; gpusched's time is the whole `gs.simulate` call."
)
COLUMNS = ("program", "jobs", "s", "jobs/s", "gpusched is faster by")

Columns = tuple[list[int], list[int], list[int]]


def section(jobs: int, repeats: int) -> Section:
    """Measure on 512 servers, where a strict queue is stable."""
    out = Section("Plain Python, for scale", METHOD, COLUMNS)
    workload = philly(jobs, 512)
    trace = workload.trace
    columns = (trace.submit_us.tolist(), trace.service_us.tolist(), trace.gpus.tolist())
    programs: dict[str, Callable[[Columns, int], list[int]]] = {
        "FIFO recurrence, heapq": heap_loop,
        "event loop, heapq": event_loop,
    }
    try:
        import simpy  # noqa: F401
    except ImportError:
        out.notes.append("SimPy is not installed: pip install simpy.")
    else:
        programs["SimPy model"] = simpy_model

    result = gs.simulate(trace, workload.cluster, policy="fifo", placement="count")
    expected = result.schedule.finish_us
    for name, program in programs.items():
        if not np.array_equal(program(columns, workload.num_gpus), expected):
            raise AssertionError(f"the {name} and gpusched disagree")

    timings = interleave(
        [
            lambda: _gpusched(workload),
            *(_timed(program, columns, workload.num_gpus) for program in programs.values()),
        ],
        repeats,
    )
    own = timings[0].median
    for name, timing in zip(["gpusched", *programs], timings, strict=True):
        faster = "" if name == "gpusched" else f"{timing.median / own:,.0f} x"
        rate = f"{jobs / timing.median:,.0f}"
        out.rows.append((name, f"{jobs:,}", f"{timing.median:.3f}", rate, faster))
    return out


def heap_loop(columns: Columns, num_gpus: int) -> list[int]:
    """Strict FIFO as a recurrence on a heap of finishes: minimal Python, for FIFO only."""
    submit, service, gpus = columns
    finish = [0] * len(submit)
    running: list[tuple[int, int]] = []
    free = num_gpus
    now = 0
    for job, at in enumerate(submit):
        # The head starts at its submit, or when enough of the running jobs have ended.
        now = max(now, at)
        while running and running[0][0] <= now:
            free += heapq.heappop(running)[1]
        width = gpus[job]
        while free < width:
            now, released = heapq.heappop(running)
            free += released
        free -= width
        finish[job] = now + service[job]
        heapq.heappush(running, (finish[job], width))
    return finish


def event_loop(columns: Columns, num_gpus: int) -> list[int]:
    """Strict FIFO as the usual simulator: a heap of events, a queue, a scan at each instant."""
    submit, service, gpus = columns
    finish = [0] * len(submit)
    events = [(at, 1, job) for job, at in enumerate(submit)]  # sorted: a heap already
    waiting: deque[int] = deque()
    free = num_gpus
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, is_arrival, job = heapq.heappop(events)
            if is_arrival:
                waiting.append(job)
            else:
                free += gpus[job]
        while waiting and gpus[waiting[0]] <= free:
            job = waiting.popleft()
            free -= gpus[job]
            finish[job] = now + service[job]
            heapq.heappush(events, (finish[job], 0, job))
    return finish


def simpy_model(columns: Columns, num_gpus: int) -> list[int]:
    """Model the cluster as a SimPy container, a process for each job."""
    import simpy

    submit, service, gpus = columns
    finish = [0] * len(submit)
    environment = simpy.Environment()
    pool = simpy.Container(environment, capacity=num_gpus, init=num_gpus)

    def run(job: int) -> Generator[Any, Any, None]:
        yield pool.get(gpus[job])
        yield environment.timeout(service[job])
        finish[job] = int(environment.now)
        yield pool.put(gpus[job])

    def arrive() -> Generator[Any, Any, None]:
        for job, at in enumerate(submit):
            if at > environment.now:
                yield environment.timeout(at - environment.now)
            environment.process(run(job))

    environment.process(arrive())
    environment.run()
    return finish


def _gpusched(workload: Workload) -> float:
    begin = time.perf_counter()
    gs.simulate(workload.trace, workload.cluster, policy="fifo", placement="count")
    return time.perf_counter() - begin


def _timed(
    program: Callable[[Columns, int], list[int]], columns: Columns, num_gpus: int
) -> Callable[[], float]:
    def measure() -> float:
        begin = time.perf_counter()
        program(columns, num_gpus)
        return time.perf_counter() - begin

    return measure
