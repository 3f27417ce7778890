"""Find and grade the simulation closest to a log: :func:`fidelity`."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from gpusched._core import Placement
from gpusched.base.arrays import AnyArray, Bool, Float64, FrozenColumns, Int64, nearest_rank
from gpusched.base.defaults import GPUS_PER_SERVER, REPAIR_S
from gpusched.base.field_checks import check_integer, not_negative
from gpusched.base.libraries import polars as pl
from gpusched.base.progress import OnProgress
from gpusched.base.tables import Cell, Column, Table, Value, table, text_column
from gpusched.base.ticks import US_PER_S, us_to_seconds
from gpusched.base.units import WHOLE_GPU
from gpusched.base.wording import duration, plural, wrapped, written
from gpusched.engine.seams import own
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.model.cluster import MAX_GPUS_PER_SERVER, MAX_SERVERS, Cluster
from gpusched.model.outages import Outages
from gpusched.plugins.policy import (
    AnyPolicy,
    ContentionChoice,
    PlacementChoice,
    Policy,
    SpeedChoice,
    runs_by_label,
)
from gpusched.prediction.choose import for_trace
from gpusched.results.result import Result
from gpusched.schedules.schedule import whole_intervals, widths_of
from gpusched.specs.case import has_all_estimates
from gpusched.studies.sizing import fewest
from gpusched.studies.threaded_runs import in_threads
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.cluster_sizing import assumed_cluster
from gpusched.traces.workload import Trace

RESOLUTION_S: Final = 60.0
ANYWHERE: Final = Cluster.uniform(1)
"""Placeholder for a cluster that is still to be found."""


def ks_distance(one: Float64, other: Float64) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples, 0 to 1; infinity is allowed.

    It is the largest difference, over all bounds, between the shares of the two samples that are
    at most that bound.
    """
    from scipy import stats

    # Of its methods the one that computes no more than the distance.
    return float(stats.ks_2samp(one, other, method="asymp").statistic)


def rank_correlation(one: Float64, other: Float64, statistic: str = "spearmanr") -> float:
    """Return Spearman's rank correlation, or another, of two columns of the same jobs, -1 to 1.

    Equal values share the mean of their ranks. It is 1 if the columns are equal, and 0 if only one
    of them is constant: then it is undefined.
    """
    from scipy import stats

    if np.array_equal(one, other):
        return 1.0
    if (one == one[0]).all() or (other == other[0]).all():
        return 0.0
    return float(getattr(stats, statistic)(one, other).statistic)


def kendall_tau(one: Float64, other: Float64) -> float:
    """Return Kendall's tau-b: over pairs of jobs that both columns order, the share in the same
    order minus the share in opposite order, with ties taken into account.
    """
    return rank_correlation(one, other, "kendalltau")


def factor_between(one: float, other: float) -> float:
    """Return the larger of two numbers over the smaller, at least 1; 1 if both are 0."""
    low, high = sorted((one, other))
    if high == low:
        return 1.0
    return high / low if low > 0 else np.inf


def overlap(one: Float64, other: Float64, weight: AnyArray) -> float:
    """Return the overlap of two columns, 0 to 1: the sum of minima over that of maxima.

    1 if both are 0 throughout; infinite values are left out.
    """
    known = np.isfinite(one) & np.isfinite(other)
    one, other, weight = one[known], other[known], weight[known]
    most = float(np.dot(weight, np.maximum(one, other)))
    return float(np.dot(weight, np.minimum(one, other))) / most if most > 0 else 1.0


def mean_difference(
    time_us: Int64, change: Float64, begin_us: int, end_us: int
) -> tuple[float, float]:
    """Return the means over a window of a step function's absolute value, and of its value.

    It is 0 before its first change; both means are 0 if the window is empty.

    ``time_us``, ``change``: the times of its changes, in any order, and their sizes.
    """
    if end_us <= begin_us or not len(time_us):
        return 0.0, 0.0
    order = np.argsort(time_us, kind="stable")
    level = np.cumsum(change[order])
    edges = np.clip(np.append(time_us[order], end_us), begin_us, end_us)
    length = np.diff(edges).astype(np.float64) / (end_us - begin_us)
    return float(np.dot(np.abs(level), length)), float(np.dot(level, length))


MOST_TIMES: Final = 4
"""At most this many times the lower limit of servers are tried."""

PATIENCE: Final = 3
"""The search ends after so many steps down in a row that come no closer."""


