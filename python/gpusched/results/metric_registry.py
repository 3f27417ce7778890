"""The registry of metrics. To add one, add a row to :mod:`gpusched.results.metrics`."""

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
    "GPU s": "count", "text": "text",
}  # fmt: skip
"""Units and their default format in tables."""
BETTER: Final = ("lower", "higher", "neutral")
OF_FAILURES: Final = "failures"
OF_HOLDS: Final = "holds"
GROUPS: Final = ("jobs", OF_HOLDS, "cluster", OF_FAILURES, "run")
NEEDS: Final[dict[str, str]] = {
    "deadlines": "the trace has deadlines",
    "admissions": "the policy decides on admission and the trace has deadlines",
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
    "failures": "the run has outages, time limits or checkpoints",
    "holds": "jobs can be held or have a cancel time",
}
"""What a metric may need; without it, the metric is left out."""


@dataclass(frozen=True)
class Metric:
    """An entry of ``Result.summary()``.

    Attributes
    ----------
    key
        Its key in the summary.
    unit
        ``"s"``, ``"ratio"``, ``"count"``, ``"1/s"``, ``"GPU h"``, ``"GPU s"`` or ``"text"``.
    summary
        Description in one sentence.
    definition
        Formula, in the symbols of docs/reference/metrics.md; empty if the summary is enough.
    source
        Publication that defined it; empty if it is common in the field.
    better
        ``"lower"``, ``"higher"`` or ``"neutral"``.
    needs
        Names of :data:`NEEDS`; if one is missing, the metric is left out.
    compute
        Computes the value from a :class:`~gpusched.results.run_facts.RunFacts`; NaN if undefined.
    is_default
        Whether it is part of ``Result.summary()``.
    label
        Heading in tables.
    short
        Heading of narrow columns, with ``|`` for line breaks.
    kind
        Format in tables.
    group
        Metrics of one group are adjacent.
    table
        ``"main"`` (every table and the report), ``"wide"`` (with ``--wide``)
        or ``"none"``.
    window
        What it covers in a part of a run, see :meth:`gpusched.Result.summary`: ``"jobs"`` (jobs
        submitted in it), ``"time"`` (its time), ``"run"`` (still the whole run) or ``"none"``
        (left out).
    rank, place
        Its order in a summary, and in tables.
    gives_way
        Order in which metrics are dropped from a too wide table, lowest first; None: never.
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
        """Whether it covers finished jobs only."""
        if self.key in _OF_FINISHED:
            return True
        is_of_jobs = self.group == self.window == "jobs" and self.table != "none"
        return is_of_jobs and not {"deadlines", "admissions"} & {*self.needs}


_OF_FINISHED: Final = ("lower_bound_mean_jct_s", "gap", "completion_ratio", "ettr", "ettr_queue")

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

    The function takes the :class:`~gpusched.results.run_facts.RunFacts` of a run and returns a
    number (NaN if undefined) or a text.

    Parameters
    ----------
    key, unit, summary, better, kind, needs, label, short, table, group, definition, source
        Fields of :class:`~gpusched.results.metric_registry.Metric`, as are the others. Default of
        ``label``: the key with blanks; of ``kind``: by the unit.

    Returns
    -------
    callable
        A decorator that returns the function unchanged.

    Raises
    ------
    ValueError
        If the name is taken, the summary is empty or a field has an unknown value. TypeError if
        a field is unknown.

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
    """Return every metric by its key, in the order of ``Result.summary()``.

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
    """Compute every metric of a summary whose needs the run meets.

    A window leaves out metrics that need a whole run, such as bounds.

    Times are seconds, ``gap`` and ``makespan_gap`` are ratios (0.12 is 12%). Metrics of finished
    jobs are NaN if no job finished.
    """
    load_entry_points()
    return _values(run, _summarised(METRICS.version, run.there, run.window is not None))


@lru_cache(maxsize=16)
def _summarised(version: int, there: frozenset[str], is_part: bool) -> tuple[Named, ...]:
    """Return the metrics of a run's summary; cached, as most runs have the same."""
    return tuple(
        (metric.key, metric.compute)
        for metric in metrics().values()
        if metric.is_default and _can_be(metric, is_part) and there.issuperset(metric.needs)
    )


def metric_of(run: RunFacts, key: str) -> float | int | str | bool:
    """Compute one metric."""
    metric = METRICS.find(key)
    if not _can_be(metric, run.window is not None):
        raise ValueError(
            f"metric {key}: is defined for whole runs only; omit the warm-up and the tail"
        )
    for need in metric.needs:
        if not run.has(need):
            raise ValueError(f"metric {key}: is defined only where {NEEDS[need]}")
    return _value(run, metric)


def computed(run: RunFacts, wanted: Iterable[Metric]) -> Summary:
    """Compute the metrics of ``wanted`` that are defined for the run or its window."""
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
