"""Counts over time as step functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusched.audit.log.pairs import sorted_pairs
from gpusched.base.arrays import AnyArray, Int64

# Before and after all instants.
_LIMITS: Final = np.iinfo(np.int64)
_BEFORE, _AFTER = np.array([_LIMITS.min]), np.array([_LIMITS.max])


@dataclass(frozen=True)
class Steps:
    """A count: what it is behind each instant at which something happens to it.

    Attributes
    ----------
    before
        Until the first instant.
    us
        The instants in microseconds, ascending.
    value
        Behind each of them.
    """

    before: int
    us: Int64
    value: Int64

    @classmethod
    def of(cls, before: int, us: AnyArray, change: AnyArray) -> Steps:
        """Add changes up, which are in any order."""
        us, change = sorted_pairs(us, change)
        value = np.cumsum(change)
        value += before
        is_last = np.ones(len(us), np.bool_)  # of its instant
        np.not_equal(us[1:], us[:-1], out=is_last[:-1])
        return cls(before, us[is_last], value[is_last])

    def spans(self, least: int) -> tuple[Int64, Int64]:
        """Return the begins and the ends of the times in which it is ``least`` or more."""
        has = np.concatenate(([self.before >= least], self.value >= least))
        at = self.us[has[1:] != has[:-1]]
        at = np.concatenate((_BEFORE[: int(has[0])], at, _AFTER[: int(has[-1])]))
        bounds = at.reshape(-1, 2)
        return bounds[:, 0], bounds[:, 1]
