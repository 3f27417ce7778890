"""Shared code of the generic readers: build a schema from the matched columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from gpusched.base.libraries import polars
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import UNITS
from gpusched.traces import checked_columns as check
from gpusched.traces.intake.column_choice import (
    ALIASES,
    END,
    INTERARRIVAL,
    START,
    choose_columns,
    unused_note,
    words_of,
)
from gpusched.traces.intake.text_schema import Kind, ReadColumns, Span, TextColumn, trace_of
from gpusched.traces.intake.wall_clock import date_order as find_date_order
from gpusched.traces.intake.wall_clock import plain_dates
from gpusched.traces.job_columns import JOB_COLUMNS
from gpusched.traces.workload import Trace

_OPTIONAL: Final = (*(name for name, known in JOB_COLUMNS.items() if known.may_miss), START, END)
_MOMENTS: Final = (
    "submit_s", START, END,
    *(name for name, known in JOB_COLUMNS.items() if known.kind == "moment" and known.may_miss),
)  # fmt: skip
_KINDS: Final[dict[str, Kind]] = {
    INTERARRIVAL: "gap", **dict.fromkeys(_MOMENTS, "moment"),
    **dict.fromkeys(check.LABELS, "label"), "status": "status", "gpu_types": "types", "id": "id",
}  # fmt: skip
_ORDER: Final = (INTERARRIVAL, *check.NUMERIC, START, END, *check.LABELS, "gpu_types", "id")
_MAY_BE_UNKNOWN: Final = (START, END, "eligible_s", "time_limit_s")
_UNKNOWN: Final = (
    r"(?i)^\s*(?:unknown|none|null|nan|n/a|invalid|unlimited|infinite|partition_limit)\s*$"
)
"""Texts for an unknown time, or for no limit."""
_PER_NODE: Final = {"gpuspernode", "gpupernode", "numgpuspernode", "gpusperserver", "gpuperserver"}
OPTIONS: Final = ("columns", "date_order")

Opened = tuple[Screen, Mapping[str, "polars.Series"], tuple[str, ...]]
"""The screen for the rows of a file, its columns, and notes."""


def reader_of(
    open_table: Callable[[Source, Mapping[str, str] | None], Opened],
) -> Callable[..., Trace]:
    """Return a reader of files with named columns, given a function that opens them."""

    def read(
        source: Source,
        *,
        on_bad: OnBad,
        columns: Mapping[str, str] | None = None,
        date_order: str | None = None,
    ) -> Trace:
        """Read a file with named columns.

        ``columns``: the file's column for each of gpusched's names, e.g. ``{"service_s":
            "length"}``.
        ``date_order``: ``"dmy"`` or ``"mdy"``, if dates end in the year and no date shows the
            order.
        """
        screen, data, notes = open_table(source, columns)
        return read_columns(source, screen, data, columns, on_bad, notes, date_order=date_order)

    return read


def read_columns(
    source: Source,
    screen: Screen,
    data: Mapping[str, polars.Series],
    columns: Mapping[str, str] | None,
    on_bad: OnBad,
    notes: tuple[str, ...] = (),
    *,
    date_order: str | None = None,
) -> Trace:
    """Convert named columns to a trace; submit times may be seconds, wall-clock times or gaps.

    If submissions are wall-clock times, starts, ends and deadlines may be, too; seconds then count
    from 1970.

    ``date_order``: ``"dmy"`` or ``"mdy"``, if dates end in the year and no date shows the order.
    """
    data, columns, parts = _with_expressions(source, data, columns or {})
    present = [name for name in data if name not in parts]
    choice = choose_columns(present, columns, source=str(source), of_file=True)
    chosen = choice.columns
    said = _understand_dates(source, data, chosen, date_order)
    read = ReadColumns(screen, data)
    for ours in _ORDER:
        if ours in chosen:
            column = _declared(chosen[ours], ours)
            read.take(column)
            if column.unit != 1 and not said.get(column.name):
                said[column.name] = f"x {column.unit:g}"
    origins = _derive_times(read, chosen)
    understood = _understood(chosen, columns, said, origins)
    per_node = _judge_per_node(read)
    read.notes = (*understood, *unused_note(choice.unused), *per_node, *notes, *read.notes)
    return trace_of(source.name, read, on_bad)


def _understand_dates(
    source: Source,
    data: dict[str, polars.Series],
    chosen: Mapping[str, str],
    order: str | None,
) -> dict[str, str]:
    """Convert the dates of a file to one form; return their original form by column.

    Numbers may count from 1970, unless the name of the submit column says plain seconds.
    """
    times: dict[str, str] = {}
    for ours in _MOMENTS:
        if ours in chosen:
            times.setdefault(chosen[ours], ours)
    for label in {chosen[ours] for ours in _MAY_BE_UNKNOWN if ours in chosen}:
        if str(data[label].dtype) == "String" and times.get(label) != "submit_s":
            data[label] = data[label].str.replace(_UNKNOWN, "")
    order = find_date_order(str(source), {label: data[label] for label in times}, order)
    said = {}
    may_count = chosen.get("submit_s", "submit_s") != "submit_s"
    for label in times:
        unit = _unit_of(label) if may_count else 0
        data[label], said[label] = plain_dates(data[label], order, unit)
    return said


def _derive_times(read: ReadColumns, chosen: Mapping[str, str]) -> dict[str, str]:
    """Derive run times and waits from starts and ends; return from which columns."""
    start, end, submit = (chosen.get(ours, "") for ours in (START, END, "submit_s"))
    screen, numeric, made = read.screen, read.numeric, {}
    if "service_s" not in chosen:
        good = screen.require(read.is_given(start), START, "must not be empty")
        good = screen.require(read.is_given(end), END, "must not be empty")
        span = read.take_span(Span("service_s", end, start))
        screen.require((span >= 0) | ~good, END, f"must not be before {start!r}")
        made["service_s"] = f"{end!r} - {start!r}"
    if submit and submit == end and start != end:
        made["submit_s"] = f"{end!r} - {chosen['service_s']!r}"
        if "submit_us" in numeric:
            service_us = np.nan_to_num(numeric["service_s"]) * US_PER_S
            numeric["submit_us"] = numeric["submit_us"] - np.rint(service_us).astype(np.int64)
        else:
            numeric["submit_s"] = numeric["submit_s"] - numeric["service_s"]
    elif start and submit and start != submit and "source_wait_s" not in numeric:
        read.take_span(Span("source_wait_s", start, submit))
        made["source_wait_s"] = f"{start!r} - {submit!r}"
    return made


def _judge_per_node(read: ReadColumns) -> tuple[str, ...]:
    """Interpret GPUs per node in a note; drop the column if it describes servers."""
    each = read.numeric.get("gpus_per_node")
    if each is None or not (each > 0).any():
        return ()
    gpus = read.numeric["gpus"]
    if not ((gpus > 0) & (gpus < each)).any():
        return ("gpus_per_node: read as the GPUs that a job has on each of its servers",)
    del read.numeric["gpus_per_node"]
    return ("gpus_per_node: not used, since it describes servers: some jobs have fewer GPUs",)


def _understood(
    chosen: Mapping[str, str],
    mapped: Mapping[str, str],
    said: Mapping[str, str],
    made: Mapping[str, str],
) -> tuple[str, ...]:
    """Return a note on which columns were used, unless their names are obvious."""
    told = []
    is_plain = not made
    for ours in _ORDER:
        theirs = chosen.get(ours, "")
        how = said.get(theirs, "")
        if ours in made:
            told.append(f"{ours} from {made[ours]}")
        elif theirs and ours not in (START, END) and (theirs != ours or how):
            told.append(f"{ours} from {theirs!r}" + (f" ({how})" if how else ""))
            is_known = theirs in (mapped.get(ours), ours, *ALIASES.get(ours, ()))
            is_plain = is_plain and is_known and how in ("", "dates")
    return () if is_plain else (f"understood: {', '.join(told)}",)


def _with_expressions(
    source: Source, data: Mapping[str, polars.Series], columns: Mapping[str, str]
) -> tuple[dict[str, polars.Series], dict[str, str], set[str]]:
    """Add columns computed from others; return all columns, the mapping, and the inputs used.

    A text that is not a column name and contains ``* / + -`` is an SQL expression over numbers,
    such as ``nodes * gpus_per_node``; rows with a non-number have no value. GPUs per node in a
    product also become a column.
    """
    calculated, chosen, parts = dict(data), dict(columns), set()
    for ours, text in columns.items():
        if text in data or not isinstance(text, str) or not set(text) & set("*/+-"):
            continue
        try:
            expression = polars.sql_expr(text)
            names = expression.meta.root_names()
            missing = [name for name in names if name not in data]
            if names and len(missing) == len({*names}):
                continue  # probably a mistyped name
            if missing or not names:
                raise ValueError(f"no column {missing[0]!r}" if missing else "no column in it")
            numbers = {name: data[name].cast(polars.Float64, strict=False) for name in names}
            calculated[text] = polars.DataFrame(numbers).select(expression).to_series()
        except (polars.exceptions.PolarsError, ValueError) as error:
            raise ValueError(
                f"{source}: {text!r} for {ours} cannot be calculated: {error}"
            ) from None
        if ours == "gpus" and not set(text) & set("/+-"):
            for name in names:
                if "".join(words_of(name)) in _PER_NODE:
                    chosen.setdefault("gpus_per_node", name)
        parts |= {*names}
    return calculated, chosen, parts - set(chosen.values())


def _declared(theirs: str, ours: str) -> TextColumn:
    kind = _KINDS.get(ours, "number")
    is_number = kind in ("number", "moment", "gap")
    unit = _unit_of(theirs) if is_number and ours.endswith("_s") else 1.0
    may_miss = kind == "gap" or (is_number and ours in _OPTIONAL)
    return TextColumn(
        theirs, ours, kind, may_miss=may_miss, unit=unit, is_part=ours in (START, END)
    )


def _unit_of(theirs: str) -> float:
    """Return the seconds of the unit at the end of a name: ``run_hours``, ``length_ms``."""
    words = words_of(theirs)
    return UNITS.get(words[-1], 1.0) if len(words) > 1 else 1.0


def losses(trace: Trace) -> list[str]:
    """Return what columns of numbers and names cannot hold of a trace, a sentence each."""
    lines = []
    if trace.epoch is not None and trace._origin_us() is None:  # beyond the year 9999
        lines.append(f"times are written in seconds: the date of second 0, {trace.epoch}, is lost")
    if trace.reference_type is not None:
        lines.append(f"the reference type of run times, {trace.reference_type}, is lost")
    for column in ("profile", "graph"):
        if getattr(trace, column) is not None:
            lines.append(f"only the name of each job's {column} is written")
    return lines