def nearest_capacity(mean_wait: Callable[[int], float], least: int, target: float) -> int:
    """Return the number of servers whose mean wait is closest to ``target``, cached per number.

    More servers make shorter waits, with exceptions: tried are ``least`` and the numbers around
    the fewest whose waits are as short as the target. Among equally close ones the fewest win.
    """
    seen: dict[int, float] = {}

    def is_short_enough(servers: int) -> bool:
        if servers not in seen:
            seen[servers] = mean_wait(servers)
        return seen[servers] <= target

    if not is_short_enough(least):
        most, step = MOST_TIMES * least, max(1, least // 16)
        fewest(is_short_enough, least, least, most, neighbours=1, step=step)
    return min(seen, key=lambda servers: (abs(seen[servers] - target), servers))


def smaller_capacity(distance: Callable[[int], float], most: int, least: int) -> int:
    """Return a number of servers, at most ``most``, that is closer to what happened.

    Lowers it in steps of a twentieth, until three in a row come no closer.
    """
    step = max(1, most // 20)
    best, nearest, in_vain = most, distance(most), 0
    for servers in range(most - step, least - 1, -step):
        far = distance(servers)
        in_vain = 0 if far < nearest else in_vain + 1
        if in_vain == PATIENCE:
            break
        if far < nearest:
            best, nearest = servers, far
    return best


MOST_CUT: Final = 0.1
"""Default limit on the part of the submissions' span that is left out at each end."""

MIN_COMPARED: Final = 10


@dataclass(frozen=True, eq=False, repr=False)
class OwnStarts(FrozenColumns):
    """The start times recorded in a trace.

    ``trace``: the trace.
    ``is_known``: bool: which jobs have a recorded start.
    ``start_us``: int64 microseconds: their recorded starts, on the clock of ``submit_us``; -1 for
        other jobs.
    ``resolution_s``: waits below this count as zero.
    """

    trace: Trace
    is_known: Bool
    start_us: Int64
    resolution_s: float = RESOLUTION_S

    @cached_property
    def wait_us(self) -> Int64:
        """The recorded waits, int64 microseconds; meaningless for jobs without a recorded start."""
        return self.start_us - self.trace.submit_us

    @cached_property
    def gpus(self) -> Float64:
        """GPUs of each job, or its share of a GPU."""
        share = self.trace.share_milli
        gpus = self.trace.gpus.astype(np.float64)
        return gpus if share is None else gpus * (share / WHOLE_GPU)

    @cached_property
    def changes(self) -> tuple[Int64, Float64]:
        """Times at which GPUs were allocated or released, and how many; ends before starts."""
        start_us = self.start_us[self.is_known]
        end_us = start_us + self.trace.service_us[self.is_known]
        gpus = self.gpus[self.is_known]
        return np.concatenate((end_us, start_us)), np.concatenate((-gpus, gpus))

    @cached_property
    def usage(self) -> tuple[Int64, Float64]:
        """The times at which the number of GPUs in use changed, and the number from then on."""
        time_us, change = self.changes
        order = np.argsort(time_us, kind="stable")
        time_us, level = time_us[order], np.cumsum(change[order])
        last = np.append(time_us[1:] != time_us[:-1], True)
        return time_us[last], level[last]

    @cached_property
    def peak_gpus(self) -> int:
        """The most GPUs in use at once: no smaller cluster can have run these jobs.

        Jobs without a recorded start do not count.
        """
        return math.ceil(round(float(self.usage[1].max()), 6))

    def fewest_servers(self, gpus_per_server: int) -> int:
        """Return the fewest servers that can have run every job and the recorded peak."""
        return -(-max(self.peak_gpus, int(self.trace.gpus.max())) // gpus_per_server)

    def settled(self, wait_us: Int64) -> Float64:
        """Return waits in seconds, zero for those below the resolution."""
        wait_s = wait_us / US_PER_S
        return np.where(wait_s < self.resolution_s, 0.0, wait_s)

    def changes_in(self, result: Result) -> tuple[Int64, Float64]:
        """Return the simulated waits of the jobs with a recorded start."""
        rows = result.intervals
        first, _ = whole_intervals(rows)
        job = rows["job"][first]
        share = (self.gpus / result.trace.gpus)[job]
        held = widths_of(rows, first, result.trace.gpus) * share
        known = self.is_known[job]
        time_us = np.concatenate((rows["end_us"][first][known], rows["start_us"][first][known]))
        return time_us, np.concatenate((-held[known], held[known]))

    def window(self, warm_up_s: float | None = None, tail_s: float | None = None) -> Window:
        """Return the part of the trace in which jobs are compared.

        ``warm_up_s``: time from the first submission to the first job compared. None: until the
            GPUs in use reach their mean, as a log that begins on a busy cluster does not show the
            jobs that ran then.
        ``tail_s``: time from the last job compared to the last submission. None: as long as 95% of
            the jobs waited, as later jobs that the log lacks may have delayed them.
        """
        submit_us = self.trace.submit_us
        first, last = int(submit_us[0]), int(submit_us[-1])
        most = int(MOST_CUT * (last - first))
        if warm_up_s is None:
            mean = mean_difference(*self.changes, first, last)[1]
            time_us, level = self.usage
            filled = int(time_us[np.argmax(level >= min(mean, float(level.max())))])
            warm_up = min(max(filled - first, 0), most)
        else:
            warm_up = round(not_negative("warm_up_s", warm_up_s, 2.0**43) * US_PER_S)
        if tail_s is None:
            tail = min(int(nearest_rank(np.sort(self.wait_us[self.is_known]), 95)), most)
        else:
            tail = round(not_negative("tail_s", tail_s, 2.0**43) * US_PER_S)
        begin, end = first + warm_up, last - tail
        compared = self.is_known & (submit_us >= begin) & (submit_us <= end)
        if (count := int(np.count_nonzero(compared))) < MIN_COMPARED:
            raise ValueError(
                f"{self.trace.name}: {plural(count, 'job')} with recorded starts submitted "
                f"between the warm-up ({warm_up / US_PER_S:,.0f} s) and the tail "
                f"({tail / US_PER_S:,.0f} s); at least {MIN_COMPARED} are needed"
            )
        return Window(self, begin, end, warm_up / US_PER_S, tail / US_PER_S, compared)


@dataclass(frozen=True, eq=False)
class Window:
    """The part of a trace in which jobs are compared.

    ``own``: the recorded starts.
    ``begin_us``, ``end_us``: first and last submission time, inclusive; GPUs in use are compared
        between them.
    ``warm_up_s``, ``tail_s``: lengths left out before and after, seconds.
    ``compared``: bool: the jobs in the window that have a recorded start.
    """

    own: OwnStarts
    begin_us: int
    end_us: int
    warm_up_s: float
    tail_s: float
    compared: Bool

    @cached_property
    def own_wait_s(self) -> Float64:
        """The recorded waits of the jobs compared."""
        return self.own.settled(self.own.wait_us[self.compared])

    def wait_s(self, result: Result) -> Float64:
        """Return their simulated waits until the first start; infinity for those without one."""
        start_us = np.asarray(result.schedule.start_us)[self.compared]
        wait_s = self.own.settled(start_us - result.trace.submit_us[self.compared])
        return np.where(start_us >= 0, wait_s, np.inf)

    def mean_in_use(self, time_us: Int64, change: Float64) -> tuple[float, float]:
        """Return :func:`mean_difference` over the window."""
        return mean_difference(time_us, change, self.begin_us, self.end_us)

    def likeness(self, result: Result) -> Likeness:
        """Compare a simulated schedule with the recorded one."""
        mine, simulated = self.own_wait_s, self.wait_s(result)
        started = np.isfinite(simulated)
        mean_s = float(np.mean(simulated[started])) if started.any() else np.inf
        own_mean_s = float(np.mean(mine))
        changes, own_changes = self.own.changes_in(result), self.own.changes
        surplus = np.concatenate((changes[1], -own_changes[1]))
        error, more = self.mean_in_use(np.concatenate((changes[0], own_changes[0])), surplus)
        in_use = self.mean_in_use(*own_changes)[1]
        if error < 1e-9 * max(1.0, in_use):  # rounding of summed GPU shares
            error = 0.0
        return Likeness(
            num_compared=len(mine),
            num_waited=int(np.count_nonzero(mine)),
            num_never_started=int(np.count_nonzero(~started)),
            ks=ks_distance(simulated, mine),
            rank_correlation=rank_correlation(simulated, mine),
            kendall_tau=kendall_tau(simulated, mine),
            mean_wait_s=mean_s,
            own_mean_wait_s=own_mean_s,
            mean_wait_factor=factor_between(mean_s, own_mean_s),
            wait_quantiles_s=_quantiles(simulated),
            own_wait_quantiles_s=_quantiles(mine),
            allocation_error=error / in_use if in_use > 0 else (np.inf if error else 0.0),
            mean_gpus_in_use=in_use + more,
            own_mean_gpus_in_use=in_use,
            unexplained=1 - overlap(simulated, mine, self.own.gpus[self.compared]),
        )


def has_starts(trace: Trace) -> bool:
    """Whether any job of the trace has a recorded start."""
    wait_us = trace.source_wait_us
    return wait_us is not None and bool((wait_us != NOT_GIVEN).any())


def own_starts(trace: Trace, resolution_s: float = RESOLUTION_S) -> OwnStarts:
    """Return the recorded starts of a trace; ValueError if it has none."""
    wait_us = trace.source_wait_us
    if wait_us is None or not has_starts(trace):
        raise ValueError(
            f"{trace.name}: no recorded starts (source_wait_s) to compare a simulation with"
        )
    is_known = wait_us != NOT_GIVEN
    start_us = np.where(is_known, trace.submit_us + wait_us, NOT_GIVEN)
    return OwnStarts(trace, is_known, start_us, resolution_s)


def _quantiles(waits: Float64) -> tuple[float, ...]:
    ordered = np.sort(waits)
    return tuple(nearest_rank(ordered, percent) for percent in PERCENTS)


PERCENTS: Final = (50, 75, 90, 95, 99, 100)


@dataclass(frozen=True)
class Likeness:
    """Simulated and recorded waits and GPUs in use, for the jobs that are compared.

    A wait is the time from submit to the first start; waits below the resolution are zero.

    ``num_compared``, ``num_waited``, ``num_never_started``: jobs that were compared, those of them
        that waited in the trace, and those that the simulation never started: their wait is
        infinite, and means leave them out.
    ``ks``: Kolmogorov-Smirnov distance of the waits, 0 to 1.
    ``rank_correlation``, ``kendall_tau``: Spearman's, and Kendall's tau-b, of the waits per job.
        The second is not graded.
    ``mean_wait_s``, ``own_mean_wait_s``: simulated and recorded.
    ``mean_wait_factor``: the larger of the two over the smaller, at least 1.
    ``wait_quantiles_s``, ``own_wait_quantiles_s``: the percentiles 50, 75, 90, 95, 99 and 100,
        nearest rank.
    ``allocation_error``: mean absolute difference of the GPUs in use over time, over their mean in
        the trace.
    ``mean_gpus_in_use``, ``own_mean_gpus_in_use``: over time.
    ``unexplained``: the share of the GPU time spent waiting that the two do not have in common: 1 -
        sum of gpus x the smaller wait / sum of gpus x the larger one.
    """

    num_compared: int
    num_waited: int
    num_never_started: int
    ks: float
    rank_correlation: float
    kendall_tau: float
    mean_wait_s: float
    own_mean_wait_s: float
    mean_wait_factor: float
    wait_quantiles_s: tuple[float, ...]
    own_wait_quantiles_s: tuple[float, ...]
    allocation_error: float
    mean_gpus_in_use: float
    own_mean_gpus_in_use: float
    unexplained: float

    @property
    def graded(self) -> Mapping[str, float]:
        """The graded measures, by key."""
        return {measure.key: float(getattr(self, measure.key)) for measure in MEASURES}

    @property
    def grade(self) -> Grade:
        """The grade, see :func:`~gpusched.studies.fidelity_grades.grade_of`."""
        return grade_of(self.graded, self.num_compared, self.num_waited)

    @property
    def distance(self) -> float:
        """The distance that ranks candidates: see ``distance_of``."""
        return distance_of(self.graded)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; infinite or undefined ones are None."""
        plain = {
            key: list(map(_plain, value)) if isinstance(value, tuple) else _plain(value)
            for key, value in asdict(self).items()
        }
        return plain | {"distance": self.distance}


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


LETTERS: Final = "ABCDE"

MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "A": "the simulation matches the log; differences of single jobs are reliable",
        "B": "means and distributions are reliable, single jobs are not",
        "C": "large differences of means are reliable, small ones and tails are not",
        "D": "at most the direction of large changes is reliable",
        "E": "the simulation does not reproduce what happened: it describes its own cluster only",
    }
)
"""How far each grade lets a what-if be trusted."""


@dataclass(frozen=True)
class Measure:
    """A graded measure and its limits.

    Attributes
    ----------
    key, label
        Its attribute of :class:`~gpusched.studies.fidelity_grades.Likeness`, and its name in texts.
    limits
        The worst values that still get A, B, C and D.
    grows
        Whether larger values are better.
    """

    key: str
    label: str
    limits: tuple[float, float, float, float]
    grows: bool = False

    def letter(self, value: float) -> str:
        """Return the grade of a value; E if it is not a number."""
        for letter, limit in zip(LETTERS, self.limits, strict=False):
            if (value >= limit) if self.grows else (value <= limit):
                return letter
        return LETTERS[-1]

    def text(self, value: float) -> str:
        """Return the value as texts show it."""
        return f"{self.label} {value:.2f}"


MEASURES: Final = (
    Measure("ks", "KS distance", (0.05, 0.10, 0.20, 0.35)),
    Measure("rank_correlation", "rank correlation", (0.95, 0.80, 0.60, 0.40), grows=True),
    Measure("mean_wait_factor", "mean wait off by a factor of", (1.05, 1.2, 1.5, 2.0)),
    Measure("unexplained", "waiting time unexplained", (0.10, 0.25, 0.40, 0.60)),
    Measure("allocation_error", "allocation error", (0.02, 0.05, 0.10, 0.20)),
)
"""The graded measures; docs/explanation/fidelity.md gives reasons for the limits."""

MIN_JOBS: Final = 100
MIN_WAITED: Final = 30
"""With fewer jobs compared, or fewer that waited, no grade is better than C."""


@dataclass(frozen=True)
class Grade:
    """How close a simulation comes to what happened.

    Attributes
    ----------
    letter
        ``"A"`` to ``"E"``: the worst of ``letters``.
    letters
        The grade of each measure, by its key; ``"sample"`` is present if the jobs were few.
    why
        The reason, in words.
    """

    letter: str
    letters: Mapping[str, str]
    why: str

    @property
    def meaning(self) -> str:
        """How far the grade lets a what-if be trusted."""
        return MEANINGS[self.letter]

    def __str__(self) -> str:
        return f"{self.letter} ({self.why}): {self.meaning}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self) | {"meaning": self.meaning}


def grade_of(values: Mapping[str, float], num_jobs: int, num_waited: int) -> Grade:
    """Return the grade of a simulation: the worst of the grades of its measures.

    ``values``: the value of each of :data:`MEASURES`, by its key.
    ``num_jobs``, ``num_waited``: number of jobs compared, and how many of them waited in the trace.
    """
    letters = {measure.key: measure.letter(values[measure.key]) for measure in MEASURES}
    texts = {measure.key: measure.text(values[measure.key]) for measure in MEASURES}
    if num_jobs < MIN_JOBS or num_waited < MIN_WAITED:
        letters["sample"] = "C"
        texts["sample"] = f"only {num_waited:,} of {num_jobs:,} jobs compared waited"
    worst = max(letters.values())
    blamed = [texts[key] for key, letter in letters.items() if letter == worst]
    return Grade(worst, letters, "all measures" if worst == "A" else ", ".join(blamed))


def distance_of(values: Mapping[str, float]) -> float:
    """Return how far a simulation is from what happened, 0 to 1; it ranks the candidates.

    The mean of four parts, each 0 to 1: the KS distance, 1 - rank correlation (1 if that is
    negative), the share of the waiting time that is unexplained, and the allocation error (at
    most 1).
    """
    parts = (
        values["ks"],
        1 - max(0.0, values["rank_correlation"]),
        values["unexplained"],
        min(1.0, values["allocation_error"]),
    )
    return math.fsum(parts) / len(parts)


class Candidate(NamedTuple):
    """A policy tried by default, in traces of at most so many jobs (None: any)."""

    policy: str
    most_jobs: int | None = None


POLICIES: Final = (
    Candidate("fifo"),
    Candidate("fifo-skip"),
    Candidate("sgf"),
    Candidate("easy"),
    Candidate("conservative", 20_000),  # its time grows with the queue at every event
    Candidate("sjf"),
    Candidate("swf"),
)
"""Tried by default; those that rank jobs by run time only if every job has an estimate."""

PLACEMENTS: Final = ("consolidated", "first-fit")
"""Tried by default: multi-GPU jobs on whole servers, or on any GPUs."""


@dataclass(frozen=True)
class BaseCase:
    """A simulation compared with the log.

    ``policy``, ``placement``, ``predictor``: as strings, see :func:`gpusched.simulate`.
    ``clairvoyant``: whether the policy used true run times, which no site knows.
    ``cluster``: the simulated cluster.
    ``likeness``: how close it comes.
    ``num_runs``: number of simulations that the search for its capacity took.
    ``same_as``: an earlier case with exactly the same waits; empty if there is none.
    ``starts``: a digest of its starts.
    """

    policy: str
    placement: str
    predictor: str
    clairvoyant: bool
    cluster: Cluster
    likeness: Likeness
    num_runs: int
    same_as: str = ""
    starts: str = field(default="", repr=False, compare=False)

    @property
    def grade(self) -> Grade:
        """Its grade, see :class:`Grade`."""
        return self.likeness.grade

    @property
    def name(self) -> str:
        """Policy, placement and servers in short."""
        return f"{self.policy}, {self.placement}, {self.cluster.num_servers:,} servers"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "policy": self.policy,
            "placement": self.placement,
            "predictor": self.predictor,
            "clairvoyant": self.clairvoyant,
            "cluster": str(self.cluster),
            "num_servers": self.cluster.num_servers,
            "num_gpus": self.cluster.num_gpus,
            "grade": self.grade.to_dict(),
            **self.likeness.to_dict(),
            "num_runs": self.num_runs,
            "same_as": self.same_as,
        }


@dataclass(frozen=True)
class Scenario:
    """The arguments of a simulation.

    ``trace``, ``cluster``, ``policy``, ``placement``, ``predictor``, ``speed``, ``contention``,
        ``seed``, ``outages``: as for :func:`gpusched.simulate`.
    ``mtbf_s``, ``repair_s``: mean times of failures to draw; None: none are drawn.
    ``kill_invalid_depend``, ``priority_age_s``: as for :func:`gpusched.simulate`.
    """

    trace: Trace
    cluster: Cluster
    policy: AnyPolicy
    placement: str | PlacementChoice | Placement
    predictor: str
    speed: str | SpeedChoice | None
    contention: str | ContentionChoice
    seed: int
    outages: Outages | None = None
    mtbf_s: float | None = None
    repair_s: float = REPAIR_S
    kill_invalid_depend: bool = False
    priority_age_s: float | None = None

    def run(self) -> Result:
        """Simulate it."""
        asked = {name: own(value) for name, value in vars(self).items()}
        mtbf_s, repair_s = asked.pop("mtbf_s"), asked.pop("repair_s")
        if mtbf_s is not None:
            from gpusched.traces.outages import drawn_for

            asked["outages"] = drawn_for(self.trace, self.cluster, mtbf_s, repair_s, self.seed)
        return simulate(asked.pop("trace"), asked.pop("cluster"), **asked)


@dataclass(frozen=True)
class CaseSearch:
    """A scenario whose cluster is fitted to the recorded starts.

    ``clusters``: clusters to try. Empty: search for the number of equal servers, from the fewest
        that can have run the recorded peak.
    """

    scenario: Scenario
    window: Window
    clusters: Sequence[Cluster]
    gpus_per_server: int

    def run_on(self, cluster: Cluster) -> Result:
        """Simulate it."""
        return replace(self.scenario, cluster=cluster).run()

    def found(self) -> list[BaseCase]:
        """Return a case for each cluster, or for the number of servers found."""
        if not self.clusters:
            return [self._case(*self._sized())]
        return [self._case(self.run_on(cluster), 1) for cluster in self.clusters]

    def _sized(self) -> tuple[Result, int]:
        """Return the run on the best number of servers, and the number of simulations it took.

        The best has the closest mean wait. If recorded waits are longer than on the fewest servers
        that can have run the recorded peak, the capacity may mostly have been smaller: then fewer
        servers are tried, too.
        """
        window = self.window
        latest: dict[int, Result] = {}
        num_runs = 0

        def on(servers: int) -> Result:
            nonlocal num_runs
            if servers not in latest:
                num_runs += 1
                latest.clear()  # results are large
                latest[servers] = self.run_on(Cluster.uniform(servers, self.gpus_per_server))
            return latest[servers]

        def mean_wait(servers: int) -> float:
            return float(np.mean(window.wait_s(on(servers))))

        least = window.own.fewest_servers(self.gpus_per_server)
        target = float(np.mean(window.own_wait_s))
        servers = nearest_capacity(mean_wait, least, target)
        if servers == least and mean_wait(servers) < target:
            # The servers that hold the largest job, and the average in use.
            in_use = window.mean_in_use(*window.own.changes)[1]
            gpus = max(int(self.scenario.trace.gpus.max()), math.ceil(in_use), 1)
            servers = smaller_capacity(
                lambda servers: window.likeness(on(servers)).distance,
                servers, -(-gpus // self.gpus_per_server),
            )  # fmt: skip
        return on(servers), num_runs

    def _case(self, result: Result, num_runs: int) -> BaseCase:
        spec = result.spec
        starts = np.ascontiguousarray(result.schedule.start_us).tobytes()
        return BaseCase(
            spec.policy, spec.placement, spec.predictor, result.clairvoyant, result.cluster,
            self.window.likeness(result), num_runs, starts=hashlib.sha256(starts).hexdigest(),
        )  # fmt: skip


def default_policies(trace: Trace) -> tuple[list[str], list[str]]:
    """Return the default policies to try, and remarks on the choice."""
    estimated = has_all_estimates(trace)
    chosen, said = [], []
    by_truth, left_out = [], []
    for name, most_jobs in POLICIES:
        policy = Policy.parse(name)
        if policy.has("clairvoyant") and not estimated:
            left_out.append(name)
            continue
        if most_jobs is None or len(trace) <= most_jobs:
            chosen.append(name)
            if policy.has("estimate"):
                by_truth.append(name)
        else:
            said.append(
                f"{name} was not tried: it is slow for more than {most_jobs:,} jobs; name it to "
                "include it"
            )
    if not estimated:
        why = "some jobs have" if trace.estimate_us is not None else "the trace has"
        # A site that backfills has limits that its log may not record.
        said.append(
            f"{why} no estimates: {' and '.join(by_truth)} use true run times instead; "
            f"{' and '.join(left_out)}, which rank jobs by estimates, were not tried"
        )
    return chosen, said


def ordered(cases: Sequence[BaseCase]) -> tuple[BaseCase, ...]:
    """Sort cases from the closest to the farthest; on ties by GPUs, then by order.

    Those with exactly the starts of an earlier one name it.
    """
    first: dict[str, BaseCase] = {}
    nearest = []
    for case in sorted(cases, key=lambda case: (case.likeness.distance, case.cluster.num_gpus)):
        known = first.setdefault(case.starts, case)
        nearest.append(case if known is case else replace(case, same_as=known.name))
    return tuple(nearest)


MOST_CASES: Final = 12
MOST_JOBS: Final = 5


@dataclass(frozen=True, eq=False, repr=False)
class Fidelity:
    """The simulations closest to what happened, from :func:`gpusched.fidelity`.

    Attributes
    ----------
    trace
        The log.
    cases
        The simulations, the closest first.
    result
        The closest run.
    peak_gpus
        The most GPUs in use at once by the recorded starts: a lower bound on the capacity.
    resolution_s
        Waits below this counted as zero.
    remarks
        Caveats: what was left out, and what limits the comparison.
    """

    trace: Trace
    cases: tuple[BaseCase, ...]
    result: Result
    peak_gpus: int
    resolution_s: float
    remarks: tuple[str, ...]
    _window: Window

    @property
    def best(self) -> BaseCase:
        """The closest simulation."""
        return self.cases[0]

    @property
    def grade(self) -> Grade:
        """Its grade, which every what-if based on it carries."""
        return self.best.grade

    @property
    def warm_up_s(self) -> float:
        """Length of the submissions left out at the front, seconds."""
        return self._window.warm_up_s

    @property
    def tail_s(self) -> float:
        """Length left out at the end, seconds."""
        return self._window.tail_s

    def __repr__(self) -> str:
        return f"Fidelity({self.trace.name!r}: {self.best.name}, grade {self.grade.letter})"

    def __str__(self) -> str:
        cases, waits, jobs = self.shown
        below = [line for text in waits.notes for line in wrapped(text)]
        rest = [line for remark in self.remarks for line in wrapped(remark)]
        parts = (self.head, [str(cases), *cases.notes], [str(waits)], below, [str(jobs)], rest)
        return "\n\n".join("\n".join(part) for part in parts)

    @property
    def head(self) -> list[str]:
        """Lines on the closest simulation, and its grade."""
        best = self.best
        others = [case.name for case in self.cases[1:] if case.likeness == best.likeness]
        return [
            f"{self.trace.name}: {plural(len(self.trace), 'job')}; at most "
            f"{self.peak_gpus:,} GPUs in use at once by its recorded starts",
            f"nearest: {best.name} ({best.cluster.num_gpus:,} GPUs)",
            *(wrapped(f"equally close: {'; '.join(others)}") if others else []),
            *wrapped(f"grade {best.grade}"),
        ]

    @property
    def shown(self) -> tuple[Table, Table, Table]:
        """The closest simulations, the waits of the closest, and those that differ most."""
        like, hidden = self.best.likeness, len(self.cases) - MOST_CASES
        told = [f"and {plural(hidden, 'more simulation')}"] if hidden > 0 else []
        in_use = (
            f"GPUs in use: {like.own_mean_gpus_in_use:,.1f} on average in the trace, "
            f"{like.mean_gpus_in_use:,.1f} simulated; off by "
            f"{written(like.allocation_error, 'percent')} of that at any time, on average"
        )
        unexplained = (
            f"left unexplained: {100 * like.unexplained:.0f}% of the GPU time spent waiting is not "
            "common to trace and simulation"
        )
        percents = [f"p{percent}" if percent < 100 else "max" for percent in PERCENTS]
        waits: list[list[Value]] = [
            ["trace", like.own_mean_wait_s, *like.own_wait_quantiles_s],
            ["nearest", like.mean_wait_s, *like.wait_quantiles_s],
        ]
        figures = [Column(name, kind="time", key=f"{name}_wait_s") for name in ("mean", *percents)]
        jobs = self.jobs().head(MOST_JOBS).select(*_JOB).iter_rows()
        return (
            table("", _CASE, map(_case_row, self.cases[:MOST_CASES]), told),
            table("", [text_column("wait"), *figures], waits, (in_use, unexplained)),
            table("", list(_JOB.values()), jobs),
        )

    def table(self) -> pl.DataFrame:
        """Return one row per simulation, the closest first.

        Returns
        -------
        polars.DataFrame
            Policy, placement and capacity, the distances and the letter of the grade.

        Examples
        --------
        >>> waits = [59 * job for job in range(20)]
        >>> log = gs.Trace.from_columns(range(20), [60] * 20, [4] * 20, source_wait_s=waits)
        >>> found = gs.fidelity(log, gs.Cluster.uniform(1, 4), policies=["fifo"])
        >>> found.table().height == len(found.cases)
        True
        """
        rows = [case.to_dict() for case in self.cases]
        for row in rows:
            row["grade"] = row["grade"]["letter"]
            del row["wait_quantiles_s"], row["own_wait_quantiles_s"]
        return pl.from_dicts(rows, infer_schema_length=None)

    to_polars = table

    def jobs(self) -> pl.DataFrame:
        """Return the jobs compared, with their recorded waits and those of the closest simulation.

        Returns
        -------
        polars.DataFrame
            Columns id, row, user (if the trace has users), submit_s, gpus, own_wait_s (recorded),
            wait_s and difference_s (wait_s - own_wait_s, null if the simulation never started the
            job), sorted by the size of the difference, largest first.

        Examples
        --------
        >>> waits = [59 * job for job in range(20)]
        >>> log = gs.Trace.from_columns(range(20), [60] * 20, [4] * 20, source_wait_s=waits)
        >>> found = gs.fidelity(log, gs.Cluster.uniform(1, 4), policies=["fifo"])
        >>> found.jobs()["difference_s"].abs().max()
        0.0
        """
        trace, compared = self.trace, self._window.compared
        own_s, wait_s = self._window.own_wait_s, self._window.wait_s(self.result)
        columns: dict[str, Any] = {
            "id": trace.id[compared].tolist(),
            "row": trace.row[compared],
            "submit_s": trace.submit_s[compared],
            "gpus": trace.gpus[compared],
            "own_wait_s": own_s,
            "wait_s": wait_s,
            "difference_s": wait_s - own_s,
        }
        if trace.user is not None:
            columns["user"] = trace.user.take(compared).values().tolist()
        order = np.argsort(-np.abs(wait_s - own_s), kind="stable")
        infinite = pl.col("wait_s", "difference_s")
        frame = pl.DataFrame(columns)[order]
        return frame.with_columns(pl.when(infinite.is_finite()).then(infinite).name.keep())

    def allocation(self) -> pl.DataFrame:
        """Return the GPUs in use over time, recorded and in the closest simulation.

        Jobs without a recorded start are in neither.

        Returns
        -------
        polars.DataFrame
            Columns time_s, own_gpus and gpus: each row holds until the next.

        Examples
        --------
        >>> waits = [59 * job for job in range(20)]
        >>> log = gs.Trace.from_columns(range(20), [60] * 20, [4] * 20, source_wait_s=waits)
        >>> found = gs.fidelity(log, gs.Cluster.uniform(1, 4), policies=["fifo"])
        >>> found.allocation().rows()[-1]
        (1200.0, 0.0, 0.0)
        """
        own_us, own_change = self._window.own.changes
        time_us, change = self._window.own.changes_in(self.result)
        instants = np.unique(np.concatenate((own_us, time_us)))

        def level(times: Any, changes: Any) -> Any:
            at = np.searchsorted(instants, times)
            return np.cumsum(np.bincount(at, changes, len(instants))).round(6)

        return pl.DataFrame(
            {
                "time_s": us_to_seconds(instants),
                "own_gpus": level(own_us, own_change),
                "gpus": level(time_us, change),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for any JSON writer.

        Returns
        -------
        dict
            The grade, every simulation, and what was left out.

        Examples
        --------
        >>> waits = [59 * job for job in range(20)]
        >>> log = gs.Trace.from_columns(range(20), [60] * 20, [4] * 20, source_wait_s=waits)
        >>> found = gs.fidelity(log, gs.Cluster.uniform(1, 4), policies=["fifo"])
        >>> found.to_dict()["trace"]["num_with_starts"]
        20
        """
        return {
            "trace": {
                "name": self.trace.name,
                "source": str(self.trace.source),
                "num_jobs": len(self.trace),
                "num_with_starts": int(np.count_nonzero(self._window.own.is_known)),
                "peak_gpus": self.peak_gpus,
            },
            "warm_up_s": self.warm_up_s,
            "tail_s": self.tail_s,
            "resolution_s": self.resolution_s,
            "grade": self.grade.to_dict(),
            "cases": [case.to_dict() for case in self.cases],
            "remarks": list(self.remarks),
        }


_CASE: Final = (
    *map(text_column, ("grade", "policy", "placement")),
    Column("servers", kind="count"),
    *map(Column, ("KS", "rank", "tau")),
    Column("mean wait", kind="time", key="mean_wait_s"),
    Column("alloc.", kind="percent", key="allocation_error"),
    Column("far", key="distance"),
)
_JOB: Final = {
    "id": Column("waits that differ most: job", kind="text", is_text=True),
    "row": Column("row", kind="text"),
    "submit_s": Column("submitted", kind="time", key="submit_s"),
    "gpus": Column("GPUs", kind="count"),
    "own_wait_s": Column("trace", kind="time", key="own_wait_s"),
    "wait_s": Column("nearest", kind="time", key="wait_s"),
}


def _case_row(case: BaseCase) -> list[Value | Cell]:
    like = case.likeness
    return [
        case.grade.letter,
        Cell(case.policy, mark=" †" * case.clairvoyant),
        Cell(case.placement, mark=" =" if case.same_as else ""),
        case.cluster.num_servers,
        like.ks,
        like.rank_correlation,
        like.kendall_tau,
        like.mean_wait_s,
        like.allocation_error,
        like.distance,
    ]


def fidelity(
    trace: Trace,
    cluster: Cluster | Sequence[Cluster] | None = None,
    policies: Sequence[AnyPolicy] | None = None,
    placements: Sequence[str | PlacementChoice | Placement] | None = None,
    *,
    servers: Sequence[int] | None = None,
    gpus_per_server: int = GPUS_PER_SERVER,
    predictor: str = "auto",
    warm_up_s: float | None = None,
    tail_s: float | None = None,
    resolution_s: float = RESOLUTION_S,
    seed: int = 0,
    threads: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Fidelity:
    """Find the simulation that is closest to what happened, and grade it.

    The trace must have recorded starts (``source_wait_s``). Every policy is tried with every
    placement, on the clusters given or on the number of equal servers whose mean wait is closest to
    the trace's, from the fewest that can have run the recorded peak. If jobs wait too little even
    on those, the capacity may mostly have been smaller: then fewer are tried while that comes
    closer.

    Parameters
    ----------
    cluster
        The cluster of the site, or several to try. None: equal servers; if jobs name GPU types, the
        cluster of :func:`gpusched.traces.smallest_cluster`.
    policies, placements
        Names to try, see :func:`gpusched.policies` and :func:`gpusched.placements`. None:
        non-preemptive policies that a site can have, those that rank jobs by run time only if every
        job has an estimate; and the placements ``consolidated`` and ``first-fit``. Policies that
        backfill use true run times for missing estimates, and such a simulation is marked.
    servers
        Without a cluster: the numbers of servers to try. None: search for one.
    gpus_per_server
        Without a cluster: GPUs of each server.
    predictor
        Source of run-time predictions. ``"auto"``: the estimates if every job has one, else the
        true run times.
    warm_up_s, tail_s
        Jobs submitted so soon after the first submission, or so shortly before the last, are
        simulated but not compared, seconds. None: until the GPUs in use reach their mean, and as
        long as 95% of the jobs waited, each at most a tenth of the span.
    resolution_s
        Waits below this count as zero, seconds: sites schedule in rounds.
    seed, threads, progress, stop
        As for :func:`gpusched.compare`; ``progress`` counts pairs of a policy and a placement.

    Returns
    -------
    Fidelity
        The simulations, the closest first, with their grades.

    Raises
    ------
    ValueError
        If the trace has no recorded starts, or fewer than ten in the window; jobs are restricted
        to GPU types and no cluster is given; or an argument is out of range. An error in a run
        names its policy and placement.
    TypeError
        If an argument has the wrong type.
    Cancelled
        If ``stop`` was set.

    Examples
    --------
    >>> import gpusched as gs
    >>> cluster = gs.Cluster.uniform(4, 8)
    >>> jobs = gs.generate("philly", 400, load=1.1, cluster=cluster, seed=3)
    >>> log = gs.simulate(jobs, cluster, policy="fifo-skip").to_polars().drop("status")
    >>> names = {"source_wait_s": "queueing_delay_s"}
    >>> gs.fidelity(gs.Trace.from_polars(log, names)).best.name
    'fifo-skip, consolidated, 4 servers'
    """
    resolution_s = not_negative("resolution_s", resolution_s, 2.0**43)
    window = own_starts(trace, resolution_s).window(warm_up_s, tail_s)
    clusters, said = _clusters(trace, cluster, servers, gpus_per_server)
    if policies is None:
        policies, of_policies = default_policies(trace)
        said += of_policies
    known = for_trace(predictor, trace)
    labels = runs_by_label(policies)
    placements = PLACEMENTS if placements is None else placements
    if isinstance(placements, str | PlacementChoice | Placement) or not placements:
        raise TypeError(f"placements: expected a list of placements, not {placements!r}")
    placements = [PlacementChoice.parse(p) if isinstance(p, str) else p for p in placements]
    searches = {
        f"policy {label}, placement {placement}": CaseSearch(
            Scenario(trace, ANYWHERE, policy, placement, known, None, "none", seed),
            window, clusters, gpus_per_server,
        )
        for label, policy in labels.items()
        for placement in placements
    }  # fmt: skip
    found = in_threads(
        {name: search.found for name, search in searches.items()},
        threads=threads, progress=progress, stop=stop, unit="simulations",
    )  # fmt: skip
    cases = ordered([case for several in found.values() for case in several])
    best = next(name for name, several in found.items() if any(c is cases[0] for c in several))
    nearest = {"the nearest": partial(searches[best].run_on, cases[0].cluster)}
    result = in_threads(nearest, stop=stop)["the nearest"]
    remarks = (*_remarks(window, cases[0], gpus_per_server, bool(clusters)), *said)
    peak_gpus = window.own.peak_gpus
    return Fidelity(trace, cases, result, peak_gpus, resolution_s, remarks, window)


def _clusters(
    trace: Trace,
    cluster: Cluster | Sequence[Cluster] | None,
    servers: Sequence[int] | None,
    gpus_per_server: int,
) -> tuple[tuple[Cluster, ...], list[str]]:
    """Return the clusters given, none if the size is to be found, and what is assumed.

    Jobs that name GPU types need more than a number of equal servers.
    """
    check_integer("gpus_per_server", gpus_per_server, 1, MAX_GPUS_PER_SERVER)
    if cluster is not None:
        if servers is not None:
            raise ValueError("servers: cannot be combined with a cluster")
        named = tuple(cluster) if isinstance(cluster, list | tuple) else (cluster,)
        if not named or not all(isinstance(entry, Cluster) for entry in named):
            raise TypeError(f"cluster: expected a Cluster or several, not {cluster!r}")
        return named, []
    if servers is None and trace.type_set is not None:
        assumed, how = assumed_cluster(trace, gpus_per_server)
        return (assumed,), [how]
    if servers is None:
        return (), []
    if trace.type_set is not None:
        types = sorted({name for names in trace.type_sets for name in names})
        raise ValueError(
            f"servers: jobs are restricted to GPU types ({', '.join(types)}); name the cluster"
        )
    if isinstance(servers, int | str) or not servers:
        raise TypeError(f"servers: expected a list of numbers, not {servers!r}")
    for number in servers:
        check_integer("servers", number, 1, MAX_SERVERS)
    return tuple(Cluster.uniform(number, gpus_per_server) for number in servers), []


def _remarks(window: Window, best: BaseCase, gpus_per_server: int, has_clusters: bool) -> list[str]:
    """List what limits the comparison."""
    own = window.own
    trace = own.trace
    said = [
        f"compared: {plural(best.likeness.num_compared, 'job')} of {len(trace):,}; left out: "
        f"those submitted in the first {duration(window.warm_up_s)} (the cluster may not have "
        f"been empty before) and the last {duration(window.tail_s)} (what came later is missing)"
    ]
    unknown = len(trace) - int(np.count_nonzero(own.is_known))
    if unknown:
        said.append(f"{plural(unknown, 'job')} without a start were simulated, but not compared")
    like = best.likeness
    if like.num_never_started:
        said.append(f"{plural(like.num_never_started, 'job')} compared never started in the best")
    if best.cluster.num_gpus < own.peak_gpus:
        said.append(
            f"the best has {best.cluster.num_gpus:,} GPUs, but {own.peak_gpus:,} were in use at "
            "once: the capacity varied, or the trace's times are not exact"
        )
    is_small = not has_clusters and best.cluster.num_servers <= own.fewest_servers(gpus_per_server)
    if is_small and like.mean_wait_s < like.own_mean_wait_s:
        said.append(
            "jobs waited longer than on the fewest servers that can have run them: something other "
            "than capacity delayed them, such as user limits, reservations or failures"
        )
    if not math.isfinite(like.mean_wait_factor):
        said.append("no job waits in the trace or in the simulation: mean waits have no ratio")
    return said
