"""Dancer (Zhang et al., IEEE TCC 2025): deadlines met against baselines, and what is possible.

Jobs of traces and generators with the throughputs of Gavel's tables and drawn deadlines run on
unequal GPUs under Dancer, under it with parts taken away, and under baselines of our choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Self

import numpy as np

import gpusched as gs
from gpusched.base.real_data import need_data
from gpusched.base.tables import Table
from gpusched_papers.claims import (
    Comparison,
    Texts,
    beside,
    claims_file,
    published_of,
    verdicts,
    with_all,
)
from gpusched_papers.drawing import Panel, curves
from gpusched_papers.exact import Program
from gpusched_papers.intervals import change, mean
from gpusched_papers.study import (
    US_PER_S,
    Arm,
    Arms,
    Float64,
    Made,
    PairStudy,
    Row,
    Runs,
    Stage,
    about,
    run_study,
    simulate,
    stages_of,
    timed,
    with_left_out,
)
from gpusched_papers.unequal_gpus import (
    GENERATED_ITP,
    GENERATED_PHILLY,
    PHILLY,
    TABLES,
    Place,
    Workload,
    absent,
    drawn_jobs,
    there,
    throughputs,
    with_restarts,
)

PUBLISHED: Final = published_of("dancer")
TEXTS: Final = Texts("dancer")
_FILE: Final = claims_file("dancer")
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

SMALL: Final = Place("3 x 16 GPUs", (2, 2, 2), 300)
LARGE: Final = Place("3 x 64 GPUs", (8, 8, 8), 1_000)
ITP: Final = Workload("ITP 02", trace="itp/cluster02.csv")
WORKLOADS: Final = (ITP, PHILLY, GENERATED_ITP, GENERATED_PHILLY)


@dataclass(frozen=True)
class Setting:
    """What all policies are run on.

    ``load``: GPU time asked for, counted on the fastest type, over that of all GPUs while jobs
        arrive.
    ``recipe``, ``tightness``: of the deadlines, see :meth:`gpusched.Trace.with_deadlines`.
    ``slot_s``: of the policies that have slots or leases; 0: their own.
    ``error``: policies are told services that are wrong by up to this part, either way.
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


_ARMS: Final = Arms(_FILE)
EVERYONE: Final = tuple(_ARMS.values())
DANCER, ORDERED, PINNED = (_ARMS[name] for name in ("dancer", "elasticflow", "elasticflow, pinned"))
EDF, EDF_FASTEST, GAVEL = (_ARMS[name] for name in ("edf", "edf-fastest", "gavel"))
GAVEL_DEADLINES: Final = _ARMS["gavel, deadlines"]
PLAIN: Final = _ARMS["dancer, plain primal-dual"]
"""What the competitive ratio is of, and nothing else: theory prices, whole slots."""
ABLATIONS: Final = _ARMS.some("ablations")
BASELINES: Final = _ARMS.some("baselines")
COMPARED: Final = _ARMS.some("compared")
"""Our choice, as the abstract names no baseline: the gain over these stands beside the paper's."""
ARMS: Final = (DANCER, *ABLATIONS, *BASELINES)
ONE_TAKEN_AWAY: Final = _ARMS.some("one-taken-away")
"""One of our additions taken away, the others kept."""
TAKEN_AWAY: Final = _ARMS.some("taken-away")
"""One more of them taken away from each to the next, down to the primal-dual form alone."""


@dataclass(frozen=True)
class Series:
    """One quantity varied, the rest as it is."""

    title: str
    heading: str
    settings: dict[str, Setting]
    arms: tuple[Arm, ...]


def _series(
    title: str, heading: str, field: str, values: dict[str, Any], arms: str, **more: Any
) -> Series:
    def setting(label: str, value: Any) -> Setting:
        if field == "place":
            is_small = tuple(value) == SMALL.servers
            value = SMALL if is_small else Place(f"{label} servers", tuple(value), SMALL.jobs)
        return Setting(GENERATED_ITP, **more, **{field: value})

    settings = {label: setting(label, value) for label, value in values.items()}
    return Series(title, heading, settings, _ARMS.some(arms))


