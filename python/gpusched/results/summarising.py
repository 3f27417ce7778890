"""The metrics of a run, from those that are registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from gpusched.base.entry_points import load_entry_points
from gpusched.results.metric_registry import METRICS, Metric, metrics
from gpusched.results.run_facts import RunFacts

Summary: TypeAlias = dict[str, float | int | str | bool]
Named: TypeAlias = tuple[str, Callable[[RunFacts], Any]]

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
    load_entry_points()
    return _values(run, _summarised(METRICS.version, run.there, run.window is not None))


@lru_cache(maxsize=16)
def _summarised(version: int, there: frozenset[str], is_part: bool) -> tuple[Named, ...]:
    """Return the metrics of a summary that a run has; most runs have the same."""
    return tuple(
        (metric.key, metric.compute)
        for metric in metrics().values()
        if metric.is_default and _can_be(metric, is_part) and there.issuperset(metric.needs)
    )


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
    if not _can_be(metric, run.window is not None):
        raise ValueError(
            f"metric {key}: is of whole runs, and has no value after a warm-up or before a tail"
        )
    for need in metric.needs:
        if not run.has(need):
            raise ValueError(f"metric {key}: is defined only where {NEEDS[need]}")
    return _value(run, metric)


def computed(run: RunFacts, wanted: Iterable[Metric]) -> Summary:
    """Compute those of ``wanted`` of which the run, or its window, has what they need."""
    is_part = run.window is not None
    return _values(
        run,
        [
            (metric.key, metric.compute)
            for metric in wanted
            if _can_be(metric, is_part) and run.there.issuperset(metric.needs)
        ],
    )


def _can_be(metric: Metric, is_part: bool) -> bool:
    return not is_part or metric.is_of_parts


def _value(run: RunFacts, metric: Metric) -> float | int | str | bool:
    return _values(run, [(metric.key, metric.compute)])[metric.key]


def _values(run: RunFacts, wanted: Iterable[Named]) -> Summary:
    values: Summary = {}
    key = ""
    try:
        for key, compute in wanted:
            value: Any = compute(run)
            values[key] = value if type(value) in _PLAIN else _plain(key, value)
    except Exception as error:
        error.add_note(f"in the metric {key}")
        raise
    return values


def _plain(key: str, value: Any) -> float | int | str | bool:
    plain: Any = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, bool | int | float | str):
        raise TypeError(f"metric {key}: expected a number or a text, not {plain!r}")
    return plain
