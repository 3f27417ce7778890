"""Generic JSON: an array of objects, or one object per line (NDJSON)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from gpusched.base.files import MAX_COLUMNS
from gpusched.base.libraries import polars
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.formats.generic import OPTIONS, Opened, reader_of
from gpusched.traces.intake.column_choice import (
    ALIASES,
    INTERARRIVAL,
    MORE_ALIASES,
    START,
    words_of,
)
from gpusched.traces.json_records import read_entries

_ARRIVALS: Final = frozenset(
    "".join(words_of(name))
    for ours in ("submit_s", INTERARRIVAL, START)
    for name in (ours, "submit_ms", *ALIASES[ours], *MORE_ALIASES.get(ours, ()))
)


def _open(source: Source, _: object) -> Opened:
    """Read an array of objects, or objects in sequence; missing and null fields are empty."""
    found = read_entries(source)
    names = dict.fromkeys(name for record in found.records for name in record)
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"{source}: {len(names):,} fields; at most {MAX_COLUMNS:,} are allowed")
    data = {name: _column([record.get(name) for record in found.records]) for name in names}
    return found.screen(), data, ()


def _column(values: list[Any]) -> polars.Series:
    """Return a column; values of several types become texts."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {str}:
        return polars.Series(values, dtype=polars.String)
    if kinds <= {int, float}:
        dtype = polars.Float64 if float in kinds else polars.Int64
        return polars.Series(values, dtype=dtype, strict=False)
    if kinds == {list} and all(isinstance(part, str) for value in values for part in value or ()):
        return polars.Series(values, dtype=polars.List(polars.String))
    texts = [
        value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()
        for value in values
    ]
    return polars.Series(texts, dtype=polars.String)


def recognises(source: Source) -> bool:
    """Whether a file is an array, or its first line an object with an arrival time."""
    if source.data[:1] == b"[" or source.first_line.lstrip().startswith("["):
        return True
    try:
        first = msgspec.json.decode(source.first_line.encode(), type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return False
    return any("".join(words_of(name)) in _ARRIVALS for name in first)


register_trace_format(
    TraceFormat(
        name="json",
        summary="Any JSON array or lines of objects.",
        source="Any.",
        detection="a JSON array, or lines of objects that have a submission",
        recognises=recognises,
        read=reader_of(_open),
        excerpt=text_file(
            "jobs.json",
            '[{"submit_s": 0, "service_s": 3600, "gpus": 8, "user": "ann"},',
            ' {"submit_s": 5.5, "service_s": 60, "gpus": 1}]',
        ),
        options=OPTIONS,
        rank=8,
    )
)
