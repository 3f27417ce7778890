"""Forecast when waiting jobs start, :func:`when`, and calibrate the forecasts.

Futures are drawn from the past: run times of jobs, and submissions.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self, TypeVar

import msgspec
import numpy as np

from gpusched import _core
from gpusched.base.arrays import AnyArray, Bool, Float64, FrozenColumns, Int32, Int64, read_only
from gpusched.base.defaults import POLICY
from gpusched.base.draws import check_seed, generator
from gpusched.base.field_checks import check_integer
from gpusched.base.rejects import Rejects
from gpusched.base.run_warning import unwarned
from gpusched.base.ticks import MAX_SERVICE_US, US_PER_S, seconds_to_us
from gpusched.base.wording import duration
from gpusched.engine.open_run import Simulation, known_us
from gpusched.engine.seams import Chosen, placement_seam
from gpusched.engine.simulation import simulate
from gpusched.model.cluster import Cluster
from gpusched.model.outages import Outages
from gpusched.online.cluster_state import (
    DRAIN,
    ClusterState,
    asked,
    description_of,
    job_table,
    refused,
    snapshot_of,
    with_outages,
)
from gpusched.online.holding import extended, hold_columns
from gpusched.plugins.policy import PlacementChoice, Policy
from gpusched.plugins.registry import placements
from gpusched.specs.case import core_cluster, holds_of, job_columns
from gpusched.traces.job_columns import NOT_GIVEN, moved
from gpusched.traces.workload import Trace

Numbers = TypeVar("Numbers", Int64, Float64)


def surviving(lasted: Numbers, is_over: Bool) -> tuple[Numbers, Float64]:
    """Return the ended durations, ascending, and the estimated share of all up to each.

    The estimator of Kaplan and Meier (1958): durations that are not over are censored. The longest
    of all is treated as ended.
    """
    order = np.lexsort((~is_over, lasted))
    ended = is_over[order]
    ended[-1] = True
    left = np.arange(len(lasted), 0, -1)
    share: Float64 = 1.0 - np.cumprod(np.where(ended, 1.0 - 1.0 / left, 1.0), dtype=np.float64)
    return lasted[order][ended], share[ended]


LEAST: Final = 20
"""With fewer finished jobs in a class, run times are drawn from a wider one."""
_FINISHED: Final = 0


@dataclass(frozen=True, eq=False)
class KnownPast:
    """Past jobs, in order of submission.

    ``jobs``: the submitted jobs.
    ``gpus``, ``service_us``, ``is_finished``: int32, int64 microseconds and bool, one per job: its
        GPUs, its run time (so far, if it has not finished), and whether it has finished. Longer
        than ``jobs`` if other jobs are running.
    ``told_us``: int64, one per job: its predicted run time before it ran; None: no predictions.
    """

    jobs: Trace
    gpus: Int32
    service_us: Int64
    is_finished: Bool
    told_us: Int64 | None

    @classmethod
    def of_log(cls, finished: Trace, live: ClusterState) -> Self:
        """Return the past from a log, with its ``predicted_s``, if any, as predictions."""
        runs, told_us, predicted_us = live.is_running, None, finished.predicted_us
        if predicted_us is not None and (predicted_us > 0).all():
            told_us = np.concatenate([predicted_us, live.jobs.service_us[runs]])
        return cls(
            finished,
            np.concatenate([finished.gpus, live.jobs.gpus[runs]]),
            np.concatenate([finished.service_us, _had_us(live)[runs]]),
            np.concatenate([np.ones(len(finished), np.bool_), np.zeros(runs.sum(), np.bool_)]),
            told_us,
        )

    @classmethod
    def of_run(cls, run: Simulation, live: ClusterState, rows: Int64) -> Self | None:
        """Return the past from an open run; None while too few of its jobs have finished.

        ``live``, ``rows``: its current state, and the rows of the state's jobs in the run.
        """
        is_finished = np.asarray(run.result().schedule.status) == _FINISHED
        if int(is_finished.sum()) < LEAST:
            return None
        service_us = run.trace.service_us.copy()
        service_us[rows] = _had_us(live)
        kept = is_finished.copy()
        kept[rows] = True
        jobs = run.trace._take(kept)
        return cls(jobs, jobs.gpus, service_us[kept], is_finished[kept], known_us(run)[kept])


def _had_us(live: ClusterState) -> Int64:
    return np.maximum(1, seconds_to_us(live.attained_s))


WAVES: Final = 8
NEIGHBOURS: Final = 50
"""For a job with a predicted run time, so many jobs with the nearest predictions count."""
_TAIL: Final = 0.1
# Ten years, as an upper limit.
_MOST_US: Final = 10 * 365 * 86_400 * US_PER_S


class _Kind(NamedTuple):
    """Run times of finished jobs, ascending, and the share of jobs up to each."""

    service_us: Int64
    share: Float64


class ServiceDraws:
    """Run times of past jobs, from which those of other jobs are drawn.

    A job that has run for ``a`` seconds gets the run time of a finished job of its class that took
    more than ``a``, that is, conditional on the run time so far. Running jobs are censored, so
    finished jobs are weighted by the estimator of Kaplan and Meier (1958), with the longest of all
    treated as finished. The class of a job are the jobs of similar size (1, 2, 3 to 4, 5 to 8, ...
    GPUs); if fewer than :data:`LEAST` of these took longer, jobs of all sizes; and if still fewer,
    a Pareto tail, with Hill's estimate of the exponent from the longest tenth.

    Similar jobs come in waves. The past is cut into :data:`WAVES` parts in order, and all jobs of
    sample ``s`` are drawn from part ``s`` modulo their number, if that has enough jobs; so long run
    times are correlated within a sample.

    If there are predictions for a job and for past jobs, its run time is its prediction times the
    relative error for one of the :data:`NEIGHBOURS` jobs with the nearest predictions.
    """

    def __init__(self, past: KnownPast) -> None:
        finished, services = past.is_finished, past.service_us
        classes = width_classes(past.gpus)
        self._all = _Kind(*surviving(services, finished))
        self._of = _by_class(services, finished, classes)
        self._exponent = _hill(self._all.service_us)
        borders = np.linspace(0, len(services), WAVES + 1).astype(np.int64)
        self._waves = [
            _by_class(services[first:end], finished[first:end], classes[first:end])
            for first, end in itertools.pairwise(borders.tolist())
        ]
        self._told: Float64 | None = None
        if past.told_us is not None:
            rows = np.flatnonzero(finished)
            rows = rows[np.argsort(past.told_us[rows], kind="stable")]
            self._told = past.told_us[rows].astype(np.float64)
            self._wrong = services[rows] / self._told

    def draw(
        self, gpus: int, attained_us: int, numbers: AnyArray, told_us: int | None = None
    ) -> Int64:
        """Return run times, one for each of ``numbers``, uniform in 0 to 2**53 - 1.

        ``numbers``: int64[samples], or int64[jobs, samples] for equal jobs.
        ``told_us``: its predicted run time; None: no prediction.
        """
        uniform: Float64 = numbers * np.float64(2.0**-53)
        if told_us is not None and self._told is not None:
            found = self._alike(self._told, told_us, attained_us, uniform)
            if found is not None:
                return found
        width = int(width_classes(np.array([gpus]))[0])
        drawn = self._from_all(self._of.get(width), attained_us, uniform)
        for wave, of in enumerate(self._waves):
            kind = of.get(width)
            if kind is not None and _num_longer(kind, attained_us) >= LEAST:
                mine = (..., slice(wave, None, WAVES))
                drawn[mine] = _longer(kind, attained_us, uniform[mine])
        return drawn

    def _from_all(self, own: _Kind | None, attained_us: int, uniform: Float64) -> Int64:
        for kind in (own, self._all):
            if kind is not None and _num_longer(kind, attained_us) >= LEAST:
                return _longer(kind, attained_us, uniform)
        least = max(attained_us, int(self._all.service_us[0]))
        tail = least * (1.0 - uniform) ** (-1.0 / self._exponent)
        far: Int64 = np.maximum(np.minimum(tail, _MOST_US).astype(np.int64), attained_us + 1)
        return far

    def _alike(
        self, told: Float64, told_us: int, attained_us: int, uniform: Float64
    ) -> Int64 | None:
        """Return run times drawn from jobs with near predictions; None if too few are longer."""
        middle = int(np.searchsorted(told, told_us))
        first = max(0, min(middle - NEIGHBOURS // 2, len(told) - NEIGHBOURS))
        services = np.ceil(self._wrong[first : first + NEIGHBOURS] * told_us).astype(np.int64)
        longer = np.sort(services[services > attained_us])
        if len(longer) < LEAST:
            return None
        found: Int64 = longer[(uniform * len(longer)).astype(np.int64)]
        return found


def _by_class(services: Int64, finished: Bool, classes: Int64) -> dict[int, _Kind]:
    kinds = {}
    for each in np.unique(classes[finished]).tolist():
        mine = classes == each
        kinds[each] = _Kind(*surviving(services[mine], finished[mine]))
    return kinds


def _num_longer(kind: _Kind, attained_us: int) -> int:
    return len(kind.service_us) - int(np.searchsorted(kind.service_us, attained_us, side="right"))


def _longer(kind: _Kind, attained_us: int, uniform: Float64) -> Int64:
    """Draw from the run times above ``attained_us``, which must exist."""
    first = int(np.searchsorted(kind.service_us, attained_us, side="right"))
    below = float(kind.share[first - 1]) if first else 0.0
    at = np.searchsorted(kind.share, below + uniform * (1.0 - below), side="right")
    found: Int64 = kind.service_us[np.minimum(at, len(kind.service_us) - 1)]
    return found


def width_classes(gpus: np.ndarray[tuple[int], np.dtype[np.int32]] | Int64) -> Int64:
    """Return the class of each number of GPUs: 0 for 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8."""
    classes: Int64 = np.ceil(np.log2(gpus)).astype(np.int64)
    return classes


def _hill(services: Int64) -> float:
    """Return Hill's estimate of the tail exponent (Hill, 1975), at least 0.5."""
    count = max(2, int(len(services) * _TAIL))
    top = np.log(services[-count:].astype(np.float64))
    mean = float((top - top[0]).mean())
    return max(0.5, 1.0 / mean) if mean > 0 else 10.0


