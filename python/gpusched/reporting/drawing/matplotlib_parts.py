"""What all figures of Matplotlib share: their size, axes, names and legends."""

from __future__ import annotations

from typing import Any, Final

from gpusched.reporting.charts.chart import Axis
from gpusched.reporting.drawing import palette
from gpusched.reporting.drawing.time_ticks import time_ticks

_WIDTH: Final = 8.0
DASHES: Final = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
MARKERS: Final = ("o", "D", "s", "X")


def text(label: str) -> str:
    """Return a name as Matplotlib takes it: between two dollars it reads formulas."""
    return label.replace("$", r"\$")


def new(height: float, rows: int = 1, columns: int = 1) -> tuple[Any, list[Any]]:
    """Return a figure of 8 inches by ``height``, and its panels, row by row."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(_WIDTH, height), layout="constrained")
    panels = made.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes in panels:
        axes.grid(color=palette.GRID, zorder=0)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(palette.LINE)
        axes.tick_params(colors=palette.INK, labelsize=9)
    return made, list(panels)


def set_axis(axes: Any, which: str, axis: Axis) -> None:
    """Give an axis (``x`` or ``y``) its title, scale, ticks and ends."""
    getattr(axes, f"set_{which}label")(text(axis.title), color=palette.INK, fontsize=10)
    side = getattr(axes, f"{which}axis")
    limits = axis.ends
    if axis.scale == "share":
        side.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        limits = (0.0, 1.02)
    if axis.scale in ("log", "duration"):
        getattr(axes, f"set_{which}scale")("log")
        side.set_minor_locator(_no_ticks())
    if axis.scale == "duration" and limits is not None:
        limits = (limits[0], max(limits[1], 2 * limits[0]))
        shown = time_ticks(*limits)
        side.set_ticks(list(shown), list(shown.values()))
    elif axis.scale != "share":
        side.set_major_formatter(lambda value, _: f"{value:,.6g}")
    if limits is not None:
        getattr(axes, f"set_{which}lim")(limits)


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def legend(made: Any, axes: Any) -> None:
    """Put the names of the curves of a panel below the figure."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        made.legend(handles, labels, loc="outside lower left", ncols=3, frameon=False, fontsize=9)
