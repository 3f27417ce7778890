"""Gavel's objectives on the jobs of its own trace, against its own simulator."""

from __future__ import annotations

import gc
import time

import gpusched as gs
from bench.measure import interleave
from bench.table import Bar, Section
from gpusched.base.real_data import find_data

TYPES = ("V100", "P100", "K80")
SERVERS = 12  # of one GPU, of each type
TABLE = "gavel/simulation_throughputs.json"
TRACE = "peers/gavel/single_gpu.trace"
OBJECTIVES = ("max-min", "ftf", "makespan", "isolated")
# What its simulator took for ftf, on another day, and how many times as fast this is to be.
PEER_S, TIMES = 13.0, 20.0
BOUND = ("max-min", "ftf")
METHOD = (
    "The 200 jobs of Gavel's trace on 12 V100, 12 P100 and 12 K80, objectives in turn, `isolated` "
    "without a program; medians of the processor time of a run, SciPy imported before. "
    "Gavel's own simulator took 13 s for `ftf` on an earlier day."
)


def section(repeats: int) -> Section:
    """Measure each objective; an empty table with a note if the trace is missing."""
    out = Section("Gavel's own trace", METHOD, ("objective", "s", "digest"))
    table, jobs = find_data(TABLE), find_data(TRACE)
    if table is None or jobs is None:
        out.notes.append("Not measured: the trace and its table are found by $GPUSCHED_DATA.")
        return out
    models = gs.model.read_throughputs(table)
    types = ",".join(TYPES).lower()
    trace = gs.read_trace(jobs, throughputs=table, gpu_type=types).with_throughputs(models)
    cluster = gs.Cluster(tuple(gs.ServerGroup(SERVERS, 1, name) for name in TYPES))
    digests: dict[str, str] = {}

    def run_s(objective: str) -> float:
        gc.collect()
        begin = time.process_time()
        result = gs.simulate(
            trace,
            cluster,
            policy=f"gavel:objective={objective}",
            speed="table",
            placement="first-fit",
        )
        seconds = time.process_time() - begin
        digests[objective] = result.digest[:8]
        return seconds

    run_s(OBJECTIVES[0])  # imports SciPy
    found = interleave([lambda name=name: run_s(name) for name in OBJECTIVES], repeats)
    for objective, timing in zip(OBJECTIVES, found, strict=True):
        seconds = f"{timing.median:.2f} ({timing.least:.2f})"
        out.rows.append((objective, seconds, digests[objective]))
        if objective in BOUND:
            out.bars.append(Bar(f"gavel, {objective}", timing.median, PEER_S / TIMES, "s"))
    return out
