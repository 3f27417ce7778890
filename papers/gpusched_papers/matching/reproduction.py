"""Matching markets (Liu et al., IEEE TPDS 2024): single decisions, and the policy online."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeVar

from gpusched.base.failures import Failures
from gpusched.base.real_data import find_data
from gpusched.reporting.text_table import Table
from gpusched_papers.claims import Comparison, verdicts
from gpusched_papers.matching import tables, timing_tables
from gpusched_papers.matching.comparisons import comparisons
from gpusched_papers.matching.coverage import Coverage, coverage_of
from gpusched_papers.matching.online import reproduction as matching_online
from gpusched_papers.matching.online.reproduction import Online
from gpusched_papers.matching.published import PUBLISHED
from gpusched_papers.matching.runs import Check, Run, Timing, checks_of, gap_runs, timings_of
from gpusched_papers.matching.settings import DRAWN, FAMILIES, MAIN, Family
from gpusched_papers.study import (
    Interrupted,
    Progress,
    finish,
    plain,
    run_stage,
    with_left_out,
    write_files,
    write_rows,
)
from gpusched_papers.unequal_gpus import TABLES

Made = TypeVar("Made")

_GAPS: Final = "instances with a proven optimum"
_COVERED: Final = "samples of categories counted"
_TIMES: Final = "decisions timed"
_CHECKS: Final = "mixed-integer programs"
# Timing and the programs of HiGHS take long, and vary little.
_TIMED_SEEDS: Final = 10
_CHECKED_SEEDS: Final = 5


@dataclass
class Matching:
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
    coverage: list[Coverage] = field(default_factory=list)
    large: list[Run] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    online: Online = field(default_factory=Online)

    def tables(self) -> list[Table]:
        """The results."""
        known = tables.families(self.runs)
        made = [tables.by_size(self.runs, family) for family in known]
        made.append(verdicts(self.comparisons()))
        for of in (tables.by_draws, tables.against_baselines, tables.ablations):
            made += [of(self.runs, family) for family in known]
        if self.coverage:
            made.append(tables.coverage(self.coverage))
        if self.timings:
            made.append(timing_tables.timings(self.timings))
        if self.large:
            made.append(timing_tables.large(self.large))
        if self.checks:
            made.append(timing_tables.checks(self.checks))
        online = self.online.tables()
        return [*made, *online] if online else with_left_out(made, self.online.missing)

    def comparisons(self) -> list[Comparison]:
        """What is published, beside ours."""
        return comparisons(
            self.runs, self.timings, self.online.comparisons(PUBLISHED.claim("fairness"))
        )

    def to_dict(self) -> dict[str, Any]:
        """All runs and tables as plain values for JSON."""
        return plain(
            paper="matching",
            published=PUBLISHED.by_key,
            comparisons=self.comparisons(),
            runs=(*self.runs, *self.large),
            coverage=self.coverage,
            timings=self.timings,
            checks=self.checks,
            online=self.online.rows(),
            missing=self.online.missing,
            tables=self.tables(),
        )

    def write(self, folder: Path) -> list[Path]:
        """Write figures, tables.md, runs.csv, online.csv and results.json; return the files."""
        from gpusched_papers.matching import figures

        seeds = len({run.seed for run in self.runs})
        note = f"{MAIN[0]} jobs, {MAIN[1]} workers, {seeds} instances; mean, and dotted the worst"
        drawn = {"gap.png": figures.gap_by_draws(self.runs, note)}
        if self.timings:
            note = "Time of a decision, one thread, median of the instances"
            drawn["time.png"] = figures.time_by_size(self.timings, self.large, note)
        rows = map(dataclasses.asdict, (*self.runs, *self.large))
        files = write_files(self, folder, drawn | self.online.figures(), rows)
        if self.online.runs:
            files.append(folder / "online.csv")
            write_rows(self.online.rows(), files[-1])
        return files


def stages(*, seeds: int, quick: bool, exact: bool) -> dict[str, int]:
    """Tell what it runs; see :meth:`gpusched_papers.registry.Paper.stages`."""
    num_families = len(_families())
    offline = {_GAPS: seeds * num_families}
    if not quick:
        offline[_COVERED] = seeds * num_families
        offline[_TIMES] = min(seeds, _TIMED_SEEDS)
    if exact:
        offline[_CHECKS] = min(seeds, _CHECKED_SEEDS) * num_families
    return offline | matching_online.stages(seeds=seeds, quick=quick)


def _families() -> tuple[Family, ...]:
    """Those whose data are there."""
    return FAMILIES if find_data(TABLES) else (DRAWN,)


def reproduce(*, seeds: int, quick: bool, exact: bool, progress: Progress) -> Matching:
    """Run it; see :meth:`gpusched_papers.registry.Paper.reproduce`."""
    found = Matching()
    failures = Failures()

    def stage(
        what: str,
        run: Callable[..., Made],
        tasks: list[tuple[Any, ...]],
        part: str,
        take: Callable[[list[Made]], None],
    ) -> None:
        """Run the tasks, and take what is done in their order."""
        made: dict[tuple[Any, ...], Made] = {}
        done = run_stage(
            what, run, tasks, progress, failures,
            name=lambda task: part + _part_of(task), is_timed=what == _TIMES,
        )  # fmt: skip
        for task, one in done:
            made[task] = one
            take([made[task] for task in tasks if task in made])

    def each(num: int, *more: Any) -> list[tuple[Any, ...]]:
        return [(family, seed, *more) for family in _families() for seed in range(num)]

    def take_runs(made: list[list[Run]]) -> None:
        found.runs = list(chain(*made))

    def take_coverage(made: list[list[Coverage]]) -> None:
        found.coverage = list(chain(*made))

    def take_times(made: list[tuple[list[Timing], list[Run]]]) -> None:
        found.timings = list(chain(*(timings for timings, _ in made)))
        found.large = list(chain(*(large for _, large in made)))

    def take_checks(made: list[list[Check]]) -> None:
        found.checks = list(chain(*made))

    try:
        stage(_GAPS, gap_runs, each(seeds, quick), "", take_runs)
        if not quick:
            stage(_COVERED, coverage_of, each(seeds), "coverage, ", take_coverage)
            times = [(seed,) for seed in range(min(seeds, _TIMED_SEEDS))]
            stage(_TIMES, timings_of, times, "times, ", take_times)
        if exact:
            stage(_CHECKS, checks_of, each(min(seeds, _CHECKED_SEEDS)), "check, ", take_checks)
        matching_online.study(
            found.online, seeds=seeds, quick=quick, progress=progress, failures=failures
        )
    except KeyboardInterrupt:
        raise Interrupted(found if _is_enough(found) else None) from None
    finish(failures, found if _is_enough(found) else None)
    return found


def _part_of(task: tuple[Any, ...]) -> str:
    family = f"{task[0].title}, " if isinstance(task[0], Family) else ""
    return f"{family}seed {task[1] if family else task[0]}"


def _is_enough(found: Matching) -> bool:
    return len({run.seed for run in found.runs}) >= 2
