"""Traces to and from data frames; the frame libraries are imported on use only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.suggest import nearest
from gpusched.base.ticks import us_to_seconds
from gpusched.traces import checked_columns as check
from gpusched.traces.elasticity import NO_LIMIT
from gpusched.traces.trace_columns import TraceColumns

if TYPE_CHECKING:
    import polars


def columns_of_polars(
    frame: polars.DataFrame, mapped: Mapping[str, str] | None, *, models: Sequence[str] = ()
) -> dict[str, Any]:
    """Take the columns of ``Trace.from_columns`` out of a Polars frame."""
    import polars

    if not isinstance(frame, polars.DataFrame):
        how = "call .collect() first" if isinstance(frame, polars.LazyFrame) else _other(frame)
        raise TypeError(f"frame: expected a polars.DataFrame, not {_type_of(frame)}; {how}")
    chosen = column_map(frame.columns, mapped, extra=models)
    return {ours: frame[theirs] for ours, theirs in chosen.items()}


def columns_of_pandas(
    frame: Any, mapped: Mapping[str, str] | None, *, models: Sequence[str] = ()
) -> dict[str, Any]:
    """Take the columns of ``Trace.from_columns`` out of a pandas frame."""
    if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
        raise TypeError(
            f"frame: expected a pandas.DataFrame, not {_type_of(frame)}; {_other(frame)}"
        )
    position = {str(name): place for place, name in enumerate(frame.columns)}
    if len(position) < len(frame.columns):
        twice = next(name for name in position if list(map(str, frame.columns)).count(name) > 1)
        raise ValueError(f"frame: there are two columns {twice!r}")
    chosen = column_map(list(position), mapped, extra=models)
    return {ours: frame.iloc[:, position[theirs]] for ours, theirs in chosen.items()}


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


def column_map(
    present: Sequence[str],
    mapped: Mapping[str, str] | None,
    *,
    aliases: Mapping[str, Sequence[str]] | None = None,
    source: str = "columns",
    extra: Sequence[str] = (),
) -> dict[str, str]:
    """Return the input's column for each of ours: the given map, then equal names, then aliases.

    Ours are those of every trace, and ``extra`` ones.

    Raises
    ------
    ValueError
        If the map names a column that does not exist, on either side, or a required one is
        missing.
    """
    chosen = dict(mapped or {})
    every = (*check.ALL, *extra)
    for ours, theirs in chosen.items():
        if ours not in every:
            raise ValueError(f"columns: unknown name {ours!r}{nearest(ours, every)}")
        if theirs not in present:
            raise ValueError(f"{source}: no column {theirs!r} for {ours}{nearest(theirs, present)}")
    for ours in every:
        names = (ours, *(aliases or {}).get(ours, ()))
        found = [name for name in names if name in present and name not in chosen.values()]
        if ours not in chosen and found:
            chosen[ours] = found[0]
    for ours in check.REQUIRED:
        if ours not in chosen:
            raise ValueError(
                f"{source}: column {ours!r} is missing; there are {', '.join(present)} "
                f"(name yours with columns={{{ours!r}: ...}})"
            )
    return chosen


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
