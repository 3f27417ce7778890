"""Figures of the study of A-SRPT (Matplotlib, extra: plot)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gpusched.statistics.intervals import Interval
from gpusched_papers.common.drawing import GRID, INK, curve, error_bar, figure_class, prepare

_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999")


def bars(panels: Mapping[str, Mapping[str, tuple[Interval, Interval]]], note: str) -> Any:
    """Mean and p99 JCT of each policy, a panel per cluster."""
    figure = figure_class()(figsize=(9.6, 4.6), layout="constrained")
    for axes, (title, values) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        prepare(axes, "")
        axes.grid(axis="x", color=GRID, zorder=0)
        for place, (average, tail) in enumerate(values.values()):
            colour = _COLOURS[0] if place < 3 else _COLOURS[6]
            hours = average.scaled(1 / 3600)
            axes.barh(place, hours.value, 0.62, color=colour, zorder=2)
            error_bar(axes, place, hours, across=True)
            axes.plot(tail.value / 3600, place, "D", mfc="white", mec=INK, ms=5, zorder=4)
        axes.set_yticks(range(len(values)), list(values))
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("mean (bar) and p99 (diamond) JCT, h")
        axes.set_title(title, loc="left", fontsize=10, color=INK)
    figure.suptitle(note, x=0.01, ha="left", fontsize=10, color=INK)
    return figure


def curves(
    panels: Mapping[str, Mapping[str, Sequence[Interval]]],
    positions: Sequence[float],
    labels: Sequence[str],
    heading: str,
    note: str,
) -> Any:
    """Mean JCT of some policies against one quantity, a panel per cluster."""
    figure = figure_class()(figsize=(9.6, 3.8), layout="constrained")
    drawn = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, values) in zip(drawn, panels.items(), strict=True):
        prepare(axes, "Mean JCT, h")
        for colour, (name, heights) in zip(_COLOURS, values.items(), strict=False):
            curve(
                axes, positions, heights, colour=colour, shade=0.12, scale=1 / 3600, label=name,
                ms=4,
            )  # fmt: skip
        axes.set_xticks(positions, labels)
        axes.set_xlabel(heading)
        axes.set_ylim(bottom=0)
        axes.set_title(title, loc="left", fontsize=10, color=INK)
    drawn[0].legend(frameon=False, fontsize=8)
    figure.suptitle(note, x=0.01, ha="left", fontsize=10, color=INK)
    return figure
