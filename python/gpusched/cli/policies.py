"""``gpusched policies`` and ``gpusched metrics``: describe every registered name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from gpusched.base.suggest import nearest
from gpusched.base.tables import Cell, Table, table, text_column
from gpusched.bounds.registry import Bound, known_bounds
from gpusched.cli.console import show_json, show_lines, show_table
from gpusched.cli.options import Shown, argument
from gpusched.plugins.info import APPROXIMATE, FLAGS, PluginInfo
from gpusched.plugins.registry import contentions, not_there, placements, speeds
from gpusched.plugins.registry import policies as known_policies
from gpusched.results.metric_registry import NEEDS, Metric
from gpusched.results.metric_registry import metrics as known_metrics

POLICIES_EPILOG: Final = """
[bold]Examples[/]

gpusched policies [dim]# all of them[/]

gpusched policies 2d-las [dim]# one, with its parameters[/]
"""
METRICS_EPILOG: Final = """
[bold]Examples[/]

gpusched metrics [dim]# all of them[/]

gpusched metrics gap [dim]# one[/]
"""


def policies(
    name: str | None = argument(
        "NAME",
        None,
        "Policy, placement, speed, contention or predictor to show in full.",
    ),
    *,
    shown: Shown,
) -> None:
    """List policies, placements, speeds, contentions and predictors."""
    from gpusched.prediction import predictors  # slow to import

    kinds = {
        "policy": known_policies(),
        "placement": placements(),
        "speed": speeds(),
        "contention": contentions(),
        "predictor": predictors(),
    }
    plugins = [plugin for known in kinds.values() for plugin in known.values()]
    if name is not None:
        chosen = [plugin for plugin in plugins if plugin.name == name]
        if not chosen:
            names = [plugin.name for plugin in plugins]
            raise not_there("name", name, names)
        plugins = chosen
    if shown.is_json:
        show_json({"plugins": [_plain(plugin) for plugin in plugins]})
    elif name is None:
        for kind, known in kinds.items():
            show_table(_overview(kind, known.values()), wrap=True)
        show_lines(["gpusched policies NAME shows defaults and ranges"], style="dim")
    else:
        for plugin in plugins:
            _show(plugin)


def _overview(kind: str, plugins: Iterable[PluginInfo]) -> Table:
    rows = []
    for plugin in plugins:
        names = ", ".join(parameter["name"] for parameter in plugin.parameters)
        about = f"alias of {plugin.alias_of}" if plugin.alias_of else names
        differs = f"{APPROXIMATE} {plugin.differs}" if plugin.differs else ""
        below = "\n".join(filter(None, (plugin.source, differs, about)))
        name = f"{plugin.name} {APPROXIMATE}" if differs else plugin.name
        rows.append((name, Cell(plugin.summary, detail=below)))
    first = text_column(kind, is_unbroken=True)
    return table("", [first, text_column("what it does, its source, its parameters")], rows)


def _show(plugin: PluginInfo) -> None:
    show_lines([plugin.name], style="bold")
    show_lines([plugin.summary])
    facts = {
        "kind": plugin.kind,
        "alias of": plugin.alias_of,
        "source": plugin.source,
        "differs": plugin.differs,
        "preempts": _preempts(plugin),
    }
    show_lines(f"{label}: {text}" for label, text in facts.items() if text)
    show_lines(f"{flag}: {FLAGS[flag]}" for flag in plugin.flags)
    if not plugin.parameters:
        show_lines(["no parameters"])
        return
    columns = (
        text_column("parameter", is_unbroken=True), text_column("default", is_unbroken=True),
        text_column("range"), text_column("what it sets", fills=True),
    )  # fmt: skip
    rows = [(p["name"], _written(p["default"]), _range(p), p["help"]) for p in plugin.parameters]
    show_table(table("", columns, rows), wrap=True)


def _preempts(plugin: PluginInfo) -> str:
    """Return when a policy preempts; empty if never, and for other plug-ins."""
    if plugin.preemption is None:
        return "at any instant" if plugin.is_policy else ""
    return "" if plugin.preemption.is_none else str(plugin.preemption).replace("`", "")


def _written(value: Any) -> str:
    """Write a default as a user would in ``name:key=value``."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "/".join(map(_written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _range(parameter: Mapping[str, Any]) -> str:
    if parameter["choices"]:
        return " | ".join(map(str, parameter["choices"]))
    kind, low, high = str(parameter["type"]), parameter["minimum"], parameter["maximum"]
    if parameter["least_positive"] is not None:
        kind, low = f"{kind} 0 |", parameter["least_positive"]
    if low is not None and high is not None:
        return f"{kind} {low:g}..{high:g}"
    if low is not None:
        return f"{kind} >= {low:g}"
    return kind if high is None else f"{kind} <= {high:g}"


def _plain(plugin: PluginInfo) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "kind": plugin.kind,
        "summary": plugin.summary,
        "source": plugin.source,
        "differs": plugin.differs,
        "preempts": _preempts(plugin),
        "alias_of": plugin.alias_of,
        "flags": list(plugin.flags),
        "parameters": [dict(parameter) for parameter in plugin.parameters],
    }


def metrics(
    name: str | None = argument("NAME", None, "Metric or bound to show."),
    *,
    shown: Shown,
) -> None:
    """List metrics and bounds with their definitions."""
    metrics, bounds = list(known_metrics().values()), list(known_bounds().values())
    if name is not None:
        names = [*(metric.key for metric in metrics), *(bound.name for bound in bounds)]
        if name not in names:
            raise ValueError(f"unknown metric or bound {name!r}{nearest(name, names)}")
        metrics = [metric for metric in metrics if metric.key == name]
        bounds = [bound for bound in bounds if bound.name == name]
    if shown.is_json:
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
