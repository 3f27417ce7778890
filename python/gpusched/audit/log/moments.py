"""The instants of a log, numbered, and how many run between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched.audit.log.pairs import sorted_pairs
from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.memo import kept


@dataclass
class Moments:
    """The instants at which a job came, got GPUs or gave them back.

    Attributes
    ----------
    submit_us, is_late
        Of each job, and whether it starts at another instant.
    start_us, end_us
        Of each interval.
    """

    submit_us: Int64
    is_late: Bool
    start_us: Int64
    end_us: Int64

    @kept
    def _changes(self) -> tuple[Int64, Int64]:
        """When something happens, ascending, and how many jobs more run; first those that end."""
        came_us = self.submit_us[self.is_late]
        num_late, num_intervals = len(came_us), len(self.start_us)
        more = np.zeros(num_late + 2 * num_intervals, np.int8)
        more[num_late:] = 1
        more[num_late + num_intervals :] = -1
        return sorted_pairs(np.concatenate((came_us, self.start_us, self.end_us)), more)

    @kept
    def _is_new(self) -> Bool:
        us, _ = self._changes
        is_new = np.ones(len(us), np.bool_)
        np.not_equal(us[1:], us[:-1], out=is_new[1:])
        return is_new

    @property
    def num_instants(self) -> int:
        """How many instants there are."""
        us, _ = self._changes
        return min(len(us), 1) + int(np.count_nonzero(us[1:] != us[:-1]))

    @property
    def most_running(self) -> int:
        """The most jobs that hold GPUs at a time, between two instants."""
        _, more = self._changes
        return int(np.add.accumulate(more).max())

    @kept
    def us(self) -> Int64:
        """The instants in microseconds, ascending."""
        us, _ = self._changes
        return us[self._is_new]

    def of(self, times: AnyArray) -> Int64:
        """Return the numbers of instants."""
        return np.searchsorted(self.us, times).astype(np.int64, copy=False)

    def before(self, times: Int64) -> Int64:
        """Return the numbers of the instants at times from the first one on, or last before."""
        return np.searchsorted(self.us, times, side="right").astype(np.int64, copy=False) - 1

    def next_us(self, times: Int64) -> Int64:
        """Return the instants that follow on others, but the last."""
        return self.us[np.searchsorted(self.us, times, side="right")]

    @kept
    def ends(self) -> Int64:
        """The instant at which each interval ends."""
        return self.of(self.end_us)

    @kept
    def submits(self) -> Int64:
        """The instant at which each job of the trace comes."""
        return self.of(self.submit_us)
