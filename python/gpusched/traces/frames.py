"""Traces to and from data frames; the frame libraries are imported on use only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.rejects import Screen
from gpusched.base.ticks import us_to_seconds
from gpusched.traces import checked_columns as check
from gpusched.traces.elasticity import NO_LIMIT
from gpusched.traces.intake.arrivals import cumulated
from gpusched.traces.intake.column_choice import INTERARRIVAL, choose_columns
from gpusched.traces.intake.known_statuses import of_a_run
from gpusched.traces.trace_columns import TraceColumns

if TYPE_CHECKING:
    import polars


def columns_of_polars(
    frame: polars.DataFrame, mapped: Mapping[str, str] | None, *, models: Sequence[str] = ()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Take the columns of ``Trace.from_columns`` out of a Polars frame, and say what is left."""
    import polars

    if not isinstance(frame, polars.DataFrame):
        how = "call .collect() first" if isinstance(frame, polars.LazyFrame) else _other(frame)
        raise TypeError(f"frame: expected a polars.DataFrame, not {_type_of(frame)}; {how}")
    chosen = choose_columns(frame.columns, mapped, extra=models)
    taken = {ours: frame[theirs] for ours, theirs in chosen.columns.items()}
    notes = chosen.notes + _name_statuses(taken)
    return _with_submits(taken), notes


def columns_of_pandas(
    frame: Any, mapped: Mapping[str, str] | None, *, models: Sequence[str] = ()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Take the columns of ``Trace.from_columns`` out of a pandas frame, and say what is left."""
    if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
        raise TypeError(
            f"frame: expected a pandas.DataFrame, not {_type_of(frame)}; {_other(frame)}"
        )
    position = {str(name): place for place, name in enumerate(frame.columns)}
    if len(position) < len(frame.columns):
        twice = next(name for name in position if list(map(str, frame.columns)).count(name) > 1)
        raise ValueError(f"frame: there are two columns {twice!r}")
    chosen = choose_columns(list(position), mapped, extra=models)
    taken = {ours: frame.iloc[:, position[theirs]] for ours, theirs in chosen.columns.items()}
    notes = chosen.notes + _name_statuses(taken)
    return _with_submits(taken), notes


def _name_statuses(taken: dict[str, Any]) -> tuple[str, ...]:
    """Put statuses of ours in the place of those of a run, and say so."""
    if "status" not in taken:
        return ()
    given = taken["status"]
    taken["status"], notes = of_a_run(check.labels("status", given, len(given)))
    return notes


def _with_submits(taken: dict[str, Any]) -> dict[str, Any]:
    """Put submit times in the place of gaps between them."""
    if INTERARRIVAL not in taken:
        return taken
    gaps = check.numbers(INTERARRIVAL, taken.pop(INTERARRIVAL))
    screen = Screen("columns", np.arange(len(gaps), dtype=np.int64))
    return {"submit_s": us_to_seconds(cumulated(screen, INTERARRIVAL, gaps)), **taken}


def _type_of(frame: Any) -> str:
    return f"{type(frame).__module__.partition('.')[0]}.{type(frame).__qualname__}"


def _other(frame: Any) -> str:
    """Say how something that is no frame of this kind becomes a trace."""
    library = type(frame).__module__.partition(".")[0]
    return {
        "pandas": "see Trace.from_pandas",
        "polars": "see Trace.from_polars",
        "pyarrow": "polars.from_arrow makes one of an Arrow table",
    }.get(library, "see Trace.from_columns")


def polars_of(trace: TraceColumns) -> polars.DataFrame:
    """Return the trace under the names of ``Trace.from_columns``, and ``row``."""
    import polars

    data: dict[str, Any] = {
        "id": trace.id.tolist() if trace.id.dtype.kind == "U" else trace.id,
        "submit_s": trace.submit_s,
        "service_s": trace.service_s,
        "gpus": trace.gpus,
        "row": trace.row,
    }
    for column in ("estimate", "predicted", "checkpoint", "restart", "source_wait"):
        ticks = getattr(trace, f"{column}_us")
        if ticks is not None:
            seconds = np.where(ticks == check.NOT_GIVEN, np.nan, us_to_seconds(ticks))
            data[f"{column}_s"] = polars.Series(seconds, nan_to_null=True)
    for column in ("weight", "gpu_share", "cpu", "memory_gib", "value", "min_gpus"):
        if getattr(trace, column) is not None:
            data[column] = getattr(trace, column)
    if trace.deadline_s is not None:
        data["deadline_s"] = polars.Series(trace.deadline_s, nan_to_null=True)
    if trace.max_gpus is not None:
        is_open = trace.max_gpus == NO_LIMIT
        data["max_gpus"] = polars.Series(trace.max_gpus).set(polars.Series(is_open), None)
    for column in check.LABELS:
        labels = getattr(trace, column)
        if labels is not None:
            names = polars.Series(labels.names, dtype=polars.String)
            data[column] = names.gather(labels.codes)
    if trace.type_set is not None:
        sets = polars.Series(["|".join(names) for names in trace.type_sets], dtype=polars.String)
        data["gpu_types"] = sets.gather(trace.type_set)
    for column, models in (("profile", trace.profiles), ("graph", trace.graphs)):
        index = getattr(trace, column)
        if index is not None:
            names = polars.Series([model.name for model in models], dtype=polars.String)
            data[column] = names.gather(index)
    return polars.DataFrame(data)
