"""Jobs that may still be submitted: those of the days before, once more."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Int64, read_only
from gpusched.base.rejects import Rejects
from gpusched.base.ticks import US_PER_S
from gpusched.deciding.known_past import KnownPast
from gpusched.deciding.service_draws import ServiceDraws
from gpusched.traces.deadlines import NO_DEADLINE, shifted
from gpusched.traces.workload import Trace

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
