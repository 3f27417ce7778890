"""A tuning as a table: what the search saw, and what it did not, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.wording import (
    change_text,
    changes,
    decimals_of,
    range_text,
    scale_of,
    text_of,
)
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
        rows.append(
            [
                row["policy"],
                _origin(row["trial"], is_base),
                text(row["search_value"]),
                "" if is_base else change_text(row["search_ratio"]),
                text(row["mean"]),
                range_text(text, row),
                *([""] * 3 if is_base else changes(row)),
            ]
        )
    return headings, rows


def _origin(trial: int | None, is_base: bool) -> str:
    if trial is None:
        return "baseline" if is_base else "default"
    return f"{trial}, baseline" if is_base else str(trial)
