"""What list schedulers cost where jobs, kinds or servers are many at once: growth by the size."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import gpusched as gs
from bench.table import Bar, Section
from bench.workloads import GPUS_PER_SERVER, SEED, philly

MOST_GROWTH = 1.25
"""Times the growth of the size: n log n, and caches that larger ones leave."""
METHOD = (
    "Processor time of a run at two sizes, the minimum of repetitions. `growth` is how many times "
    "longer the larger takes, over how many times larger it is: 1 is linear."
)
Made = tuple[gs.Trace, gs.Cluster]


@dataclass(frozen=True)
class Trap:
    """A policy under a placement, on something that can be made in two sizes."""

    what: str
    policy: str
    placement: str
    make: Callable[[int], Made]
    sizes: tuple[int, int]
    speed: str = "fixed"


def backlog_of_kinds(jobs: int) -> Made:
    """Return jobs that are all there at once, each with CPU and memory of its own."""
    random = np.random.Generator(np.random.PCG64(SEED))
    cluster = gs.Cluster.uniform(servers=64, gpus=GPUS_PER_SERVER, cpu=96, memory_gib=768)
    cpu, memory = np.exp(random.uniform(np.log(1), np.log(12), (2, jobs))).round(3)
    trace = gs.Trace.from_columns(
        submit_s=np.zeros(jobs),
        service_s=random.integers(60, 36_000, jobs).astype(float),
        gpus=random.choice([1, 2, 4, 8], jobs, p=[0.7, 0.1, 0.1, 0.1]),
        cpu=cpu,
        memory_gib=8 * memory,
    )
    return trace, cluster


def backlog(jobs: int) -> Made:
    """Return jobs that are all there at once and ask for GPUs alone, with deadlines."""
    trace, _ = backlog_of_kinds(jobs)
    plain = gs.Trace.from_columns(
        submit_s=np.zeros(jobs), service_s=trace.service_us / 1e6, gpus=trace.gpus
    )
    cluster = gs.Cluster.uniform(servers=64, gpus=GPUS_PER_SERVER)
    return plain.with_deadlines(seed=SEED), cluster


def large_cluster(servers: int) -> Made:
    """Return 20,000 jobs with a queue, on so many servers."""
    made = philly(20_000, servers, load=1.2)
    submit_s = np.minimum(made.trace.submit_us, made.trace.submit_us[10_000]) / 1e6
    trace = gs.Trace.from_columns(
        submit_s=submit_s, service_s=made.trace.service_us / 1e6, gpus=made.trace.gpus
    )
    return trace, made.cluster


def without_a_queue(jobs: int) -> Made:
    """Return jobs that hardly ever wait, on 32,000 GPUs."""
    made = philly(jobs, 4_000, load=0.7)
    return made.trace, made.cluster


def crowd_on_types(jobs: int) -> Made:
    """Return jobs half of which run while the others wait, on three types of different speed."""
    random = np.random.Generator(np.random.PCG64(SEED))
    speeds = {"V100": 1.0, "P100": 0.6, "T4": 0.4}
    trace = gs.Trace.from_columns(
        submit_s=np.linspace(0, 1_000, jobs),
        service_s=random.integers(60, 36_000, jobs).astype(float),
        gpus=np.ones(jobs),
    )
    profile = gs.model.JobProfile("one", throughput={name: {1: v} for name, v in speeds.items()})
    servers = jobs // (2 * GPUS_PER_SERVER * len(speeds))
    groups = (gs.ServerGroup(servers, GPUS_PER_SERVER, name) for name in speeds)
    return trace.with_profiles([profile]), gs.Cluster(tuple(groups))


def preempted_at_once(jobs: int) -> Made:
    """Return jobs that run until shorter ones on all their GPUs come at one instant."""
    submit_s = np.repeat([0.0, 10.0], jobs)
    service_s = np.repeat([1_000.0, 10.0], jobs) + np.tile(np.arange(jobs) / 1e3, 2)
    trace = gs.Trace.from_columns(submit_s=submit_s, service_s=service_s, gpus=np.ones(2 * jobs))
    return trace, gs.Cluster.uniform(servers=-(-jobs // GPUS_PER_SERVER), gpus=GPUS_PER_SERVER)


KINDS = (4_000, 8_000)
TRAPS = (
    Trap("a kind per job", "easy", "best-fit", backlog_of_kinds, KINDS),
    Trap("a kind per job", "easy", "consolidated", backlog_of_kinds, KINDS),
    Trap("a kind per job", "srtf", "best-fit", backlog_of_kinds, KINDS),
    Trap("a backlog", "easy", "random", backlog, (8_000, 16_000)),
    Trap("a backlog", "easy", "consolidated", backlog, (32_000, 64_000)),
    Trap("a backlog", "llf", "consolidated", backlog, (2_000, 4_000)),
    Trap("a backlog", "srtf", "consolidated", backlog, (32_000, 64_000)),
    Trap("a large cluster", "easy", "consolidated", large_cluster, (12_500, 50_000)),
    Trap("a large cluster", "easy", "topology", large_cluster, (12_500, 50_000)),
    Trap("a large cluster", "fifo-skip", "topology", large_cluster, (12_500, 50_000)),
    Trap("no queue", "2d-las", "consolidated", without_a_queue, (20_000, 40_000)),
    Trap("no queue", "2d-las:inside=running", "consolidated", without_a_queue, (20_000, 40_000)),
    Trap("no queue", "2d-las:crossing=floored", "consolidated", without_a_queue, (20_000, 40_000)),
    Trap("no queue", "srtf:displace=true", "consolidated", without_a_queue, (20_000, 40_000)),
    Trap("a backlog", "srtf:displace=true", "consolidated", backlog, (32_000, 64_000)),
    Trap("a backlog", "llf:displace=true", "consolidated", backlog, (2_000, 4_000)),
    Trap("three speeds", "srtf", "consolidated", crowd_on_types, (8_000, 16_000), "table"),
    Trap("three speeds", "2d-las", "consolidated", crowd_on_types, (8_000, 16_000), "table"),
    Trap("preempted at once", "srtf", "count", preempted_at_once, (40_000, 80_000)),
    Trap("preempted at once", "srtf", "consolidated", preempted_at_once, (40_000, 80_000)),
)


def section(repeats: int) -> Section:
    """Measure each at both sizes."""
    out = Section(
        "Many at once", METHOD, ("what", "policy, placement", "sizes", "seconds", "growth")
    )
    for trap in TRAPS:
        small, large = (_seconds(trap, size, repeats) for size in trap.sizes)
        growth = large / small / (trap.sizes[1] / trap.sizes[0])
        name = f"{trap.policy}, {trap.placement}"
        sizes = " / ".join(f"{size:,}" for size in trap.sizes)
        out.rows.append((trap.what, name, sizes, f"{small:.3f} / {large:.3f}", f"{growth:.2f}"))
        out.bars.append(Bar(f"{trap.what}: {name}", growth, MOST_GROWTH, "x linear"))
    return out


def _seconds(trap: Trap, size: int, repeats: int) -> float:
    trace, cluster = trap.make(size)
    taken = []
    for _ in range(repeats):
        gc.collect()
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.RunWarning)
            gs.simulate(
                trace, cluster, policy=trap.policy, placement=trap.placement, speed=trap.speed
            )
        taken.append(time.process_time() - begin)
    return min(taken)
