"""The tables of the policy matching online."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.reporting.text_table import Table, figure_of, percent_of, table
from gpusched.statistics.intervals import Interval
from gpusched_papers.matching.online.runs import OnlineRun
from gpusched_papers.matching.online.settings import (
    ALLOX,
    ARMS,
    ELASTIC,
    GAVEL,
    LARGE,
    MIDDLE,
    OPTIMUS,
    OWN,
    PAIRS,
    PLACEMENT,
    PLACEMENTS,
    SPEEDS,
    WORKLOADS,
    Arm,
    Setting,
)
from gpusched_papers.study import mean, reduction
from gpusched_papers.unequal_gpus import Workload

_HOUR_S: Final = 3600.0
_SHOWN: Final = (
    (OWN, GAVEL), (OWN, ALLOX), (ELASTIC, OPTIMUS), (ELASTIC, GAVEL), (ELASTIC, ALLOX),
)  # fmt: skip
SERVICE: Final = "no wait, best type, own width"


def jct(run: OnlineRun) -> float:
    """Mean JCT."""
    return run.mean_jct_s


class Summary:
    """The runs by setting and policy, one value per seed."""

    def __init__(self, runs: Mapping[tuple[Setting, Arm], Sequence[OnlineRun]]) -> None:
        self._runs = runs
        self.num_seeds = max(len(some) for some in runs.values())
        self.settings = list(dict.fromkeys(setting for setting, _ in runs))

    def has(self, setting: Setting, arm: Arm = OWN) -> bool:
        """Whether it was run."""
        return (setting, arm) in self._runs

    def values(self, setting: Setting, arm: Arm, column: Callable[[OnlineRun], float]) -> Float64:
        """One value per seed."""
        return np.array([column(run) for run in self._runs[setting, arm]])

    def mean(
        self, setting: Setting, arm: Arm, column: Callable[[OnlineRun], float] = jct
    ) -> Interval:
        """Over the seeds."""
        return mean(self.values(setting, arm, column))

    def reduction(self, setting: Setting, ours: Arm, theirs: Arm) -> Interval:
        """By what part the mean JCT is less, in pairs of the same jobs."""
        return reduction(self.values(setting, ours, jct), self.values(setting, theirs, jct))

    def main(self) -> list[Setting]:
        """Return the settings of the comparison: one placement, both clusters."""
        return [setting for setting in self.settings if setting.placement == PLACEMENT]

    def small(self) -> list[Setting]:
        """Return those of the small cluster."""
        return [setting for setting in self.main() if setting.place.name != LARGE.name]

    def arms(self, settings: Sequence[Setting]) -> list[Arm]:
        """Return the policies that were run on some of these."""
        return [arm for arm in ARMS if any(self.has(setting, arm) for setting in settings)]


def all_tables(summary: Summary) -> list[Table]:
    """Return every table that there are runs for."""
    made = [tally(summary), gains(summary)]
    for workload in WORKLOADS:
        here = [setting for setting in summary.small() if setting.workload == workload]
        if here:
            made.append(by_load(summary, workload, here))
    large = [setting for setting in summary.main() if setting.place.name == LARGE.name]
    if large:
        made.append(on_large(summary, large))
    made.append(longest(summary))
    made.append(effort(summary))
    placed = [setting for setting in summary.settings if setting.placement != PLACEMENT]
    if placed:
        made.append(by_placement(summary, placed[0]))
    return made


def tally(summary: Summary) -> Table:
    """In how many settings each is ahead of the other."""
    rows = []
    for ours, theirs in PAIRS:
        here = [s for s in summary.main() if summary.has(s, ours) and summary.has(s, theirs)]
        if not here:
            continue
        found = [summary.reduction(setting, ours, theirs) for setting in here]
        ahead = sum(one.low > 0 for one in found)
        behind = sum(one.high < 0 for one in found)
        values = np.array([one.value for one in found])
        rows.append(
            (
                ours.name,
                theirs.name,
                f"{100 * values.mean():.1f}",
                f"{ahead} / {len(here) - ahead - behind} / {behind}",
                f"{100 * values.max():.1f}",
                f"{100 * values.min():.1f}",
            )
        )
    return table(
        "Online: by how much the mean JCT is less, %, on the same jobs",
        ("policy", "than under", "mean", "less / open / more", "most", "least"),
        rows,
        (
            f"Means over {summary.num_seeds} seeds in each setting. Less, more: settings whose "
            "95 % interval (pairs of the same jobs) is above, or below, 0; open: it holds 0. Most, "
            "least: of the settings.",
        ),
    )


def gains(summary: Summary) -> Table:
    """By how much the mean JCT falls against gavel and others, by setting."""
    shown = [
        (ours, theirs)
        for ours, theirs in _SHOWN
        if any(summary.has(s, ours) and summary.has(s, theirs) for s in summary.main())
    ]
    rows = []
    for setting in summary.main():
        cells = [
            percent_of(summary.reduction(setting, ours, theirs))
            if summary.has(setting, ours) and summary.has(setting, theirs)
            else ""
            for ours, theirs in shown
        ]
        rows.append([_where(setting), *cells])
    return table(
        "Online: reduction of the mean JCT by setting",
        (
            "setting",
            *(
                f"{'own' if ours == OWN else 'elastic'}, against {theirs.name}"
                for ours, theirs in shown
            ),
        ),
        rows,
        (
            f"{summary.num_seeds} seeds, mean and 95 % interval of pairs. own: matching at the "
            "jobs' own widths, as under gavel and allox; elastic: it changes widths, as optimus.",
        ),
    )


def by_load(summary: Summary, workload: Workload, settings: Sequence[Setting]) -> Table:
    """Mean JCT of every policy against the load, under both speeds."""
    place = settings[0].place
    return table(
        f"Online: mean JCT, h: {workload.name}, {place.name}, {place.jobs} jobs",
        ("policy", *(f"{setting.speed}, load {setting.load:g}" for setting in settings)),
        _rows(summary, settings, jct),
        (f"{summary.num_seeds} seeds, mean and 95 % interval over them.",),
    )


def on_large(summary: Summary, settings: Sequence[Setting]) -> Table:
    """Mean JCT of every policy on the large cluster."""
    place = settings[0].place
    return table(
        f"Online: mean JCT, h: {place.name}, {place.jobs} jobs, load {settings[0].load:g}",
        ("policy", *(f"{s.workload.name}, {s.speed}" for s in settings)),
        _rows(summary, settings, jct),
        (f"{summary.num_seeds} seeds, mean and 95 % interval over them.",),
    )


def longest(summary: Summary) -> Table:
    """The 99th percentile of the JCT."""
    settings = [s for s in summary.small() if s.load == MIDDLE and s.speed == SPEEDS[0]]
    return table(
        f"Online: 99th percentile of the JCT, h: load {MIDDLE:g}, speed {SPEEDS[0]}",
        ("policy", *(setting.workload.name for setting in settings)),
        _rows(summary, settings, lambda run: run.p99_jct_s, bound=False),
        (f"{summary.num_seeds} seeds, mean and 95 % interval over them.",),
    )


def effort(summary: Summary) -> Table:
    """Where the time goes, and what else the policies do: means over settings."""
    settings = [s for s in summary.small() if s.speed == SPEEDS[0]]
    rows = []
    for arm in summary.arms(settings):
        if not all(summary.has(setting, arm) for setting in settings):
            continue

        def over(column: Callable[[OnlineRun], float], of: Arm = arm) -> float:
            return float(np.mean([summary.mean(s, of, column).value for s in settings]))

        rows.append(
            [
                arm.name,
                f"{over(jct) / _HOUR_S:.2f}",
                f"{over(lambda run: run.mean_service_s) / _HOUR_S:.2f}",
                f"{over(lambda run: run.mean_wait_s) / _HOUR_S:.2f}",
                f"{over(lambda run: run.mean_slower_s) / _HOUR_S:+.2f}",
                f"{over(lambda run: run.fairness):.2f}",
                f"{over(lambda run: run.preemptions):.1f}",
                f"{over(lambda run: run.resizes):.1f}",
                f"{over(lambda run: run.allocation) * 100:.0f}",
                f"{over(lambda run: run.decision_s) * 1000:.2f}",
            ]
        )
    return table(
        f"Online: where the time goes, and what it takes: speed {SPEEDS[0]}",
        (
            "policy", "mean JCT, h", "service, h", "waits, h", "beyond service, h", "Jain's index",
            "stops", "moves", "held, %", "decision, ms",
        ),
        rows,
        (
            "Means over the settings of the small cluster. JCT = service + waits + beyond service: "
            "slower types, spread gangs and restarts, less what more GPUs save. Jain's index of "
            "JCT over the run time in an equal share. Stops (preemptions) and moves (GPUs changed "
            "without a stop) per job. Held: GPU time until the last job ends. Decision: the run's "
            "processor time over its arrivals and finishes; it depends on the machine.",
        ),
    )  # fmt: skip


def by_placement(summary: Summary, some: Setting) -> Table:
    """Mean JCT under other placements."""
    settings = [
        s
        for place in PLACEMENTS
        for s in summary.settings
        if s.placement == place
        and (s.workload, s.load, s.speed, s.place)
        == (some.workload, some.load, some.speed, some.place)
    ]
    return table(
        f"Online: mean JCT, h, by placement: {_where(some)}",
        ("policy", *(setting.placement for setting in settings)),
        _rows(summary, settings, jct, bound=False),
        (f"All other runs: {PLACEMENT}.",),
    )


def _rows(
    summary: Summary,
    settings: Sequence[Setting],
    column: Callable[[OnlineRun], float],
    *,
    bound: bool = True,
) -> list[list[str]]:
    rows = [
        [arm.name]
        + [
            figure_of(summary.mean(s, arm, column), 2, 1 / _HOUR_S) if summary.has(s, arm) else ""
            for s in settings
        ]
        for arm in summary.arms(settings)
    ]
    if bound:
        least = [summary.mean(s, OWN, lambda run: run.mean_service_s) for s in settings]
        rows.append([SERVICE, *(figure_of(one, 2, 1 / _HOUR_S) for one in least)])
    return rows


def _where(setting: Setting) -> str:
    size = ", large" if setting.place.name == LARGE.name else ""
    return f"{setting.workload.name}{size}, {setting.speed}, {setting.load:g}"
