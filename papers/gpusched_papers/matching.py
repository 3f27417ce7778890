"""Matching markets (Liu et al., IEEE TPDS 2024): single decisions, and the policy online.

A market decides who holds which workers on random instances, beside the proven optimum and
beside baselines; what is run online stands in matching_online.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import import_module
from itertools import chain, combinations
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from gpusched.base.real_data import find_data
from gpusched.base.tables import Table
from gpusched.online import JobPlacement, place_jobs
from gpusched_papers.claims import Comparison, beside, verdicts, with_all
from gpusched_papers.drawing import Panel, curves
from gpusched_papers.exact import Program
from gpusched_papers.intervals import Interval, figure_of, mean
from gpusched_papers.matching_online import PUBLISHED as PUBLISHED
from gpusched_papers.matching_online import TEXTS, Online, jain
from gpusched_papers.study import (
    Float64,
    Made,
    Row,
    Runs,
    Stage,
    Study,
    by_columns,
    run_study,
    stages_of,
    with_left_out,
    write_rows,
)
from gpusched_papers.unequal_gpus import TABLES, TYPES, throughputs

Counts = NDArray[np.int32]
"""Workers that each job holds of each column."""
Size = tuple[int, int]
"""Jobs S and workers K."""

GAP: Final = float(PUBLISHED.claim("gap").value or 0)
# Timing and the programs of HiGHS take long, and vary little.
_TIMED_SEEDS: Final = 10
_CHECKED_SEEDS: Final = 5


@dataclass(frozen=True)
class Family:
    """Where instances come from.

    ``name``, ``title``: for files, and for people.
    ``types``: names of the GPU types.
    """

    name: str
    title: str
    types: tuple[str, ...]


MEASURED: Final = Family("measured", "measured speeds, heavy-tailed rounds", tuple(TYPES))
"""Jobs are models of Gavel's tables; what they have left differs by orders of magnitude."""
DRAWN: Final = Family("drawn", "drawn speeds, 6 to 12 rounds", ("T4", "P100", "V100"))
"""Jobs differ little, and no two workers are alike."""
FAMILIES: Final = (MEASURED, DRAWN)

ROUND_S: Final = 60.0
"""Of a measured job: its round takes so long on one worker of its best type."""
MEDIAN_ROUNDS: Final = 10.0
SIGMA: Final = 2.0
"""Rounds of measured jobs are log-normal with this median and spread of the logarithm."""

BASE_RATE: Final = (300.0, 700.0, 1500.0)
JOB_FACTOR: Final = (0.8, 1.6)
NOISE: Final = 0.1
ROUNDS: Final = (6, 12)
ROUND_SAMPLES: Final = 1e5

GRADIENT_BYTES: Final = (10e6, 50e6)
BANDWIDTH_GBPS: Final = 10.0
_BYTES_PER_S: Final = BANDWIDTH_GBPS * 1e9 / 8

DRAWS: Final = 59
# (S, K) whose optimum is proven; MAIN is searched by several samplers and N.
MAIN: Final = (4, 15)
SIZES: Final = ((3, 9), MAIN, (5, 20), (5, 24), (6, 24))
TIMED: Final = (MAIN, (5, 24), (6, 24), (8, 32))
ENUMERATED: Final = (MAIN, (5, 24))
SWEPT: Final = (1, 5, 10, 20, 40, 59, 100, 299)
COVERED: Final = ((4, 12), MAIN)
"""(S, K) on which it is counted how often uniform draws hold one of the best categories."""
BEST_PART: Final = 0.05
COVERED_DRAWS: Final = 50
"""Samples of ``DRAWS`` categories for each instance."""
# Jobs, workers of each of four types.
CLUSTERS: Final = ((8, 16), (16, 32), (32, 64), (64, 128))
LARGE_RATES: Final = (300.0, 700.0, 1500.0, 2200.0)

OURS: Final = "market, seeded"
UNIFORM: Final = "uniform draws"
UNIFORM_DESCENT: Final = "uniform draws + descent"
EQUAL_MARKET: Final = "equal share + market"
_SAMPLERS: Final[dict[str, dict[str, Any]]] = {
    OURS: {},
    UNIFORM_DESCENT: {"sampler": "uniform"},
    UNIFORM: {"sampler": "uniform", "descend": False},
}
_VALUED: Final = tuple(
    (f"valuation {name}{more}", {"valuation": name, **off})
    for name in ("one-pass", "raw")
    for more, off in (("", {}), (", no descent", {"descend": False}))
)
# One thing taken away at a time, and what fairness costs.
_WITH_LESS: Final[dict[str, dict[str, Any]]] = {
    "guard off": {"guard": 0.0},
    "ours for equal batches": {"split": "equal"},
    **dict(_VALUED),
    "no descent": {"descend": False},
    "beta 0.5": {"beta": 0.5},
    "beta 0": {"beta": 0.0},
}
_ABLATED: Final = (
    OURS, "no descent", *(name for name, _ in _VALUED), EQUAL_MARKET, "random category + market",
    "ours for equal batches", "ours, equal batches", "guard off", "beta 0.5", "beta 0",
)  # fmt: skip
# No categories are enumerated because they are few: the sampler is what is studied.
_SHORTCUT_OFF: Final[dict[str, Any]] = {"enumerate_up_to": 0}
# Every market is cleared to the end: what a category is worth is the same whoever looks at it.
_PLAIN: Final[dict[str, Any]] = {"guard": 0.0, "prune": False, "descend": False}
_SAME: Final = 1e-9


