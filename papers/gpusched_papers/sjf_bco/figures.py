"""Figures 4 to 7 of the paper, ours beside what is published (Matplotlib, extra: plot).

Of each kind of run: by the paper's rules and by ours, named as callers name them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gpusched.statistics.intervals import Interval
from gpusched_papers.common.drawing import INK, curve, error_bar, figure_class, prepare
from gpusched_papers.sjf_bco.published import (
    KAPPA_MAKESPAN,
    LAMBDA_MAKESPAN,
    MAKESPAN,
    MEAN_JCT,
    SERVERS,
)

# Okabe and Ito (2008): told apart by colour-blind readers as well.
_COLOURS: Final = {"sjf-bco": "#0072b2", "ls": "#009e73", "ff": "#e69f00", "rand": "#cc79a7"}
_NAMES: Final = {"sjf-bco": "SJF-BCO", "ls": "LS", "ff": "FF", "rand": "RAND"}
_PUBLISHED: Final = "published"


Means = Mapping[str, Mapping[str, Interval]]
"""By how it was run, then by policy."""


def by_policy(makespan: Means, mean_jct: Means, note: str) -> Any:
    """Figure 4: makespan and average completion of each policy on 20 servers."""
    figure = figure_class()(figsize=(8.4, 3.8), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, ours, published, title in (
        (panels[0], makespan, {name: MAKESPAN[name][20] for name in MAKESPAN}, "Makespan, s"),
        (panels[1], mean_jct, MEAN_JCT, "Average completion, s"),
    ):
        prepare(axes, title)
        names = list(next(iter(ours.values())))
        for number, (how, values) in enumerate(ours.items()):
            is_first = number == 0
            for place, (name, value) in enumerate(values.items()):
                at = place + 0.38 * (number - 0.5)
                axes.bar(
                    at, value.value, 0.34, color=_COLOURS[name], zorder=2,
                    alpha=1.0 if is_first else 0.45, label=how if place == 0 else None,
                )  # fmt: skip
                error_bar(axes, at, value)
        for place, name in enumerate(names):
            axes.plot(place, published[name], "D", mfc="white", mec=INK, ms=6, zorder=4)
        axes.plot([], [], "D", mfc="white", mec=INK, ms=6, label=_PUBLISHED)
        axes.set_xticks(range(len(names)), [_NAMES[name] for name in names])
        axes.set_ylim(bottom=0)
    panels[1].legend(frameon=False, loc="upper left")
    figure.suptitle(f"20 servers: {note}", x=0.01, ha="left", fontsize=10, color=INK)
    return figure


def by_kappa(makespan: Mapping[str, Mapping[int, Interval]], note: str) -> Any:
    """Figure 5: makespan of SJF-BCO against its threshold."""
    figure = figure_class()(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.subplots()
    prepare(axes, "Makespan, s")
    for colour, (kind, values) in zip(_COLOURS.values(), makespan.items(), strict=False):
        curve(axes, list(values), values.values(), colour=colour, label=kind)
    heights = list(KAPPA_MAKESPAN.values())
    axes.plot(list(KAPPA_MAKESPAN), heights, "D--", color=INK, mfc="white", lw=1, label=_PUBLISHED)
    axes.set_xscale("log", base=2)
    kappas = [1, 2, 4, 8, 16, 32]
    axes.set_xticks(kappas, [str(kappa) for kappa in kappas])
    axes.minorticks_off()
    axes.set_xlabel("κ: widest gang that is packed, GPUs")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, ncols=2, loc="lower left")
    axes.set_title(note, loc="left", fontsize=10, color=INK)
    return figure


def by_lambda(makespan: Mapping[str, Mapping[int, Interval]], note: str) -> Any:
    """Figure 7: makespan of SJF-BCO against the inflation of the pool, with kappa = 1."""
    figure = figure_class()(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.subplots()
    prepare(axes, "Makespan, s")
    for colour, (kind, values) in zip(_COLOURS.values(), makespan.items(), strict=False):
        curve(axes, list(values), values.values(), colour=colour, label=kind)
    heights = list(LAMBDA_MAKESPAN.values())
    axes.plot(list(LAMBDA_MAKESPAN), heights, "D--", color=INK, mfc="white", lw=1, label=_PUBLISHED)
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(LAMBDA_MAKESPAN), [str(factor) for factor in LAMBDA_MAKESPAN])
    axes.minorticks_off()
    axes.set_xlabel("λ: GPUs of the pool, per GPU asked for")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="lower left")
    axes.set_title(note, loc="left", fontsize=10, color=INK)
    return figure


def by_servers(makespan: Mapping[str, Mapping[str, Mapping[int, Interval]]], note: str) -> Any:
    """Figure 6: makespan of each policy against the number of servers, a panel for each kind."""
    figure = figure_class()(figsize=(9.2, 3.8), layout="constrained")
    panels = figure.subplots(1, len(makespan), sharey=True)
    for axes, (how, of) in zip(panels, makespan.items(), strict=True):
        prepare(axes, "Makespan, s")
        shift = {name: 0.12 * (place - 1.5) for place, name in enumerate(of)}
        for name, values in of.items():
            at = [servers + shift[name] for servers in values]
            heights = [value.value for value in values.values()]
            axes.plot(at, heights, "o-", color=_COLOURS[name], label=_NAMES[name])
            for place, value in zip(at, values.values(), strict=True):
                error_bar(axes, place, value)
            published = [MAKESPAN[name][servers] for servers in SERVERS]
            axes.plot(SERVERS, published, "D--", color=_COLOURS[name], mfc="white", lw=1, ms=5)
        axes.plot([], [], "D--", color=INK, mfc="white", lw=1, ms=5, label=_PUBLISHED)
        axes.set_xticks(SERVERS)
        axes.set_xlabel("servers")
        axes.set_ylim(bottom=0)
        axes.set_title(how, loc="left", fontsize=10, color=INK)
    panels[-1].legend(frameon=False, ncols=2, loc="upper right")
    figure.suptitle(note, x=0.01, ha="left", fontsize=10, color=INK)
    return figure
