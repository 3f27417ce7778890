"""The tables of the study of Dancer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.reporting.text_table import Table, figure_of, table
from gpusched.statistics.intervals import Interval
from gpusched_papers.dancer import additions
from gpusched_papers.dancer.milp import NUM_JOBS, TYPE_GPUS, Gap
from gpusched_papers.dancer.published import GAINS
from gpusched_papers.dancer.runs import Run
from gpusched_papers.dancer.settings import (
    ABLATIONS,
    BASELINES,
    COMPARED,
    DANCER,
    LARGE,
    SERIES,
    WORKLOADS,
    Arm,
    Series,
    Setting,
)
from gpusched_papers.dancer.summary import Summary, bound, dsr
from gpusched_papers.study import mean
from gpusched_papers.unequal_gpus import Workload

BOUND: Final = "upper bound"
_NOTHING: Final = 1e-9


def all_tables(summary: Summary, gaps: Sequence[Gap]) -> list[Table]:
    """Return every table that there are runs for."""
    main = summary.main()
    made = [leads(summary, main), gains(summary, main), parts(summary, main)]
    for workload in WORKLOADS:
        here = [s for s in main if s.workload == workload and s.place != LARGE]
        if here:
            made.append(by_load(summary, workload, here))
    large = [s for s in main if s.place == LARGE]
    if large:
        made.append(on_large(summary, large))
    if additions.is_run(summary, main):
        made += additions.taken_away(summary, main)
    made.append(effort(summary, main))
    made += [
        varied(summary, series)
        for series in SERIES
        if all(map(summary.has, series.settings.values()))
    ]
    if gaps:
        made.append(optimum(gaps))
    return made


def leads(summary: Summary, settings: Sequence[Setting]) -> Table:
    """Dancer beside the best of the others, on the same jobs."""
    rows = []
    for setting in settings:
        arms = [arm for arm in BASELINES if summary.has(setting, arm)]
        best = max(arms, key=lambda arm: summary.mean(setting, arm).value)
        ahead = summary.values(setting, DANCER, dsr) - summary.values(setting, best, dsr)
        rows.append(
            [
                where(setting),
                _figure(summary.mean(setting, DANCER)),
                _figure(summary.mean(setting, best)),
                best.name,
                _figure(mean(ahead)),
                _figure(summary.mean(setting, DANCER, bound)),
            ]
        )
    return table(
        "DSR, %: dancer and the best of the baselines",
        ("workload", "dancer", "best baseline", "which", "dancer ahead by", BOUND),
        rows,
        (
            f"{summary.num_seeds} seeds, mean and 95 % interval; of the lead, of the differences "
            "on the same jobs.",
        ),
    )


def gains(summary: Summary, settings: Sequence[Setting]) -> Table:
    """How many more deadlines Dancer meets than each other where that is most."""
    rows = []
    for arm, here in _compared(summary, settings):
        ours, theirs, best = _means(summary, here, arm)
        gain = ours / theirs - 1
        most = int(np.argmax(gain))
        cells = [_percent(gain[most]), _percent(best[most] / theirs[most] - 1)]
        rows.append([arm.name, *cells, where(here[most])])
    low, high = (f"{gain * 100:.1f}" for gain in GAINS)
    return table(
        "Deadlines that dancer meets beyond each other, %: where that is most",
        ("beyond", "largest gain", "possible there", "where"),
        rows,
        (
            f"Published [abstract]: up to {low} to {high} % over the state of the art, whose "
            "names are not known: the first five are our choice. Possible: with the upper bound "
            "in dancer's place. Means over the seeds.",
        ),
    )


def parts(summary: Summary, settings: Sequence[Setting]) -> Table:
    """How much of what is possible beyond each other Dancer reaches."""
    rows = []
    for arm, here in _compared(summary, settings):
        ours, theirs, best = _means(summary, here, arm)
        part = (ours - theirs) / np.maximum(best - theirs, _NOTHING)
        least = int(np.argmin(part))
        rows.append(
            [
                arm.name,
                _percent(ours.mean() / theirs.mean() - 1),
                _percent(best.mean() / theirs.mean() - 1),
                _percent((ours.mean() - theirs.mean()) / (best.mean() - theirs.mean())),
                _percent(part[least]),
                where(here[least]),
                f"{np.count_nonzero(ours > theirs)} of {len(here)}",
            ]
        )
    return table(
        "Deadlines that dancer meets beyond each other, %: all settings",
        ("beyond", "gain", "possible", "part reached", "least part", "where", "settings won"),
        rows,
        (
            "All settings: every workload and load on the small cluster, and each workload on the "
            "large one; ratios of means over them.",
        ),
    )


def _compared(summary: Summary, settings: Sequence[Setting]) -> Iterator[tuple[Arm, list[Setting]]]:
    """Those of ``COMPARED`` first; with the settings in which they were run."""
    others = (arm for arm in (*BASELINES, *ABLATIONS) if arm not in COMPARED)
    for arm in (*COMPARED, *others):
        here = [setting for setting in settings if summary.has(setting, arm)]
        if here:
            yield arm, here


def _means(
    summary: Summary, settings: Sequence[Setting], arm: Arm
) -> tuple[Float64, Float64, Float64]:
    """DSR of Dancer, of another, and the bound; by setting."""
    wanted = ((DANCER, dsr), (arm, dsr), (DANCER, bound))
    ours, theirs, best = (
        np.array([summary.mean(setting, of, column).value for setting in settings])
        for of, column in wanted
    )
    return ours, np.maximum(theirs, _NOTHING), best


def by_load(summary: Summary, workload: Workload, settings: Sequence[Setting]) -> Table:
    """DSR of every policy against the load."""
    place = settings[0].place
    return table(
        f"DSR, %: {workload.name}, {place.name}, {place.jobs} jobs",
        ("policy", *(f"load {setting.load:g}" for setting in settings)),
        _rows(summary, settings),
        (f"{summary.num_seeds} seeds, mean and 95 % interval.",),
    )


def on_large(summary: Summary, settings: Sequence[Setting]) -> Table:
    """DSR of every policy on the large cluster."""
    place = settings[0].place
    return table(
        f"DSR, %: {place.name}, {place.jobs} jobs, load {settings[0].load:g}",
        ("policy", *(setting.workload.name for setting in settings)),
        _rows(summary, settings),
        (f"{summary.num_seeds} seeds, mean and 95 % interval.",),
    )


def varied(summary: Summary, series: Series) -> Table:
    """DSR of some policies against something else than the load."""
    settings = list(series.settings.values())
    rows = _rows(summary, settings, series.arms)
    notes = [f"{settings[0].workload.name}, load {settings[0].load:g}; {series.heading}."]
    if any(setting.error for setting in settings):
        for arm in (arm for arm in series.arms if summary.has(settings[0], arm)):
            broken = [summary.mean(s, arm, lambda run: run.broken or 0.0) for s in settings]
            admitted = [summary.mean(s, arm, lambda run: run.admitted or 0.0) for s in settings]
            rows.append([f"{arm.name}: broken promises", *map(_figure, broken)])
            rows.append([f"{arm.name}: admitted", *map(_figure, admitted)])
        notes.append(
            "Policies are told run times that are wrong by a part drawn evenly from -x to x; "
            "broken promises and admissions are in % of all jobs."
        )
    return table(f"DSR, %, and {series.title}", ("policy", *series.settings), rows, notes)


def effort(summary: Summary, settings: Sequence[Setting]) -> Table:
    """What else the policies do: means over all settings."""
    rows = []
    for arm in summary.arms(settings):
        here = [setting for setting in settings if summary.has(setting, arm)]

        def over(
            column: Callable[[Run], float], of: Arm = arm, some: list[Setting] = here
        ) -> float:
            return float(np.mean([summary.mean(setting, of, column).value for setting in some]))

        admits = summary.values(here[0], arm, lambda run: run.admitted is not None).all()
        rows.append(
            [
                arm.name,
                f"{over(dsr) * 100:.1f}",
                f"{over(lambda run: run.admitted or 0.0) * 100:.1f}" if admits else "",
                f"{over(lambda run: run.broken or 0.0) * 100:.2f}" if admits else "",
                f"{over(lambda run: run.mean_jct_s) / 3600:.1f}",
                f"{over(lambda run: run.changes):.1f}",
                f"{over(lambda run: run.utilisation) * 100:.0f}",
                f"{over(lambda run: run.decision_s) * 1000:.2f}",
            ]
        )
    return table(
        "What else the policies do",
        (
            "policy", "DSR, %", "admitted, %", "broken promises, %", "mean JCT, h",
            "changes per job", "GPU time held, %", "decision, ms",
        ),
        rows,
        (
            "Means over all settings of the main comparison. Promises are those that stood when "
            "the job came or later. Changes are preemptions and resizes. Decision: the run's "
            "processor time over its arrivals and finishes, slots included; it depends on the "
            "machine.",
        ),
    )  # fmt: skip


def optimum(gaps: Sequence[Gap]) -> Table:
    """Deadlines met beside those of the integer program."""
    names = list(gaps[0].met)
    rows = []
    for one in gaps:
        met = [str(one.met[name]) for name in names]
        rows.append([str(one.seed), str(one.optimum), f"{one.proven:.1f}", f"{one.relaxed:.2f}",
                     f"{one.bound:g}", *met])  # fmt: skip
    best = sum(one.optimum for one in gaps)
    shares = [f"{sum(one.met[name] for one in gaps) / best * 100:.1f} %" for name in names]
    rows.append(["met, of the integer program's", "100 %", "", "", "", *shares])
    cluster = " and ".join(f"{gpus} {kind}" for kind, gpus in TYPE_GPUS.items())
    return table(
        f"The integer program: {NUM_JOBS} jobs on {cluster}, deadlines met",
        ("seed", "integer program", "proven at most", "its relaxation", "any schedule", *names),
        rows,
        ("Submits and deadlines at the borders of slots of 300 s; restarts are free.",),
    )


def _rows(
    summary: Summary, settings: Sequence[Setting], arms: Sequence[Arm] | None = None
) -> list[list[str]]:
    rows = [
        [arm.name]
        + [_figure(summary.mean(s, arm)) if summary.has(s, arm) else "" for s in settings]
        for arm in summary.arms(settings)
        if arms is None or arm in arms
    ]
    rows.append([BOUND, *(_figure(summary.mean(s, DANCER, bound)) for s in settings)])
    return rows


def where(setting: Setting) -> str:
    """What tables call a setting."""
    size = ", large" if setting.place == LARGE else ""
    return f"{setting.workload.name}{size}, load {setting.load:g}"


def _figure(value: Interval) -> str:
    return figure_of(value, 1, 100)


def _percent(value: float) -> str:
    return f"{value * 100:.1f}"
