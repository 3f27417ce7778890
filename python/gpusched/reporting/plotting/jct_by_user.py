"""Whose jobs take long: the mean JCT of each user under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched.reporting.charts.breakdowns import means
from gpusched.reporting.charts.chart import Dots
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def jct_by_user(source: Result | Comparison, *, library: Library = "plotly") -> Any:
    """Draw the mean JCT of the finished jobs of each user, a dot per policy.

    As :func:`wait_by_user` otherwise.
    """
    return drawn(chart(comparison_of(source)), library)


def chart(comparison: Comparison) -> Dots:
    """Mean JCT of the finished jobs of each user."""
    return means(comparison, "user", "jct")
