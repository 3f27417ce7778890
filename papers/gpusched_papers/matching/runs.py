"""The runs of the study of matching markets: one decision each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Float64, Int32
from gpusched.deciding.market import JobPlacement, place_jobs
from gpusched_papers.matching import milp
from gpusched_papers.matching.baselines import BASELINES
from gpusched_papers.matching.settings import (
    CLUSTERS,
    DRAWN,
    DRAWS,
    ENUMERATED,
    EQUAL_MARKET,
    LARGE_RATES,
    MAIN,
    OURS,
    SIZES,
    SWEPT,
    TIMED,
    UNIFORM,
    UNIFORM_DESCENT,
    Family,
)
from gpusched_papers.matching.workload import Instance, draw, draw_classes

# No categories are enumerated because they are few: the sampler is what is studied.
_SHORTCUT_OFF: Final[dict[str, Any]] = {"enumerate_up_to": 0}


@dataclass(frozen=True)
class Run:
    """One decision on one instance.

    Attributes
    ----------
    family, arm
        Of the instance, and how it was decided.
    mean_s, optimum_s
        Mean completion time, and the proven least one (NaN where it is not known).
    bound_s
        The lower bound that came with the decision (NaN: none).
    fairness
        Jain's index of completion / completion in equal shares under the market.
    decision_s
        Processor time the decision took.
    markets
        Categories whose market was cleared.
    """

    family: str
    seed: int
    jobs: int
    workers: int
    arm: str
    draws: int
    mean_s: float
    optimum_s: float
    bound_s: float
    fairness: float
    decision_s: float
    markets: int

    @property
    def gap(self) -> float:
        """Part by which the mean exceeds the optimum."""
        return self.mean_s / self.optimum_s - 1.0


class Runner:
    """Decides one instance in many ways."""

    def __init__(self, instance: Instance, prove: bool = True) -> None:
        self.instance = instance
        self.runs: list[Run] = []
        self.optimum_s = np.nan
        self.optimal_rates: Float64 | None = None
        if prove:
            found = place_jobs(**instance.arguments(), **_SHORTCUT_OFF, guard=0.0, sampler="exact")
            if not found.is_optimal:
                raise RuntimeError(f"seed {instance.seed}: the optimum was not proven")
            self.optimum_s = instance.mean_s(found.counts)
            self.optimal_rates = (found.counts * instance.rates).sum(axis=1)
        self._equal_s = instance.job_s(BASELINES[EQUAL_MARKET](instance))

    def market(self, arm: str, draws: int = DRAWS, **options: Any) -> JobPlacement:
        """Decide by a market with these options."""
        found = place_jobs(
            **self.instance.arguments(), **(_SHORTCUT_OFF | {"draws": draws} | options)
        )
        split = str(options.get("split", "proportional"))
        seconds = self.instance.job_s(found.counts, split)
        self._add(
            arm, seconds, draws, found.lower_bound_s, found.processor_s, found.categories_tried
        )
        return found

    def counts(self, arm: str, counts: Int32, split: str = "proportional") -> None:
        """Judge a decision of someone else."""
        self._add(arm, self.instance.job_s(counts, split), 0, np.nan, np.nan, 0)

    def _add(
        self,
        arm: str,
        seconds: Float64,
        draws: int,
        bound_s: float,
        decision_s: float,
        markets: int,
    ) -> None:
        ratio = seconds / self._equal_s
        self.runs.append(
            Run(
                family=self.instance.family.name,
                seed=self.instance.seed,
                jobs=self.instance.num_jobs,
                workers=self.instance.num_workers,
                arm=arm,
                draws=draws,
                mean_s=float(seconds.mean()),
                optimum_s=float(self.optimum_s),
                bound_s=bound_s,
                fairness=float(ratio.sum() ** 2 / (len(ratio) * np.sum(ratio**2))),
                decision_s=decision_s,
                markets=markets,
            )
        )


def gap_runs(family: Family, seed: int, quick: bool) -> list[Run]:
    """Gaps to the proven optimum against size, sampler and N."""
    runs: list[Run] = []
    for size in (MAIN,) if quick else SIZES:
        runner = Runner(draw(family, *size, seed))
        runner.market(OURS)
        runner.market(UNIFORM, sampler="uniform", descend=False)
        runner.market(UNIFORM_DESCENT, sampler="uniform")
        if size == MAIN:
            for draws in SWEPT:
                if draws == DRAWS:
                    continue
                runner.market(OURS, draws)
                runner.market(UNIFORM, draws, sampler="uniform", descend=False)
                runner.market(UNIFORM_DESCENT, draws, sampler="uniform")
        if size in (MAIN, SIZES[-1]):
            baselines(runner)
            ablations(runner)
        runs += runner.runs
    return runs


def baselines(runner: Runner) -> None:
    """Everybody else's decisions."""
    for name, decide in BASELINES.items():
        runner.counts(name, decide(runner.instance))


