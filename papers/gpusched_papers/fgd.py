"""Fragmentation gradient descent (Weng et al., ATC 2023): the filling experiment again.

A cluster is filled from a list of pods until 130 % of its GPUs have been asked for, by every
placement, as the authors' program has it and by our rules; what is unallocated and fragmented is
taken down on the way, and set beside the means that the authors recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import gpusched as gs
from gpusched.base.real_data import need_data
from gpusched.base.tables import Table
from gpusched_papers.claims import (
    Claim,
    Comparison,
    Credit,
    Texts,
    beside,
    claims_file,
    compare,
    published_of,
    verdicts,
    with_all,
)
from gpusched_papers.drawing import Panel, curves
from gpusched_papers.intervals import Interval, figure_of, mean, reduction
from gpusched_papers.study import (
    Float64,
    Made,
    Row,
    Runs,
    Stage,
    Study,
    by_columns,
    by_seed,
    run_study,
    stages_of,
)

_FILE: Final = claims_file("fgd")
_NAMES, *_LISTS = _FILE["recorded"].items()
RECORDED: Final[dict[str, dict[str, float]]] = {
    name: dict(zip(_NAMES[1], means, strict=True)) for name, means in _LISTS
}
"""By list of pods and placement."""
TEXTS: Final = Texts("fgd")
ALLOCATED: Final = RECORDED["default"]
NUM_GPUS: Final = 6212
NUM_SEEDS: Final = 10

FGD: Final = "fgd"
AUTHORS: Final = {name: name if name == "random" else f"{name}:artefact=true" for name in ALLOCATED}
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
_MEASURES: Final = ("unallocated", "fragmented")
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
    for name in RECORDED
    for placement in ALLOCATED
    if name != "default"
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


WORKLOADS: Final = tuple(Workload(*named) for named in _FILE["lists"].items())
DEFAULT, *_REST = WORKLOADS
OTHERS: Final = tuple(_REST)
SHOWN_LISTS: Final = tuple(
    of for of in WORKLOADS if of.name in ("default", "gpuspec33", "multigpu50")
)
"""Those whose filling is shown step by step."""


def run(workload: Workload, placement: str, seed: int) -> Row:
    """Fill the cluster once: what is not allocated, in fragments and not placed at each demand."""
    filled = gs.online.fill(
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


class Summary(Runs):
    """The runs by list and placement, one value per seed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__(by_columns(rows, "workload", "placement"))
        self.num_gpus = rows[0].num_gpus

    def on(self, workloads: Sequence[Workload]) -> list[Workload]:
        """Return those that were run."""
        return [workload for workload in workloads if self.has(workload.name, FGD)]

    def mean(  # type: ignore[override]
        self, workload: Workload, placement: str, column: str, demand: float
    ) -> Interval:
        """Return the mean of a column at a demand of ``DEMANDS``."""
        return mean(self.values(workload.name, placement, at(column, demand)))

    def left(self, workload: Workload, placement: str) -> Float64:
        """Return the GPUs that are not allocated at the end, over all."""
        return self.values(workload.name, placement, at("unallocated", UNTIL))

    def allocated(self, workload: Workload, placement: str) -> Interval:
        """Return those that are."""
        return mean(1 - self.left(workload, placement))

    def table(self, name: str, rows: Any, *headings: str, **facts: Any) -> Table:
        """Return a table, with what all of them tell."""
        facts |= {"until": UNTIL, "seeds": self.num_seeds}
        return TEXTS.table(name, rows, *headings, **facts)


