"""Figures of the filling experiment (Matplotlib, extra: plot)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gpusched.statistics.intervals import Interval
from gpusched_papers.common.drawing import INK, curve, figure_class, prepare

# Okabe and Ito (2008): told apart by colour-blind readers as well.
_COLOURS: Final = (
    "#0072b2", "#009e73", "#e69f00", "#cc79a7", "#d55e00", "#999999", "#56b4e9", "#000000",
)  # fmt: skip
_FIRST_SHOWN: Final = 80
_MOST_SHOWN: Final = 25
_MOST_FRAGMENTED: Final = 20
_DASHES: Final = ("-", "-", "-", "-", "-", "-", "--", "--")


def curves(
    panels: Mapping[str, tuple[Mapping[str, Sequence[Interval]], Mapping[str, Sequence[Interval]]]],
    demands: Sequence[float],
    published: Mapping[str, Mapping[str, float]],
    note: str,
) -> Any:
    """Unallocated and fragmented GPUs of each placement, a column of panels per workload.

    ``published``: by panel and placement the unallocated GPUs at the last demand.
    """
    width = 3.9 * len(panels) + 1.7
    figure = figure_class()(figsize=(width, 6.4), layout="constrained")
    rows = figure.subplots(2, len(panels), squeeze=False, sharex=True, sharey="row")
    places = [demand * 100 for demand in demands]
    for column, (title, measures) in enumerate(panels.items()):
        names = ("Unallocated GPUs, %", "Fragmented GPUs, %")
        for axes, values, name in zip(rows[:, column], measures, names, strict=True):
            prepare(axes, name if column == 0 else "")
            _draw(axes, places, values)
        rows[0, column].set_title(title, loc="left", fontsize=10, color=INK)
        rows[1, column].set_xlabel("GPUs asked for, % of the cluster's")
        for colour, placement in zip(_COLOURS, measures[0], strict=False):
            if placement in published[title]:
                rows[0, column].plot(
                    places[-1], published[title][placement] * 100, "D", mfc="white", mec=colour,
                    ms=5, clip_on=False, zorder=20,
                )  # fmt: skip
    first = rows[0, 0]
    first.plot([], [], "D", mfc="white", mec=INK, ms=5, label="published")
    # Before that nearly everything is placed, and the curves are one line.
    first.set_xlim(_FIRST_SHOWN, places[-1] + 1)
    first.set_ylim(0, _MOST_SHOWN)
    rows[1, 0].set_ylim(0, _MOST_FRAGMENTED)
    rows[1, 0].set_yticks(range(0, _MOST_FRAGMENTED + 1, 5))
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=9)
    figure.suptitle(note, x=0.01, ha="left", fontsize=10, color=INK)
    return figure


def _draw(axes: Any, places: Sequence[float], values: Mapping[str, Sequence[Interval]]) -> None:
    styles = zip(_COLOURS, _DASHES, values.items(), strict=False)
    for order, (colour, dash, (name, means)) in enumerate(styles):
        curve(
            axes, places, means, dash, colour=colour, scale=100, label=name,
            lw=2.2 if order == 0 else 1.4, zorder=10 - order,  # the first on top
        )  # fmt: skip
