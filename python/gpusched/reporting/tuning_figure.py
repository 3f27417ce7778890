"""The course of a search: what each trial achieved, the best so far, and the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.wording import scale_of, written
from gpusched.reporting.charts.chart import Axis, Estimates, Lines, Panel
from gpusched.reporting.drawing.drawn import Library, drawn
from gpusched.results.metric_registry import metrics

if TYPE_CHECKING:
    from gpusched.studies.tune import Tuning


def tuning(source: Tuning, *, library: Library = "plotly") -> Any:
    """Draw what each trial of a search achieved in the whole search window.

    Trials that were pruned or failed have no point.

    Parameters
    ----------
    source
        What :func:`gpusched.tune` returned.
    library
        ``"plotly"`` for notebooks and HTML, ``"matplotlib"`` for files (extra: plot).

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Without the library; the message says what to install.
    TypeError
        If the source is no search.
    ValueError
        If there is no such library.

    Examples
    --------
    >>> study = {
    ...     "name": "tuned", "seeds": [1, 2], "traces": [{"generate": "philly", "jobs": 90}],
    ...     "clusters": [{"servers": 2, "gpus": 8}],
    ... }
    >>> space = {"policy": "las", "period_s": {"low": 10, "high": 3600, "log": True}}
    >>> found = gs.tune(space, study, "mean_jct_s", trials=2, held_out=3)
    >>> figure = gs.plot.tuning(found)
    """
    from gpusched.studies.tune import Tuning

    if not isinstance(source, Tuning):
        raise TypeError(f"expected a Tuning, not {type(source).__name__}")
    return drawn(chart(source), library)


def chart(source: Tuning) -> Lines:
    """Return the points of all trials, the best so far and the baseline."""
    done = source.trials.drop_nulls("value")
    x = done["trial"].to_numpy().astype(np.float64)
    y = done["value"].to_numpy().astype(np.float64)
    metric = metrics()[source.metric]
    scale, unit = scale_of(metric.kind, [abs(value) for value in y.tolist()])

    def said(value: float) -> str:
        return written(value, metric.kind)

    last = float(len(source.trials) - 1)
    best = (np.minimum if source.better == "lower" else np.maximum).accumulate(y)
    until = np.append(x, last) if x[-1] < last else x
    so_far = np.append(best, best[-1]) if x[-1] < last else best
    curves = [_curve(0, "best so far", until, so_far / scale, f"best {said(best[-1])}")]
    base = source.default_value
    if base is not None:
        ends = np.array([0.0, max(last, 1.0)])
        level = np.full(2, base / scale)
        name = f"{source.baseline} (baseline)"
        curves.append(_curve(1, name, ends, level, f"baseline {said(base)}"))
    trials = _curve(2, "a trial", x, y / scale, "", is_joined=False)
    what = f"{metric.label}, {unit}" if unit else metric.label
    return Lines(
        "tuning",
        f"{metric.label} by trial",
        f"In the whole search window: {source.counts}. {metric.label}: {source.better} is better.",
        Axis("trial"),
        y=Axis(what),
        panels=(Panel("", (*curves, trials)),),
    )


def _curve(
    place: int, name: str, x: Float64, y: Float64, finding: str, *, is_joined: bool = True
) -> Estimates:
    none = np.full(len(x), np.nan)
    return Estimates(place, name, x, y, none, none, finding, is_joined)
