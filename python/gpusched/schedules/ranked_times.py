"""Times of jobs in ascending order: put in order once, asked for by many groupings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from gpusched import _core
from gpusched.base.arrays import Float64, Int32, Int64, UInt32
from gpusched.base.ticks import us_to_seconds

PERCENTILES: Final = (50, 90, 95, 99)


@dataclass(frozen=True, eq=False)
class RankedTimes:
    """One time of each job, ascending.

    Attributes
    ----------
    order, time_us
        The jobs, and their times, microseconds.
    """

    order: UInt32
    time_us: Int64

    @classmethod
    def of(cls, time_us: Int64) -> Self:
        """Put the times of all jobs in order."""
        order = _core.time_order(time_us)
        return cls(order, time_us[order])

    def of_groups(self, name: str, group: Int32, size: int) -> tuple[Int64, dict[str, Float64]]:
        """How many jobs each group has, and their mean and nearest-rank percentiles.

        These are in seconds, NaN of none.

        Parameters
        ----------
        name
            Of the time, as in ``mean_wait_s``.
        group
            The group of each job, -1 of those that do not count: int32.
        """
        count, mean_us, percentiles_us = _core.group_times(
            order=self.order, time_us=self.time_us, group=group, num_groups=size,
            percents=PERCENTILES,
        )  # fmt: skip
        columns = {f"mean_{name}_s": us_to_seconds(mean_us)}
        for percent, values_us in zip(PERCENTILES, percentiles_us, strict=True):
            values_s = us_to_seconds(values_us)
            values_s[values_us < 0] = np.nan
            columns[f"p{percent}_{name}_s"] = values_s
        return count, columns
