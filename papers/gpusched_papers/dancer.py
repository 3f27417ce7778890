"""Dancer (Zhang et al., IEEE TCC 2025): deadlines met against baselines, and what is possible.

Jobs of traces and generators with the throughputs of Gavel's tables and drawn deadlines run on
unequal GPUs under Dancer, under it with parts taken away, and under baselines of our choice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, Self

import numpy as np

import gpusched as gs
from gpusched.base.real_data import need_data
from gpusched.reporting.text_table import Table, figure_of, table
from gpusched.statistics import Interval, relative_change
from gpusched_papers import dancer_program
from gpusched_papers.claims import Comparison, beside, published_of, verdicts, with_all
from gpusched_papers.drawing import Panel, curves
from gpusched_papers.study import (
    Column,
    Float64,
    Row,
    Runs,
    Stage,
    Study,
    by_pair,
    mean,
    run_study,
    simulate,
    stages_of,
    tasks_by_seed,
    with_left_out,
)
from gpusched_papers.unequal_gpus import (
    GENERATED_ITP,
    GENERATED_PHILLY,
    PHILLY,
    TABLES,
    Workload,
    absent,
    generated,
    jobs_of,
    servers,
    there,
    throughputs,
    window,
    with_restarts,
)

PUBLISHED: Final = published_of("dancer")
_GAINS: Final = PUBLISHED.claim("gains")

PLACEMENT: Final = "buddy"
SPEED: Final = "table"
RESTART_S: Final = 30.0
LOADS: Final = (1.0, 2.0, 4.0)
MIDDLE: Final = 2.0
TUNING_SEEDS: Final = range(15)
"""Of the instances on which the policy was made (0 to 9), and first studied (10 to 14)."""
FIRST_SEED: Final = 1000
"""All that is told is of seeds from here."""


@dataclass(frozen=True)
class Place:
    """Servers of 8 GPUs of each type, and how many jobs come."""

    name: str
    servers: tuple[int, int, int]
    jobs: int

    def cluster(self) -> gs.Cluster:
        """Return the servers."""
        return servers(self.servers)


SMALL: Final = Place("3 x 16 GPUs", (2, 2, 2), 300)
LARGE: Final = Place("3 x 64 GPUs", (8, 8, 8), 1_000)


ITP: Final = Workload("ITP 02", trace="itp/cluster02.csv")
WORKLOADS: Final = (ITP, PHILLY, GENERATED_ITP, GENERATED_PHILLY)


@dataclass(frozen=True)
class Setting:
    """What all policies are run on.

    Attributes
    ----------
    load
        GPU time asked for, counted on the fastest type, over that of all GPUs while jobs arrive.
    recipe, tightness
        Of the deadlines, see :meth:`gpusched.Trace.with_deadlines`.
    slot_s
        Of the policies that have slots or leases; 0: their own.
    error
        Policies are told services that are wrong by up to this part, either way.
    """

    workload: Workload
    load: float = MIDDLE
    place: Place = SMALL
    recipe: str = "elasticflow"
    tightness: float = 1.0
    slot_s: float = 0.0
    restart_s: float = RESTART_S
    error: float = 0.0

    @property
    def title(self) -> str:
        """What tables call it."""
        size = ", large" if self.place == LARGE else ""
        return f"{self.workload.name}{size}, load {self.load:g}"


@dataclass(frozen=True)
class Arm:
    """A policy.

    Attributes
    ----------
    slot
        Its parameter for the length of a slot.
    """

    name: str
    policy: str
    slot: str = ""

    def text(self, setting: Setting) -> str:
        """Return the policy with the setting's slot."""
        if not (setting.slot_s and self.slot):
            return self.policy
        mark = "," if ":" in self.policy else ":"
        return f"{self.policy}{mark}{self.slot}={setting.slot_s:g}"


