"""Traces to and from data frames; the frame libraries are imported on use only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.rejects import Screen
from gpusched.base.ticks import us_to_seconds
from gpusched.traces import checked_columns as check
from gpusched.traces.intake.column_choice import INTERARRIVAL, choose_columns
from gpusched.traces.job_columns import JOB_COLUMNS, JobColumn
from gpusched.traces.text_columns import cumulated, of_a_run
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

    data: dict[str, Any] = {}
    for column in JOB_COLUMNS.values():
        values = getattr(trace, column.stored)
        if values is not None:
            data[column.name] = _shown(trace, column, values)
        if column.name == "gpus":
            data["row"] = trace.row
    return polars.DataFrame(data)


def _shown(trace: TraceColumns, column: JobColumn, values: Any) -> Any:
    """Return a column of a trace in our units, as a column of a frame."""
    import polars

    if column.kind == "id":
        return values.tolist() if values.dtype.kind == "U" else values
    if column.kind == "label":
        return polars.Series(values.names, dtype=polars.String).gather(values.codes)
    if column.kind == "types":
        names = ["|".join(allowed) for allowed in trace.type_sets]
        return polars.Series(names, dtype=polars.String).gather(values)
    if column.kind == "model":
        names = [model.name for model in getattr(trace, f"{column.name}s")]
        return polars.Series(names, dtype=polars.String).gather(values)
    shown = polars.Series(values if column.units == 1 else values / column.units)
    return shown.set(polars.Series(values == column.default), None) if column.is_null else shown
