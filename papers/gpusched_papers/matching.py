"""Matching markets (Liu et al., IEEE TPDS 2024): single decisions, and the policy online.

A market decides who holds which workers on random instances, beside the proven optimum and
beside baselines; what is run online stands in matching_online.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from gpusched.base.real_data import find_data
from gpusched.deciding import JobPlacement, place_jobs
from gpusched.reporting.text_table import Table, figure_of, table
from gpusched.statistics import Interval
from gpusched_papers import matching_program
from gpusched_papers.claims import Comparison, beside, verdicts, with_all
from gpusched_papers.drawing import Panel, curves
from gpusched_papers.matching_baselines import BASELINES as BASELINES
from gpusched_papers.matching_baselines import equal_shares
from gpusched_papers.matching_instances import (
    BEST_PART,
    CLUSTERS,
    COVERED,
    COVERED_DRAWS,
    DRAWN,
    ENUMERATED,
    EQUAL_MARKET,
    FAMILIES,
    LARGE_RATES,
    MAIN,
    SIZES,
    SWEPT,
    TIMED,
    UNIFORM,
    UNIFORM_DESCENT,
    Counts,
    Family,
    Instance,
)
from gpusched_papers.matching_instances import DRAWS as DRAWS
from gpusched_papers.matching_instances import MEASURED as MEASURED
from gpusched_papers.matching_instances import OURS as OURS
from gpusched_papers.matching_instances import draw as draw
from gpusched_papers.matching_instances import draw_classes as draw_classes
from gpusched_papers.matching_instances import drawn as drawn
from gpusched_papers.matching_online import PUBLISHED as PUBLISHED
from gpusched_papers.matching_online import Online
from gpusched_papers.study import (
    Float64,
    Row,
    Stage,
    Study,
    mean,
    run_study,
    stages_of,
    with_left_out,
    write_rows,
)
from gpusched_papers.unequal_gpus import TABLES

GAP: Final = float(PUBLISHED.claim("gap").value or 0)
# Timing and the programs of HiGHS take long, and vary little.
_TIMED_SEEDS: Final = 10
_CHECKED_SEEDS: Final = 5

# No categories are enumerated because they are few: the sampler is what is studied.
_SHORTCUT_OFF: Final[dict[str, Any]] = {"enumerate_up_to": 0}


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

    def counts(self, arm: str, counts: Counts, split: str = "proportional") -> None:
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
            decide_otherwise(runner)
            decide_with_less(runner)
        runs += runner.runs
    return runs


def decide_otherwise(runner: Runner) -> None:
    """Everybody else's decisions."""
    for name, decide in BASELINES.items():
        runner.counts(name, decide(runner.instance))


def decide_with_less(runner: Runner) -> None:
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


class Timing(Row):
    """What a decision takes against the enumeration of all categories, in processor time.

    ``categories``: how many there are. ``per_category_s``: of the same inner solver, over all of
    them, or over draws where ``is_extrapolated``. ``decision_s``: of the sampler. ``pruned_s``: of
    an enumeration that leaves out what the bound of prices rules out; NaN where it was not run.
    """

    @property
    def speedup(self) -> float:
        """How many times faster the sampler is."""
        return float(self.categories * self.per_category_s / self.decision_s)


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


def check_one(family: Family, size: tuple[int, int], seed: int, time_limit_s: float = 60.0) -> Row:
    """Solve an instance by HiGHS as well (extra: exact)."""
    instance = draw(family, *size, seed)
    runner = Runner(instance)
    assert runner.optimal_rates is not None
    proof = matching_program.solve(instance, runner.optimal_rates, time_limit_s)
    return Row(
        family=family.name,
        seed=seed,
        jobs=size[0],
        workers=size[1],
        optimum_s=runner.optimum_s,
        milp_bound_s=proof.lower_bound_s,
        milp_s=proof.mean_s,
    )


