"""Random cases of every solver beside SciPy, brute force and exact programs, as many as wanted.

    python -m tests.random_solvers --cases 100000 --seed 1        # some ten minutes
    python -m tests.random_solvers --solver transport --first 4711 --cases 1

Values are widened: ties, rank one, magnitudes from 1e-300 to 1e300, forbidden pairs, all shapes.
A case follows from its solver, the seed and its number. Each must end within ``--seconds``: they
run in a child process that is ended and begun anew where one does not. Prints how many cases each
solver had and how many differed, and the first that did; the exit code is 1 if one did.
"""

import argparse
import itertools
import multiprocessing
import sys
import time
import traceback
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import gpusched as gs
from gpusched import _core
from gpusched.online.assignment import AssignmentSolver, Matching, assign, transport
from gpusched_papers import exact

Random = np.random.Generator
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
NAMES = sorted(VALUES)


def must_name(mistake: ValueError, *words: str) -> None:
    """Raise unless the message names what is wrong."""
    if not any(word in str(mistake) for word in words):
        raise AssertionError(f"unexpected: {mistake}") from mistake


def optimum(cost: Any) -> float | None:
    from scipy.optimize import linear_sum_assignment

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
        must_name(mistake, "too few allowed pairs" if best is None else "nothing")
        return
    assert best is not None
    assert len(found.rows) == len(np.unique(found.columns)) == min(cost.shape)
    assert abs(cost[found.rows, found.columns].sum() - best) <= error
    assert abs(found.cost - best) <= error


def costs(random: Random, most: int = 7) -> Any:
    """A matrix of one kind, or of two that are mixed; some pairs forbidden."""
    rows, columns = random.integers(1, most + 1, 2).tolist()
    cost = VALUES[random.choice(NAMES)](random, (rows, columns))
    if random.random() < 0.3:
        other = VALUES[random.choice(NAMES)](random, (rows, columns))
        cost = np.where(random.random(cost.shape) < 0.5, cost, other)
    if random.random() < 0.3:
        cost = np.where(random.random(cost.shape) < 0.2, np.inf, cost)
    return cost


def try_assign(random: Random) -> None:
    cost = costs(random, 7 if random.random() < 0.9 else 60)
    error = error_of(cost)
    check(cost, assign, error)
    if optimum(cost) is None:
        return
    found, other = assign(cost), assign(-cost, maximise=True)
    assert abs(found.cost + other.cost) <= error
    # The duals prove it: no pair is cheaper, those of the assignment and of who is left are tight.
    slack = cost - found.row_dual[:, None] - found.column_dual
    assert slack.min() >= -error
    assert np.abs(slack[found.rows, found.columns]).max() <= error
    left = (*np.delete(found.row_dual, found.rows), *np.delete(found.column_dual, found.columns))
    assert np.abs(left).sum() <= error
    if 1e-250 < np.abs(cost[np.isfinite(cost) & (cost != 0)]).min(initial=1) < 1e250:
        scaled = assign(cost * 0.25)
        assert scaled.columns.tolist() == found.columns.tolist()
        assert scaled.cost == found.cost / 4


def try_auction(random: Random) -> None:
    cost = costs(random)
    finite = cost[np.isfinite(cost)]
    spread = float(np.ptp(finite)) if finite.size else 0.0
    is_exact = np.array_equal(finite, np.rint(finite)) and spread < 1e6
    error = error_of(cost) + (0.0 if is_exact else 1e-6 * spread)
    check(cost, lambda cost: assign(cost, method="auction"), error)
    try:
        with np.errstate(over="ignore"):  # of what such a precision may cost
            assign(cost, method="auction", epsilon=random.choice([1e-300, 1e-3, 1e300]))
    except ValueError as mistake:
        must_name(mistake, "epsilon", "too few allowed pairs")


def try_changed_rows(random: Random) -> None:
    cost = costs(random, 7 if random.random() < 0.7 else 50)
    solver, width = AssignmentSolver(), cost.shape[1]
    if optimum(cost) is None:
        return
    solver.solve(cost)
    before = cost.copy()
    for _ in range(6):
        row = int(random.integers(len(cost)))
        changed = VALUES[random.choice(NAMES)](random, (1, width))[0]
        if random.random() < 0.6:  # like the others, dearer or cheaper
            changed = cost[int(random.integers(len(cost)))] + random.integers(-3, 4, width)
            changed[np.abs(changed) > 1e300] = 1.0
        cost[row] = changed
        assert abs(solver.change_row(row, changed).cost - optimum(cost)) <= error_of(cost)
    for row in range(len(cost)):
        cost[row] = before[row]
        if optimum(cost) is None:
            return
        assert abs(solver.change_row(row, before[row]).cost - optimum(cost)) <= error_of(cost)


