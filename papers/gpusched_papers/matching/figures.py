"""The figures of the study of matching markets (Matplotlib, extra: plot)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from gpusched_papers.common.drawing import INK, figure_class, prepare
from gpusched_papers.matching.published import GAP
from gpusched_papers.matching.runs import Run, Timing
from gpusched_papers.matching.settings import (
    MAIN,
    OURS,
    SWEPT,
    UNIFORM,
    UNIFORM_DESCENT,
    Family,
)
from gpusched_papers.matching.tables import families, gaps, of_family

# Okabe and Ito (2008): told apart by colour-blind readers as well.
_COLOURS: Final = {OURS: "#0072b2", UNIFORM_DESCENT: "#009e73", UNIFORM: "#e69f00"}


def gap_by_draws(runs: Sequence[Run], note: str) -> Any:
    """Gap to the optimum against the number of draws, a panel per family: mean and worst."""
    known = families(runs)
    figure = figure_class()(figsize=(4.6 * len(known) + 1.0, 4.0), layout="constrained")
    panels = figure.subplots(1, len(known), squeeze=False, sharey=True)[0]
    for axes, family in zip(panels, known, strict=True):
        is_first = axes is panels[0]
        prepare(axes, "Mean completion time above the optimum, %" if is_first else "")
        _gaps(axes, of_family(runs, family), family)
    panels[0].legend(frameon=False)
    figure.suptitle(note, x=0.01, ha="left", fontsize=10, color=INK)
    return figure


def _gaps(axes: Any, runs: Sequence[Run], family: Family) -> None:
    draws = [n for n in SWEPT if len(gaps(runs, OURS, MAIN, n))]
    for arm, colour in _COLOURS.items():
        found = [100 * gaps(runs, arm, MAIN, n) for n in draws]
        axes.plot(draws, [one.mean() for one in found], "o-", color=colour, label=arm)
        axes.plot(draws, [one.max() for one in found], "o:", color=colour, mfc="white")
    axes.axhline(100 * GAP, color=INK, lw=0.8, ls="--")
    axes.text(draws[0], 100 * GAP * 1.1, "published, on other instances", color=INK, fontsize=8)
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=0.01)
    axes.set_ylim(bottom=0)
    axes.set_xticks(draws, [str(n) for n in draws])
    axes.set_xlabel("draws, N")
    axes.set_title(family.title, loc="left", fontsize=10, color=INK)


def time_by_size(timings: Sequence[Timing], large: Sequence[Run], note: str) -> Any:
    """Time of a decision and of the enumeration against the number of workers."""
    figure = figure_class()(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    prepare(axes, "Seconds")
    sizes = list(dict.fromkeys((one.jobs, one.workers) for one in timings))

    def middle(values: list[float]) -> float:
        return float(np.median(values))

    series: tuple[tuple[str, str, Callable[[Timing], float]], ...] = (
        ("all categories", "#d55e00", lambda one: one.categories * one.per_category_s),
        (OURS, _COLOURS[OURS], lambda one: one.decision_s),
    )
    for label, colour, of in series:
        heights = [
            middle([of(one) for one in timings if (one.jobs, one.workers) == size])
            for size in sizes
        ]
        axes.plot([size[1] for size in sizes], heights, "o-", color=colour, label=label)
    wide = list(dict.fromkeys(run.workers for run in large))
    axes.plot(
        wide,
        [middle([run.decision_s for run in large if run.workers == k]) for k in wide],
        "o--",
        color=_COLOURS[OURS],
        mfc="white",
        label=f"{OURS}, four types of equal workers",
    )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("workers, K")
    axes.legend(frameon=False)
    figure.suptitle(note, x=0.01, ha="left", fontsize=10, color=INK)
    return figure
