"""The metrics by name. A new one is a row of :mod:`gpusched.results.metrics`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args

from gpusched.base.registry import Registry, among, told
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
        ``"main"`` (every table and the report), ``"wide"`` (tables of one run and with ``--wide``)
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