def checks_of(family: Family, seed: int) -> list[Row]:
    """Solve the main and the largest instance of a seed by HiGHS as well (extra: exact)."""
    return [check_one(family, size, seed) for size in (MAIN, SIZES[-1])]


# Every market is cleared to the end: what a category is worth is the same whoever looks at it.
_PLAIN: Final[dict[str, Any]] = {"guard": 0.0, "prune": False, "descend": False}
_SAME: Final = 1e-9


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


def values_of_all(instance: Instance) -> Float64:
    """Return the mean completion time of every category under its market, ascending."""
    jobs, workers = instance.num_jobs, instance.num_workers
    cuts = combinations(range(1, workers), jobs - 1)
    return np.sort([_value(instance, np.diff((0, *cut, workers))) for cut in cuts])


def coverage_of(family: Family, seed: int) -> list[Row]:
    """Count on one instance of each size."""
    return [count(draw(family, *size, seed), COVERED_DRAWS) for size in COVERED]


def count(instance: Instance, samples: int) -> Row:
    """Draw so many samples of ``DRAWS`` categories.

    ``is_open``: whether equal shares, which every search begins with, are not among the best: else
    no draw is needed. ``hits``: samples that held one of the best.
    """
    values = values_of_all(instance)
    best = num_best(len(values))
    least = values[best - 1] * (1 + _SAME)
    arguments = instance.arguments() | _PLAIN
    found = [
        place_jobs(**arguments, sampler="uniform", enumerate_up_to=0, draws=DRAWS, seed=sample)
        for sample in range(samples)
    ]
    return Row(
        family=instance.family.name,
        seed=instance.seed,
        jobs=instance.num_jobs,
        workers=instance.num_workers,
        categories=len(values),
        best=best,
        is_open=bool(_value(instance, equal_shares(instance)) > least),
        samples=samples,
        hits=sum(bool(instance.mean_s(one.counts) <= least) for one in found),
    )


