"""What a cluster shall reach: ``p95_wait_s < 600 and utilisation > 50 %``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gpusched.base.wording import duration
from gpusched.results.metric_registry import METRICS

_OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SECONDS: Final = {"s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
_GOAL: Final = re.compile(
    r"\s*(?P<metric>\w+)\s*(?P<operator>[<>]=?)\s*(?P<bound>[-+.\w]*?)\s*(?P<unit>[A-Za-z]*|%)\s*"
)


@dataclass(frozen=True)
class Goal:
    """One metric and its bound.

    Attributes
    ----------
    metric
        A key of :func:`gpusched.metrics`.
    operator
        ``<``, ``<=``, ``>`` or ``>=``.
    bound
        In the unit of the metric: seconds, or a ratio.
    """

    metric: str
    operator: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Read one goal; errors as for :meth:`Goals.parse`."""
        found = _GOAL.fullmatch(text)
        if found is None:
            raise ValueError(
                f"goal: {text.strip()!r} is not of the form METRIC < NUMBER (or <=, >, >=)"
            )
        try:
            metric = METRICS.find(found["metric"])
        except ValueError as error:
            raise ValueError(f"goal: {error}") from None
        if metric.unit == "text":
            raise ValueError(f"goal: {metric.key} is a text, and has no bound")
        return cls(metric.key, found["operator"], _bound(text, found, metric.unit))

    def is_met(self, value: float) -> bool:
        """Whether ``value`` meets the bound; NaN, which is undefined, never does."""
        return not math.isnan(value) and _OPERATORS[self.operator](value, self.bound)

    def __str__(self) -> str:
        is_time = METRICS.find(self.metric).unit == "s" and self.bound >= 60
        said = f" ({duration(self.bound)})" if is_time else ""
        return f"{self.metric} {self.operator} {self.bound:g}{said}"


@dataclass(frozen=True)
class Goals:
    """Goals that shall all be met.

    Attributes
    ----------
    goals
        One or more.
    """

    goals: tuple[Goal, ...]

    @classmethod
    def parse(cls, text: str | Goals) -> Goals:
        """Read goals that are joined by ``and``.

        A time may have a unit (``10 min``: s, min, h or d), a ratio a percent sign.

        Returns
        -------
        Goals
            What was read; goals that were read before are returned as they are.

        Raises
        ------
        ValueError
            If a metric is unknown (the nearest is suggested) or a text, or the rest is no
            comparison with a number in a unit of the metric.
        TypeError
            If it is not text.
        """
        if isinstance(text, Goals):
            return text
        if not isinstance(text, str):
            raise TypeError(f"goal: expected text, not {text!r}")
        parts = re.split(r"\band\b", text, flags=re.IGNORECASE)
        return cls(tuple(Goal.parse(part) for part in parts))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, each once, in their order."""
        return tuple(dict.fromkeys(goal.metric for goal in self.goals))

    def check_of_parts(self) -> None:
        """Raise ValueError if a goal means nothing of a part of a run, such as its makespan."""
        for key in self.metrics:
            if not METRICS.find(key).is_of_parts:
                raise ValueError(
                    f"goal: {key} is of whole runs, and has no value after a warm-up or before "
                    "a tail"
                )

    def are_met(self, values: Mapping[str, float]) -> bool:
        """Whether the values of the metrics meet all goals."""
        return all(goal.is_met(values[goal.metric]) for goal in self.goals)

    def __str__(self) -> str:
        return " and ".join(map(str, self.goals))


def _bound(text: str, found: re.Match[str], kind: str) -> float:
    number, unit = found["bound"], found["unit"]
    try:
        if unit not in ("", "%", *_SECONDS):
            raise ValueError
        bound = float(number)
    except ValueError:
        said = (number + unit).strip()
        raise ValueError(f"goal: {text.strip()!r}: {said!r} is no number") from None
    if not math.isfinite(bound):
        raise ValueError(f"goal: {text.strip()!r}: the bound must be finite")
    if unit in _SECONDS:
        if kind != "s":
            raise ValueError(f"goal: {text.strip()!r}: {found['metric']} is no time")
        return bound * _SECONDS[unit]
    if unit == "%":
        if kind != "ratio":
            raise ValueError(f"goal: {text.strip()!r}: {found['metric']} is no ratio")
        return bound / 100
    return bound
