"""A chart of a result or of a comparison, drawn by the library that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from gpusched.results.result import Result

if TYPE_CHECKING:
    from gpusched.reporting.charts.chart import Chart
    from gpusched.studies.comparison import Comparison

Library = Literal["plotly", "matplotlib"]


def comparison_of(source: Result | Comparison) -> Comparison:
    """Return a comparison; of a single result one with itself alone.

    Raises
    ------
    TypeError
        If it is neither.
    """
    from gpusched.studies.comparison import Comparison

    if isinstance(source, Comparison):
        return source
    if isinstance(source, Result):
        return Comparison(source.trace, source.cluster, {source.spec.policy: source})
    raise TypeError(f"expected a Result or a Comparison, not {type(source).__name__}")


def drawn(chart: Chart, library: Library) -> Any:
    """Return the figure of a chart.

    Raises
    ------
    ImportError
        Without the library; the message says what to install.
    ValueError
        If there is no such library.
    """
    if library == "plotly":
        from gpusched.reporting.drawing import plotly_figures

        return plotly_figures.figure(chart)
    if library == "matplotlib":
        from gpusched.reporting.drawing import matplotlib_figures

        return matplotlib_figures.figure(chart)
    raise ValueError(f"library: must be 'plotly' or 'matplotlib', not {library!r}")
