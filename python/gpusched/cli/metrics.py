"""``gpusched metrics``: what a result tells, and what bounds it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gpusched.base.suggest import nearest
from gpusched.base.tables import Cell, Table, table, text_column
from gpusched.bounds.registry import Bound, known_bounds
from gpusched.cli.console import show_json, show_lines, show_table
from gpusched.cli.options import JSON, argument
from gpusched.results.metric_registry import NEEDS, Metric
from gpusched.results.metric_registry import metrics as known_metrics

EPILOG: Final = """
[bold]Examples[/]

gpusched metrics [dim]# all of them[/]

gpusched metrics gap [dim]# one[/]
"""


def metrics(
    name: str | None = argument("NAME", None, "Show this metric or bound alone."),
    json: bool = JSON,
) -> None:
    """List the metrics of a result and the bounds behind its gaps, with their definitions."""
    metrics, bounds = list(known_metrics().values()), list(known_bounds().values())
    if name is not None:
        names = [*(metric.key for metric in metrics), *(bound.name for bound in bounds)]
        if name not in names:
            raise ValueError(f"unknown metric or bound {name!r}{nearest(name, names)}")
        metrics = [metric for metric in metrics if metric.key == name]
        bounds = [bound for bound in bounds if bound.name == name]
    if json:
        plain: dict[str, Any] = {"metrics": list(map(_plain_metric, metrics))}
        show_json(plain | {"bounds": list(map(_plain_bound, bounds))})
        return
    if metrics:
        show_table(_metrics(metrics), wrap=True)
    if bounds:
        show_table(_bounds(bounds), wrap=True)
    if name is None:
        show_lines(["docs/reference/metrics.md explains the symbols"], style="dim")


def _metrics(metrics: Iterable[Metric]) -> Table:
    rows = []
    for metric in metrics:
        needs = "; ".join(NEEDS[need] for need in metric.needs)
        only = f"where {needs}" if needs else ""
        below = "\n".join(filter(None, (metric.definition, metric.source, only)))
        rows.append((metric.key, metric.unit, metric.better, Cell(metric.summary, detail=below)))
    names = ("unit", "better", "what it is, its definition")
    return table("", [text_column("metric", is_unbroken=True), *map(text_column, names)], rows)


def _bounds(bounds: Iterable[Bound]) -> Table:
    rows = [
        (
            bound.name,
            f"{bound.quantity}, {bound.side}",
            Cell(bound.summary, detail=f"{bound.assumptions}\n{bound.source}"),
        )
        for bound in bounds
    ]
    names = ("of", "what it is, its assumptions, its source")
    return table("", [text_column("bound", is_unbroken=True), *map(text_column, names)], rows)


def _plain_metric(metric: Metric) -> dict[str, Any]:
    fields = ("key", "unit", "better", "summary", "definition", "source", "is_default",
              "window")  # fmt: skip
    return {name: getattr(metric, name) for name in fields} | {"needs": list(metric.needs)}


def _plain_bound(bound: Bound) -> dict[str, Any]:
    fields = ("name", "quantity", "side", "summary", "assumptions", "source")
    return {name: getattr(bound, name) for name in fields}
