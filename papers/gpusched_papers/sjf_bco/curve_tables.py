"""The tables of SJF-BCO by kappa and by lambda."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from gpusched.reporting.text_table import Table, figure_of, table
from gpusched.statistics.intervals import Interval
from gpusched_papers.sjf_bco import published
from gpusched_papers.sjf_bco.curves import Chance, CurveRun, chance, points
from gpusched_papers.sjf_bco.runs import KappaRun
from gpusched_papers.sjf_bco.settings import BASE, MAIN, PAPER, Reading
from gpusched_papers.sjf_bco.tables import THEIRS
from gpusched_papers.study import mean

_SHOWN: Final = {PAPER: "By the paper's rules [text]", BASE: "Ours"}
_KINDS: Final = {"best cap": "best_s", "common cap": "common_s", "1.5 x common cap": "loose_s"}


def by_kappa(runs: Sequence[KappaRun], curve_runs: Sequence[CurveRun]) -> Table:
    """Figure 5, by all points of an instance, and by an instance for each point."""
    own = {reading.name: points(curve_runs, reading, "kappa") for reading in MAIN}
    rows = []
    for kappa, value in published.KAPPA_MAKESPAN.items():
        cells = []
        for reading in MAIN:
            same = _column(runs, reading.name, kappa, "best_s")
            cells += [_cell(same), _cell(own[reading.name].get(kappa, []))]
        loose = _cell(_column(runs, BASE.name, kappa, "loose_s"))
        rows.append((str(kappa), *cells, loose, str(value)))
    return table(
        "Figure 5: makespan of SJF-BCO against kappa, 20 servers",
        ("kappa", "by the paper's rules", "an instance for each", "ours", "an instance for each",
         "ours, 1.5 x the common cap", THEIRS),
        rows,
        (
            "Seconds. Of the tightest cap with this kappa and looser ones the best, as SJF-BCO "
            "does; in the last column of ours one cap for all policies and kappas, half as much "
            "again as the least under which all bind every job.",
            *_shapes(runs),
            *(_chances(reading, chance(own[reading.name]))
              for reading in MAIN if own[reading.name]),
            "No job is 9 or 10 GPUs wide, so kappa = 8 and kappa = 10 pack every job alike, and "
            f"the published step [text] from {published.KAPPA_MAKESPAN[8]} to "
            f"{published.KAPPA_MAKESPAN[10]} cannot come from kappa.",
        ),
    )  # fmt: skip


def by_lambda(runs: Sequence[CurveRun]) -> Table:
    """Figure 7."""
    found = [points(runs, reading, "lambda") for reading in MAIN]
    return table(
        "Figure 7: makespan of SJF-BCO against lambda, kappa = 1, 20 servers",
        ("lambda", *(reading.name for reading in MAIN), THEIRS),
        (
            (str(factor), *(_cell(one.get(factor, [])) for one in found), str(value))
            for factor, value in published.LAMBDA_MAKESPAN.items()
        ),
        ("Seconds, the best of SJF-BCO's caps. Means, 95 % intervals.",),
    )


def kappa_means(runs: Sequence[KappaRun]) -> dict[str, dict[int, Interval]]:
    """Figure 5: by the paper's rules, and ours by the kind of cap."""
    kappas = sorted({run.kappa for run in runs})

    def curve(reading: str, column: str) -> dict[int, Interval]:
        return {kappa: mean(_column(runs, reading, kappa, column)) for kappa in kappas}

    ours = {f"ours, {kind}": curve(BASE.name, column) for kind, column in _KINDS.items()}
    return {PAPER.name: curve(PAPER.name, "best_s"), **ours}


def lambda_means(runs: Sequence[CurveRun]) -> dict[str, dict[int, Interval]]:
    """Figure 7, by the paper's rules and by ours."""
    return {
        reading.name: {
            factor: mean(values) for factor, values in points(runs, reading, "lambda").items()
        }
        for reading in MAIN
    }


def _column(runs: Sequence[KappaRun], reading: str, kappa: int, column: str) -> list[float]:
    mine = (run for run in runs if (run.reading, run.kappa) == (reading, kappa))
    return [getattr(run, column) for run in sorted(mine, key=lambda run: run.seed)]


def _cell(values: Sequence[float]) -> str:
    return figure_of(mean(values)) if len(values) else ""


def _shapes(runs: Sequence[KappaRun]) -> Iterator[str]:
    """How many curves of one instance fall and rise again."""
    kappas = sorted({run.kappa for run in runs})
    for reading in MAIN:
        curves = np.array([_column(runs, reading.name, kappa, "best_s") for kappa in kappas])
        least = curves.min(axis=0)
        is_u = least < np.minimum(curves[0], curves[-1])
        rise = float(np.mean(curves[-1][is_u] / least[is_u] - 1)) if is_u.any() else 0.0
        yield (
            f"{_SHOWN[reading]}: on {np.count_nonzero(is_u)} of {curves.shape[1]} instances the "
            "curve falls from kappa = 1 to a minimum inside and rises again, by "
            f"{100 * rise:.0f} % on average up to kappa = 32."
        )


def _chances(reading: Reading, found: Chance) -> str:
    return (
        f"{_SHOWN[reading]}, an instance for each kappa: of all curves {found.is_u:.1%} have their "
        f"least point inside, {found.as_high:.2%} fall and rise as much as the published one "
        f"[text], {found.least_at_8:.2%} with the least point at 8, and {found.steps:.1%} rise as "
        "much from 8 to 10."
    )
