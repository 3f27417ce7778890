"""The runs of a sizing: a metric by servers with its goal, mixes of two types, and how sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from gpusched.reporting.drawing import palette
from gpusched.reporting.drawing.plotly_figures import empty_figure
from gpusched.reporting.drawing.time_ticks import COARSE
from gpusched.results.metric_registry import METRICS, Metric
from gpusched.studies.sizing import Goal, SizeConfidence, Sizing, SizingRun

_MET: Final = palette.COLOURS[2]
_MISSED: Final = palette.COLOURS[1]
_LINE: Final = palette.MUTED


def metric_by_servers(sizing: Sizing, goal: Goal) -> go.Figure:
    """Draw a metric of all runs against their servers (of mixes: their GPUs), and its goal."""
    metric = METRICS.find(goal.metric)
    is_mix = len(sizing.kinds.types) > 1
    runs = sorted(sizing.runs, key=lambda run: _size(sizing, run))
    values = [run.values[goal.metric] for run in runs]
    shown, floor = _on_axis(metric, values, goal.bound)
    drawn = empty_figure(
        title=f"{metric.label} by {'GPUs' if is_mix else 'servers'}",
        x_title="GPUs" if is_mix else f"servers of {sizing.kinds.gpus[0]} GPUs",
        y_title=metric.label,
    )
    x = [_size(sizing, run) for run in runs]
    if not is_mix:
        drawn.add_scatter(
            x=x, y=shown, mode="lines", line={"color": palette.LINE, "width": 1}, showlegend=False,
            hoverinfo="skip",
        )  # fmt: skip
    for name, colour, symbol, chosen in _groups(sizing, runs):
        drawn.add_scatter(
            x=[x[i] for i in chosen],
            y=[shown[i] for i in chosen],
            customdata=[[_text(metric, values[i]), _counts(sizing, runs[i])] for i in chosen],
            name=name,
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 13 if symbol == "star" else 8},
            hovertemplate="%{customdata[1]}: %{customdata[0]}<extra></extra>",
        )
    bound = goal.bound
    drawn.add_hline(bound, line={"color": _LINE, "dash": "dash", "width": 1.4})
    # On the left are the smallest clusters: they are far beyond the goal, so there is room on its
    # other side. Annotations of a logarithmic axis stand at the logarithm.
    drawn.add_annotation(
        x=0, xref="paper", y=bound if floor is None else math.log10(bound), text=str(goal),
        showarrow=False, xanchor="left", yanchor="top" if goal.operator in "<=" else "bottom",
    )  # fmt: skip
    if floor is not None:
        _use_log_time_axis(drawn, floor, shown)
    drawn.update_layout(height=420, hovermode="closest")
    # The largest number that was tried is far off, and says little.
    drawn.update_xaxes(range=_near_the_answer(sizing, x))
    return drawn


def mixes_of_two(sizing: Sizing) -> go.Figure:
    """Draw which counts of two types met the goals, and the line of what costs as much."""
    first, second = sizing.kinds.types
    drawn = empty_figure(
        title="Mixes that were run", x_title=f"{first} servers", y_title=f"{second} servers"
    )
    runs = list(sizing.runs)
    for name, colour, symbol, chosen in _groups(sizing, runs):
        drawn.add_scatter(
            x=[runs[i].counts[0] for i in chosen],
            y=[runs[i].counts[1] for i in chosen],
            name=name,
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 13 if symbol == "star" else 8},
            hovertemplate=f"%{{x}} {first} + %{{y}} {second}<extra></extra>",
        )
    if sizing.counts is not None:
        weights = sizing.kinds.weights
        total = sum(w * n for w, n in zip(weights, sizing.counts, strict=True))
        drawn.add_scatter(
            x=[0, total / weights[0]], y=[total / weights[1], 0], mode="lines",
            name="as dear as the answer", line={"color": _LINE, "dash": "dash", "width": 1.4},
            hoverinfo="skip",
        )  # fmt: skip
        drawn.update_xaxes(range=[-0.5, 1.5 * total / weights[0] + 1])
        drawn.update_yaxes(range=[-0.5, 1.5 * total / weights[1] + 1])
    drawn.update_layout(height=460, hovermode="closest")
    return drawn


def enough_by_servers(sure: SizeConfidence, servers: int) -> go.Figure:
    """Draw for what share of the traces that were drawn again so many servers are enough."""
    needed = np.sort(sure.servers[sure.servers >= 0])
    x = np.concatenate([needed[:1] - 1, np.unique(needed)])
    drawn = empty_figure(
        title=f"Enough for how many of {len(sure.meets):,} traces of the same weeks",
        x_title="servers",
        y_title="share of the traces",
    )
    drawn.add_scatter(
        x=x, y=[sure.share_with(int(n)) for n in x], mode="lines", name="enough",
        line={"color": _MET, "shape": "hv", "width": 2},
        hovertemplate="%{x} servers: %{y:.0%}<extra></extra>", showlegend=False,
    )  # fmt: skip
    drawn.add_vline(servers, line={"color": _LINE, "dash": "dash", "width": 1.4},
                    annotation_text=f"the trace itself: {servers}")  # fmt: skip
    drawn.update_yaxes(tickformat=".0%", range=[0, 1.05])
    drawn.update_layout(height=420, hovermode="closest")
    return drawn


def _groups(sizing: Sizing, runs: Sequence[SizingRun]) -> list[tuple[str, str, str, list[int]]]:
    numbered = list(enumerate(runs))
    groups = [
        ("goal missed", _MISSED, "circle-open", [i for i, run in numbered if not run.is_met]),
        (
            "goal met",
            _MET,
            "circle",
            [i for i, run in numbered if run.is_met and run.counts != sizing.counts],
        ),
        ("answer", _MET, "star", [i for i, run in numbered if run.counts == sizing.counts]),
    ]
    return [group for group in groups if group[3]]


def _size(sizing: Sizing, run: SizingRun) -> int:
    if len(run.counts) == 1:
        return run.counts[0]
    return sum(n * g for n, g in zip(run.counts, sizing.kinds.gpus, strict=True))


def _counts(sizing: Sizing, run: SizingRun) -> str:
    if len(run.counts) == 1:
        return f"{run.counts[0]:,} servers"
    pairs = zip(run.counts, sizing.kinds.types, strict=True)
    return " + ".join(f"{count:,} {kind}" for count, kind in pairs)


def _near_the_answer(sizing: Sizing, x: Sequence[int]) -> list[float] | None:
    if sizing.counts is None:
        return None
    answer = _size(sizing, next(run for run in sizing.runs if run.counts == sizing.counts))
    near = [value for value in x if value <= 1.5 * answer + 2]
    margin = max(1.0, 0.04 * (max(near) - min(near)))
    return [min(near) - margin, max(near) + margin]


def _text(metric: Metric, value: float) -> str:
    from gpusched.base.wording import written

    return "undefined" if math.isnan(value) else written(value, metric.kind)


def _on_axis(
    metric: Metric, values: Sequence[float], bound: float
) -> tuple[list[float], float | None]:
    """Put times on a logarithmic axis, on which zero stands at a floor; the floor, if any."""
    if metric.unit != "s" or bound <= 0:
        return list(values), None
    least = min([bound, *(value for value in values if value > 0)])
    floor = 10 ** math.floor(math.log10(least / 3))
    return [max(value, floor) if not math.isnan(value) else value for value in values], floor


def _use_log_time_axis(drawn: Any, floor: float, values: Sequence[float]) -> None:
    ticks = {floor: "0"} | {t: name for t, name in COARSE.items() if t > 1.5 * floor}
    largest = max([2 * floor, *(value for value in values if not math.isnan(value))])
    drawn.update_yaxes(
        type="log",
        rangemode=None,
        tickvals=list(ticks),
        ticktext=list(ticks.values()),
        range=[math.log10(floor) - 0.1, math.log10(largest) + 0.3],
    )