SERIES: Final = tuple(_series(**told) for told in _FILE["series"])
BOUND: Final = "upper bound"
_NOTHING: Final = 1e-9


def requests(quick: bool) -> dict[Setting, tuple[Arm, ...]]:
    """Return what is run: policies by setting; quickly: one generated workload."""
    if quick:
        few = tuple(arm for arm in EVERYONE if arm not in (GAVEL, GAVEL_DEADLINES))
        return {Setting(GENERATED_ITP, load, place=replace(SMALL, jobs=100)): few for load in LOADS}
    # Its linear programs took more time than all others together.
    others = tuple(arm for arm in EVERYONE if arm != GAVEL_DEADLINES)
    wanted: dict[Setting, tuple[Arm, ...]] = {}
    for workload in WORKLOADS:
        for load in LOADS:
            wanted[Setting(workload, load)] = EVERYONE if load == MIDDLE else others
        wanted[Setting(workload, place=LARGE)] = others
    for series in SERIES:
        for setting in series.settings.values():
            arms = (*wanted.get(setting, ()), *series.arms)
            wanted[setting] = tuple(dict.fromkeys(arms))
    return wanted


_SEED_OF_ERRORS = 20_250
_GOLDEN = 0.618034
"""Multiples of it, modulo 1, keep away from each other however many there are."""


def workload(setting: Setting, seed: int) -> gs.Trace:
    """Return the jobs of a seed."""
    trace = drawn_jobs(setting.workload, setting.place.jobs, seed, _first)
    trace = with_restarts(trace.with_throughputs(throughputs(), seed=seed), setting.restart_s)
    trace = trace.with_load(setting.load, setting.place.cluster().num_gpus)
    trace = trace.with_deadlines(setting.recipe, tightness=setting.tightness, seed=seed)
    if not setting.error:
        return trace
    draws = np.random.default_rng([_SEED_OF_ERRORS, seed]).uniform(-1, 1, len(trace))
    told_us = np.maximum(1, np.rint(trace.service_us * (1 + setting.error * draws)))
    return replace(trace, estimate_us=told_us.astype(np.int64))


def _first(seed: int, jobs: int) -> int:
    return int(seed * _GOLDEN % 1 * jobs)


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
    predictor = "estimate" if setting.error else "oracle"
    made = []
    for arm in arms:
        result, run_s, decision_s = timed(
            trace, cluster, policy=arm.text(setting), placement=PLACEMENT, speed=SPEED,
            predictor=predictor, seed=seed,
        )  # fmt: skip
        summary: dict[str, Any] = dict(result.summary())
        if summary["dsr"] > bound.dsr:
            raise RuntimeError(
                f"{arm.name} on {setting}, seed {seed}: a DSR above its bound {bound.dsr}"
            )
        jobs = len(result.trace)
        admitted, broken = (summary.get(key) for key in ("num_admitted", "broken_promises"))
        made.append(
            Run(
                **about(setting, arm, seed, jobs),
                dsr=float(summary["dsr"]),
                bound=bound.dsr,
                bound_name=bound.name,
                admitted=None if admitted is None else admitted / jobs,
                broken=None if broken is None else broken / jobs,
                mean_jct_s=float(summary["mean_jct_s"]),
                changes=float((summary["preemptions"] + summary["resizes"]) / jobs),
                utilisation=float(summary["allocation"]),
                decision_s=decision_s,
                run_s=run_s,
            )
        )
    return made


NUM_JOBS: Final = 22
TYPE_GPUS: Final = {"V100": 8, "P100": 8}
SLOT_S: Final = 300
WITHIN_SLOTS: Final = 16
TIME_LIMIT_S: Final = 60.0


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
    """Solve a small instance, and run policies on it; extra: exact."""
    trace = instance(seed)
    groups = tuple(gs.ServerGroup(1, gpus, kind) for kind, gpus in TYPE_GPUS.items())
    cluster = gs.Cluster(groups)
    optimum, proven = solve(trace, is_integer=True)
    relaxed, _ = solve(trace, is_integer=False)
    met = {}
    for arm in arms:
        result = simulate(
            trace, cluster, policy=arm.policy, placement=PLACEMENT, speed=SPEED, seed=seed
        )
        met[arm.name] = int(result.summary()["deadlines_met"])
    bound = gs.bounds.deadline_bound(trace, cluster, speed=SPEED).met
    return Gap(seed, round(optimum), proven, relaxed, bound, met)


