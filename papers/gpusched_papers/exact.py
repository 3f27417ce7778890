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

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from gpusched.base.supervision import attended
from gpusched_papers.study import US_PER_S, Float64, simulate

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Instance:
    """What the program needs to know: jobs with their rates on every placement.

    ``service_s``, ``gpus``: seconds on the empty cluster at the best placement, and width, per job.
    ``server_gpus``: GPUs of each server.
    ``placements``: per job the GPUs on each server, shape ``(placements, servers)``.
    ``rates``: per job the progress per second, shape ``(placements, most rings)``: column ``p - 1``
        is for ``p`` rings on the most loaded server of the placement.
    """

    service_s: Float64
    gpus: Int64
    server_gpus: Int64
    placements: tuple[Int64, ...]
    rates: tuple[Float64, ...]

    @property
    def num_jobs(self) -> int:
        """Number of jobs."""
        return len(self.gpus)

    @property
    def most_rings(self) -> int:
        """The most rings that can meet at a server."""
        return int(self.rates[0].shape[1])


def lower_bound_s(problem: Instance) -> float:
    """The longest job, and all GPU time over all GPUs."""
    area = float(problem.service_s @ problem.gpus) / int(problem.server_gpus.sum())
    return max(area, float(problem.service_s.max()))


class Program:
    """A mixed-integer program, gathered row by row; all variables are 0 or more."""

    def __init__(self) -> None:
        self.upper: list[float] = []
        self.is_integer: list[int] = []
        self.entries: list[tuple[int, int, float]] = []
        self.row_lower: list[float] = []
        self.row_upper: list[float] = []

    def variables(self, *shape: int, upper: float = np.inf, integer: bool = False) -> Int64:
        """Return the numbers of new variables in an array of ``shape``."""
        first, count = len(self.upper), int(np.prod(shape))
        self.upper += [upper] * count
        self.is_integer += [int(integer)] * count
        return np.arange(first, first + count).reshape(shape)

    def row(self, *terms: Any, lower: float = -np.inf, upper: float = np.inf) -> None:
        """Demand ``lower <= sum of coefficients x variables <= upper``.

        Each term is (coefficient or coefficients, variable or variables).
        """
        number = len(self.row_upper)
        for values, columns in terms:
            pairs = np.broadcast_arrays(columns, np.asarray(values, dtype=np.float64))
            for column, value in zip(*(array.ravel().tolist() for array in pairs), strict=True):
                self.entries.append((number, column, value))
        self.row_lower.append(lower)
        self.row_upper.append(upper)

    def solve(
        self, cost: Mapping[int, float], *, time_limit_s: float, gap: float | None = None
    ) -> Any:
        """Minimise by HiGHS, to a relative ``gap``; return what SciPy's ``milp`` says."""
        try:
            optimize: Any = import_module("scipy.optimize")
            sparse: Any = import_module("scipy.sparse")
        except ImportError:
            raise ImportError("exact: needs SciPy: pip install 'gpusched-core[exact]'") from None
        rows, columns, values = zip(*self.entries, strict=True)
        shape = (len(self.row_upper), len(self.upper))
        costs = np.zeros(len(self.upper))
        costs[list(cost)] = list(cost.values())
        matrix = sparse.csr_array((values, (rows, columns)), shape=shape)
        limits = (np.array(self.row_lower), np.array(self.row_upper))
        options = {"time_limit": time_limit_s} | ({} if gap is None else {"mip_rel_gap": gap})
        return attended(
            lambda: optimize.milp(
                costs,
                integrality=np.array(self.is_integer),
                bounds=optimize.Bounds(0.0, np.array(self.upper)),
                constraints=optimize.LinearConstraint(matrix, *limits),
                options=options,
            )
        )


