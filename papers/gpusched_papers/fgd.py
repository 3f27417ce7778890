"""Fragmentation gradient descent (Weng et al., ATC 2023): the filling experiment again.

A cluster is filled from a list of pods until 130 % of its GPUs have been asked for, by every
placement, as the authors' program has it and by our rules; what is unallocated and fragmented is
taken down on the way, and set beside the means that the authors recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import gpusched as gs
from gpusched.base.real_data import need_data
from gpusched.reporting.text_table import Table, figure_of, table
from gpusched.statistics import Interval
from gpusched_papers.claims import (
    Claim,
    Comparison,
    Credit,
    beside,
    claims_file,
    compare,
    published_of,
    verdicts,
    with_all,
)
from gpusched_papers.drawing import Panel, curves
from gpusched_papers.study import (
    BySeed,
    Float64,
    Row,
    Runs,
    Stage,
    Study,
    mean,
    reduction,
    run_study,
    stages_of,
)

_FILE: Final = claims_file("fgd")
_NAMES, *_LISTS = _FILE["recorded"].items()
RECORDED: Final[Mapping[str, Mapping[str, float]]] = {
    name: dict(zip(_NAMES[1], means, strict=True)) for name, means in _LISTS
}
"""By list of pods and placement."""
ALLOCATED: Final = RECORDED["default"]
NUM_GPUS: Final = 6212
NUM_SEEDS: Final = 10

FGD: Final = "fgd"
AUTHORS: Final[Mapping[str, str]] = {
    name: name if name == "random" else f"{name}:artefact=true" for name in ALLOCATED
}
"""Those of the recorded results by their names there, with the scores and ties of that program."""
OURS: Final = (*(name for name in ALLOCATED if AUTHORS[name] != name), "first-fit", "worst-fit")
"""The same by our rules, and two more."""
PLACEMENTS: Final = (*AUTHORS.values(), *OURS)
_PACKING: Final = tuple(name for name in AUTHORS if name not in (FGD, "random"))
ORDER: Final = "shuffled"
"""As in the recorded results: the list once in an order that is drawn, then draws from it."""
UNTIL: Final = 1.3
DEMANDS: Final = np.round(np.arange(0.5, UNTIL + 0.005, 0.01), 2)
"""At which the state of the cluster is taken down, over the GPUs of the cluster."""
SHOWN: Final = (0.5, 0.7, 0.9, 0.95, 1.0, 1.1, 1.3)
"""Those of the tables."""
_MEASURES: Final = {"unallocated": "Unallocated GPUs", "fragmented": "Fragmented GPUs"}
_FIRST_DRAWN: Final = 0.8  # before that nearly everything is placed, and the curves are one line


def allocated_key(placement: str, workload: str) -> str:
    """Return the key of the claim on a placement's recorded result on a list of pods."""
    return f"allocated-{placement}" + ("" if workload == "default" else f"-{workload}")


def less_left(placement: str) -> float:
    """By how much less FGD leaves unallocated than another, of the recorded results: a ratio."""
    return (ALLOCATED[FGD] - ALLOCATED[placement]) / (1 - ALLOCATED[placement])


def more_gpus(placement: str) -> float:
    """How many GPUs more FGD allocates than another, of the recorded results."""
    return (ALLOCATED[FGD] - ALLOCATED[placement]) * NUM_GPUS


def _recorded_claims() -> Iterator[Claim]:
    claim = partial(Claim, place="recorded results", better="higher", runs=NUM_SEEDS)
    for name, means in RECORDED.items():
        for placement, value in means.items():
            says = f"GPUs allocated under {placement} at 130 %, {name} list"
            key = allocated_key(placement, name)
            yield claim(key, says, known="artefact", value=value, unit="%")
    others = [placement for placement in ALLOCATED if placement != FGD]
    for other in others:
        says = f"GPUs that FGD leaves at 130 % below those that {other} leaves"
        yield claim(f"less-left-{other}", says, known="derived", value=less_left(other), unit="%")
    for other in others:
        says = f"GPUs more in use at 130 % under FGD than under {other}"
        key = f"more-gpus-{other}"
        yield claim(key, says, known="derived", value=more_gpus(other), unit="GPUs")


_TOLD: Final = published_of("fgd")
PUBLISHED: Final = replace(
    _TOLD,
    claims=(*_TOLD.results, *_recorded_claims(), *_TOLD.settings),
    credits=(
        *_TOLD.credits,
        *(
            Credit(name, "scores and ties under `artefact`", "artefact", ("artefact",))
            for name in ALLOCATED
            if name != "random"
        ),
    ),
)
LARGEST_REDUCTION: Final = float(PUBLISHED.claim("largest-reduction").value or 0)
MORE_GPUS: Final = int(PUBLISHED.claim("more-gpus").value or 0)
_OTHER_KEYS: Final = {
    allocated_key(placement, name)
    for name, means in RECORDED.items()
    if name != "default"
    for placement in means
}
OF_DEFAULT_LIST: Final = tuple(claim for claim in PUBLISHED.results if claim.key not in _OTHER_KEYS)
"""The results that are not of another list."""


