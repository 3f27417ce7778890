"""The tables of the study of matching markets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.reporting.text_table import Table, figure_of, table
from gpusched_papers.matching.baselines import BASELINES
from gpusched_papers.matching.coverage import Coverage, theory
from gpusched_papers.matching.published import GAP
from gpusched_papers.matching.runs import Run
from gpusched_papers.matching.settings import (
    BEST_PART,
    DRAWS,
    EQUAL_MARKET,
    FAMILIES,
    MAIN,
    OURS,
    SIZES,
    SWEPT,
    UNIFORM,
    UNIFORM_DESCENT,
    Family,
)
from gpusched_papers.study import mean

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


def by_size(runs: Sequence[Run], family: Family) -> Table:
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


def by_draws(runs: Sequence[Run], family: Family) -> Table:
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


def against_baselines(runs: Sequence[Run], family: Family) -> Table:
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


def ablations(runs: Sequence[Run], family: Family) -> Table:
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


def coverage(found: Sequence[Coverage]) -> Table:
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
