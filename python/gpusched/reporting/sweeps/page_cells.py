"""What the page of a study carries: all its cells, of as many metrics as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpusched.reporting.charts.chart import Axis, Chart
from gpusched.reporting.drawing.plotly_figures import layout_of
from gpusched.reporting.drawing.time_ticks import COARSE
from gpusched.reporting.sweeps.cdf_over_seeds import LEAST, WORDS, quantile_columns
from gpusched.reporting.sweeps.cells import Cell, Span
from gpusched.reporting.sweeps.measures import Measure, measure
from gpusched.reporting.sweeps.settled import Settled
from gpusched.reporting.sweeps.study_runs import values_of, varying
from gpusched.results.shown_metrics import all_metrics

_MOST_BYTES: Final = 1_500_000
_CELL_BYTES: Final = 92  # of one metric: eleven numbers of six digits
_SETTING_BYTES: Final = 44
MOST_ROWS: Final = 2_000
"""Of the table that is seen at once."""


@dataclass(frozen=True, eq=False)
class PageCells:
    """The cells of a page.

    Attributes
    ----------
    axes
        In which the runs differ.
    settings
        Position of the value on each axis, and the policy, of each cell.
    by_metric
        The cells of each metric, in the order of ``settings``; None where a metric has no cell.
    left_out
        Metrics for which there was no room.
    warnings
        Of the comparison by the first metric.
    """

    study: Settled
    axes: tuple[str, ...]
    settings: tuple[tuple[tuple[int, ...], str], ...]
    by_metric: dict[str, list[Cell | None]]
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def measures(self) -> list[Measure]:
        """The metrics, the first one chosen at first."""
        return [measure(key) for key in self.by_metric]

    @property
    def first(self) -> list[Cell]:
        """The cells of the first metric."""
        return [cell for cell in next(iter(self.by_metric.values())) if cell is not None]

    @property
    def quantiles(self) -> dict[str, dict[str, float]]:
        """By time of jobs the metrics that are its quantiles, with their shares."""
        found = {quantity: quantile_columns(list(self.by_metric), quantity) for quantity in WORDS}
        return {quantity: shares for quantity, shares in found.items() if len(shares) > 1}

    def along(self) -> int:
        """Return the axis along which pictures go at first: the load, or that of most values."""
        if "load" in self.axes:
            return self.axes.index("load")
        sizes = [len(values_of(self.study.runs, axis)) for axis in self.axes]
        return sizes.index(max(sizes)) if sizes else 0


def page_cells(study: Settled, metrics: Sequence[str] | None) -> PageCells:
    """Return the cells of a study.

    Parameters
    ----------
    metrics
        Those that are shown; None takes those of tables that the runs have and that are not all
        the same, the most important ones first.

    Raises
    ------
    ValueError
        If a metric is not known, or the cells of a single one are too many for a page.
    """
    axes = tuple(varying(study.runs))
    places = {axis: {v: i for i, v in enumerate(values_of(study.runs, axis))} for axis in axes}
    chosen = _present(study) if metrics is None else list(dict.fromkeys(metrics))
    found: dict[str, list[Cell]] = {}
    room = 1
    warnings: tuple[str, ...] = ()
    for key in chosen:
        if len(found) == room:
            break
        compared = study.compared(key, axes)
        found[key] = compared.cells
        if len(found) == 1:
            warnings, room = compared.warnings, _room(len(compared.cells))
    at: dict[tuple[tuple[int, ...], str], int] = {}
    for cells in found.values():
        for cell in cells:
            at.setdefault((_position(cell, axes, places), cell.policy), len(at))
    by_metric: dict[str, list[Cell | None]] = {}
    for key, cells in found.items():
        column: list[Cell | None] = [None] * len(at)
        for cell in cells:
            column[at[_position(cell, axes, places), cell.policy]] = cell
        by_metric[key] = column
    return PageCells(study, axes, tuple(at), by_metric, tuple(chosen[len(found) :]), warnings)


def _position(
    cell: Cell, axes: Sequence[str], places: dict[str, dict[Any, int]]
) -> tuple[int, ...]:
    return tuple(places[axis][value] for axis, value in zip(axes, cell.setting, strict=True))


def _room(num_cells: int) -> int:
    """Return how many metrics the page has room for."""
    room = (_MOST_BYTES - _SETTING_BYTES * num_cells) // (_CELL_BYTES * max(1, num_cells))
    if room < 1:
        raise ValueError(
            f"{num_cells:,} settings and policies are too many for one page: "
            "choose some of them with where={...}"
        )
    return room


def _present(study: Settled) -> list[str]:
    """The metrics of tables, the main ones first, then other quantiles of JCT and wait."""
    known = sorted(all_metrics(), key=lambda metric: metric.table != "main")
    # What a run's speed was says something of the machine, and nothing of the policy.
    known = [metric for metric in known if "clock" not in metric.needs]
    columns = [metric.key for metric in known if metric.key in study.runs.columns]
    numbers = [name for name in columns if study.runs[name].dtype.is_numeric()]
    found = [name for name in numbers if study.runs[name].drop_nulls().n_unique() > 1]
    if not found:
        raise ValueError("metrics: the runs have no metric of tables in which they differ")
    found.sort(key=lambda name: name != "mean_jct_s")
    return found


def page_data(page: PageCells) -> dict[str, Any]:
    """Return all that the script of the page reads, as plain values."""
    study, keys = page.study, list(page.by_metric)
    index = {name: place for place, name in enumerate(study.policies)}
    chart = Chart(name="", title="", caption="", x=Axis(""))
    return {
        "baseline": study.baseline,
        "base": layout_of(chart, in_page=True),
        "ticks": [[at, name] for at, name in COARSE.items()],
        "mostRows": MOST_ROWS,
        "axes": [_axis(page, axis) for axis in page.axes],
        "policies": [
            {"name": name, "label": study.names[name], "place": study.places[name]}
            for name in study.policies
        ],
        "metrics": [
            {
                "key": of.key, "label": of.label, "kind": of.kind, "better": of.better,
                "values": _columns(page.by_metric[of.key]),
            }
            for of in page.measures
        ],
        "cells": [
            {"at": list(at), "policy": index[policy], "num": _num(page, row)}
            for row, (at, policy) in enumerate(page.settings)
        ],
        "quantiles": [
            {
                "label": WORDS[quantity], "least": LEAST[quantity], "shares": list(shares.values()),
                "metrics": [keys.index(key) for key in shares],
            }
            for quantity, shares in page.quantiles.items()
        ],
    }  # fmt: skip


def _axis(page: PageCells, axis: str) -> dict[str, Any]:
    values = values_of(page.study.runs, axis)
    is_number = page.study.runs[axis].dtype.is_numeric() and None not in values
    return {
        "name": axis,
        "isNumber": is_number,
        "values": values if is_number else list(range(len(values))),
        "texts": [text_of_value(value) for value in values],
    }


def text_of_value(value: Any) -> str:
    """Return a value on an axis as a cell of a table has it."""
    if value is None:
        return "none"
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)


def _num(page: PageCells, row: int) -> int:
    return max((cells[row].num for cells in page.by_metric.values() if cells[row]), default=0)  # type: ignore[union-attr]


def _columns(cells: Sequence[Cell | None]) -> list[list[float | None]]:
    spans = [
        [_ends(span) for cell in cells for span in [getattr(cell, name, Span())]]
        for name in ("mean", "difference", "ratio")
    ]
    made = [[ends[place] for ends in column] for column in spans for place in range(3)]
    for name in ("p", "rank"):
        made.append([_short(getattr(cell, name)) if cell else None for cell in cells])
    return made


def _ends(span: Span) -> tuple[float | None, float | None, float | None]:
    return _short(span.value), _short(span.low), _short(span.high)


def _short(value: float) -> float | None:
    """Six digits are more than a page shows."""
    return float(f"{value:.6g}") if value == value else None