def _value(instance: Instance, category: Any) -> float:
    found = place_jobs(**instance.arguments(), **_PLAIN, min_workers=category, max_workers=category)
    return instance.mean_s(found.counts)


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

        def each(num: int, *more: Any) -> list[tuple[Any, ...]]:
            return [(family, seed, *more) for family in families for seed in range(num)]

        def into(name: str) -> Callable[[dict[tuple[Any, ...], Any]], None]:
            return lambda made: setattr(self, name, list(chain(*made.values())))

        def take_times(made: dict[tuple[Any, ...], tuple[list[Timing], list[Run]]]) -> None:
            self.timings = list(chain(*(timings for timings, _ in made.values())))
            self.large = list(chain(*(large for _, large in made.values())))

        def named(part: str) -> Callable[[tuple[Any, ...]], str]:
            return lambda task: f"{part}{task[0].title}, seed {task[1]}"

        runs = each(seeds, quick)
        plan = [Stage("instances with a proven optimum", gap_runs, runs, into("runs"), named(""))]
        if not quick:
            plan.append(
                Stage("samples of categories counted", coverage_of, each(seeds),
                      into("coverage"), named("coverage, "))
            )  # fmt: skip
            times = [(seed,) for seed in range(min(seeds, _TIMED_SEEDS))]
            part = "times, seed {}".format
            plan.append(
                Stage("decisions timed", timings_of, times, take_times,
                      lambda task: part(task[0]), is_timed=True)
            )  # fmt: skip
        if exact:
            checked = each(min(seeds, _CHECKED_SEEDS))
            plan.append(
                Stage("mixed-integer programs", checks_of, checked, into("checks"),
                      named("check, "))
            )  # fmt: skip
        return [*plan, *self.online.plan(seeds, quick, exact)]

    def is_enough(self) -> bool:
        """Whether two seeds are there."""
        return len({run.seed for run in self.runs}) > 1

    def comparisons(self) -> list[Comparison]:
        """Our gaps, times and fairness beside what the abstract says."""
        online = self.online.comparisons() if self.online.runs else []
        found = (*_decided(self.runs), *_timed(self.timings), *online)
        return with_all(found, PUBLISHED.results)

    def tables(self) -> list[Table]:
        """The results."""
        known = families(self.runs)
        made = [_by_size(self.runs, family) for family in known]
        made.append(verdicts(self.comparisons()))
        for of in (_by_draws, _against_baselines, _ablations):
            made += [of(self.runs, family) for family in known]
        if self.coverage:
            made.append(_coverage(self.coverage))
        if self.timings:
            made.append(_timings(self.timings))
        if self.large:
            made.append(_large(self.large))
        if self.checks:
            made.append(_checks(self.checks))
        online = self.online.tables()
        return [*made, *online] if online else with_left_out(made, self.online.missing)

    def data(self) -> dict[str, Any]:
        """All runs."""
        return {
            "runs": (*self.runs, *self.large),
            "coverage": self.coverage,
            "timings": self.timings,
            "checks": self.checks,
            **self.online.data(),
        }

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
        seeds = len({run.seed for run in self.runs})
        panels = []
        for family in families(self.runs):
            own = of_family(self.runs, family)
            draws = [n for n in SWEPT if len(gaps(own, OURS, MAIN, n))]
            found = {arm: [gaps(own, arm, MAIN, n) for n in draws] for arm in _ARMS}
            means = {arm: [float(one.mean()) for one in some] for arm, some in found.items()}
            marks = {
                arm: {n: float(one.max()) for n, one in zip(draws, some, strict=True)}
                for arm, some in found.items()
            }
            marks["published, on other instances"] = dict.fromkeys(draws, GAP)
            panels.append(Panel(family.title, "draws, N", draws, means, marks))
        note = f"{MAIN[0]} jobs, {MAIN[1]} workers, {seeds} instances; mean, and dashed the worst"
        log = {"value": "log"}
        gap = curves(
            panels, "Mean completion time above the optimum, %", note, scale=100, marked="worst",
            x_scale=log, y_scale={"value": "symlog", "linthresh": 0.01},
        )  # fmt: skip
        shown = {"gap.png": gap}
        if self.timings:
            note = "Time of a decision, one thread, median of the instances"
            two = {"value": "log", "base": 2}
            shown["time.png"] = curves(
                _time_panels(self.timings, self.large), "Seconds", note, x_scale=two, y_scale=log
            )
        return shown | self.online.figures()


def _time_panels(timings: Sequence[Timing], large: Sequence[Run]) -> list[Panel]:
    def middle(values: Iterable[float]) -> float:
        return float(np.median(list(values)))

    sizes = list(dict.fromkeys((one.jobs, one.workers) for one in timings))
    wide = list(dict.fromkeys(run.workers for run in large))
    of = {size: [one for one in timings if (one.jobs, one.workers) == size] for size in sizes}
    lines = {
        OURS: [middle(one.decision_s for one in of[size]) for size in sizes],
        "all categories": [
            middle(one.categories * one.per_category_s for one in of[size]) for size in sizes
        ],
    }
    decided = [middle(run.decision_s for run in large if run.workers == k) for k in wide]
    return [
        Panel("every worker its own speed", "workers, K", [size[1] for size in sizes], lines),
        Panel("four types of equal workers", "workers, K", wide, {OURS: decided}),
    ]


def _decided(runs: Sequence[Run]) -> Iterator[Comparison]:
    for family in families(runs):
        for size in SIZES:
            own = chosen(of_family(runs, family), OURS, size, DRAWS)
            if not own:
                continue
            gaps, jain = [run.gap for run in own], [run.fairness for run in own]
            at = f"{len(own)} instances of {size}, {family.title}"
            yield beside(PUBLISHED.claim("gap"), mean(gaps), f"mean of {at}")
            yield beside(PUBLISHED.claim("gap"), _single(max(gaps), len(own)), f"worst of {at}")
            found = _single(min(jain), len(own))
            yield beside(PUBLISHED.claim("fairness"), found, f"Jain's index, least of {at}")


