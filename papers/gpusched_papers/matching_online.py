"""The policy matching online (Liu et al., IEEE TPDS 2024), beside gavel, allox and others.

Jobs of generators and traces with the throughputs of Gavel's tables come to unequal GPUs; all
policies get the same jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final, Self

import msgspec
import numpy as np

import gpusched as gs
from gpusched.base.real_data import find_data
from gpusched.base.tables import Table
from gpusched_papers import unequal_gpus
from gpusched_papers.claims import Comparison, Texts, beside, claims_file, published_of
from gpusched_papers.drawing import Panel, curves
from gpusched_papers.intervals import Interval, mean, percent_of
from gpusched_papers.study import (
    US_PER_S,
    Arms,
    Float64,
    PairStudy,
    Row,
    Runs,
    Stage,
    about,
    run_study,
    stages_of,
    timed,
    with_left_out,
)
from gpusched_papers.study import Arm as Arm
from gpusched_papers.unequal_gpus import (
    GENERATED_ITP,
    GENERATED_PHILLY,
    PHILLY,
    TABLES,
    TYPES,
    Place,
    Workload,
    absent,
    drawn_jobs,
    there,
    with_restarts,
)

PUBLISHED: Final = published_of("matching")
TEXTS: Final = Texts("matching")
_FILE: Final = claims_file("matching")

TUNED: Final = (0, 1, 2, 3, 4, 5)
"""Seeds that served to choose the policy's defaults; nothing is reported of them."""
SEEDS: Final = tuple(range(10, 30))
GRADIENT_BYTES: Final = (10e6, 50e6)
RESTART_S: Final = 30.0
LOADS: Final = (0.7, 1.0, 1.4)
MIDDLE: Final = 1.0
HIGH: Final = 1.4
SPEEDS: Final = ("table", "proportional")
PLACEMENT: Final = "consolidated"
PLACEMENTS: Final = (PLACEMENT, "best-fit", "buddy")


_PCIE: Final[dict[str, Any]] = {"nic_gbps": 25.0, "intra_gbps": 96.0}  # PCIe: 12 GB/s
SMALL: Final = Place("3 x 16 GPUs", (2, 2, 2), 400, **_PCIE)
LARGE: Final = Place("3 x 64 GPUs", (8, 8, 8), 1_000, **_PCIE)
ITP: Final = Workload("ITP 03", trace="itp/cluster03.csv")
GENERATED: Final = (GENERATED_PHILLY, GENERATED_ITP)
WORKLOADS: Final = (*GENERATED, PHILLY, ITP)


@dataclass(frozen=True)
class Setting:
    """What all policies are run on.

    ``load``: GPU time asked for, counted on each job's best type, over that of all GPUs while jobs
        arrive; a GPU counts by its speed, see :func:`capacity`.
    """

    workload: Workload
    load: float = MIDDLE
    speed: str = SPEEDS[0]
    place: Place = SMALL
    placement: str = PLACEMENT

    @property
    def title(self) -> str:
        """What tables call it."""
        size = ", large" if self.place.name == LARGE.name else ""
        return f"{self.workload.name}{size}, {self.speed}, {self.load:g}"


_ARMS: Final = Arms(_FILE)
ARMS: Final = tuple(_ARMS.values())
ELASTIC, OWN, OPTIMUS = (_ARMS[name] for name in ("matching", "matching own", "optimus"))
GAVEL, ALLOX, FIFO = (_ARMS[name] for name in ("gavel", "allox", "fifo-skip"))
GAVEL_THROUGHPUT, GAVEL_JCT = (_ARMS[f"gavel, {name}"] for name in ("throughput", "JCT"))
SHORT_SIGHTED: Final = _ARMS["matching, focus 0"]
"""The mean JCT, which the abstract minimises, as we read it: as if nothing changed any more."""
PAIRS: Final = tuple(
    (_ARMS[ours], _ARMS[other]) for ours, others in _FILE["pairs"] for other in others
)
"""Who is compared with whom; first at own widths."""
_SHOWN: Final = (
    (OWN, GAVEL), (OWN, ALLOX), (ELASTIC, OPTIMUS), (ELASTIC, GAVEL), (ELASTIC, ALLOX),
)  # fmt: skip
SERVICE: Final = "no wait, best type, own width"
"""What no mean JCT at own widths is less than."""
JCT: Final = "mean_jct_s"


