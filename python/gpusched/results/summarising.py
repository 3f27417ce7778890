"""The metrics of a run, from those that are registered."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from gpusched.results.metric_registry import METRICS, Metric, metrics
from gpusched.results.run_facts import RunFacts

Summary: TypeAlias = dict[str, float | int | str | bool]

_PLAIN: Final = frozenset({bool, int, float, str})


def summarise(run: RunFacts) -> Summary:
    """Compute every metric of a summary of which the run has what it needs.

    In a window those are left out that mean nothing of a part of a run, such as bounds.

    Times are seconds, ``gap`` and ``makespan_gap`` are ratios (0.12 is 12 %). What is undefined
    because no job finished is NaN.

    Raises
    ------
    TypeError
        If a metric gives neither a number nor a text.
    """
    metrics()  # loads those of other packages
    return computed(run, _by_default(METRICS.version))


@lru_cache(maxsize=1)
def _by_default(version: int) -> tuple[Metric, ...]:
    return tuple(metric for metric in metrics().values() if metric.is_default)


def metric_of(run: RunFacts, key: str) -> float | int | str | bool:
    """Compute one metric.

    Raises
    ------
    ValueError
        If it is unknown (the nearest is suggested), the run lacks what it needs, or it means
        nothing of a part of a run.
    """
    from gpusched.results.metric_registry import NEEDS

    metric = METRICS.find(key)
    if not _can_be(run, metric):
        raise ValueError(
            f"metric {key}: is of whole runs, and has no value after a warm-up or before a tail"
        )
    for need in metric.needs:
        if not run.has(need):
            raise ValueError(f"metric {key}: is defined only where {NEEDS[need]}")
    return _value(run, metric)


def computed(run: RunFacts, wanted: Iterable[Metric]) -> Summary:
    """Compute those of ``wanted`` of which the run, or its window, has what they need."""
    return {
        metric.key: _value(run, metric)
        for metric in wanted
        if _can_be(run, metric) and (not metric.needs or all(map(run.has, metric.needs)))
    }


def _can_be(run: RunFacts, metric: Metric) -> bool:
    return run.window is None or metric.is_of_parts


def _value(run: RunFacts, metric: Metric) -> float | int | str | bool:
    try:
        value: Any = metric.compute(run)
    except Exception as error:
        error.add_note(f"in the metric {metric.key}")
        raise
    if type(value) in _PLAIN:
        plain: float | int | str | bool = value
        return plain
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float | str):
        raise TypeError(f"metric {metric.key}: expected a number or a text, not {value!r}")
    return value
