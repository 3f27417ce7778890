"""Text formats as declarations: which column of the file is which of ours, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from gpusched.base.delimited_text import Table, read_spaced, read_table
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.intake.column_choice import unused_note
from gpusched.traces.intake.declared_columns import ReadColumns, Span, TextColumn
from gpusched.traces.workload import Trace

LOCAL_DATES: Final = "dates name no time zone and are read as they stand (option time_zone)"
Step = Callable[[ReadColumns], None]
"""What a format does beside reading columns: it judges rows, or makes ours of several columns."""


class TextSchema(msgspec.Struct, frozen=True):
    """The columns of a text format, in any order in the file unless its header is exact.

    Attributes
    ----------
    columns
        Those that are read; what is wrong with a row is said of the first of them.
    spans
        Which of ours are the times between two of them.
    header
        All names in the order of the file, if files of this format have exactly these.
    has_no_header
        Whether the first line is a row already, unless it is the header.
    names
        Those that a file must have, in the order in which one that is missing is told; default:
        those of the columns that are required.
    marks
        Names that are not read, by which the format is told from others.
    separator
        Between the fields of a row.
    comment
        What begins a line that is no row, in files that have blanks between fields, and no header.
    absent
        What stands for "not given" in every column.
    """

    columns: tuple[TextColumn, ...]
    spans: tuple[Span, ...] = ()
    header: tuple[str, ...] | None = None
    has_no_header: bool = False
    names: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    separator: str = ","
    comment: str | None = None
    absent: str = ""

    @property
    def required(self) -> tuple[str, ...]:
        """Names that a file must have."""
        named = self.header or self.names
        return named or tuple(column.name for column in self.columns if column.is_required)

    def recognises(self, source: Source) -> bool:
        """Whether the header of a file is one of this format."""
        if self.header is not None:
            return source.header == self.header
        return {*self.required, *self.marks} <= set(source.header)

    def columns_of(self, source: Source, *, judge: Step | None = None) -> ReadColumns:
        """Read the declared columns of a file, those that are there.

        Parameters
        ----------
        judge
            Done before they are read; what it reads of them is not read again.

        Raises
        ------
        ValueError
            If a column is missing, there is no row, or a row has too few or too many fields.
        """
        table = self._table(source)
        read = ReadColumns(table.screen(), table.columns, self.absent)
        if judge is not None:
            judge(read)
        for column in self.columns:
            needs = {column.name, column.only_with} - {""}
            if needs <= table.columns.keys() and column.name not in read.values:
                read.take(column)
        return read

    def read(
        self,
        source: Source,
        *,
        on_bad: OnBad,
        judge: Step | None = None,
        derive: Step | None = None,
        epoch: datetime | None = None,
        name: str | None = None,
    ) -> Trace:
        """Read a file as this schema declares it.

        Parameters
        ----------
        judge, derive
            Done before the columns are read, and after.
        epoch
            What seconds count from, if the file tells it elsewhere.
        name
            Of the trace; default: that of the file.

        Raises
        ------
        ValueError
            As :func:`gpusched.read_trace`.
        """
        read = self.columns_of(source, judge=judge)
        if derive is not None:
            derive(read)
        for span in self.spans:
            read.take_span(span)
        read.notes = (*self._unused(read), *read.notes)
        return trace_of(name or source.name, read, on_bad, epoch=epoch)

    def _table(self, source: Source) -> Table:
        if self.comment is not None:
            return read_spaced(source, self.required, comment=self.comment)
        is_bare = self.has_no_header and source.header != self.header
        header = self.header if is_bare else None
        return read_table(source, self.required, separator=self.separator, header=header)

    def _unused(self, read: ReadColumns) -> tuple[str, ...]:
        """Name the columns that are not read, of those that hold something."""
        known = {
            column.name
            for column in self.columns
            if not column.only_with or column.only_with in read.data
        }
        others = [name for name in read.data if name not in known]
        if self.absent:
            others = [name for name in others if (read.data[name] != self.absent).any()]
        return unused_note(others)


def trace_of(
    name: str, read: ReadColumns, on_bad: OnBad, *, epoch: datetime | None = None
) -> Trace:
    """Make a trace of this name of the columns that were read of a file."""
    read.share_between_workers()
    source = read.screen.source
    if read.has_dates and not any(read.screen.is_aware.values()):
        read.notes += (LOCAL_DATES,)
    attributes = assemble(
        read.screen,
        read.numeric,
        ids=read.ids,
        labels=read.labels,
        gpu_types=read.gpu_types,
        on_bad=on_bad,
        name=name,
        source=f"{source} ({read.how})" if read.how else source,
        epoch=parse.UNIX_EPOCH if read.has_dates else epoch,
        rebase=True,
        notes=read.notes,
    )
    return Trace(**attributes)