def requests(quick: bool) -> dict[Setting, tuple[Arm, ...]]:
    """Return what is run: policies by setting; quickly: 100 generated jobs, under both speeds."""
    if quick:
        few = replace(SMALL, jobs=100)
        return {Setting(GENERATED_ITP, speed=speed, place=few): ARMS for speed in SPEEDS}
    settings = []
    for speed in SPEEDS:
        settings += [Setting(of, load, speed) for of in WORKLOADS for load in LOADS]
        settings += [Setting(of, HIGH, speed, LARGE) for of in GENERATED]
    settings += [Setting(GENERATED_ITP, placement=placement) for placement in PLACEMENTS]
    return {setting: _arms(setting) for setting in settings}


def _arms(setting: Setting) -> tuple[Arm, ...]:
    """Leave out what takes more time than all others together: Gavel's programs, round by round."""
    is_middle = (setting.load, setting.place) == (MIDDLE, SMALL)
    slow: tuple[Arm, ...] = () if is_middle else (GAVEL_THROUGHPUT,)
    if setting.place == LARGE:
        slow = (GAVEL_THROUGHPUT, GAVEL_JCT)
    if setting.speed != SPEEDS[0]:
        slow = (GAVEL_THROUGHPUT, GAVEL_JCT) if is_middle else (GAVEL_THROUGHPUT, GAVEL_JCT, GAVEL)
    return tuple(arm for arm in ARMS if arm not in slow)


def workload(setting: Setting, seed: int) -> gs.Trace:
    """Return the jobs of a seed."""
    trace = drawn_jobs(setting.workload, setting.place.jobs, seed, _first)
    trace = with_restarts(trace.with_throughputs(throughputs(), seed=seed), RESTART_S)
    return trace.with_load(setting.load * capacity(trace), setting.place.cluster().num_gpus)


@lru_cache(maxsize=1)
def throughputs() -> gs.model.Throughputs:
    """Return the tables of Gavel, with gradients, which those do not tell.

    The models' gradients are spread evenly over the range of the study of one decision.
    """
    tables = unequal_gpus.throughputs()
    gradients = np.linspace(*GRADIENT_BYTES, len(tables)).tolist()
    return gs.model.Throughputs(
        [
            msgspec.structs.replace(profile, gradient_bytes=gradient)
            for profile, gradient in zip(tables.values(), gradients, strict=True)
        ],
        tables.source,
        tables.notes,
    )


def capacity(trace: gs.Trace) -> float:
    """Return what an average GPU does, in parts of the best type of each job.

    Each type counts with the mean of its single-GPU speeds, weighted by the jobs' GPU time; there
    are as many GPUs of each type.
    """
    assert trace.profiles is not None
    assert trace.profile is not None
    speeds = np.array(
        [[of.samples_per_s.get(kind, 0.0) for kind in TYPES] for of in trace.profiles]
    )
    speeds /= speeds.max(axis=1, keepdims=True)
    weight = trace.gpus * trace.service_us
    return float(np.average(speeds[trace.profile].mean(axis=1), weights=weight))