@dataclass(frozen=True)
class Workload:
    """A list of pods: its name in the recorded results, and for people."""

    name: str
    title: str

    @property
    def file(self) -> str:
        """Its name in the folder of the data."""
        return f"openb_pod_list_{self.name}.csv"


DEFAULT: Final = Workload("default", "default list")
TYPED: Final = Workload("gpuspec33", "33 % name GPU types")
WIDE: Final = Workload("multigpu50", "gangs ask for 50 % of the GPUs")
SHOWN_LISTS: Final = (DEFAULT, TYPED, WIDE)
"""Those whose filling is shown step by step."""
OTHERS: Final = (
    Workload("cpu050", "5 % ask for no GPU"),
    Workload("cpu100", "10 % ask for no GPU"),
    Workload("cpu200", "20 % ask for no GPU"),
    Workload("cpu250", "25 % ask for no GPU"),
    Workload("gpushare40", "shares ask for 40 % of the GPUs"),
    Workload("gpushare60", "shares ask for 60 % of the GPUs"),
    Workload("gpushare80", "shares ask for 80 % of the GPUs"),
    Workload("gpushare100", "shares ask for all GPUs"),
    Workload("gpuspec10", "10 % name GPU types"),
    Workload("gpuspec20", "20 % name GPU types"),
    Workload("gpuspec25", "25 % name GPU types"),
    TYPED,
    Workload("multigpu20", "gangs ask for 20 % of the GPUs"),
    Workload("multigpu30", "gangs ask for 30 % of the GPUs"),
    Workload("multigpu40", "gangs ask for 40 % of the GPUs"),
    WIDE,
)
WORKLOADS: Final = (DEFAULT, *OTHERS)


def run(workload: Workload, placement: str, seed: int) -> Row:
    """Fill the cluster once: what is not allocated, in fragments and not placed at each demand.

    Raises
    ------
    ValueError
        If the data are not there.
    """
    filled = gs.deciding.fill(
        _requests(need_data(f"openb/{workload.file}", "fgd")),
        _cluster(need_data("openb/openb_node_list_all_node.csv", "fgd")),
        placement=placement,
        until=UNTIL,
        order=ORDER,
        seed=seed,
    )
    state = filled.at(DEMANDS)
    columns = {name: state[name].tolist() for name in ("unallocated", "fragmented", "lost")}
    num_gpus = filled.cluster.num_gpus
    about = {"workload": workload.name, "placement": placement, "seed": seed}
    return Row(**about, **columns, num_gpus=num_gpus)


@lru_cache(maxsize=1)
def _cluster(path: Path) -> gs.Cluster:
    return gs.read_cluster(path, grouped=False)


@lru_cache(maxsize=len(WORKLOADS))
def _requests(path: Path) -> gs.traces.Requests:
    return gs.traces.read_requests(path, on_bad="error")


def at(column: str, demand: float) -> Callable[[Row], float]:
    """Return a column's value at a demand of ``DEMANDS``."""
    index = int(np.argmin(np.abs(DEMANDS - demand)))
    return lambda row: float(getattr(row, column)[index])


