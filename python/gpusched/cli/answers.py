"""What ``run`` and ``compare`` show of results: metrics, groups, costs, losers and winners."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gpusched.base.tables import BEST, Cell, Column, Table, table, text_column
from gpusched.base.wording import duration, plural
from gpusched.cli.console import show_lines, show_table, table_width
from gpusched.reporting.notes import policy_name
from gpusched.results import shown_metrics
from gpusched.results.metric_registry import Summary
from gpusched.results.result import Result
from gpusched.results.shown_metrics import MARK, all_metrics, columns

if TYPE_CHECKING:
    import polars

    from gpusched.results.cost import Cost
    from gpusched.studies.comparison import Comparison

_MOST_GROUPS: Final = 20
_MOST_JOBS: Final = 10
_SHOWN: Final = (
    "num_jobs", "mean_wait_s", "p50_wait_s", "p95_wait_s", "p99_wait_s", "mean_jct_s",
    "p95_jct_s", "gpu_hours",
)  # fmt: skip
_JOB_COLUMNS: Final = (
    "id", "user", "gpus", "service_s", "baseline_wait_s", "policy_wait_s", "policy_status",
)  # fmt: skip
_SHORTER: Final = {
    "num_": "", "baseline_mean": "mean", "baseline_": "", "jct": "JCT", "policy_": "now ",
    "gpu_h": "GPU h", "_": " ",
}  # fmt: skip


def comparison_table(
    comparison: Comparison, width: int, *, wide: bool = False
) -> tuple[Table, tuple[str, ...]]:
    """Lay the comparison out in at most ``width`` columns, or in full if ``wide``.

    Few policies stand side by side with every metric below; many become rows with as many of
    the metrics as fit.

    Returns
    -------
    tuple
        The table, and the labels of metrics that it had no room for.
    """
    labels = [policy_name(label, result) for label, result in comparison.results.items()]
    summaries = list(comparison.summaries.values())
    if wide:
        return _policies_as_rows(labels, columns(summaries, all_metrics())), ()
    every = columns(summaries)
    made = _policies_as_columns(labels, every)
    gives_way = {c.metric.key: c.metric.gives_way for c in every if c.metric.gives_way is not None}
    yielding = sorted(gives_way, key=lambda key: gives_way[key])
    hidden: list[str] = []
    for most_hidden in range(len(yielding) + 1):
        if table_width(made) <= width:
            break
        hidden = yielding[:most_hidden]
        made = _policies_as_rows(labels, [c for c in every if c.metric.key not in hidden])
    return made, tuple(column.metric.label for column in every if column.metric.key in hidden)


def _policies_as_columns(labels: Sequence[str], shown: Sequence[shown_metrics.Column]) -> Table:
    headings = _level([_parts(label, 12) for label in labels])
    rows: list[list[str | Cell]] = []
    group = shown[0].metric.group
    for column in shown:
        if column.metric.group != group:
            group = column.metric.group
            rows.append([])
        rows.append([column.heading, *map(_cell, column.cells)])
    return table("", ["", *headings], rows)


def _policies_as_rows(labels: Sequence[str], shown: Sequence[shown_metrics.Column]) -> Table:
    headings = [[*column.metric.short.split("|"), column.unit] for column in shown]
    rows: list[list[str | Cell]] = [
        ["\n".join(_parts(label, 16)), *(_cell(column.cells[index]) for column in shown)]
        for index, label in enumerate(labels)
    ]
    return table("", _level([["policy"], *headings]), rows)


def _level(headings: Sequence[Sequence[str]]) -> list[str]:
    """Let headings of some lines end at one height."""
    height = max(map(len, headings))
    return ["\n".join([""] * (height - len(lines)) + [*lines]) for lines in headings]


def _parts(label: str, width: int) -> list[str]:
    """Break a long policy text between its parameters; none of them is ever broken."""
    lines = [""]
    for part in re.findall(r"[^:,]+[:,]?", label):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return lines


def _cell(cell: shown_metrics.Cell) -> Cell:
    # The blank keeps the digits of unmarked figures under those of the marked one.
    return Cell(cell.text + (MARK if cell.best else " "), BEST if cell.best else "")


def result_table(label: str, result: Result, summary: Summary) -> Table:
    """Lay out one result, a metric per line with its own unit."""
    rows: list[list[str]] = []
    metrics = all_metrics()
    group = metrics[0].group
    for column in columns([summary], metrics):
        if column.metric.group != group:
            group = column.metric.group
            rows.append([])
        rows.append([column.metric.label, f"{column.cells[0].text} {column.unit}".rstrip()])
    rows.append([])
    for status in ("finished", "rejected", "unfinished"):
        if count := summary[f"num_{status}"]:
            rows.append([f"{status} jobs", f"{count:,}"])
    return table("", ("policy", policy_name(label, result)), rows)


class Answers(msgspec.Struct, frozen=True):
    """What was asked for beside the metrics: breakdowns, costs, who lost and who won."""

    groups: Mapping[str, polars.DataFrame]
    costs: Mapping[str, Cost] = msgspec.field(default_factory=dict)
    baseline: str | None = None

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        groupings: Sequence[str],
        prices: float | dict[str, float] | None,
        baseline: str | None,
    ) -> Answers:
        """Answer for each policy of a comparison."""
        results = comparison.results
        costs = {} if prices is None else {name: run.cost(prices) for name, run in results.items()}
        groups = {by: comparison.by(by) for by in groupings} if results else {}
        return cls(groups, costs, baseline if baseline in results else None)

    def values(self, comparison: Comparison) -> dict[str, Any]:
        """Return the answers as ``--json`` shows them."""
        extra: dict[str, Any] = {}
        if self.groups:
            extra["by"] = {by: frame.fill_nan(None).to_dicts() for by, frame in self.groups.items()}
        if self.costs:
            extra["cost"] = {
                label: {
                    "types": cost.to_polars().to_dicts(), "held": cost.held, "total": cost.total
                }
                for label, cost in self.costs.items()
            }  # fmt: skip
        if self.baseline is not None:
            before = self.baseline
            extra["losers"] = {
                label: {
                    "baseline": before,
                    "losers": comparison.losers(label, baseline=before).to_dicts(),
                    "winners": comparison.winners(label, baseline=before).to_dicts(),
                    "by_gpus": comparison.losers(label, baseline=before, by="gpus").to_dicts(),
                }
                for label in comparison.results
                if label != before
            }
        return extra

    def show(self, comparison: Comparison) -> None:
        """Print the answers."""
        for by, frame in self.groups.items():
            _show_breakdown(frame, by)
        if self.costs:
            show_table(_costs(self.costs))
        if self.baseline is not None:
            _show_changes(comparison, self.baseline)


def _show_breakdown(frame: polars.DataFrame, by: str) -> None:
    """Print a breakdown of a result, or of a comparison whose policies stand side by side."""
    groups = list(dict.fromkeys(frame[by].to_list()))
    kept = frame.filter(frame[by].is_in(groups[:_MOST_GROUPS]))
    if "policy" in frame.columns:
        order = {group: place for place, group in enumerate(groups)}
        kept = kept.with_columns(kept[by].replace_strict(order).alias("_place")).sort(
            "_place", maintain_order=True
        )
    leading = (by, "policy") if "policy" in frame.columns else (by,)
    show_table(_of_frame(kept.select(*leading, *_SHOWN), len(leading)))
    if len(groups) > _MOST_GROUPS:
        show_lines([f"{len(groups) - _MOST_GROUPS:,} more: see --json"], style="dim")


def _costs(costs: Mapping[str, Cost]) -> Table:
    """Lay out what the GPU hours of each policy cost, by type where there are several."""
    body: list[list[str]] = []
    for label, cost in costs.items():
        rows = cost.to_polars().rows()
        body += [[label, str(row[0]), *(f"{value:,.2f}" for value in row[1:])] for row in rows]
        if len(rows) > 1:
            held, every = cost.held_gpu_hours.sum(), cost.all_gpu_hours.sum()
            sums = (held, cost.held, every, cost.total)
            body.append([label, "all", "", *(f"{value:,.2f}" for value in sums)])
    names = ("policy", "type", "price", "GPU hours held", "cost", "all GPU hours", "cost of all")
    return table("", names, body)


def _show_changes(comparison: Comparison, baseline: str) -> None:
    """Print for each other policy who lost most and who won most, and how widths fared."""
    for label in comparison.results:
        if label == baseline:
            continue
        for title, found, side in (
            ("lost", comparison.losers(label, baseline=baseline, limit=None), "lost_s"),
            ("won", comparison.winners(label, baseline=baseline, limit=None), "won_s"),
        ):
            who = plural(len(found), "job")
            show_lines([f"{label} after {baseline}: {who} {title}"], style="bold")
            if len(found):
                names = [name for name in (*_JOB_COLUMNS, side) if name in found.columns]
                show_table(_of_frame(found.head(_MOST_JOBS).select("job", *names), 2))
        show_table(_of_frame(comparison.losers(label, baseline=baseline, by="gpus"), 1))


def _of_frame(frame: polars.DataFrame, num_names: int) -> Table:
    """Lay out a frame; the first columns but numbers of jobs are names."""
    headings: list[Column] = []
    for place, name in enumerate(frame.columns):
        shown = name.removesuffix("_s")
        for long, short in _SHORTER.items():
            shown = shown.replace(long, short)
        is_name = place < num_names and name != "job"
        headings.append(text_column(shown) if is_name else Column(shown))
    rows = [
        [_text(name, value) for name, value in row.items()] for row in frame.iter_rows(named=True)
    ]
    return table("", headings, rows)


def _text(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if column.endswith("_s"):
        sign = "-" if value < 0 else ""
        return f"{sign}{duration(abs(value))}" if value else "0 s"
    if column == "job":
        return str(value)  # as --explain takes it
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
