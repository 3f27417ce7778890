"""Who waits: the mean wait of each user under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched.reporting.charts.breakdowns import means
from gpusched.reporting.charts.chart import Dots
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def wait_by_user(source: Result | Comparison, *, library: Library = "plotly") -> Any:
    """Draw the mean wait of the finished jobs of each user, a dot per policy.

    The fifteen users who ask for most GPU time have a line each, all others share one.
    Parameters, returns and errors: as :func:`jct_cdf`; ValueError also if the trace has no users.
    """
    return drawn(chart(comparison_of(source)), library)


def chart(comparison: Comparison) -> Dots:
    """Mean wait of the finished jobs of each user."""
    return means(comparison, "user", "wait")
