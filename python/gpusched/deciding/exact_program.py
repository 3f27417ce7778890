"""The mixed-integer program behind :mod:`gpusched.deciding.exact`: variables, rows, objective."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int64


@dataclass(frozen=True)
class Instance:
    """What the program needs to know: jobs with their rates on every placement.

    Attributes
    ----------
    service_s, gpus
        Seconds on the empty cluster at the best placement, and width, per job.
    server_gpus
        GPUs of each server.
    placements
        Per job the GPUs on each server, shape ``(placements, servers)``.
    rates
        Per job the progress per second, shape ``(placements, most rings)``: column ``p - 1`` is
        for ``p`` rings on the most loaded server of the placement.
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


@dataclass(frozen=True)
class Model:
    """The program, and which of its variables a plan is read from.

    Attributes
    ----------
    length
        Of each phase, in seconds; their sum is the makespan.
    runs
        Shape ``(jobs, phases)``: whether the job runs in the phase.
    takes
        Per job, whether it takes each of its placements.
    """

    program: Program
    length: Int64
    runs: Int64
    takes: tuple[Int64, ...]


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


def formulate(problem: Instance, upper_bound_s: float) -> Model:
    """Write the program down; ``upper_bound_s`` is the makespan of a known plan, or infinity."""
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
    return Model(program, length, runs, tuple(takes))


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


def _is_ring(placements: Int64, server: int) -> Bool:
    """Which placements put a ring on the link of ``server``."""
    used: Bool = (placements[:, server] > 0) & (np.count_nonzero(placements, axis=1) > 1)
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
