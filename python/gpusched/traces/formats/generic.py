"""What the generic readers share: a schema that follows from whose column is which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.traces import checked_columns as check
from gpusched.traces.intake.column_choice import INTERARRIVAL, choose_columns
from gpusched.traces.intake.declared_columns import Kind, ReadColumns, TextColumn
from gpusched.traces.intake.text_schema import trace_of
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    import polars

_OPTIONAL_VALUES: Final = (
    "estimate_s", "predicted_s", "source_wait_s", "gpu_share", "cpu", "memory_gib", "deadline_s",
    "value", "min_gpus", "max_gpus",
)  # fmt: skip
_KINDS: Final[dict[str, Kind]] = {
    INTERARRIVAL: "gap", "submit_s": "moment", "deadline_s": "moment",
    **dict.fromkeys(check.LABELS, "label"), "status": "status", "gpu_types": "types", "id": "id",
}  # fmt: skip
_UNITS: Final = {
    **dict.fromkeys(("ms", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("min", "mins", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
}
_ORDER: Final = (INTERARRIVAL, *check.NUMERIC, *check.LABELS, "gpu_types", "id")


def read_columns(
    source: Source,
    screen: Screen,
    data: Mapping[str, polars.Series],
    columns: Mapping[str, str] | None,
    on_bad: OnBad,
    notes: tuple[str, ...] = (),
) -> Trace:
    """Turn named columns into a trace; submit times may be seconds, wall-clock times or gaps.

    Deadlines may be wall-clock times where the submissions are; seconds count from 1970 there.
    """
    data, parts = _with_expressions(source, data, columns or {})
    present = [name for name in data if name not in parts]
    choice = choose_columns(present, columns, source=str(source))
    read = ReadColumns(screen, data)
    for ours in _ORDER:
        if ours in choice.columns:
            column = _declared(choice.columns[ours], ours)
            read.take(column)
            if column.unit != 1 and not (column.kind == "moment" and read.has_dates):
                notes += (f"{ours} is {column.name} x {column.unit:g}",)
    read.notes = (*choice.notes, *notes, *read.notes)
    return trace_of(source.name, read, on_bad)


def _with_expressions(
    source: Source, data: Mapping[str, polars.Series], columns: Mapping[str, str]
) -> tuple[Mapping[str, polars.Series], set[str]]:
    """Add the columns that are calculated of others, and return the names of those.

    What is no name of a column and holds ``* / + -`` is an expression of SQL over numbers, such as
    ``nodes * gpus_per_node``; a row of which a part is no number has none.
    """
    import polars

    calculated, parts = dict(data), set()
    for ours, text in columns.items():
        if text in data or not isinstance(text, str) or not set(text) & set("*/+-"):
            continue
        try:
            expression = polars.sql_expr(text)
            names = expression.meta.root_names()
            missing = [name for name in names if name not in data]
            if names and len(missing) == len({*names}):
                continue  # a name that is mistyped
            if missing or not names:
                raise ValueError(f"no column {missing[0]!r}" if missing else "it names no column")
            numbers = {name: data[name].cast(polars.Float64, strict=False) for name in names}
            calculated[text] = polars.DataFrame(numbers).select(expression).to_series()
        except (polars.exceptions.PolarsError, ValueError) as error:
            raise ValueError(
                f"{source}: {text!r} for {ours} cannot be calculated: {error}"
            ) from None
        parts |= {*names} - set(columns.values())
    return calculated, parts


def _declared(theirs: str, ours: str) -> TextColumn:
    kind = _KINDS.get(ours, "number")
    unit = _unit_of(theirs) if kind in ("number", "moment") and ours.endswith("_s") else 1.0
    return TextColumn(theirs, ours, kind, may_miss=ours in _OPTIONAL_VALUES, unit=unit)


def _unit_of(theirs: str) -> float:
    """Return the seconds of the unit that a name ends in: ``run_hours``, ``length_ms``."""
    word = theirs.lower().replace("(", "_").replace(")", "").replace(" ", "_").rpartition("_")[2]
    return _UNITS.get(word, 1.0) if word != theirs.lower() else 1.0


def losses(trace: Trace) -> list[str]:
    """Say what columns of numbers and names cannot hold of a trace, a sentence each."""
    lines = []
    if trace.epoch is not None:
        lines.append(f"times are written in seconds: that second 0 was {trace.epoch} is left out")
    for column in ("profile", "graph"):
        if getattr(trace, column) is not None:
            lines.append(f"of each job's {column} the name alone is written")
    return lines
