"""What the figures of all reproductions share (Matplotlib, extra: plot)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from gpusched.base.replacing import replacing
from gpusched.statistics.intervals import Interval

INK: Final = "#1f2933"
GRID: Final = "#e3e6ea"


def need_matplotlib() -> None:
    """Raise ImportError, which names the extra, if there is no Matplotlib."""
    figure_class()


def figure_class() -> Any:
    """Return Matplotlib's class of figures, which needs no screen."""
    try:
        return import_module("matplotlib.figure").Figure
    except ImportError:
        raise ImportError("figures: need Matplotlib: pip install 'gpusched[plot]'") from None


def prepare(axes: Any, title: str) -> None:
    """Name the vertical axis, and take away what is not needed."""
    axes.set_ylabel(title)
    axes.grid(axis="y", color=GRID, zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def error_bar(axes: Any, place: float, value: Interval, *, across: bool = False) -> None:
    """Draw the interval of a mean, where there is one; ``across``: of a horizontal bar."""
    if not value.half_width > 0:
        return
    at = (value.value, place) if across else (place, value.value)
    error = {"xerr" if across else "yerr": value.half_width}
    axes.errorbar(*at, **error, color=INK, lw=1.2, capsize=3, zorder=3)


def curve(
    axes: Any,
    places: Sequence[float],
    means: Iterable[Interval],
    style: str = "o-",
    *,
    colour: str,
    shade: float = 0.15,
    scale: float = 1.0,
    **line: Any,
) -> None:
    """Draw means times ``scale`` as a line, and their intervals as a band of opacity ``shade``.

    ``line``: further properties of the line, such as ``label``; ``zorder`` is that of both.
    """
    order = {"zorder": line["zorder"]} if "zorder" in line else {}
    values = list(means)
    low = [value.low * scale for value in values]
    high = [value.high * scale for value in values]
    axes.fill_between(places, low, high, color=colour, alpha=shade, linewidth=0, **order)
    heights = [value.value * scale for value in values]
    axes.plot(places, heights, style, color=colour, **line)


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG."""
    with replacing(path) as partial:
        figure.savefig(partial, dpi=150, format="png")
