"""Time a plan of SJF-BCO: the search over theta and kappa with its simulations."""

from __future__ import annotations

import numpy as np

import gpusched as gs
from bench.measure import interleave, processor_s
from bench.table import Bar, Section

# (GPUs, jobs out of 160), as in the experiment of the paper.
WIDTHS = ((1, 80), (2, 14), (4, 26), (8, 30), (16, 8), (32, 2))
SIZES = (4, 8, 16, 32)
CASES = ((160, 20, 0.1), (10_000, 1_000, 60.0))
SEED = 1
METHOD = (
    "`gs.online.plan` of a batch with the widths of Yu et al. (MobiHoc 2022), services of 50 to "
    "300 s, servers of 4, 8, 16 and 32 GPUs drawn evenly, speed `ring`, contention `shared`: all "
    "kappas, each with its tightest theta and a simulation. Processor time, medians of repetitions."
)


def batch(jobs: int, servers: int) -> tuple[gs.Trace, gs.Cluster]:
    """Draw the batch and its servers."""
    random = np.random.Generator(np.random.PCG64(SEED))
    widths = np.repeat([w for w, _ in WIDTHS], [count for _, count in WIDTHS])
    gpus = np.resize(widths, jobs)
    random.shuffle(gpus)
    profile = gs.model.JobProfile(
        "batch", gradient_bytes=1e7, batch=1, forward_s=0.0, backward_s=0.03
    )
    trace = gs.Trace.from_columns(np.zeros(jobs), random.uniform(50, 300, jobs), gpus)
    sizes = random.choice(SIZES, servers)
    groups = tuple(
        gs.ServerGroup(int((sizes == size).sum()), size, nic_gbps=100, intra_gbps=2400)
        for size in SIZES
    )
    return trace.with_profiles([profile]), gs.Cluster(groups)


def section(repeats: int) -> Section:
    """Report both sizes, with their bars."""
    columns = ("jobs", "servers", "GPUs", "policy", "s", "makespan / lower bound")
    out = Section("Plans", METHOD, columns)
    for jobs, servers, limit_s in CASES:
        trace, cluster = batch(jobs, servers)
        for policy in ("sjf-bco", "ls", "ff", "rand"):
            found = gs.online.plan(trace, cluster, policy=policy)

            def call(policy: str = policy, t: gs.Trace = trace, c: gs.Cluster = cluster) -> float:
                return processor_s(lambda: gs.online.plan(t, c, policy=policy))

            (timing,) = interleave([call], repeats)
            ratio = found.makespan_s / found.lower_bound_s
            out.rows.append(
                (
                    f"{jobs:,}",
                    f"{servers:,}",
                    f"{cluster.num_gpus:,}",
                    policy,
                    f"{timing.median:.3f} ({timing.least:.3f})",
                    f"{ratio:.2f}",
                )
            )
            if policy == "sjf-bco":
                what = f"sjf-bco, {jobs:,} jobs on {servers:,} servers"
                out.bars.append(Bar(what, timing.median, limit_s, "s"))
    return out
