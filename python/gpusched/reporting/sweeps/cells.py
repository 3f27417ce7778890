"""A metric under each policy at each setting of a study, with its intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from gpusched.statistics.intervals import Method


@dataclass(frozen=True)
class Span:
    """An estimate between the ends of its interval; NaN where there is none."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @property
    def is_known(self) -> bool:
        """Whether there is an estimate."""
        return not math.isnan(self.value)


@dataclass(frozen=True)
class Cell:
    """One policy at one setting.

    Attributes
    ----------
    setting
        The values of the axes, in their order.
    mean
        Over the seeds, in the unit of the metric.
    difference, ratio
        To the baseline at the same setting, over the seeds that both have.
    num
        Seeds.
    p
        Of the paired comparison, corrected for the number of all cells; NaN if there is none.
    rank
        Mean over the seeds, 1 is best; NaN of a metric that knows no better.
    """

    setting: tuple[Any, ...]
    policy: str
    mean: Span
    difference: Span = field(default_factory=Span)
    ratio: Span = field(default_factory=Span)
    num: int = 0
    p: float = math.nan
    rank: float = math.nan


@dataclass(frozen=True)
class Cells:
    """The cells of a metric, and what is to be known before they are believed."""

    cells: list[Cell]
    warnings: tuple[str, ...] = ()


def cells_of(
    runs: pl.DataFrame,
    metric: str,
    by: Sequence[str],
    baseline: str,
    *,
    level: float = 0.95,
    method: Method | None = None,
) -> Cells:
    """Return the cells of all runs that did not fail, by setting and policy.

    Parameters
    ----------
    by
        The axes that make a setting.
    method
        Of the intervals, by its name in :mod:`gpusched.statistics`; None takes the default there.
    """
    from gpusched.statistics import compare_runs

    found = compare_runs(
        runs, metric, by=tuple(by), baseline=baseline, level=level, method=method or "bootstrap-t"
    )
    cells = [_cell(row, by) for row in found.frame.iter_rows(named=True)]
    return Cells(cells, found.warnings)


def _cell(row: dict[str, Any], by: Sequence[str]) -> Cell:
    return Cell(
        setting=tuple(row[name] for name in by),
        policy=row["policy"],
        mean=_span(row, "mean", "low", "high"),
        difference=_span(row, "difference", "difference_low", "difference_high"),
        ratio=_span(row, "ratio", "ratio_low", "ratio_high"),
        num=int(row["num_seeds"]),
        p=_number(row["p_adjusted"]),
        rank=_number(row["rank"]),
    )


def _span(row: dict[str, Any], *names: str) -> Span:
    return Span(*(_number(row[name]) for name in names))


def _number(value: Any) -> float:
    return float(value) if value is not None and math.isfinite(value) else math.nan
