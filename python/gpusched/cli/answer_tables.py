"""Breakdowns, costs, losers and winners as tables of a terminal and as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from gpusched.base.wording import duration, plural
from gpusched.cli.console import new_table, show_lines, show_table

if TYPE_CHECKING:
    import polars

    from gpusched.results.cost import Cost
    from gpusched.studies.comparison_result import Comparison

_MOST_GROUPS: Final = 20
_MOST_JOBS: Final = 10
_SHOWN: Final = (
    "num_jobs", "mean_wait_s", "p50_wait_s", "p95_wait_s", "p99_wait_s", "mean_jct_s",
    "p95_jct_s", "gpu_hours",
)  # fmt: skip
_JOB_COLUMNS: Final = (
    "id", "user", "gpus", "service_s", "baseline_wait_s", "policy_wait_s", "policy_status",
)  # fmt: skip


def show_breakdown(frame: polars.DataFrame, by: str) -> None:
    """Print a breakdown of a result, or of a comparison whose policies stand side by side."""
    groups = list(dict.fromkeys(frame[by].to_list()))
    kept = frame.filter(frame[by].is_in(groups[:_MOST_GROUPS]))
    if "policy" in frame.columns:
        order = {group: place for place, group in enumerate(groups)}
        kept = kept.with_columns(kept[by].replace_strict(order).alias("_place")).sort(
            "_place", maintain_order=True
        )
    leading = (by, "policy") if "policy" in frame.columns else (by,)
    show_table(_table(kept.select(*leading, *_SHOWN), len(leading)))
    if len(groups) > _MOST_GROUPS:
        show_lines([f"{len(groups) - _MOST_GROUPS:,} more: see --json"], style="dim")


def show_costs(costs: dict[str, Cost]) -> None:
    """Print what the GPU hours of each policy cost, by type where there are several."""
    table = new_table()
    table.add_column("policy")
    for name in ("type", "price", "GPU hours held", "cost", "all GPU hours", "cost of all"):
        table.add_column(name, justify="right")
    for label, cost in costs.items():
        rows = cost.to_polars().rows()
        for row in rows:
            table.add_row(label, str(row[0]), *(f"{value:,.2f}" for value in row[1:]))
        if len(rows) > 1:
            hours = f"{cost.held_gpu_hours.sum():,.2f}", f"{cost.all_gpu_hours.sum():,.2f}"
            table.add_row(
                label, "all", "", hours[0], f"{cost.held:,.2f}", hours[1], f"{cost.total:,.2f}"
            )
    show_table(table)


def show_changes(comparison: Comparison, baseline: str) -> None:
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
                show_table(_table(found.head(_MOST_JOBS).select("job", *names), 2))
        show_table(_table(comparison.losers(label, baseline=baseline, by="gpus"), 1))


def breakdown_rows(frame: polars.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as plain values."""
    return frame.fill_nan(None).to_dicts()


def cost_values(cost: Cost) -> dict[str, Any]:
    """Return a cost as plain values."""
    return {"types": cost.to_polars().to_dicts(), "held": cost.held, "total": cost.total}


def change_values(comparison: Comparison, baseline: str) -> dict[str, Any]:
    """Return who lost and who won under each other policy as plain values."""
    return {
        label: {
            "baseline": baseline,
            "losers": comparison.losers(label, baseline=baseline).to_dicts(),
            "winners": comparison.winners(label, baseline=baseline).to_dicts(),
            "by_gpus": comparison.losers(label, baseline=baseline, by="gpus").to_dicts(),
        }
        for label in comparison.results
        if label != baseline
    }


def _table(frame: polars.DataFrame, num_names: int) -> Table:
    table = new_table()
    for place, name in enumerate(frame.columns):
        is_name = place < num_names and name != "job"
        table.add_column(_heading(name), justify="left" if is_name else "right")
    for row in frame.iter_rows(named=True):
        table.add_row(*(_text(name, row[name]) for name in frame.columns))
    return table


def _heading(column: str) -> str:
    for long, short in (("num_", ""), ("baseline_mean", "mean"), ("baseline_", ""), ("jct", "JCT")):
        column = column.replace(long, short)
    return (
        column.removesuffix("_s")
        .replace("policy_", "now ")
        .replace("gpu_h", "GPU h")
        .replace("_", " ")
    )


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