def try_transport(random: Random) -> None:
    value = -costs(random, 5)
    supply = random.integers(0, 4, value.shape[0])
    capacity = random.integers(0, 5, value.shape[1])
    may_keep = bool(random.random() < 0.5)
    matrix = np.repeat(np.repeat(value, supply, axis=0), capacity, axis=1)
    home = np.zeros((len(matrix), len(matrix) if may_keep else 0))
    matrix = np.hstack([matrix, home])
    is_possible = matrix.shape[0] <= matrix.shape[1] and matrix.size > 0
    best = optimum(-matrix) if is_possible else None if len(matrix) else 0.0
    solver = _core.Transportation()
    if random.random() < 0.5:  # prices that have nothing to do with it
        other = VALUES[random.choice(NAMES)](random, value.shape)
        solver.solve(-np.abs(other).ravel(), supply.astype(np.int32) * 0, capacity.astype(np.int32))
    try:
        found = transport(value, supply, capacity, at_most=may_keep)
        warm = solver.solve(value.ravel(), supply.astype(np.int32), capacity.astype(np.int32),
                            not may_keep, is_warm=True)[3]  # fmt: skip
    except ValueError:
        assert best is None
        return
    assert best is not None
    error = error_of(value) * max(1, len(matrix))
    assert abs(found.value + best) <= error
    assert abs(warm + best) <= error


@cache
def owners(jobs: int, workers: int) -> Any:
    """Every way to hold workers, shape (ways, jobs, workers)."""
    ways = np.array(list(itertools.product(range(-1, jobs), repeat=workers)))
    return ways[:, None, :] == np.arange(jobs)[None, :, None]


def try_place_jobs(random: Random) -> None:
    jobs = int(random.integers(1, 4))
    workers = int(random.integers(jobs, 6 if random.random() < 0.8 else 9))
    spread = random.choice([0.0, 0.5, 3.0, 8.0])
    rates = np.round(10 ** random.uniform(-spread, spread, (jobs, workers)), 3 + int(spread))
    rates = np.maximum(rates, 1e-9)
    if random.random() < 0.3:
        rates = np.outer(rates[:, 0], rates[0])
    if random.random() < 0.3:
        rates = random.integers(1, 4, rates.shape).astype(float)
    if random.random() < 0.3:
        rates[random.random(rates.shape) < 0.2] = 0.0
    if random.random() < 0.2:  # one that is out of all proportion
        rates = random.choice([0.0, 0.5, 1.0, 2.0, 3.7], rates.shape)
        rates[random.integers(jobs), random.integers(workers)] = 10.0 ** random.integers(2, 9)
    if workers > 5 or random.random() < 0.4:  # equal columns are a class
        rates = rates[:, np.sort(random.integers(0, min(workers, 4), workers))]
    rounds = random.integers(1, 9, jobs).astype(float)
    gradient = random.choice([0.0, 1e8, 1e10])
    work: dict[str, Any] = {
        "rounds": rounds, "round_samples": 10.0, "gradient_bytes": gradient,
        "bandwidth_gbps": 10.0, "guard": 0.0,
    }  # fmt: skip
    if not (rates > 0).any(axis=1).all():
        return
    held = owners(jobs, workers)
    sums = (held * rates).sum(axis=2)
    idle = (held & (rates == 0)).any(axis=(1, 2)) | (sums == 0).any(axis=1)
    count = np.maximum(held.sum(axis=2), 1)
    ring = 2 * (count - 1) / count * gradient / 1.25e9
    seconds = rounds * (10.0 / np.where(sums > 0, sums, 1.0) + ring)
    seconds[idle] = np.inf
    best = float(seconds.mean(axis=1).min())
    if not np.isfinite(best):  # some job waits
        return
    sampler = random.choice(["seeded", "uniform", "enumerate", "exact"])
    clearing = random.choice(["transportation", "jonker-volgenant", "auction"])
    found = gs.online.place_jobs(rates, **work, sampler=sampler, clearing=clearing, draws=5)
    assert found.counts.sum(axis=0).max() <= 1
    assert found.num_workers.min() >= 1
    assert found.lower_bound_s <= best * (1 + 1e-9)
    assert found.mean_jct_s >= best * (1 - 1e-9)
    if sampler == "exact" and found.is_optimal:
        assert found.mean_jct_s <= best * (1 + 1e-8)
    if gradient == 0.0:
        scaled = gs.online.place_jobs(
            rates * 2.0**20, **work, sampler=sampler, clearing=clearing, draws=5
        )
        assert scaled.counts.tolist() == found.counts.tolist()
        assert scaled.mean_jct_s == found.mean_jct_s / 2.0**20
        assert scaled.lower_bound_s == found.lower_bound_s / 2.0**20


