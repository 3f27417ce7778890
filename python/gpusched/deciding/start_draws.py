"""What may come: how long jobs take and what is submitted, drawn from what is known of the past."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64, read_only
from gpusched.base.rejects import Rejects
from gpusched.base.ticks import US_PER_S, seconds_to_us
from gpusched.engine.open_run import known_us
from gpusched.traces.deadlines import NO_DEADLINE, shifted
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.deciding.cluster_state import ClusterState
    from gpusched.engine.open_run import Simulation


Numbers = TypeVar("Numbers", Int64, Float64)


def surviving(lasted: Numbers, is_over: Bool) -> tuple[Numbers, Float64]:
    """Return those that are over, ascending, and the share of all that last at most so long.

    The estimate of Kaplan and Meier (1958): what is not over lasts longer than it has so far. What
    has lasted the longest of all is taken to be over.
    """
    order = np.lexsort((~is_over, lasted))
    ended = is_over[order]
    ended[-1] = True
    left = np.arange(len(lasted), 0, -1)
    share: Float64 = 1.0 - np.cumprod(np.where(ended, 1.0 - 1.0 / left, 1.0), dtype=np.float64)
    return lasted[order][ended], share[ended]


LEAST: Final = 20
"""With fewer finished jobs nothing is drawn from them, but from a wider kind."""
_FINISHED: Final = 0


@dataclass(frozen=True, eq=False)
class KnownPast:
    """Jobs that were submitted before now, in the order of their submission.

    Attributes
    ----------
    jobs
        What was submitted.
    gpus, service_us, is_finished
        int32, int64 microseconds and bool, one per job: its width, how long it took, or has had so
        far if it is not done, and whether it is. Longer than ``jobs`` where jobs run besides.
    told_us
        int64, one per job: what was said of its run time before it ran; None: nothing.
    """

    jobs: Trace
    gpus: Int32
    service_us: Int64
    is_finished: Bool
    told_us: Int64 | None

    @classmethod
    def of_log(cls, finished: Trace, live: ClusterState) -> Self:
        """Return what a log tells, whose ``predicted_s``, if it has these, is what was said."""
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
        """Return what an open run tells; None while too few of its jobs have finished.

        Parameters
        ----------
        live, rows
            Its present state, and the rows in the run of the jobs of that.
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
"""Of a job whose run time was told, so many jobs count that were told the most alike."""
_TAIL: Final = 0.1
# Ten years: longer is as good as never.
_MOST_US: Final = 10 * 365 * 86_400 * US_PER_S


class _Kind(NamedTuple):
    """Services of finished jobs, ascending, and the share of jobs that take at most so long."""

    service_us: Int64
    share: Float64


class ServiceDraws:
    """Services of jobs that came before, from which those of others are drawn.

    A job that has had ``a`` seconds takes as long as one of the finished jobs of its kind that took
    more than ``a``: conditional on the service so far. Jobs that still run take longer than they
    have had, so that finished jobs alone are too short: they weigh what they do in the estimate of
    Kaplan and Meier (1958), the longest of all taken for finished. The kind of a job are the jobs
    of its width class (1, 2, 3 to 4, 5 to 8, ... GPUs); if fewer than
    :data:`~gpusched.deciding.start_draws.LEAST` of these took longer, jobs of all widths; and if
    fewer than that did, what is left follows a Pareto tail, whose exponent is Hill's estimate from
    the longest tenth.

    Alike jobs come in waves. What came before is cut into :data:`WAVES` parts, in order, and all
    jobs of sample ``s`` are drawn from part ``s`` modulo their number, where that has enough; so
    what is long in one sample is long for all.

    Where a run time is told of a job, and was of those before it, it takes that time by how wrong
    it was for one of the :data:`NEIGHBOURS` jobs that were told the most alike.
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
        """Return services: one for each of ``numbers``, uniform in 0 to 2**53 - 1.

        Parameters
        ----------
        numbers
            int64[samples], or int64[jobs, samples] for jobs that are alike.
        told_us
            What is said of its run time, None: nothing.
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
        """Return how long jobs take that were told alike; None if too few of them take longer."""
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
    """Draw of those that took longer; there are some."""
    first = int(np.searchsorted(kind.service_us, attained_us, side="right"))
    below = float(kind.share[first - 1]) if first else 0.0
    at = np.searchsorted(kind.share, below + uniform * (1.0 - below), side="right")
    found: Int64 = kind.service_us[np.minimum(at, len(kind.service_us) - 1)]
    return found


