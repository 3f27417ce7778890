"""Fragmentation gradient descent (Weng et al., ATC 2023): the filling experiment again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gpusched.base.failures import Failures
from gpusched.papers.common.by_seed import BySeed
from gpusched.papers.common.plain_values import plain
from gpusched.papers.common.reproduction import Interrupted, Progress, finish
from gpusched.papers.common.stages import run_stage
from gpusched.papers.common.text_table import Table
from gpusched.papers.common.verdicts import Comparison, verdicts
from gpusched.papers.common.written_files import write_files
from gpusched.papers.fgd import tables
from gpusched.papers.fgd.comparisons import comparisons
from gpusched.papers.fgd.published import ALLOCATED, PUBLISHED
from gpusched.papers.fgd.runs import DEFAULT, DEMANDS, PLACEMENTS, VARIANTS, Run, Workload, run
from gpusched.papers.fgd.tables import Summary

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
        workloads = self._workloads(summary)
        made = [
            tables.against_fgd(summary, DEFAULT, is_published=True),
            verdicts(self.comparisons()),
        ]
        for workload in workloads:
            made.append(tables.by_demand(summary, workload, "unallocated"))
            made.append(tables.by_demand(summary, workload, "fragmented"))
        made += [
            tables.against_fgd(summary, workload, is_published=False)
            for workload in workloads
            if workload is not DEFAULT
        ]
        return [*made, tables.lost(summary, workloads)]

    def comparisons(self) -> list[Comparison]:
        """The published figures, each beside ours."""
        return comparisons(Summary(self.runs))

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
        from gpusched.papers.fgd import figures

        summary = Summary(self.runs)
        figure = figures.curves(
            {
                workload.title: (
                    self._curves(summary, workload, "unallocated"),
                    self._curves(summary, workload, "fragmented"),
                )
                for workload in self._workloads(summary)
            },
            DEMANDS.tolist(),
            {name: 1 - allocated for name, allocated in ALLOCATED.items()},
            f"{summary.num_gpus:,} GPUs filled; {summary.num_seeds} seeds, mean and 95 % interval",
        )
        rows = self._rows(DEMANDS.tolist())
        return write_files(self, folder, {"filling.png": figure}, rows)

    def _workloads(self, summary: Summary) -> list[Workload]:
        return [workload for workload in (DEFAULT, *VARIANTS) if summary.has(workload)]

    def _curves(self, summary: Summary, workload: Workload, column: str) -> dict[str, Any]:
        return {name: summary.by_demand(workload, name, column) for name in PLACEMENTS}

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


def stages(*, seeds: int, quick: bool, exact: bool) -> dict[str, int]:
    """Tell what it runs; see :meth:`gpusched.papers.registry.Paper.stages`."""
    return {_STAGE: seeds * len(_wanted(quick))}


def _wanted(quick: bool) -> list[tuple[Workload, str]]:
    workloads = (DEFAULT,) if quick else (DEFAULT, *VARIANTS)
    return [(workload, name) for workload in workloads for name in PLACEMENTS]


def reproduce(*, seeds: int, quick: bool, exact: bool, progress: Progress) -> Fgd:
    """Run it; see :meth:`gpusched.papers.registry.Paper.reproduce`."""
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