def instance(seed: int) -> gs.Trace:
    """Draw jobs for twice the work that fits; times are whole slots."""
    rng = np.random.default_rng([2_025, seed])
    submit = np.sort(rng.integers(0, WITHIN_SLOTS, NUM_JOBS))
    submit -= submit[0]
    service_s = np.rint(np.exp(rng.normal(np.log(5 * SLOT_S), 0.8, NUM_JOBS)))
    slots = np.maximum(1, np.ceil(service_s / SLOT_S * rng.uniform(0.5, 1.5, NUM_JOBS)))
    trace = gs.Trace.from_columns(
        submit_s=submit * SLOT_S,
        service_s=service_s,
        gpus=rng.choice([1, 2, 4, 8], NUM_JOBS, p=[0.4, 0.2, 0.2, 0.2]),
        deadline_s=(submit + slots) * SLOT_S,
        name=f"dancer-exact-{seed}",
    )
    return trace.with_throughputs(throughputs(), seed=seed)


def solve(trace: gs.Trace, *, is_integer: bool) -> tuple[float, float]:
    """Return the deadlines met in the best schedule found, and what is proven of the best.

    Slots of equal length, submits and deadlines at their borders, changes cost nothing: in each
    slot of its window a job runs in one configuration or not at all, and a job counts if its work
    is done. In a run jobs may change at any time, so that more than the optimum of the slots is
    possible in principle; the fluid bound is one for that too.
    """
    assert trace.deadline_us is not None
    begin = (trace.submit_us // (SLOT_S * US_PER_S)).tolist()
    end = (trace.deadline_us // (SLOT_S * US_PER_S)).tolist()
    program = Program()
    counts = program.variables(len(trace), upper=1.0, integer=is_integer).tolist()
    done: list[list[Any]] = [[(-1.0, one)] for one in counts]
    used: list[list[Any]] = [[] for _ in range(len(TYPE_GPUS) * max(end))]  # by type and slot
    once: list[list[Any]] = []
    for job, one in enumerate(counts):
        configurations = rates(trace, job)
        for slot in range(begin[job], end[job]):
            runs = program.variables(len(configurations), upper=1.0, integer=is_integer).tolist()
            for (kind, width, part), column in zip(configurations, runs, strict=True):
                done[job].append((part, column))
                used[kind * max(end) + slot].append((float(width), column))
            once.append([(-1.0, one), *((1.0, column) for column in runs)])
    room = np.repeat(list(TYPE_GPUS.values()), max(end)).tolist()
    for terms in done:
        program.row(*terms, lower=0.0)
    for terms, gpus in zip(used, room, strict=True):
        program.row(*terms, upper=gpus)
    for terms in once:
        program.row(*terms, upper=0.0)
    found = program.solve(dict.fromkeys(counts, -1.0), time_limit_s=TIME_LIMIT_S)
    if found.x is None:
        raise TimeoutError(f"dancer: no schedule within {TIME_LIMIT_S:g} s ({found.message})")
    proven = found.mip_dual_bound if is_integer else found.fun
    return float(-found.fun), float(-proven)


def rates(trace: gs.Trace, job: int) -> list[tuple[int, int, float]]:
    """Return the configurations of a job: type, GPUs, and the part of its work done in a slot."""
    assert trace.profile is not None
    table = trace.profiles[trace.profile[job]].throughput
    own = int(trace.gpus[job])
    best = max(table[kind].get(own, 0.0) for kind in TYPE_GPUS)
    service_s = float(trace.service_us[job]) / US_PER_S
    found: list[tuple[int, int, Any]] = []
    for column, (kind, gpus) in enumerate(TYPE_GPUS.items()):
        for width, figure in table[kind].items():
            if width <= gpus and figure > 0:
                rate = min(figure, best) if width == own else figure
                found.append((column, width, rate / best * SLOT_S / service_s))
    return found


class Summary(Runs):
    """The runs by setting and policy."""

    figure = "dsr"

    def main(self) -> list[Setting]:
        """Return those in which only workload, load and cluster differ."""
        return [
            setting
            for setting in self.settings(DANCER)
            if setting == Setting(setting.workload, setting.load, setting.place)
            and len(set(setting.place.servers)) == 1
        ]

    def series(self) -> list[Series]:
        """Return those that were run."""
        return [one for one in SERIES if all(self.has(s, DANCER) for s in one.settings.values())]

    def best(self, setting: Setting) -> Arm:
        """Return the best of the baselines."""
        arms = [arm for arm in BASELINES if self.has(setting, arm)]
        return max(arms, key=lambda arm: self.mean(setting, arm).value)

    def compared(self, settings: Sequence[Setting]) -> Iterator[tuple[Arm, list[Setting], Any]]:
        """Return the policies, ``COMPARED`` first, the settings in which they were run, and there
        the DSR of Dancer, of the policy, and the bound.
        """
        for arm in dict.fromkeys((*COMPARED, *BASELINES, *ABLATIONS)):
            if here := [setting for setting in settings if self.has(setting, arm)]:
                ours, theirs, best = (
                    np.array([self.mean(setting, of, column).value for setting in here])
                    for of, column in ((DANCER, "dsr"), (arm, "dsr"), (DANCER, "bound"))
                )
                yield arm, here, (ours, np.maximum(theirs, _NOTHING), best)

    def rows_of(self, settings: Sequence[Setting], arms: Sequence[Arm] = ARMS) -> list[list[Any]]:
        """Return a row of a table for each policy, and one for the bound."""
        rows = [[arm.name, *self.means(settings, arm)] for arm in self.arms(settings, ARMS)
                if arm in arms]  # fmt: skip
        return [*rows, [BOUND, *self.means(settings, DANCER, "bound")]]


@dataclass
class Dancer(PairStudy):
    """All runs of the study; ``gaps`` to the integer program, by seed, if they were asked for."""

    gaps: list[Gap] = field(default_factory=list)

    paper = "dancer"
    published = PUBLISHED

    @classmethod
    def begin(cls, quick: bool) -> Self:
        """Return one without runs; an error if the throughputs are not there."""
        need_data(TABLES, "dancer")
        return cls(missing=() if quick else absent(WORKLOADS))

    def plan(self, seeds: int, quick: bool, exact: bool) -> list[Stage]:
        """Run all policies in all settings, and solve small instances."""
        numbers = range(FIRST_SEED, FIRST_SEED + seeds)
        name = "jobs of a seed, all policies"
        stages = [self.pairs(name, run_arms, there(requests(quick)), numbers)]

        def take(made: Made) -> None:
            self.gaps = list(made.values())

        if exact:
            solved = [(seed, (DANCER, ORDERED, EDF_FASTEST)) for seed in numbers]
            part = "optimum of seed {0[0]}".format
            stages.append(Stage("integer programs", gap, solved, take, part))
        return stages

    def comparisons(self) -> list[Comparison]:
        """Our largest gain over each of some baselines of our choice beside the published one."""
        return with_all(_comparisons(Summary(self.runs)), PUBLISHED.results)

    def tables(self) -> list[Table]:
        """The results."""
        summary = Summary(self.runs)
        main = summary.main()
        made = [_leads(summary, main), *_gains(summary, main)]
        made.append(verdicts(self.comparisons()))
        by_policy = partial(TEXTS.table, "policies", seeds=summary.num_seeds)
        for of in WORKLOADS:
            here = [s for s in main if s.workload == of and s.place != LARGE]
            if here:
                what = f"{of.name}, {here[0].place.name}, {here[0].place.jobs} jobs"
                loads = [f"load {s.load:g}" for s in here]
                made.append(by_policy(summary.rows_of(here), *loads, what=what))
        if large := [s for s in main if s.place == LARGE]:
            what = f"{LARGE.name}, {LARGE.jobs} jobs, load {large[0].load:g}"
            names = [s.workload.name for s in large]
            made.append(by_policy(summary.rows_of(large), *names, what=what))
        if all(summary.has(setting, *ONE_TAKEN_AWAY, *TAKEN_AWAY) for setting in main):
            made += _taken_away(summary, main)
        made.append(_effort(summary, main))
        made += [_varied(summary, one) for one in summary.series()]
        if self.gaps:
            made.append(_optimum(self.gaps))
        return with_left_out(made, self.left_out)

    def data(self) -> dict[str, Any]:
        """All runs, the gaps, and what was not there."""
        return {"runs": self.rows(), "gaps": self.gaps, "missing": self.left_out}

    def rows(self) -> list[dict[str, Any]]:
        """All runs."""
        return [row.columns | {"gap": row.gap} for rows in self.runs.values() for row in rows]

    def figures(self) -> dict[str, Any]:
        """Deadlines met by load, and against all else that is varied, with the bound above."""
        summary = Summary(self.runs)

        def panel(title: str, heading: str, of: dict[str, Setting], arms: Sequence[Arm]) -> Panel:
            settings = list(of.values())
            lines = {
                arm.name: summary.mean_in(settings, arm)
                for arm in arms
                if all(summary.has(setting, arm) for setting in settings)
            }
            above = [one.value for one in summary.mean_in(settings, DANCER, "bound")]
            marks = {BOUND: dict(enumerate(above))}
            return Panel(title, heading, range(len(of)), lines, marks, list(of))

        main = [setting for setting in summary.main() if setting.place != LARGE]
        of = {w: {f"{s.load:g}": s for s in main if s.workload == w} for w in WORKLOADS}
        panels = [
            panel(w.name, "load", here, _ARMS.some("drawn")) for w, here in of.items() if here
        ]
        seeds = f"{summary.num_seeds} seeds, mean and 95 % interval"
        note = f"{main[0].place.name}, {main[0].place.jobs} jobs; {seeds}"
        draw = partial(curves, y="DSR, %", scale=100, top=100)
        drawn = {"load.png": draw(panels, note=note, columns=min(2, len(panels)))}
        if series := summary.series():
            panels = [panel(one.title, one.heading, one.settings, one.arms) for one in series]
            setting = next(iter(series[0].settings.values()))
            note = f"{setting.workload.name}, load {setting.load:g}; {seeds}"
            drawn["sensitivity.png"] = draw(panels, note=note, columns=3)
        return drawn


def _comparisons(summary: Summary) -> Iterator[Comparison]:
    for arm in COMPARED:
        gains = [
            (change(ours, theirs), setting)
            for setting in summary.main()
            if summary.has(setting, arm)
            for ours, theirs in [[summary.values(setting, of) for of in (DANCER, arm)]]
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
        best = summary.best(setting)
        ahead = mean(summary.values(setting, DANCER) - summary.values(setting, best))
        ours, theirs = (summary.mean(setting, arm) for arm in (DANCER, best))
        bound = summary.mean(setting, DANCER, "bound")
        rows.append([setting.title, ours, theirs, best.name, ahead, bound])
    return TEXTS.table("leads", rows, seeds=summary.num_seeds)


def _gains(summary: Summary, settings: Sequence[Setting]) -> tuple[Table, Table]:
    """How many more deadlines Dancer meets than each other, and how much of what is possible.

    First where that is most, then over all settings.
    """
    gains, parts = [], []
    for arm, here, (ours, theirs, best) in summary.compared(settings):
        gain, possible = ours / theirs - 1, best / theirs - 1
        most = int(np.argmax(gain))
        gains.append([arm.name, gain[most], possible[most], here[most].title])
        part = (ours - theirs) / np.maximum(best - theirs, _NOTHING)
        least = int(np.argmin(part))
        our, their, top = ours.mean(), theirs.mean(), best.mean()
        reached = (our - their) / (top - their)
        won = f"{np.count_nonzero(ours > theirs)} of {len(here)}"
        row = [our / their - 1, top / their - 1, reached, part[least], here[least].title, won]
        parts.append([arm.name, *row])
    low, high = (100 * (gain or 0) for gain in (_GAINS.value, _GAINS.up_to))
    return TEXTS.table("gains", gains, low=low, high=high), TEXTS.table("parts", parts)


def _varied(summary: Summary, series: Series) -> Table:
    """DSR of some policies against something else than the load."""
    settings = list(series.settings.values())
    rows = summary.rows_of(settings, series.arms)
    has_errors = any(setting.error for setting in settings)
    for arm in series.arms if has_errors else ():
        if summary.has(settings[0], arm):
            for name, column in (("broken promises", "broken"), ("admitted", "admitted")):
                rows.append([f"{arm.name}: {name}", *summary.means(settings, arm, column)])
    return TEXTS.table(
        "errors" if has_errors else "varied",
        rows,
        *series.settings,
        what=series.title,
        workload=settings[0].workload.name,
        load=settings[0].load,
        heading=series.heading,
    )


def _effort(summary: Summary, settings: Sequence[Setting]) -> Table:
    """What else the policies do: means over all settings."""
    rows = []
    for arm in summary.arms(settings, ARMS):
        here = [setting for setting in settings if summary.has(setting, arm)]
        admits = summary.values(here[0], arm, lambda run: run.admitted is not None).all()

        def figure(
            column: str, arm: Arm = arm, some: Any = here, admits: Any = admits
        ) -> float | str:
            if column == "arm":
                return arm.name
            if column in ("admitted", "broken") and not admits:
                return ""
            return summary.over(some, arm, column)

        rows.append(TEXTS.figures("effort", figure))
    return TEXTS.table("effort", rows)


def _optimum(gaps: Sequence[Gap]) -> Table:
    """Deadlines met beside those of the integer program."""
    names = list(gaps[0].met)
    rows: list[list[Any]] = [
        [one.seed, one.optimum, f"{one.proven:.1f}", f"{one.relaxed:.2f}", f"{one.bound:g}",
         *(one.met[name] for name in names)]
        for one in gaps
    ]  # fmt: skip
    best = sum(one.optimum for one in gaps)
    shares = [f"{sum(one.met[name] for one in gaps) / best * 100:.1f} %" for name in names]
    rows.append(["met, of the integer program's", "100 %", "", "", "", *shares])
    cluster = " and ".join(f"{gpus} {kind}" for kind, gpus in TYPE_GPUS.items())
    return TEXTS.table("optimum", rows, *names, jobs=NUM_JOBS, cluster=cluster)


def _taken_away(summary: Summary, settings: Sequence[Setting]) -> Iterable[Table]:
    """One addition taken away from all, and one more at a time down to none of them."""

    def by_seed(arm: Arm) -> Float64:
        found: Float64 = np.mean([summary.values(setting, arm) for setting in settings], axis=0)
        return found

    def row(arm: Arm) -> list[Any]:
        """By how much it is ahead of the best of the baselines."""
        leads = [
            mean(summary.values(setting, arm) - summary.values(setting, summary.best(setting)))
            for setting in settings
        ]
        first = sum(lead.value > 0 for lead in leads)
        surely, behind = sum(lead.low > 0 for lead in leads), sum(lead.high < 0 for lead in leads)
        own = by_seed(arm)
        more = None if arm == DANCER else mean(own - by_seed(DANCER))
        return [arm.name, float(own.mean()), more, f"{first} of {len(leads)}", surely, behind]

    for what, arms in (
        ("One of our additions taken away", ONE_TAKEN_AWAY),
        ("Our additions taken away one after the other", TAKEN_AWAY),
    ):
        yield TEXTS.table("taken-away", [row(arm) for arm in (DANCER, *arms)], what=what)


reproduce = partial(run_study, Dancer)
stages = partial(stages_of, Dancer)