def _timed(timings: Sequence[Timing]) -> Iterator[Comparison]:
    for size in dict.fromkeys((one.jobs, one.workers) for one in timings):
        faster = [one.speedup for one in timings if (one.jobs, one.workers) == size]
        what = f"times faster than enumeration of {size}, least of {len(faster)}"
        yield beside(PUBLISHED.claim("time"), _single(float(np.min(faster)), len(faster)), what)


def _single(value: float, num: int) -> Interval:
    return Interval(value, np.nan, np.nan, num)


_ARMS = (OURS, UNIFORM_DESCENT, UNIFORM)


def of_family(runs: Sequence[Run], family: Family) -> list[Run]:
    """Runs on instances of a family."""
    return [run for run in runs if run.family == family.name]


def families(runs: Sequence[Run]) -> list[Family]:
    """Those of which there are runs."""
    return [family for family in FAMILIES if of_family(runs, family)]


def chosen(
    runs: Sequence[Run], arm: str, size: tuple[int, int], draws: int | None = None
) -> list[Run]:
    """Runs of an arm on instances of a size, one per seed; all of one family."""
    return [
        run
        for run in runs
        if run.arm == arm
        and (run.jobs, run.workers) == size
        and (draws is None or run.draws == draws)
    ]


def gaps(runs: Sequence[Run], arm: str, size: tuple[int, int], draws: int = DRAWS) -> Float64:
    """Parts by which the mean completion time exceeds the optimum, one per seed."""
    return np.array([run.gap for run in chosen(runs, arm, size, draws)])


def _sizes(runs: Sequence[Run]) -> list[tuple[int, int]]:
    known = {(run.jobs, run.workers) for run in runs}
    return [size for size in SIZES if size in known]


def _by_size(runs: Sequence[Run], family: Family) -> Table:
    """The gap against S and K."""
    rows = []
    runs = of_family(runs, family)
    for size in _sizes(runs):
        ours = gaps(runs, OURS, size)
        own = chosen(runs, OURS, size, DRAWS)
        bounds = np.array([run.optimum_s / run.bound_s - 1 for run in own])
        row = [f"({size[0]}, {size[1]})", str(len(ours))]
        for arm in _ARMS:
            found = gaps(runs, arm, size)
            row += [percent(found.mean()), percent(found.max())]
        fair = np.array([run.fairness for run in own])
        row += [f"{np.mean(ours < 1e-6):.0%}", percent(bounds.mean())]
        rows.append((*row, f"{fair.mean():.3f}", f"{fair.min():.3f}"))
    return table(
        f"Mean completion time above the proven optimum, N = {DRAWS}: {family.title}",
        (
            "(S, K)",
            "instances",
            "seeded, mean",
            "worst",
            "uniform + descent, mean",
            "worst",
            "uniform alone, mean",
            "worst",
            "seeded is optimal",
            "optimum above our bound",
            "Jain's index of seeded, mean",
            "least",
        ),
        rows,
        (
            f"Published [abstract]: within {GAP:.2%} of the optimum, on instances that are not "
            "known. Categories are never enumerated here, even where they are few. Every optimum "
            "is proven by branch and bound over all categories.",
        ),
    )


def _by_draws(runs: Sequence[Run], family: Family) -> Table:
    """The gap against N."""
    rows = []
    runs = of_family(runs, family)
    for draws in SWEPT:
        if not len(gaps(runs, OURS, MAIN, draws)):
            continue
        row = [str(draws)]
        for arm in _ARMS:
            found = gaps(runs, arm, MAIN, draws)
            row += [percent(found.mean()), percent(found.max())]
        rows.append(row)
    return table(
        f"The same against the number of draws, (S, K) = {MAIN}: {family.title}",
        (
            "N",
            "seeded, mean",
            "worst",
            "uniform + descent, mean",
            "worst",
            "uniform alone, mean",
            "worst",
        ),
        rows,
    )


