"""Text formats as declarations: which column of the file is which of ours, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from gpusched.base.delimited_text import Table, read_table
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.intake.column_choice import unused_note
from gpusched.traces.workload import Trace

Kind = Literal["number", "time", "id", "label", "status"]
"""How a column is read: numbers, wall-clock times, unique names, shared names, and states."""
_TICKS: Final = {"submit_s": "submit_us", "deadline_s": "deadline_us"}


@dataclass(frozen=True)
class TextColumn:
    """A column of a format.

    Attributes
    ----------
    name, ours
        Its name in the file, and in :meth:`gpusched.Trace.from_columns`.
    kind
        How it is read.
    unit
        Ours in one of the file's, of numbers: 60 for minutes where ours are seconds.
    is_required
        Whether a file without it is none of this format.
    may_miss
        Whether an empty number stands for "not given" and is no fault.
    states
        Of a status: what the states of the file are here; others are ``"unknown"``.
    """

    name: str
    ours: str
    kind: Kind = "number"
    unit: float = 1
    is_required: bool = True
    may_miss: bool = False
    states: Mapping[str, str] | None = None


@dataclass(frozen=True)
class TextSchema:
    """The columns of a text format, in any order in the file unless its header is exact.

    Attributes
    ----------
    columns
        Those that are read.
    header
        All names in the order of the file, if files of this format have exactly these.
    marks
        Names that are not read, by which the format is told from others.
    separator
        Between the fields of a row.
    """

    columns: tuple[TextColumn, ...]
    header: tuple[str, ...] | None = None
    marks: tuple[str, ...] = ()
    separator: str = ","

    @property
    def required(self) -> tuple[str, ...]:
        """Names that a file must have."""
        return self.header or tuple(column.name for column in self.columns if column.is_required)

    def recognises(self, source: Source) -> bool:
        """Whether the header of a file is one of this format."""
        if self.header is not None:
            return source.header == self.header
        return {*self.required, *self.marks} <= set(source.header)

    def read(self, source: Source, *, on_bad: OnBad) -> Trace:
        """Read a file as this schema declares it.

        Raises
        ------
        ValueError
            As :func:`gpusched.read_trace`.
        """
        table = read_table(source, self.required, separator=self.separator)
        screen = table.screen()
        read = _Columns(table, screen)
        for column in self.columns:
            if column.name in table.columns:
                read.take(column)
        known = {column.name for column in self.columns}
        attributes = assemble(
            screen,
            read.numeric,
            ids=read.ids,
            labels=read.labels,
            on_bad=on_bad,
            name=source.name,
            source=str(source),
            epoch=parse.UNIX_EPOCH if screen.is_aware else None,
            rebase=True,
            notes=unused_note([name for name in table.columns if name not in known]),
        )
        return Trace(**attributes)


class _Columns:
    """What has been read of a table so far."""

    def __init__(self, table: Table, screen: Any) -> None:
        self._table, self._screen = table, screen
        self.numeric: dict[str, Any] = {}
        self.labels: dict[str, Labels] = {}
        self.ids: Any = None

    def take(self, column: TextColumn) -> None:
        """Read one column."""
        screen, label, ours = self._screen, column.name, column.ours
        values = self._table.columns[label]
        if column.kind == "time":
            self.numeric[_TICKS[ours]] = parse.times(screen, ours, label, values)
        elif column.kind == "number":
            read = parse.numbers(screen, ours, label, values, may_miss=column.may_miss)
            self.numeric[ours] = read if column.unit == 1 else read * column.unit
        elif column.kind == "id":
            self.ids = parse.identifiers(screen, label, values)
        elif column.kind == "label":
            self.labels[ours] = Labels.of(values)
        else:
            self.labels[ours] = parse.statuses(values, column.states or {})
