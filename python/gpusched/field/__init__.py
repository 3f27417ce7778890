"""The state of the field: all policies on the same workloads, and one page of how they rank."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.progress import OnProgress
from gpusched.base.real_data import data_at, find_data
from gpusched.base.tables import Column, Table, table
from gpusched.plugins.policy import Policy, known_choice
from gpusched.plugins.registry import policies
from gpusched.reporting.text_table import figure_of
from gpusched.results.metric_registry import metrics
from gpusched.statistics.intervals import Interval
from gpusched.statistics.means import interval
from gpusched.statistics.rank_tests import Better, RankTest, nemenyi
from gpusched.sweeping.study import Study
from gpusched.sweeping.sweep import sweep

if TYPE_CHECKING:
    import polars as pl

GPUS: Final = 8
RESTART_S: Final = 60.0
"""What each resume costs each job, whatever the policy."""
NUM_GENERATED: Final = 1_000
GENERATED_LOAD: Final = 0.9
_WEEK_S: Final = 7 * 86_400
# What the workloads do not have: deadlines, other widths, all jobs at the beginning.
_ASKS_FOR_MORE: Final = ("deadlines", "elastic", "offline")
_KNOWS_SERVICES: Final = ("clairvoyant", "estimate")
ORACLE: Final = "oracle"
FIRST_SEED: Final = 2_000
NUM_SEEDS: Final = 20
METRICS: Final = (
    "mean_wait_s", "p95_wait_s", "p95_bounded_slowdown", "mean_jct_s", "tenant_fairness",
    "thorough_gap",
)  # fmt: skip
NUM_FITTED: Final = 1
"""Seeds where a forest is fitted in each run, which takes longer than all else."""
RANKED_BY: Final = "mean_jct_s"
"""What the rows are in the order of."""
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


@dataclass(frozen=True)
class Workload:
    """Jobs, and the cluster that they run on.

    Attributes
    ----------
    name
        In tables.
    jobs
        The fields of the study's trace.
    servers
        Of 8 GPUs each. Of a window of a real trace: the fewest at which jobs wait an hour or less
        on average under `fifo-skip`, as the publishers' clusters are not known.
    is_drawn
        Whether a seed decides the jobs.
    predictor
        What a policy that asks for services gets where it is to be deployed: of jobs that name
        their users the mean of the user and group, else a forest.
    """

    name: str
    jobs: dict[str, Any]
    servers: int
    is_drawn: bool
    predictor: str


def _itp(number: str, servers: int) -> tuple[str, str, dict[str, Any], int]:
    return f"ITP {number}", f"itp/cluster{number}.csv", {}, servers


def _philly(week: int, servers: int) -> tuple[str, str, dict[str, Any], int]:
    window = {"from": float(week * _WEEK_S), "to": float((week + 1) * _WEEK_S)}
    return f"Philly week {week + 1}", "philly/philly.csv", {"windows": [window]}, servers


_WINDOWS: Final = (
    _itp("01", 16), _itp("02", 22), _itp("03", 53), _itp("06", 29),
    _philly(3, 58), _philly(4, 42), _philly(6, 35), _philly(7, 48),
)  # fmt: skip
_GENERATED: Final = {"philly": 16, "helios": 16, "itp": 16, "pai": 16}
FOREST: Final = "forest:refit_jobs=1000,trees=20"


def generated() -> list[Workload]:
    """Return the generated workloads, whose jobs follow from the seed."""
    return [
        Workload(
            f"{profile} (drawn)",
            {"generate": profile, "jobs": NUM_GENERATED, "loads": [GENERATED_LOAD]},
            servers,
            is_drawn=True,
            predictor="group-mean",
        )
        for profile, servers in _GENERATED.items()
    ]


def windows() -> tuple[list[Workload], list[str]]:
    """Return the windows of real traces that are there, and the names of those that are not."""
    there, missing = [], []
    for name, file, fields, servers in _WINDOWS:
        path = find_data(file)
        if path is None:
            missing.append(name)
        else:
            jobs = {"file": str(path), **fields}
            there.append(Workload(name, jobs, servers, is_drawn=False, predictor=FOREST))
    return there, missing


@dataclass(frozen=True)
class Entrant:
    """A policy.

    Attributes
    ----------
    policy
        Its name, with options as in ``"easy:extra=false"``.
    knows_services
        Whether it decides by services: it then runs twice, with what a deployed one could predict
        and, marked as clairvoyant, with the truth.
    is_random
        Whether its decisions are drawn.
    """

    policy: str
    knows_services: bool
    is_random: bool = False


def entrants(more: Sequence[str] = (), only: Sequence[str] | None = None) -> list[Entrant]:
    """Return all registered policies that the workloads suit, and more.

    Parameters
    ----------
    more
        Names with options, of policies that shall have rows beside.
    only
        These in place of all that are registered.

    Raises
    ------
    ValueError
        If a name is not known, or its policy asks for deadlines, other widths or all jobs at the
        beginning.
    """
    found = [name for name, info in policies().items() if not any(map(info.has, _ASKS_FOR_MORE))]
    choices = [known_choice(Policy, name) for name in [*(found if only is None else only), *more]]
    for choice in choices:
        for flag in _ASKS_FOR_MORE:
            if choice.has(flag):
                raise ValueError(f"policy {choice}: is {flag}, and the jobs are not made for that")
    by_label = {str(choice): choice for choice in choices}
    return [
        Entrant(label, any(map(choice.has, _KNOWS_SERVICES)), choice.has("random"))
        for label, choice in by_label.items()
    ]


def field_study(
    workloads: Sequence[Workload], who: Sequence[Entrant], num_seeds: int = NUM_SEEDS
) -> Study:
    """Return the study of all policies on all workloads.

    Each policy runs on the same jobs, from their first submission to the last finish, on whole GPUs
    under the placement `consolidated`.
    """
    return Study.of(
        {
            "name": "field",
            "title": "The state of the field",
            "seeds": list(range(FIRST_SEED, FIRST_SEED + num_seeds)),
            "traces": [
                {**one.jobs, "label": one.name, "restart_s": RESTART_S} for one in workloads
            ],
            "clusters": [
                {"servers": one.servers, "gpus": GPUS, "label": f"{one.servers} x {GPUS} {at}"}
                for at, one in enumerate(workloads)
            ],
            "zip": [["traces", "clusters"]],
            "policies": [one.policy for one in who],
            "metrics": list(METRICS),
            "predictors": sorted({ORACLE, *(one.predictor for one in workloads)}),
            "runs": _wanted(workloads, who, num_seeds),
        }
    )


def _wanted(
    workloads: Sequence[Workload], who: Sequence[Entrant], num_seeds: int
) -> list[dict[str, Any]]:
    """Return the tables of runs, without those that differ from another one by their seed alone."""
    seeds = list(range(FIRST_SEED, FIRST_SEED + num_seeds))
    drawn = [work.name for work in workloads if work.is_drawn]
    read = [work.name for work in workloads if not work.is_drawn]
    tables: list[tuple[list[str], list[Entrant], str, list[int]]] = [
        (drawn, list(who), ORACLE, seeds),
        (read, [one for one in who if one.is_random], ORACLE, seeds),
        (read, [one for one in who if not one.is_random], ORACLE, seeds[:1]),
    ]
    asked = [one for one in who if one.knows_services]
    for work in workloads:
        fitted = seeds if work.is_drawn else seeds[:NUM_FITTED]
        tables.append(([work.name], asked, work.predictor, fitted))
    return [
        {"trace": traces, "policy": [one.policy for one in some], "predictor": by, "seed": of}
        for traces, some, by, of in tables
        if traces and some
    ]


@dataclass(frozen=True)
class Row:
    """A policy with its knowledge of the jobs.

    Attributes
    ----------
    policy
        Its name and options.
    is_clairvoyant
        Whether it was told the true services: then it could not be deployed.
    """

    policy: str
    is_clairvoyant: bool

    @property
    def label(self) -> str:
        """In tables; clairvoyant ones are marked."""
        return f"{self.policy} (clairvoyant)" if self.is_clairvoyant else self.policy


@dataclass(frozen=True, eq=False)
class Standings:
    """All figures of all policies.

    Attributes
    ----------
    runs
        The finished runs of the study, a row each.
    workloads, who
        What they are of.
    """

    runs: pl.DataFrame
    workloads: tuple[Workload, ...]
    who: tuple[Entrant, ...]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of every table, those that can be deployed first."""
        fair = [Row(one.policy, is_clairvoyant=False) for one in self.who]
        told = [Row(one.policy, is_clairvoyant=True) for one in self.who if one.knows_services]
        return fair + told

    def values(self, row: Row, workload: Workload, metric: str) -> Float64:
        """Return a metric of a policy on a workload, a value per seed; empty if it is not there."""
        import polars as pl

        if metric not in self.runs.columns:
            return np.empty(0)
        knows = next(one.knows_services for one in self.who if one.policy == row.policy)
        predictor = workload.predictor if knows and not row.is_clairvoyant else ORACLE
        found = self.runs.filter(
            pl.col("policy") == row.policy,
            pl.col("trace") == workload.name,
            pl.col("predictor") == predictor,
        ).sort("seed")[metric]
        return found.drop_nulls().drop_nans().to_numpy().astype(np.float64)

    def figure(self, row: Row, workload: Workload, metric: str) -> Interval | None:
        """Return the mean over the seeds with its interval; None where it was not measured."""
        values = self.values(row, workload, metric)
        return interval(values) if len(values) else None

    @cached_property
    def complete(self) -> list[Row]:
        """The rows that have finished on every workload; only these are ranked."""
        return [
            row
            for row in self.rows
            if all(len(self.values(row, work, RANKED_BY)) for work in self.workloads)
        ]

    def ranking(self, metric: str, *, is_deployable: bool = True) -> RankTest | None:
        """Rank the policies by their means on each workload; None if there is too little to rank.

        Parameters
        ----------
        metric
            Workloads that lack it for a policy are left out.
        is_deployable
            Rank only those that are not clairvoyant.
        """
        rows = [row for row in self.complete if not (is_deployable and row.is_clairvoyant)]
        table = [means for work in self.workloads if (means := self._means(rows, work, metric))]
        if len(table) < 2 or len(rows) < 2:
            return None
        return nemenyi(table, [row.label for row in rows], better=better(metric))

    def _means(self, rows: Sequence[Row], workload: Workload, metric: str) -> list[float]:
        found = [self.values(row, workload, metric) for row in rows]
        return [float(np.mean(values)) for values in found] if all(map(len, found)) else []

    def ordered(self, ranks: RankTest | None) -> Iterator[Row]:
        """The rows of a ranking from the best on, then those that are not in it."""
        mean_rank = {} if ranks is None else dict(zip(ranks.names, ranks.mean_ranks, strict=True))
        yield from sorted(
            self.rows, key=lambda row: (row.label not in mean_rank, mean_rank.get(row.label, 0.0))
        )


