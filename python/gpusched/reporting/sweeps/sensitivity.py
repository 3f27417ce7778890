"""How far each parameter of a study moves a metric: a tornado diagram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpusched.base.suggest import nearest
from gpusched.reporting.charts.chart import Axis, Swing, Tornado
from gpusched.reporting.drawing.drawn import Library, drawn
from gpusched.reporting.sweeps.measures import Measure, measure
from gpusched.reporting.sweeps.settled import Settled, settled
from gpusched.reporting.sweeps.study_runs import (
    Where,
    chosen_runs,
    name_of,
    runs_of,
    values_of,
    varying,
)

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.sweep_result import SweepResult


def sensitivity(
    source: SweepResult | pl.DataFrame,
    metric: str = "mean_jct_s",
    *,
    base: Mapping[str, Any] | None = None,
    parameters: Sequence[str] | None = None,
    where: Where | None = None,
    library: Library = "plotly",
) -> Any:
    """Draw how far each parameter moves a metric from its value at a base setting.

    One parameter is moved at a time, all others stay at the base; the widest bar is at the top.

    Parameters
    ----------
    base
        By parameter its value at the base; of those that are not named the first value is taken.
    parameters
        Axes, or ``"policy"``; None takes all in which the runs differ.
    metric, where, library
        As :func:`lines`.

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ImportError, TypeError, ValueError
        As :func:`lines`; ValueError, too, if no run is at the base.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["las"] * 6, "seed": [1, 2] * 3, "load": [0.7, 0.7, 0.9, 0.9, 0.7, 0.7],
    ...     "threshold": [1, 1, 1, 1, 2, 2], "mean_jct_s": [60.0, 62, 90, 95, 55, 59],
    ... })
    >>> figure = gs.plot.sensitivity(runs, base={"load": 0.7, "threshold": 1})
    """
    runs = chosen_runs(runs_of(source), where)
    differing = [*varying(runs), *(["policy"] if runs["policy"].n_unique() > 1 else [])]
    return drawn(chart(settled(source, differing, where), metric, base or {}, parameters), library)


def chart(
    study: Settled, metric: str, base: Mapping[str, Any], parameters: Sequence[str] | None
) -> Tornado:
    """Return the swing of each parameter about the base."""
    runs, of = study.runs, measure(metric)
    differing = [*varying(runs), *(["policy"] if runs["policy"].n_unique() > 1 else [])]
    for name in (*base, *(parameters or ())):
        if name not in differing:
            raise ValueError(f"the runs do not differ in {name!r}{nearest(name, differing)}")
    if not differing:
        raise ValueError("the runs differ in no parameter")
    at = {name: base.get(name, values_of(runs, name)[0]) for name in differing}
    axes = [name for name in differing if name != "policy"]
    cells = study.cells(metric, axes).cells
    values = {(cell.policy, *cell.setting): cell.typical.value for cell in cells}

    def value_at(setting: Mapping[str, Any]) -> float:
        policy = setting.get("policy", study.policies[0])
        return values.get((policy, *(setting[axis] for axis in axes)), math.nan)

    middle = value_at(at)
    if math.isnan(middle):
        raise ValueError(f"base: no run that did not fail is at {at}")
    scale, unit = of.unit_for([middle])
    swings = [
        _swing(of, scale, name, {v: value_at({**at, name: v}) for v in values_of(runs, name)})
        for name in parameters or differing
    ]
    swings.sort(key=lambda swing: -swing.width)
    setting = ", ".join(name_of(name, value) for name, value in at.items())
    return Tornado(
        "sensitivity",
        f"{of.label}: how far each parameter moves it",
        f"One at a time from {setting}, where it is {of.text(middle)}. Typical runs.",
        Axis(of.title(unit)),
        base=middle / scale,
        swings=tuple(swings),
    )


def _swing(of: Measure, scale: float, name: str, found: Mapping[Any, float]) -> Swing:
    known = {value: at for value, at in found.items() if math.isfinite(at)}
    low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    texts = [f"{of.text(known[value])} ({value})" for value in (low, high)]
    return Swing(name, known[low] / scale, known[high] / scale, texts[0], texts[1])
