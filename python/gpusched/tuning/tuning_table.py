"""A tuning as a table: what the search saw, and what it did not, side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpusched.base.wording import decimals_of, scale_of, text_of
from gpusched.results.metric_registry import metrics

if TYPE_CHECKING:
    import polars as pl


def rows_of(
    frame: pl.DataFrame, key: str, baseline: str, level: float
) -> tuple[list[str], list[list[str]]]:
    """Return headings, and one row of texts per candidate; the best one is the first.

    Parameters
    ----------
    frame
        The candidates, see :attr:`gpusched.tuning.Tuning.held_out`.
    key
        The metric.
    """
    metric = metrics()[key]
    values = [
        abs(value)
        for column in ("search_value", "mean")
        for value in frame[column].to_list()
        if value is not None
    ]
    scale, unit = scale_of(metric.kind, values)
    decimals = decimals_of(metric.kind, [value / scale for value in values])
    # A mean over runs of what is counted is rarely whole.
    if decimals == 0 and any(value / scale % 1 for value in values):
        decimals = 1

    def text(value: float | None) -> str:
        return "-" if value is None else text_of(value / scale, decimals, metric.kind)

    share = f"{100 * level:g} %"
    of = f"{metric.label}, {unit}" if unit else metric.label
    headings = ["policy", "trial", f"search: {of}", "change", f"held out: {of}", share,
                "change", share, "p"]  # fmt: skip
    rows = []
    for row in frame.iter_rows(named=True):
        is_base = row["policy"] == baseline
        changes = ["", "", ""] if is_base else [
            change(row["ratio"]), _range(change, row, "ratio_"), _p(row["p_adjusted"]),
        ]  # fmt: skip
        rows.append(
            [
                row["policy"],
                _origin(row["trial"], is_base),
                text(row["search_value"]),
                "" if is_base else change(row["search_ratio"]),
                text(row["mean"]),
                _range(text, row, ""),
                *changes,
            ]
        )
    return headings, rows


def _origin(trial: int | None, is_base: bool) -> str:
    if trial is None:
        return "baseline" if is_base else "default"
    return f"{trial}, baseline" if is_base else str(trial)


def change(ratio: float | None) -> str:
    """Write a ratio to the baseline as a change in percent."""
    if ratio is None:
        return "-"
    return f"{100 * (ratio - 1):+.1f} %" if math.isfinite(ratio) else "no limit"


def _range(text: Any, row: dict[str, Any], prefix: str) -> str:
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    return "-" if low is None or high is None else f"{text(low)} .. {text(high)}"


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if value >= 0.001 else "<0.001"