def _against_baselines(runs: Sequence[Run], family: Family) -> Table:
    """Other ways to decide."""
    runs = of_family(runs, family)
    sizes = [size for size in _sizes(runs) if chosen(runs, next(iter(BASELINES)), size)]
    return _arms_table(
        f"Other ways to decide: completion above the optimum, and Jain's index: {family.title}",
        runs,
        sizes,
        (OURS, *BASELINES),
        ("All under proportional batches. What each means for one decision stands in the text.",),
    )


def _ablations(runs: Sequence[Run], family: Family) -> Table:
    """One thing taken away at a time."""
    runs = of_family(runs, family)
    names = (
        OURS,
        "no descent",
        "valuation one-pass",
        "valuation one-pass, no descent",
        "valuation raw",
        "valuation raw, no descent",
        EQUAL_MARKET,
        "random category + market",
        "ours for equal batches",
        "ours, equal batches",
        "guard off",
        "beta 0.5",
        "beta 0",
    )
    sizes = [size for size in _sizes(runs) if chosen(runs, "guard off", size)]
    return _arms_table(
        f"Ablations: completion above the optimum, and Jain's index: {family.title}",
        runs,
        sizes,
        names,
        (
            "*ours, equal batches*: our workers, but every one gets the same number of samples; "
            "*for equal batches*: the workers were chosen for that.",
        ),
    )


def _arms_table(
    title: str,
    runs: Sequence[Run],
    sizes: Sequence[tuple[int, int]],
    arms: Sequence[str],
    notes: Sequence[str],
) -> Table:
    headings = ["decided by"]
    for size in sizes:
        label = f"({size[0]}, {size[1]})"
        headings += [f"{label} mean", "worst", "fairness, mean", "least"]
    rows = []
    for arm in arms:
        row = [arm]
        for size in sizes:
            own = [run for run in chosen(runs, arm, size) if run.draws in (0, DRAWS)]
            found = np.array([run.gap for run in own])
            fair = np.array([run.fairness for run in own])
            row += [percent(found.mean()), percent(found.max())]
            row += [f"{fair.mean():.3f}", f"{fair.min():.3f}"]
        rows.append(row)
    return table(title, headings, rows, notes)


def _coverage(found: Sequence[Row]) -> Table:
    """How often uniform draws hold one of the best categories, and what theory says."""
    rows = []
    titles = {family.name: family.title for family in FAMILIES}
    for name, *size in dict.fromkeys((one.family, one.jobs, one.workers) for one in found):
        own = [one for one in found if (one.family, one.jobs, one.workers) == (name, *size)]
        counted = [one for one in own if one.is_open]
        held = [one.hits / one.samples for one in counted]
        rows.append(
            (
                titles[name],
                f"({size[0]}, {size[1]})",
                f"{own[0].categories:,}",
                f"{own[0].best}",
                f"{100 * theory(own[0].categories):.2f}",
                figure_of(mean(held), 2, 100) if held else "",
                f"{sum(one.samples for one in counted):,}",
                f"{len(counted)} of {len(own)}",
            )
        )
    return table(
        f"How often {DRAWS} uniform draws hold one of the best {BEST_PART:.0%} of categories, %",
        ("instances", "(S, K)", "categories", "best", "theory", "counted", "samples", "counted on"),
        rows,
        (
            f"Theory: 1 - (1 - floor({BEST_PART:g} C) / C)^{DRAWS} of C categories; "
            f"{100 * (1 - (1 - BEST_PART) ** DRAWS):.2f} as C grows. Counted on instances whose "
            "equal shares, with which every search begins, are not among the best; mean "
            "and 95 % interval over them.",
        ),
    )