@dataclass(frozen=True)
class Instance:
    """One decision.

    ``rates``: samples per second, shape ``(jobs, columns)``.
    ``type_of_column``: index into the names of the family's types.
    ``capacity``: workers of each column.
    ``rounds``, ``round_samples``, ``gradient_bytes``: of each job.
    """

    family: Family
    seed: int
    rates: Float64 = field(repr=False)
    type_of_column: NDArray[np.int64] = field(repr=False)
    capacity: Counts = field(repr=False)
    rounds: Float64 = field(repr=False)
    round_samples: Float64 = field(repr=False)
    gradient_bytes: Float64 = field(repr=False)

    @property
    def num_jobs(self) -> int:
        """S."""
        return len(self.rates)

    @property
    def num_workers(self) -> int:
        """K."""
        return int(self.capacity.sum())

    @property
    def work(self) -> Float64:
        """Samples that each job has left."""
        left: Float64 = self.rounds * self.round_samples
        return left

    def arguments(self) -> dict[str, Any]:
        """The same as :func:`gpusched.online.place_jobs` takes it."""
        names = ("rates", "capacity", "rounds", "round_samples", "gradient_bytes")
        return {name: getattr(self, name) for name in names} | {"bandwidth_gbps": BANDWIDTH_GBPS}

    def job_s(self, counts: Counts, split: str = "proportional") -> Float64:
        """Completion of each job in seconds; infinite without workers.

        A plain twin of the core's, to judge all decisions alike.
        """
        workers = counts.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            if split == "proportional":
                compute = self.work / (counts * self.rates).sum(axis=1)
            else:
                slowest = np.where(counts > 0, self.rates, np.inf).min(axis=1)
                compute = self.work / (workers * slowest)
            ring = 2.0 * (workers - 1) / workers * self.gradient_bytes / _BYTES_PER_S
        seconds: Float64 = np.where(workers > 0, compute + self.rounds * ring, np.inf)
        return seconds

    def mean_s(self, counts: Counts, split: str = "proportional") -> float:
        """Mean completion in seconds."""
        return float(self.job_s(counts, split).mean())

    def market_of(self, category: Any, **options: Any) -> Counts:
        """Return what the market of one category decides."""
        of = {"min_workers": category, "max_workers": category, "guard": 0.0}
        return place_jobs(**self.arguments(), **(of | options)).counts

    def about(self) -> dict[str, Any]:
        """Return the columns that say which it is."""
        size = {"jobs": self.num_jobs, "workers": self.num_workers}
        return {"family": self.family.name, "seed": self.seed, **size}


def draw(family: Family, num_jobs: int, num_workers: int, seed: int) -> Instance:
    """Draw an instance of a family; its columns are single workers."""
    return (measured if family == MEASURED else drawn)(num_jobs, num_workers, seed)


def measured(num_jobs: int, num_workers: int, seed: int) -> Instance:
    """Draw models of Gavel's tables on one GPU each, and log-normal rounds."""
    random = np.random.Generator(np.random.PCG64([seed, num_jobs, num_workers, 1]))
    types = np.sort(random.integers(0, len(MEASURED.types), num_workers))
    speeds = _measured_speeds()
    of_job = speeds[random.integers(0, len(speeds), num_jobs)]
    left = MEDIAN_ROUNDS * np.exp(SIGMA * random.standard_normal(num_jobs))
    return Instance(
        family=MEASURED,
        seed=seed,
        rates=of_job[:, types],
        type_of_column=types.astype(np.int64),
        capacity=np.ones(num_workers, dtype=np.int32),
        rounds=np.ceil(left),
        round_samples=ROUND_S * of_job.max(axis=1),
        gradient_bytes=random.uniform(*GRADIENT_BYTES, num_jobs),
    )


@lru_cache(maxsize=1)
def _measured_speeds() -> Float64:
    """Return samples per second of every model on one GPU of each type."""
    tables = throughputs().values()
    return np.array([[model.samples_per_s[name] for name in MEASURED.types] for model in tables])


def drawn(num_jobs: int, num_workers: int, seed: int) -> Instance:
    """Draw an instance in which every worker has a speed of its own for every job."""
    random = np.random.Generator(np.random.PCG64([seed, num_jobs, num_workers]))
    types = np.sort(random.integers(0, len(DRAWN.types), num_workers))
    return _drawn(seed, random, np.asarray(BASE_RATE)[types], types, 1, num_jobs)


def draw_classes(
    num_jobs: int, per_type: int, seed: int, base_rate: tuple[float, ...] = BASE_RATE
) -> Instance:
    """Draw an instance in which the workers of a type are equal."""
    num_types = len(base_rate)
    random = np.random.Generator(np.random.PCG64([seed, num_jobs, per_type, num_types]))
    return _drawn(seed, random, np.asarray(base_rate), np.arange(num_types), per_type, num_jobs)


