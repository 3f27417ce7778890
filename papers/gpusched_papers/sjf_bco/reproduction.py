"""SJF-BCO (Yu et al., MobiHoc 2022) again: figures 4 to 7, ours beside the published ones."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gpusched.base.failures import Failures
from gpusched.reporting.text_table import Table
from gpusched_papers.claims import Comparison, verdicts
from gpusched_papers.sjf_bco import curve_tables, wang_anchor
from gpusched_papers.sjf_bco import gap as sjf_bco_gap
from gpusched_papers.sjf_bco import tables as sjf_bco_tables
from gpusched_papers.sjf_bco.comparisons import comparisons
from gpusched_papers.sjf_bco.curves import STAGE as CURVES
from gpusched_papers.sjf_bco.curves import CurveRun, run_curves
from gpusched_papers.sjf_bco.gap import GapRun
from gpusched_papers.sjf_bco.published import POLICIES, PUBLISHED, SERVERS
from gpusched_papers.sjf_bco.runs import KappaRun, Run, run_instance
from gpusched_papers.sjf_bco.settings import BASE, MAIN, VARIANTS, Reading
from gpusched_papers.sjf_bco.wang_anchor import Anchor
from gpusched_papers.sjf_bco.workload import instance
from gpusched_papers.study import (
    BySeed,
    Interrupted,
    Progress,
    finish,
    plain,
    run_stage,
    write_files,
)


@dataclass
class SjfBco:
    """All runs of a reproduction.

    Attributes
    ----------
    runs
        Of every policy on every instance under every reading.
    kappa_runs
        Of SJF-BCO by threshold, on 20 servers.
    curve_runs
        The same with an instance for each threshold, and by lambda.
    gap_runs
        Of the small instances, if they were asked for.
    anchors
        The contention model on two measured times.
    gradient_bytes
        Range over the instances.
    """

    runs: list[Run] = field(default_factory=list)
    kappa_runs: list[KappaRun] = field(default_factory=list)
    curve_runs: list[CurveRun] = field(default_factory=list)
    gap_runs: list[GapRun] = field(default_factory=list)
    anchors: tuple[Anchor, ...] = ()
    gradient_bytes: tuple[float, float] = (math.inf, 0.0)

    def tables(self) -> list[Table]:
        """The results, ours beside the published ones."""
        tables = [
            sjf_bco_tables.calibration(self.runs, self.gradient_bytes),
            sjf_bco_tables.by_policy(self.runs),
            verdicts(self.comparisons()),
            curve_tables.by_kappa(self.kappa_runs, self.curve_runs),
            sjf_bco_tables.by_servers(self.runs),
        ]
        if self.curve_runs:
            tables.append(curve_tables.by_lambda(self.curve_runs))
        if {run.reading for run in self.runs} > {reading.name for reading in MAIN}:
            tables.append(sjf_bco_tables.readings(self.runs))
        if self.gap_runs:
            tables.append(sjf_bco_gap.gap_table(self.gap_runs))
        if self.anchors:
            tables.append(wang_anchor.anchor_table(self.anchors))
        return tables

    def comparisons(self) -> list[Comparison]:
        """The published figures, each beside ours."""
        return comparisons(self.runs, self.kappa_runs, self.curve_runs)

    def to_dict(self) -> dict[str, Any]:
        """All settings, runs and tables as plain values for JSON."""
        readings = {run.reading: None for run in self.runs}
        known = {reading.name: reading for reading in (*MAIN, *VARIANTS)}
        return plain(
            paper="sjf-bco",
            readings=[known[name] for name in readings],
            published=PUBLISHED.by_key,
            comparisons=self.comparisons(),
            gradient_bytes=self.gradient_bytes,
            runs=self.runs,
            kappa_runs=self.kappa_runs,
            curve_runs=self.curve_runs,
            gap_runs=self.gap_runs,
            anchors=self.anchors,
            tables=self.tables(),
        )

    def write(self, folder: Path) -> list[Path]:
        """Write the figures, tables.md, runs.csv and results.json; return the files."""
        from gpusched_papers.sjf_bco import figures

        by = {reading.name: sjf_bco_tables.Summary(self.runs, reading.name) for reading in MAIN}
        note = f"{by[BASE.name].num_instances(20)} instances, mean and 95 % interval"
        makespan = {
            how: {name: one.makespan(name, 20) for name in POLICIES} for how, one in by.items()
        }
        mean_jct = {
            how: {name: one.mean_jct(name, 20) for name in POLICIES} for how, one in by.items()
        }
        by_servers = {
            how: {
                name: {servers: one.makespan(name, servers) for servers in SERVERS}
                for name in POLICIES
            }
            for how, one in by.items()
        }
        drawn = {
            "figure-4.png": figures.by_policy(makespan, mean_jct, note),
            "figure-5.png": figures.by_kappa(curve_tables.kappa_means(self.kappa_runs), note),
            "figure-6.png": figures.by_servers(by_servers, note),
        }
        if self.curve_runs:
            lambdas = curve_tables.lambda_means(self.curve_runs)
            drawn["figure-7.png"] = figures.by_lambda(lambdas, note)
        return write_files(self, folder, drawn, map(dataclasses.asdict, self.runs))


def stages(*, seeds: int, quick: bool, exact: bool) -> dict[str, int]:
    """Tell what it runs; see :meth:`gpusched_papers.registry.Paper.stages`."""
    small = {sjf_bco_gap.STAGE: seeds} if exact else {}
    curves = {} if quick else {CURVES: seeds * len(MAIN)}
    return {**small, _STAGE: seeds * len(_studies(quick)), **curves}


def _studies(quick: bool) -> list[Part]:
    variants = [] if quick else [(variant, 20) for variant in VARIANTS]
    return [*((reading, servers) for reading in MAIN for servers in SERVERS), *variants]


def reproduce(*, seeds: int, quick: bool, exact: bool, progress: Progress) -> SjfBco:
    """Run it; see :meth:`gpusched_papers.registry.Paper.reproduce`."""
    found = SjfBco()
    failures = Failures()
    studies = _studies(quick)
    made: BySeed[Part, MadeOfOne] = BySeed(studies)
    tasks = [(seed, servers, reading) for seed in range(seeds) for reading, servers in studies]
    curves = [(seed, reading) for seed in range(seeds) for reading in MAIN if not quick]
    drawn: BySeed[Reading, list[CurveRun]] = BySeed(MAIN)
    try:
        found.anchors = wang_anchor.anchors()
        if exact:
            sjf_bco_gap.gap_runs(seeds, progress, found.gap_runs, failures)
        done = run_stage(
            _STAGE, run_instance, tasks, progress, failures, name=lambda task: f"seed {task[0]}"
        )
        for (seed, servers, reading), both in done:
            made.add((reading, servers), seed, both)
        if curves:
            for (seed, reading), points in run_stage(
                CURVES, run_curves, curves, progress, failures, name=lambda of: f"seed {of[0]}"
            ):
                drawn.add(reading, seed, points)
    except KeyboardInterrupt:
        _gather(found, made, drawn)
        raise Interrupted(found if _is_enough(found) else None) from None
    _gather(found, made, drawn)
    finish(failures, found if _is_enough(found) else None)
    return found


_STAGE: Final = "instances of 160 jobs"


Part = tuple[Reading, int]
MadeOfOne = tuple[list[Run], list[KappaRun]]


def _gather(
    found: SjfBco, made: BySeed[Part, MadeOfOne], curves: BySeed[Reading, list[CurveRun]]
) -> None:
    """Add all runs of the seeds that are done."""
    for seed in made.seeds():
        for runs, by_kappa in made.at(seed).values():
            found.runs += runs
            found.kappa_runs += by_kappa
        drawn = instance(seed, 20, BASE.calibration).gradient_bytes
        low, high = found.gradient_bytes
        found.gradient_bytes = (min(low, float(drawn.min())), max(high, float(drawn.max())))
    if len(curves.seeds()) >= 2:
        for seed in curves.seeds():
            for curve in curves.at(seed).values():
                found.curve_runs += curve


def _is_enough(found: SjfBco) -> bool:
    """Whether two seeds are there, which an interval takes."""
    return len({run.seed for run in found.runs}) >= 2