class Summary:
    """The runs by list and placement, one value per seed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._runs = Runs.by(rows, lambda row: (row.workload, row.placement))
        self.num_gpus = rows[0].num_gpus
        self.num_seeds = self._runs.num_seeds

    def on(self, workloads: Sequence[Workload]) -> list[Workload]:
        """Return those that were run."""
        return [workload for workload in workloads if self._runs.has(workload.name, FGD)]

    def values(self, workload: Workload, placement: str, column: str, demand: float) -> Float64:
        """Return a column at a demand of ``DEMANDS``."""
        return self._runs.values(workload.name, placement, at(column, demand))

    def mean(self, workload: Workload, placement: str, column: str, demand: float) -> Interval:
        """Return its mean over the seeds."""
        return mean(self.values(workload, placement, column, demand))

    def left(self, workload: Workload, placement: str) -> Float64:
        """Return the GPUs that are not allocated at the end, over all."""
        return self.values(workload, placement, "unallocated", UNTIL)


@dataclass
class Fgd(Study):
    """All runs of the study: every placement with every list, seed by seed."""

    runs: list[Row] = field(default_factory=list)

    paper = "fgd"
    published = PUBLISHED

    def plan(self, seeds: int, quick: bool, exact: bool) -> list[Stage]:
        """Fill the cluster from the default list, or from all."""
        pairs = [(of, name) for of in ((DEFAULT,) if quick else WORKLOADS) for name in PLACEMENTS]

        def take(made: Mapping[tuple[Any, ...], Row]) -> None:
            found: BySeed[tuple[Workload, str], Row] = BySeed(pairs)
            for (workload, name, seed), row in made.items():
                found.add((workload, name), seed, row)
            self.runs = [row for seed in found.seeds() for row in found.at(seed).values()]

        tasks = [(*pair, seed) for seed in range(seeds) for pair in pairs]
        return [Stage("clusters filled", run, tasks, take)]

    def is_enough(self) -> bool:
        """Whether two seeds are there."""
        return len({row.seed for row in self.runs}) > 1

    def comparisons(self) -> list[Comparison]:
        """The recorded figures beside ours, of the placements as the authors' program has them."""
        summary = Summary(self.runs)
        return [*_of_default_list(summary), *_of_other_lists(summary)]

    def tables(self) -> list[Table]:
        """The results, ours beside the published ones."""
        summary = Summary(self.runs)
        every, shown = summary.on(WORKLOADS), summary.on(SHOWN_LISTS)
        made = [
            _against_fgd(summary, DEFAULT, AUTHORS, is_published=True),
            verdicts(_of_default_list(summary)),
            _every_list(summary, every),
            _every_list_by_our_rules(summary, every),
        ]
        for of in shown:
            made.append(_against_fgd(summary, of, {n: n for n in OURS}, is_published=False))
            made += [_by_demand(summary, of, column) for column in _MEASURES]
        made.append(_lost(summary, shown))
        if others := _of_other_lists(summary):
            made.append(verdicts(others, "Published, and ours: the other lists"))
        return made

    def data(self) -> dict[str, Any]:
        """All runs at the demands of the tables."""
        return {"runs": list(self.rows(SHOWN))}

    def rows(self, demands: Sequence[float] = tuple(DEMANDS.tolist())) -> list[dict[str, Any]]:
        """A row for each run and demand."""
        return [
            {
                "workload": row.workload,
                "placement": row.placement,
                "seed": row.seed,
                "demand": demand,
                **{name: at(name, demand)(row) for name in ("unallocated", "fragmented", "lost")},
            }
            for row in self.runs
            for demand in demands
        ]

    def figures(self) -> dict[str, Any]:
        """What is left and in fragments of each placement, as the authors have it or else ours."""
        summary = Summary(self.runs)
        names = {**AUTHORS, **{name: name for name in OURS if name not in AUTHORS}}
        demands = [demand for demand in DEMANDS.tolist() if demand >= _FIRST_DRAWN]
        panels = [
            Panel(
                f"{of.title}: {column} GPUs",
                "GPUs asked for, % of the cluster's",
                [100 * demand for demand in demands],
                {
                    name: [summary.mean(of, own, column, d) for d in demands]
                    for name, own in names.items()
                },
                {name: {100 * UNTIL: 1 - RECORDED[of.name][name]} for name in AUTHORS}
                if column == "unallocated"
                else {},
            )
            for column in _MEASURES
            for of in summary.on(SHOWN_LISTS)
        ]
        note = (
            f"{summary.num_gpus:,} GPUs filled; {summary.num_seeds} seeds, mean and 95 % interval"
        )
        columns = len(panels) // len(_MEASURES)
        drawn = curves(panels, "GPUs, %", note, columns=columns, scale=100, top=25)
        return {"filling.png": drawn}


def _of_default_list(summary: Summary) -> list[Comparison]:
    def left(name: str) -> Float64:
        return summary.left(DEFAULT, AUTHORS[name])

    def found() -> Iterator[Comparison]:
        fgd = left(FGD)
        worst = max(_PACKING, key=lambda name: float(left(name).mean()))
        over = f"over {worst}, of ours the most"
        largest = reduction(fgd, left(worst))
        yield beside(PUBLISHED.claim("largest-reduction"), largest, over)
        more = mean((left(worst) - fgd) * summary.num_gpus)
        yield beside(PUBLISHED.claim("more-gpus"), more, over)
        for name in AUTHORS:
            yield compare(PUBLISHED.claim(allocated_key(name, DEFAULT.name)), 1 - left(name))
            if name != FGD:
                yield compare(PUBLISHED.claim(f"less-left-{name}"), 1 - fgd / left(name))
                gpus = (left(name) - fgd) * summary.num_gpus
                yield compare(PUBLISHED.claim(f"more-gpus-{name}"), gpus)

    return with_all(found(), OF_DEFAULT_LIST)