def _drawn(
    seed: int,
    random: np.random.Generator,
    base: Float64,
    types: NDArray[np.int64],
    each: int,
    num_jobs: int,
) -> Instance:
    factor = random.uniform(*JOB_FACTOR, num_jobs)
    noise = random.uniform(1 - NOISE, 1 + NOISE, (num_jobs, len(base)))
    return Instance(
        family=DRAWN,
        seed=seed,
        rates=base * factor[:, None] * noise,
        type_of_column=types.astype(np.int64),
        capacity=np.full(len(base), each, dtype=np.int32),
        rounds=np.asarray(random.integers(ROUNDS[0], ROUNDS[1] + 1, num_jobs), dtype=np.float64),
        round_samples=np.full(num_jobs, ROUND_SAMPLES),
        gradient_bytes=np.asarray(random.uniform(*GRADIENT_BYTES, num_jobs)),
    )


# Other ways to decide who holds which workers, for one decision. Each takes an instance whose
# columns are single workers and returns the workers of each job as a matrix of 0 and 1. Where a
# policy was made for another setting, what it means here is stated; it is the reading that suits
# it best.


def equal_shares(instance: Instance) -> NDArray[np.int64]:
    """K / S workers for each job; the first ones have one more where it leaves a rest."""
    share, more = divmod(instance.num_workers, instance.num_jobs)
    return share + (np.arange(instance.num_jobs) < more)


def _none(instance: Instance) -> Counts:
    return np.zeros(instance.rates.shape, dtype=np.int32)


def _fastest(instance: Instance) -> NDArray[np.int64]:
    return np.argsort(-instance.rates.mean(axis=0), kind="stable")


def _first(instance: Instance, jobs: NDArray[np.int64], workers: NDArray[np.int64]) -> Counts:
    """Give jobs in turn the first of the workers, each an equal share."""
    counts, shares = _none(instance), equal_shares(instance)
    ends = np.cumsum(shares[jobs])
    for job, end in zip(jobs, ends, strict=True):
        counts[job, workers[end - shares[job] : end]] = 1
    return counts


def fifo_first_fit(instance: Instance) -> Counts:
    """Jobs in the order of their index, each with the first idle workers of an equal share."""
    return _first(instance, np.arange(instance.num_jobs), np.arange(instance.num_workers))


def shortest_first(instance: Instance) -> Counts:
    """SRTF: the job with the least work left first, with the fastest idle workers.

    As many as an equal share.
    """
    order = np.argsort(instance.work / instance.rates.mean(axis=1), kind="stable")
    return _first(instance, order, _fastest(instance))


def dealt(instance: Instance) -> Counts:
    """K_i = K / S with workers dealt in turn, the fast ones first: the same mix for every job."""
    counts = _none(instance)
    counts[np.arange(instance.num_workers) % instance.num_jobs, _fastest(instance)] = 1
    return counts


def equal_shares_and_market(instance: Instance) -> Counts:
    """An equal share for each job; a market decides on the workers."""
    return instance.market_of(equal_shares(instance))


def random_category_and_market(instance: Instance) -> Counts:
    """One uniform draw of the category; a market decides on the workers."""
    random = np.random.Generator(np.random.PCG64([instance.seed, 1]))
    cuts = np.sort(random.choice(instance.num_workers - 1, instance.num_jobs - 1, False) + 1)
    return instance.market_of(np.diff(cuts, prepend=0, append=instance.num_workers))


def marginal_gain(instance: Instance) -> Counts:
    """Optimus: one worker each, then the next one to the job that it helps most.

    Fast workers go first. Peng, Bao, Chen, Wu, Guo, EuroSys 2018.
    """
    counts = _none(instance)
    before = np.full(instance.num_jobs, np.inf)
    for place, worker in enumerate(_fastest(instance)):
        given = counts.copy()
        given[:, worker] = 1
        after = instance.job_s(given)
        # Everybody's first: the one that needs it most.
        is_first = place < instance.num_jobs
        need = np.where(np.isinf(before), instance.work, -1.0) if is_first else before - after
        job = int(np.argmax(need))
        counts[job, worker] = 1
        before[job] = after[job]
    return counts


def allox(instance: Instance) -> Counts:
    """AlloX: jobs matched to workers at the least sum of completion times.

    Le, Sun, Chowdhury, Liu, EuroSys 2020, has one worker for each job; here every job is matched
    to one more worker until none is left.
    """
    match = import_module("scipy.optimize").linear_sum_assignment
    counts = _none(instance)
    while len(idle := np.flatnonzero(counts.sum(axis=0) == 0)):
        held = (counts * instance.rates).sum(axis=1)
        after = instance.work[:, None] / (held[:, None] + instance.rates[:, idle])
        with np.errstate(divide="ignore"):
            saved = after - np.minimum(instance.work / held, 1e12)[:, None]
        jobs, workers = match(saved)
        counts[jobs, idle[workers]] = 1
    return counts