def ablations(runner: Runner) -> None:
    """One thing taken away at a time, and what fairness costs."""
    ours = runner.market("guard off", guard=0.0)
    runner.counts("ours, equal batches", ours.counts, "equal")
    runner.market("ours for equal batches", split="equal")
    for valuation in ("one-pass", "raw"):
        runner.market(f"valuation {valuation}", valuation=valuation)
        runner.market(f"valuation {valuation}, no descent", valuation=valuation, descend=False)
    runner.market("no descent", descend=False)
    for beta in (0.5, 0.0):
        runner.market(f"beta {beta:g}", beta=beta)


@dataclass(frozen=True)
class Timing:
    """What a decision takes against the enumeration of all categories, in processor time.

    Attributes
    ----------
    categories
        How many there are.
    per_category_s
        Of the same inner solver, over all of them or over draws.
    is_extrapolated
        Whether it is over draws.
    decision_s
        Of the sampler.
    pruned_s
        Of an enumeration that leaves out what the bound of prices rules out; NaN where it was not
        run.
    """

    seed: int
    jobs: int
    workers: int
    categories: float
    per_category_s: float
    is_extrapolated: bool
    decision_s: float
    pruned_s: float

    @property
    def speedup(self) -> float:
        """How many times faster the sampler is."""
        return self.categories * self.per_category_s / self.decision_s


def time_one(size: tuple[int, int], seed: int, repeats: int = 5) -> Timing:
    """Time a decision; the least of some repetitions, as the machine may be shared."""
    arguments = draw(DRAWN, *size, seed).arguments()
    ours = [place_jobs(**arguments, **_SHORTCUT_OFF) for _ in range(repeats)]
    decision_s = min(found.processor_s for found in ours)
    categories = ours[0].num_categories
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
        categories=categories,
        per_category_s=found.processor_s / found.categories_tried,
        is_extrapolated=size not in ENUMERATED,
        decision_s=decision_s,
        pruned_s=pruned_s,
    )


def large_runs(seed: int, repeats: int = 3) -> list[Run]:
    """Decisions over classes of equal workers, as for a cluster."""
    runs = []
    for jobs, per_type in CLUSTERS:
        runner = Runner(draw_classes(jobs, per_type, seed, LARGE_RATES), prove=False)
        for _ in range(repeats):
            runner.market(OURS)
        runs.append(min(runner.runs, key=lambda run: run.decision_s))
    return runs


def timings_of(seed: int) -> tuple[list[Timing], list[Run]]:
    """Time all sizes, and decisions as for a cluster."""
    return [time_one(size, seed) for size in TIMED], large_runs(seed)


@dataclass(frozen=True)
class Check:
    """Our optimum beside that of a mixed-integer program."""

    family: str
    seed: int
    jobs: int
    workers: int
    optimum_s: float
    milp_bound_s: float
    milp_s: float


def check_one(
    family: Family, size: tuple[int, int], seed: int, time_limit_s: float = 60.0
) -> Check:
    """Solve an instance by HiGHS as well (extra: exact)."""
    instance = draw(family, *size, seed)
    runner = Runner(instance)
    assert runner.optimal_rates is not None
    proof = milp.solve(instance, runner.optimal_rates, time_limit_s)
    return Check(family.name, seed, *size, runner.optimum_s, proof.lower_bound_s, proof.mean_s)


def checks_of(family: Family, seed: int) -> list[Check]:
    """Solve the main and the largest instance of a seed by HiGHS as well (extra: exact)."""
    return [check_one(family, size, seed) for size in (MAIN, SIZES[-1])]
