"""What ``gpusched compare`` was asked beside its table: groups, costs, who lost and who won."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpusched.cli.answer_tables import (
    breakdown_rows,
    change_values,
    cost_values,
    show_breakdown,
    show_changes,
    show_costs,
)

if TYPE_CHECKING:
    from gpusched.results.cost import Cost
    from gpusched.studies.comparison_result import Comparison


@dataclass(frozen=True)
class Answers:
    """What was asked for beside the table."""

    groups: dict[str, Any]
    costs: dict[str, Cost]
    baseline: str | None

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        groupings: Sequence[str],
        prices: float | dict[str, float] | None,
        baseline: str | None,
    ) -> Answers:
        results = comparison.results
        costs = {} if prices is None else {name: run.cost(prices) for name, run in results.items()}
        groups = {by: comparison.by(by) for by in groupings} if results else {}
        return cls(groups, costs, baseline if baseline in results else None)

    def values(self, comparison: Comparison) -> dict[str, Any]:
        extra: dict[str, Any] = {}
        if self.groups:
            extra["by"] = {by: breakdown_rows(frame) for by, frame in self.groups.items()}
        if self.costs:
            extra["cost"] = {label: cost_values(cost) for label, cost in self.costs.items()}
        if self.baseline is not None:
            extra["losers"] = change_values(comparison, self.baseline)
        return extra

    def show(self, comparison: Comparison) -> None:
        for by, frame in self.groups.items():
            show_breakdown(frame, by)
        if self.costs:
            show_costs(self.costs)
        if self.baseline is not None:
            show_changes(comparison, self.baseline)