def _of_other_lists(summary: Summary) -> list[Comparison]:
    return [
        compare(PUBLISHED.claim(allocated_key(name, of.name)), 1 - summary.left(of, placement))
        for of in summary.on(OTHERS)
        for name, placement in AUTHORS.items()
    ]


def _against_fgd(
    summary: Summary, workload: Workload, placements: Mapping[str, str], *, is_published: bool
) -> Table:
    """How much less FGD leaves than each other, and what is published."""
    headings = ["placement", "allocated, %", "FGD leaves less by, %", "GPUs more under FGD"]
    notes = [f"{_moment(summary).removesuffix('.')} of the paired differences."]
    if is_published:
        headings += [
            "published [artefact]: allocated, %",
            "published [derived]: less by, %",
            "published [derived]: GPUs more",
        ]
        notes += [
            "Published [artefact]: means over ten seeds of the results recorded in the authors' "
            f"repository. [abstract]: FGD leaves up to {LARGEST_REDUCTION:.0%} less GPUs "
            f"unallocated than packing-based schedulers do, and uses {MORE_GPUS} more.",
        ]
    fgd = summary.left(workload, placements[FGD])
    rows = []
    for name, placement in placements.items():
        left = summary.left(workload, placement)
        row = [name, _percent(mean(1 - left)), "", ""]
        if name != FGD:
            more = figure_of(mean((left - fgd) * summary.num_gpus))
            row[2:] = [_percent(reduction(fgd, left)), more]
        if is_published:
            row.append(f"{ALLOCATED[name] * 100:.1f}")
            less = [f"{less_left(name) * 100:.1f}", f"{more_gpus(name):.0f}"]
            row += ["", ""] if name == FGD else less
        rows.append(row)
    whose = "as the authors have them" if is_published else "by our rules"
    return table(f"FGD against the others, {whose}: {workload.title}", headings, rows, notes)


def _every_list(summary: Summary, workloads: Sequence[Workload]) -> Table:
    """GPUs allocated on every list by their program's rules, beside what is published."""
    rows = []
    farthest = dict.fromkeys(AUTHORS, (0.0, ""))
    for workload in workloads:
        row = [f"{workload.name}: {workload.title}"]
        for name, placement in AUTHORS.items():
            ours = 1 - summary.left(workload, placement)
            published = RECORDED[workload.name][name]
            row += [_percent(mean(ours)), f"{published * 100:.1f}"]
            distance = abs(float(ours.mean()) - published)
            farthest[name] = max(farthest[name], (distance, workload.name))
        rows.append(row)
    told = ", ".join(f"{name} {100 * off:.2f} ({of})" for name, (off, of) in farthest.items())
    return table(
        "GPUs allocated on every list, as the authors have the placements, %",
        ["list", *(text for name in AUTHORS for text in (name, f"published [artefact]: {name}"))],
        rows,
        (
            _moment(summary),
            f"Farthest from the recorded means [artefact], in points of a per cent: {told}.",
        ),
    )


def _every_list_by_our_rules(summary: Summary, workloads: Sequence[Workload]) -> Table:
    return table(
        "GPUs allocated on every list, by our rules, %",
        ("list", *OURS),
        [
            [f"{of.name}: {of.title}", *(_percent(mean(1 - summary.left(of, n))) for n in OURS)]
            for of in workloads
        ],
        (_moment(summary),),
    )


def _by_demand(summary: Summary, workload: Workload, column: str) -> Table:
    """One measure of every placement against the demand that has arrived."""
    return table(
        f"{_MEASURES[column]} against GPUs asked for, both in % of the cluster's: {workload.title}",
        ("placement", *(f"{demand:.0%}".replace("%", " %") for demand in SHOWN)),
        [
            [name, *(_percent(summary.mean(workload, name, column, d)) for d in SHOWN)]
            for name in PLACEMENTS
        ],
        (f"{summary.num_seeds} seeds, mean and 95 % interval.",),
    )


def _lost(summary: Summary, workloads: Sequence[Workload]) -> Table:
    """The part of the arrivals that found no place."""
    return table(
        f"Arrivals that found no place until {UNTIL:.0%} had been asked for, %",
        ("placement", *(workload.title for workload in workloads)),
        [
            [name, *(_percent(summary.mean(of, name, "lost", UNTIL)) for of in workloads)]
            for name in PLACEMENTS
        ],
        (f"{summary.num_seeds} seeds, mean and 95 % interval.",),
    )


def _moment(summary: Summary) -> str:
    return (
        f"When {UNTIL:.0%} of the cluster's GPUs had been asked for; {summary.num_seeds} seeds, "
        "mean and 95 % interval."
    )


def _percent(value: Interval) -> str:
    return figure_of(value, 1, 100)


reproduce = partial(run_study, Fgd)
stages = partial(stages_of, Fgd)