def gavel(instance: Instance) -> Counts:
    """Gavel's max-min fairness: shares of time on each type by a linear program.

    Narayanan, Santhanam, Kazhamiaka, Phanishayee, Zaharia, OSDI 2020. Jobs have K / S workers, as
    its jobs have fixed widths; where it would take turns, each job has its largest shares here.
    """
    num_jobs, num_types = instance.num_jobs, len(instance.family.types)
    share = instance.num_workers / num_jobs
    kinds = instance.type_of_column
    room = np.bincount(kinds, minlength=num_types)
    rate = np.zeros((num_jobs, num_types))  # 0 where there is none of a type
    for kind in np.flatnonzero(room).tolist():
        rate[:, kind] = instance.rates[:, kinds == kind].mean(axis=1)
    normal = (rate * room).sum(axis=1) / room.sum()
    # Variables: time of job i on type j, and the least normalised throughput.
    size = num_jobs * num_types + 1
    rows, limits = np.zeros((2 * num_jobs + num_types, size)), np.zeros(2 * num_jobs + num_types)
    for job in range(num_jobs):
        own = slice(job * num_types, (job + 1) * num_types)
        rows[2 * job, own], rows[2 * job, -1] = -rate[job] / normal[job], 1.0
        rows[2 * job + 1, own], limits[2 * job + 1] = 1.0, 1.0
    for kind in range(num_types):
        rows[2 * num_jobs + kind, kind:-1:num_types] = share
    limits[2 * num_jobs :] = room
    objective = np.zeros(size)
    objective[-1] = -1.0
    solved = import_module("scipy.optimize").linprog(objective, rows, limits, method="highs")
    shares = solved.x[:-1].reshape(num_jobs, num_types)
    counts, left = _none(instance), equal_shares(instance)
    free = np.ones(instance.num_workers, dtype=bool)
    for cell in np.argsort(-shares, axis=None, kind="stable").tolist():
        job, kind = divmod(cell, num_types)
        wanted = np.flatnonzero(free & (kinds == kind))[: left[job]]
        if shares[job, kind] > 1e-9:
            wanted = wanted[: round(shares[job, kind] * share + 0.5)]
        counts[job, wanted] = 1
        free[wanted] = False
        left[job] -= len(wanted)
    return counts


BASELINES: Final[dict[str, Callable[[Instance], Counts]]] = {
    EQUAL_MARKET: equal_shares_and_market,
    "equal share, dealt": dealt,
    "random category + market": random_category_and_market,
    "Optimus, marginal gain": marginal_gain,
    "AlloX, matched again and again": allox,
    "Gavel, max-min": gavel,
    "SRTF, equal share": shortest_first,
    "FIFO first-fit, equal share": fifo_first_fit,
}


class Run(Row):
    """One decision on one instance.

    ``mean_s``, ``optimum_s``: mean completion time, and the proven least one (NaN where it is not
    known). ``bound_s``: the lower bound that came with the decision (NaN: none). ``fairness``:
    Jain's index of completion / completion in equal shares under the market. ``decision_s``:
    processor time that it took. ``markets``: categories whose market was cleared.
    """

    @property
    def gap(self) -> float:
        """Part by which the mean exceeds the optimum."""
        return float(self.mean_s / self.optimum_s - 1.0)


class Runner:
    """Decides one instance in many ways."""

    def __init__(self, instance: Instance, prove: bool = True) -> None:
        self.instance = instance
        self.runs: list[Run] = []
        self.optimum_s = np.nan
        self.optimal_rates: Float64 = np.empty(0)
        if prove:
            found = place_jobs(**instance.arguments(), **_SHORTCUT_OFF, guard=0.0, sampler="exact")
            if not found.is_optimal:
                raise RuntimeError(f"seed {instance.seed}: the optimum was not proven")
            self.optimum_s = instance.mean_s(found.counts)
            self.optimal_rates = (found.counts * instance.rates).sum(axis=1)
        self._equal_s = instance.job_s(equal_shares_and_market(instance))

    def market(self, arm: str, draws: int = DRAWS, **options: Any) -> JobPlacement:
        """Decide by a market with these options."""
        chosen = _SHORTCUT_OFF | {"draws": draws} | options
        found = place_jobs(**self.instance.arguments(), **chosen)
        split = str(options.get("split", "proportional"))
        told = (draws, found.lower_bound_s, found.processor_s, found.categories_tried)
        self.counts(arm, found.counts, split, told)
        return found

    def counts(
        self,
        arm: str,
        counts: Counts,
        split: str = "proportional",
        told: tuple[int, float, float, int] = (0, np.nan, np.nan, 0),
    ) -> None:
        """Judge a decision; ``told``: its draws, bound, seconds and markets."""
        seconds = self.instance.job_s(counts, split)
        draws, bound_s, decision_s, markets = told
        self.runs.append(
            Run(
                **self.instance.about(),
                arm=arm,
                draws=draws,
                mean_s=float(seconds.mean()),
                optimum_s=float(self.optimum_s),
                bound_s=bound_s,
                fairness=jain(seconds / self._equal_s),
                decision_s=decision_s,
                markets=markets,
            )
        )


def gap_runs(family: Family, seed: int, quick: bool) -> list[Run]:
    """Gaps to the proven optimum against size, sampler and N; everybody else's decisions."""
    runs: list[Run] = []
    for size in (MAIN,) if quick else SIZES:
        runner = Runner(draw(family, *size, seed))
        swept = [draws for draws in SWEPT if draws != DRAWS and size == MAIN]
        for draws in (DRAWS, *swept):
            for arm in (OURS, UNIFORM, UNIFORM_DESCENT):
                runner.market(arm, draws, **_SAMPLERS[arm])
        if size in (MAIN, SIZES[-1]):
            for name, decide in BASELINES.items():
                runner.counts(name, decide(runner.instance))
            for name, options in _WITH_LESS.items():
                found = runner.market(name, **options)
                if name == "guard off":
                    runner.counts("ours, equal batches", found.counts, "equal")
        runs += runner.runs
    return runs


