"""What ``run`` and ``compare`` show instead of metrics: groups, costs, losers and winners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from gpusched.base.tables import Column, Table, table
from gpusched.base.wording import Kind, plural
from gpusched.cli.console import show_lines, show_table, stdout, table_width
from gpusched.results.metric_registry import metrics

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


def fitted(made: Table) -> Table:
    """Transpose a table that is too wide for the terminal, or omit metrics and name them."""
    width = stdout().width
    if table_width(made) <= width:
        return made
    if table_width(made.transposed()) <= width:
        return made.transposed()
    known, hidden = metrics(), list[str]()
    ways = [(known[c.key].gives_way, c.key, c.name) for c in made.columns if c.key in known]
    for _, key, name in sorted(way for way in ways if way[0] is not None):
        if table_width(made) <= width:
            break
        made = made.without({key})
        hidden.append(name)
        if table_width(made) <= width:
            break
    return replace(made, notes=(*made.notes, f"--wide shows {', '.join(hidden)} too"))


class Answers(msgspec.Struct, frozen=True):
    """What replaces the table of metrics: breakdowns, costs, losers and winners."""

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
        """Compute the answers for each policy of a comparison."""
        results = comparison.results
        costs = {} if prices is None else {name: run.cost(prices) for name, run in results.items()}
        groups = {by: comparison.by(by) for by in groupings} if results else {}
        return cls(groups, costs, baseline if baseline in results else None)

    def __bool__(self) -> bool:
        return bool(self.groups or self.costs or self.baseline is not None)

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
    """Print a breakdown of a result, or of a comparison with its policies side by side."""
    leading = (by, "policy") if "policy" in frame.columns else (by,)
    groups = list(dict.fromkeys(frame[by].to_list()))
    order = {group: place for place, group in enumerate(groups)}
    place = frame[by].replace_strict(order).alias("_place")
    ordered = frame.with_columns(place).sort("_place", maintain_order=True)
    most = _MOST_GROUPS * len(frame) // max(1, len(groups))
    made = _of_frame(ordered.select(*leading, *_SHOWN), len(leading))
    show_table(made, layout=lambda every: replace(every, rows=every.rows[:most]))
    if len(groups) > _MOST_GROUPS:
        show_lines([f"{len(groups) - _MOST_GROUPS:,} more: see --as csv"], style="dim")


def _costs(costs: Mapping[str, Cost]) -> Table:
    """Lay out the cost of each policy's GPU hours, by type if there are several."""
    body: list[list[str | float | None]] = []
    for label, cost in costs.items():
        rows = cost.to_polars().rows()
        body += [[label, *row] for row in rows]
        if len(rows) > 1:
            held, every = cost.held_gpu_hours.sum(), cost.all_gpu_hours.sum()
            body.append([label, "all", "", float(held), cost.held, float(every), cost.total])
    names = ("policy", "type", "price", "GPU hours held", "cost", "all GPU hours", "cost of all")
    columns = [Column(name, kind="count", is_text=at < 2) for at, name in enumerate(names)]
    return table("", columns, body)


def _show_changes(comparison: Comparison, baseline: str) -> None:
    """Print the largest losers and winners of each other policy, and the changes by job size."""
    for label in comparison.results:
        if label == baseline:
            continue
        for title, found, side in (
            ("lost", comparison.losers(label, baseline=baseline, limit=None), "lost_s"),
            ("won", comparison.winners(label, baseline=baseline, limit=None), "won_s"),
        ):
            names = [name for name in (*_JOB_COLUMNS, side) if name in found.columns]
            told = f"{label} after {baseline}: {plural(len(found), 'job')} {title}"
            if len(found):
                show_table(_of_frame(found.head(_MOST_JOBS).select("job", *names), 2, told))
            else:
                show_lines(["", told], style="bold")
        told = f"{label} after {baseline}, by GPUs"
        show_table(_of_frame(comparison.losers(label, baseline=baseline, by="gpus"), 1, told))


def _of_frame(frame: polars.DataFrame, num_names: int, title: str = "") -> Table:
    """Lay out a frame; its first ``num_names`` columns, except job numbers, are names."""
    columns: list[Column] = []
    for place, name in enumerate(frame.columns):
        shown = name.removesuffix("_s")
        for long, short in _SHORTER.items():
            shown = shown.replace(long, short)
        is_name = place < num_names and name != "job"
        is_id = name in ("job", "id")
        kind: Kind = "time" if name.endswith("_s") else "text" if is_id else "count"
        columns.append(Column(shown, kind=kind, key=name, is_text=is_name))
    return table(title, columns, frame.iter_rows())