DANCER: Final = Arm("dancer", "dancer", "slot_s")
PLAIN: Final = Arm("dancer, plain primal-dual", "dancer:preset=theory", "slot_s")
"""What the competitive ratio is of, and nothing else: theory prices, whole slots."""
ABLATIONS: Final = (
    *(
        Arm(f"dancer, {name.replace('-', ' ')}", f"dancer:preset={name}", "slot_s")
        for name in ("count-only", "type-only", "constant-price")
    ),
    PLAIN,
)
EDF: Final = Arm("edf", "edf")
EDF_FASTEST: Final = Arm("edf-fastest", "edf-fastest")
ORDERED: Final = Arm("elasticflow", "elasticflow", "slot_s")
PINNED: Final = Arm("elasticflow, pinned", "elasticflow:types=pinned", "slot_s")
CHRONUS: Final = Arm("chronus", "chronus", "lease_s")
GAVEL: Final = Arm("gavel", "gavel")
GAVEL_DEADLINES: Final = Arm("gavel, deadlines", "gavel:objective=deadlines")
TIRESIAS: Final = Arm("tiresias", "2d-las:preset=tiresias")
THEMIS: Final = Arm("themis-greedy", "themis-greedy")
BASELINES: Final = (
    ORDERED, EDF_FASTEST, PINNED, CHRONUS, GAVEL_DEADLINES, GAVEL, TIRESIAS, THEMIS, EDF,
    Arm("llf", "llf"),
)  # fmt: skip
COMPARED: Final = (EDF, TIRESIAS, GAVEL, THEMIS, PINNED)
"""Our choice, as the abstract names no baseline: the gain over these stands beside the paper's."""
ARMS: Final = (DANCER, *ABLATIONS, *BASELINES)

_ADDITIONS: Final = ("exchange", "retry", "replan", "fill")
"""What is ours beside the prices, and no part of the primal-dual form."""


def _without(*additions: str) -> Arm:
    options = ",".join(f"{addition}=false" for addition in additions)
    return Arm(f"without {', '.join(additions)}", f"dancer:{options}", "slot_s")


_DENSITY: Final = "prices=density"
ONE_TAKEN_AWAY: Final = (
    *map(_without, _ADDITIONS),
    Arm("without market prices", f"dancer:{_DENSITY}", "slot_s"),
)
"""One of our additions taken away, the others kept."""
_BARE: Final = _without(*_ADDITIONS)
TAKEN_AWAY: Final = (
    *(_without(*_ADDITIONS[:count]) for count in range(1, len(_ADDITIONS))),
    _BARE,
    Arm(f"{_BARE.name}, market prices", f"{_BARE.policy},{_DENSITY}", "slot_s"),
    PLAIN,
)
"""One more of them taken away from each to the next, down to the primal-dual form alone."""
VARIED: Final = (DANCER, ORDERED, PINNED, EDF_FASTEST, EDF)
"""Policies run where something but the load is varied."""
SLOTTED: Final = (DANCER, ORDERED, PINNED, CHRONUS)


@dataclass(frozen=True)
class Series:
    """One quantity varied, the rest as it is."""

    name: str
    title: str
    heading: str
    settings: dict[str, Setting]
    arms: tuple[Arm, ...] = VARIED


def _mixed(name: str, servers: tuple[int, int, int]) -> Place:
    return SMALL if servers == SMALL.servers else Place(f"{name} servers", servers, SMALL.jobs)


_BASE: Final = Setting(GENERATED_ITP)
_MIXES: Final = {"6/0/0": (6, 0, 0), "4/1/1": (4, 1, 1), "2/2/2": (2, 2, 2), "1/1/4": (1, 1, 4)}

SERIES: Final = (
    Series(
        "tightness",
        "how tight deadlines are",
        "deadline after the submit, in run times",
        {
            f"{part:g}": replace(_BASE, recipe="constant", tightness=part)
            for part in (0.5, 1.0, 1.5, 2.0, 3.0)
        },
    ),
    Series(
        "mix",
        "the types of the GPUs",
        "servers with V100/P100/K80",
        {mix: replace(_BASE, place=_mixed(mix, servers)) for mix, servers in _MIXES.items()},
    ),
    Series(
        "slot",
        "the length of a slot",
        "slot, s",
        {f"{slot:g}": replace(_BASE, slot_s=slot) for slot in (60.0, 150.0, 300.0, 600.0, 1200.0)},
        SLOTTED,
    ),
    Series(
        "restart",
        "what a restart costs",
        "restart, s",
        {f"{cost:g}": replace(_BASE, restart_s=cost) for cost in (0.0, 30.0, 120.0, 300.0)},
    ),
    Series(
        "error",
        "errors of the run times that policies know",
        "up to, %",
        {f"{error:.0%}"[:-1]: replace(_BASE, error=error) for error in (0.0, 0.05, 0.1, 0.2)},
        (DANCER, ORDERED, PINNED, CHRONUS),
    ),
)


