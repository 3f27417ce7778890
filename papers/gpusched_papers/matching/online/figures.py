"""The figure of the policy matching online (Matplotlib, extra: plot)."""

from __future__ import annotations

from typing import Any, Final

from gpusched_papers.common.drawing import INK, figure_class, prepare
from gpusched_papers.matching.online.settings import (
    ALLOX,
    ELASTIC,
    GAVEL,
    OPTIMUS,
    OWN,
    SPEEDS,
    WORKLOADS,
    Arm,
    Setting,
)
from gpusched_papers.matching.online.tables import Summary, jct
from gpusched_papers.study import mean

# Okabe and Ito (2008): told apart by colour-blind readers as well.
_COLOURS: Final = {
    ELASTIC: "#0072b2",
    OWN: "#56b4e9",
    OPTIMUS: "#009e73",
    GAVEL: "#e69f00",
}
_ASIDE: Final = 0.025


def by_load(summary: Summary, note: str) -> Any:
    """Mean JCT over that under allox against the load: a row per speed, a column per workload."""
    small = summary.small()
    workloads = [of for of in WORKLOADS if any(setting.workload == of for setting in small)]
    figure = figure_class()(figsize=(2.4 * len(workloads) + 1.8, 5.0), layout="constrained")
    panels = figure.subplots(len(SPEEDS), len(workloads), squeeze=False, sharex=True, sharey=True)
    for row, speed in zip(panels, SPEEDS, strict=True):
        for axes, workload in zip(row, workloads, strict=True):
            prepare(axes, f"{speed}: JCT / allox's" if axes is row[0] else "")
            here = [s for s in small if (s.speed, s.workload) == (speed, workload)]
            axes.axhline(1.0, color=INK, lw=0.8, ls="--", label=ALLOX.name)
            for arm in _COLOURS:
                _draw(axes, summary, [s for s in here if summary.has(s, arm)], arm)
            axes.set_xticks([setting.load for setting in here])
            if speed == SPEEDS[0]:
                axes.set_title(workload.name, loc="left", fontsize=10, color=INK)
            else:
                axes.set_xlabel("load")
    panels[0][0].set_ylim(bottom=0)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=9)
    figure.suptitle(note, x=0.01, ha="left", fontsize=10, color=INK)
    return figure


def _draw(axes: Any, summary: Summary, settings: list[Setting], arm: Arm) -> None:
    found = [
        mean(summary.values(setting, arm, jct) / summary.values(setting, ALLOX, jct))
        for setting in settings
    ]
    # Side by side, so that no interval hides another.
    aside = _ASIDE * (list(_COLOURS).index(arm) - (len(_COLOURS) - 1) / 2)
    axes.errorbar(
        [setting.load + aside for setting in settings],
        [one.value for one in found],
        [one.half_width for one in found],
        fmt="o-", color=_COLOURS[arm], label=arm.name, ms=3.5, lw=1.4, capsize=2,
    )  # fmt: skip
