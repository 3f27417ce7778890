"""What the figures have in common: colours, axes and legend."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from gpusched.base.arrays import AnyArray
from gpusched.reporting.notes import policy_name
from gpusched.results.result import Result

# Okabe and Ito (2008): told apart by colour-blind readers as well. Dashes take over from there.
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DASHES: Final = ("solid", "dash", "dot", "dashdot")
_GRID: Final = "#e3e6ea"
_LINE: Final = "#9aa3ad"
_TIME_TICKS: Final = {
    1e-3: "1 ms", 1e-2: "10 ms", 1e-1: "0.1 s", 1.0: "1 s", 10.0: "10 s", 60.0: "1 min",
    600.0: "10 min", 3600.0: "1 h", 21_600.0: "6 h", 86_400.0: "1 d", 864_000.0: "10 d",
    8_640_000.0: "100 d", 86_400_000.0: "1,000 d",
}  # fmt: skip


def figure(*, title: str, x_title: str, y_title: str) -> go.Figure:
    """Return an empty figure in the common style."""
    axis = {"gridcolor": _GRID, "linecolor": _LINE, "tickcolor": _LINE, "ticks": "outside",
            "zeroline": False, "automargin": True}  # fmt: skip
    return go.Figure(
        layout={
            "template": "none",
            "title": {"text": title, "x": 0, "xref": "paper", "font": {"size": 16}},
            "font": {"family": "system-ui, sans-serif", "size": 13, "color": "#1f2933"},
            "xaxis": axis | {"title": {"text": x_title, "standoff": 8}},
            "yaxis": axis | {"title": {"text": y_title, "standoff": 8}, "rangemode": "tozero"},
            "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0, "xanchor": "left"},
            "margin": {"l": 56, "r": 16, "t": 44, "b": 44},
            "hovermode": "x unified",
            "showlegend": True,
            "separators": ".,",
        }
    )


def curve(index: int, label: str, result: Result, x: AnyArray, y: AnyArray, hover: str) -> Any:
    """Return the steps (x, y) of the ``index``-th policy: the same look in every figure.

    Parameters
    ----------
    hover
        Format of y under the pointer, e.g. ``"%{y:.1%}"``.
    """
    return go.Scatter(
        # The seven digits of a float32 are more than a screen shows, in half the bytes.
        x=x.astype(np.float32),
        y=y.astype(np.float32),
        name=policy_name(label, result),
        mode="lines",
        line={
            "color": _COLOURS[index % len(_COLOURS)],
            "dash": _DASHES[index // len(_COLOURS) % len(_DASHES)],
            "width": 1.6,
            "shape": "hv",
        },
        hovertemplate=hover,
    )


def use_log_time_axis(figure: go.Figure, least_s: float, largest_s: float) -> None:
    """Make the x axis logarithmic in seconds, with ticks that people use."""
    figure.update_xaxes(
        type="log",
        tickvals=list(_TIME_TICKS),
        ticktext=list(_TIME_TICKS.values()),
        range=[float(np.log10(least_s)), float(np.log10(max(largest_s, 2 * least_s)))],
    )


def fit_height(figure: go.Figure) -> None:
    """Make room for the legend below the axes, of about three curves in a line."""
    figure.update_layout(height=400 + 20 * math.ceil(len(figure.data) / 3))