_DRAWN: Final = (DANCER, ORDERED, PINNED, EDF_FASTEST, CHRONUS, TIRESIAS, GAVEL, EDF)
BOUND: Final = "upper bound"
_NOTHING: Final = 1e-9


def requests(quick: bool) -> dict[Setting, tuple[Arm, ...]]:
    """Return what is run: policies by setting; quickly: one generated workload."""
    everyone = tuple(dict.fromkeys((*ARMS, *ONE_TAKEN_AWAY, *TAKEN_AWAY)))
    if quick:
        few = tuple(arm for arm in everyone if arm not in (GAVEL, GAVEL_DEADLINES))
        return {Setting(GENERATED_ITP, load, place=replace(SMALL, jobs=100)): few for load in LOADS}
    wanted: dict[Setting, tuple[Arm, ...]] = {}

    def want(setting: Setting, arms: tuple[Arm, ...]) -> None:
        wanted[setting] = tuple(dict.fromkeys((*wanted.get(setting, ()), *arms)))

    for workload in WORKLOADS:
        for load in LOADS:
            # Its linear programs took more time than all others together.
            slow = () if load == MIDDLE else (GAVEL_DEADLINES,)
            want(Setting(workload, load), tuple(arm for arm in everyone if arm not in slow))
        few = tuple(arm for arm in everyone if arm != GAVEL_DEADLINES)
        want(Setting(workload, place=LARGE), few)
    for series in SERIES:
        for setting in series.settings.values():
            want(setting, series.arms)
    return wanted


_SEED_OF_ERRORS = 20_250
_GOLDEN = 0.618034
"""Multiples of it, modulo 1, keep away from each other however many there are."""


def workload(setting: Setting, seed: int) -> gs.Trace:
    """Return the jobs of a seed: of a file others for each seed, of a generator another draw."""
    trace = _raw(setting.place.jobs, setting.workload, seed)
    trace = with_restarts(trace.with_throughputs(throughputs(), seed=seed), setting.restart_s)
    trace = trace.with_load(setting.load, setting.place.cluster().num_gpus)
    trace = trace.with_deadlines(setting.recipe, tightness=setting.tightness, seed=seed)
    if not setting.error:
        return trace
    draws = np.random.default_rng([_SEED_OF_ERRORS, seed]).uniform(-1, 1, len(trace))
    told_us = np.maximum(1, np.rint(trace.service_us * (1 + setting.error * draws)))
    return replace(trace, estimate_us=told_us.astype(np.int64))


@lru_cache(maxsize=8)
def _raw(jobs: int, of: Workload, seed: int) -> gs.Trace:
    if of.profile:
        return generated(of, jobs, seed)
    trace = jobs_of(of)
    return window(trace, jobs, int(seed * _GOLDEN % 1 * len(trace)))


class Run(Row):
    """A policy on the jobs of one seed.

    ``dsr``: part of the jobs that met their deadlines. ``bound``: no schedule has a greater one;
    see :func:`gpusched.bounds.deadline_bound`. ``admitted``, ``broken``: parts of the jobs that
    were admitted, and that were and missed; None where all are. ``changes``: preemptions and
    resizes per job. ``utilisation``: GPU time held over that of the cluster, until the last job
    ends. ``decision_s``: processor time of the run over its instants (arrivals and finishes).
    """

    @property
    def gap(self) -> float:
        """What the bound leaves: bound / DSR - 1."""
        return float(self.bound / self.dsr - 1) if self.dsr else float("inf")