def formulate(problem: Instance, upper_bound_s: float) -> tuple[Program, Int64, Int64, list[Int64]]:
    """Write the program down; ``upper_bound_s`` is the makespan of a known plan, or infinity.

    The program, and the variables of which a plan is read: the length of each phase in seconds,
    whose sum is the makespan; whether a job runs in a phase, shape ``(jobs, phases)``; by job,
    whether it takes each of its placements.
    """
    jobs, servers = range(problem.num_jobs), range(len(problem.server_gpus))
    phases = range(problem.num_jobs)
    program = Program()
    length = program.variables(len(phases))
    runs = program.variables(len(jobs), len(phases), upper=1.0, integer=True)
    starts = program.variables(len(jobs), len(phases), upper=1.0)
    done = program.variables(len(jobs), len(phases))
    # is_level[s, k, p - 2] = 1: at least p rings meet at server s in phase k.
    is_level = program.variables(
        len(servers), len(phases), problem.most_rings - 1, upper=1.0, integer=True
    )
    takes = [program.variables(len(rows), upper=1.0, integer=True) for rows in problem.placements]
    # holds = takes and runs: on this placement in this phase.
    holds = [program.variables(len(rows), len(phases), upper=1.0) for rows in problem.placements]

    program.row((1.0, length), lower=lower_bound_s(problem), upper=upper_bound_s)
    for job in jobs:
        _run_once(program, takes[job], runs[job], starts[job], holds[job])
        _do_the_work(program, float(problem.service_s[job]), length, runs[job], done[job])
        _limit_progress(program, problem, job, length, done[job], holds[job], is_level)
    for phase in phases:
        # Implied by the rest, but it helps the search: GPU time in a phase.
        area = (problem.gpus, done[:, phase])
        program.row(area, (-float(problem.server_gpus.sum()), length[phase]), upper=0.0)
        for server in servers:
            here = [
                (rows[:, server], _is_ring(rows, server), hold[:, phase])
                for rows, hold in zip(problem.placements, holds, strict=True)
            ]
            used = [(gpus, hold) for gpus, _, hold in here]
            program.row(*used, upper=float(problem.server_gpus[server]))
            rings = [(1.0, hold[is_ring]) for _, is_ring, hold in here]
            program.row(*rings, (-1.0, is_level[server, phase]), upper=1.0)
            for lower, higher in pairwise(is_level[server, phase].tolist()):
                program.row((1.0, higher), (-1.0, lower), upper=0.0)
    return program, length, runs, takes


def _run_once(program: Program, takes: Int64, runs: Int64, starts: Int64, holds: Int64) -> None:
    """One placement, in phases that follow each other."""
    program.row((1.0, takes), lower=1.0, upper=1.0)
    program.row((1.0, starts), upper=1.0)
    for phase, here in enumerate(runs):
        program.row((1.0, holds[:, phase]), (-1.0, here), lower=0.0, upper=0.0)
        for placement, hold in zip(takes, holds[:, phase], strict=True):
            program.row((1.0, hold), (-1.0, placement), upper=0.0)
        before = [(1.0, runs[phase - 1])] if phase else []
        program.row((-1.0, here), (1.0, starts[phase]), *before, lower=0.0)


def _do_the_work(
    program: Program, service_s: float, length: Int64, runs: Int64, done: Int64
) -> None:
    """All of the service, in the phases in which the job runs, at a rate of at most 1."""
    program.row((1.0, done), lower=service_s)
    for seconds, here, part in zip(length, runs, done, strict=True):
        program.row((1.0, part), (-service_s, here), upper=0.0)
        program.row((1.0, part), (-1.0, seconds), upper=0.0)


def _is_ring(placements: Int64, server: int) -> NDArray[np.bool_]:
    """Which placements put a ring on the link of ``server``."""
    used: NDArray[np.bool_] = (placements[:, server] > 0) & (
        np.count_nonzero(placements, axis=1) > 1
    )
    return used


