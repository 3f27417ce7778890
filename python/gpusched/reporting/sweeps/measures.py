"""A metric of runs: its name, its unit on an axis, and how its values are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from gpusched.base.wording import Kind, scale_of, written
from gpusched.results.metric_registry import METRICS


@dataclass(frozen=True)
class Measure:
    """A metric as pictures of a study show it.

    Attributes
    ----------
    key
        The column of the runs.
    label
        Its name in words.
    better
        ``"lower"``, ``"higher"`` or ``"neutral"``.
    """

    key: str
    label: str
    kind: Kind
    better: str

    def unit_for(self, values: Iterable[float]) -> tuple[float, str]:
        """Return the unit in which values read best: what one of it is, and its name."""
        return scale_of(self.kind, [value for value in values if math.isfinite(value)])

    def title(self, unit: str) -> str:
        """Return what an axis in this unit is called."""
        return f"{self.label} ({unit})" if unit else self.label

    def text(self, value: float) -> str:
        """Return a value as a person reads it."""
        return written(value, self.kind)


def plain(value: float, digits: int = 4) -> str:
    """Return a number with so many digits, but never with a power of ten for a large one."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def measure(key: str) -> Measure:
    """Return the metric of a column; one that is not registered is in seconds if it ends in _s."""
    known = METRICS.all().get(key)
    if known is not None:
        return Measure(key, known.label, known.kind, known.better)
    is_time = key.endswith("_s")
    label = key.removesuffix("_s").replace("_", " ")
    return Measure(key, label, "time" if is_time else "ratio", "neutral")
