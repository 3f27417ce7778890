"""What a trace says of its own schedule: when its jobs started, and what ran at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int64, freeze_columns
from gpusched.base.field_checks import not_negative
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.base.wording import plural
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.trace_facts import nearest_rank

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

MOST_CUT: Final = 0.1
"""The part of the submissions' span that is left out at each end at most, unless one says more."""

MIN_COMPARED: Final = 10


@dataclass(frozen=True, eq=False, repr=False)
class OwnStarts:
    """The starts that a trace has of its own.

    Attributes
    ----------
    trace
        Whose they are.
    is_known
        bool: which jobs have one.
    start_us
        int64 microseconds: the start of each of those, on the clock of ``submit_us``; -1 for the
        others.
    """

    trace: Trace
    is_known: Bool
    start_us: Int64

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)

    @cached_property
    def wait_us(self) -> Int64:
        """The waits, int64 microseconds; where there is none the value means nothing."""
        return self.start_us - self.trace.submit_us

    @cached_property
    def gpus(self) -> Float64:
        """GPUs of each job; of a job with a share, that share."""
        share = self.trace.share_milli
        gpus = self.trace.gpus.astype(np.float64)
        return gpus if share is None else gpus * (share / WHOLE_GPU)

    @cached_property
    def changes(self) -> tuple[Int64, Float64]:
        """When GPUs were taken and given back, and how many; ends first, then starts."""
        start_us = self.start_us[self.is_known]
        end_us = start_us + self.trace.service_us[self.is_known]
        gpus = self.gpus[self.is_known]
        return np.concatenate((end_us, start_us)), np.concatenate((-gpus, gpus))

    @cached_property
    def usage(self) -> tuple[Int64, Float64]:
        """The instants at which GPUs in use changed, and how many were in use from then on."""
        time_us, change = self.changes
        order = np.argsort(time_us, kind="stable")
        time_us, level = time_us[order], np.cumsum(change[order])
        last = np.append(time_us[1:] != time_us[:-1], True)
        return time_us[last], level[last]

    @cached_property
    def peak_gpus(self) -> int:
        """The most GPUs in use at once: no smaller cluster can have run these jobs.

        Jobs without a start of their own are not in it.
        """
        return math.ceil(round(float(self.usage[1].max()), 6))

    def window(self, warm_up_s: float | None = None, tail_s: float | None = None) -> Window:
        """Return the part of the trace in which jobs are compared.

        Parameters
        ----------
        warm_up_s
            How long after the first submission the first jobs to compare were submitted. None:
            until as many GPUs are in use in the trace as in its mean, as a log that begins on a
            busy cluster does not show what ran then.
        tail_s
            How long before the last submission the last ones were. None: as long as 95 % of the
            jobs waited, as jobs that the log does not have any more could have been in their way.

        Raises
        ------
        ValueError
            If a length is negative, or fewer than ten jobs are left.
        TypeError
            If it is no number.
        """
        submit_us = self.trace.submit_us
        first, last = int(submit_us[0]), int(submit_us[-1])
        most = int(MOST_CUT * (last - first))
        if warm_up_s is None:
            warm_up = min(self._filled_us() - first, most)
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
                f"{self.trace.name}: {plural(count, 'job')} with starts of their own submitted "
                f"between the warm-up ({warm_up / US_PER_S:,.0f} s) and the tail "
                f"({tail / US_PER_S:,.0f} s); at least {MIN_COMPARED} are needed"
            )
        return Window(begin, end, warm_up / US_PER_S, tail / US_PER_S, compared)

    def _filled_us(self) -> int:
        """The first instant at which as many GPUs are in use as on average over the arrivals."""
        submit_us, (time_us, level) = self.trace.submit_us, self.usage
        first, last = int(submit_us[0]), int(submit_us[-1])
        if first == last:
            return first
        length = np.diff(np.clip(np.append(time_us, last), first, last)).astype(np.float64)
        mean = float(np.dot(level, length)) / (last - first)
        return max(first, int(time_us[np.argmax(level >= min(mean, float(level.max())))]))


@dataclass(frozen=True, eq=False)
class Window:
    """The part of a trace in which jobs are compared.

    Attributes
    ----------
    begin_us, end_us
        The submissions that it holds, both included; GPUs in use are compared between them, too.
    warm_up_s, tail_s
        What is left out before and after, seconds.
    compared
        bool: the jobs in it that have a start of their own.
    """

    begin_us: int
    end_us: int
    warm_up_s: float
    tail_s: float
    compared: Bool


def has_starts(trace: Trace) -> bool:
    """Whether any job of the trace has a start of its own."""
    wait_us = trace.source_wait_us
    return wait_us is not None and bool((wait_us != NOT_GIVEN).any())


def own_starts(trace: Trace) -> OwnStarts:
    """Return the starts that a trace has of its own.

    Raises
    ------
    ValueError
        If it has none.
    """
    wait_us = trace.source_wait_us
    if wait_us is None or not has_starts(trace):
        raise ValueError(
            f"{trace.name}: the jobs have no starts of their own (source_wait_s), so nothing says "
            "what happened"
        )
    is_known = wait_us != NOT_GIVEN
    return OwnStarts(trace, is_known, np.where(is_known, trace.submit_us + wait_us, NOT_GIVEN))