def run_arms(setting: Setting, arms: tuple[Arm, ...], seed: int) -> list[Run]:
    """Run all policies on the same jobs."""
    trace, cluster = workload(setting, seed), setting.place.cluster()
    bound = gs.bounds.deadline_bound(trace, cluster, speed=SPEED)
    made = []
    for arm in arms:
        before_s = time.process_time()
        result = simulate(
            trace,
            cluster,
            policy=arm.text(setting),
            placement=PLACEMENT,
            speed=SPEED,
            predictor="estimate" if setting.error else "oracle",
            seed=seed,
        )
        spent_s = time.process_time() - before_s
        made.append(_measures(setting, arm, seed, result, bound, spent_s))
    return made


def _measures(
    setting: Setting,
    arm: Arm,
    seed: int,
    result: gs.Result,
    bound: gs.bounds.DeadlineBound,
    processor_s: float,
) -> Run:
    summary: dict[str, Any] = dict(result.summary())
    jobs = len(result.trace)
    if summary["dsr"] > bound.dsr:
        raise RuntimeError(
            f"{arm.name} on {setting}, seed {seed}: a DSR above its bound {bound.dsr}"
        )
    admitted, broken = summary.get("num_admitted"), summary.get("broken_promises")
    instants = np.union1d(result.trace.submit_us, result.schedule.finish_us)
    return Run(
        place=setting.place.name,
        workload=setting.workload.name,
        load=setting.load,
        recipe=setting.recipe,
        tightness=setting.tightness,
        slot_s=setting.slot_s,
        restart_s=setting.restart_s,
        error=setting.error,
        arm=arm.name,
        policy=arm.text(setting),
        seed=seed,
        jobs=jobs,
        dsr=float(summary["dsr"]),
        bound=bound.dsr,
        bound_name=bound.name,
        admitted=None if admitted is None else admitted / jobs,
        broken=None if broken is None else broken / jobs,
        mean_jct_s=float(summary["mean_jct_s"]),
        changes=float((summary["preemptions"] + summary["resizes"]) / jobs),
        utilisation=float(summary["allocation"]),
        decision_s=processor_s / len(instants),
        run_s=processor_s,
    )


@dataclass(frozen=True)
class Gap:
    """One small instance: deadlines met at most, and by each policy.

    Attributes
    ----------
    optimum
        Of the integer program; ``proven``, if the time did not suffice, is the least bound on it.
    relaxed
        Of the linear program.
    bound
        Of any schedule, by :func:`gpusched.bounds.deadline_bound`.
    """

    seed: int
    optimum: int
    proven: float
    relaxed: float
    bound: float
    met: dict[str, int]


def gap(seed: int, arms: tuple[Arm, ...] = (DANCER,)) -> Gap:
    """Solve an instance, and run policies on it; extra: exact."""
    trace, cluster = dancer_program.instance(seed), dancer_program.cluster()
    optimum, proven = dancer_program.solve(trace, is_integer=True)
    relaxed, _ = dancer_program.solve(trace, is_integer=False)
    options = {"placement": PLACEMENT, "speed": SPEED, "seed": seed}
    met = {
        arm.name: int(
            simulate(trace, cluster, policy=arm.policy, **options).summary()["deadlines_met"]
        )
        for arm in arms
    }
    bound = gs.bounds.deadline_bound(trace, cluster, speed=SPEED).met
    return Gap(seed, round(optimum), proven, relaxed, bound, met)


class Summary(Runs):
    """The runs by setting and policy."""

    def has(self, setting: Setting, arm: Arm = DANCER) -> bool:
        """Whether it was run."""
        return super().has(setting, arm)

    def mean(self, setting: Setting, arm: Arm, column: Column = "dsr") -> Interval:
        """Return the mean over the seeds."""
        return super().mean(setting, arm, column)

    def main(self) -> list[Setting]:
        """Return those in which only workload, load and cluster differ."""
        return [
            setting
            for setting in self.settings(DANCER)
            if setting == Setting(setting.workload, setting.load, setting.place)
            and len(set(setting.place.servers)) == 1
        ]

    def arms(self, settings: Sequence[Setting]) -> list[Arm]:
        """Return the policies that were run on some of these."""
        return [arm for arm in ARMS if any(self.has(setting, arm) for setting in settings)]