def try_hostile_rates(random: Random) -> None:
    rates = np.abs(VALUES[random.choice(NAMES)](random, (5, int(random.integers(1, 9)))))
    sampler = random.choice(["seeded", "uniform", "enumerate", "exact"])
    clearing = random.choice(["transportation", "jonker-volgenant", "auction"])
    options: dict[str, Any] = {"rounds": 3, "round_samples": 10, "draws": 3, "guard": 0.0}
    try:
        found = gs.online.place_jobs(rates, **options, sampler=sampler, clearing=clearing)
    except ValueError as mistake:
        must_name(mistake, "rates", "workers")
        return
    assert found.lower_bound_s <= found.mean_jct_s
    assert (found.counts.sum(axis=0) <= 1).all()


def schedules(job: gs.online.DeadlineJob, types: list[str], slots: int, slot_s: float) -> Any:
    """GPUs by type and slot of each way in whole slots that does the work; changes are free."""
    ways = [None, *job.rates]
    found = []
    for chosen in itertools.product(ways, repeat=slots):
        used, done = np.zeros((len(types), slots), dtype=int), 0.0
        for slot, way in enumerate(chosen):
            begin = max(slot * slot_s, job.arrival_s)
            end = min((slot + 1) * slot_s, job.deadline_s)
            if way is None or end <= begin:
                continue
            used[types.index(way[0]), slot] = way[1]
            done += (end - begin) * job.rates[way]
        if done >= job.work:
            found.append(used.ravel())
    return np.unique(np.array(found).reshape(-1, len(types) * slots), axis=0)


def try_plan_deadlines(random: Random) -> None:
    slots, slot_s = int(random.integers(1, 4)), 100.0
    gpus = {"A": int(random.integers(1, 4)), "B": int(random.integers(0, 3))}
    jobs = []
    for _ in range(int(random.integers(1, 4))):
        arrival_s = float(random.integers(0, slots * 2) * 50)
        deadline_s = float(random.integers(1, slots * 2 + 1) * 50)
        ways = [("A", 1), ("A", 2), ("B", 1)]
        rates = {way: 10 ** random.uniform(-1, 1) for way in ways if random.random() < 0.6}
        work = max(rates.values(), default=1.0) * random.integers(1, 301)
        jobs.append(gs.online.DeadlineJob(arrival_s, deadline_s, float(work), rates,
                                   10 ** random.uniform(-2, 2)))  # fmt: skip
    prices = str(random.choice(["market", "density", "theory", "constant"]))
    knows, whole = bool(random.random() < 0.5), bool(random.random() < 0.3)
    options: dict[str, Any] = {"slot_s": slot_s, "prices": prices, "known_bounds": knows}
    plan = gs.online.plan_deadlines(jobs, gpus, whole_slots=whole, **options)
    room = np.repeat(list(gpus.values()), slots)
    ways_of = [schedules(job, list(gpus), slots, slot_s) for job in jobs]
    best = 0.0
    for some in itertools.product([False, True], repeat=len(jobs)):
        used = np.zeros((1, len(room)), dtype=int)
        for ways in itertools.compress(ways_of, some):
            used = (used[:, None, :] + ways[None]).reshape(-1, len(room))
            used = np.unique(used[(used <= room).all(axis=1)], axis=0)
        if len(used):
            best = max(best, sum(job.value for job in itertools.compress(jobs, some)))
    assert plan.value <= best * (1 + 1e-12)
    if not whole:
        assert plan.upper_bound >= best * (1 - 1e-12)
    assert plan.upper_bound >= plan.value
    shift_s = slot_s * float(random.choice([1, 65_536, 10**9]))
    later = [
        gs.online.DeadlineJob(
            job.arrival_s + shift_s, job.deadline_s + shift_s, job.work, job.rates, job.value
        )
        for job in jobs
    ]
    shifted = gs.online.plan_deadlines(later, gpus, whole_slots=whole, **options)
    assert (shifted.reason, shifted.upper_bound) == (plan.reason, plan.upper_bound)
    assert (shifted.cost.tolist(), shifted.dual_objective) == (
        plan.cost.tolist(),
        plan.dual_objective,
    )


