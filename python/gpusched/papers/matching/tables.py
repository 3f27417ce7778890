"""The tables of the study of matching markets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.papers.common.seed_means import mean
from gpusched.papers.common.text_table import Table, table
from gpusched.papers.matching.baselines import BASELINES
from gpusched.papers.matching.published import GAP
from gpusched.papers.matching.runs import (
    DRAWS,
    MAIN,
    OURS,
    SIZES,
    SWEPT,
    UNIFORM,
    UNIFORM_DESCENT,
    Check,
    Run,
    Timing,
)

_ARMS = (OURS, UNIFORM_DESCENT, UNIFORM)


def chosen(
    runs: Sequence[Run], arm: str, size: tuple[int, int], draws: int | None = None
) -> list[Run]:
    """Runs of an arm on instances of a size, one per seed."""
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


def by_size(runs: Sequence[Run]) -> Table:
    """The gap against S and K."""
    rows = []
    for size in _sizes(runs):
        ours = gaps(runs, OURS, size)
        own = chosen(runs, OURS, size, DRAWS)
        bounds = np.array([run.optimum_s / run.bound_s - 1 for run in own])
        row = [f"({size[0]}, {size[1]})", str(len(ours))]
        for arm in _ARMS:
            found = gaps(runs, arm, size)
            row += [_percent(found.mean()), _percent(found.max())]
        rows.append((*row, f"{np.mean(ours < 1e-6):.0%}", _percent(bounds.mean())))
    return table(
        f"Mean completion time above the proven optimum, N = {DRAWS}",
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
        ),
        rows,
        (
            f"Published [abstract]: within {GAP:.2%} of the optimum, on instances that are not "
            "known. Categories are never enumerated here, even where they are few. Every optimum "
            "is proven by branch and bound over all categories.",
        ),
    )


def by_draws(runs: Sequence[Run]) -> Table:
    """The gap against N."""
    rows = []
    for draws in SWEPT:
        if not len(gaps(runs, OURS, MAIN, draws)):
            continue
        row = [str(draws)]
        for arm in _ARMS:
            found = gaps(runs, arm, MAIN, draws)
            row += [_percent(found.mean()), _percent(found.max())]
        rows.append(row)
    return table(
        f"The same against the number of draws, (S, K) = {MAIN}",
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


def against_baselines(runs: Sequence[Run]) -> Table:
    """Other ways to decide."""
    sizes = [size for size in _sizes(runs) if chosen(runs, next(iter(BASELINES)), size)]
    return _arms_table(
        "Other ways to decide: mean completion time above the optimum, and Jain's index",
        runs,
        sizes,
        (OURS, *BASELINES),
        ("All under proportional batches. What each means for one decision stands in the text.",),
    )


def ablations(runs: Sequence[Run]) -> Table:
    """One thing taken away at a time."""
    names = (
        OURS,
        "no descent",
        "valuation one-pass",
        "valuation one-pass, no descent",
        "valuation raw",
        "valuation raw, no descent",
        "equal share + market",
        "random category + market",
        "ours for equal batches",
        "ours, equal batches",
        "guard off",
        "beta 0.5",
        "beta 0",
    )
    sizes = [size for size in _sizes(runs) if chosen(runs, "guard off", size)]
    return _arms_table(
        "Ablations: mean completion time above the optimum, and Jain's index",
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
            row += [_percent(found.mean()), _percent(found.max())]
            row += [f"{fair.mean():.3f}", f"{fair.min():.3f}"]
        rows.append(row)
    return table(title, headings, rows, notes)


def timings(found: Sequence[Timing]) -> Table:
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


def large(runs: Sequence[Run]) -> Table:
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
                _percent(over.mean()),
                _percent(over.max()),
                f"{min(run.fairness for run in own):.3f}",
            )
        )
    return table(
        "Decisions over four types of equal workers",
        ("(S, K)", "decision", "longest", "above our bound", "worst", "fairness, least"),
        rows,
        ("Processor time of one thread, the least of three; the longest of the instances.",),
    )


def checks(found: Sequence[Check]) -> Table:
    """Our optimum beside that of HiGHS."""
    rows = []
    for size in dict.fromkeys((one.jobs, one.workers) for one in found):
        own = [one for one in found if (one.jobs, one.workers) == size]
        below = mean([one.milp_bound_s / one.optimum_s - 1 for one in own]).value
        above = mean([one.milp_s / one.optimum_s - 1 for one in own]).value
        rows.append(
            (
                f"({size[0]}, {size[1]})",
                str(len(own)),
                f"{100 * below:+.4f}%",
                f"{100 * max(one.milp_bound_s / one.optimum_s - 1 for one in own):+.4f}%",
                f"{100 * above:+.4f}%",
            )
        )
    return table(
        "Our optimum beside a mixed-integer program (HiGHS)",
        ("(S, K)", "instances", "its bound, mean", "highest", "its decision, mean"),
        rows,
        ("Its bound is below the optimum by the distance of its tangents; never above it.",),
    )


def _percent(part: float) -> str:
    return f"{100 * part:.3f}%" if abs(part) < 0.01 else f"{100 * part:.1f}%"


def _seconds(value: float) -> str:
    if value < 1.0:
        return f"{1e3 * value:.2g} ms" if value < 0.01 else f"{1e3 * value:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"
