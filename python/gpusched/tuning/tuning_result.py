"""What a search found, and what that is worth on jobs that it never saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusched.base.wording import (
    change_text,
    changes,
    decimals_of,
    plural,
    range_text,
    scale_of,
    text_of,
)
from gpusched.plugins.policy import Policy
from gpusched.results.metric_registry import metrics
from gpusched.sweeping.study import Study
from gpusched.tuning.space import PolicySpace

if TYPE_CHECKING:
    import polars as pl

    from gpusched.statistics.compared_runs import ComparedRuns
    from gpusched.sweeping.sweep_result import SweepResult


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """The outcome of :func:`gpusched.tune`.

    Attributes
    ----------
    study, space, metric, better
        What was searched, for which metric, and whether ``"lower"`` or ``"higher"`` is better.
    best
        The best policy of the search in the whole search window: what was held out had no part in
        its choice.
    baseline
        Label of what all are compared with.
    trials
        One row per trial: ``trial``, ``policy``, ``state`` (``"finished"``, ``"pruned"`` or
        ``"failed"``), ``value`` (the mean of the metric over all runs in the whole search window;
        null unless it finished), ``values`` (of each window it saw, the shortest first),
        ``num_runs``, ``error``, and a column for each option that was searched.
    held_out
        One row for the best few, the default options of their policies and the baseline:
        ``trial`` (null of what was no trial), ``search_value`` and ``search_ratio`` (to the
        baseline) in the whole search window, then of the held-out jobs the columns of
        :class:`~gpusched.statistics.ComparedRuns`: ``mean``, ``low``, ``high``, ``ratio`` to the
        baseline with its interval, paired, and whether that ``is_significant``.
    compared
        The comparison on held-out jobs itself.
    runs
        All held-out runs, one by one.
    windows
        What was searched and what was held out of each trace, a sentence each.
    warnings
        What to know before the best one is believed, a sentence each.
    folder
        Where finished runs are kept; None: nowhere.
    """

    study: Study
    space: PolicySpace
    metric: str
    better: str
    best: Policy
    baseline: str
    trials: pl.DataFrame
    held_out: pl.DataFrame
    compared: ComparedRuns
    runs: SweepResult
    windows: tuple[str, ...]
    warnings: tuple[str, ...]
    folder: str | None = None

    def __repr__(self) -> str:
        return f"Tuning({self.study.name!r}: {self.metric}, best {self.best}, {self.counts})"

    @property
    def counts(self) -> str:
        """How many trials there were, and what became of them, in words."""
        states = self.trials["state"]
        parts = [
            f"{number:,} {state}"
            for state in ("pruned", "failed")
            if (number := int((states == state).sum()))
        ]
        told = plural(len(states), "trial")
        return f"{told} ({', '.join(parts)})" if parts else told

    @property
    def default_value(self) -> float | None:
        """The metric of the baseline in the whole search window."""
        found: float | None = self.held_out.filter(policy=self.baseline)["search_value"][0]
        return found

    @property
    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of texts: search and held-out jobs side by side."""
        return _rows_of(self.held_out, self.metric, self.baseline, self.compared.level)

    def table(self) -> str:
        """Write search and held-out jobs side by side, as a table of Markdown.

        ``compared.table("latex")`` has the held-out part alone for a paper.

        Returns
        -------
        str
            Ends in a line break; what to know stands below the table.

        Examples
        --------
        >>> found = gs.tune({"policy": "las", "period_s": {"low": 10, "high": 3600, "log": True}}, {
        ...     "name": "tuned", "seeds": [1, 2], "traces": [{"generate": "philly", "jobs": 90}],
        ...     "clusters": [{"servers": 2, "gpus": 8}],
        ... }, "mean_jct_s", trials=4, held_out=3)
        >>> found.table().startswith("| policy")
        True
        """
        from gpusched.base.tables import table

        notes = [f"{self.counts}; {self.windows[0]}", *self.windows[1:], *self.warnings]
        return table("", *self.rows).to_markdown() + "\n" + "\n".join(notes) + "\n"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        from html import escape

        from gpusched.base.tables import html_page, table

        told = "".join(f"<p>{escape(line)}</p>" for line in (*self.windows, *self.warnings))
        return html_page(repr(self), table("", *self.rows).to_html(), told)


def _rows_of(
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