def batch(random: Random, size: int) -> tuple[gs.Trace, gs.Cluster]:
    profile = gs.model.JobProfile("model", float(10 ** random.uniform(7, 9)), 32.0, 0.0, 0.1)
    trace = gs.Trace.from_columns(
        np.zeros(size), random.integers(1, 30, size) * 10.0 ** random.integers(-3, 4),
        random.integers(1, 4, size), profile=np.zeros(size, np.int32), profiles=(profile,),
    )  # fmt: skip
    return trace, gs.Cluster.uniform(2, 2, nic_gbps=10, intra_gbps=200)


def try_plan(random: Random) -> None:
    trace, cluster = batch(random, int(random.integers(1, 7)))
    policy = str(random.choice(["sjf-bco", "ff", "ls", "rand"]))
    plan = gs.online.plan(trace, cluster, policy=policy, seed=int(random.integers(9)))
    assert plan.lower_bound_s <= plan.makespan_s * (1 + 1e-9) + 1e-6
    assert plan.makespan_s == min(known.makespan_s for known in plan.candidates)


def try_exact(random: Random) -> None:
    trace, cluster = batch(random, 2)
    found = exact.solve(exact.instance(trace, cluster), time_limit_s=10.0)
    plan = gs.online.plan(trace, cluster)
    assert exact.lower_bound_s(exact.instance(trace, cluster)) <= found.makespan_s * (1 + 1e-6)
    assert found.lower_bound_s <= plan.makespan_s * (1 + 1e-5) + 1e-5


def try_fill(random: Random) -> None:
    size = int(random.integers(1, 6))
    gpus = random.integers(1, 9, size)
    share = np.where(gpus == 1, random.integers(1, 1001, size) / 1000, 1.0)
    cluster = gs.Cluster.uniform(int(random.integers(1, 4)), 8)
    requests = gs.traces.Requests.from_columns(gpus, gpu_share=share)
    placement = str(random.choice(["fgd", "best-fit", "random"]))
    filled = gs.online.fill(requests, cluster, placement=placement, seed=int(random.integers(99)))
    asked = requests.gpu_milli[filled.arrivals][filled.is_placed]
    assert asked.sum() <= cluster.num_gpus * 1000
    # The first is never refused by an empty cluster.
    assert filled.is_placed[0]


FIGURES = [
    0.0, 5e-324, 1e-300, 1e-9, 1.0, 299.9, 1e4, 1e8, 2.0**42, 1e16, 1e300, np.inf, np.nan,
]  # fmt: skip


def hostile_job(random: Random) -> gs.online.DeadlineJob:
    """Any figures, or such as are not refused at once."""
    if random.random() < 0.5:
        return gs.online.DeadlineJob(
            *random.choice(FIGURES, 3),
            rates={("A", 1): random.choice(FIGURES), ("A", 2): random.choice(FIGURES)},
            value=random.choice([1.0, *FIGURES]), change_s=random.choice([0.0, *FIGURES]),
        )  # fmt: skip
    return gs.online.DeadlineJob(
        random.choice([0.0, 1e4, 1e9]), random.choice([1e5, 1e8, 2.0**42]),
        10 ** random.uniform(-5, 25), {("A", 1): 1.0, ("A", 2): 1e-9},
        10 ** random.uniform(-90, 90), random.choice([0.0, 1e3, 1e9]),
    )  # fmt: skip


def try_hostile_deadlines(random: Random) -> None:
    jobs = [hostile_job(random) for _ in range(int(random.integers(0, 4)))]
    prices = str(random.choice(["market", "density", "theory", "constant"]))
    slot_s = random.choice([1e-3, 1.0, 300.0, 1e9])
    try:
        plan = gs.online.plan_deadlines(jobs, {"A": 2}, prices=prices, slot_s=slot_s)  # type: ignore
    except ValueError as mistake:
        must_name(mistake, "jobs[")
        return
    assert plan.value <= plan.upper_bound <= sum(job.value for job in jobs) * (1 + 1e-12)


def try_hostile_plan(random: Random) -> None:
    service, widths = 10 ** random.uniform(-6, 10, 8), random.integers(1, 13, 8)
    options: dict[str, Any] = {
        "theta_s": random.choice([None, 1e-300, 1e-3, 1e9, 1e300]),
        "u": random.choice([None, 1e-3, 1.0, 1e9]),
        "tolerance": random.choice([0.0, 1e-300, 1e-3, 1e300]),
    }
    try:
        gs.online.plan(
            gs.Trace.from_columns(np.zeros(8), service, widths),
            gs.Cluster.uniform(3, 4, nic_gbps=10, intra_gbps=100),
            policy=str(random.choice(["sjf-bco", "ff", "ls", "rand"])),
            speed="fixed", contention="none", **options,
        )  # fmt: skip
    except ValueError as mistake:
        must_name(mistake, *options, "service")