def _limit_progress(
    program: Program,
    problem: Instance,
    job: int,
    length: Int64,
    done: Int64,
    holds: Int64,
    is_level: Int64,
) -> None:
    """Progress in a phase is at most rate x length, for the placement and the rings there.

    A rate that does not apply must not bind: without it, at most ``min(length, service)`` is done
    in a phase, and that is less than ``rate x length + (1 - rate) x service``.
    """
    service_s = float(problem.service_s[job])
    for index, counts in enumerate(problem.placements[job]):
        used = np.flatnonzero(counts)
        for phase, seconds in enumerate(length):
            for rings, rate in enumerate(problem.rates[job][index].tolist(), start=1):
                slack = (1.0 - rate) * service_s
                here = [(1.0, done[phase]), (-rate, seconds), (slack, holds[index, phase])]
                if rings == 1 and rate < 1.0:
                    program.row(*here, upper=slack)
                elif rings > 1 and len(used) > 1:
                    for server in used:
                        level = (slack, is_level[server, phase, rings - 2])
                        program.row(*here, level, upper=2 * slack)


MAX_JOBS: Final = 8
MAX_PLACEMENTS: Final = 200
_TOLERANCE: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Solution:
    """A plan and what is proven about it.

    ``makespan_s``: of the plan, in the fluid model.
    ``lower_bound_s``: no schedule is shorter; equal to ``makespan_s`` up to the tolerance if
        ``is_optimal``.
    ``start_s``, ``finish_s``: when each job runs.
    ``placement``: GPUs of each job on each server, shape ``(jobs, servers)``.
    """

    makespan_s: float
    lower_bound_s: float
    is_optimal: bool
    start_s: Float64
    finish_s: Float64
    placement: Int64


def instance(
    trace: gs.Trace,
    cluster: gs.Cluster,
    *,
    overhead_s: float = 5e-4,
    reduction_bytes_per_s: float = 3e11,
    degradation: float = 0.0,
    scaling: float = 1.0,
) -> Instance:
    """Tabulate the ``ring`` speed under ``shared`` contention for every placement of every job.

    ``overhead_s``, ``reduction_bytes_per_s``, ``degradation``, ``scaling``: as for the speed
        ``ring`` and the contention ``shared``.
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


def _one_bandwidth(cluster: gs.Cluster, field: str) -> float:
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
    solution: Solution, trace: gs.Trace, cluster: gs.Cluster, *, speed: str, contention: str
) -> gs.Result:
    """Run the plan in the core: each job on its servers, from its time on.

    Where the core's rounding up lets a job finish a microsecond after its time, the next one
    starts then.
    """
    start_us = np.ceil(np.round(solution.start_s * US_PER_S, 3)).astype(np.int64)
    order = np.argsort(start_us, kind="stable").tolist()

    class Planned(gs.Placement):
        def place(self, free: Any, request: Any) -> list[tuple[int, int]] | None:
            counts = solution.placement[request.job]
            if (counts > free.free_gpus).any():
                return None
            used = np.flatnonzero(counts).tolist()
            return [(server, free.lowest_free(server, int(counts[server]))) for server in used]

    class AsPlanned(gs.Scheduler):
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

    ``time_limit_s``: after it, the best plan so far and the bound proven so far are returned.
    ``upper_bound_s``: the makespan of a known plan; it is a help only.
    """
    if not 0 < time_limit_s < np.inf:
        raise ValueError(f"time_limit_s: {time_limit_s} must be positive and finite")
    program, length, runs, takes = formulate(problem, upper_bound_s)
    found = program.solve(
        dict.fromkeys(length.tolist(), 1.0), time_limit_s=time_limit_s, gap=_TOLERANCE
    )
    if found.x is None:
        raise TimeoutError(f"exact: no plan within {time_limit_s:g} s ({found.message})")
    end_s = np.cumsum(np.maximum(found.x[length], 0.0))
    begin_s = np.concatenate([[0.0], end_s[:-1]])
    is_run = found.x[runs] > 0.5
    last = is_run.shape[1] - 1 - np.argmax(is_run[:, ::-1], axis=1)
    placement = [
        rows[int(np.argmax(found.x[taken]))]
        for rows, taken in zip(problem.placements, takes, strict=True)
    ]
    columns = (begin_s[np.argmax(is_run, axis=1)], end_s[last], np.array(placement))
    for column in columns:
        column.flags.writeable = False
    bound_s = min(float(found.mip_dual_bound), float(end_s[-1]))
    return Solution(float(end_s[-1]), bound_s, found.status == 0, *columns)
