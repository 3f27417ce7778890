"""Matching markets (Liu et al., IEEE TPDS 2024): single decisions, and the policy online."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from gpusched.base.failures import Failures
from gpusched.papers.common.plain_values import plain
from gpusched.papers.common.real_data import with_left_out
from gpusched.papers.common.reproduction import Interrupted, Progress, finish
from gpusched.papers.common.stages import run_stage
from gpusched.papers.common.text_table import Table
from gpusched.papers.common.verdicts import Comparison, verdicts
from gpusched.papers.common.written_files import write_files, write_rows
from gpusched.papers.matching import tables
from gpusched.papers.matching.comparisons import comparisons
from gpusched.papers.matching.published import PUBLISHED
from gpusched.papers.matching.runs import (
    MAIN,
    Check,
    Run,
    Timing,
    checks_of,
    gap_runs,
    timings_of,
)
from gpusched.papers.matching_online import reproduction as matching_online
from gpusched.papers.matching_online.reproduction import Online

Made = TypeVar("Made")

_GAPS: Final = "instances with a proven optimum"
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
    large: list[Run] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    online: Online = field(default_factory=Online)

    def tables(self) -> list[Table]:
        """The results."""
        made = [
            tables.by_size(self.runs),
            verdicts(self.comparisons()),
            tables.by_draws(self.runs),
            tables.against_baselines(self.runs),
            tables.ablations(self.runs),
        ]
        if self.timings:
            made.append(tables.timings(self.timings))
        if self.large:
            made.append(tables.large(self.large))
        if self.checks:
            made.append(tables.checks(self.checks))
        online = self.online.tables()
        return [*made, *online] if online else with_left_out(made, self.online.missing)

    def comparisons(self) -> list[Comparison]:
        """What is published, beside ours."""
        return comparisons(self.runs, self.timings)

    def to_dict(self) -> dict[str, Any]:
        """All runs and tables as plain values for JSON."""
        return plain(
            paper="matching",
            published=PUBLISHED.by_key,
            comparisons=self.comparisons(),
            runs=(*self.runs, *self.large),
            timings=self.timings,
            checks=self.checks,
            online=self.online.rows(),
            missing=self.online.missing,
            tables=self.tables(),
        )

    def write(self, folder: Path) -> list[Path]:
        """Write figures, tables.md, runs.csv, online.csv and results.json; return the files."""
        from gpusched.papers.matching import figures

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
    """Tell what it runs; see :meth:`gpusched.papers.registry.Paper.stages`."""
    offline = {_GAPS: seeds}
    if not quick:
        offline[_TIMES] = min(seeds, _TIMED_SEEDS)
    if exact:
        offline[_CHECKS] = min(seeds, _CHECKED_SEEDS)
    return offline | matching_online.stages(seeds=seeds, quick=quick)


def reproduce(*, seeds: int, quick: bool, exact: bool, progress: Progress) -> Matching:
    """Run it; see :meth:`gpusched.papers.registry.Paper.reproduce`."""
    found = Matching()
    failures = Failures()
    gaps: dict[int, list[Run]] = {}
    times: dict[int, tuple[list[Timing], list[Run]]] = {}
    checks: dict[int, list[Check]] = {}

    def stage(what: str, run: Callable[..., Made], tasks: list[tuple[Any, ...]], part: str) -> Any:
        return run_stage(
            what, run, tasks, progress, failures,
            name=lambda task: f"{part}seed {task[0]}", is_timed=what == _TIMES,
        )  # fmt: skip

    try:
        for (seed, _), runs in stage(_GAPS, gap_runs, [(seed, quick) for seed in range(seeds)], ""):
            gaps[seed] = runs
            found.runs = _in_order(gaps)
        if not quick:
            tasks = [(seed,) for seed in range(min(seeds, _TIMED_SEEDS))]
            for (seed,), both in stage(_TIMES, timings_of, tasks, "times of "):
                times[seed] = both
                found.timings = _in_order({of: made[0] for of, made in times.items()})
                found.large = _in_order({of: made[1] for of, made in times.items()})
        if exact:
            tasks = [(seed,) for seed in range(min(seeds, _CHECKED_SEEDS))]
            for (seed,), proven in stage(_CHECKS, checks_of, tasks, "check of "):
                checks[seed] = proven
                found.checks = _in_order(checks)
        matching_online.study(
            found.online, seeds=seeds, quick=quick, progress=progress, failures=failures
        )
    except KeyboardInterrupt:
        raise Interrupted(found if _is_enough(found) else None) from None
    finish(failures, found if _is_enough(found) else None)
    return found


def _in_order(by_seed: Mapping[int, list[Made]]) -> list[Made]:
    return [made for seed in sorted(by_seed) for made in by_seed[seed]]


def _is_enough(found: Matching) -> bool:
    return len({run.seed for run in found.runs}) >= 2
