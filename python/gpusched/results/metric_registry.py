"""The metrics by name. A new one is a row of :mod:`gpusched.results.metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from gpusched.base.registry import Registry, among, load_entry_points, told
from gpusched.base.wording import Kind

if TYPE_CHECKING:
    from gpusched.results.run_facts import RunFacts

Table = Literal["main", "wide", "none"]
Window = Literal["jobs", "time", "run", "none"]
OF_PARTS: Final = ("jobs", "time", "run")
_Compute = TypeVar("_Compute", bound="Callable[[RunFacts], Any]")

UNITS: Final[dict[str, Kind]] = {
    "s": "time", "ratio": "ratio", "count": "count", "1/s": "rate", "GPU h": "count",
    "text": "text",
}  # fmt: skip
"""Units, and how a table writes them unless the metric says otherwise."""
BETTER: Final = ("lower", "higher", "neutral")
GROUPS: Final = ("jobs", "cluster", "run")
NEEDS: Final[dict[str, str]] = {
    "deadlines": "the trace has deadlines",
    "admissions": "the policy admits jobs, of a trace with deadlines",
    "contention": "run times depend on the placement",
    "predictions": "the run had predictions",
    "clock": "the run was timed",
    "users": "the trace has users",
    "tenants": "the trace has users or queues",
    "queues": "the trace has queues",
    "groups": "the trace has groups",
    "weights": "the trace has weights",
    "values": "the trace has values",
    "profiles": "the trace has profiles",
    "estimates": "the trace has estimates",
}
"""What a metric may need of a run: it is left out where that is not there."""


@dataclass(frozen=True)
class Metric:
    """An entry of ``Result.summary()``.

    Attributes
    ----------
    key
        Its name there.
    unit
        ``"s"``, ``"ratio"``, ``"count"``, ``"1/s"``, ``"GPU h"`` or ``"text"``.
    summary
        What it is, in a sentence.
    definition
        The formula, in the symbols of docs/reference/metrics.md; empty: the summary says it.
    source
        Where it was defined; empty: the field's common one.
    better
        ``"lower"``, ``"higher"`` or ``"neutral"``.
    needs
        Names of :data:`NEEDS`; where one is not there, the metric is left out.
    compute
        Gives the value for a :class:`~gpusched.results.run_facts.RunFacts`; NaN if undefined.
    is_default
        Whether it stands in ``Result.summary()`` without being asked for.
    label
        In tables.
    short
        The label where room is scarce, with ``|`` where its lines break.
    kind
        How tables write it.
    group
        Metrics of one group stand together.
    table
        ``"main"`` (every table and the report), ``"wide"`` (with ``--wide``)
        or ``"none"``.
    window
        What it is of a part of a run, see :meth:`gpusched.Result.summary`: ``"jobs"`` (of the jobs
        that are submitted in it), ``"time"`` (over its time), ``"run"`` (of the whole run all the
        same) or ``"none"`` (it is left out there).
    rank, place
        Its order in a summary, and in tables.
    gives_way
        Where a table is too wide the metrics with the least number go first; None: it stays.
    """

    key: str
    unit: str
    summary: str
    better: str
    compute: Callable[[RunFacts], Any]
    definition: str
    source: str
    needs: tuple[str, ...]
    is_default: bool
    label: str
    short: str
    kind: Kind
    group: str
    table: Table
    window: Window
    rank: int
    place: int
    gives_way: int | None

    @property
    def is_of_parts(self) -> bool:
        """Whether it has a value for a part of a run."""
        return self.window in OF_PARTS

    @property
    def is_of_finished(self) -> bool:
        """Whether it is of the jobs that finish, and says nothing of others."""
        if self.key in _OF_FINISHED:
            return True
        is_of_jobs = self.group == self.window == "jobs" and self.table != "none"
        return is_of_jobs and not {"deadlines", "admissions"} & {*self.needs}


_OF_FINISHED: Final = ("lower_bound_mean_jct_s", "gap", "completion_ratio")

METRICS: Final[Registry[Metric]] = Registry(
    "metric", "gpusched.results.metrics", order=lambda metric: metric.rank
)


def register_metric(
    key: str,
    *,
    unit: str,
    summary: str,
    better: str = "neutral",
    kind: Kind | None = None,
    needs: Sequence[str] = (),
    label: str = "",
    short: str = "",
    table: Table = "wide",
    group: str = "jobs",
    definition: str = "",
    source: str = "",
    is_default: bool = True,
    window: Window = "none",
    rank: int = 600,
    place: int = 5_000,
    gives_way: int | None = 0,
) -> Callable[[_Compute], _Compute]:
    """Register a function as the metric ``key`` of ``Result.summary()``.

    It takes the :class:`~gpusched.results.run_facts.RunFacts` of a run and returns a number (NaN
    if it is undefined) or a text.

    Parameters
    ----------
    key, unit, summary, better, kind, needs, label, short, table, group, definition, source
        The fields of :class:`~gpusched.results.metric_registry.Metric`, as are the others. Without
        a label it is the key with blanks, without ``kind`` the unit says how tables write the
        value.

    Returns
    -------
    callable
        A decorator, which returns the function as it is.

    Raises
    ------
    ValueError
        If the name is taken, the summary empty or a field has a value that is not known. TypeError
        if there is no such field.

    Examples
    --------
    >>> @gs.register_metric("num_wide", unit="count", summary="Jobs of several servers.")
    ... def num_wide(run):
    ...     return int((run.trace.gpus > 8).sum())
    >>> gs.metrics()["num_wide"].summary
    'Jobs of several servers.'
    """
    fields: dict[str, Any] = dict(locals())
    METRICS.check_name(key)
    told("metric", key, summary=summary)
    for field, value, allowed in (
        ("unit", unit, UNITS),
        ("direction", better, BETTER),
        ("table", table, get_args(Table)),
        ("group", group, GROUPS),
        ("window", window, get_args(Window)),
        *(("need", need, NEEDS) for need in needs),
        *([] if kind is None else [("kind", kind, get_args(Kind))]),
    ):
        among("metric", key, field, value, allowed)
    label = label or key.removesuffix("_s").replace("_", " ")
    fields.update(
        needs=tuple(needs), label=label, short=short or label.replace(" ", "|", 1),
        kind=kind or UNITS[unit], table="none" if unit == "text" else table,
    )  # fmt: skip

    def register(compute: _Compute) -> _Compute:
        METRICS.add(key, Metric(**fields, compute=compute))
        return compute

    return register


def metrics() -> dict[str, Metric]:
    """Every metric by its key, in the order of ``Result.summary()``.

    Returns
    -------
    dict
        A :class:`~gpusched.results.metric_registry.Metric` for each key.

    Warns
    -----
    PluginWarning
        If a package that extends gpusched could not be loaded.

    Examples
    --------
    >>> gs.metrics()["mean_jct_s"].unit
    's'
    """
    return METRICS.all()


Summary: TypeAlias = dict[str, float | int | str | bool]
Named: TypeAlias = "tuple[str, Callable[[RunFacts], Any]]"

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
