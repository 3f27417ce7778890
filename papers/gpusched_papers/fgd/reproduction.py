"""Fragmentation gradient descent (Weng et al., ATC 2023): the filling experiment again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gpusched.base.failures import Failures
from gpusched.reporting.text_table import Table
from gpusched_papers.common.by_seed import BySeed
from gpusched_papers.common.plain_values import plain
from gpusched_papers.common.reproduction import Interrupted, Progress, finish
from gpusched_papers.common.stages import run_stage
from gpusched_papers.common.verdicts import Comparison, verdicts
from gpusched_papers.common.written_files import write_files
from gpusched_papers.fgd import tables
from gpusched_papers.fgd.comparisons import of_default_list, of_other_lists
from gpusched_papers.fgd.published import PUBLISHED
from gpusched_papers.fgd.recorded_results import RECORDED
from gpusched_papers.fgd.runs import Run, run
from gpusched_papers.fgd.settings import AUTHORS, DEMANDS, OURS, PLACEMENTS
from gpusched_papers.fgd.tables import Summary
from gpusched_papers.fgd.workload import DEFAULT, SHOWN_LISTS, WORKLOADS, Workload

_STAGE: Final = "clusters filled"


@dataclass
class Fgd:
    """All runs of the study.

    Attributes
    ----------
    runs
        Of every placement with every workload, seed by seed.
    """

    runs: list[Run] = field(default_factory=list)

    def tables(self) -> list[Table]:
        """The results, ours beside the published ones."""
        summary = Summary(self.runs)
        every, shown = _of(summary, WORKLOADS), _of(summary, SHOWN_LISTS)
        made = [
            tables.as_the_authors_have_it(summary, DEFAULT),
            verdicts(of_default_list(summary)),
            tables.every_list(summary, every),
            tables.every_list_by_our_rules(summary, every),
        ]
        for workload in shown:
            made.append(tables.by_our_rules(summary, workload))
            made.append(tables.by_demand(summary, workload, "unallocated"))
            made.append(tables.by_demand(summary, workload, "fragmented"))
        made.append(tables.lost(summary, shown))
        if others := of_other_lists(summary):
            made.append(verdicts(others, "Published, and ours: the other lists"))
        return made

    def comparisons(self) -> list[Comparison]:
        """The published figures, each beside ours."""
        summary = Summary(self.runs)
        return [*of_default_list(summary), *of_other_lists(summary)]

    def to_dict(self) -> dict[str, Any]:
        """All runs at the demands of the tables, and the tables, as plain values for JSON."""
        return plain(
            paper="fgd",
            published=PUBLISHED.by_key,
            comparisons=self.comparisons(),
            runs=list(self._rows(tables.SHOWN)),
            tables=self.tables(),
        )

    def write(self, folder: Path) -> list[Path]:
        """Write a figure, tables.md, runs.csv and results.json; return the files."""
        from gpusched_papers.fgd import figures

        summary = Summary(self.runs)
        shown = _of(summary, SHOWN_LISTS)
        figure = figures.curves(
            {
                workload.title: (
                    self._curves(summary, workload, "unallocated"),
                    self._curves(summary, workload, "fragmented"),
                )
                for workload in shown
            },
            DEMANDS.tolist(),
            {workload.title: _left(workload) for workload in shown},
            f"{summary.num_gpus:,} GPUs filled; {summary.num_seeds} seeds, mean and 95 % interval",
        )
        rows = self._rows(DEMANDS.tolist())
        return write_files(self, folder, {"filling.png": figure}, rows)

    def _curves(self, summary: Summary, workload: Workload, column: str) -> dict[str, Any]:
        """As the authors have them, and those of ours that they have not."""
        drawn = {**AUTHORS, **{name: name for name in OURS if name not in AUTHORS}}
        return {
            name: summary.by_demand(workload, placement, column)
            for name, placement in drawn.items()
        }

    def _rows(self, demands: Any) -> Iterator[dict[str, Any]]:
        """A row for each run and demand."""
        for filled in self.runs:
            for demand in demands:
                yield {
                    "workload": filled.workload,
                    "placement": filled.placement,
                    "seed": filled.seed,
                    "demand": demand,
                    **{
                        column: filled.at(column, demand)
                        for column in ("unallocated", "fragmented", "lost")
                    },
                }


def _of(summary: Summary, workloads: Sequence[Workload]) -> list[Workload]:
    return [workload for workload in workloads if summary.has(workload)]


def _left(workload: Workload) -> dict[str, float]:
    return {name: 1 - allocated for name, allocated in RECORDED[workload.name].items()}


def stages(*, seeds: int, quick: bool, exact: bool) -> dict[str, int]:
    """Tell what it runs; see :meth:`gpusched_papers.registry.Paper.stages`."""
    return {_STAGE: seeds * len(_wanted(quick))}


def _wanted(quick: bool) -> list[tuple[Workload, str]]:
    workloads = (DEFAULT,) if quick else WORKLOADS
    return [(workload, name) for workload in workloads for name in PLACEMENTS]


def reproduce(*, seeds: int, quick: bool, exact: bool, progress: Progress) -> Fgd:
    """Run it; see :meth:`gpusched_papers.registry.Paper.reproduce`."""
    wanted = _wanted(quick)
    tasks = [(workload, name, seed) for seed in range(seeds) for workload, name in wanted]
    made: BySeed[tuple[Workload, str], Run] = BySeed(wanted)
    failures = Failures()
    done = run_stage(_STAGE, run, tasks, progress, failures, name=_seed_of)
    try:
        for (workload, name, seed), filled in done:
            made.add((workload, name), seed, filled)
    except KeyboardInterrupt:
        raise Interrupted(_found(made)) from None
    found = _found(made)
    finish(failures, found)
    return found or Fgd()


def _seed_of(task: tuple[Workload, str, int]) -> str:
    return f"seed {task[-1]}"


def _found(made: BySeed[tuple[Workload, str], Run]) -> Fgd | None:
    """Return the seeds that are done, if these are enough for an interval."""
    seeds = made.seeds()
    return Fgd([run for seed in seeds for run in made.at(seed).values()]) if seeds[1:] else None
