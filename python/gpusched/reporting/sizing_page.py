"""The page of a sizing and its charts: metric by servers, mixes of types, confidence."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.libraries import altair as alt
from gpusched.base.replacing import write_text
from gpusched.base.wording import written
from gpusched.reporting.drawing import style
from gpusched.reporting.page import figure_html, render
from gpusched.reporting.tables import figure, grid, heading, items, paragraphs, row
from gpusched.results.metric_registry import METRICS, Metric

if TYPE_CHECKING:
    from gpusched.studies.sizing import Goal, SizeConfidence, Sizing, SizingRun

_HEADINGS: Final = {
    "gpus": "GPUs", "jobs_without": "jobs not run", "is_met": "goal met", "wall_s": "wall time",
    "hourly_price": "price per hour",
}  # fmt: skip


def write_sizing(
    sizing: Sizing,
    path: str | os.PathLike[str],
    assumptions: Sequence[str] = (),
) -> None:
    """Write a sizing as one HTML file that needs no network.

    It has the answer, each metric against the servers with its goal, for two types the mixes that
    were run, the confidence of the answer, and all runs.

    Parameters
    ----------
    assumptions
        Choices made for the user, shown with the answer.

    Returns
    -------
    None
        The page is in the file.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> found = gs.size(trace, "p95_wait_s < 10 min", resamples=0)
    >>> gs.reporting.write_sizing(found, "size.html")
    """
    write_text(path, render_sizing(sizing, assumptions))


def render_sizing(sizing: Sizing, assumptions: Sequence[str] = ()) -> str:
    """Return the page that :func:`write_sizing` writes."""
    trace = sizing.trace
    answer = str(sizing)
    pictures = "".join(map(figure_html, charts_of(sizing)))
    return render(
        "answer.html.j2",
        title="servers needed",
        heading=answer[0].upper() + answer[1:],
        caption=paragraphs(
            [f"{trace.name}: {len(trace):,} jobs, {trace.source}", *assumptions], "caption"
        ),
        body=f'{items(sizing.notes())}<div class="figures">{pictures}</div>'
        f"<h2>Runs</h2>{runs_table(sizing)}",
    )


def charts_of(sizing: Sizing) -> Iterator[Any]:
    """Yield the charts of a sizing."""
    if len(sizing.kinds.types) == 2:
        yield mixes_of_two(sizing)
    for goal in sizing.goals.goals:
        yield metric_by_servers(sizing, goal)
    sure, servers = sizing.confidence, sizing.servers
    if sure is not None and servers is not None and (sure.servers >= 0).any():
        yield enough_by_servers(sure, servers)


def metric_by_servers(sizing: Sizing, goal: Goal) -> Any:
    """Draw a metric of all runs against their servers (for mixes: their GPUs), and its goal."""
    metric, is_mix = METRICS.find(goal.metric), len(sizing.kinds.types) > 1
    runs = sorted(sizing.runs, key=lambda run: _size(sizing, run))
    values = [run.values[goal.metric] for run in runs]
    floor = _floor(metric, values, goal.bound)
    rows = [
        _row(sizing, run) | {
            "x": _size(sizing, run), "y": value if floor is None else max(value, floor),
            "text": cell_text(goal.metric, value),
        }
        for run, value in zip(runs, values, strict=True)
        if not math.isnan(value)
    ]  # fmt: skip
    known = [goal.bound, *(each["y"] for each in rows)]
    y_axis = _upright(metric, known, floor)
    name = "GPUs" if is_mix else f"servers of {sizing.kinds.gpus[0]} GPUs"
    scale = alt.Scale(domain=_near_the_answer(sizing, [each["x"] for each in rows]), nice=False)
    whole = alt.Axis(format=",d", tickMinStep=1)
    base = alt.Chart().encode(
        x=alt.X("x:Q", title=name, scale=scale, axis=whole), y=alt.Y("y:Q", **y_axis)
    )
    bound = alt.Chart(alt.InlineData(values=[{"y": goal.bound, "text": str(goal)}]))
    # On the left are the smallest clusters, far from the goal: there is room on its other side.
    below = goal.operator in "<="
    layers = [
        bound.mark_rule(style="limit").encode(y=alt.Y("y:Q")),
        bound.mark_text(
            align="left", baseline="top" if below else "bottom", dx=4, dy=4 if below else -4
        ).encode(x=alt.value(0), y=alt.Y("y:Q"), text=alt.Text("text:N")),
        _points(base),
    ]
    if not is_mix:
        layers.insert(0, base.mark_line(style="limit", strokeDash=[1, 0], clip=True))
    return style.picture(
        alt.layer(*layers, data=alt.InlineData(values=rows), width=style.WIDTH, height=300),
        goal.metric,
        f"{metric.label} by {'GPUs' if is_mix else 'servers'}",
        f"Each run against its size; the dashed line is the goal, {goal}.",
        [f"{each['counts']}: {each['text']}, {each['outcome']}" for each in rows],
    )


def mixes_of_two(sizing: Sizing) -> Any:
    """Draw which counts of two types met the goals, and the line of equal price."""
    rows = [
        _row(sizing, run) | {"x": run.counts[0], "y": run.counts[1], "text": "-"}
        for run in sizing.runs
    ]
    ends = [max(each[side] for each in rows) + 1.0 for side in "xy"]
    layers = []
    if sizing.counts is not None:
        weights = sizing.kinds.weights
        total = sum(w * n for w, n in zip(weights, sizing.counts, strict=True))
        ends = [1.5 * total / weight + 1 for weight in weights]
        dear = [{"x": 0, "y": total / weights[1]}, {"x": total / weights[0], "y": 0}]
        line = alt.Chart(alt.InlineData(values=dear)).mark_line(style="limit")
        layers.append(line.encode(x=alt.X("x:Q"), y=alt.Y("y:Q")))
    axes: list[Any] = [
        channel(
            f"{side}:Q",
            title=f"{kind} servers",
            axis=alt.Axis(format="d", tickMinStep=1),
            scale=alt.Scale(domain=[-0.5, end], nice=False),
        )
        for channel, side, kind, end in zip(
            (alt.X, alt.Y), "xy", sizing.kinds.types, ends, strict=True
        )
    ]
    layers.append(_points(alt.Chart().encode(x=axes[0], y=axes[1])))
    return style.picture(
        alt.layer(*layers, data=alt.InlineData(values=rows), width=style.WIDTH, height=340),
        "mixes",
        "Mixes that were run",
        "Which counts of the two types met the goals. The dashed line marks the answer's price.",
        [f"{each['counts']}: {each['outcome']}" for each in rows],
    )


def enough_by_servers(sure: SizeConfidence, servers: int) -> Any:
    """Draw the share of resamples for which a number of servers suffices."""
    needed = sorted({int(count) for count in sure.servers if count >= 0})
    rows = [{"x": x, "share": sure.share_with(x)} for x in (needed[0] - 1, *needed)]
    upright = alt.Y("share:Q", title="share of the resamples", axis=alt.Axis(format="%"),
                    scale=alt.Scale(domain=[0, 1]))  # fmt: skip
    across = alt.X("x:Q", title="servers", scale=alt.Scale(zero=False),
                   axis=alt.Axis(format=",d", tickMinStep=1))  # fmt: skip
    one = alt.Chart(
        alt.InlineData(values=[{"x": servers, "text": f"the trace itself: {servers}"}])
    ).encode(x=alt.X("x:Q"))
    layers = [
        one.mark_rule(style="limit"),
        one.mark_text(align="left", dx=4).encode(y=alt.value(20), text=alt.Text("text:N")),
        alt.Chart().mark_line(interpolate="step-after", point=True).encode(
            x=across, y=upright,
            tooltip=[alt.Tooltip("x:Q", title="servers"), alt.Tooltip("share:Q", format=".0%")],
        ),
    ]  # fmt: skip
    return style.picture(
        alt.layer(*layers, data=alt.InlineData(values=rows), width=style.WIDTH, height=300),
        "enough",
        f"Servers needed in {len(sure.meets):,} bootstrap resamples",
        "The share of the resamples for which a number of servers suffices.",
        [f"{each['x']} servers: {each['share']:.0%}" for each in rows],
    )


def _row(sizing: Sizing, run: SizingRun) -> dict[str, Any]:
    is_answer = run.counts == sizing.counts
    met = "goal met" if run.is_met else "goal missed"
    return {"counts": _counts(sizing, run), "outcome": "answer" if is_answer else met}


def _points(base: alt.Chart) -> Any:
    """Return the runs: the answer, those that missed the goals, and those that met them."""
    names = ["goal met", "goal missed", "answer"]
    legend = alt.Legend(title=None)
    return base.mark_point(filled=True, opacity=1, clip=True).encode(
        color=alt.Color("outcome:N", scale=alt.Scale(domain=names), legend=legend),
        shape=alt.Shape(
            "outcome:N", scale=alt.Scale(domain=names, range=["circle", "cross", "diamond"]),
            legend=legend,
        ),
        size=alt.condition("datum.outcome === 'answer'", alt.value(220), alt.value(70)),
        tooltip=[alt.Tooltip("counts:N", title="of"), alt.Tooltip("text:N", title="is"),
                 alt.Tooltip("outcome:N")],
    )  # fmt: skip


def _size(sizing: Sizing, run: SizingRun) -> int:
    if len(run.counts) == 1:
        return run.counts[0]
    return sum(n * g for n, g in zip(run.counts, sizing.kinds.gpus, strict=True))


def _counts(sizing: Sizing, run: SizingRun) -> str:
    if len(run.counts) == 1:
        return f"{run.counts[0]:,} servers"
    pairs = zip(run.counts, sizing.kinds.types, strict=True)
    return " + ".join(f"{count:,} {kind}" for count, kind in pairs)


def _near_the_answer(sizing: Sizing, x: Sequence[int]) -> list[float]:
    """Return the ends of the axis, without the largest size, which is far off."""
    near = x
    if sizing.counts is not None:
        answer = _size(sizing, next(run for run in sizing.runs if run.counts == sizing.counts))
        near = [value for value in x if value <= 1.5 * answer + 2]
    if not near:
        return [0.0, 1.0]
    margin = max(1.0, 0.04 * (max(near) - min(near)))
    return [min(near) - margin, max(near) + margin]


def _floor(metric: Metric, values: Sequence[float], bound: float) -> float | None:
    """Return where zero is drawn on the logarithmic axis of a time; None on a linear axis."""
    if metric.unit != "s" or bound <= 0:
        return None
    return 10.0 ** math.floor(math.log10(min([bound, *(v for v in values if v > 0)]) / 3))


def _upright(metric: Metric, values: Sequence[float], floor: float | None) -> dict[str, Any]:
    if floor is None:
        axis = alt.Axis(format=".3~p" if metric.kind == "percent" else ",.4~g")
        return {"title": metric.label, "axis": axis, "scale": alt.Scale(zero=False)}
    made = style.duration_scale(floor / 1.2, max(values) * 2, title=f"{metric.label} (log scale)")
    axis = made["axis"]
    ticks = axis.to_dict().get("values")
    axis["labelExpr"] = f"datum.value <= {floor} ? '0' : {axis['labelExpr']}"
    if ticks is not None:
        axis["values"] = [floor, *(tick for tick in ticks if tick > 1.5 * floor)]
    return made


def runs_table(sizing: Sizing) -> str:
    """Return the runs as an HTML table, the answer marked."""
    frame, kinds = sizing.table().drop("wall_s"), sizing.kinds.types
    rows = []
    for run in frame.iter_rows(named=True):
        counts = [run[name] for name in (kinds if len(kinds) > 1 else ["servers"])]
        is_answer = sizing.counts is not None and counts == list(sizing.counts)
        first, *others = (cell_text(name, run[name]) for name in frame.columns)
        rows.append(row(escape(first), map(figure, others), " class=answer" if is_answer else ""))
    headings = [heading(heading_of(name)) for name in frame.columns]
    return grid("runs", headings, rows)


def heading_of(column: str) -> str:
    """Format the name of a column of the runs."""
    if column in METRICS.own():
        return METRICS.find(column).label
    return _HEADINGS.get(column, column.replace("_", " "))


def cell_text(column: str, value: Any) -> str:
    """Format one cell of the runs."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if column == "hourly_price":
        return f"{value:,.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    return written(value, METRICS.find(column).kind)
