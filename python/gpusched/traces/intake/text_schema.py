"""Text formats as declarations: which column of the file is which of ours, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from gpusched.base.delimited_text import Table, read_spaced, read_table
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.intake.column_choice import unused_note
from gpusched.traces.intake.declared_columns import ReadColumns, TextColumn
from gpusched.traces.workload import Trace

Step = Callable[[ReadColumns], None]
"""What a format does beside reading columns: it judges rows, or makes ours of several columns."""


@dataclass(frozen=True)
class TextSchema:
    """The columns of a text format, in any order in the file unless its header is exact.

    Attributes
    ----------
    columns
        Those that are read; what is wrong with a row is said of the first of them.
    header
        All names in the order of the file, if files of this format have exactly these.
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
    header: tuple[str, ...] | None = None
    marks: tuple[str, ...] = ()
    separator: str = ","
    comment: str | None = None
    absent: str = ""

    @property
    def required(self) -> tuple[str, ...]:
        """Names that a file must have."""
        return self.header or tuple(column.name for column in self.columns if column.is_required)

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
            Done before they are read.

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
            if column.name in table.columns:
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
        how: str = "",
    ) -> Trace:
        """Read a file as this schema declares it.

        Parameters
        ----------
        judge, derive
            Done before the columns are read, and after.
        epoch
            What seconds count from, if the file tells it elsewhere.
        how
            Said of the source, behind its name.

        Raises
        ------
        ValueError
            As :func:`gpusched.read_trace`.
        """
        read = self.columns_of(source, judge=judge)
        if derive is not None:
            derive(read)
        return trace_of(source, read, on_bad, epoch=epoch, notes=self._unused(read), how=how)

    def _table(self, source: Source) -> Table:
        if self.comment is not None:
            return read_spaced(source, self.required, comment=self.comment)
        return read_table(source, self.required, separator=self.separator)

    def _unused(self, read: ReadColumns) -> tuple[str, ...]:
        """Name the columns that are not read, of those that hold something."""
        known = {column.name for column in self.columns}
        others = [name for name in read.data if name not in known]
        if self.absent:
            others = [name for name in others if (read.data[name] != self.absent).any()]
        return unused_note(others)


def trace_of(
    source: Source,
    read: ReadColumns,
    on_bad: OnBad,
    *,
    epoch: datetime | None = None,
    notes: tuple[str, ...] = (),
    how: str = "",
) -> Trace:
    """Make a trace of the columns that were read of a file."""
    attributes = assemble(
        read.screen,
        read.numeric,
        ids=read.ids,
        labels=read.labels,
        gpu_types=read.gpu_types,
        on_bad=on_bad,
        name=source.name,
        source=f"{source} ({how})" if how else str(source),
        epoch=parse.UNIX_EPOCH if read.has_dates else epoch,
        rebase=True,
        notes=(*notes, *read.notes),
    )
    return Trace(**attributes)
