"""The policy matching online (Liu et al., IEEE TPDS 2024), beside gavel, allox and others.

Jobs of generators and traces with the throughputs of Gavel's tables come to unequal GPUs; all
policies get the same jobs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, Self

import msgspec
import numpy as np

import gpusched as gs
from gpusched.base.real_data import find_data
from gpusched.reporting.text_table import Table, figure_of, percent_of, table
from gpusched.statistics import Interval
from gpusched_papers import unequal_gpus
from gpusched_papers.claims import Comparison, beside, published_of
from gpusched_papers.drawing import Panel, curves
from gpusched_papers.study import (
    US_PER_S,
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
    TYPES,
    Workload,
    absent,
    generated,
    jobs_of,
    servers,
    there,
    window,
    with_restarts,
)

PUBLISHED: Final = published_of("matching")

TUNED: Final = (0, 1, 2, 3, 4, 5)
"""Seeds that served to choose the policy's defaults; nothing is reported of them."""
SEEDS: Final = tuple(range(10, 30))
NIC_GBPS: Final = 25.0
INTRA_GBPS: Final = 96.0  # PCIe, 12 GB/s
GRADIENT_BYTES: Final = (10e6, 50e6)
RESTART_S: Final = 30.0
LOADS: Final = (0.7, 1.0, 1.4)
MIDDLE: Final = 1.0
HIGH: Final = 1.4
SPEEDS: Final = ("table", "proportional")
PLACEMENT: Final = "consolidated"
PLACEMENTS: Final = (PLACEMENT, "best-fit", "buddy")


@dataclass(frozen=True)
class Place:
    """As many servers of each type, and how many jobs come."""

    name: str
    servers: int
    jobs: int

    def cluster(self) -> gs.Cluster:
        """Return the servers."""
        counts = [self.servers] * len(TYPES)
        return servers(counts, nic_gbps=NIC_GBPS, intra_gbps=INTRA_GBPS)


SMALL: Final = Place("3 x 16 GPUs", 2, 400)
LARGE: Final = Place("3 x 64 GPUs", 8, 1_000)


ITP: Final = Workload("ITP 03", trace="itp/cluster03.csv")
GENERATED: Final = (GENERATED_PHILLY, GENERATED_ITP)
WORKLOADS: Final = (*GENERATED, PHILLY, ITP)