@dataclass
class Dancer(Study):
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

    paper = "dancer"
    published = PUBLISHED

    @classmethod
    def begin(cls, quick: bool) -> Self:
        """Return one without runs; an error if the throughputs are not there."""
        need_data(TABLES, "dancer")
        return cls(missing=() if quick else absent(WORKLOADS))

    def plan(self, seeds: int, quick: bool, exact: bool) -> list[Stage]:
        """Run all policies in all settings, and solve small instances."""
        wanted = there(requests(quick))
        numbers = range(FIRST_SEED, FIRST_SEED + seeds)

        def take_runs(made: Mapping[tuple[Any, ...], list[Run]]) -> None:
            self.runs = by_pair(wanted, made)

        def take_gaps(made: Mapping[tuple[Any, ...], Gap]) -> None:
            self.gaps = list(made.values())

        tasks = tasks_by_seed(wanted, numbers)
        stages = [Stage("jobs of a seed, all policies", run_arms, tasks, take_runs, _part_of)]
        if exact:
            solved = [(seed, (DANCER, ORDERED, EDF_FASTEST)) for seed in numbers]
            name = "optimum of seed {}".format
            stages.append(
                Stage("integer programs", gap, solved, take_gaps, lambda task: name(task[0]))
            )
        return stages

    def is_enough(self) -> bool:
        """Whether two seeds are there."""
        return Runs(self.runs).num_seeds > 1

    def comparisons(self) -> list[Comparison]:
        """Our largest gain over each of some baselines of our choice beside the published one."""
        return with_all(_comparisons(Summary(self.runs)), PUBLISHED.results)

    def tables(self) -> list[Table]:
        """The results."""
        summary = Summary(self.runs)
        main = summary.main()
        made = [_leads(summary, main), _gains(summary, main), _parts(summary, main)]
        made.append(verdicts(self.comparisons()))
        for of in WORKLOADS:
            here = [s for s in main if s.workload == of and s.place != LARGE]
            if here:
                place = here[0].place
                title = f"{of.name}, {place.name}, {place.jobs} jobs"
                made.append(_by_policy(summary, title, [f"load {s.load:g}" for s in here], here))
        large = [s for s in main if s.place == LARGE]
        if large:
            title = f"{LARGE.name}, {LARGE.jobs} jobs, load {large[0].load:g}"
            made.append(_by_policy(summary, title, [s.workload.name for s in large], large))
        every = {*ONE_TAKEN_AWAY, *TAKEN_AWAY}
        if all(summary.has(setting, arm) for setting in main for arm in every):
            made += _taken_away(summary, main)
        made.append(_effort(summary, main))
        made += [_varied(summary, one) for one in _series(summary)]
        if self.gaps:
            made.append(_optimum(self.gaps))
        return with_left_out(made, (workload.trace for workload in self.missing))

    def data(self) -> dict[str, Any]:
        """All runs, the gaps, and what was not there."""
        missing = [workload.trace for workload in self.missing]
        return {"runs": self.rows(), "gaps": self.gaps, "missing": missing}

    def rows(self) -> list[dict[str, Any]]:
        """All runs."""
        return [row.columns | {"gap": row.gap} for rows in self.runs.values() for row in rows]

    def figures(self) -> dict[str, Any]:
        """Deadlines met by load, and against all else that is varied, with the bound above."""
        summary = Summary(self.runs)

        def panel(
            title: str, heading: str, labels: Iterable[str], of: Sequence[Setting],
            arms: Sequence[Arm],
        ) -> Panel:  # fmt: skip
            lines = {
                arm.name: [summary.mean(setting, arm) for setting in of]
                for arm in arms
                if all(summary.has(setting, arm) for setting in of)
            }
            above = [summary.mean(setting, DANCER, "bound").value for setting in of]
            marks = {BOUND: dict(enumerate(above))}
            return Panel(title, heading, range(len(of)), lines, marks, list(labels))

        main = [setting for setting in summary.main() if setting.place != LARGE]
        of = {w: [s for s in main if s.workload == w] for w in WORKLOADS}
        panels = [
            panel(workload.name, "load", [f"{s.load:g}" for s in here], here, _DRAWN)
            for workload, here in of.items()
            if here
        ]
        seeds = f"{summary.num_seeds} seeds, mean and 95 % interval"
        place = main[0].place
        note = f"{place.name}, {place.jobs} jobs; {seeds}"
        draw = partial(curves, y="DSR, %", scale=100, top=100)
        drawn = {"load.png": draw(panels, note=note, columns=min(2, len(panels)))}
        if series := _series(summary):
            panels = [
                panel(one.title, one.heading, one.settings, list(one.settings.values()), one.arms)
                for one in series
            ]
            setting = next(iter(series[0].settings.values()))
            note = f"{setting.workload.name}, load {setting.load:g}; {seeds}"
            drawn["sensitivity.png"] = draw(panels, note=note, columns=3)
        return drawn


