"""The primal-dual guarantee of Dancer against the integer program.

Jobs arrive one by one; their windows are of whole slots, changes cost nothing, and prices know the
bounds on values from the start (``prices="theory"``). Then what is admitted is worth at least
``OPT / (2 alpha')``, with ``OPT`` of the integer program that knows all jobs at once, and OPT is at
most the upper bound that the prices certify. Derived here (docs/reference/policies-deadlines.md);
it claims something where ``x`` is at most 1, which holds on every instance that is drawn.
"""

import math
from typing import Any, Final, NamedTuple

import numpy as np

from gpusched.online.deadline_plan import DeadlineJob, plan_deadlines
from tests.theorems.theorem import Theorem

SLOT_S: Final = 100.0
EXACT: Final = 1e-9


class Instance(NamedTuple):
    """Jobs and GPUs of each type; ``slots`` is the longest window."""

    jobs: list[DeadlineJob]
    gpus: dict[str, int]
    slots: int
    most_gpus: int


class Found(NamedTuple):
    """What was admitted is worth, what could have been, the certified bound, and ``alpha'``."""

    value: float
    optimum: float
    bound: float
    alpha: float


def drawn(seed: int) -> Instance:
    """Draw more jobs than fit: of one or two types of GPUs, on one or two of them."""
    rng = np.random.default_rng([48, seed])
    types = ["A", "B"][: int(rng.integers(1, 3))]
    most_gpus = int(rng.integers(1, 3))
    gpus = {name: int(rng.integers(16, 25)) for name in types}
    slots = int(rng.integers(2, 6))
    jobs = []
    for _ in range(int(rng.integers(4, 9)) * 16 * len(types)):
        window = int(rng.integers(1, slots + 1))
        arrival = int(rng.integers(0, slots))
        rates = {
            (name, width): speed * width ** float(rng.uniform(0.6, 1.0))
            for name in types
            for width in (1, 2)[:most_gpus]
            for speed in (float(rng.choice([0.5, 1.0, 2.0])),)
        }
        # Never a whole number of slots: quanta are rounded down, and a tie would be lost by that.
        work = max(rates.values()) * SLOT_S * (int(rng.integers(0, window)) + rng.uniform(0.5, 0.9))
        jobs.append(
            DeadlineJob(
                arrival_s=arrival * SLOT_S, deadline_s=(arrival + window) * SLOT_S, work=work,
                rates=rates, value=float(rng.choice([1.0, 1.0, 2.0])),
            )
        )  # fmt: skip
    return Instance(jobs, gpus, slots, most_gpus)


def alpha_of(instance: Instance) -> float:
    """Return ``alpha'`` of the instance.

    Raises
    ------
    ValueError
        If ``x`` is above 1, where nothing is claimed.
    """
    values = [job.value for job in instance.jobs]
    # A window of n slots spans n of the grid; the prices count the longest one.
    slots = max(round((job.deadline_s - job.arrival_s) / SLOT_S) for job in instance.jobs)
    least = min(values) / (2 * slots * sum(instance.gpus.values()))
    alpha = 1.0
    for num in instance.gpus.values():
        x = instance.most_gpus * math.log(max(values) / least) / (num - instance.most_gpus + 1)
        if x > 1:
            raise ValueError(f"x: {x} is above 1, where the theorem says nothing")
        alpha = max(alpha, num * math.expm1(x) / instance.most_gpus)
    return alpha


def optimum(instance: Instance) -> float:
    """Return the value of the best set of jobs, by HiGHS."""
    from scipy import optimize, sparse

    jobs, types = instance.jobs, list(instance.gpus)
    last = max(round(job.deadline_s / SLOT_S) for job in jobs)
    rows: list[tuple[int, int, float]] = []
    room = {(name, slot): len(jobs) + place * last + slot
            for place, name in enumerate(types) for slot in range(last)}  # fmt: skip
    column, row = len(jobs), len(jobs) + len(types) * last
    for index, job in enumerate(jobs):
        rows.append((index, index, -job.work))
        for slot in range(round(job.arrival_s / SLOT_S), round(job.deadline_s / SLOT_S)):
            rows.append((row, index, -1.0))
            for (name, width), rate in job.rates.items():
                rows += [(index, column, rate * SLOT_S), (room[name, slot], column, float(width)),
                         (row, column, 1.0)]  # fmt: skip
                column += 1
            row += 1
    low, high = np.full(row, -np.inf), np.zeros(row)
    low[: len(jobs)], high[: len(jobs)] = 0.0, np.inf
    for (name, _), place in room.items():
        high[place] = instance.gpus[name]
    cost = np.zeros(column)
    cost[: len(jobs)] = [-job.value for job in jobs]
    at, of, value = (np.array(part) for part in zip(*rows, strict=True))
    matrix: Any = sparse.csr_array((value, (at, of)), shape=(row, column))
    solved = optimize.milp(
        cost,
        integrality=np.ones(column),
        bounds=optimize.Bounds(0.0, 1.0),
        constraints=optimize.LinearConstraint(matrix, low, high),
    )
    assert solved.status == 0, solved.message
    return float(-solved.fun)


def checked(seed: int) -> Found:
    """Decide on an instance, solve it, and hold one against the other.

    Raises
    ------
    AssertionError
        With the seed of an instance that breaks the theorem or the certificate.
    """
    instance = drawn(seed)
    plan = plan_deadlines(instance.jobs, instance.gpus, slot_s=SLOT_S, prices="theory")
    found = Found(plan.value, optimum(instance), plan.upper_bound, alpha_of(instance))
    assert found.optimum <= found.bound + EXACT, f"seed {seed}: {found}"
    assert found.value >= found.optimum / (2 * found.alpha) - EXACT, f"seed {seed}: {found}"
    return found


def share(seed: int) -> float:
    """Return what is promised over what was admitted."""
    found = checked(seed)
    return found.optimum / (2 * found.alpha) / found.value


THEOREM: Final = Theorem(
    name="dancer",
    says="what is admitted at theory prices is worth OPT / (2 alpha') or more, and OPT no more "
    "than the certificate",
    constant="2 alpha'",
    against="the integer program (HiGHS)",
    check=share,
    instances=1_000,
)