@dataclass(frozen=True)
class Setting:
    """What all policies are run on.

    Attributes
    ----------
    load
        GPU time asked for, counted on each job's best type, over that of all GPUs while jobs
        arrive; a GPU counts by its speed, see
        :func:`capacity`.
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


@dataclass(frozen=True)
class Arm:
    """A policy, and whether jobs keep their own widths under it."""

    name: str
    policy: str
    keeps_widths: bool = True


ELASTIC: Final = Arm("matching", "matching", keeps_widths=False)
OWN: Final = Arm("matching own", "matching:widths=own")
OWN_AT_PERIODS: Final = Arm("matching own, 360 s", "matching:widths=own,period_s=360")
OWN_AT_ONCE: Final = Arm("matching own, hysteresis 0", "matching:widths=own,hysteresis=0")
SHORT_SIGHTED: Final = Arm("matching, focus 0", "matching:focus=0", keeps_widths=False)
OWN_SHORT_SIGHTED: Final = Arm("matching own, focus 0", "matching:widths=own,focus=0")
"""The mean JCT, which the abstract minimises, as we read it: as if nothing changed any more."""
GAVEL: Final = Arm("gavel", "gavel")
GAVEL_THROUGHPUT: Final = Arm("gavel, throughput", "gavel:objective=throughput")
GAVEL_JCT: Final = Arm("gavel, JCT", "gavel:objective=allox")
"""The objective of Gavel's simulator that minimises the mean JCT: jobs matched to places in the
queues of GPUs, and kept there."""
ALLOX: Final = Arm("allox", "allox")
ALLOX_AT_EVENTS: Final = Arm("allox, at events", "allox:period_s=0")
SRTF: Final = Arm("srtf", "srtf")
FIFO: Final = Arm("fifo-skip", "fifo-skip")
OPTIMUS: Final = Arm("optimus", "optimus", keeps_widths=False)
OPTIMUS_AT_EVENTS: Final = Arm("optimus, at events", "optimus:period_s=0", keeps_widths=False)
ARMS: Final = (
    ELASTIC, SHORT_SIGHTED, OPTIMUS, OPTIMUS_AT_EVENTS,
    OWN, OWN_SHORT_SIGHTED, OWN_AT_PERIODS, OWN_AT_ONCE,
    GAVEL, GAVEL_THROUGHPUT, GAVEL_JCT, ALLOX, ALLOX_AT_EVENTS, SRTF, FIFO,
)  # fmt: skip
PAIRS: Final = (
    (OWN, GAVEL), (OWN, GAVEL_THROUGHPUT), (OWN, GAVEL_JCT), (OWN, ALLOX), (OWN, ALLOX_AT_EVENTS),
    (OWN, SRTF), (OWN, FIFO), (OWN, OWN_SHORT_SIGHTED), (OWN, OWN_AT_PERIODS), (OWN, OWN_AT_ONCE),
    (OWN_SHORT_SIGHTED, GAVEL), (OWN_SHORT_SIGHTED, GAVEL_JCT), (OWN_SHORT_SIGHTED, ALLOX),
    (ELASTIC, OPTIMUS), (ELASTIC, OPTIMUS_AT_EVENTS), (ELASTIC, GAVEL), (ELASTIC, GAVEL_JCT),
    (ELASTIC, ALLOX), (ELASTIC, OWN), (ELASTIC, SHORT_SIGHTED),
    (SHORT_SIGHTED, GAVEL), (SHORT_SIGHTED, GAVEL_JCT), (SHORT_SIGHTED, ALLOX),
)  # fmt: skip
"""Who is compared with whom; first at own widths."""


_HOUR_S: Final = 3600.0
_SHOWN: Final = (
    (OWN, GAVEL), (OWN, ALLOX), (ELASTIC, OPTIMUS), (ELASTIC, GAVEL), (ELASTIC, ALLOX),
)  # fmt: skip
SERVICE: Final = "no wait, best type, own width"
JCT: Final = "mean_jct_s"


def requests(quick: bool) -> dict[Setting, tuple[Arm, ...]]:
    """Return what is run: policies by setting; quickly: 100 generated jobs, under both speeds."""
    if quick:
        few = replace(SMALL, jobs=100)
        return {Setting(GENERATED_ITP, speed=speed, place=few): ARMS for speed in SPEEDS}
    wanted: dict[Setting, tuple[Arm, ...]] = {}
    for speed in SPEEDS:
        for workload in WORKLOADS:
            for load in LOADS:
                setting = Setting(workload, load, speed)
                wanted[setting] = _arms(setting)
        for workload in GENERATED:
            setting = Setting(workload, HIGH, speed, LARGE)
            wanted[setting] = _arms(setting)
    for placement in PLACEMENTS:
        setting = Setting(GENERATED_ITP, placement=placement)
        wanted[setting] = _arms(setting)
    return wanted


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
    """Return the jobs of a seed: of a file others for each seed, of a generator another draw."""
    trace = _raw(setting.place.jobs, setting.workload, seed)
    trace = with_restarts(trace.with_throughputs(throughputs(), seed=seed), RESTART_S)
    return trace.with_load(setting.load * capacity(trace), setting.place.cluster().num_gpus)


@lru_cache(maxsize=1)
def throughputs() -> gs.models.Throughputs:
    """Return the tables of Gavel, with gradients, which those do not tell.

    The models' gradients are spread evenly over the range of the study of one decision.
    """
    tables = unequal_gpus.throughputs()
    gradients = np.linspace(*GRADIENT_BYTES, len(tables)).tolist()
    return gs.models.Throughputs(
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
    weight = trace.gpus * trace.service_us
    return float(np.average(relative_speeds(trace).mean(axis=1), weights=weight))


def relative_speeds(trace: gs.Trace) -> Float64:
    """Return the speed of one GPU of each type over that of the best type, by job."""
    assert trace.profiles is not None
    assert trace.profile is not None
    of_model = np.array(
        [[profile.samples_per_s.get(kind, 0.0) for kind in TYPES] for profile in trace.profiles]
    )
    of_model /= of_model.max(axis=1, keepdims=True)
    found: Float64 = of_model[trace.profile]
    return found


@lru_cache(maxsize=8)
def _raw(jobs: int, of: Workload, seed: int) -> gs.Trace:
    """Of a file: of each seed other jobs, as far apart as the seeds can be.

    The first window begins where no window has begun on which anything was tuned.
    """
    if of.profile:
        return generated(of, jobs, seed)
    trace = jobs_of(of)
    step = len(trace) // len(SEEDS)
    return window(trace, jobs, ((seed - SEEDS[0]) * step + step // 2) % len(trace))


OnlineRun = Row
"""A policy on the jobs of one seed; its columns are said by :func:`_measures`."""


def run_arms(setting: Setting, arms: tuple[Arm, ...], seed: int) -> list[Row]:
    """Run all policies on the same jobs."""
    trace, cluster = workload(setting, seed), setting.place.cluster()
    made = []
    for arm in arms:
        before_s = time.process_time()
        result = simulate(
            trace,
            cluster,
            policy=arm.policy,
            placement=setting.placement,
            speed=setting.speed,
            seed=seed,
        )
        made.append(_measures(setting, arm, seed, result, time.process_time() - before_s))
    return made


def _measures(setting: Setting, arm: Arm, seed: int, result: gs.Result, processor_s: float) -> Row:
    """Take down a run.

    ``mean_service_s``: run time at the job's own width on its best type; at own widths no mean JCT
    is less. ``mean_wait_s``: all time without GPUs. ``mean_slower_s``: time with GPUs beyond the
    service: slower types, spread gangs and restarts; negative where jobs were wider. ``fairness``:
    Jain's index of :func:`finish_time_fairness`. ``preemptions``, ``resizes``: per job.
    ``decision_s``: processor time of the run over its instants (arrivals and finishes).
    """
    summary: dict[str, Any] = dict(result.summary())
    trace, schedule = result.trace, result.schedule
    if summary["num_finished"] != len(trace):
        raise RuntimeError(f"{arm.name} on {setting}, seed {seed}: not all jobs have finished")
    rho = finish_time_fairness(result)
    instants = np.union1d(trace.submit_us, schedule.finish_us)
    service_s = float(trace.service_s.mean())
    return Row(
        place=setting.place.name,
        workload=setting.workload.name,
        load=setting.load,
        speed=setting.speed,
        placement=setting.placement,
        arm=arm.name,
        policy=arm.policy,
        seed=seed,
        jobs=len(trace),
        mean_jct_s=float(summary["mean_jct_s"]),
        p99_jct_s=float(summary["p99_jct_s"]),
        mean_service_s=service_s,
        mean_wait_s=float(summary["mean_wait_s"]),
        mean_slower_s=float(schedule.held_us.mean() / US_PER_S) - service_s,
        fairness=float(rho.sum() ** 2 / (len(rho) * np.sum(rho**2))),
        allocation=float(summary["allocation"]),
        preemptions=float(np.mean(schedule.preemptions)),
        resizes=float(np.mean(schedule.resizes)),
        decision_s=processor_s / len(instants),
        run_s=processor_s,
    )


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

    def has(self, setting: Setting, arm: Arm = OWN) -> bool:
        """Whether it was run."""
        return super().has(setting, arm)

    def mean(self, setting: Setting, arm: Arm, column: Column = JCT) -> Interval:
        """Return the mean over the seeds."""
        return super().mean(setting, arm, column)

    def reduction(self, setting: Setting, ours: Arm, theirs: Arm) -> Interval:
        """By what part the mean JCT is less, in pairs of the same jobs."""
        return self.below(setting, ours, theirs, JCT)

    def main(self) -> list[Setting]:
        """Return the settings of the comparison: one placement, both clusters."""
        return [setting for setting in self.settings() if setting.placement == PLACEMENT]

    def small(self) -> list[Setting]:
        """Return those of the small cluster."""
        return [setting for setting in self.main() if setting.place.name != LARGE.name]

    def arms(self, settings: Sequence[Setting]) -> list[Arm]:
        """Return the policies that were run on some of these."""
        return [arm for arm in ARMS if any(self.has(setting, arm) for setting in settings)]


@dataclass
class Online(Study):
    """All runs online.

    Attributes
    ----------
    runs
        A list by seed for every pair of a setting and a policy.
    missing
        Files that were not found; without the measured throughputs nothing is run.
    """

    runs: dict[tuple[Setting, Arm], list[Row]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    paper = "matching"
    published = PUBLISHED

    @classmethod
    def begin(cls, quick: bool) -> Self:
        """Return one without runs."""
        if find_data(TABLES) is None:
            return cls(missing=(TABLES,))
        return cls(missing=() if quick else tuple(of.trace for of in absent(WORKLOADS)))

    def plan(self, seeds: int, quick: bool, exact: bool) -> list[Stage]:
        """Run all policies in all settings, on at most ``len(SEEDS)`` seeds."""
        if find_data(TABLES) is None:
            return []
        wanted = there(requests(quick))

        def take(made: Mapping[tuple[Any, ...], list[Row]]) -> None:
            found = by_pair(wanted, made)
            if Runs(found).num_seeds > 1:
                self.runs = found

        tasks = tasks_by_seed(wanted, SEEDS[:seeds])
        name = "online: jobs of a seed, all policies"
        return [Stage(name, run_arms, tasks, take, lambda task: f"{task[0]}, seed {task[2]}")]

    def is_enough(self) -> bool:
        """Whether two seeds are there."""
        return bool(self.runs)

    def comparisons(self) -> list[Comparison]:
        """Jain's index of jobs that come and go beside what is published of fairness."""
        return list(_comparisons(Summary(self.runs)))

    def tables(self) -> list[Table]:
        """The results; none if nothing was run."""
        if not self.runs:
            return []
        summary = Summary(self.runs)
        made = [_tally(summary), _gains(summary)]
        for of in WORKLOADS:
            here = [setting for setting in summary.small() if setting.workload == of]
            if here:
                place = here[0].place
                title = f"{of.name}, {place.name}, {place.jobs} jobs"
                labels = [f"{setting.speed}, load {setting.load:g}" for setting in here]
                made.append(_by_policy(summary, title, labels, here))
        large = [setting for setting in summary.main() if setting.place.name == LARGE.name]
        if large:
            place = large[0].place
            title = f"{place.name}, {place.jobs} jobs, load {large[0].load:g}"
            labels = [f"{s.workload.name}, {s.speed}" for s in large]
            made.append(_by_policy(summary, title, labels, large))
        made += [_longest(summary), _effort(summary)]
        placed = [setting for setting in summary.settings() if setting.placement != PLACEMENT]
        if placed:
            made.append(_by_placement(summary, placed[0]))
        return with_left_out(made, self.missing)

    def data(self) -> dict[str, Any]:
        """All runs, and what was not there."""
        return {"online": self.rows(), "missing": self.missing}

    def rows(self) -> list[dict[str, Any]]:
        """All runs, as plain values."""
        return Runs(self.runs).rows()

    def figures(self) -> dict[str, Any]:
        """Mean JCT over that under allox against the load, of both speeds; none without runs."""
        if not self.runs:
            return {}
        summary = Summary(self.runs)
        small = summary.small()
        workloads = [of for of in WORKLOADS if any(setting.workload == of for setting in small)]
        panels = []
        for speed in SPEEDS:
            for workload in workloads:
                here = [s for s in small if (s.speed, s.workload) == (speed, workload)]
                lines = {
                    arm.name: [_over_allox(summary, setting, arm) for setting in here]
                    for arm in (ELASTIC, OWN, OPTIMUS, GAVEL)
                }
                title, loads = f"{workload.name}, {speed}", [setting.load for setting in here]
                panels.append(
                    Panel(title, "load", loads, lines, {ALLOX.name: dict.fromkeys(loads, 1.0)})
                )
        place = small[0].place
        note = f"{place.name}, {place.jobs} jobs; {summary.num_seeds} seeds, mean and 95 % interval"
        drawn = curves(panels, "mean JCT / allox's", note, columns=len(workloads))
        return {"online.png": drawn}