class Timing(Row):
    """What a decision takes against the enumeration of all categories, in processor time.

    ``categories``: how many there are. ``per_category_s``: of the same inner solver, over all of
    them, or over draws where ``is_extrapolated``. ``decision_s``: of the sampler. ``pruned_s``: of
    an enumeration that leaves out what the bound of prices rules out; NaN where it was not run.
    """

    @property
    def all_s(self) -> float:
        """What all categories take."""
        return float(self.categories * self.per_category_s)

    @property
    def speedup(self) -> float:
        """How many times faster the sampler is."""
        return self.all_s / float(self.decision_s)


def time_one(size: Size, seed: int, repeats: int = 5) -> Timing:
    """Time a decision; the least of some repetitions, as the machine may be shared."""
    arguments = draw(DRAWN, *size, seed).arguments()
    ours = [place_jobs(**arguments, **_SHORTCUT_OFF) for _ in range(repeats)]
    plain: dict[str, Any] = {"prune": False, "descend": False}
    pruned_s = np.nan
    if size in ENUMERATED:
        found = place_jobs(**arguments, sampler="enumerate", **plain)
        pruned_s = place_jobs(**arguments, sampler="enumerate", descend=False).processor_s
    else:
        found = place_jobs(**arguments, **_SHORTCUT_OFF, sampler="uniform", draws=400, **plain)
    return Timing(
        seed=seed,
        jobs=size[0],
        workers=size[1],
        categories=ours[0].num_categories,
        per_category_s=found.processor_s / found.categories_tried,
        is_extrapolated=size not in ENUMERATED,
        decision_s=min(found.processor_s for found in ours),
        pruned_s=pruned_s,
    )


def timings_of(seed: int) -> tuple[list[Timing], list[Run]]:
    """Time all sizes, and decisions over classes of equal workers, as for a cluster."""
    large = []
    for jobs, per_type in CLUSTERS:
        runner = Runner(draw_classes(jobs, per_type, seed, LARGE_RATES), prove=False)
        for _ in range(3):
            runner.market(OURS)
        large.append(min(runner.runs, key=lambda run: run.decision_s))
    return [time_one(size, seed) for size in TIMED], large


# Tangents of work / rate, in parts of the rate of the decision to begin with.
_TANGENTS: Final = np.geomspace(0.4, 2.5, 81)


def checks_of(family: Family, seed: int) -> list[Row]:
    """Solve the main and the largest instance of a seed by HiGHS as well (extra: exact)."""
    made = []
    for size in (MAIN, SIZES[-1]):
        runner = Runner(draw(family, *size, seed))
        bound_s, mean_s = program(runner.instance, runner.optimal_rates)
        optimum = {"optimum_s": runner.optimum_s}
        about = runner.instance.about()
        made.append(Row(**about, **optimum, milp_bound_s=bound_s, milp_s=mean_s))
    return made


def program(
    instance: Instance, estimate: Float64, time_limit_s: float = 60.0
) -> tuple[float, float]:
    """Solve an instance by a program: who holds which worker is whole, work / rate is above its
    tangents.

    No decision has a lower mean completion time; that of the decision that it found.

    ``estimate``: sum of rates of each job, near which the tangents touch.
    """
    num_jobs, num_workers = instance.rates.shape
    width = np.arange(1, num_workers - num_jobs + 2)
    made = Program()
    holds = made.variables(num_jobs, num_workers, upper=1.0, integer=True)
    has_size = made.variables(num_jobs, len(width), upper=1.0, integer=True)
    time = made.variables(num_jobs)
    cost = dict.fromkeys(time.tolist(), 1.0)
    for worker in range(num_workers):
        made.row((1.0, holds[:, worker]), lower=0.0, upper=1.0)
    for job in range(num_jobs):
        ring = 2.0 * (width - 1) / width * instance.gradient_bytes[job] / _BYTES_PER_S
        cost |= zip(has_size[job].tolist(), (instance.rounds[job] * ring).tolist(), strict=True)
        made.row((1.0, has_size[job]), lower=1.0, upper=1.0)
        made.row((1.0, holds[job]), (-width, has_size[job]), lower=0.0, upper=0.0)
        work, rates = instance.work[job], instance.rates[job]
        for at in estimate[job] * _TANGENTS:
            made.row((work / at**2 * rates, holds[job]), (1.0, time[job]), lower=2.0 * work / at)
    found = made.solve(cost, time_limit_s=time_limit_s, gap=1e-6)
    held = np.zeros((num_jobs, num_workers), dtype=np.int32)
    if found.x is not None:
        held = np.rint(found.x[holds]).astype(np.int32)
    return float(found.mip_dual_bound) / num_jobs, instance.mean_s(held)


def theory(categories: int, draws: int = DRAWS, part: float = BEST_PART) -> float:
    """Return the chance that independent uniform draws hold one of the best categories.

    Of C categories the best part q are floor(q C). A draw misses them with probability
    1 - floor(q C) / C, all N draws with its N-th power. It tends to 1 - (1 - q)^N from below as C
    grows, and equals it where q C is whole.
    """
    return 1.0 - (1.0 - num_best(categories, part) / categories) ** draws


