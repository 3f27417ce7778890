"""Figures of the study of Dancer (Matplotlib, extra: plot)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpusched.statistics.intervals import Interval
from gpusched_papers.common.drawing import INK, curve, figure_class, prepare

# Okabe and Ito (2008): told apart by colour-blind readers as well.
COLOURS: Final = {
    "dancer": "#0072b2",
    "elasticflow": "#d55e00",
    "elasticflow, pinned": "#e69f00",
    "edf-fastest": "#009e73",
    "chronus": "#56b4e9",
    "tiresias": "#cc79a7",
    "gavel": "#999999",
    "edf": "#000000",
}
_OTHERS: Final = "#b0b7bf"


@dataclass(frozen=True)
class Panel:
    """Curves over the same places.

    Attributes
    ----------
    curves
        By policy; one mean per place.
    bound
        The same for the upper bound.
    """

    title: str
    heading: str
    labels: Sequence[str]
    curves: Mapping[str, Sequence[Interval]]
    bound: Sequence[Interval]


def curves(panels: Sequence[Panel], note: str, columns: int) -> Any:
    """Deadlines met by each policy, a panel each, and the bound above them."""
    rows = -(-len(panels) // columns)
    figure = figure_class()(figsize=(3.1 * columns + 1.6, 2.9 * rows + 0.5), layout="constrained")
    drawn = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for number, (axes, panel) in enumerate(zip(drawn, panels, strict=False)):
        prepare(axes, "DSR, %" if number % columns == 0 else "")
        places = range(len(panel.labels))
        heights = [value.value * 100 for value in panel.bound]
        axes.plot(places, heights, "--", color=INK, lw=1.2, label="upper bound", zorder=1)
        for order, (name, values) in enumerate(panel.curves.items()):
            _draw(axes, places, name, values, 20 - order)
        axes.set_xticks(places, panel.labels)
        axes.set_xlim(-0.15, len(panel.labels) - 0.85)
        axes.set_xlabel(panel.heading)
        axes.set_ylim(0, 100)
        axes.set_title(panel.title, loc="left", fontsize=10, color=INK)
    for axes in drawn[len(panels) :]:
        axes.remove()
    named: dict[str, Any] = {}
    for axes in drawn[: len(panels)]:
        named |= {
            label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
    figure.legend(
        named.values(), named.keys(), loc="outside right center", frameon=False, fontsize=9
    )
    figure.suptitle(note, x=0.01, ha="left", fontsize=10, color=INK)
    return figure


def _draw(
    axes: Any, places: Sequence[int], name: str, values: Sequence[Interval], height: int
) -> None:
    curve(
        axes, places, values, colour=COLOURS.get(name, _OTHERS), shade=0.1, scale=100, label=name,
        ms=3.5, lw=2.2 if name == "dancer" else 1.4, zorder=height,
    )  # fmt: skip
