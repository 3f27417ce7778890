"""The tables of what a decision takes, and of the check by a mixed-integer program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gpusched.reporting.text_table import Table, table
from gpusched_papers.matching.runs import Check, Run, Timing
from gpusched_papers.matching.settings import DRAWS, FAMILIES
from gpusched_papers.matching.tables import percent
from gpusched_papers.study import mean


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


def checks(found: Sequence[Check]) -> Table:
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