def num_best(categories: int, part: float = BEST_PART) -> int:
    """Return how many categories are the best part of all."""
    return int(part * categories + _SAME)


def coverage_of(family: Family, seed: int) -> list[Row]:
    """Count on one instance of each size."""
    return [count(draw(family, *size, seed), COVERED_DRAWS) for size in COVERED]


def count(instance: Instance, samples: int) -> Row:
    """Draw so many samples of ``DRAWS`` categories.

    ``is_open``: whether equal shares, which every search begins with, are not among the best: else
    no draw is needed. ``hits``: samples that held one of the best.
    """

    def value(category: Any) -> float:
        return instance.mean_s(instance.market_of(category, **_PLAIN))

    workers = instance.num_workers
    cuts = combinations(range(1, workers), instance.num_jobs - 1)
    values = np.sort([value(np.diff((0, *cut, workers))) for cut in cuts])
    best = num_best(len(values))
    least = values[best - 1] * (1 + _SAME)
    found = [
        place_jobs(
            **instance.arguments(), **_PLAIN, **_SHORTCUT_OFF,
            sampler="uniform", draws=DRAWS, seed=sample,
        )
        for sample in range(samples)
    ]  # fmt: skip
    return Row(
        **instance.about(),
        categories=len(values),
        best=best,
        is_open=bool(value(equal_shares(instance)) > least),
        samples=samples,
        hits=sum(bool(instance.mean_s(one.counts) <= least) for one in found),
    )


class Decisions(Runs):
    """Runs by family and size, and by arm and draws; those without draws have ``DRAWS``."""

    figure = "gap"

    def __init__(self, runs: Sequence[Run]) -> None:
        of: dict[tuple[Any, Any], list[Run]] = {}
        for (family, *size, arm, draws), rows in by_columns(
            runs, "family", "jobs", "workers", "arm", "draws"
        ).items():
            of[(family, tuple(size)), (arm, draws or DRAWS)] = rows
        super().__init__(of)
        self.families = [
            one for one in FAMILIES if any(one.name == of for of, _ in self.settings())
        ]

    def sizes(self, family: Family, arm: str = OURS) -> list[Size]:
        """Return the sizes of a family that an arm decided."""
        return [size for size in SIZES if self.has((family.name, size), (arm, DRAWS))]

    def of(
        self, family: Family, size: Size, arm: str, column: Any = "gap", draws: int = DRAWS
    ) -> Float64:
        """Return a column, one value per seed."""
        return self.values((family.name, size), (arm, draws), column)

    def spread(self, family: Family, size: Size, draws: int = DRAWS) -> list[str]:
        """Return mean and greatest gap of the samplers."""
        gaps = (self.of(family, size, arm, draws=draws) for arm in _SAMPLERS)
        return [percent(part) for one in gaps for part in (one.mean(), one.max())]


