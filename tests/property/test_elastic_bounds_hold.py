"""Lower bounds on jobs that may change their widths exceed no exact optimum, nor any schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.specs.case import least_costs
from tests.examples import examples

pytestmark = pytest.mark.long

optimize = pytest.importorskip("scipy.optimize")

# Widths and what they do in a slot. Of the first three every width costs exactly the same.
TABLES = (
    {1: 1, 2: 2, 3: 3},
    {2: 2, 3: 3},
    {1: 1, 2: 2, 3: 3, 4: 4},
    {1: 2, 2: 3, 4: 4},
    {1: 1, 2: 3},
    {3: 2, 4: 3},
    {3: 1},
    {2: 2},
)
Jobs = list[tuple[int, dict[int, int], int, int]]  # submit, table, own width, slots at it


@st.composite
def batches(draw: st.DrawFn) -> tuple[Jobs, int]:
    num_gpus = draw(st.integers(3, 5))
    jobs = []
    for _ in range(draw(st.integers(1, 4))):
        table = draw(st.sampled_from([t for t in TABLES if min(t) <= num_gpus]))
        own = draw(st.sampled_from([width for width in table if width <= num_gpus]))
        jobs.append((draw(st.integers(0, 2)), table, own, draw(st.integers(1, 3))))
    return sorted(jobs, key=lambda job: job[0]), num_gpus


def instance(jobs: Jobs, num_gpus: int) -> tuple[gs.Trace, gs.Cluster]:
    """Slots are seconds."""
    submit, tables, own, slots = zip(*jobs, strict=True)
    counts = range(1, 5)  # no figure between two others that is not meant
    profiles = [
        gs.model.JobProfile(f"p{i}", throughput={"A": {n: float(table.get(n, 0)) for n in counts}})
        for i, table in enumerate(tables)
    ]
    trace = gs.Trace.from_columns(submit, slots, own)
    trace = trace.with_profiles(profiles, index=list(range(len(jobs))))
    return trace, gs.Cluster.uniform(servers=1, gpus=num_gpus, gpu_type="A")


class Program:
    """In each slot each job on one of its widths, or on none, as an integer program."""

    def __init__(self, jobs: Jobs, num_gpus: int, end: int) -> None:
        ways = [(j, w) for j, (_, table, *_) in enumerate(jobs) for w in table if w <= num_gpus]
        self.jobs, self.end = jobs, end
        self.runs = {
            (j, w, t): i
            for i, (j, w, t) in enumerate(
                (j, w, t) for j, w in ways for t in range(jobs[j][0], end)
            )
        }
        self.size = len(self.runs)
        self.rows: list[dict[int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []
        for t in range(end):
            used = {i: float(w) for (_, w, at), i in self.runs.items() if at == t}
            self.require(used, 0, num_gpus)
            for j in range(len(jobs)):
                self.require(
                    {i: 1.0 for (k, _, at), i in self.runs.items() if (k, at) == (j, t)}, 0, 1
                )
        for j, (_, table, own, slots) in enumerate(jobs):
            self.require(self.work(j, end), table[own] * slots, np.inf)

    def work(self, job: int, end: int) -> dict[int, float]:
        """What is done before a slot."""
        table = self.jobs[job][1]
        return {i: float(table[w]) for (j, w, t), i in self.runs.items() if j == job and t < end}

    def require(self, terms: dict[int, float], low: float, high: float) -> None:
        self.rows.append(terms)
        self.low.append(low)
        self.high.append(high)

    def solve(self, cost: dict[int, float] | None = None) -> float | None:
        """The least cost, or None if there is no schedule."""
        matrix = np.zeros((len(self.rows), self.size))
        for row, terms in zip(matrix, self.rows, strict=True):
            for variable, factor in terms.items():
                row[variable] = factor
        costs = np.zeros(self.size)
        for variable, factor in (cost or {}).items():
            costs[variable] = factor
        solved = optimize.milp(
            costs,
            integrality=np.ones(self.size),
            bounds=optimize.Bounds(0, 1),
            constraints=optimize.LinearConstraint(matrix, self.low, self.high),
        )
        assert solved.status in (0, 2), solved.message
        return None if solved.status == 2 else float(solved.fun)


def least_makespan(jobs: Jobs, num_gpus: int) -> int:
    end = max(submit for submit, *_ in jobs) + 1
    while Program(jobs, num_gpus, end).solve() is None:
        end += 1
    return end - min(submit for submit, *_ in jobs)


def least_sum_of_jct(jobs: Jobs, num_gpus: int) -> int:
    end = max(submit for submit, *_ in jobs) + sum(slots for *_, slots in jobs)
    program = Program(jobs, num_gpus, end)
    cost: dict[int, float] = {}
    for j, (_, table, own, slots) in enumerate(jobs):
        for t in range(end):  # done[j, t]: all of the work is done before slot t
            done, program.size = program.size, program.size + 1
            cost[done] = -1.0
            program.require(program.work(j, t) | {done: -float(table[own] * slots)}, 0, np.inf)
    best = program.solve(cost)
    assert best is not None
    return round(best) + len(jobs) * end - sum(submit for submit, *_ in jobs)


def bounds_of(jobs: Jobs, num_gpus: int) -> Any:
    trace, cluster = instance(jobs, num_gpus)
    return gs.bounds.lower_bounds(trace, cluster, costs=least_costs(trace, cluster, speed="table"))


def test_the_optima_are_those_worked_by_hand():
    jobs: Jobs = [(0, TABLES[0], 3, 2), (0, TABLES[0], 3, 2)]
    # Twelve GPU slots on four GPUs: two each, or three for one and one for the other.
    assert least_makespan(jobs, 4) == 3
    assert least_sum_of_jct(jobs, 4) == 3 + 3
    assert float(bounds_of(jobs, 4).makespan_us) / 1e6 == pytest.approx(3)


@given(batches())
@examples(60)
def test_no_makespan_bound_exceeds_the_exact_optimum(batch):
    assert bounds_of(*batch).makespan_us <= least_makespan(*batch) * 10**6


@given(batches())
@examples(60)
def test_no_sum_bound_exceeds_the_exact_optimum(batch):
    assert bounds_of(*batch).best[1] <= least_sum_of_jct(*batch) * 10**6
