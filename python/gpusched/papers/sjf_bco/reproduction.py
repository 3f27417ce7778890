"""SJF-BCO (Yu et al., MobiHoc 2022) again: figures 4, 5 and 6, ours beside the published ones."""

from __future__ import annotations

import dataclasses
import math
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
from gpusched.papers.sjf_bco import gap as sjf_bco_gap
from gpusched.papers.sjf_bco import tables as sjf_bco_tables
from gpusched.papers.sjf_bco import wang_anchor
from gpusched.papers.sjf_bco.comparisons import comparisons
from gpusched.papers.sjf_bco.gap import GapRun
from gpusched.papers.sjf_bco.published import POLICIES, PUBLISHED, SERVERS
from gpusched.papers.sjf_bco.runs import (
    BASE,
    VARIANTS,
    KappaRun,
    Reading,
    Run,
    run_instance,
)
from gpusched.papers.sjf_bco.wang_anchor import Anchor
from gpusched.papers.sjf_bco.workload import instance


@dataclass
class SjfBco:
    """All runs of a reproduction.

    Attributes
    ----------
    runs
        Of every policy on every instance under every reading.
    kappa_runs
        Of SJF-BCO by threshold, on 20 servers.
    gap_runs
        Of the small instances, if they were asked for.
    anchors
        The contention model on two measured times.
    gradient_bytes
        Range over the instances.
    """

    runs: list[Run] = field(default_factory=list)
    kappa_runs: list[KappaRun] = field(default_factory=list)
    gap_runs: list[GapRun] = field(default_factory=list)
    anchors: tuple[Anchor, ...] = ()
    gradient_bytes: tuple[float, float] = (math.inf, 0.0)

    def tables(self) -> list[Table]:
        """The results, ours beside the published ones."""
        tables = [
            sjf_bco_tables.calibration(self.runs, self.gradient_bytes),
            sjf_bco_tables.by_policy(self.runs),
            verdicts(self.comparisons()),
            sjf_bco_tables.by_kappa(self.kappa_runs),
            sjf_bco_tables.by_servers(self.runs),
        ]
        if any(run.reading != BASE.name for run in self.runs):
            tables.append(sjf_bco_tables.readings(self.runs))
        if self.gap_runs:
            tables.append(sjf_bco_gap.gap_table(self.gap_runs))
        if self.anchors:
            tables.append(wang_anchor.anchor_table(self.anchors))
        return tables

    def comparisons(self) -> list[Comparison]:
        """The published figures, each beside ours."""
        return comparisons(self.runs, self.kappa_runs)

    def to_dict(self) -> dict[str, Any]:
        """All settings, runs and tables as plain values for JSON."""
        readings = {run.reading: None for run in self.runs}
        known = {reading.name: reading for reading in (BASE, *VARIANTS)}
        return plain(
            paper="sjf-bco",
            readings=[known[name] for name in readings],
            published=PUBLISHED.by_key,
            comparisons=self.comparisons(),
            gradient_bytes=self.gradient_bytes,
            runs=self.runs,
            kappa_runs=self.kappa_runs,
            gap_runs=self.gap_runs,
            anchors=self.anchors,
            tables=self.tables(),
        )

    def write(self, folder: Path) -> list[Path]:
        """Write three figures, tables.md, runs.csv and results.json; return the files."""
        from gpusched.papers.sjf_bco import figures

        base = sjf_bco_tables.Summary(self.runs)
        seeds = f"{base.num_instances(20)} instances, mean and 95 % interval"
        makespan = {name: base.makespan(name, 20) for name in POLICIES}
        mean_jct = {name: base.mean_jct(name, 20) for name in POLICIES}
        by_servers = {
            name: {servers: base.makespan(name, servers) for servers in SERVERS}
            for name in POLICIES
        }
        by_kappa = sjf_bco_tables.kappa_means(self.kappa_runs)
        drawn = {
            "figure-4.png": figures.by_policy(makespan, mean_jct, seeds),
            "figure-5.png": figures.by_kappa(by_kappa, seeds),
            "figure-6.png": figures.by_servers(by_servers, seeds),
        }
        return write_files(self, folder, drawn, map(dataclasses.asdict, self.runs))


def stages(*, seeds: int, quick: bool, exact: bool) -> dict[str, int]:
    """Tell what it runs; see :meth:`gpusched.papers.registry.Paper.stages`."""
    small = {sjf_bco_gap.STAGE: seeds} if exact else {}
    return {**small, _STAGE: seeds * len(_studies(quick))}


def _studies(quick: bool) -> list[Part]:
    variants = [] if quick else [(variant, 20) for variant in VARIANTS]
    return [*((BASE, servers) for servers in SERVERS), *variants]


def reproduce(*, seeds: int, quick: bool, exact: bool, progress: Progress) -> SjfBco:
    """Run it; see :meth:`gpusched.papers.registry.Paper.reproduce`."""
    found = SjfBco()
    failures = Failures()
    studies = _studies(quick)
    made: BySeed[Part, MadeOfOne] = BySeed(studies)
    tasks = [(seed, servers, reading) for seed in range(seeds) for reading, servers in studies]
    try:
        found.anchors = wang_anchor.anchors()
        if exact:
            sjf_bco_gap.gap_runs(seeds, progress, found.gap_runs, failures)
        done = run_stage(
            _STAGE, run_instance, tasks, progress, failures, name=lambda task: f"seed {task[0]}"
        )
        for (seed, servers, reading), both in done:
            made.add((reading, servers), seed, both)
    except KeyboardInterrupt:
        _gather(found, made)
        raise Interrupted(found if _is_enough(found) else None) from None
    _gather(found, made)
    finish(failures, found if _is_enough(found) else None)
    return found


_STAGE: Final = "instances of 160 jobs"


Part = tuple[Reading, int]
MadeOfOne = tuple[list[Run], list[KappaRun]]


def _gather(found: SjfBco, made: BySeed[Part, MadeOfOne]) -> None:
    """Add all runs of the seeds that are done."""
    for seed in made.seeds():
        for (reading, servers), (runs, by_kappa) in made.at(seed).items():
            found.runs += runs
            if reading is BASE and servers == 20:
                found.kappa_runs += by_kappa
        drawn = instance(seed, 20, BASE.calibration).gradient_bytes
        low, high = found.gradient_bytes
        found.gradient_bytes = (min(low, float(drawn.min())), max(high, float(drawn.max())))


def _is_enough(found: SjfBco) -> bool:
    """Whether two seeds are there, which an interval takes."""
    return len({run.seed for run in found.runs}) >= 2