def better(metric: str) -> Better:
    """Which values of a metric are better."""
    return "higher" if metrics()[metric].better == "higher" else "lower"


def state_of_the_field(
    more: Sequence[str] = (),
    *,
    only: Sequence[str] | None = None,
    num_seeds: int = NUM_SEEDS,
    data: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: OnProgress | None = None,
) -> tuple[Standings, list[str], list[str]]:
    """Run policies on eight windows of real traces and four generated workloads.

    Parameters
    ----------
    more
        Policies, with options, that shall have rows beside those of all that are registered and
        need nothing that the jobs lack.
    only
        These in place of all that are registered.
    num_seeds
        Of the generated jobs and of random policies, from 2,000 on.
    data
        The folder of the published traces; None: ``$GPUSCHED_DATA``. Windows that are not there are
        left out.
    folder, executor, progress
        As of :func:`gpusched.sweep`.

    Returns
    -------
    tuple
        The standings; the windows that are not there; warnings of the runs.

    Raises
    ------
    ValueError
        If a policy is not known, or asks for what the jobs do not have.
    """
    who = entrants(more, only)
    with data_at(data):
        real, missing = windows()
    workloads = [*real, *generated()]
    result = sweep(
        field_study(workloads, who, num_seeds), folder=folder, executor=executor, progress=progress
    )
    return Standings(result.finished, tuple(workloads), tuple(who)), missing, result.warnings


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
    figures = (Column(_label(name), _SCALES[metrics()[name].unit][2]) for name in METRICS)
    return table(title, ("policy", *figures), body)


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


def _cell(found: Interval | None, metric: str) -> str:
    if found is None:
        return "-"
    scale, digits, _ = _SCALES[metrics()[metric].unit]
    return figure_of(found, digits, scale)