def _first(seed: int, jobs: int) -> int:
    """Of each seed other jobs, as far apart as the seeds can be.

    The first window begins where no window has begun on which anything was tuned.
    """
    step = jobs // len(SEEDS)
    return ((seed - SEEDS[0]) * step + step // 2) % jobs


OnlineRun = Row
"""A policy on the jobs of one seed; its columns are said by :func:`run_arms`."""


def run_arms(setting: Setting, arms: tuple[Arm, ...], seed: int) -> list[Row]:
    """Run all policies on the same jobs.

    ``mean_service_s``: run time at the job's own width on its best type; at own widths no mean JCT
    is less. ``mean_wait_s``: all time without GPUs. ``mean_slower_s``: time with GPUs beyond the
    service: slower types, spread gangs and restarts; negative where jobs were wider. ``fairness``:
    Jain's index of :func:`finish_time_fairness`. ``preemptions``, ``resizes``: per job.
    ``decision_s``: processor time of the run over its instants (arrivals and finishes).
    """
    trace, cluster = workload(setting, seed), setting.place.cluster()
    service_s = float(trace.service_s.mean())
    made = []
    for arm in arms:
        result, run_s, decision_s = timed(
            trace, cluster, policy=arm.policy, placement=setting.placement, speed=setting.speed,
            seed=seed,
        )  # fmt: skip
        summary: dict[str, Any] = dict(result.summary())
        schedule = result.schedule
        if summary["num_finished"] != len(trace):
            raise RuntimeError(f"{arm.name} on {setting}, seed {seed}: not all jobs have finished")
        made.append(
            Row(
                **about(setting, arm, seed, len(trace)),
                mean_jct_s=float(summary["mean_jct_s"]),
                p99_jct_s=float(summary["p99_jct_s"]),
                mean_service_s=service_s,
                mean_wait_s=float(summary["mean_wait_s"]),
                mean_slower_s=float(schedule.held_us.mean() / US_PER_S) - service_s,
                fairness=jain(finish_time_fairness(result)),
                allocation=float(summary["allocation"]),
                preemptions=float(np.mean(schedule.preemptions)),
                resizes=float(np.mean(schedule.resizes)),
                decision_s=decision_s,
                run_s=run_s,
            )
        )
    return made


def jain(values: Float64) -> float:
    """Return Jain's index."""
    return float(values.sum() ** 2 / (len(values) * np.sum(values**2)))


def finish_time_fairness(result: gs.Result) -> Float64:
    """Return JCT over the run time in an equal share of the cluster, by job (Themis, NSDI 2020).

    The share is that among as many jobs as there were, on average, while the job was there; a job
    that is wider than it runs slower in proportion. GPUs count by their speed, see
    :func:`capacity`.
    """
    trace, schedule = result.trace, result.schedule
    submit, finish = trace.submit_us, schedule.finish_us
    times = np.sort(np.concatenate([submit, finish]))
    # Jobs there after each of these times, and their integral up to it.
    num_jobs = np.searchsorted(np.sort(submit), times, side="right") - np.searchsorted(
        np.sort(finish), times, side="right"
    )
    area = np.concatenate([[0.0], np.cumsum(num_jobs[:-1] * np.diff(times).astype(float))])
    mean_jobs = (np.interp(finish, times, area) - np.interp(submit, times, area)) / (
        finish - submit
    )
    share = result.cluster.num_gpus * capacity(trace) / mean_jobs
    alone_s = trace.service_us / US_PER_S * np.maximum(1.0, trace.gpus / share)
    found: Float64 = (finish - submit) / US_PER_S / alone_s
    return found


class Summary(Runs):
    """The runs by setting and policy."""

    figure = JCT

    def reduction(self, setting: Setting, ours: Arm, theirs: Arm) -> Interval:
        """By what part the mean JCT is less, in pairs of the same jobs."""
        return self.below(setting, ours, theirs)

    def main(self) -> list[Setting]:
        """Return the settings of the comparison: one placement, both clusters."""
        return [setting for setting in self.settings() if setting.placement == PLACEMENT]

    def small(self) -> list[Setting]:
        """Return those of the small cluster."""
        return [setting for setting in self.main() if setting.place.name != LARGE.name]

    def rows_of(self, settings: Sequence[Setting], column: str = JCT) -> list[list[Any]]:
        """Return a row of a table for each policy."""
        arms = self.arms(settings, ARMS)
        return [[arm.name, *self.means(settings, arm, column)] for arm in arms]


@dataclass
class Online(PairStudy):
    """All runs online; without the measured throughputs nothing is run."""

    paper = "matching"
    published = PUBLISHED

    @classmethod
    def begin(cls, quick: bool) -> Self:
        """Return one without runs."""
        if find_data(TABLES) is None:
            return cls(missing=(TABLES,))
        return cls(missing=() if quick else absent(WORKLOADS))

    def plan(self, seeds: int, quick: bool, exact: bool) -> list[Stage]:
        """Run all policies in all settings, on at most ``len(SEEDS)`` seeds."""
        if find_data(TABLES) is None:
            return []
        name = "online: jobs of a seed, all policies"
        return [self.pairs(name, run_arms, there(requests(quick)), SEEDS[:seeds])]

    def comparisons(self) -> list[Comparison]:
        """Jain's index of jobs that come and go beside what is published of fairness."""
        summary, made = Summary(self.runs), []
        for arm in (SHORT_SIGHTED, ELASTIC, OWN):
            here = [setting for setting in summary.small() if summary.has(setting, arm)]
            if here:
                fairness = [summary.values(setting, arm, "fairness") for setting in here]
                what = f"Jain's index online, {arm.name}, mean of {len(here)} settings"
                ours = mean(np.mean(fairness, axis=0))
                made.append(beside(PUBLISHED.claim("fairness"), ours, what))
        return made

    def tables(self) -> list[Table]:
        """The results; none if nothing was run."""
        if not self.runs:
            return []
        summary = Summary(self.runs)
        small, large = summary.small(), [s for s in summary.main() if s.place.name == LARGE.name]
        made = [_tally(summary), _gains(summary)]

        def add(name: str, settings: list[Setting], labels: list[str], **facts: Any) -> None:
            rows = summary.rows_of(settings, "p99_jct_s" if name == "online-p99" else JCT)
            if name == "online-jct":
                rows.append([SERVICE, *summary.means(settings, OWN, "mean_service_s")])
            facts["seeds"] = summary.num_seeds
            made.append(TEXTS.table(name, rows, *labels, **facts))

        for of in WORKLOADS:
            if here := [setting for setting in small if setting.workload == of]:
                what = f"{of.name}, {here[0].place.name}, {here[0].place.jobs} jobs"
                add("online-jct", here, [f"{s.speed}, load {s.load:g}" for s in here], what=what)
        if large:
            place = large[0].place
            what = f"{place.name}, {place.jobs} jobs, load {large[0].load:g}"
            add("online-jct", large, [f"{s.workload.name}, {s.speed}" for s in large], what=what)
        middle = [s for s in small if s.load == MIDDLE and s.speed == SPEEDS[0]]
        names = [setting.workload.name for setting in middle]
        add("online-p99", middle, names, load=MIDDLE, speed=SPEEDS[0])
        made.append(_effort(summary, [s for s in small if s.speed == SPEEDS[0]]))
        if placed := [s for s in summary.settings() if s.placement != PLACEMENT]:
            alike = {replace(placed[0], placement=name): name for name in PLACEMENTS}
            alike = {s: name for s, name in alike.items() if summary.has(s, OWN)}
            what = placed[0].title
            add("online-placement", list(alike), list(alike.values()), what=what)
        return with_left_out(made, self.left_out)

    def data(self) -> dict[str, Any]:
        """All runs, and what was not there."""
        return {"online": self.rows(), "missing": self.left_out}

    def figures(self) -> dict[str, Any]:
        """Mean JCT over that under allox against the load, of both speeds; none without runs."""
        if not self.runs:
            return {}
        summary = Summary(self.runs)
        small = summary.small()

        def over_allox(setting: Setting, arm: Arm) -> Interval | float:
            if not summary.has(setting, arm):
                return np.nan
            return mean(summary.values(setting, arm) / summary.values(setting, ALLOX))

        workloads = [of for of in WORKLOADS if any(setting.workload == of for setting in small)]
        panels = []
        for speed in SPEEDS:
            for workload in workloads:
                here = [s for s in small if (s.speed, s.workload) == (speed, workload)]
                lines = {
                    arm.name: [over_allox(setting, arm) for setting in here]
                    for arm in (ELASTIC, OWN, OPTIMUS, GAVEL)
                }
                title, loads = f"{workload.name}, {speed}", [setting.load for setting in here]
                marks = {ALLOX.name: dict.fromkeys(loads, 1.0)}
                panels.append(Panel(title, "load", loads, lines, marks))
        place = small[0].place
        seeds = f"mean and 95 % interval (t, {summary.num_seeds} seeds)"
        note = f"{place.name}, {place.jobs} jobs; {seeds}"
        drawn = curves(panels, "mean JCT / allox's", note, columns=len(workloads))
        return {"online.png": drawn}


def _tally(summary: Summary) -> Table:
    """In how many settings each is ahead of the other."""
    rows = []
    for ours, theirs in PAIRS:
        here = [setting for setting in summary.main() if summary.has(setting, ours, theirs)]
        if here:
            found = [summary.reduction(setting, ours, theirs) for setting in here]
            ahead, behind = sum(one.low > 0 for one in found), sum(one.high < 0 for one in found)
            values = [one.value for one in found]
            counts = f"{ahead} / {len(here) - ahead - behind} / {behind}"
            least, most = min(values), max(values)
            rows.append((ours.name, theirs.name, float(np.mean(values)), counts, most, least))
    return TEXTS.table("online-tally", rows, seeds=summary.num_seeds)


def _gains(summary: Summary) -> Table:
    """By how much the mean JCT falls against gavel and others, by setting."""
    main = summary.main()
    shown = [pair for pair in _SHOWN if any(summary.has(setting, *pair) for setting in main)]
    rows = []
    for setting in main:
        cells = [
            percent_of(summary.reduction(setting, *pair)) if summary.has(setting, *pair) else ""
            for pair in shown
        ]
        rows.append([setting.title, *cells])
    whose = (f"{'own' if our == OWN else 'elastic'}, against {their.name}" for our, their in shown)
    return TEXTS.table("online-gains", rows, *whose, seeds=summary.num_seeds)


def _effort(summary: Summary, settings: Sequence[Setting]) -> Table:
    """Where the time goes, and what else the policies do: means over settings."""

    def row(arm: Arm) -> list[str]:
        return TEXTS.figures(
            "online-effort",
            lambda key: arm.name if key == "arm" else summary.over(settings, arm, key),
        )

    arms = [arm for arm in ARMS if all(summary.has(setting, arm) for setting in settings)]
    return TEXTS.table("online-effort", map(row, arms), speed=SPEEDS[0])


reproduce = partial(run_study, Online)
stages = partial(stages_of, Online)