@dataclass
class Fgd(Study):
    """All runs of the study: every placement with every list, seed by seed."""

    runs: list[Row] = field(default_factory=list)

    paper = "fgd"
    published = PUBLISHED

    def plan(self, seeds: int, quick: bool, exact: bool) -> list[Stage]:
        """Fill the cluster from the default list, or from all."""
        lists = (DEFAULT,) if quick else WORKLOADS
        tasks = [(of, at, seed) for seed in range(seeds) for of in lists for at in PLACEMENTS]

        def take(made: Made) -> None:
            self.runs = [row for of in by_seed(tasks, made).values() for row in of.values()]

        return [Stage("clusters filled", run, tasks, take)]

    def comparisons(self) -> list[Comparison]:
        """The recorded figures beside ours, of the placements as the authors' program has them."""
        summary = Summary(self.runs)
        return [*_of_default_list(summary), *_of_other_lists(summary)]

    def tables(self) -> list[Table]:
        """The results, ours beside the published ones."""
        summary = Summary(self.runs)
        every, shown = summary.on(WORKLOADS), summary.on(SHOWN_LISTS)
        ours = [[_named(of), *(summary.allocated(of, name) for name in OURS)] for of in every]
        made = [
            _against_fgd(summary, DEFAULT, AUTHORS),
            verdicts(_of_default_list(summary)),
            _every_list(summary, every),
            summary.table("by-our-rules", ours, *OURS),
        ]
        steps = [f"{demand:.0%}".replace("%", " %") for demand in SHOWN]
        for of in shown:
            made.append(_against_fgd(summary, of, {name: name for name in OURS}))
            for column in _MEASURES:
                rows = [
                    [name, *(summary.mean(of, name, column, demand) for demand in SHOWN)]
                    for name in PLACEMENTS
                ]
                what = column.capitalize()
                made.append(summary.table("demand", rows, *steps, what=what, list=of.title))
        lost = [
            [name, *(summary.mean(of, name, "lost", UNTIL) for of in shown)] for name in PLACEMENTS
        ]
        made.append(summary.table("lost", lost, *(of.title for of in shown)))
        if others := _of_other_lists(summary):
            made.append(verdicts(others, "Published, and ours: the other lists"))
        return made

    def data(self) -> dict[str, Any]:
        """All runs at the demands of the tables."""
        return {"runs": self.rows(SHOWN)}

    def rows(self, demands: Sequence[float] = tuple(DEMANDS.tolist())) -> list[dict[str, Any]]:
        """A row for each run and demand."""
        return [
            {
                **{key: row.columns[key] for key in ("workload", "placement", "seed")},
                "demand": demand,
                **{name: at(name, demand)(row) for name in (*_MEASURES, "lost")},
            }
            for row in self.runs
            for demand in demands
        ]

    def figures(self) -> dict[str, Any]:
        """What is left and in fragments of each placement, as the authors have it or else ours."""
        summary = Summary(self.runs)
        names = AUTHORS | {name: name for name in OURS if name not in AUTHORS}
        demands = [demand for demand in DEMANDS.tolist() if demand >= _FIRST_DRAWN]
        shown = summary.on(SHOWN_LISTS)
        panels = []
        for column, of in ((column, of) for column in _MEASURES for of in shown):
            lines = {
                name: [summary.mean(of, own, column, demand) for demand in demands]
                for name, own in names.items()
            }
            is_known = column == "unallocated"
            known = RECORDED[of.name].items() if is_known else ()
            marks = {name: {100 * UNTIL: 1 - part} for name, part in known}
            places = [100 * demand for demand in demands]
            heading = "GPUs asked for, % of the cluster's"
            panels.append(Panel(f"{of.title}: {column} GPUs", heading, places, lines, marks))
        seeds = f"mean and 95 % interval (t, {summary.num_seeds} seeds)"
        note = f"{summary.num_gpus:,} GPUs filled; {seeds}"
        drawn = curves(panels, "GPUs, %", note, columns=len(shown), scale=100, top=25)
        return {"filling.png": drawn}


def _named(of: Workload) -> str:
    return f"{of.name}: {of.title}"


def _of_default_list(summary: Summary) -> list[Comparison]:
    left = {name: summary.left(DEFAULT, own) for name, own in AUTHORS.items()}
    fgd, claim = left[FGD], PUBLISHED.claim

    def found() -> Iterator[Comparison]:
        worst = max(_PACKING, key=lambda name: float(left[name].mean()))
        over = f"over {worst}, of ours the most"
        yield beside(claim("largest-reduction"), reduction(fgd, left[worst]), over)
        yield beside(claim("more-gpus"), mean((left[worst] - fgd) * summary.num_gpus), over)
        for name, own in left.items():
            yield compare(claim(allocated_key(name, DEFAULT.name)), 1 - own)
            if name != FGD:
                yield compare(claim(f"less-left-{name}"), 1 - fgd / own)
                yield compare(claim(f"more-gpus-{name}"), (own - fgd) * summary.num_gpus)

    return with_all(found(), OF_DEFAULT_LIST)


def _of_other_lists(summary: Summary) -> list[Comparison]:
    return [
        compare(PUBLISHED.claim(allocated_key(name, of.name)), 1 - summary.left(of, placement))
        for of in summary.on(OTHERS)
        for name, placement in AUTHORS.items()
    ]


def _against_fgd(summary: Summary, of: Workload, placements: dict[str, str]) -> Table:
    """How much less FGD leaves than each other, and what is published of the authors' form."""
    is_published = placements is AUTHORS
    fgd = summary.left(of, placements[FGD])
    rows = []
    for name, placement in placements.items():
        left = summary.left(of, placement)
        is_other = name != FGD
        more = figure_of(mean((left - fgd) * summary.num_gpus)) if is_other else None
        row = [name, mean(1 - left), reduction(fgd, left) if is_other else None, more]
        if is_published:
            row.append(ALLOCATED[name])
            row += [less_left(name), f"{more_gpus(name):.0f}"] if is_other else [None, None]
        rows.append(row)
    name = "against-authors" if is_published else "against-ours"
    facts = {"most": LARGEST_REDUCTION, "gpus": MORE_GPUS}
    return summary.table(name, rows, list=of.title, **facts)


def _every_list(summary: Summary, workloads: Sequence[Workload]) -> Table:
    """GPUs allocated on every list by their program's rules, beside what is published."""
    rows = []
    farthest = dict.fromkeys(AUTHORS, (0.0, ""))
    for of in workloads:
        row: list[Any] = [_named(of)]
        for name, placement in AUTHORS.items():
            ours, published = summary.allocated(of, placement), RECORDED[of.name][name]
            row += [ours, published]
            farthest[name] = max(farthest[name], (abs(ours.value - published), of.name))
        rows.append(row)
    told = ", ".join(f"{name} {100 * off:.2f} ({of})" for name, (off, of) in farthest.items())
    headings = (text for name in AUTHORS for text in (name, f"published [artefact]: {name}"))
    return summary.table("every-list", rows, *headings, farthest=told)


reproduce = partial(run_study, Fgd)
stages = partial(stages_of, Fgd)
