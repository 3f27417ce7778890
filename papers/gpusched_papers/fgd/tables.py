"""The tables of the filling experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.reporting.text_table import Table, figure_of, table
from gpusched.statistics.intervals import Interval
from gpusched_papers.common.seed_means import mean, reduction
from gpusched_papers.fgd.published import (
    ALLOCATED,
    LARGEST_REDUCTION,
    MORE_GPUS,
    less_left,
    more_gpus,
)
from gpusched_papers.fgd.recorded_results import RECORDED
from gpusched_papers.fgd.runs import Run
from gpusched_papers.fgd.settings import AUTHORS, FGD, OURS, PLACEMENTS, UNTIL
from gpusched_papers.fgd.workload import Workload

SHOWN: Final = (0.5, 0.7, 0.9, 0.95, 1.0, 1.1, 1.3)
"""Demands of the tables, over the GPUs of the cluster."""
_MEASURES: Final = {"unallocated": "Unallocated GPUs", "fragmented": "Fragmented GPUs"}


class Summary:
    """The runs by workload and placement, one value per seed."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs: dict[tuple[str, str], list[Run]] = {}
        for run in runs:
            self._runs.setdefault((run.workload, run.placement), []).append(run)
        self.num_gpus = runs[0].num_gpus
        self.num_seeds = len({run.seed for run in runs})

    def has(self, workload: Workload) -> bool:
        """Whether it was run."""
        return (workload.name, FGD) in self._runs

    def values(self, workload: Workload, placement: str, column: str, demand: float) -> Float64:
        """One value per seed."""
        runs = self._runs[workload.name, placement]
        return np.array([run.at(column, demand) for run in runs])

    def mean(self, workload: Workload, placement: str, column: str, demand: float) -> Interval:
        """Over the seeds."""
        return mean(self.values(workload, placement, column, demand))

    def by_demand(self, workload: Workload, placement: str, column: str) -> list[Interval]:
        """Over the seeds, at each of ``DEMANDS``."""
        rows = np.array([getattr(run, column) for run in self._runs[workload.name, placement]])
        return [mean(values) for values in rows.T]


def by_demand(summary: Summary, workload: Workload, column: str) -> Table:
    """One measure of every placement against the demand that has arrived."""
    return table(
        f"{_MEASURES[column]} against GPUs asked for, both in % of the cluster's: {workload.title}",
        ("placement", *(f"{demand:.0%}".replace("%", " %") for demand in SHOWN)),
        [
            [name, *(_percent(summary.mean(workload, name, column, demand)) for demand in SHOWN)]
            for name in PLACEMENTS
        ],
        (f"{summary.num_seeds} seeds, mean and 95 % interval.",),
    )


def as_the_authors_have_it(summary: Summary, workload: Workload) -> Table:
    """How much less FGD leaves than each other by their program's rules, and what is published."""
    return _against_fgd(
        summary, workload, "FGD against the others, as the authors have them", AUTHORS, True
    )


def by_our_rules(summary: Summary, workload: Workload) -> Table:
    """How much less FGD leaves than each other by our rules."""
    named = {name: name for name in OURS}
    return _against_fgd(summary, workload, "FGD against the others, by our rules", named, False)


def _against_fgd(
    summary: Summary,
    workload: Workload,
    title: str,
    placements: Mapping[str, str],
    is_published: bool,
) -> Table:
    headings = ["placement", "allocated, %", "FGD leaves less by, %", "GPUs more under FGD"]
    if is_published:
        headings += [
            "published [artefact]: allocated, %",
            "published [derived]: less by, %",
            "published [derived]: GPUs more",
        ]
    gpus = summary.num_gpus
    fgd = summary.values(workload, placements[FGD], "unallocated", UNTIL)
    rows = []
    for name, placement in placements.items():
        left = summary.values(workload, placement, "unallocated", UNTIL)
        row = [name, _percent(mean(1 - left))]
        row += ["", ""] if name == FGD else [
            _percent(reduction(fgd, left)), figure_of(mean((left - fgd) * gpus)),
        ]  # fmt: skip
        if is_published:
            row += _published(name)
        rows.append(row)
    notes = [f"{_moment(summary).removesuffix('.')} of the paired differences."]
    if is_published:
        notes += [
            "Published [artefact]: means over ten seeds of the results recorded in the authors' "
            f"repository. [abstract]: FGD leaves up to {LARGEST_REDUCTION:.0%} less GPUs "
            f"unallocated than packing-based schedulers do, and uses {MORE_GPUS} more.",
        ]
    return table(f"{title}: {workload.title}", headings, rows, notes)


def every_list(summary: Summary, workloads: Sequence[Workload]) -> Table:
    """GPUs allocated on every list by their program's rules, beside what is published."""
    headings = ["list"]
    for name in AUTHORS:
        headings += [name, f"published [artefact]: {name}"]
    rows = []
    farthest = dict.fromkeys(AUTHORS, (0.0, ""))
    for workload in workloads:
        row = [f"{workload.name}: {workload.title}"]
        for name, placement in AUTHORS.items():
            ours = 1 - summary.values(workload, placement, "unallocated", UNTIL)
            published = RECORDED[workload.name][name]
            row += [_percent(mean(ours)), f"{published * 100:.1f}"]
            distance = abs(float(ours.mean()) - published)
            farthest[name] = max(farthest[name], (distance, workload.name))
        rows.append(row)
    told = ", ".join(
        f"{name} {100 * distance:.2f} ({workload})"
        for name, (distance, workload) in farthest.items()
    )
    return table(
        "GPUs allocated on every list, as the authors have the placements, %",
        headings,
        rows,
        (
            _moment(summary),
            f"Farthest from the recorded means [artefact], in points of a per cent: {told}.",
        ),
    )


def every_list_by_our_rules(summary: Summary, workloads: Sequence[Workload]) -> Table:
    """GPUs allocated on every list by our rules."""
    return table(
        "GPUs allocated on every list, by our rules, %",
        ("list", *OURS),
        [
            [
                f"{workload.name}: {workload.title}",
                *(
                    _percent(mean(1 - summary.values(workload, name, "unallocated", UNTIL)))
                    for name in OURS
                ),
            ]
            for workload in workloads
        ],
        (_moment(summary),),
    )


def lost(summary: Summary, workloads: Sequence[Workload]) -> Table:
    """The part of the arrivals that found no place."""
    return table(
        f"Arrivals that found no place until {UNTIL:.0%} had been asked for, %",
        ("placement", *(workload.title for workload in workloads)),
        [
            [
                name,
                *(_percent(summary.mean(workload, name, "lost", UNTIL)) for workload in workloads),
            ]
            for name in PLACEMENTS
        ],
        (f"{summary.num_seeds} seeds, mean and 95 % interval.",),
    )


def _moment(summary: Summary) -> str:
    return (
        f"When {UNTIL:.0%} of the cluster's GPUs had been asked for; {summary.num_seeds} seeds, "
        "mean and 95 % interval."
    )


def _published(name: str) -> list[str]:
    allocated = f"{ALLOCATED[name] * 100:.1f}"
    if name == FGD:
        return [allocated, "", ""]
    return [allocated, f"{less_left(name) * 100:.1f}", f"{more_gpus(name):.0f}"]


def _percent(value: Interval) -> str:
    return figure_of(value, 1, 100)
