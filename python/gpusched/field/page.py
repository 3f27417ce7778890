"""The page of the field: mean ranks, then every figure of every workload."""

from __future__ import annotations

import math
from typing import Final

from gpusched.field.field_study import METRICS
from gpusched.field.standings import RANKED_BY, Row, Standings
from gpusched.field.workloads import RESTART_S, Workload
from gpusched.reporting.text_table import Table, figure_of, table
from gpusched.results.metric_registry import metrics
from gpusched.statistics.intervals import Interval
from gpusched.statistics.rank_tests import RankTest

_HEAD: Final = """\
<!-- Written by `gpusched field`: do not edit. -->

# The state of the field

All policies on the same jobs, ranked, by one command: `{command}`. What stands here is ours:
measured by that command. Another policy gets its row by the same command with `--policy NAME`: what
is in the folder is not run again.

Jobs run whole, on servers of 8 GPUs under the placement `consolidated`; they do not slow each other
down, and each resume costs a job {restart:g} s. The clusters behind the real traces are not known
(ITP), or were far larger than one window needs (Philly): each window has the fewest servers at
which `fifo-skip` keeps the mean wait within an hour. The generated workloads have a load of 0.9.

A policy that asks for services has two rows: what it does by predictions (the mean of the user and
group where the jobs name them, else a random forest of one seed), and, marked *clairvoyant*, what
it would do if it knew the truth. Only the former can be deployed, and only they are ranked among
each other. Intervals are of 95 % over seeds (bootstrap-t). Where there is none, it was one run: on
a real window nothing is drawn but by `random` and by a forest. Policies for deadlines, for jobs of
elastic width and for jobs that are all there at the beginning are not asked here. Policies that
differ only where jobs communicate, have weights or are elastic have equal figures.
"""
_SCALES: Final = {"s": (1 / 3600, 2, "h"), "ratio": (1.0, 2, "")}


def ranks_table(standings: Standings, *, is_deployable: bool = True) -> Table:
    """Return the mean ranks over the workloads, a column per metric; 1 is best.

    Parameters
    ----------
    is_deployable
        Rank those that can be deployed among each other; else all.
    """
    tests = {metric: standings.ranking(metric, is_deployable=is_deployable) for metric in METRICS}
    main = tests[RANKED_BY]
    if main is None:
        return table(_title(is_deployable), ("policy", *map(_label, METRICS)), [])
    body = [
        (row.label, *(_rank_of(row.label, test) for test in tests.values()))
        for row in standings.ordered(main)
        if row.label in main.names
    ]
    notes = [
        f"Mean ranks of {len(main.names)} over {main.num_blocks} workloads. By "
        f"{_label(RANKED_BY)} two that are less than {main.critical_difference:.1f} apart cannot "
        "be told from each other (Nemenyi, 5 %)."
    ]
    notes += [
        f"{_label(metric)}: {test.num_blocks} workloads, those whose jobs have users or queues."
        for metric, test in tests.items()
        if test is not None and test.num_blocks < main.num_blocks
    ]
    return table(_title(is_deployable), ("policy", *map(_label, METRICS)), body, notes)


def _title(is_deployable: bool) -> str:
    return "Mean ranks of what can be deployed" if is_deployable else "Mean ranks of all"


def _rank_of(label: str, test: RankTest | None) -> str:
    if test is None or label not in test.names:
        return "-"
    return f"{test.mean_ranks[test.names.index(label)]:.1f}"


def workload_table(standings: Standings, workload: Workload) -> Table:
    """Return all figures of one workload, ordered by the mean JCT."""
    rows = sorted(standings.rows, key=lambda row: _place(standings, row, workload))
    body = [
        (
            row.label,
            *(_cell(standings.figure(row, workload, metric), metric) for metric in METRICS),
        )
        for row in rows
        if standings.figure(row, workload, RANKED_BY) is not None
    ]
    title = f"{workload.name}, {workload.servers} servers of 8 GPUs"
    return table(title, ("policy", *(_heading(metric) for metric in METRICS)), body)


def page(standings: Standings, command: str, missing: list[str]) -> str:
    """Return the page in Markdown."""
    parts = [_HEAD.format(command=command, restart=RESTART_S)]
    if missing:
        parts.append(f"Left out, as the data are not there: {', '.join(missing)}.\n")
    unfinished = [row.label for row in standings.rows if row not in standings.complete]
    if unfinished:
        parts.append(f"Not ranked, as some runs are not done or failed: {', '.join(unfinished)}.\n")
    rankings = [ranks_table(standings), ranks_table(standings, is_deployable=False)]
    parts += ["## Ranks\n", *(one.to_markdown() for one in rankings)]
    parts += ["## Every workload\n"]
    parts += [workload_table(standings, work).to_markdown() for work in standings.workloads]
    return "\n".join(parts)


def _place(standings: Standings, row: Row, workload: Workload) -> float:
    found = standings.figure(row, workload, RANKED_BY)
    return math.inf if found is None else found.value


def _label(metric: str) -> str:
    return metrics()[metric].label


def _heading(metric: str) -> str:
    unit = _SCALES[metrics()[metric].unit][2]
    return f"{_label(metric)}, {unit}" if unit else _label(metric)


def _cell(found: Interval | None, metric: str) -> str:
    if found is None:
        return "-"
    scale, digits, _ = _SCALES[metrics()[metric].unit]
    return figure_of(found, digits, scale)
