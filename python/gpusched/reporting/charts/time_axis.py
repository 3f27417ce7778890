"""Time axes: since the first submission, in a readable unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.libraries import altair as alt
from gpusched.base.memo import Memo
from gpusched.base.ticks import us_to_seconds
from gpusched.base.wording import scale_of

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

_UNITS: Final = {"d": "days", "h": "hours", "min": "minutes", "s": "seconds"}


@dataclass(frozen=True)
class TimeAxis:
    """Seconds as positions on an axis.

    ``origin_s``: the first submission.
    ``unit_s``, ``unit``: the length and name of the axis's unit.
    """

    origin_s: float
    unit_s: float
    unit: str

    @classmethod
    def of(cls, comparison: Comparison, end_s: float) -> TimeAxis:
        """Return the axis with the most readable unit for times until ``end_s``."""
        origin_s = first_submit_s(comparison)
        unit_s, unit = scale_of("time", [max(end_s - origin_s, 1.0)])
        return cls(origin_s, unit_s, _UNITS[unit])

    def x(self, column: str, begin_s: float, end_s: float) -> alt.X:
        """The axis of a column of such positions, between two times since the origin in seconds."""
        ends = [begin_s / self.unit_s, max(end_s, begin_s + 1e-6) / self.unit_s]
        return alt.X(
            f"{column}:Q", title=f"{self.unit} since the first submission",
            scale=alt.Scale(domain=ends, nice=False, clamp=True),
        )  # fmt: skip


def first_submit_s(comparison: Comparison) -> float:
    """Time of the first submission; 0 without jobs."""
    submit_us = comparison.trace.submit_us
    return us_to_seconds(int(submit_us[0])) if len(submit_us) else 0.0


def end_of_most(comparison: Comparison) -> float:
    """Time when 99% of the jobs have finished under every policy: a few may run much longer."""
    ends = [_ends.of(result, None, partial(_end, result)) for result in comparison.results.values()]
    return max([first_submit_s(comparison), *ends])


def _end(result: Result) -> float:
    finish_s = result.jobs.finish_s[result.jobs.is_finished]
    return float(np.quantile(finish_s, 0.99)) if len(finish_s) else -math.inf


# Several charts of a page share this end.
_ends: Memo[Result, float] = Memo(1)
