"""Time assignment and transportation against SciPy's assignment, on the same costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment

from bench.measure import Timing, interleave, processor_s
from bench.table import Bar, Section
from gpusched import _core
from gpusched.base.arrays import Float64
from gpusched.online.assignment import AssignmentSolver, assign

SIZE = 2048
CHANGES = 100  # rows that are changed, one after the other
CALLS = 200  # of a transport, of which one is too short to be timed
SHORT_CALLS = 20  # of a problem of few costs, likewise
FEW_COSTS = 128 * 128
JOBS, WORKERS, TYPES = 64, 512, 4
SEED = 1
METHOD = (
    "`assign` and SciPy's `linear_sum_assignment` in turn on the same float64 costs, sums equal. "
    "Jobs on types: 64 jobs that share 512 workers of 4 types, expanded to 512 x 512 with a row "
    "for each unit of a job; the transport has 64 x 4 values. Processor "
    "times of calls from Python, of 128 x 128 in rows of 20, medians of repetitions (least in "
    "brackets)."
)


def section(repeats: int) -> Section:
    """Report all problems, with the bars."""
    random = np.random.Generator(np.random.PCG64(SEED))
    out = Section("Assignment", METHOD, ("problem", "gpusched ms", "SciPy ms", "ratio"))
    problems = {
        f"uniform, {SIZE} x {SIZE}": random.random((SIZE, SIZE)),
        "uniform, 512 x 512": random.random((512, 512)),
        "uniform, 512 x 2048": random.random((512, 2048)),
        "whole numbers below 100, 1024 x 1024": random.integers(0, 100, (1024, 1024)) + 0.0,
        "distances in the plane, 1024 x 1024": _distances(random, 1024, 1024),
        "all rows of one order, 512 x 512": _of_one_order(512, 512),
        "all rows of one order, 300 x 512": _of_one_order(300, 512),
        "rows of nearly one order, 300 x 512": _of_one_order(300, 512)
        * random.uniform(0.8, 1.2, (300, 512)),
        "distances in the plane, 1000 x 1024": _distances(random, 1000, 1024),
        "distances in the plane, 512 x 1024": _distances(random, 512, 1024),
        "whole numbers below 4, 1024 x 1024": random.integers(0, 4, (1024, 1024)) + 0.0,
        "uniform, 1024 x 512": random.random((1024, 512)),
        "uniform, 128 x 128": random.random((128, 128)),
        "distances in the plane, 128 x 128": _distances(random, 128, 128),
        "all rows of one order, 128 x 128": _of_one_order(128, 128),
    }
    ratios = {name: _compare(out, name, cost, repeats) for name, cost in problems.items()}
    out.bars += [
        Bar(f"{name}, against SciPy", ratio, 5, "x", True) for name, ratio in ratios.items()
    ]
    _change(out, next(iter(problems.values())).copy(), random)
    _jobs_on_types(out, random, repeats)
    return out


def _compare(out: Section, name: str, cost: Float64, repeats: int) -> float:
    """A row of the table; the ratio of the medians."""
    rows, columns = linear_sum_assignment(cost)
    if not np.isclose(assign(cost).cost, cost[rows, columns].sum()):
        raise RuntimeError(f"{name}: the sums differ")
    num_calls = SHORT_CALLS if cost.size <= FEW_COSTS else 1
    calls = (lambda: assign(cost)), (lambda: linear_sum_assignment(cost))
    own, other = interleave([partial(_call_s, call, num_calls) for call in calls], repeats)
    ratio = other.median / own.median
    out.rows.append((name, _ms(own), _ms(other), f"{ratio:.1f}"))
    return ratio


def _call_s(call: Callable[[], object], num_calls: int) -> float:
    """Processor time of one of so many calls in a row."""

    def all_calls() -> None:
        for _ in range(num_calls):
            call()

    return processor_s(all_calls) / num_calls


def _change(out: Section, cost: Float64, random: np.random.Generator) -> None:
    """Rows changed one after the other, each to a new one."""
    solver = AssignmentSolver()
    solver.solve(cost)
    samples = []
    for row in random.integers(0, SIZE, CHANGES):
        cost[row] = random.random(SIZE)
        begin = time.process_time()
        found = solver.change_row(int(row), cost[row])
        samples.append(time.process_time() - begin)
    if not np.isclose(found.cost, assign(cost).cost):
        raise RuntimeError("changed rows: differs from a new solution")
    timing = Timing(tuple(samples))
    out.rows.append((f"one row changed, {SIZE} x {SIZE}", _ms(timing), "-", "-"))
    out.notes.append(f"The slowest of {CHANGES} changed rows took {max(samples) * 1e3:.2f} ms.")
    out.bars.append(Bar("one row changed", timing.median * 1e3, 1, "ms"))


def _jobs_on_types(out: Section, random: np.random.Generator, repeats: int) -> None:
    """One market in its three forms."""
    speed = random.uniform(300, 1500, TYPES)
    value = np.rint(random.uniform(0.5, 1.5, (JOBS, 1)) * speed * random.uniform(0.8, 1.6, TYPES))
    demand = 1 + random.multinomial(WORKERS - JOBS, np.full(JOBS, 1 / JOBS)).astype(np.int32)
    capacity = np.full(TYPES, WORKERS // TYPES, dtype=np.int32)
    by_worker = np.repeat(value, capacity, axis=1)
    expanded = np.repeat(by_worker, demand, axis=0)

    solver = _core.Transportation()
    values, prizes = value.reshape(-1), by_worker.reshape(-1)
    best = solver.solve(values, demand, capacity)[3]
    auctioned = _core.auction(prizes, demand, WORKERS, 0.9 / WORKERS)[3]
    if not best == auctioned == assign(expanded, maximise=True).cost:
        raise RuntimeError("jobs on types: the values differ")
    _compare(out, "jobs on types, Jonker-Volgenant", -expanded, repeats)
    auction = partial(_core.auction, prizes, demand, WORKERS, 0.9 / WORKERS)
    (timing,) = interleave([partial(processor_s, auction)], repeats)
    out.rows.append(("jobs on types, auction", _ms(timing), "-", "-"))
    for name, is_warm in (("cold", False), ("warm, nothing changed", True)):
        (timing,) = interleave([_transports(solver, values, demand, capacity, is_warm)], repeats)
        out.rows.append((f"jobs on types, transport, {name}", _ms(timing), "-", "-"))
        if not is_warm:
            out.bars.append(Bar("64 jobs on 4 types by transport", timing.median * 1e3, 5, "ms"))


def _transports(
    solver: _core.Transportation, value: Float64, *counts: object
) -> Callable[[], float]:
    def measure() -> float:
        begin = time.process_time()
        for _ in range(CALLS):
            solver.solve(value, counts[0], counts[1], True, counts[2])
        return (time.process_time() - begin) / CALLS

    return measure


def _distances(random: np.random.Generator, rows: int, columns: int) -> Float64:
    difference = random.random((rows, 1, 2)) - random.random((columns, 2))
    return np.sqrt((difference**2).sum(axis=2))


def _of_one_order(rows: int, columns: int) -> Float64:
    return np.outer(np.arange(rows) + 0.0, np.arange(columns) + 0.0)


def _ms(timing: Timing) -> str:
    return f"{timing.median * 1e3:.3g} ({timing.least * 1e3:.3g})"