def _part_of(task: tuple[Setting, tuple[Arm, ...], int]) -> str:
    return f"{task[0]}, seed {task[2]}"


def _series(summary: Summary) -> list[Series]:
    return [one for one in SERIES if all(map(summary.has, one.settings.values()))]


def _comparisons(summary: Summary) -> Iterator[Comparison]:
    for arm in COMPARED:
        here = [setting for setting in summary.main() if summary.has(setting, arm)]
        gains = [
            (relative_change(ours, theirs, method="t"), setting)
            for setting in here
            for ours, theirs in [[summary.values(setting, of, "dsr") for of in (DANCER, arm)]]
            if theirs.any()
        ]
        if gains:
            most, setting = max(gains, key=lambda found: found[0].value)
            what = f"over {arm.name}, {setting.title}, where ours is most"
            yield beside(_GAINS, most, what)


def _leads(summary: Summary, settings: Sequence[Setting]) -> Table:
    """Dancer beside the best of the others, on the same jobs."""
    rows = []
    for setting in settings:
        arms = [arm for arm in BASELINES if summary.has(setting, arm)]
        best = max(arms, key=lambda arm: summary.mean(setting, arm).value)
        ahead = summary.values(setting, DANCER, "dsr") - summary.values(setting, best, "dsr")
        rows.append(
            [
                setting.title,
                _figure(summary.mean(setting, DANCER)),
                _figure(summary.mean(setting, best)),
                best.name,
                _figure(mean(ahead)),
                _figure(summary.mean(setting, DANCER, "bound")),
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


def _gains(summary: Summary, settings: Sequence[Setting]) -> Table:
    """How many more deadlines Dancer meets than each other where that is most."""
    rows = []
    for arm, here in _compared(summary, settings):
        ours, theirs, best = _means(summary, here, arm)
        gain = ours / theirs - 1
        most = int(np.argmax(gain))
        cells = [_percent(gain[most]), _percent(best[most] / theirs[most] - 1)]
        rows.append([arm.name, *cells, here[most].title])
    low, high = (f"{100 * (gain or 0):.1f}" for gain in (_GAINS.value, _GAINS.up_to))
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


def _parts(summary: Summary, settings: Sequence[Setting]) -> Table:
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
                here[least].title,
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
    wanted = ((DANCER, "dsr"), (arm, "dsr"), (DANCER, "bound"))
    ours, theirs, best = (
        np.array([summary.mean(setting, of, column).value for setting in settings])
        for of, column in wanted
    )
    return ours, np.maximum(theirs, _NOTHING), best


def _by_policy(
    summary: Summary, title: str, labels: Sequence[str], settings: Sequence[Setting]
) -> Table:
    """DSR of every policy in some settings."""
    note = f"{summary.num_seeds} seeds, mean and 95 % interval."
    return table(f"DSR, %: {title}", ("policy", *labels), _rows(summary, settings), (note,))


def _varied(summary: Summary, series: Series) -> Table:
    """DSR of some policies against something else than the load."""
    settings = list(series.settings.values())
    rows = _rows(summary, settings, series.arms)
    notes = [f"{settings[0].workload.name}, load {settings[0].load:g}; {series.heading}."]
    if any(setting.error for setting in settings):
        for arm in (arm for arm in series.arms if summary.has(settings[0], arm)):
            broken = [summary.mean(s, arm, _or_none("broken")) for s in settings]
            admitted = [summary.mean(s, arm, _or_none("admitted")) for s in settings]
            rows.append([f"{arm.name}: broken promises", *map(_figure, broken)])
            rows.append([f"{arm.name}: admitted", *map(_figure, admitted)])
        notes.append(
            "Policies are told run times that are wrong by a part drawn evenly from -x to x; "
            "broken promises and admissions are in % of all jobs."
        )
    return table(f"DSR, %, and {series.title}", ("policy", *series.settings), rows, notes)


def _effort(summary: Summary, settings: Sequence[Setting]) -> Table:
    """What else the policies do: means over all settings."""
    rows = []
    for arm in summary.arms(settings):
        here = [setting for setting in settings if summary.has(setting, arm)]

        def over(column: Column, of: Arm = arm, some: list[Setting] = here) -> float:
            return float(np.mean([summary.mean(setting, of, column).value for setting in some]))

        admits = summary.values(here[0], arm, lambda run: run.admitted is not None).all()
        rows.append(
            [
                arm.name,
                f"{over('dsr') * 100:.1f}",
                f"{over(_or_none('admitted')) * 100:.1f}" if admits else "",
                f"{over(_or_none('broken')) * 100:.2f}" if admits else "",
                f"{over('mean_jct_s') / 3600:.1f}",
                f"{over('changes'):.1f}",
                f"{over('utilisation') * 100:.0f}",
                f"{over('decision_s') * 1000:.2f}",
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


def _optimum(gaps: Sequence[Gap]) -> Table:
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
    cluster = " and ".join(f"{gpus} {kind}" for kind, gpus in dancer_program.TYPE_GPUS.items())
    return table(
        f"The integer program: {dancer_program.NUM_JOBS} jobs on {cluster}, deadlines met",
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
    rows.append([BOUND, *(_figure(summary.mean(s, DANCER, "bound")) for s in settings)])
    return rows


def _or_none(column: str) -> Callable[[Run], float]:
    return lambda run: getattr(run, column) or 0.0


def _figure(value: Interval) -> str:
    return figure_of(value, 1, 100)


def _percent(value: float) -> str:
    return f"{value * 100:.1f}"


def _taken_away(summary: Summary, settings: Sequence[Setting]) -> Iterable[Table]:
    """One addition taken away from all, and one more at a time down to none of them."""
    notes = (
        "DSR: mean over all settings and seeds, and the 95 % interval over the seeds of what it "
        "has more than dancer on the same jobs. First: its mean is above that of every baseline; "
        "surely: the 95 % interval of its lead over the best of them excludes 0.",
    )
    for title, arms in (
        ("One of our additions taken away", ONE_TAKEN_AWAY),
        ("Our additions taken away one after the other", TAKEN_AWAY),
    ):
        rows = [_row(summary, settings, arm) for arm in (DANCER, *arms)]
        headings = (
            "policy", "DSR, %", "points more than dancer", "first in", "surely", "behind in",
        )  # fmt: skip
        yield table(f"{title}: all settings", headings, rows, notes)


def _row(summary: Summary, settings: Sequence[Setting], arm: Arm) -> list[str]:
    leads = [_lead(summary, setting, arm) for setting in settings]
    first = sum(lead.mean() > 0 for lead in leads)
    surely = sum(mean(lead).low > 0 for lead in leads)
    behind = sum(mean(lead).high < 0 for lead in leads)
    own, full = (_by_seed(summary, settings, of) for of in (arm, DANCER))
    more = "" if arm == DANCER else figure_of(mean(own - full), 1, 100)
    of = len(settings)
    return [arm.name, f"{100 * own.mean():.1f}", more, f"{first} of {of}", f"{surely}", f"{behind}"]


def _lead(summary: Summary, setting: Setting, arm: Arm) -> Float64:
    """By how much it is ahead of the best of the baselines there; by seed."""
    baselines = [one for one in BASELINES if summary.has(setting, one)]
    best = max(baselines, key=lambda one: summary.mean(setting, one).value)
    return summary.values(setting, arm, "dsr") - summary.values(setting, best, "dsr")


def _by_seed(summary: Summary, settings: Sequence[Setting], arm: Arm) -> Float64:
    found: Float64 = np.mean([summary.values(setting, arm, "dsr") for setting in settings], axis=0)
    return found


reproduce = partial(run_study, Dancer)
stages = partial(stages_of, Dancer)
