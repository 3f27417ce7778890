"""The least sum of JCT and the least makespan of a few gangs, preempted in slots, by HiGHS."""

import numpy as np
import pytest

optimize = pytest.importorskip("scipy.optimize")
sparse = pytest.importorskip("scipy.sparse")

Jobs = list[tuple[int, int, int]]  # submit, service, gpus


class Program:
    """A preemptive schedule of gangs in slots as an integer program, until the instant ``end``.

    ``runs[j, t]`` says whether gang j holds its GPUs in slot t. A finer grid of instants could only
    give a better optimum, so a bound on any schedule is a bound on this one.
    """

    def __init__(self, jobs: Jobs, num_gpus: int, end: int) -> None:
        self.jobs = jobs
        self.first = min(submit for submit, _, _ in jobs)
        self.runs = np.arange(len(jobs) * (end - self.first)).reshape(len(jobs), -1)
        self.num_variables = self.runs.size
        self.rows: list[tuple[dict[int, float], float, float]] = []
        self.upper = np.ones(2 * self.runs.size)
        for j, (submit, service, _) in enumerate(jobs):
            self.upper[self.runs[j, : submit - self.first]] = 0
            self.require(dict.fromkeys(self.runs[j].tolist(), 1.0), service, service)
        for slot in self.runs.T:
            widths = (float(gpus) for _, _, gpus in jobs)
            self.require(dict(zip(slot.tolist(), widths, strict=True)), 0, num_gpus)

    def require(self, terms: dict[int, float], least: float, most: float) -> None:
        self.rows.append((terms, least, most))

    def count_completions(self) -> None:
        """Add ``done[j, t]``: whether job j has got all its service before slot t."""
        self.done = self.runs + self.runs.size
        self.num_variables = 2 * self.runs.size
        for j, (_, service, _) in enumerate(self.jobs):
            for t, done in enumerate(self.done[j].tolist()):
                served = dict.fromkeys(self.runs[j, :t].tolist(), 1.0)
                self.require(served | {done: -float(service)}, 0, np.inf)

    def solve(self, cost: np.ndarray | None = None) -> float | None:
        """The least cost, or None if there is no schedule."""
        terms, low, high = zip(*self.rows, strict=True)
        factors = [factor for row in terms for factor in row.values()]
        columns = [variable for row in terms for variable in row]
        rows = np.repeat(np.arange(len(terms)), [len(row) for row in terms])
        matrix = sparse.csr_array((factors, (rows, columns)), (len(terms), self.num_variables))
        solved = optimize.milp(
            np.zeros(self.num_variables) if cost is None else cost,
            integrality=np.ones(self.num_variables),
            bounds=optimize.Bounds(0, self.upper[: self.num_variables]),
            constraints=optimize.LinearConstraint(matrix, low, high),
        )
        assert solved.status in (0, 2), solved.message  # optimal, infeasible
        return None if solved.status == 2 else solved.fun


def least_sum_of_jct(jobs: Jobs, num_gpus: int) -> int:
    end = max(submit for submit, _, _ in jobs) + sum(service for _, service, _ in jobs)
    program = Program(jobs, num_gpus, end)
    program.count_completions()
    cost = np.zeros(program.num_variables)
    cost[program.done] = -1  # what is left of the slots is the time until completion
    best = program.solve(cost)
    assert best is not None
    return round(best) + program.done.size + sum(program.first - submit for submit, _, _ in jobs)


def least_makespan(jobs: Jobs, num_gpus: int) -> int:
    end = max(submit + service for submit, service, _ in jobs)
    while Program(jobs, num_gpus, end).solve() is None:
        end += 1
    return end - min(submit for submit, _, _ in jobs)
