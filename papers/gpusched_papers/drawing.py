"""The figures of all reproductions: curves with bands, and bars (Matplotlib, extra: plot)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from gpusched.base.replacing import replacing
from gpusched_papers.intervals import Interval

INK: Final = "#1f2933"
GRID: Final = "#e3e6ea"
# Okabe and Ito (2008): told apart by colour-blind readers as well.
COLOURS: Final = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#000000",
)  # fmt: skip
_MARKED: Final = 20  # points are marked on lines of so many


@dataclass(frozen=True)
class Panel:
    """Lines over the same places.

    Attributes
    ----------
    title, heading
        Of the panel, and of its horizontal axis.
    places, labels
        Where the points are, and what the axis calls these places; None: their numbers.
    lines
        By name: a mean with its interval, or a number, at each place; NaN: nothing is there.
    marks
        What is beside them, published or possible, by name and place: dashed, in the colour of the
        line of that name, or in ink where there is none.
    """

    title: str
    heading: str
    places: Sequence[float]
    lines: Mapping[str, Sequence[Interval | float]]
    marks: Mapping[str, Mapping[Any, float]] = field(default_factory=dict)
    labels: Sequence[str] | None = None


def need_matplotlib() -> None:
    """Raise ImportError, which names the extra, if there is no Matplotlib."""
    _figure_class()


def curves(
    panels: Sequence[Panel],
    y: str,
    note: str,
    *,
    columns: int = 0,
    scale: float = 1.0,
    top: float | None = None,
    marked: str = "published",
    x_scale: Mapping[str, Any] | None = None,
    y_scale: Mapping[str, Any] | None = None,
) -> Any:
    """Draw lines with the bands of their intervals, the same colour for a name in all panels.

    Parameters
    ----------
    y
        What the vertical axis shows: the values times ``scale``, from 0 to ``top``.
    note
        Above all panels.
    columns
        Panels in a row; 0: all.
    marked
        What the marks of lines are.
    x_scale, y_scale
        As of Matplotlib's ``set_xscale``; None: linear.
    """
    columns = columns or len(panels)
    rows = -(-len(panels) // columns)
    size = (3.4 * columns + 1.8, 3.1 * rows + 0.5)
    figure = _figure_class()(figsize=size, layout="constrained")
    drawn = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    names = dict.fromkeys(name for panel in panels for name in panel.lines)
    colours = {name: COLOURS[min(n, len(COLOURS) - 1)] for n, name in enumerate(names)}
    for number, (axes, panel) in enumerate(zip(drawn, panels, strict=False)):
        _prepare(axes, y if number % columns == 0 else "")
        for order, (name, values) in enumerate(panel.lines.items()):
            _line(axes, panel.places, values, scale, colours[name], name, 20 - order)
        for name, beside in panel.marks.items():
            label, colour = (marked, colours[name]) if name in colours else (name, INK)
            heights = [height * scale for height in beside.values()]
            axes.plot(list(beside), heights, "D--", color=colour, mfc="white", lw=1, ms=4,
                      label=label, zorder=1)  # fmt: skip
        if x_scale:
            axes.set_xscale(**x_scale)
        if y_scale:
            axes.set_yscale(**y_scale)
        else:
            axes.set_ylim(0, top)
        labels = panel.labels or [f"{place:g}" for place in panel.places]
        if len(labels) <= 10:
            axes.set_xticks(panel.places, labels)
            axes.minorticks_off()
        axes.set_xlabel(panel.heading)
        axes.set_title(panel.title, loc="left", fontsize=10, color=INK)
    for axes in drawn[len(panels) :]:
        axes.remove()
    named: dict[str, Any] = {}
    for axes in drawn[: len(panels)]:
        handles, labels = axes.get_legend_handles_labels()
        named = dict(zip(labels, handles, strict=True)) | named
    figure.legend(
        named.values(), named.keys(), loc="outside right center", frameon=False, fontsize=9
    )
    figure.suptitle(note, x=0.01, ha="left", fontsize=10, color=INK)
    return figure


def bars(
    panels: Mapping[str, Mapping[str, tuple[Interval, float]]],
    heading: str,
    note: str,
    *,
    scale: float = 1.0,
    x_scale: str = "linear",
) -> Any:
    """Draw a horizontal bar for each mean with its interval, and a diamond for what is beside it.

    ``panels``: by title and name.
    """
    height = 0.8 + 0.3 * max(map(len, panels.values()))
    figure = _figure_class()(figsize=(4.8 * len(panels), height), layout="constrained")
    drawn = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, values) in zip(drawn, panels.items(), strict=True):
        _prepare(axes, "")
        axes.grid(axis="x", color=GRID, zorder=0)
        for place, (mean, mark) in enumerate(values.values()):
            shown = mean.scaled(scale)
            axes.barh(place, shown.value, 0.62, color=COLOURS[0], zorder=2)
            if shown.half_width > 0:
                axes.errorbar(shown.value, place, xerr=shown.half_width, color=INK, lw=1.2,
                              capsize=3, zorder=3)  # fmt: skip
            axes.plot(mark * scale, place, "D", mfc="white", mec=INK, ms=5, zorder=4)
        axes.set_yticks(range(len(values)), list(values))
        axes.invert_yaxis()
        axes.set_xscale(x_scale)
        axes.set_xlabel(heading)
        axes.set_title(title, loc="left", fontsize=10, color=INK)
    figure.suptitle(note, x=0.01, ha="left", fontsize=10, color=INK)
    return figure


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG."""
    with replacing(path) as partial:
        figure.savefig(partial, dpi=150, format="png")


def _line(
    axes: Any,
    places: Sequence[float],
    values: Sequence[Interval | float],
    scale: float,
    colour: str,
    name: str,
    order: int,
) -> None:
    if any(isinstance(value, Interval) for value in values):
        low = [(v.low if isinstance(v, Interval) else v) * scale for v in values]
        high = [(v.high if isinstance(v, Interval) else v) * scale for v in values]
        axes.fill_between(places, low, high, color=colour, alpha=0.12, linewidth=0, zorder=order)
    heights = [(v.value if isinstance(v, Interval) else v) * scale for v in values]
    style = "o-" if len(heights) <= _MARKED else "-"
    axes.plot(places, heights, style, color=colour, label=name, ms=3.5, lw=1.4, zorder=order)


def _prepare(axes: Any, title: str) -> None:
    axes.set_ylabel(title)
    axes.grid(axis="y", color=GRID, zorder=0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _figure_class() -> Any:
    """Return Matplotlib's class of figures, which needs no screen."""
    try:
        return import_module("matplotlib.figure").Figure
    except ImportError:
        raise ImportError("figures: need Matplotlib: pip install 'gpusched-core[plot]'") from None