def try_hostile_fill(random: Random) -> None:
    requests = gs.traces.Requests.from_columns([1, int(random.choice([1, 8, 2**30]))])
    until = random.choice([1e-300, 1.0, 1e3, 1e300, np.inf, np.nan, 0.0, -1.0])
    order = str(random.choice(["drawn", "listed"]))
    try:
        gs.online.fill(requests, gs.Cluster.uniform(2, 8), until=until, order=order)  # type: ignore
    except ValueError as mistake:
        must_name(mistake, "until")


def try_hostile_exact(random: Random) -> None:
    service = np.maximum(10 ** random.uniform(-6, 9, 3), 1e-6)
    servers, gpus = [(1, 4), (3, 2), (64, 8), (2_000, 1)][int(random.integers(4))]
    profile = gs.model.JobProfile("model", 10.0 ** random.integers(12), 32.0, 0.0, 0.1)
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


#: A solver's cases, and how many there are of it among a thousand.
SOLVERS: dict[str, tuple[Callable[[Random], None], int]] = {
    "assign": (try_assign, 280),
    "auction": (try_auction, 150),
    "change_row": (try_changed_rows, 150),
    "transport": (try_transport, 220),
    "place_jobs": (try_place_jobs, 90),
    "plan_deadlines": (try_plan_deadlines, 88),
    "fill": (try_fill, 10),
    "plan": (try_plan, 10),
    "exact": (try_exact, 2),
    "place_jobs, hostile": (try_hostile_rates, 40),
    "plan_deadlines, hostile": (try_hostile_deadlines, 20),
    "plan, hostile": (try_hostile_plan, 2),
    "fill, hostile": (try_hostile_fill, 2),
    "exact, hostile": (try_hostile_exact, 1),
}


def try_case(solver: str, seed: int, number: int) -> None:
    SOLVERS[solver][0](np.random.default_rng([seed, zlib.crc32(solver.encode()), number]))


def run(cases: list[tuple[str, int]], seed: int, place: Any, found: Any) -> None:
    """In the child: goes on from ``place``; sends what differed."""
    while place.value < len(cases):
        solver, number = cases[place.value]
        try:
            try_case(solver, seed, number)
        except Exception:
            found.put((solver, number, traceback.format_exc(limit=-3)))
        place.value += 1


def run_all(cases: list[tuple[str, int]], seed: int, limit_s: float) -> list[tuple[str, int, str]]:
    """Try all cases; return those that differed or never ended."""
    context = multiprocessing.get_context("spawn")
    place, found = context.Value("q", 0), context.Queue()
    failures: list[tuple[str, int, str]] = []
    while place.value < len(cases):
        child = context.Process(target=run, args=(cases, seed, place, found))
        child.start()
        seen, since = -1, time.monotonic()
        while child.is_alive():
            child.join(0.2)
            while not found.empty():
                failures.append(found.get())
            if place.value != seen:
                seen, since = place.value, time.monotonic()
            elif time.monotonic() - since > limit_s:
                break
        if place.value < len(cases):  # it has died, or will never end
            end = f"exit code {child.exitcode}" if child.exitcode else f"not after {limit_s:g} s"
            child.kill()
            failures.append((*cases[place.value], f"has not ended: {end}"))
            place.value += 1
        child.join()
        while not found.empty():
            failures.append(found.get())
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_solvers")
    parser.add_argument("--cases", type=int, default=20_000, help="of all solvers together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--solver", choices=SOLVERS, help="this one alone")
    parser.add_argument("--first", type=int, default=0, help="number of its first case")
    parser.add_argument("--seconds", type=float, default=60.0, help="for a case, at most")
    arguments = parser.parse_args()
    names = [arguments.solver] if arguments.solver else list(SOLVERS)
    weights = np.array([SOLVERS[name][1] for name in names])
    counts = np.ceil(arguments.cases * weights / weights.sum()).astype(int).tolist()
    cases = [
        (name, arguments.first + number)
        for name, count in zip(names, counts, strict=True)
        for number in range(count)
    ]
    failures = run_all(cases, arguments.seed, arguments.seconds)
    for name, count in zip(names, counts, strict=True):
        wrong = sum(failure[0] == name for failure in failures)
        print(f"{name:24} {count:8} cases {wrong:6} differ")
    if failures:
        solver, number, text = failures[0]
        print(
            f"first: --solver {solver} --seed {arguments.seed} --first {number} --cases 1\n{text}"
        )
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