def width_classes(gpus: np.ndarray[tuple[int], np.dtype[np.int32]] | Int64) -> Int64:
    """Return the class of each width: 0 of 1 GPU, 1 of 2, 2 of 3 and 4, 3 of 5 to 8, and so on."""
    classes: Int64 = np.ceil(np.log2(gpus)).astype(np.int64)
    return classes


def _hill(services: Int64) -> float:
    """Return Hill's estimate of the tail's exponent (Hill, 1975), at least a half."""
    count = max(2, int(len(services) * _TAIL))
    top = np.log(services[-count:].astype(np.float64))
    mean = float((top - top[0]).mean())
    return max(0.5, 1.0 / mean) if mean > 0 else 10.0


RECENT_DAYS: Final = 28
"""Older submissions are not drawn from."""
_DAY_US: Final = 86_400 * US_PER_S


class ArrivalDraws:
    """The submissions of the last days, each sample of which begins at another one of them.

    A sample goes on from its day as the past did, to now, and then from the first of these days
    (the circular block bootstrap of Politis and Romano, 1992, whose block is the whole of it): busy
    days, and jobs that come together, stay together. Days begin at the hour of now, so that nights
    are nights. A past of less than two days is gone through from anywhere.

    Attributes
    ----------
    jobs
        The submissions, by their time; the service of those that are not done is drawn, once.
    told_us
        int64, one each: what a policy is told of its service.
    at_us
        int64, one each, ascending: when, counted from the first of the days.
    span_us
        How long all of it is.
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
        """Return where samples begin in the span, microseconds, by numbers from 0 to 2**53 - 1."""
        uniform = numbers * np.float64(2.0**-53)
        if self._starts:
            return (uniform * self._starts).astype(np.int64) * _DAY_US
        return (uniform * self.span_us).astype(np.int64)

    def until(self, begin_us: int, horizon_us: int) -> tuple[Int64, Int64]:
        """Return the rows of the next submissions, and after how many microseconds each comes."""
        first = int(np.searchsorted(self.at_us, begin_us))
        rounds = -(-(horizon_us + begin_us) // self.span_us)
        end = rounds * len(self.at_us)
        rows = np.arange(first, end) % len(self.at_us)
        whole = np.arange(first, end) // len(self.at_us)
        after_us = self.at_us[rows] + whole * self.span_us - begin_us
        count = int(np.searchsorted(after_us, horizon_us))
        return rows[:count], after_us[:count]

    def from_time(self, begin_us: int) -> Trace:
        """Return the jobs as if the first came then."""
        later_us = begin_us - int(self.jobs.submit_us[0])
        due_us = self.jobs.deadline_us
        return dataclasses.replace(
            self.jobs,
            submit_us=read_only(self.jobs.submit_us + later_us),
            deadline_us=None if due_us is None else read_only(shifted(due_us, later_us)),
        )

    def _services(
        self, past: KnownPast, rows: Int64, draws: ServiceDraws, generator: np.random.Generator
    ) -> Int64:
        """Return how long they take; of those that are not done, as it is drawn."""
        service_us = past.service_us[rows]
        numbers = generator.integers(0, 2**53, size=(len(rows), 1))
        for row in np.flatnonzero(~past.is_finished[rows]).tolist():
            told_us = None if past.told_us is None else int(past.told_us[rows[row]])
            gpus, had_us = int(past.gpus[rows[row]]), int(service_us[row])
            service_us[row] = draws.draw(gpus, had_us, numbers[row], told_us)[0]
        return service_us


def move_submissions(columns: dict[str, Any], first: int, to_us: Int64) -> None:
    """Move the jobs of a table from a row on to other times, and their deadlines with them."""
    submit_us = columns["submit_us"][first:]
    later_us = to_us - submit_us
    submit_us += later_us
    if "deadline_us" in columns:
        due_us = columns["deadline_us"][first:]
        due_us += np.where(due_us == NO_DEADLINE, 0, later_us)


def plain(jobs: Trace) -> Trace:
    """Return the jobs as a decision reads them: on no date, by position, without models."""
    positions = read_only(np.arange(len(jobs)))
    return dataclasses.replace(
        jobs, id=positions, row=positions, epoch=None, origin_s=0.0, rejects=Rejects(), notes=(),
        profile=None, profiles=(), graph=None, graphs=(),
    )  # fmt: skip
