"""Hostile values for every solver: ``python -m tests.boundary.hostile_solvers SOLVER``.

Each case is named on stdout before it is tried, so that the last line names one that never ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import gpusched as gs
from gpusched.online.assignment import AssignmentSolver, Matching, assign, transport
from gpusched_papers import exact

SHAPES = [(1, 1), (1, 6), (6, 1), (4, 4), (8, 8), (5, 9), (9, 5), (40, 40), (40, 60), (60, 40)]
# What sums may be wrong by, in parts of the greatest figure and for each row.
ROUNDING = 2.0**-30

VALUES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Any]] = {
    "tiny": lambda r, s: r.random(s) * 1e-300,
    "huge": lambda r, s: (r.random(s) * 2 - 1) * 1e300,
    "all magnitudes": lambda r, s: 10 ** r.uniform(-300, 300, s),
    "signed magnitudes": lambda r, s: r.choice([-1, 1], s) * 10 ** r.uniform(-300, 300, s),
    "1e16 apart": lambda r, s: 10.0 ** r.choice([-8, 8], s) * r.random(s),
    "1e16 apart, whole": lambda r, s: np.where(r.random(s) < 0.5, 1e16, 1) * r.integers(1, 9, s),
    "great and close": lambda r, s: 1e9 + 1e-6 * r.random(s),
    "whole and great": lambda r, s: np.rint(r.random(s) * 1e16),
    "beyond all whole numbers": lambda r, s: r.integers(0, 2**62, s).astype(float) * 2.0**40,
    "denormal": lambda r, s: 5e-324 * r.integers(0, 4, s),
    "denormal and normal": lambda r, s: np.where(r.random(s) < 0.5, 5e-324, 1.0),
    "negative zero": lambda r, s: np.full(s, -0.0),
    "zeros of both signs": lambda r, s: np.where(r.random(s) < 0.5, -0.0, 0.0),
    "all equal": lambda r, s: np.full(s, 0.1),
    "ties": lambda r, s: r.integers(0, 2, s).astype(float),
    "equal rows": lambda r, s: np.tile(r.random(s[1]), (s[0], 1)),
    "equal columns": lambda r, s: np.tile(r.random((s[0], 1)), (1, s[1])),
    "rank one": lambda r, s: np.outer(np.arange(s[0]), np.arange(s[1])).astype(float),
    "rank one and great": lambda r, s: np.outer(10 ** r.uniform(0, 16, s[0]), r.random(s[1])),
    "rank one, falling": lambda r, s: np.outer(np.arange(s[0]), -np.arange(s[1])).astype(float),
    "similar rows": lambda r, s: np.sort(r.random(s[1])) + r.choice([0.05, 0.5]) * r.random(s),
    "random": lambda r, s: r.random(s),
}  # fmt: skip


def say(*case: object) -> None:
    print(*case, flush=True)


def matrices(*, with_forbidden: bool = True) -> Iterator[tuple[str, Any]]:
    """Costs; some of them with pairs that are forbidden."""
    random = np.random.default_rng(1)
    for name, make in VALUES.items():
        for shape in SHAPES:
            cost = make(random, shape)
            yield f"{name} {shape}", cost
            if with_forbidden:
                cost = cost.copy()
                cost[random.random(shape) < 0.2] = np.inf
                yield f"{name} {shape}, some forbidden", cost


def must_name(mistake: ValueError, *words: str) -> None:
    """Raise unless the message names what is wrong."""
    if not any(word in str(mistake) for word in words):
        raise AssertionError(f"unexpected: {mistake}") from mistake


def optimum(cost: Any) -> float | None:
    try:
        return float(cost[linear_sum_assignment(cost)].sum())
    except ValueError:
        return None


def error_of(cost: Any) -> float:
    finite = np.abs(cost[np.isfinite(cost)])
    return float(min(cost.shape) * ROUNDING * finite.max(initial=0.0)) + 1e-320


def check(cost: Any, solve: Callable[[Any], Matching], error: float) -> None:
    best = optimum(cost)
    try:
        found = solve(cost)
    except ValueError as mistake:
        must_name(mistake, "do not suffice" if best is None else "nothing")
        return
    assert best is not None
    assert len(found.rows) == len(np.unique(found.columns)) == min(cost.shape)
    assert abs(cost[found.rows, found.columns].sum() - best) <= error
    assert abs(found.cost - best) <= error


def jonker_volgenant() -> None:
    for name, cost in matrices():
        say(name)
        check(cost, assign, error_of(cost))
        check(cost, lambda cost: _negated(assign(-cost, maximise=True)), error_of(cost))


def _negated(found: Matching) -> Matching:
    return Matching(found.rows, found.columns, -found.cost, found.row_dual, found.column_dual)


def auction() -> None:
    for name, cost in matrices():
        say(name)
        finite = cost[np.isfinite(cost)]
        spread = float(np.ptp(finite)) if finite.size else 0.0
        whole = finite.size and np.array_equal(finite, np.rint(finite))
        error = 0.0 if whole and spread < 1e6 else 2e-6 * spread
        check(cost, lambda cost: assign(cost, method="auction"), error + error_of(cost))
        for epsilon in (1e-300, 1e-3, 1e300):
            try:
                assign(cost, method="auction", epsilon=epsilon)
            except ValueError as mistake:
                must_name(mistake, "epsilon", "suffice")


def changed_rows() -> None:
    """Through the rows of all other matrices of the shape, and back."""
    random = np.random.default_rng(2)
    by_shape: dict[tuple[int, int], list[Any]] = {}
    for _, cost in matrices(with_forbidden=False):
        by_shape.setdefault(cost.shape, []).append(cost)
    for shape, costs in by_shape.items():
        for number, start in enumerate(costs):
            say(shape, number)
            cost, solver = start.copy(), AssignmentSolver()
            solver.solve(cost)
            for _ in range(30):
                row = int(random.integers(shape[0]))
                cost[row] = costs[int(random.integers(len(costs)))][row]
                found = solver.change_row(row, cost[row])
                assert abs(found.cost - optimum(cost)) <= error_of(cost)
            for row in range(shape[0]):
                found = solver.change_row(row, start[row])
            assert abs(found.cost - optimum(start)) <= error_of(start)


def transports() -> None:
    random = np.random.default_rng(3)
    for name, value in matrices():
        value = -value
        for most in (1, 4, 2**20):
            supply = random.integers(0, most + 1, value.shape[0])
            capacity = random.integers(0, most + 1, value.shape[1])
            say(name, supply.tolist(), capacity.tolist())
            for at_most in (True, False):
                try:
                    found = transport(value, supply, capacity, at_most=at_most)
                except ValueError:
                    continue
                assert (found.flow.sum(axis=0) <= capacity).all()
                assert (found.flow.sum(axis=1) <= supply).all()
                may_be = np.isfinite(value)
                assert may_be[found.flow > 0].all()
                some = np.where(may_be, value, 0.0)
                slack = np.where(may_be, found.row_dual[:, None] + found.price - some, 0.0)
                error = error_of(value) / min(value.shape) * sum(value.shape)
                assert slack.min() >= -error
                assert slack[found.flow > 0].max(initial=0.0) <= error


def placements() -> None:
    for name, cost in matrices(with_forbidden=False):
        rates = np.abs(cost[:5, :8])
        for sampler in ("seeded", "uniform", "enumerate", "exact"):
            for clearing in ("transportation", "jonker-volgenant", "auction"):
                say(name, rates.tolist(), sampler, clearing)
                try:
                    found = gs.online.place_jobs(
                        rates, rounds=3, round_samples=10, sampler=sampler, clearing=clearing,
                        draws=3, guard=0.0,
                    )  # fmt: skip
                except ValueError as mistake:
                    must_name(mistake, "rates", "workers")
                    continue
                assert found.lower_bound_s <= found.mean_jct_s
                assert (found.counts.sum(axis=0) <= 1).all()


def deadline_plans() -> None:
    random = np.random.default_rng(4)
    figures = [
        0.0,
        5e-324,
        1e-300,
        1e-9,
        1.0,
        299.9,
        1e4,
        1e8,
        2.0**42,
        1e16,
        1e300,
        np.inf,
        np.nan,
    ]
    for number in range(600):
        jobs = [
            gs.online.DeadlineJob(
                *random.choice(figures, 3),
                rates={("A", 1): random.choice(figures), ("A", 2): random.choice(figures)},
                value=random.choice([1.0, *figures]), change_s=random.choice([0.0, *figures]))
            for _ in range(int(random.integers(0, 4)))
        ]  # fmt: skip
        # Every second time nothing that is refused at once.
        if number % 2:
            jobs = [
                gs.online.DeadlineJob(
                               random.choice([0.0, 1e4, 1e9]), random.choice([1e5, 1e8, 2.0**42]),
                               10 ** random.uniform(-5, 25), {("A", 1): 1.0, ("A", 2): 1e-9},
                               10 ** random.uniform(-90, 90), random.choice([0.0, 1e3, 1e9]))
                for _ in range(int(random.integers(0, 4)))
            ]  # fmt: skip
        prices = ["market", "density", "theory", "constant"][number % 4]
        slot_s = random.choice([1e-3, 1.0, 300.0, 1e9])
        say(jobs, prices, slot_s)
        try:
            plan = gs.online.plan_deadlines(jobs, {"A": 2}, prices=prices, slot_s=slot_s)
        except ValueError as mistake:
            must_name(mistake, "jobs[")
            continue
        assert plan.value <= plan.upper_bound <= sum(job.value for job in jobs) * (1 + 1e-12)


def gang_plans() -> None:
    random = np.random.default_rng(5)
    cluster = gs.Cluster.uniform(3, 4, nic_gbps=10, intra_gbps=100)
    for number in range(60):
        service = 10 ** random.uniform(-6, 10, 8)
        widths = random.integers(1, 13, 8)
        options: dict[str, Any] = {
            "theta_s": random.choice([None, 1e-300, 1e-3, 1e9, 1e300]),
            "u": random.choice([None, 1e-3, 1.0, 1e9]),
            "tolerance": random.choice([0.0, 1e-300, 1e-3, 1e300]),
        }
        say(service.tolist(), widths.tolist(), options)
        try:
            trace = gs.Trace.from_columns(np.zeros(8), service, widths)
            policy = ["sjf-bco", "ff", "ls", "rand"][number % 4]
            gs.online.plan(
                trace, cluster, policy=policy, speed="fixed", contention="none", **options
            )
        except ValueError as mistake:
            must_name(mistake, *options, "service")


def fillings() -> None:
    cluster = gs.Cluster.uniform(2, 8)
    for gpus in (1, 8, 2**30):
        for until in (1e-300, 1.0, 1e3, 1e300, np.inf, np.nan, 0.0, -1.0):
            for order in ("drawn", "listed"):
                say(gpus, until, order)
                requests = gs.traces.Requests.from_columns([1, gpus])
                try:
                    gs.online.fill(requests, cluster, until=until, order=order)
                except ValueError as mistake:
                    must_name(mistake, "until")


def exact_programs() -> None:
    random = np.random.default_rng(6)
    for number in range(12):
        service = np.maximum(10 ** random.uniform(-6, 9, 3), 1e-6)
        servers, gpus = [(1, 4), (3, 2), (64, 8), (2_000, 1)][number % 4]
        say(service.tolist(), servers, gpus)
        profile = gs.model.JobProfile("model", 10.0**number, 32.0, 0.0, 0.1)
        trace = gs.Trace.from_columns(
            np.zeros(3), service, [1, 2, 2], profile=np.zeros(3, np.int32), profiles=(profile,)
        )
        cluster = gs.Cluster.uniform(servers, gpus, nic_gbps=10, intra_gbps=100)
        try:
            found = exact.solve(exact.instance(trace, cluster), time_limit_s=2.0)
        except ValueError as mistake:
            must_name(mistake, "placements")
        except TimeoutError:
            pass
        else:
            assert found.lower_bound_s <= found.makespan_s


SOLVERS: dict[str, Callable[[], None]] = {
    "assign": jonker_volgenant,
    "assign by auction": auction,
    "change_row": changed_rows,
    "transport": transports,
    "place_jobs": placements,
    "plan_deadlines": deadline_plans,
    "plan": gang_plans,
    "fill": fillings,
    "exact": exact_programs,
}

if __name__ == "__main__":
    SOLVERS[sys.argv[1]]()
