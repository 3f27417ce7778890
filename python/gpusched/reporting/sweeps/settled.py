"""The input of every chart of a study: its runs, its metric, and the cells of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gpusched.base.run_warning import warn
from gpusched.base.wording import plural, written
from gpusched.reporting.notes import CLAIRVOYANT
from gpusched.reporting.sweeps.measures import Measure
from gpusched.reporting.sweeps.study_runs import (
    Where,
    baseline_of,
    check_metric,
    check_settled,
    chosen_runs,
    num_failed,
    policies_of,
    runs_of,
    seeds_text,
)
from gpusched.studies.verdicts import Scale, ahead, growth_mark, told_p

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.compared_runs import ComparedRuns
    from gpusched.studies.sweep_result import SweepResult


class Span(NamedTuple):
    """An estimate and its interval; NaN if there is none."""

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

    ``setting``: the values of the axes, in order.
    ``typical``: estimate over the runs of all seeds, in the unit of the metric.
    ``change``: from the baseline at the same setting: ratio, or difference, of a typical pair.
    ``mean``, ``worst``: of the runs; NaN if there is none.
    ``num``: number of seeds.
    ``num_better``, ``num_pairs``: number of seeds in which it was better than the baseline, of
        common ones; NaN if unknown.
    ``p``: p of no change, corrected for the number of all cells; NaN with too few seeds.
    ``is_ahead``: whether it is unbeaten while others are beaten.
    ``mark``: the growth if the queue grows without bound; otherwise empty.
    """

    setting: tuple[Any, ...]
    policy: str
    typical: Span
    change: Span = Span()  # noqa: RUF009
    mean: float = math.nan
    worst: float = math.nan
    num: int = 0
    num_better: float = math.nan
    num_pairs: int = 0
    p: float = math.nan
    is_ahead: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Cells:
    """The cells of a metric, and their caveats.

    ``scale``: for changes: ``"ratio"`` or ``"difference"``.
    ``headline``: the conclusion, one string per sentence.
    """

    cells: list[Cell]
    scale: Scale
    warnings: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()


def cells_of(
    runs: pl.DataFrame,
    metric: str,
    by: Sequence[str],
    baseline: str,
    *,
    level: float = 0.95,
) -> Cells:
    """Return the cells of all successful runs, by setting and policy.

    ``by``: the axes that make a setting.
    """
    from gpusched.studies import compare_runs

    found = compare_runs(runs, metric, by=tuple(by), baseline=baseline, level=level)
    rows = zip(found.frame.iter_rows(named=True), ahead(found), strict=True)
    cells = [_cell(found, row, by, is_ahead=is_ahead) for row, is_ahead in rows]
    return Cells(cells, found.scale, found.warnings, tuple(found.headline))


def _cell(found: ComparedRuns, row: dict[str, Any], by: Sequence[str], *, is_ahead: bool) -> Cell:
    return Cell(
        setting=tuple(row[name] for name in by),
        policy=row["policy"],
        typical=_span(row, "typical", "low", "high"),
        change=_span(row, found.scale, f"{found.scale}_low", f"{found.scale}_high"),
        mean=_number(row["mean"]),
        worst=_number(row["worst"]),
        num=int(row["num_seeds"]),
        num_better=_number(row["num_better"]),
        num_pairs=int(row["num_pairs"]),
        p=_number(told_p(found, row)),
        is_ahead=is_ahead,
        mark=growth_mark(row),
    )


def _span(row: dict[str, Any], *names: str) -> Span:
    return Span(*(_number(row[name]) for name in names))


def _number(value: Any) -> float:
    return float(value) if value is not None and math.isfinite(value) else math.nan


Shown = Literal["typical", "change"]


@dataclass(frozen=True, eq=False)
class Settled:
    """The runs of a chart, and their display names.

    ``runs``: the selected runs, including failed ones.
    ``policies``: policies of these runs, in the order of the study.
    ``names``: of all policies of the study, in the order of their colours, with a mark if
        clairvoyant.
    """

    runs: pl.DataFrame
    baseline: str
    level: float
    policies: tuple[str, ...]
    names: dict[str, str]

    def cells(self, metric: str, by: Sequence[str]) -> Cells:
        """Return the cells of a metric; see :func:`cells_of`."""
        check_metric(self.runs, metric)
        return cells_of(self.runs, metric, by, self.baseline, level=self.level)

    @property
    def labels(self) -> list[str]:
        """The names of all policies of the study: a policy keeps its colour in every selection."""
        return list(self.names.values())

    @property
    def note(self) -> str:
        """The coverage of the intervals, and the number of seeds."""
        return f"{self.level:.0%} intervals over {seeds_text(self.runs)}."


def settled(
    source: SweepResult | pl.DataFrame,
    shown: Sequence[str],
    where: Where | None,
    baseline: str | None = None,
    *,
    level: float = 0.95,
    tells: bool = True,
) -> Settled:
    """Select the runs of a chart.

    ``shown``: the axes that the chart shows; runs must not differ in others.
    ``where``: the value, or the list of values, of each axis to show.
    ``tells``: whether to warn of failed runs; a page lists them instead.
    """
    every = runs_of(source)
    asked = baseline_of(source, every, baseline)
    runs = chosen_runs(every, where)
    check_settled(runs, [*shown, "policy"])
    if tells and (failed := num_failed(runs)):
        warn([f"{plural(failed, 'failed run')} left out of the chart"], stacklevel=3)
    policies = tuple(policies_of(runs))
    if asked not in policies:
        asked = policies[0] if baseline is None else baseline_of(None, runs, baseline)
    sees = set()
    if "clairvoyant" in every.columns:
        sees = set(every.filter(every["clairvoyant"].fill_null(value=False))["policy"].to_list())
    return Settled(
        runs=runs,
        baseline=asked,
        level=level,
        policies=policies,
        names={p: f"{p} {CLAIRVOYANT}" if p in sees else p for p in policies_of(every)},
    )


def span_of(cell: Cell, show: Shown) -> Span:
    """Return the estimate of a cell to show."""
    if show not in ("typical", "change"):
        raise ValueError(f"show: must be 'typical' or 'change', not {show!r}")
    return cell.typical if show == "typical" else cell.change


def text_of(of: Measure, value: float, show: Shown, scale: Scale) -> str:
    """Format an estimate for reading."""
    return written(value) if show == "change" and scale == "ratio" else of.text(value)