@dataclass
class Matching(Study):
    """All runs of the study.

    Attributes
    ----------
    runs
        Decisions on instances with a proven optimum.
    coverage
        How often uniform draws hold one of the best categories.
    large
        Decisions at the scale of a cluster.
    timings
        Against the enumeration of all categories.
    checks
        Our optimum beside that of a mixed-integer program, if it was asked for.
    online
        The policy beside others.
    """

    runs: list[Run] = field(default_factory=list)
    coverage: list[Row] = field(default_factory=list)
    large: list[Run] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    checks: list[Row] = field(default_factory=list)
    online: Online = field(default_factory=Online)

    paper = "matching"
    published = PUBLISHED

    @classmethod
    def begin(cls, quick: bool) -> Self:
        """Return one without runs."""
        return cls(online=Online.begin(quick))

    def plan(self, seeds: int, quick: bool, exact: bool) -> list[Stage]:
        """Decide instances in many ways, time decisions, check optima, and run online."""
        # Without the measured speeds drawn ones alone.
        families = FAMILIES if find_data(TABLES) else (DRAWN,)

        def stage(name: str, run: Any, into: str, part: str, num: int, *more: Any) -> Stage:
            tasks = [(family, seed, *more) for family in families for seed in range(num)]

            def take(made: Made) -> None:
                setattr(self, into, list(chain(*made.values())))

            return Stage(name, run, tasks, take, (part + "{0[0].title}, seed {0[1]}").format)

        def take_times(made: Made) -> None:
            self.timings = list(chain(*(timings for timings, _ in made.values())))
            self.large = list(chain(*(large for _, large in made.values())))

        plan = [stage("instances with a proven optimum", gap_runs, "runs", "", seeds, quick)]
        if not quick:
            name, part = "samples of categories counted", "coverage, "
            plan.append(stage(name, coverage_of, "coverage", part, seeds))
            times = [(seed,) for seed in range(min(seeds, _TIMED_SEEDS))]
            part_of = "times, seed {0[0]}".format
            timed = Stage("decisions timed", timings_of, times, take_times, part_of, is_timed=True)
            plan.append(timed)
        if exact:
            num = min(seeds, _CHECKED_SEEDS)
            plan.append(stage("mixed-integer programs", checks_of, "checks", "check, ", num))
        return [*plan, *self.online.plan(seeds, quick, exact)]

    def comparisons(self) -> list[Comparison]:
        """Our gaps, times and fairness beside what the abstract says."""
        online = self.online.comparisons() if self.online.runs else []
        found = (*_decided(Decisions(self.runs)), *_timed(self.timings), *online)
        return with_all(found, PUBLISHED.results)

    def tables(self) -> list[Table]:
        """The results."""
        decisions = Decisions(self.runs)
        made = [_by_size(decisions, family) for family in decisions.families]
        made.append(verdicts(self.comparisons()))
        made += [_by_draws(decisions, family) for family in decisions.families]
        for name, of, arms in (
            ("baselines", next(iter(BASELINES)), (OURS, *BASELINES)),
            ("ablations", "guard off", _ABLATED),
        ):
            made += [_arms(name, decisions, family, of, arms) for family in decisions.families]
        made += [_coverage(self.coverage)] if self.coverage else []
        made += [_timings(self.timings)] if self.timings else []
        made += [_large(self.large)] if self.large else []
        made += [_checks(self.checks)] if self.checks else []
        online = self.online.tables()
        return [*made, *online] if online else with_left_out(made, self.online.left_out)

    def data(self) -> dict[str, Any]:
        """All runs."""
        told = {name: getattr(self, name) for name in ("coverage", "timings", "checks")}
        return {"runs": (*self.runs, *self.large), **told, **self.online.data()}

    def rows(self) -> list[dict[str, Any]]:
        """All decisions."""
        return [run.columns for run in (*self.runs, *self.large)]

    def write(self, folder: Path) -> list[Path]:
        """Write what every study does, and online.csv; return the files."""
        files = super().write(folder)
        if self.online.runs:
            files.append(folder / "online.csv")
            write_rows(self.online.rows(), files[-1])
        return files

    def figures(self) -> dict[str, Any]:
        """The gap against the number of draws, the time against the number of workers."""
        decisions = Decisions(self.runs)
        panels = []
        for family in decisions.families:
            place = family.name, MAIN
            draws = [n for n in SWEPT if decisions.has(place, (OURS, n))]
            found = {
                arm: [decisions.of(family, MAIN, arm, draws=n) for n in draws] for arm in _SAMPLERS
            }
            means = {arm: [float(one.mean()) for one in some] for arm, some in found.items()}
            marks = {
                arm: {n: float(one.max()) for n, one in zip(draws, some, strict=True)}
                for arm, some in found.items()
            }
            marks["published, on other instances"] = dict.fromkeys(draws, GAP)
            panels.append(Panel(family.title, "draws, N", draws, means, marks))
        seeds = len({run.seed for run in self.runs})
        note = f"{MAIN[0]} jobs, {MAIN[1]} workers, {seeds} instances; mean, and dashed the worst"
        log = {"type": "log"}
        gap = curves(
            panels, "Mean completion time above the optimum, %", note, scale=100, marked="worst",
            x_scale=log, y_scale={"type": "symlog", "constant": 0.01},
        )  # fmt: skip
        shown = {"gap.png": gap}
        if self.timings:
            note = "Time of a decision, one thread, median of the instances"
            two = {"type": "log", "base": 2}
            panels = _time_panels(self.timings, self.large)
            shown["time.png"] = curves(panels, "Seconds", note, x_scale=two, y_scale=log)
        return shown | self.online.figures()


def _middle(rows: Iterable[Any], column: str) -> float:
    return float(np.median([getattr(row, column) for row in rows]))


def _time_panels(timings: Sequence[Timing], large: Sequence[Run]) -> list[Panel]:
    of, wide = by_columns(timings, "workers", "jobs"), by_columns(large, "workers")
    lines = {
        name: [_middle(rows, column) for rows in of.values()]
        for name, column in ((OURS, "decision_s"), ("all categories", "all_s"))
    }
    decided = {OURS: [_middle(rows, "decision_s") for rows in wide.values()]}
    heading = "workers, K"
    return [
        Panel("every worker its own speed", heading, [workers for workers, _ in of], lines),
        Panel("four types of equal workers", heading, [workers for (workers,) in wide], decided),
    ]


def _decided(decisions: Decisions) -> Iterator[Comparison]:
    for family in decisions.families:
        for size in decisions.sizes(family):
            gaps, jain = (decisions.of(family, size, OURS, key) for key in ("gap", "fairness"))
            at = f"{len(gaps)} instances of {size}, {family.title}"
            yield beside(PUBLISHED.claim("gap"), mean(gaps), f"mean of {at}")
            worst = _single(gaps.max(), len(gaps))
            yield beside(PUBLISHED.claim("gap"), worst, f"worst of {at}")
            least = _single(jain.min(), len(gaps))
            yield beside(PUBLISHED.claim("fairness"), least, f"Jain's index, least of {at}")


def _timed(timings: Sequence[Timing]) -> Iterator[Comparison]:
    for size, own in by_columns(timings, "jobs", "workers").items():
        what = f"times faster than enumeration of {size}, least of {len(own)}"
        least = min(one.speedup for one in own)
        yield beside(PUBLISHED.claim("time"), _single(least, len(own)), what)


def _single(value: float, num: int) -> Interval:
    return Interval(float(value), np.nan, np.nan, num)


def _sized(size: Sequence[int]) -> str:
    return f"({size[0]}, {size[1]})"


def _least(values: Float64) -> list[str]:
    return [f"{values.mean():.3f}", f"{values.min():.3f}"]


