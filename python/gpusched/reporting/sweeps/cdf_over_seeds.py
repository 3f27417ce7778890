"""How a quantity is distributed over the jobs, with bands over the seeds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.wording import duration
from gpusched.reporting.charts.chart import Axis, Estimates, Lines, Panel
from gpusched.reporting.drawing.drawn import Library, drawn
from gpusched.reporting.sweeps.settled import Settled, Span, settled
from gpusched.reporting.sweeps.study_runs import Where, runs_of
from gpusched.results.result import Result
from gpusched.studies.hodges_lehmann import typical

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.sweep_result import SweepResult

Quantity = Literal["jct_s", "wait_s"]

_SHARES: Final = np.concatenate((np.linspace(0.01, 0.99, 99), [0.995, 0.999, 1.0]))
LEAST: Final = {"jct_s": 1e-6, "wait_s": 1.0}  # seconds that a logarithmic axis can show
WORDS: Final = {"jct_s": "JCT", "wait_s": "Wait"}


def cdf_over_seeds(
    source: SweepResult | pl.DataFrame | Mapping[str, Sequence[Result]],
    quantity: Quantity = "jct_s",
    *,
    where: Where | None = None,
    level: float = 0.95,
    library: Library = "plotly",
) -> Any:
    """Draw the distribution of a time over the jobs under each policy, with bands over the seeds.

    At each share of the jobs stands the time within which so many of them are done in a typical
    run, and the band is its interval. From results there are 102 shares; from the runs of a study
    those of which they have columns, such as ``p95_jct_s``.

    Parameters
    ----------
    source
        By policy its results, one for each seed; or a study, or its runs.
    quantity
        ``"jct_s"`` or ``"wait_s"``. Waits of less than 1 s are drawn at 1 s.
    where, level, library
        As :func:`lines`; ``where`` is for studies.

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ImportError, TypeError, ValueError
        As :func:`lines`.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(8, 8)
    >>> traces = [gs.generate("philly", 200, seed=seed) for seed in (1, 2, 3)]
    >>> results = {
    ...     policy: [gs.simulate(trace, cluster, policy=policy) for trace in traces]
    ...     for policy in ("fifo", "sjf")
    ... }
    >>> figure = gs.plot.cdf_over_seeds(results)
    """
    if quantity not in WORDS:
        raise ValueError(f"quantity: must be 'jct_s' or 'wait_s', not {quantity!r}")
    if isinstance(source, Mapping):
        if where is not None:
            raise ValueError("where: results have no axes; choose among them yourself")
        return drawn(chart_of_results(source, quantity, level), library)
    runs_of(source)
    study = settled(source, [], where, level=level)
    return drawn(chart_of_runs(study, quantity), library)


def chart_of_results(
    results: Mapping[str, Sequence[Result]], quantity: Quantity, level: float
) -> Lines:
    """Return the distributions of results by policy."""
    curves = []
    for place, (policy, own) in enumerate(results.items()):
        if not own or not all(isinstance(result, Result) for result in own):
            raise TypeError(f"{policy}: expected results, one for each seed, not {own!r:.80}")
        quantiles = [_quantiles(result, quantity) for result in own]
        values = np.array([found for found in quantiles if found is not None])
        if len(values):
            spans = [_over_seeds(np.maximum(row, LEAST[quantity]), level) for row in values.T]
            curves.append(_curve(place, policy, _SHARES, spans, quantity))
    seeds = max((len(own) for own in results.values()), default=0)
    return _chart(curves, quantity, f"{level:.0%} intervals over {seeds} seeds.")


def _quantiles(result: Result, quantity: Quantity) -> Float64 | None:
    values = getattr(result.jobs, quantity)
    values = values[np.isfinite(values)]
    return np.quantile(values, _SHARES, method="inverted_cdf") if len(values) else None


def chart_of_runs(study: Settled, quantity: Quantity) -> Lines:
    """Return the distributions by the quantiles that runs have as metrics."""
    shares = quantile_columns(study.runs.columns, quantity)
    if len(shares) < 2:
        raise ValueError(f"the runs have no quantiles such as 'p95_{quantity}'")
    cells = {
        key: {cell.policy: cell.typical for cell in study.cells(key, []).cells} for key in shares
    }
    at = np.array(list(shares.values()))
    curves = [
        _curve(
            study.places[policy],
            study.names[policy],
            at,
            [cells[key][policy] for key in shares],
            quantity,
        )
        for policy in study.policies
        if all(policy in cells[key] and cells[key][policy].is_known for key in shares)
    ]
    return _chart(curves, quantity, study.note)


def quantile_columns(columns: Sequence[str], quantity: str) -> dict[str, float]:
    """Return the columns that are quantiles of a quantity with their shares, ascending."""
    found = {}
    for name in columns:
        if match := re.fullmatch(rf"p(\d+)_{quantity}", name):
            found[name] = int(match[1]) / 10 ** len(match[1])
    if f"max_{quantity}" in columns:
        found[f"max_{quantity}"] = 1.0
    return dict(sorted(found.items(), key=lambda entry: entry[1]))


def _over_seeds(values: Float64, level: float) -> Span:
    found = typical(values, level=level)
    return Span(found.value, found.low, found.high)


def _curve(
    place: int, label: str, shares: Float64, spans: Sequence[Span], quantity: Quantity
) -> Estimates:
    least = LEAST[quantity]
    middle = np.maximum([span.value for span in spans], least)
    half, most = (duration(float(middle[np.searchsorted(shares, at)])) for at in (0.5, 0.95))
    return Estimates(
        place,
        label,
        middle,
        shares,
        np.maximum([span.low for span in spans], least),
        np.maximum([span.high for span in spans], least),
        f"{label}: half of the jobs within {half}, 95 % within {most}",
    )


def _chart(curves: Sequence[Estimates], quantity: Quantity, note: str) -> Lines:
    every = np.concatenate([curve.x for curve in curves] or [np.ones(1)])
    word = WORDS[quantity]
    name = word if word == "JCT" else word.lower()
    small = " Waits of less than 1 s are drawn at 1 s." if quantity == "wait_s" else ""
    return Lines(
        "cdf_over_seeds",
        f"{word}: share of the jobs",
        f"At each share the typical one of its quantiles over the seeds. {note}{small}",
        Axis(f"{name} (log scale)", "duration", (every.min() / 1.2, every.max() * 1.2)),
        y=Axis("share of the jobs", "share"),
        panels=(Panel("", tuple(curves)),),
        is_across=True,
    )
