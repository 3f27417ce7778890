"""A-SRPT after Luo et al. (INFOCOM 2025): its gain over baselines on the same predictions."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gpusched.base.failures import Failures
from gpusched.reporting.text_table import Table
from gpusched_papers.a_srpt import tables
from gpusched_papers.a_srpt.comparisons import comparisons
from gpusched_papers.a_srpt.published import PUBLISHED
from gpusched_papers.a_srpt.runs import Run, run_arms
from gpusched_papers.a_srpt.settings import (
    A_SRPT,
    BASELINES,
    BY_WORK,
    FIRST_SEED,
    HEAVY_SHARES,
    LARGE,
    NOISES,
    OURS,
    TAUS,
    TESTBED,
    WAITING,
    Arm,
    Place,
    Setting,
    by_tau,
    noise,
    requests,
)
from gpusched_papers.a_srpt.tables import Summary, jct, p99
from gpusched_papers.a_srpt.workload import missing_places, real_places
from gpusched_papers.common.by_seed import BySeed
from gpusched_papers.common.plain_values import plain
from gpusched_papers.common.real_data import with_left_out
from gpusched_papers.common.reproduction import Interrupted, Progress, finish
from gpusched_papers.common.stages import run_stage
from gpusched_papers.common.verdicts import Comparison, verdicts
from gpusched_papers.common.written_files import write_files

_STAGE: Final = "settings, all policies"


@dataclass
class ASrpt:
    """All runs of the study.

    Attributes
    ----------
    runs
        A list by seed for every pair of a setting and a policy.
    missing
        Real traces that were not found.
    """

    runs: dict[tuple[Setting, Arm], list[Run]] = field(default_factory=dict)
    missing: tuple[Place, ...] = ()

    def tables(self) -> list[Table]:
        """The results."""
        made = tables.all_tables(Summary(self.runs))
        made.insert(1, verdicts(self.comparisons()))
        return with_left_out(made, (place.trace for place in self.missing))

    def comparisons(self) -> list[Comparison]:
        """What is told of the paper's results, beside ours."""
        return comparisons(Summary(self.runs))

    def to_dict(self) -> dict[str, Any]:
        """All runs and tables as plain values for JSON."""
        return plain(
            paper="a-srpt",
            published=PUBLISHED.by_key,
            comparisons=self.comparisons(),
            runs=self._all_runs(),
            missing=[place.trace for place in self.missing],
            tables=self.tables(),
        )

    def write(self, folder: Path) -> list[Path]:
        """Write figures, tables.md, runs.csv and results.json; return the files."""
        rows = map(dataclasses.asdict, self._all_runs())
        return write_files(self, folder, self._figures(), rows)

    def _all_runs(self) -> list[Run]:
        return [run for runs in self.runs.values() for run in runs]

    def _figures(self) -> dict[str, Any]:
        from gpusched_papers.a_srpt import figures

        summary = Summary(self.runs)
        places = (TESTBED, LARGE)
        seeds = len(next(iter(self.runs.values())))
        note = f"Load 0.95, predictions of a forest; {seeds} seeds, mean and 95 % interval"
        arms = (*OURS, *BASELINES, *WAITING)
        drawn = {
            "policies.png": figures.bars(
                {
                    place.name: {
                        arm.name: (
                            summary.mean(Setting(place), arm, jct),
                            summary.mean(Setting(place), arm, p99),
                        )
                        for arm in arms
                    }
                    for place in places
                },
                note,
            )
        }
        if not summary.has(Setting(LARGE), by_tau(BY_WORK, TAUS[0])):
            return drawn
        drawn["patience.png"] = figures.curves(
            {
                place.name: {
                    base.name: [
                        summary.mean(Setting(place), by_tau(base, tau), jct) for tau in TAUS
                    ]
                    for base in (A_SRPT, BY_WORK)
                }
                for place in places
            },
            range(len(TAUS)),
            [f"{tau:g}" for tau in TAUS],
            "patience tau",
            note,
        )
        shown = (BY_WORK, A_SRPT, OURS[2], BASELINES[1], BASELINES[2], BASELINES[3], WAITING[2])
        sigmas = (0.0, *NOISES)
        drawn["errors.png"] = figures.curves(
            {
                place.name: {
                    arm.name: [
                        summary.mean(tables.errors_setting(place, noise(sigma)), arm, jct)
                        for sigma in sigmas
                    ]
                    for arm in shown
                }
                for place in places
            },
            sigmas,
            [f"{sigma:g}" for sigma in sigmas],
            "sigma of the error's logarithm",
            note.replace("predictions of a forest", "the truth times exp(N(0, sigma))"),
        )
        drawn["heavy-share.png"] = figures.curves(
            {
                LARGE.name: {
                    arm.name: [
                        summary.mean(Setting(LARGE, heavy_share=share), arm, jct)
                        for share in HEAVY_SHARES
                    ]
                    for arm in shown
                }
            },
            HEAVY_SHARES,
            [f"{share:.0%}" for share in HEAVY_SHARES],
            "jobs with more than one GPU that communicate heavily",
            note,
        )
        return drawn


def stages(*, seeds: int, quick: bool, exact: bool) -> dict[str, int]:
    """Tell what it runs; see :meth:`gpusched_papers.registry.Paper.stages`."""
    return {_STAGE: seeds * len(_wanted(quick))}


def _wanted(quick: bool) -> dict[Setting, tuple[Arm, ...]]:
    wanted: dict[Setting, tuple[Arm, ...]] = {}
    for setting, arm in requests(quick, () if quick else real_places()):
        wanted[setting] = (*wanted.get(setting, ()), arm)
    return wanted


def reproduce(*, seeds: int, quick: bool, exact: bool, progress: Progress) -> ASrpt:
    """Run it; see :meth:`gpusched_papers.registry.Paper.reproduce`."""
    found = ASrpt(missing=() if quick else missing_places())
    wanted = _wanted(quick)
    evaluation = range(FIRST_SEED, FIRST_SEED + seeds)
    tasks = [(setting, arms, seed) for seed in evaluation for setting, arms in wanted.items()]
    made: BySeed[Setting, list[Run]] = BySeed(wanted)
    failures = Failures()
    done = run_stage(
        _STAGE, run_arms, tasks, progress, failures, name=lambda task: f"seed {task[-1]}"
    )
    try:
        for (setting, _, seed), runs in done:
            made.add(setting, seed, runs)
    except KeyboardInterrupt:
        found.runs = _by_policy(wanted, made)
        raise Interrupted(found if _is_enough(found) else None) from None
    found.runs = _by_policy(wanted, made)
    finish(failures, found if _is_enough(found) else None)
    return found


def _by_policy(
    wanted: dict[Setting, tuple[Arm, ...]], made: BySeed[Setting, list[Run]]
) -> dict[tuple[Setting, Arm], list[Run]]:
    return {
        (setting, arm): [runs[place] for runs in made.of(setting)]
        for setting, arms in wanted.items()
        for place, arm in enumerate(arms)
    }


def _is_enough(found: ASrpt) -> bool:
    return bool(found.runs) and len(next(iter(found.runs.values()))) >= 2
