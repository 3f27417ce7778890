"""Dancer (Zhang et al., IEEE TCC 2025): deadlines met against baselines, and what is possible."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gpusched.base.failures import Failures
from gpusched.reporting.text_table import Table
from gpusched_papers.claims import Comparison, verdicts
from gpusched_papers.dancer import tables
from gpusched_papers.dancer.comparisons import comparisons
from gpusched_papers.dancer.milp import Gap, gap
from gpusched_papers.dancer.published import PUBLISHED
from gpusched_papers.dancer.runs import Run, run_arms
from gpusched_papers.dancer.settings import (
    CHRONUS,
    DANCER,
    EDF,
    EDF_FASTEST,
    FIRST_SEED,
    GAVEL,
    LARGE,
    ORDERED,
    PINNED,
    SERIES,
    TIRESIAS,
    WORKLOADS,
    Arm,
    Series,
    Setting,
    requests,
)
from gpusched_papers.dancer.summary import Summary, bound
from gpusched_papers.dancer.workload import need_tables
from gpusched_papers.study import (
    BySeed,
    Interrupted,
    Progress,
    finish,
    plain,
    run_stage,
    with_left_out,
    write_files,
)
from gpusched_papers.unequal_gpus import Workload, absent

_STAGE: Final = "jobs of a seed, all policies"
_EXACT: Final = "integer programs"
_JUDGED: Final = 3  # behind the tables of gains
_DRAWN: Final = (DANCER, ORDERED, PINNED, EDF_FASTEST, CHRONUS, TIRESIAS, GAVEL, EDF)


@dataclass
class Dancer:
    """All runs of the study.

    Attributes
    ----------
    runs
        A list by seed for every pair of a setting and a policy.
    gaps
        To the integer program, by seed; empty unless it was asked for.
    missing
        Workloads that were not found.
    """

    runs: dict[tuple[Setting, Arm], list[Run]] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    missing: tuple[Workload, ...] = ()

    def tables(self) -> list[Table]:
        """The results."""
        made = tables.all_tables(Summary(self.runs), self.gaps)
        made.insert(_JUDGED, verdicts(self.comparisons()))
        return with_left_out(made, (workload.trace for workload in self.missing))

    def comparisons(self) -> list[Comparison]:
        """What is published, beside ours."""
        return comparisons(Summary(self.runs))

    def to_dict(self) -> dict[str, Any]:
        """All runs and tables as plain values for JSON."""
        return plain(
            paper="dancer",
            published=PUBLISHED.by_key,
            comparisons=self.comparisons(),
            runs=self._rows(),
            gaps=self.gaps,
            missing=[workload.trace for workload in self.missing],
            tables=self.tables(),
        )

    def write(self, folder: Path) -> list[Path]:
        """Write figures, tables.md, runs.csv and results.json; return the files."""
        return write_files(self, folder, self._figures(), self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            dataclasses.asdict(run) | {"gap": run.gap}
            for runs in self.runs.values()
            for run in runs
        ]

    def _figures(self) -> dict[str, Any]:
        from gpusched_papers.dancer import figures

        summary = Summary(self.runs)
        main = [setting for setting in summary.main() if setting.place != LARGE]
        note = f"{summary.num_seeds} seeds, mean and 95 % interval"
        panels = []
        for workload in WORKLOADS:
            here = [setting for setting in main if setting.workload == workload]
            if here:
                labels = [f"{setting.load:g}" for setting in here]
                panels.append(_panel(summary, workload.name, "load", labels, here, _DRAWN))
        drawn = {
            "load.png": figures.curves(
                panels,
                f"{main[0].place.name}, {main[0].place.jobs} jobs; {note}",
                min(2, len(panels)),
            )
        }
        series = [one for one in SERIES if all(map(summary.has, one.settings.values()))]
        if series:
            setting = next(iter(series[0].settings.values()))
            panels = [_varied(summary, one) for one in series]
            about = f"{setting.workload.name}, load {setting.load:g}; {note}"
            drawn["sensitivity.png"] = figures.curves(panels, about, 3)
        return drawn


def _panel(
    summary: Summary,
    title: str,
    heading: str,
    labels: Sequence[str],
    settings: Sequence[Setting],
    arms: Sequence[Arm],
) -> Any:
    from gpusched_papers.dancer.figures import Panel

    return Panel(
        title,
        heading,
        labels,
        {
            arm.name: [summary.mean(setting, arm) for setting in settings]
            for arm in arms
            if all(summary.has(setting, arm) for setting in settings)
        },
        [summary.mean(setting, DANCER, bound) for setting in settings],
    )


def _varied(summary: Summary, one: Series) -> Any:
    settings = list(one.settings.values())
    return _panel(summary, one.title, one.heading, list(one.settings), settings, one.arms)


def stages(*, seeds: int, quick: bool, exact: bool) -> dict[str, int]:
    """Tell what it runs; see :meth:`gpusched_papers.registry.Paper.stages`."""
    wanted = _wanted(quick, absent(WORKLOADS))
    return {_STAGE: seeds * len(wanted), **({_EXACT: seeds} if exact else {})}


def _wanted(quick: bool, missing: tuple[Workload, ...]) -> dict[Setting, tuple[Arm, ...]]:
    return {
        setting: arms
        for setting, arms in requests(quick).items()
        if setting.workload not in missing
    }


def reproduce(*, seeds: int, quick: bool, exact: bool, progress: Progress) -> Dancer:
    """Run it; see :meth:`gpusched_papers.registry.Paper.reproduce`."""
    need_tables()
    missing = absent(WORKLOADS)
    found = Dancer(missing=() if quick else missing)
    wanted = _wanted(quick, missing)
    numbers = range(FIRST_SEED, FIRST_SEED + seeds)
    tasks = [(setting, arms, seed) for seed in numbers for setting, arms in wanted.items()]
    made: BySeed[Setting, list[Run]] = BySeed(wanted)
    failures = Failures()
    gaps: dict[int, Gap] = {}
    solved = [(seed, (DANCER, ORDERED, EDF_FASTEST)) for seed in numbers]
    try:
        done = run_stage(_STAGE, run_arms, tasks, progress, failures, name=_part_of)
        for (setting, _, seed), runs in done:
            made.add(setting, seed, runs)
        if exact:
            for (seed, _), one in run_stage(
                _EXACT, gap, solved, progress, failures, name=lambda of: f"optimum of seed {of[0]}"
            ):
                gaps[seed] = one
                found.gaps = [gaps[seed] for seed in sorted(gaps)]
    except KeyboardInterrupt:
        found.runs = _by_policy(wanted, made)
        raise Interrupted(found if len(made.seeds()) >= 2 else None) from None
    found.runs = _by_policy(wanted, made)
    finish(failures, found if len(made.seeds()) >= 2 else None)
    return found


def _part_of(task: tuple[Setting, tuple[Arm, ...], int]) -> str:
    return f"{task[0]}, seed {task[2]}"


def _by_policy(
    wanted: dict[Setting, tuple[Arm, ...]], made: BySeed[Setting, list[Run]]
) -> dict[tuple[Setting, Arm], list[Run]]:
    return {
        (setting, arm): [runs[place] for runs in made.of(setting)]
        for setting, arms in wanted.items()
        for place, arm in enumerate(arms)
    }
