"""A metric of runs: its name, its unit on an axis, and its number format."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpusched.base.wording import Kind, written
from gpusched.results.metric_registry import METRICS


@dataclass(frozen=True)
class Measure:
    """A metric in charts of a study.

    ``key``: the column of the runs.
    ``label``: its name in words.
    ``better``: ``"lower"``, ``"higher"`` or ``"neutral"``.
    """

    key: str
    label: str
    kind: Kind
    better: str

    def title(self, unit: str) -> str:
        """Return the title of an axis in this unit."""
        return f"{self.label} ({unit})" if unit else self.label

    def text(self, value: float) -> str:
        """Format a value for reading."""
        return written(value, self.kind)


def plain(value: float, digits: int = 4) -> str:
    """Format a number to so many digits, without powers of ten for large ones."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def measure(key: str) -> Measure:
    """Return the metric of a column; an unregistered one is in seconds if it ends in _s."""
    known = METRICS.all().get(key)
    if known is not None:
        return Measure(key, known.label, known.kind, known.better)
    is_time = key.endswith("_s")
    label = key.removesuffix("_s").replace("_", " ")
    return Measure(key, label, "time" if is_time else "ratio", "neutral")