def _over_allox(summary: Summary, setting: Setting, arm: Arm) -> Interval | float:
    if not summary.has(setting, arm):
        return np.nan
    own, other = (summary.values(setting, of, JCT) for of in (arm, ALLOX))
    return mean(own / other)


def _comparisons(summary: Summary) -> Iterator[Comparison]:
    for arm in (SHORT_SIGHTED, ELASTIC, OWN):
        here = [setting for setting in summary.small() if summary.has(setting, arm)]
        if here:
            fairness = [summary.values(setting, arm, "fairness") for setting in here]
            what = f"Jain's index online, {arm.name}, mean of {len(here)} settings"
            yield beside(PUBLISHED.claim("fairness"), mean(np.mean(fairness, axis=0)), what)


def _tally(summary: Summary) -> Table:
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


def _gains(summary: Summary) -> Table:
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
        rows.append([setting.title, *cells])
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


def _by_policy(
    summary: Summary, title: str, labels: Sequence[str], settings: Sequence[Setting]
) -> Table:
    """Mean JCT of every policy in some settings."""
    rows = _rows(summary, settings, JCT)
    note = f"{summary.num_seeds} seeds, mean and 95 % interval over them."
    return table(f"Online: mean JCT, h: {title}", ("policy", *labels), rows, (note,))


