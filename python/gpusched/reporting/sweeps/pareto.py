"""Two metrics of each policy against each other, and the front of those that none beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.reporting.charts.chart import Axis, Estimates, Front
from gpusched.reporting.drawing.drawn import Library, drawn
from gpusched.reporting.sweeps.measures import Measure, measure
from gpusched.reporting.sweeps.settled import Settled, settled, unit_of
from gpusched.reporting.sweeps.study_runs import Where

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.sweep_result import SweepResult


def pareto(
    source: SweepResult | pl.DataFrame,
    x: str = "mean_jct_s",
    y: str = "p99_jct_s",
    *,
    where: Where | None = None,
    level: float = 0.95,
    library: Library = "plotly",
) -> Any:
    """Draw two metrics of each policy, with intervals, and their Pareto front.

    A policy is on the front if no other is at least as good in both metrics and better in one.
    Which way is better is said by the metrics; of one for which it is not known, less is.

    Parameters
    ----------
    x, y
        Columns of numbers of the runs. The other parameters: as :func:`lines`.

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ImportError, TypeError, ValueError
        As :func:`lines`.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "sjf"] * 2, "seed": [1, 1, 2, 2],
    ...     "mean_jct_s": [60.0, 50, 70, 55], "p99_jct_s": [90.0, 650, 95, 700],
    ... })
    >>> figure = gs.plot.pareto(runs)
    """
    study = settled(source, [], where, level=level)
    return drawn(chart(study, x, y), library)


def chart(study: Settled, x: str, y: str) -> Front:
    """Return a point for each policy, and the front."""
    of_x, of_y = measure(x), measure(y)
    across, up = study.cells(x, []), study.cells(y, [])
    x_scale, x_title = unit_of(of_x, across, "typical")
    y_scale, y_title = unit_of(of_y, up, "typical")
    by_policy = {cell.policy: cell.typical for cell in up.cells}
    pairs = [
        (cell.policy, cell.typical, by_policy[cell.policy])
        for cell in across.cells
        if cell.typical.is_known and cell.policy in by_policy and by_policy[cell.policy].is_known
    ]
    values = [(first.value, second.value) for _, first, second in pairs]
    front = front_of(values, of_x, of_y)
    points = tuple(
        Estimates(
            study.places[policy],
            study.names[policy],
            np.array([first.value / x_scale]),
            np.array([second.value / y_scale]),
            np.array([second.low / y_scale]),
            np.array([second.high / y_scale]),
            f"{study.names[policy]}: {of_x.label} {of_x.text(first.value)}, "
            f"{of_y.label} {of_y.text(second.value)}"
            + (", on the front" if index in front else ""),
        )
        for index, (policy, first, second) in enumerate(pairs)
    )
    return Front(
        "pareto",
        f"{of_y.label} against {of_x.label}",
        f"Typical runs; the dashed line joins the policies that none beats in both. {study.note}",
        Axis(x_title),
        y=Axis(y_title),
        points=points,
        x_low=np.array([first.low for _, first, _ in pairs]) / x_scale,
        x_high=np.array([first.high for _, first, _ in pairs]) / x_scale,
        front=front,
    )


def front_of(
    values: Sequence[tuple[float, float]], of_x: Measure, of_y: Measure
) -> tuple[int, ...]:
    """Return the indices of the pairs that no other beats, from the left."""
    signs = [-1.0 if of.better == "higher" else 1.0 for of in (of_x, of_y)]
    costs = [(x * signs[0], y * signs[1]) for x, y in values]
    best = [
        index
        for index, (x, y) in enumerate(costs)
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in costs)
    ]
    return tuple(sorted(best, key=lambda index: values[index]))