def percent(part: float) -> str:
    """Write a part as per cent, small ones with more digits."""
    return f"{100 * part:.3f}%" if abs(part) < 0.01 else f"{100 * part:.1f}%"


def _timings(found: Sequence[Timing]) -> Table:
    """A decision against the enumeration."""
    rows = []
    for size in dict.fromkeys((one.jobs, one.workers) for one in found):
        own = [one for one in found if (one.jobs, one.workers) == size]

        def middle(of: Callable[[Timing], float], own: Sequence[Timing] = own) -> float:
            return float(np.median([of(one) for one in own]))

        pruned = middle(lambda one: one.pruned_s)
        rows.append(
            (
                f"({size[0]}, {size[1]})",
                f"{own[0].categories:,.0f}",
                f"{1e6 * middle(lambda one: one.per_category_s):.0f} us",
                _seconds(middle(lambda one: one.per_category_s * one.categories))
                + (" (extrapolated)" if own[0].is_extrapolated else ""),
                "-" if np.isnan(pruned) else _seconds(pruned),
                _seconds(middle(lambda one: one.decision_s)),
                f"{middle(lambda one: one.speedup):,.0f} x",
                f"{min(one.speedup for one in own):,.0f} x",
            )
        )
    return table(
        "Time of a decision against the enumeration of all categories",
        (
            "(S, K)",
            "categories",
            "a category",
            "all of them",
            "all, with the bound of prices",
            f"seeded, N = {DRAWS}",
            "faster, median",
            "least",
        ),
        rows,
        (
            "Same inner solver, processor time of one thread. Extrapolated: the time of a category "
            "over 400 uniform draws, times their number.",
        ),
    )


def _large(runs: Sequence[Run]) -> Table:
    """Decisions at the scale of a cluster."""
    rows = []
    for size in dict.fromkeys((run.jobs, run.workers) for run in runs):
        own = [run for run in runs if (run.jobs, run.workers) == size]
        over = np.array([run.mean_s / run.bound_s - 1 for run in own])
        took = np.array([run.decision_s for run in own])
        rows.append(
            (
                f"({size[0]}, {size[1]})",
                f"{1e3 * np.median(took):.2f} ms",
                f"{1e3 * took.max():.2f} ms",
                percent(over.mean()),
                percent(over.max()),
                f"{min(run.fairness for run in own):.3f}",
            )
        )
    return table(
        "Decisions over four types of equal workers",
        ("(S, K)", "decision", "longest", "above our bound", "worst", "fairness, least"),
        rows,
        ("Processor time of one thread, the least of three; the longest of the instances.",),
    )


def _checks(found: Sequence[Row]) -> Table:
    """Our optimum beside that of HiGHS."""
    rows = []
    titles = {family.name: family.title for family in FAMILIES}
    for name, *size in dict.fromkeys((one.family, one.jobs, one.workers) for one in found):
        own = [one for one in found if (one.family, one.jobs, one.workers) == (name, *size)]
        below = mean([one.milp_bound_s / one.optimum_s - 1 for one in own]).value
        above = mean([one.milp_s / one.optimum_s - 1 for one in own]).value
        rows.append(
            (
                titles[name],
                f"({size[0]}, {size[1]})",
                str(len(own)),
                f"{100 * below:+.4f}%",
                f"{100 * max(one.milp_bound_s / one.optimum_s - 1 for one in own):+.4f}%",
                f"{100 * above:+.4f}%",
            )
        )
    return table(
        "Our optimum beside a mixed-integer program (HiGHS)",
        ("instances", "(S, K)", "number", "its bound, mean", "highest", "its decision, mean"),
        rows,
        ("Its bound is below the optimum by the distance of its tangents; never above it.",),
    )


def _seconds(value: float) -> str:
    if value < 1.0:
        return f"{1e3 * value:.2g} ms" if value < 0.01 else f"{1e3 * value:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"


reproduce = partial(run_study, Matching)
stages = partial(stages_of, Matching)
