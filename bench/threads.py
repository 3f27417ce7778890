"""Two threads, two simulations, against one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import gpusched as gs
from bench import bare
from bench.measure import interleave
from bench.table import Bar, Section
from bench.workloads import philly

RATIO = 1.15
CASES = (("fifo-skip", "consolidated"), ("sjf", "count"), ("srtf", "count"))
METHOD = (
    "Wall time of one simulation in a thread, and of two (the same trace, each its own run) in "
    "two threads that start together, in turn; whole `gs.simulate` calls. It needs two idle "
    "cores: the control is a bare loop without the GIL, and where it is far above 1 the machine "
    "was not idle."
)
COLUMNS = ("jobs", "run", "one s", "two s", "two / one")


def section(jobs: int, repeats: int) -> Section:
    """Measure the cases on 64 servers, after a control that shares nothing."""
    out = Section("Two threads", METHOD, COLUMNS)
    workload = philly(jobs, 64)
    trace = workload.trace

    def control() -> None:
        bare.run("srtf", trace.submit_us, trace.service_us, trace.gpus, workload.num_gpus)

    label = "control: the floor's srtf"
    alone = _measure(out, label, jobs, control, repeats)
    for policy, placement in CASES:

        def run(policy: str = policy, placement: str = placement) -> None:
            gs.simulate(trace, workload.cluster, policy=policy, placement=placement)

        ratio = _measure(out, f"{policy}, {placement}", jobs, run, repeats)
        out.bars.append(Bar(f"{policy}, {placement}: two threads / one", ratio, RATIO))
    if alone > RATIO:
        out.notes.append("The control is above the bar too: this machine had no two idle cores.")
    return out


def _measure(out: Section, label: str, jobs: int, run: Callable[[], None], repeats: int) -> float:
    one, two = interleave([lambda: _together(run, 1), lambda: _together(run, 2)], repeats)
    ratio = two.median / one.median
    out.rows.append((f"{jobs:,}", label, f"{one.median:.3f}", f"{two.median:.3f}", f"{ratio:.2f}"))
    return ratio


def _together(run: Callable[[], None], count: int) -> float:
    gate = threading.Barrier(count + 1)
    failures: list[BaseException] = []

    def work() -> None:
        gate.wait()
        try:
            run()
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work) for _ in range(count)]
    for worker in workers:
        worker.start()
    gate.wait()
    begin = time.perf_counter()
    for worker in workers:
        worker.join()
    elapsed = time.perf_counter() - begin
    if failures:
        raise failures[0]
    return elapsed
