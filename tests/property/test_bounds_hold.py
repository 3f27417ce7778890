"""Lower bounds never exceed an exact optimum, nor any schedule there is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.bounds.bounded_jobs import JobColumns
from gpusched.bounds.certificates import makespan_bound
from gpusched.bounds.known.mean_busy_time import mean_busy_time
from gpusched.bounds.known.squashed_srpt import squashed_srpt
from gpusched.bounds.known.trivial import trivial
from gpusched.readable import PLACEMENTS, POLICIES, Job, replay

optimize = pytest.importorskip("scipy.optimize")
sparse = pytest.importorskip("scipy.sparse")

Jobs = list[tuple[int, int, int]]  # submit, service, gpus


def columns(jobs: Jobs) -> JobColumns:
    submit_us, service_us, gpus = zip(*sorted(jobs), strict=True)
    return JobColumns(
        np.array(submit_us, np.int64), np.array(service_us, np.int64), np.array(gpus, np.int32)
    )


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
        matrix = sparse.lil_matrix((len(terms), self.num_variables))
        for i, row in enumerate(terms):
            for variable, factor in row.items():
                matrix[i, variable] = factor
        solved = optimize.milp(
            np.zeros(self.num_variables) if cost is None else cost,
            integrality=np.ones(self.num_variables),
            bounds=optimize.Bounds(0, self.upper[: self.num_variables]),
            constraints=optimize.LinearConstraint(matrix.tocsr(), low, high),
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


def largest_sum(jobs: Jobs, num_gpus: int) -> Fraction:
    some = columns(jobs)
    return max(
        trivial(some),
        squashed_srpt(some, num_gpus),
        mean_busy_time(some, num_gpus),
    )


@st.composite
def gang_instances(draw: st.DrawFn) -> tuple[Jobs, int]:
    num_gpus = draw(st.sampled_from([1, 2, 4, 8]))
    one = st.tuples(st.integers(0, 5), st.integers(1, 4), st.integers(1, num_gpus))
    return draw(st.lists(one, min_size=3, max_size=6)), num_gpus


@given(gang_instances())
@settings(max_examples=50, deadline=None)
def test_no_sum_bound_exceeds_the_exact_preemptive_optimum(instance):
    jobs, num_gpus = instance
    assert largest_sum(jobs, num_gpus) <= least_sum_of_jct(jobs, num_gpus)


@given(gang_instances())
@settings(max_examples=50, deadline=None)
def test_the_makespan_bound_does_not_exceed_the_exact_preemptive_optimum(instance):
    jobs, num_gpus = instance
    assert makespan_bound(columns(jobs), num_gpus) <= least_makespan(jobs, num_gpus)


def test_the_optima_are_those_worked_by_hand():
    jobs = [(0, 4, 2), (1, 1, 1), (1, 1, 1)]
    # Both short jobs interrupt the long one together: 5 + 1 + 1; or wait: 4 + 4 + 4.
    assert least_sum_of_jct(jobs, 2) == 7
    assert least_makespan(jobs, 2) == 5
    assert largest_sum(jobs, 2) <= 7
    assert makespan_bound(columns(jobs), 2) == 5


@given(gang_instances(), st.sampled_from(POLICIES), st.sampled_from(PLACEMENTS))
@settings(max_examples=150, deadline=None)
def test_no_bound_exceeds_a_schedule_of_any_policy(instance, policy, placement):
    jobs, num_gpus = instance
    servers = [(1, "gpu")] * num_gpus if num_gpus < 4 else [(num_gpus // 2, "gpu")] * 2
    outcome = replay([Job(*one) for one in jobs], servers, policy, placement)
    served = [
        one
        for one, finish in zip(sorted_by_submit(jobs), outcome.finish_us, strict=True)
        if finish >= 0
    ]
    if not served:
        return
    finishes = [finish for finish in outcome.finish_us if finish >= 0]
    flow = sum(finishes) - sum(submit for submit, _, _ in served)
    assert largest_sum(served, num_gpus) <= flow
    window = max(finishes) - min(submit for submit, _, _ in served)
    assert makespan_bound(columns(served), num_gpus) <= window


def sorted_by_submit(jobs: Jobs) -> Jobs:
    return sorted(jobs, key=lambda one: one[0])


@given(gang_instances(), st.lists(st.floats(0.1, 10), min_size=6, max_size=6))
@settings(max_examples=100, deadline=None)
def test_the_weighted_bound_does_not_exceed_a_schedule(instance, weights):
    jobs, num_gpus = instance
    jobs.sort()
    weight = np.array(weights[: len(jobs)])
    workload = [Job(*one, weight=w) for one, w in zip(jobs, weight.tolist(), strict=True)]
    outcome = replay(workload, [(num_gpus, "gpu")], "wspt", "count")
    flow = sum(
        Fraction(w) * (finish - submit)
        for w, finish, (submit, _, _) in zip(weight.tolist(), outcome.finish_us, jobs, strict=True)
    )
    assert mean_busy_time(columns(jobs), num_gpus, weight=weight) <= flow
