"""The least makespan of a small batch of gangs, placement and contention included (extra: exact).

What is solved, and why it is exact. All jobs are there at time 0; a gang never moves and is never
preempted; its progress depends on where it runs and on the rings it shares links with. Cut any
schedule wherever the set of running jobs changes. For fixed placements, and a fixed list of who
runs in which phase, the lengths of the phases solve a linear program with one equation per job
(its work gets done), so some optimum has no more positive lengths than jobs. Hence ``n`` phases
are enough for ``n`` jobs, and a mixed-integer program over who runs where in which of ``n`` phases
of any length is the true optimum of the fluid model: nothing is rounded to time slots. The
core's makespan of the same plan differs by its rounding to microseconds alone.

The program grows as jobs^2 x placements x servers x rings: six jobs on three servers of four GPUs
are minutes, not seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched._core import Placement, Scheduler
from gpusched.base.arrays import Float64, Int64, freeze_columns
from gpusched.base.supervision import attended
from gpusched.base.ticks import US_PER_S
from gpusched.deciding.exact_program import Instance, Model, formulate, lower_bound_s
from gpusched.engine.simulation import simulate_quietly as simulate

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace

__all__ = ["Instance", "Solution", "instance", "lower_bound_s", "replay", "solve"]

MAX_JOBS: Final = 8
MAX_PLACEMENTS: Final = 200
_TOLERANCE: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Solution:
    """A plan and what is proven about it.

    Attributes
    ----------
    makespan_s
        Of the plan, in the fluid model.
    lower_bound_s
        No schedule is shorter; equal to ``makespan_s`` up to the tolerance if ``is_optimal``.
    start_s, finish_s
        When each job runs.
    placement
        GPUs of each job on each server, shape ``(jobs, servers)``.
    """

    makespan_s: float
    lower_bound_s: float
    is_optimal: bool
    start_s: Float64
    finish_s: Float64
    placement: Int64

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)


def instance(
    trace: Trace,
    cluster: Cluster,
    *,
    overhead_s: float = 5e-4,
    reduction_bytes_per_s: float = 3e11,
    degradation: float = 0.0,
    scaling: float = 1.0,
) -> Instance:
    """Tabulate the ``ring`` speed under ``shared`` contention for every placement of every job.

    Parameters
    ----------
    overhead_s, reduction_bytes_per_s, degradation, scaling
        As for the speed ``ring`` and the contention ``shared``.

    Raises
    ------
    ValueError
        If the jobs are not a batch, have no profiles, or are too many; or if the cluster has
        domains, several GPU types, or servers without bandwidths.
    """
    num_jobs = len(trace)
    if num_jobs > MAX_JOBS:
        raise ValueError(f"exact: {num_jobs} jobs are more than {MAX_JOBS}")
    if int(trace.submit_us[-1]) != 0 or int(trace.submit_us[0]) != 0:
        raise ValueError("exact: all jobs must be submitted at time 0")
    index = trace.profile
    if index is None:
        raise ValueError("exact: the trace has no profiles")
    if len(cluster.gpu_types) > 1 or cluster.domains:
        raise ValueError("exact: the cluster must have one GPU type and no domains")
    nic, intra = (_one_bandwidth(cluster, field) for field in ("nic_gbps", "intra_gbps"))
    server_gpus = cluster.server_gpus.astype(np.int64)
    most_rings = max(1, min(num_jobs, int(server_gpus.max())))
    level = np.maximum(1.0, scaling * np.arange(1, most_rings + 1))
    share = nic / (level + degradation * (level - 1.0))

    def iteration_s(job: int, span: int) -> Float64:
        """Seconds of an iteration for 1, 2, ... rings on the most loaded server."""
        profile = trace.profiles[int(index[job])]
        width = int(trace.gpus[job])
        bandwidth = np.minimum(intra, share) if span > 1 else np.full(most_rings, intra)
        moved = profile.gradient_bytes * (width - 1) / width
        rest = overhead_s * span + profile.compute_s(cluster.gpu_types[0])
        seconds: Float64 = 2.0 * moved / bandwidth + moved / reduction_bytes_per_s + rest
        return seconds

    placements, rates = [], []
    for job in range(num_jobs):
        counts = _placements(int(trace.gpus[job]), server_gpus)
        if not 0 < len(counts) <= MAX_PLACEMENTS:
            number = f"more than {MAX_PLACEMENTS}" if len(counts) else "0"
            raise ValueError(f"exact: job {job} has {number} placements, not 1 to {MAX_PLACEMENTS}")
        spans = np.count_nonzero(counts, axis=1)
        ideal_s = iteration_s(job, int(spans.min()))[0]
        placements.append(counts)
        rates.append(np.array([ideal_s / iteration_s(job, int(span)) for span in spans]))
    return Instance(
        service_s=trace.service_us / US_PER_S,
        gpus=trace.gpus.astype(np.int64),
        server_gpus=server_gpus,
        placements=tuple(placements),
        rates=tuple(rates),
    )


def _one_bandwidth(cluster: Cluster, field: str) -> float:
    """Bytes/s of a bandwidth that is the same for all servers."""
    figures = {getattr(group, field) for group in cluster.servers}
    if len(figures) != 1 or None in figures:
        raise ValueError(f"exact: servers[i].{field} must be given, and the same for all servers")
    return float(figures.pop()) * 1e9 / 8


def _placements(width: int, server_gpus: Int64) -> Int64:
    """Ways to take ``width`` GPUs, one row of counts each: all, or one too many."""
    gpus = server_gpus.tolist()
    after = [*server_gpus[::-1].cumsum()[::-1].tolist()[1:], 0]  # on the servers after each
    rows: list[list[int]] = []
    open_: list[tuple[list[int], int]] = [([], width)] if width <= sum(gpus) else []
    while open_ and len(rows) <= MAX_PLACEMENTS:
        counts, left = open_.pop()
        server = len(counts)
        if server == len(gpus):
            rows.append(counts)
            continue
        least, most = max(0, left - after[server]), min(left, gpus[server])
        open_ += [([*counts, here], left - here) for here in range(most, least - 1, -1)]
    return np.array(rows, dtype=np.int64).reshape(-1, len(server_gpus))


def replay(
    solution: Solution, trace: Trace, cluster: Cluster, *, speed: str, contention: str
) -> Result:
    """Run the plan in the core: each job on its servers, from its time on.

    Where the core's rounding up lets a job finish a microsecond after its time, the next one
    starts then.
    """
    start_us = np.ceil(np.round(solution.start_s * US_PER_S, 3)).astype(np.int64)
    order = np.argsort(start_us, kind="stable").tolist()

    class Planned(Placement):
        def place(self, free: Any, request: Any) -> list[tuple[int, int]] | None:
            counts = solution.placement[request.job]
            if (counts > free.free_gpus).any():
                return None
            used = np.flatnonzero(counts).tolist()
            return [(server, free.lowest_free(server, int(counts[server]))) for server in used]

    class AsPlanned(Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            waiting = set(state.waiting.tolist())
            for job in order:
                if job not in waiting:
                    continue
                if start_us[job] > state.now_us:
                    actions.wake(int(start_us[job]))
                    return
                if (allocation := state.place(job)) is not None:
                    actions.start(job, allocation)

    return simulate(
        trace,
        cluster,
        policy=AsPlanned(),
        placement=Planned(),
        speed=speed,
        contention=contention,
    )


def solve(
    problem: Instance, *, time_limit_s: float = 60.0, upper_bound_s: float = np.inf
) -> Solution:
    """Solve with HiGHS (SciPy).

    Parameters
    ----------
    time_limit_s
        After it, the best plan so far and the bound proven so far are returned.
    upper_bound_s
        The makespan of a known plan; it is a help only.

    Raises
    ------
    ImportError
        If SciPy is not installed; the message names the extra.
    TimeoutError
        If no plan was found in the time.
    ValueError
        If the time limit is not positive.
    KeyboardInterrupt
        On Ctrl-C, at once; HiGHS then ends unheard, at the time limit at the latest.
    """
    if not 0 < time_limit_s < np.inf:
        raise ValueError(f"time_limit_s: {time_limit_s} must be positive and finite")
    optimize, sparse = _scipy()
    model = formulate(problem, upper_bound_s)
    program = model.program
    rows, columns, values = zip(*program.entries, strict=True)
    shape = (len(program.row_upper), len(program.upper))
    cost = np.zeros(len(program.upper))
    cost[model.length] = 1.0
    constraints = optimize.LinearConstraint(
        sparse.csr_array((values, (rows, columns)), shape=shape),
        np.array(program.row_lower),
        np.array(program.row_upper),
    )
    found = attended(
        lambda: optimize.milp(
            cost,
            integrality=np.array(program.is_integer),
            bounds=optimize.Bounds(0.0, np.array(program.upper)),
            constraints=constraints,
            options={"time_limit": time_limit_s, "mip_rel_gap": _TOLERANCE},
        )
    )
    if found.x is None:
        raise TimeoutError(f"exact: no plan within {time_limit_s:g} s ({found.message})")
    return _solution(problem, model, found)


def _solution(problem: Instance, model: Model, found: Any) -> Solution:
    end_s = np.cumsum(np.maximum(found.x[model.length], 0.0))
    begin_s = np.concatenate([[0.0], end_s[:-1]])
    runs = found.x[model.runs] > 0.5
    last = runs.shape[1] - 1 - np.argmax(runs[:, ::-1], axis=1)
    placement = [
        rows[int(np.argmax(found.x[takes]))]
        for rows, takes in zip(problem.placements, model.takes, strict=True)
    ]
    return Solution(
        makespan_s=float(end_s[-1]),
        lower_bound_s=min(float(found.mip_dual_bound), float(end_s[-1])),
        is_optimal=found.status == 0,
        start_s=begin_s[np.argmax(runs, axis=1)],
        finish_s=end_s[last],
        placement=np.array(placement),
    )


def _scipy() -> tuple[Any, Any]:
    try:
        return import_module("scipy.optimize"), import_module("scipy.sparse")
    except ImportError:
        raise ImportError("exact: needs SciPy: pip install 'gpusched[exact]'") from None