def _longest(summary: Summary) -> Table:
    """The 99th percentile of the JCT."""
    settings = [s for s in summary.small() if s.load == MIDDLE and s.speed == SPEEDS[0]]
    return table(
        f"Online: 99th percentile of the JCT, h: load {MIDDLE:g}, speed {SPEEDS[0]}",
        ("policy", *(setting.workload.name for setting in settings)),
        _rows(summary, settings, "p99_jct_s", bound=False),
        (f"{summary.num_seeds} seeds, mean and 95 % interval over them.",),
    )


def _effort(summary: Summary) -> Table:
    """Where the time goes, and what else the policies do: means over settings."""
    settings = [s for s in summary.small() if s.speed == SPEEDS[0]]
    rows = []
    for arm in summary.arms(settings):
        if not all(summary.has(setting, arm) for setting in settings):
            continue

        def over(column: Column, of: Arm = arm) -> float:
            return float(np.mean([summary.mean(s, of, column).value for s in settings]))

        rows.append(
            [
                arm.name,
                f"{over(JCT) / _HOUR_S:.2f}",
                f"{over('mean_service_s') / _HOUR_S:.2f}",
                f"{over('mean_wait_s') / _HOUR_S:.2f}",
                f"{over('mean_slower_s') / _HOUR_S:+.2f}",
                f"{over('fairness'):.2f}",
                f"{over('preemptions'):.1f}",
                f"{over('resizes'):.1f}",
                f"{over('allocation') * 100:.0f}",
                f"{over('decision_s') * 1000:.2f}",
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


def _by_placement(summary: Summary, some: Setting) -> Table:
    """Mean JCT under other placements."""
    settings = [
        s
        for place in PLACEMENTS
        for s in summary.settings()
        if s.placement == place
        and (s.workload, s.load, s.speed, s.place)
        == (some.workload, some.load, some.speed, some.place)
    ]
    return table(
        f"Online: mean JCT, h, by placement: {some.title}",
        ("policy", *(setting.placement for setting in settings)),
        _rows(summary, settings, JCT, bound=False),
        (f"All other runs: {PLACEMENT}.",),
    )


def _rows(
    summary: Summary,
    settings: Sequence[Setting],
    column: Column,
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
        least = [summary.mean(s, OWN, "mean_service_s") for s in settings]
        rows.append([SERVICE, *(figure_of(one, 2, 1 / _HOUR_S) for one in least)])
    return rows


reproduce = partial(run_study, Online)
stages = partial(stages_of, Online)
