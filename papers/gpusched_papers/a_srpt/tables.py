"""The tables of the study of A-SRPT."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.reporting.text_table import Table, figure_of, percent_of, table
from gpusched.statistics.intervals import Interval
from gpusched_papers.a_srpt.published import GAIN
from gpusched_papers.a_srpt.runs import Run
from gpusched_papers.a_srpt.settings import (
    A_SRPT,
    BASELINES,
    BY_WORK,
    FIFO,
    FOREST,
    LARGE,
    OURS,
    SRTF,
    STEPS,
    TAUS,
    TESTBED,
    WAITING,
    Arm,
    Place,
    Setting,
    ablations,
    by_tau,
    error_predictors,
    noise,
    reference,
)
from gpusched_papers.common.seed_means import mean, reduction

_ALL = (*OURS, *BASELINES, *WAITING)


class Summary:
    """The runs by setting and policy; one value per seed."""

    def __init__(self, runs: dict[tuple[Setting, Arm], list[Run]]) -> None:
        self._runs = runs

    def has(self, setting: Setting, arm: Arm) -> bool:
        """Whether it was run."""
        return (setting, arm) in self._runs

    def settings(self, arm: Arm = WAITING[-1]) -> list[Setting]:
        """Those in which a policy was run, in order; by default those with all policies."""
        return [setting for setting, other in self._runs if other == arm]

    def values(self, setting: Setting, arm: Arm, of: Callable[[Run], float]) -> Float64:
        """One value per seed."""
        return np.array([of(run) for run in self._runs[setting, arm]])

    def mean(self, setting: Setting, arm: Arm, of: Callable[[Run], float]) -> Interval:
        """Over the seeds."""
        return mean(self.values(setting, arm, of))

    def best(self, setting: Setting, arms: Iterable[Arm]) -> Arm:
        """The one with the least mean JCT."""
        return min(arms, key=lambda arm: float(self.values(setting, arm, jct).mean()))

    def below(self, setting: Setting, arm: Arm, other: Arm, of: Callable[[Run], float]) -> Interval:
        """By how much one is below another on the same jobs."""
        return reduction(self.values(setting, arm, of), self.values(setting, other, of))

    def closed(self, setting: Setting, arm: Arm) -> float:
        """Part of the way from FIFO to SRTF without contention that a policy goes, of the means."""
        ideal = reference(setting)
        fifo, srtf = (self.mean(ideal, other, jct).value for other in (FIFO, SRTF))
        return (fifo - self.mean(setting, arm, jct).value) / (fifo - srtf)


def jct(run: Run) -> float:
    """Mean JCT in seconds."""
    return run.mean_jct_s


def p99(run: Run) -> float:
    """99th percentile of the JCT in seconds."""
    return run.p99_jct_s


def name_of(setting: Setting) -> str:
    """What a table calls it."""
    parts = [setting.place.name]
    if setting.load is not None:
        parts.append(f"load {setting.load:g}")
    if setting.heavy_share is not None:
        parts.append(f"heavy {setting.heavy_share:.0%}")
    if setting.contention != "reserved":
        parts.append(setting.contention)
    if setting.predictor != FOREST:
        parts.append(setting.predictor)
    return ", ".join(parts)


def all_tables(summary: Summary) -> list[Table]:
    """Every table for which there are runs."""
    settings = summary.settings()
    made = [goals(summary, settings)]
    made += [by_policy(summary, Setting(place)) for place in (TESTBED, LARGE)]
    made.append(predictions(summary))
    if summary.has(Setting(LARGE), ablations(BY_WORK)[0]):
        made += [changes(summary), patience(summary)]
        made += [errors(summary, place) for place in (TESTBED, LARGE)]
    return made


def goals(summary: Summary, settings: Sequence[Setting]) -> Table:
    """Both forms of A-SRPT against the best baseline in every setting."""
    rows = []
    for setting in settings:
        theirs = summary.best(setting, BASELINES)
        waiting = summary.best(setting, WAITING)
        rows.append(
            (
                name_of(setting),
                waiting.name,
                percent_of(summary.below(setting, BY_WORK, waiting, jct)),
                percent_of(summary.below(setting, OURS[2], waiting, jct)),
                theirs.name,
                percent_of(summary.below(setting, A_SRPT, theirs, jct)),
                percent_of(summary.below(setting, BY_WORK, theirs, jct)),
                percent_of(summary.below(setting, BY_WORK, theirs, p99)),
            )
        )
    return table(
        "Below the best baseline with the same predictions",
        ("", "best that waits", "by-work, mean", "a-srpt-p, mean",
         "best that does not", "a-srpt, mean", "by-work, mean", "by-work, p99"),
        rows,
        (
            "1 - mean JCT / mean JCT of the baseline over all seeds, and the 95 % interval of this "
            f"ratio; negative: above it. Goal [second-hand]: {GAIN[0]:.0%} to {GAIN[1]:.0%} lower "
            "mean at load 0.95, lower p99.",
            "Best: with the least mean JCT of five. Those that wait do not start before the gang "
            "fits on as few servers as it can.",
        ),
    )  # fmt: skip


def by_policy(summary: Summary, setting: Setting) -> Table:
    """All policies in one setting."""
    rows = []
    for arm in _ALL:
        rows.append(
            (
                arm.name,
                figure_of(summary.mean(setting, arm, jct)),
                figure_of(summary.mean(setting, arm, p99)),
                figure_of(summary.mean(setting, arm, lambda run: run.completion_ratio), 3),
                f"{summary.closed(setting, arm):.0%}",
                *(
                    f"{summary.mean(setting, arm, of).value:.0f}"
                    for of in (
                        lambda run: run.wait_single_s,
                        lambda run: run.wait_server_s,
                        lambda run: run.wait_wide_s,
                    )
                ),
                f"{summary.mean(setting, arm, lambda run: run.mean_servers).value:.2f}",
                f"{summary.mean(setting, arm, _lost).value:.1%}",
            )
        )
    ideal = reference(setting)
    for arm in (SRTF, FIFO):
        rows.append(
            (
                f"{arm.name}, truth, no contention",
                figure_of(summary.mean(ideal, arm, jct)),
                figure_of(summary.mean(ideal, arm, p99)),
                figure_of(summary.mean(ideal, arm, lambda run: run.completion_ratio), 3),
                *("",) * 6,
            )
        )
    return table(
        f"All policies: {name_of(setting)}",
        ("policy", "mean JCT, s", "p99 JCT, s", "completions / bound", "closed",
         "wait, 1 GPU, s", "one server", "several", "servers", "lost"),
        rows,
        (
            "Completions / bound: sum of completion times over max(LB1, LB2). Closed: part of the "
            "way in mean JCT from fifo to srtf, both without contention, srtf with the truth and "
            "free preemption. Lost: GPU time that jobs take longer where they are placed.",
        ),
    )  # fmt: skip


def _lost(run: Run) -> float:
    return (run.lost_to_placement or 0.0) + (run.lost_to_contention or 0.0)


def predictions(summary: Summary) -> Table:
    """How good the forest was in the run of a-srpt-by-work."""
    rows = []
    for setting in summary.settings(BY_WORK):
        if setting.predictor == FOREST and setting.shares_predictions:
            rows.append(
                (
                    name_of(setting),
                    *(
                        figure_of(summary.mean(setting, BY_WORK, of), 2)
                        for of in (
                            lambda run: run.bias or 0.0,
                            lambda run: run.r2_log or 0.0,
                            lambda run: run.rank_correlation or 0.0,
                            lambda run: run.coverage or 0.0,
                        )
                    ),
                )
            )
    return table(
        "The forest, trained online in the run of a-srpt-by-work",
        ("", "predicted / true sum", "R2 of log time", "rank correlation", "coverage"),
        rows,
        ("Coverage: jobs of whose group a run had finished before they arrived.",),
    )


def changes(summary: Summary) -> Table:
    """What each part is worth: one changed at a time."""
    places = [Setting(place) for place in (TESTBED, LARGE)]
    rows = []
    for base in (A_SRPT, BY_WORK):
        rows.append(_change(summary, places, base, base))
        arms = (*(STEPS if base == A_SRPT else ()), *ablations(base))
        rows += [_change(summary, places, arm, base) for arm in arms]
    headings = [""]
    for setting in places:
        headings += [f"{setting.place.name}: mean JCT, s", "change", "p99, change"]
    return table(
        "Ablations at load 0.95",
        headings,
        rows,
        ("Change: mean JCT / mean JCT of the unchanged policy - 1, means over all seeds.",),
    )


def _change(summary: Summary, settings: Sequence[Setting], arm: Arm, base: Arm) -> tuple[str, ...]:
    cells = [arm.name]
    for setting in settings:
        cells.append(figure_of(summary.mean(setting, arm, jct)))
        for of in (jct, p99):
            above = -summary.below(setting, arm, base, of).value
            cells.append("" if arm == base else f"{above:+.0%}")
    return tuple(cells)


def patience(summary: Summary) -> Table:
    """Mean and p99 JCT by tau."""
    rows = []
    for tau in TAUS:
        cells = [f"{tau:g}"]
        for place in (TESTBED, LARGE):
            for base in (A_SRPT, BY_WORK):
                arm = by_tau(base, tau)
                cells += [figure_of(summary.mean(Setting(place), arm, of)) for of in (jct, p99)]
        rows.append(tuple(cells))
    headings = ["tau"]
    for place in (TESTBED, LARGE):
        size = place.name.partition(",")[0]
        for base in (A_SRPT, BY_WORK):
            headings += [f"{size}, {base.name}: mean, s", "p99, s"]
    return table("Patience tau at load 0.95", headings, rows)


def errors(summary: Summary, place: Place) -> Table:
    """Mean JCT by predictor, each trained in the policy's own run."""
    arms = (*OURS, *BASELINES, WAITING[2])
    rows = []
    for name in error_predictors():
        setting = errors_setting(place, name)
        theirs = summary.best(setting, BASELINES)
        rows.append(
            (
                "truth" if name == noise(0.0) else name.partition(":trees")[0],
                *(f"{summary.mean(setting, arm, jct).value:.0f}" for arm in arms),
                percent_of(summary.below(setting, BY_WORK, theirs, jct)),
            )
        )
    return table(
        f"Prediction errors: {name_of(Setting(place))}",
        (
            "predictor",
            *(arm.name for arm in arms),
            f"{BY_WORK.name} below the best that does not wait",
        ),
        rows,
        (
            "Mean JCT, s. noise: the truth times exp(N(0, sigma)). group-mean, last-value and "
            "forest learn online in each policy's own run.",
        ),
    )


def errors_setting(place: Place, name: str) -> Setting:
    """The setting of a row of :func:`errors`."""
    return Setting(place, predictor=name, shares_predictions=False)
