"""What CPU, memory and shares of GPUs cost a run: jobs per second for each placement."""

from __future__ import annotations

import numpy as np

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
BARRED = ("best-fit", "first-fit", "worst-fit", "consolidated")
METHOD = (
    "Philly-like jobs at a load of 0.9 of the GPUs, servers of 8 GPUs, 96 cores and 768 GiB; a "
    "worker asks for 2 to 16 cores and 16 to 128 GiB (20 kinds), two fifths of the jobs on one GPU "
    "for a quarter or a half of it. Jobs per second of the compiled core, medians of repetitions; "
    "`plain` is the same trace with GPUs alone."
)
POLICIES = ("fifo-skip", "sjf")


def workload(jobs: int, servers: int, load: float = LOAD) -> tuple[gs.Trace, gs.Trace, gs.Cluster]:
    """Draw a trace with demands, the same without, and the cluster."""
    cluster = gs.Cluster.uniform(
        servers=servers, gpus=GPUS_PER_SERVER, cpu=CORES, memory_gib=MEMORY_GIB
    )
    plain = gs.generate("philly", jobs=jobs, load=load, cluster=cluster, seed=SEED)
    random = np.random.Generator(np.random.PCG64(SEED))

    def draw(kinds: tuple[tuple[float, ...], tuple[float, ...]]) -> np.ndarray:
        return random.choice(kinds[0], jobs, p=kinds[1])

    gpus = np.asarray(plain.gpus)
    is_even = gpus > 6  # asks for no more than its part of the server, or nobody could hold it
    trace = gs.Trace.from_columns(
        submit_s=plain.submit_us / 1e6,
        service_s=plain.service_us / 1e6,
        gpus=gpus,
        gpu_share=np.where(gpus == 1, draw(SHARES), 1.0),
        cpu=np.where(is_even, np.minimum(draw(CPU), CORES / 8), draw(CPU)),
        memory_gib=np.where(is_even, np.minimum(draw(MEMORY), MEMORY_GIB / 8), draw(MEMORY)),
    )
    return trace, plain, cluster


def section(jobs: int, servers: int, repeats: int) -> Section:
    """Report all placements that know demands under two policies, with their bars."""
    out = Section("Packing", METHOD, ("placement", "policy", "jobs/s", "plain jobs/s"))
    trace, plain, cluster = workload(jobs, servers)
    for placement in gs.placements():
        if placement in ("count", "heavy-edge", "lwf"):
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
