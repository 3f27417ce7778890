"""Measure the cost of CPU, memory and GPU shares: jobs per second for each placement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from bench.measure import interleave
from bench.table import Bar, Section
from bench.workloads import GPUS_PER_SERVER, LOAD, SEED

CORES = 96.0
MEMORY_GIB = 768.0
# What a worker asks for, and how often: a GPU's even part is 12 cores and 96 GiB.
CPU = ((2.0, 4.0, 8.0, 12.0, 16.0), (0.1, 0.3, 0.3, 0.2, 0.1))
MEMORY = ((16.0, 32.0, 64.0, 128.0), (0.3, 0.3, 0.25, 0.15))
SHARES = ((0.25, 0.5, 1.0), (0.2, 0.2, 0.6))  # of the jobs on one GPU
ENOUGH = 300_000  # jobs per second
DEMANDLESS = ("count", "heavy-edge", "lwf")
BARRED = ("best-fit", "first-fit", "worst-fit", "consolidated")
METHOD = (
    "Philly-like jobs at a load of 0.9 of the GPUs, servers of 8 GPUs, 96 cores and 768 GiB; a "
    "worker asks for 2 to 16 cores and 16 to 128 GiB (20 kinds), two fifths of the jobs on one GPU "
    "for a quarter or a half of it. Jobs per second of the compiled core, medians of repetitions; "
    "`plain` is the same trace with GPUs alone."
)
POLICIES = ("fifo-skip", "sjf")
MANY_KINDS = 4_000
KINDS_METHOD = (
    "The same jobs under `sjf`, but the CPU and memory of a worker drawn log-uniformly: one of "
    "4,000 kinds, or a kind of its own for every job. Jobs per second of the compiled core."
)

Columns = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def workload(jobs: int, servers: int, load: float = LOAD) -> tuple[gs.Trace, gs.Trace, gs.Cluster]:
    """Draw a trace with demands, the same without, and the cluster."""
    cluster = gs.Cluster.uniform(
        servers=servers, gpus=GPUS_PER_SERVER, cpu=CORES, memory_gib=MEMORY_GIB
    )
    plain = gs.generate("philly", jobs=jobs, load=load, cluster=cluster, seed=SEED, model=1)
    random = np.random.Generator(np.random.PCG64(SEED))
    return _with_demands(plain, _few_kinds(jobs, random)), plain, cluster


def workload_of_kinds(jobs: int, servers: int, kinds: int) -> tuple[gs.Trace, gs.Cluster]:
    """Draw a trace whose workers request one of ``kinds`` pairs of CPU and memory."""
    _, plain, cluster = workload(jobs, servers)
    random = np.random.Generator(np.random.PCG64(SEED))
    kind = random.permutation(jobs) % kinds
    low, high = (CPU[0][0], MEMORY[0][0]), (CPU[0][-1], MEMORY[0][-1])
    cpu, memory = np.exp(random.uniform(np.log(low), np.log(high), (kinds, 2))).round(3).T
    shares = random.choice(SHARES[0], jobs, p=SHARES[1])
    return _with_demands(plain, (shares, cpu[kind], memory[kind])), cluster


def _few_kinds(jobs: int, random: np.random.Generator) -> Columns:
    def draw(kinds: tuple[tuple[float, ...], tuple[float, ...]]) -> NDArray[np.float64]:
        return random.choice(kinds[0], jobs, p=kinds[1])

    return draw(SHARES), draw(CPU), draw(MEMORY)


def _with_demands(plain: gs.Trace, columns: Columns) -> gs.Trace:
    shares, cpu, memory = columns
    gpus = np.asarray(plain.gpus)
    is_even = gpus > 6  # requests at most its part of the server, or it would never fit
    return gs.Trace.from_columns(
        submit_s=plain.submit_us / 1e6,
        service_s=plain.service_us / 1e6,
        gpus=gpus,
        gpu_share=np.where(gpus == 1, shares, 1.0),
        cpu=np.where(is_even, np.minimum(cpu, CORES / GPUS_PER_SERVER), cpu),
        memory_gib=np.where(is_even, np.minimum(memory, MEMORY_GIB / GPUS_PER_SERVER), memory),
    )


def section(jobs: int, servers: int, repeats: int) -> Section:
    """Report all placements that know demands under two policies, with their bars."""
    out = Section("Packing", METHOD, ("placement", "policy", "jobs/s", "plain jobs/s"))
    trace, plain, cluster = workload(jobs, servers)
    for placement in gs.placements():
        if placement in DEMANDLESS:
            continue
        for policy in POLICIES:

            def call(t: gs.Trace, policy: str = policy, placement: str = placement) -> float:
                result = gs.simulate(t, cluster, policy=policy, placement=placement)
                return float(result.wall_s)

            timings = interleave([lambda c=call: c(trace), lambda c=call: c(plain)], repeats)
            speed, plain_speed = (jobs / timing.median for timing in timings)
            out.rows.append((placement, policy, f"{speed:,.0f}", f"{plain_speed:,.0f}"))
            if placement in BARRED:
                what = f"{placement}, {policy}, {servers:,} servers, jobs/s"
                out.bars.append(Bar(what, speed, ENOUGH, "jobs/s", at_least=True))
    return out


def kinds_section(jobs: int, servers: int, repeats: int) -> Section:
    """Report all placements that know demands where thousands of different things are asked for."""
    out = Section("Many kinds of demands", KINDS_METHOD, ("placement", "4,000 kinds", "own kinds"))
    made = [workload_of_kinds(jobs, servers, kinds) for kinds in (MANY_KINDS, jobs)]
    for placement in gs.placements():
        if placement in DEMANDLESS:
            continue

        def call(trace: gs.Trace, cluster: gs.Cluster, placement: str = placement) -> float:
            result = gs.simulate(trace, cluster, policy="sjf", placement=placement)
            return float(result.wall_s)

        timings = interleave([lambda m=m, c=call: c(*m) for m in made], repeats)
        speeds = [jobs / timing.median for timing in timings]
        out.rows.append((placement, *(f"{speed:,.0f}" for speed in speeds)))
        if placement in BARRED:
            what = f"{placement}, {MANY_KINDS:,} kinds, {servers:,} servers, jobs/s"
            out.bars.append(Bar(what, speeds[0], ENOUGH, "jobs/s", at_least=True))
    return out