RECENT_DAYS: Final = 28
"""Older submissions are ignored."""
_DAY_US: Final = 86_400 * US_PER_S


class ArrivalDraws:
    """The submissions of the last days; each sample replays them from a random day.

    A sample continues from its day up to now, and then from the first day (the circular block
    bootstrap of Politis and Romano, 1992, with the whole past as one block), so bursts are kept.
    Days begin at the current time of day, so nights stay nights. A past of less than two days is
    replayed from any time.

    ``jobs``: the submissions, by time; run times of unfinished jobs are drawn once.
    ``told_us``: int64, one each: the run time that a policy sees.
    ``at_us``: int64, one each, ascending: submit time since the start of the first day.
    ``span_us``: length of the past.
    """

    def __init__(
        self, past: KnownPast, draws: ServiceDraws, generator: np.random.Generator
    ) -> None:
        submit_us = past.jobs.submit_us
        last_us = int(submit_us[-1])
        days = (last_us - int(submit_us[0])) // _DAY_US
        days = min(days, RECENT_DAYS)
        self.span_us = days * _DAY_US if days >= 2 else last_us - int(submit_us[0]) + 1
        self._starts = days if days >= 2 else 0
        first_us = last_us + 1 - self.span_us
        rows = np.flatnonzero(submit_us >= first_us)
        self.at_us: Int64 = submit_us[rows] - first_us
        service_us = self._services(past, rows, draws, generator)
        self.told_us: Int64 = service_us if past.told_us is None else past.told_us[rows]
        self.jobs = dataclasses.replace(
            plain(past.jobs._take(rows)), service_us=read_only(service_us)
        )

    def begins(self, numbers: Int64) -> Int64:
        """Return where samples begin in the span, microseconds; numbers are 0 to 2**53 - 1."""
        uniform = numbers * np.float64(2.0**-53)
        if self._starts:
            return (uniform * self._starts).astype(np.int64) * _DAY_US
        return (uniform * self.span_us).astype(np.int64)

    def until(self, begin_us: int, horizon_us: int) -> tuple[Int64, Int64]:
        """Return the rows of the next submissions, and their times after ``begin_us``."""
        first = int(np.searchsorted(self.at_us, begin_us))
        rounds = -(-(horizon_us + begin_us) // self.span_us)
        end = rounds * len(self.at_us)
        rows = np.arange(first, end) % len(self.at_us)
        whole = np.arange(first, end) // len(self.at_us)
        after_us = self.at_us[rows] + whole * self.span_us - begin_us
        count = int(np.searchsorted(after_us, horizon_us))
        return rows[:count], after_us[:count]

    def from_time(self, begin_us: int) -> Trace:
        """Return the jobs, moved so that the first is submitted at ``begin_us``."""
        later_us = begin_us - int(self.jobs.submit_us[0])
        submit_us = read_only(self.jobs.submit_us + later_us)
        return dataclasses.replace(self.jobs, submit_us=submit_us, **moved(self.jobs, later_us))

    def _services(
        self, past: KnownPast, rows: Int64, draws: ServiceDraws, generator: np.random.Generator
    ) -> Int64:
        """Return the run times of jobs, drawn for unfinished ones."""
        service_us = past.service_us[rows]
        numbers = generator.integers(0, 2**53, size=(len(rows), 1))
        for row in np.flatnonzero(~past.is_finished[rows]).tolist():
            told_us = None if past.told_us is None else int(past.told_us[rows[row]])
            gpus, had_us = int(past.gpus[rows[row]]), int(service_us[row])
            service_us[row] = draws.draw(gpus, had_us, numbers[row], told_us)[0]
        return service_us


def move_submissions(columns: dict[str, Any], first: int, to_us: Int64) -> None:
    """Change the submit times of a table from a row on, and shift deadlines accordingly."""
    submit_us = columns["submit_us"][first:]
    later_us = to_us - submit_us
    submit_us += later_us
    if "deadline_us" in columns:
        due_us = columns["deadline_us"][first:]
        due_us += np.where(due_us == NOT_GIVEN, 0, later_us)


def plain(jobs: Trace) -> Trace:
    """Return the jobs as decisions read them: without dates, ids and models."""
    positions = read_only(np.arange(len(jobs)))
    return dataclasses.replace(
        jobs, id=positions, row=positions, epoch=None, origin_s=0.0, rejects=Rejects(), notes=(),
        profile=None, profiles=(), graph=None, graphs=(), eligible_us=None, cancel_at_us=None,
        dependency=None, array=None, array_limit=None,
    )  # fmt: skip


LEAST_QUESTIONS: Final = 8
"""With fewer earlier forecasts there is no correction."""
_FLOOR_S: Final = 600.0
"""Added to both waits in a ratio, so that errors of minutes count little."""

_LEAST_SCORE: Final = 1e-9  # score of a job that was forecast never to start


def stretch_factors(
    quantiles: tuple[float, ...], wait_s: Float64, is_over: Bool, forecast_s: Float64
) -> Float64:
    """Return the factor that would have made each quantile of past waits correct.

    Split conformal prediction (Vovk, Gammerman and Shafer, 2005, section 2.2), one side at a time:
    the score of an earlier forecast is the true wait over its quantile q, and the factor of that
    quantile is the quantile q of the scores plus one worse than all. Waits that are not over are
    censored (Kaplan and Meier). Exact if the new question is exchangeable with the earlier ones;
    questions about one queue are correlated and drift.

    ``wait_s``, ``is_over``: float64 seconds and bool, one per question: the wait, so far if it is
        not over.
    ``forecast_s``: float64[questions, quantiles]: the forecast waits.
    """
    count = len(wait_s)
    if count < LEAST_QUESTIONS:
        return np.ones(len(quantiles))
    factors = np.empty(len(quantiles))
    for place, part in enumerate(quantiles):
        scores = (wait_s + _FLOOR_S) / (forecast_s[:, place] + _FLOOR_S)
        scores = np.maximum(scores, _LEAST_SCORE)
        rank = part * (count + 1) / count
        outward = np.floor(rank * count) if part < 0.5 else np.ceil(rank * count)
        values, share = surviving(scores, is_over)
        at = int(np.searchsorted(share, min(1.0, outward / count) - 1e-9))
        factors[place] = values[min(at, len(values) - 1)]
    return factors


def stretched(wait_s: Float64, factors: Float64) -> Float64:
    """Return corrected, ascending waits by quantile; one forecast, or one per row."""
    made = np.maximum(0.0, (wait_s + _FLOOR_S) * factors - _FLOOR_S)
    found: Float64 = np.maximum.accumulate(made, axis=-1)
    return found


_SHOWN: Final = 5


@dataclass(frozen=True)
class Sooner:
    """A change that may let a job start earlier.

    Attributes
    ----------
    what
        ``"4 GPUs"``, ``"placement first-fit"`` or ``"one more server"``.
    start_s
        Its median start with the change, seconds; infinite if it starts in less than half of the
        samples.
    sooner_s
        How much earlier its median start is, seconds; negative if later. NaN if it starts in too
        few samples.
    share_sooner
        Fraction of the samples in which it starts earlier.
    """

    what: str
    start_s: float
    sooner_s: float
    share_sooner: float


@dataclass(frozen=True, eq=False)
class StartForecast(FrozenColumns):
    """When and where a waiting job would start: the return value of :func:`when`.

    Attributes
    ----------
    job, id
        The row of the job in ``state``, and its id.
    now_s
        The time of the state, seconds.
    start_s
        float64 seconds, one per sample, ascending: its start; infinite if it never starts.
    quantiles
        The quantiles in :attr:`quantile_s`.
    num_servers
        int64, one per sample in which it starts: its number of servers.
    servers, share
        int64 and float64: servers, the most frequent first, and the fraction of the samples with a
        start in which it uses them. Empty under a placement without servers.
    server_names
        Names of these servers; empty if the state has none.
    alternatives
        Changes that may let it start earlier.
    is_sampled
        Whether run times were drawn; if not, they are those of the state.
    factors
        Correction factors of :attr:`quantile_s`, one each: see
        :func:`~gpusched.online.starting.stretch_factors`. None: no correction.
    share_hit
        Fraction of the samples with a start in which one of its servers has an outage before the
        job would end.
    notes
        What was assumed about jobs that the state does not have, a sentence each.
    """

    job: int
    id: Any
    now_s: float
    start_s: Float64 = field(repr=False)
    quantiles: tuple[float, ...]
    num_servers: Int64 = field(repr=False)
    servers: Int64 = field(repr=False)
    share: Float64 = field(repr=False)
    alternatives: tuple[Sooner, ...]
    is_sampled: bool
    factors: Float64 | None = field(default=None, repr=False)
    server_names: tuple[str, ...] = field(default=(), repr=False)
    share_hit: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def likeliest(self) -> tuple[tuple[str, float], ...]:
        """The most frequent servers, by name or number, and their shares of the samples."""
        names = self.server_names or tuple(str(server) for server in self.servers.tolist())
        return tuple(zip(names[:_SHOWN], self.share[:_SHOWN].tolist(), strict=True))

    @property
    def quantile_s(self) -> Float64:
        """Its start at each quantile (nearest rank), seconds; infinite for never."""
        drawn_s = nearest_rank(self.start_s, self.quantiles)
        if self.factors is None:
            return drawn_s
        found: Float64 = self.now_s + stretched(drawn_s - self.now_s, self.factors)
        return found

    @property
    def median_s(self) -> float:
        """The median start in the samples, without correction, seconds."""
        return float(nearest_rank(self.start_s, (0.5,))[0])

    @property
    def share_never(self) -> float:
        """Fraction of the samples in which it never starts."""
        return float(np.isinf(self.start_s).mean())

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as plain values, without single samples; None means never.

        Returns
        -------
        dict
            Starts at each quantile, the likeliest servers and the alternatives, in seconds.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 10], [3600, 60], [8, 16])
        >>> state = gs.online.ClusterState(
        ...     gs.Cluster.uniform(2, 8), jobs, now_s=1800, start_s=[0, float("nan")],
        ...     held_job=[0], held_server=[1], held_mask=[0xFF],
        ... )
        >>> gs.when(1, state).to_dict()["start_s"]["p50"]
        3600.0
        """
        return {
            "job": self.job,
            "id": self.id if isinstance(self.id, str) else int(self.id),
            "now_s": self.now_s,
            "num_samples": len(self.start_s),
            "is_sampled": self.is_sampled,
            "start_s": {
                f"p{100 * part:g}": _finite(value)
                for part, value in zip(self.quantiles, self.quantile_s, strict=True)
            },
            "share_never": self.share_never,
            "share_hit": self.share_hit,
            "servers": [
                {"server": int(server), "share": share}
                | ({"name": name} if self.server_names else {})
                for server, (name, share) in zip(self.servers, self.likeliest, strict=False)
            ],
            "alternatives": [
                {
                    "what": each.what,
                    "start_s": _finite(each.start_s),
                    "sooner_s": _finite(each.sooner_s),
                    "share_sooner": each.share_sooner,
                }
                for each in self.alternatives
            ],
        }

    def __str__(self) -> str:
        lines = [f"job {self.id} starts, counted from now:"]
        for part, value in zip(self.quantiles, self.quantile_s, strict=True):
            wait = "never" if np.isinf(value) else f"in {duration(float(value) - self.now_s)}"
            lines.append(f"  {100 * part:g}%: {wait}")
        if len(self.servers):
            places = ", ".join(f"{server} ({share:.0%})" for server, share in self.likeliest)
            lines.append(f"most likely on server {places}")
        if self.share_hit:
            lines.append(f"hit by an outage before its end: {self.share_hit:.0%}")
        for each in self.alternatives:
            lines.append(f"with {each.what}: {_said(each)}")
        return "\n".join(lines)


def nearest_rank(ascending: AnyArray, parts: tuple[float, ...]) -> Float64:
    """Return nearest-rank quantiles."""
    ranks = np.ceil(np.array(parts) * len(ascending)).astype(np.int64) - 1
    found: Float64 = ascending[np.maximum(ranks, 0)]
    return found


def _said(each: Sooner) -> str:
    if np.isnan(each.sooner_s):
        return "starts in too few samples to say"
    if each.sooner_s == 0:
        often = f"{each.share_sooner:.0%}"
        return "no earlier start" + (f" (earlier in {often} of samples)" if often != "0%" else "")
    side = "earlier" if each.sooner_s > 0 else "later"
    earlier = f"earlier in {each.share_sooner:.0%} of samples"
    return f"{duration(abs(each.sooner_s))} {side} ({earlier})"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True, eq=False)
class StartCalibration:
    """Coverage of past start-time forecasts.

    Attributes
    ----------
    quantiles
        The forecast quantiles.
    asked_s
        float64 seconds, one per question, ascending: the time of the question.
    wait_s
        float64 seconds, one per question: the job's remaining wait; infinite if it never started.
    forecast_s
        float64[questions, quantiles]: the forecast remaining wait, by quantile.
    """

    quantiles: tuple[float, ...]
    asked_s: Float64 = field(repr=False)
    wait_s: Float64 = field(repr=False)
    forecast_s: Float64 = field(repr=False)

    @property
    def share(self) -> Float64:
        """Fraction of the questions in which the job had started by each quantile."""
        found: Float64 = (self.wait_s[:, None] <= self.forecast_s).mean(axis=0)
        return found

    @property
    def share_within(self) -> float:
        """Fraction of the starts between the first and the last quantile, inclusive."""
        first, last = self.forecast_s[:, 0], self.forecast_s[:, -1]
        return float(((self.wait_s >= first) & (self.wait_s <= last)).mean())

    @property
    def median_error_s(self) -> float:
        """Median absolute error of the median forecast, seconds."""
        middle = self.forecast_s[:, self.quantiles.index(0.5)]
        return float(np.median(np.abs(middle - self.wait_s)))

    def factors(self, by_s: float = np.inf) -> Float64:
        """Return the correction factors of quantiles, from outcomes known at a time.

        See :func:`~gpusched.online.starting.stretch_factors`.

        Parameters
        ----------
        by_s
            That time, seconds.

        Returns
        -------
        numpy.ndarray
            float64, one per quantile.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(2, 8)
        >>> log = gs.generate("philly", 200, load=1.3, cluster=cluster, seed=1)
        >>> record = gs.online.calibrate_starts(log, cluster, questions=9, samples=5)
        >>> len(record.factors()) == len(record.quantiles)
        True
        """
        asked = self.asked_s < by_s
        known_s = np.minimum(self.wait_s[asked], by_s - self.asked_s[asked])
        is_over = self.asked_s[asked] + self.wait_s[asked] <= by_s
        is_over &= np.isfinite(self.wait_s[asked])
        return stretch_factors(self.quantiles, known_s, is_over, self.forecast_s[asked])

    def __str__(self) -> str:
        told = [f"{len(self.wait_s)} questions; median wait {duration(np.median(self.wait_s))}"]
        told += [
            f"started by the {100 * part:g}% quantile: {found:.0%}"
            for part, found in zip(self.quantiles, self.share, strict=True)
        ]
        told.append(f"between the outermost quantiles: {self.share_within:.0%}")
        told.append(f"median error of the median forecast: {duration(self.median_error_s)}")
        return "\n".join(told)


_BATCH: Final = 25
_FIRST_LOOK_US: Final = 86_400 * US_PER_S
_FARTHER: Final = 4
_FARTHEST_LOOK_US: Final = 28 * _FIRST_LOOK_US
"""After this time, samples run without further submissions."""
_PER_JOB: Final = {each.name for each in _core.JOB_COLUMNS if each.per == "job"} | {
    "public_columns"
}


class Started(NamedTuple):
    """Start of a job in microseconds (-1: never), its servers, and whether an outage hits it."""

    start_us: int
    servers: tuple[int, ...]
    is_hit: bool


@dataclass(frozen=True, eq=False)
class _Question:
    """The question when jobs of a state start, with sampled futures.

    ``jobs``: rows of waiting jobs.
    ``first_us``: time of the policy's first decision, unless an event comes earlier; None: now.
    ``service_us``: int64[samples, num_jobs]: run time of each job of the state.
    ``arrivals``, ``begin_us``: future submissions, and where each sample begins in them; None:
        none.
    ``outages``: those of the core from the time of the state on; None: none.
    """

    state: ClusterState
    jobs: tuple[int, ...]
    policy: Chosen
    placement: Chosen
    seed: int
    first_us: int | None
    service_us: Int64
    arrivals: ArrivalDraws | None = None
    begin_us: Int64 | None = None
    outages: dict[str, list[int]] | None = None

    @property
    def is_told(self) -> bool:
        """Whether the policy uses predicted run times."""
        return self.policy.has("clairvoyant") or self.policy.has("estimate")

    def head(self, count: int) -> Self:
        """Return the question with only the first samples."""
        begin_us = None if self.begin_us is None else self.begin_us[:count]
        return dataclasses.replace(self, service_us=self.service_us[:count], begin_us=begin_us)

    def drawn(self, past: KnownPast, samples: int, seed: int, *, arrivals: bool) -> Self:
        """Return the question with drawn run times and, if ``arrivals``, submissions."""
        if not self.is_told:
            past = dataclasses.replace(past, told_us=None)
        state, random = self.state, generator(seed)
        draws, jobs = ServiceDraws(past), state.jobs
        numbers = random.integers(0, 2**53, size=(len(jobs), samples))
        drawn = np.empty((len(jobs), samples), np.int64)
        told_us = jobs.service_us if past.told_us is not None else np.zeros(len(jobs), np.int64)
        own_s = np.maximum(0.0, state.attained_s - np.nan_to_num(state.added_s))
        alike = np.stack([jobs.gpus, seconds_to_us(own_s), told_us], axis=1)
        kinds, kind_of = np.unique(alike, axis=0, return_inverse=True)
        order = np.argsort(kind_of, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(kind_of[order])) + 1):
            gpus, attained_us, told = kinds[kind_of[rows[0]]].tolist()
            drawn[rows] = draws.draw(gpus, attained_us, numbers[rows], told or None)
        asked = dataclasses.replace(self, service_us=np.ascontiguousarray(drawn.T))
        if not arrivals:
            return asked
        later = ArrivalDraws(past, draws, random)
        begin_us = later.begins(random.integers(0, 2**53, size=samples))
        return dataclasses.replace(asked, arrivals=later, begin_us=begin_us)

    def answered(self, pool: ThreadPoolExecutor) -> list[list[Started]]:
        """Run every sample until the jobs start, with as many submissions as needed."""
        state, later = self.state, self.arrivals
        uses_estimates, num_jobs = self.policy.has("estimate"), len(state.jobs)
        attained_us, limit_us = seconds_to_us(state.attained_s), state.jobs.time_limit_us
        holds, states = hold_columns(state), self.outages is not None
        if later is None:
            table = job_table(state, uses_estimates=uses_estimates, states=states)
        else:
            both = [plain(state.jobs), later.from_time(state.now_us + 1)]
            joined = Trace.concat(both, ["state", "history"])
            table = job_columns(joined, state.cluster, uses_estimates=uses_estimates, states=states)
            table["predicted_us"] = np.concatenate([state.jobs.service_us, later.told_us])
        cluster, snapshot = core_cluster(state.cluster), snapshot_of(state, self.first_us)
        description = description_of(self.policy, self.placement, self.seed, self.outages)

        def until_start(columns: dict[str, Any]) -> list[Started]:
            held = extended(holds, len(columns["submit_us"]) - num_jobs)
            jobs = _core.JobTable(**columns, **held)
            run = _core.Run(jobs, cluster, description, snapshot=snapshot)
            found = zip(self.jobs, _core.until_start(run, self.jobs), strict=True)
            left_us = columns["service_us"][:num_jobs] - attained_us
            if limit_us is not None:
                left_us = np.where(limit_us == NOT_GIVEN, left_us, np.minimum(left_us, limit_us))
            return [
                Started(start_us, tuple(servers), self.is_hit(start_us, int(left_us[job]), servers))
                for job, (start_us, servers) in found
            ]

        def with_later(drawn_us: Int64, rows: Int64, after_us: Int64) -> dict[str, Any]:
            taken = np.concatenate([np.arange(num_jobs), rows + num_jobs])
            columns = {
                name: values[taken] if name in _PER_JOB else values
                for name, values in table.items()
            }
            columns["service_us"][:num_jobs] = drawn_us
            move_submissions(columns, num_jobs, state.now_us + 1 + after_us)
            return columns

        def start(sample: int) -> list[Started]:
            drawn_us = np.minimum(self.service_us[sample], MAX_SERVICE_US)
            if later is None or self.begin_us is None:
                return until_start({**table, "service_us": drawn_us})
            look_us = _FIRST_LOOK_US
            while True:
                rows, after_us = later.until(int(self.begin_us[sample]), look_us)
                found = until_start(with_later(drawn_us, rows, after_us))
                is_seen = all(0 <= each.start_us <= state.now_us + look_us for each in found)
                if is_seen or look_us >= _FARTHEST_LOOK_US:
                    return found
                look_us = min(look_us * _FARTHER, _FARTHEST_LOOK_US)

        def batch(first: int) -> list[list[Started]]:
            return [start(each) for each in range(first, min(first + _BATCH, len(self.service_us)))]

        with refused(self.policy, self.placement):
            batches = pool.map(batch, range(0, len(self.service_us), _BATCH))
            return [each for part in batches for each in part]

    def is_hit(self, start_us: int, left_us: int, servers: Sequence[int]) -> bool:
        """Return whether an outage hits a run on these servers."""
        if self.outages is None:
            return False
        columns = [self.outages[f"outage_{name}"] for name in ("server", "start_us", "kind")]
        return any(
            server in servers and start_us < at_us < start_us + left_us and kind != DRAIN
            for server, at_us, kind in zip(*columns, strict=True)
        )

    def alternatives(self) -> Iterator[tuple[str, Self]]:
        """Yield changes that may let the one job start earlier, each with its question.

        Changes take effect now, with an immediate decision.
        """
        now = dataclasses.replace(self, first_us=None)
        jobs, (job,) = self.state.jobs, self.jobs
        gpus = int(jobs.gpus[job])
        for part in (2, 4):
            if gpus % part or jobs.min_gpus is not None or jobs.gpus_per_node is not None:
                continue
            longer = self.service_us.copy()
            longer[:, job] *= part
            width, service_us = jobs.gpus.copy(), jobs.service_us.copy()
            width[job] //= part
            service_us[job] *= part
            narrower = dataclasses.replace(jobs, gpus=width, service_us=service_us)
            state = dataclasses.replace(self.state, jobs=narrower)
            what = f"{gpus // part} GPU{'s' * (gpus > part)}"
            yield what, dataclasses.replace(now, state=state, service_us=longer)
        other = _scattering(self.placement, jobs)
        if other is not None:
            yield f"placement {other}", dataclasses.replace(now, placement=placement_seam(other))
        larger = _with_one_more(self.state.cluster, jobs, job)
        if larger is not None:
            state = dataclasses.replace(self.state, cluster=larger, servers=())
            yield "one more server", dataclasses.replace(now, state=state)


def _scattering(placement: Chosen, jobs: Trace) -> str | None:
    """Return a placement that uses any free GPUs; None if this one does."""
    if placement.has("scatters") or placement.has("pooled"):
        return None
    wanted = ["scatters"]
    if any(asked is not None for asked in (jobs.cpu_milli, jobs.memory_mib, jobs.gpus_per_node)):
        wanted.append("demands")
    if jobs.share_milli is not None:
        wanted += ["demands", "shares"]
    names = [
        info.name
        for info in placements().values()
        if info.is_native
        and all(info.has(flag) for flag in wanted)
        and not (info.has("random") or info.has("pooled"))
    ]
    return min(names, default=None)


def _with_one_more(cluster: Cluster, jobs: Trace, job: int) -> Cluster | None:
    """Return the cluster plus one more of the largest servers that the job may use."""
    allowed = jobs.type_sets[jobs.type_set[job]] if jobs.type_set is not None else ()
    groups = [each for each in cluster.servers if not allowed or each.gpu_type in allowed]
    if not groups:
        return None
    largest = max(groups, key=lambda group: group.gpus)
    added = msgspec.structs.replace(largest, count=1, part_of=None)
    return msgspec.structs.replace(cluster, servers=(*cluster.servers, added))


MOST_SAMPLES: Final = 100_000
MOST_THREADS: Final = 1024
PAIRED: Final = 200
"""Number of samples on which alternatives are run and compared."""
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


def when(
    job: int,
    state: ClusterState | Simulation,
    *,
    policy: str | Policy | None = None,
    placement: str | PlacementChoice | None = None,
    history: Trace | None = None,
    samples: int = 1000,
    quantiles: Sequence[float] | None = None,
    calibration: StartCalibration | None = None,
    arrivals: bool = True,
    alternatives: bool = True,
    outages: Outages | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> StartForecast:
    """Forecast when and where a waiting job would start.

    Each sample draws the total run time of every waiting and running job from finished jobs that
    took longer than it has run so far (see :class:`~gpusched.online.starting.ServiceDraws`), and
    simulates from the state until the job starts. The policy sees the run times of the state, not
    the drawn ones. Future submissions repeat those of past days (see
    :class:`~gpusched.online.starting.ArrivalDraws`). Under policies that use predicted run times,
    run times are drawn from past prediction errors.

    Jobs that are held, by ``hold``, ``eligible_s``, ``dependency`` or ``array_limit``, wait by the
    rules of a run: a target that the state does not have counts as met, and a job with ``hold``
    never starts. A run ends at its ``time_limit_s`` at the latest.

    Parameters
    ----------
    job
        The row of a waiting job in ``state.jobs``, or in the trace of an open run.
    state
        The current cluster state, or an open run, which is not changed.
    policy, placement
        As for :func:`decide`; default: those of the open run, else ``"fifo"`` and
        ``"consolidated"``. Python objects are not supported.
    history
        Finished jobs to draw from, in order of submission, with ``predicted_s`` if their predicted
        run times are known. Default: submitted jobs of the open run. With fewer than 20 finished
        ones, or for a state, nothing is drawn, and jobs take the run times of ``state``: one
        sample.
    samples
        Number of simulated futures, 1 to 100,000.
    quantiles
        Quantiles of the forecast, at least one, each above 0 and at most 1. Default: those of the
        calibration, else 5, 25, 50, 75 and 95%.
    calibration
        Outcomes of earlier forecasts for this cluster, see
        :func:`~gpusched.online.calibrate_starts`, which correct the quantiles.
        ``quantiles`` must be the same.
    arrivals
        Whether samples have new submissions, for at most 28 days. This takes longer the later the
        job starts; without it, forecasts are too early if other jobs may overtake.
    alternatives
        Whether to try, on the first 200 samples, changes that may let it start earlier: half and a
        quarter of its GPUs for twice and four times as long, a placement that uses any free GPUs,
        and one more server like the largest that it may use.
    outages
        Planned outages, as for :func:`gpusched.simulate`, on the clock of the state. Jobs that they
        hit start again. A server in an outage now is closed until the end of it, and then all its
        GPUs are back; without outages, GPUs that are out of use stay so.
    seed
        Seed of the draws.
    threads
        Number of samples at a time; default: one per processor.

    Returns
    -------
    StartForecast
        Its start in every sample, quantiles, servers and alternatives.

    Raises
    ------
    ValueError
        If the job does not wait, the policy needs more than the state between decisions, or as
        :func:`decide`.
    TypeError
        If an argument has a wrong type.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> past = gs.generate("philly", 500, load=0.9, cluster=cluster, seed=1)
    >>> jobs = gs.Trace.from_columns([0, 10], [3600, 60], [8, 16], id=["runs", "waits"])
    >>> state = gs.online.ClusterState(
    ...     cluster, jobs, now_s=1800, start_s=[0, float("nan")],
    ...     held_job=[0], held_server=[1], held_mask=[0xFF],
    ... )
    >>> forecast = gs.when(1, state, history=past, samples=100)
    >>> bool((forecast.start_s > state.now_s).all())
    True
    >>> gs.when(1, state).median_s
    3600.0
    """
    (found,) = _forecasts(
        operator.index(job), state, policy, placement, history, samples, quantiles, calibration,
        arrivals=arrivals, alternatives=alternatives, outages=outages, seed=seed, threads=threads,
    )  # fmt: skip
    return found


def when_all(
    state: ClusterState | Simulation,
    *,
    policy: str | Policy | None = None,
    placement: str | PlacementChoice | None = None,
    history: Trace | None = None,
    samples: int = 1000,
    quantiles: Sequence[float] | None = None,
    calibration: StartCalibration | None = None,
    arrivals: bool = True,
    outages: Outages | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> list[StartForecast]:
    """Forecast when and where each waiting job would start.

    Each sample is simulated once until all of them have started; parameters are those of
    :func:`gpusched.when`.

    Returns
    -------
    list of StartForecast
        In the order of the jobs of ``state``, without alternatives; empty if none waits.

    Raises
    ------
    ValueError, TypeError
        As :func:`gpusched.when`.

    Examples
    --------
    >>> jobs = gs.Trace.from_columns([0, 10, 20], [3600, 60, 60], [8, 16, 8])
    >>> state = gs.online.ClusterState(
    ...     gs.Cluster.uniform(2, 8), jobs, now_s=1800, start_s=[0, float("nan"), float("nan")],
    ...     held_job=[0], held_server=[1], held_mask=[0xFF],
    ... )
    >>> [forecast.median_s for forecast in gs.online.when_all(state)]
    [3600.0, 3660.0]
    """
    return _forecasts(
        None, state, policy, placement, history, samples, quantiles, calibration,
        arrivals=arrivals, alternatives=False, outages=outages, seed=seed, threads=threads,
    )  # fmt: skip


def _forecasts(
    job: int | None,
    state: ClusterState | Simulation,
    policy: str | Policy | None,
    placement: str | PlacementChoice | None,
    history: Trace | None,
    samples: int,
    quantiles: Sequence[float] | None,
    calibration: StartCalibration | None,
    *,
    arrivals: bool,
    alternatives: bool,
    outages: Outages | None,
    seed: int,
    threads: int | None,
) -> list[StartForecast]:
    """Return the forecast for one job, or for all waiting jobs."""
    check_integer("samples", samples, 1, MOST_SAMPLES)
    if threads is not None:
        check_integer("threads", threads, 1, MOST_THREADS)
    parts = _parts(quantiles, calibration)
    past = first_us = rows = None
    if isinstance(state, Simulation):
        run = state
        is_own = policy is None and placement is None
        policy, placement = policy or run.spec.policy, placement or run.spec.placement
        if job is not None and job not in run.state.waiting:
            raise ValueError(f"job: row {job} of the run must be a waiting job")
        rows = np.sort(np.concatenate([run.state.waiting, run.state.running]))
        state, next_us = ClusterState.of(run), _core.snapshot_of(run._run)["next_us"]
        first_us = next_us if is_own else None
        past = KnownPast.of_run(run, state, rows) if history is None else None
    if not isinstance(state, ClusterState):
        raise TypeError(f"state: expected a ClusterState or a Simulation, not {state!r}")
    if history is not None and not isinstance(history, Trace):
        raise TypeError(f"history: expected a Trace, not {history!r:.80}")
    if job is None:
        jobs = tuple(np.flatnonzero(~state.is_running).tolist())
        if not jobs:
            return []
    else:
        if not len(state.jobs):
            raise ValueError("jobs: the state has no jobs")
        shown, job = job, job if rows is None else int(np.searchsorted(rows, job))
        check_integer("job", job, 0, len(state.jobs) - 1)
        if state.is_running[job]:
            raise ValueError(f"job: row {shown} is already running")
        jobs = (job,)
    if history is not None:
        past = KnownPast.of_log(history, state)
    planned = None
    if outages is not None:
        state, planned = with_outages(state, outages)
    question = _Question(
        state, jobs, _named(asked(policy or POLICY)),
        _named(placement_seam(placement or "consolidated")), check_seed(seed), first_us,
        state.jobs.service_us.reshape(1, -1), outages=planned,
    )  # fmt: skip
    if past is not None:
        question = question.drawn(past, samples, seed, arrivals=arrivals)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        started = [list(each) for each in zip(*question.answered(pool), strict=True)]
        others = question.head(PAIRED).alternatives() if alternatives else iter(())
        compared = tuple(
            _compared(what, started[0], [each for (each,) in other.answered(pool)], state.now_s)
            for what, other in others
        )
    factors = None if calibration is None else calibration.factors()
    return [
        _forecast(
            state,
            row,
            row if rows is None else int(rows[row]),
            each,
            parts,
            compared,
            factors,
            is_sampled=past is not None,
        )
        for row, each in zip(jobs, started, strict=True)
    ]  # fmt: skip


def _forecast(
    state: ClusterState,
    job: int,
    shown: int,
    started: Sequence[Started],
    parts: tuple[float, ...],
    compared: tuple[Sooner, ...],
    factors: Float64 | None,
    *,
    is_sampled: bool,
) -> StartForecast:
    found = [each for each in started if each.start_us >= 0]
    counts = Counter(server for each in found for server in each.servers).most_common()
    counts.sort(key=lambda entry: (-entry[1], entry[0]))
    named, held = state.servers, holds_of(state.jobs)
    return StartForecast(
        job=shown,
        id=state.jobs.id[job],
        now_s=state.now_s,
        start_s=np.sort(_seconds(started)),
        quantiles=parts,
        num_servers=np.array([len(each.servers) for each in found], np.int64),
        servers=np.array([server for server, _ in counts], np.int64),
        share=np.array([count / len(found) for _, count in counts], np.float64),
        alternatives=compared,
        is_sampled=is_sampled,
        factors=factors,
        server_names=tuple(named[server].name for server, _ in counts) if named else (),
        share_hit=sum(each.is_hit for each in found) / max(1, len(found)),
        notes=() if held is None else held.remarks,
    )


def _parts(
    quantiles: Sequence[float] | None, calibration: StartCalibration | None
) -> tuple[float, ...]:
    known = QUANTILES if calibration is None else calibration.quantiles
    parts = tuple(float(part) for part in (known if quantiles is None else quantiles))
    if calibration is not None and parts != known:
        raise ValueError(f"quantiles: {parts} must be those of the calibration, {known}")
    if not parts:
        raise ValueError("quantiles: at least one is needed")
    for part in parts:
        if not 0 < part <= 1:
            raise ValueError(f"quantiles: {part} must be above 0 and at most 1")
    return parts


def _named(chosen: Chosen) -> Chosen:
    if not isinstance(chosen.native, str):
        raise TypeError(f"{chosen.label}: Python objects cannot run in several threads")
    return chosen


def _seconds(started: Sequence[Started]) -> Float64:
    start_us = np.array([each.start_us for each in started], np.float64)
    found: Float64 = np.where(start_us < 0, np.inf, start_us / US_PER_S)
    return found


def _compared(what: str, base: Sequence[Started], other: Sequence[Started], now_s: float) -> Sooner:
    before, after = _seconds(base[: len(other)]), _seconds(other)
    was, is_now = (float(nearest_rank(np.sort(each), (0.5,))[0]) for each in (before, after))
    sooner = was - is_now if np.isfinite(was) and np.isfinite(is_now) else float("nan")
    return Sooner(what, is_now, sooner, float((after < before).mean()))


def calibrate_starts(
    trace: Trace,
    cluster: Cluster,
    policy: str = POLICY,
    *,
    weeks: float = 4.0,
    questions: int = 200,
    samples: int = 200,
    seed: int = 0,
) -> StartCalibration:
    """Forecast starts in the last weeks of a trace, and compare with its simulation.

    Parameters
    ----------
    trace, cluster, policy
        What is simulated.
    weeks
        Length of the part in which forecasts are made.
    questions, samples
        Random times at which one waiting job is asked about, and samples of each forecast.
    seed
        Seed for the times, the jobs and the forecasts.

    Returns
    -------
    StartCalibration
        The forecasts, and how long the jobs waited.

    Raises
    ------
    ValueError
        If no job waits at any of the instants, or as :func:`gpusched.online.when`.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(2, 8)
    >>> log = gs.generate("philly", 200, load=1.3, cluster=cluster, seed=1)
    >>> record = gs.online.calibrate_starts(log, cluster, questions=9, samples=5)
    >>> 0 <= record.share_within <= 1
    True
    """
    draw = generator(seed)
    end_s = float(trace.submit_s[-1])
    at_s = np.sort(draw.uniform(max(0.0, end_s - weeks * 7 * 86_400.0), end_s, questions))
    with unwarned():
        start_us = np.asarray(simulate(trace, cluster, policy=policy).schedule.start_us)
        run = Simulation(trace, cluster, policy=policy)
        asked: list[float] = []
        waits: list[float] = []
        forecasts: list[Float64] = []
        for number, time_s in enumerate(at_s.tolist()):
            run.run_until(max(time_s, run.now))
            waiting = run.state.waiting
            if not len(waiting):
                continue
            job = int(draw.choice(waiting))
            found = when(job, run, samples=samples, alternatives=False, seed=seed + number)
            asked.append(run.now)
            waits.append(start_us[job] / US_PER_S - run.now if start_us[job] >= 0 else np.inf)
            forecasts.append(found.quantile_s - run.now)
    if not waits:
        raise ValueError(f"{trace.name}: no job waits under {policy}; use fewer servers")
    return StartCalibration(QUANTILES, np.array(asked), np.array(waits), np.stack(forecasts))