def _by_size(decisions: Decisions, family: Family) -> Table:
    """The gap against S and K."""
    rows = []
    for size in decisions.sizes(family):
        ours, jain = (decisions.of(family, size, OURS, key) for key in ("gap", "fairness"))
        bounds = decisions.of(family, size, OURS, lambda run: run.optimum_s / run.bound_s - 1)
        best = [f"{np.mean(ours < 1e-6):.0%}", percent(bounds.mean())]
        row = [_sized(size), len(ours), *decisions.spread(family, size), *best]
        rows.append([*row, *_least(jain)])
    return TEXTS.table("sizes", rows, draws=DRAWS, family=family.title, gap=GAP)


def _by_draws(decisions: Decisions, family: Family) -> Table:
    """The gap against N."""
    place = family.name, MAIN
    rows = [
        [draws, *decisions.spread(family, MAIN, draws)]
        for draws in SWEPT
        if decisions.has(place, (OURS, draws))
    ]
    return TEXTS.table("draws", rows, main=MAIN, family=family.title)


def _arms(name: str, decisions: Decisions, family: Family, of: str, arms: Sequence[str]) -> Table:
    """Gaps and fairness of ways to decide, on the sizes that one of them decided."""
    sizes = decisions.sizes(family, of)
    rows = []
    for arm in arms:
        row = [arm]
        for size in sizes:
            gaps, jain = (decisions.of(family, size, arm, key) for key in ("gap", "fairness"))
            row += [percent(gaps.mean()), percent(gaps.max()), *_least(jain)]
        rows.append(row)
    headings = (
        heading
        for size in sizes
        for heading in (f"{_sized(size)} mean", "worst", "fairness, mean", "least")
    )
    return TEXTS.table(name, rows, *headings, family=family.title)


_TITLES: Final = {family.name: family.title for family in FAMILIES}


def _in_order(rows: Sequence[Any]) -> dict[tuple[Any, ...], list[Any]]:
    """Return rows by family and size, in the order of the families."""
    of = by_columns(rows, "family", "jobs", "workers")
    return dict(sorted(of.items(), key=lambda item: list(_TITLES).index(item[0][0])))


def _coverage(found: Sequence[Row]) -> Table:
    """How often uniform draws hold one of the best categories, and what theory says."""
    rows = []
    for (name, *size), own in _in_order(found).items():
        counted = [one for one in own if one.is_open]
        held = [one.hits / one.samples for one in counted]
        rows.append(
            (
                _TITLES[name],
                _sized(size),
                f"{own[0].categories:,}",
                own[0].best,
                100 * theory(own[0].categories),
                figure_of(mean(held), 2, 100) if held else None,
                f"{sum(one.samples for one in counted):,}",
                f"{len(counted)} of {len(own)}",
            )
        )
    most = 100 * (1 - (1 - BEST_PART) ** DRAWS)
    return TEXTS.table("coverage", rows, draws=DRAWS, part=BEST_PART, most=most)


def percent(part: float) -> str:
    """Write a part as per cent, small ones with more digits."""
    return f"{100 * part:.3f}%" if abs(part) < 0.01 else f"{100 * part:.1f}%"


def _timings(found: Sequence[Timing]) -> Table:
    """A decision against the enumeration."""
    rows = []
    for size, own in by_columns(found, "jobs", "workers").items():
        pruned = _middle(own, "pruned_s")
        rows.append(
            (
                _sized(size),
                f"{own[0].categories:,.0f}",
                f"{1e6 * _middle(own, 'per_category_s'):.0f} us",
                _seconds(_middle(own, "all_s"))
                + (" (extrapolated)" if own[0].is_extrapolated else ""),
                "-" if np.isnan(pruned) else _seconds(pruned),
                _seconds(_middle(own, "decision_s")),
                f"{_middle(own, 'speedup'):,.0f} x",
                f"{min(one.speedup for one in own):,.0f} x",
            )
        )
    return TEXTS.table("timings", rows, draws=DRAWS)


def _large(runs: Sequence[Run]) -> Table:
    """Decisions at the scale of a cluster."""
    rows = []
    for size, own in by_columns(runs, "jobs", "workers").items():
        over = np.array([run.mean_s / run.bound_s - 1 for run in own])
        took = 1e3 * np.array([run.decision_s for run in own])
        times = (f"{np.median(took):.2f} ms", f"{took.max():.2f} ms")
        least = f"{min(run.fairness for run in own):.3f}"
        rows.append((_sized(size), *times, percent(over.mean()), percent(over.max()), least))
    return TEXTS.table("large", rows)


def _checks(found: Sequence[Row]) -> Table:
    """Our optimum beside that of HiGHS."""
    rows = []
    for (name, *size), own in _in_order(found).items():
        below = [100 * (one.milp_bound_s / one.optimum_s - 1) for one in own]
        above = [100 * (one.milp_s / one.optimum_s - 1) for one in own]
        parts = (mean(below).value, max(below), mean(above).value)
        rows.append((_TITLES[name], _sized(size), len(own), *(f"{part:+.4f}%" for part in parts)))
    return TEXTS.table("checks", rows)


def _seconds(value: float) -> str:
    if value < 1.0:
        return f"{1e3 * value:.2g} ms" if value < 0.01 else f"{1e3 * value:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


reproduce = partial(run_study, Matching)
stages = partial(stages_of, Matching)
