"""Declarative text formats: which file column becomes which trace column, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.delimited_text import Table, read_spaced, read_table
from gpusched.base.labels import Labels
from gpusched.base.libraries import polars
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.base.ticks import US_PER_S
from gpusched.traces import text_columns as parse
from gpusched.traces.intake.column_choice import unused_note
from gpusched.traces.intake.wall_clock import ticks_of
from gpusched.traces.job_columns import JOB_COLUMNS, NOT_A_TIME
from gpusched.traces.workload import Trace

LOCAL_DATES: Final = "dates have no time zone and are read without one (option time_zone)"
Kind = Literal["number", "flag", "time", "moment", "gap", "id", "label", "status", "types"]
"""How a column is read: numbers, 0 or 1, wall-clock times, numbers or times, times since the
previous row, unique names, shared names, states, and sets of GPU types."""
_TICKS: Final = {
    column.name: column.stored for column in JOB_COLUMNS.values() if column.kind == "moment"
}


class TextColumn(msgspec.Struct, frozen=True):
    """A column of a format.

    ``name``, ``ours``: its name in the file, and in :meth:`gpusched.Trace.from_columns`.
    ``kind``: how it is read.
    ``unit``, ``parts``: for numbers: factor to gpusched's unit (60 for minutes to seconds), and
        divisor (1000 for thousandths).
    ``is_required``: whether files of this format must have it.
    ``only_with``: another column that must exist for this one to be read.
    ``may_miss``: whether an empty number or time means "not given" instead of an error.
    ``absent``: for times: further texts for "not given", in lower case.
    ``is_positive``: for numbers: whether they must be positive.
    ``least``: smaller numbers mean "not given".
    ``is_of_job``: for numbers: whether they are for the whole job and must be divided by its
        workers.
    ``may_count``: for times: whether they may be seconds since 1970.
    ``states``: for a status: map from the file's states; others are ``"unknown"``. None: no map.
    ``within``: for a status: a pattern whose first group is the state; default: the whole text.
    ``is_part``: whether the trace column is derived from several columns including this one.
    """

    name: str
    ours: str
    kind: Kind = "number"
    unit: float = 1
    parts: float = 1
    is_required: bool = True
    only_with: str = ""
    may_miss: bool = False
    absent: tuple[str, ...] = ()
    is_positive: bool = False
    least: float | None = None
    is_of_job: bool = False
    may_count: bool = False
    states: Mapping[str, str] | None = None
    within: str = ""
    is_part: bool = False


class Span(msgspec.Struct, frozen=True):
    """A trace column that is the time between two columns of the file."""

    ours: str
    end: str
    begin: str


class ReadColumns:
    """The columns read from a table so far.

    ``screen``: checks the rows.
    ``data``: the table's columns by name, of text or typed; None: the input is not a table.
    ``absent``: a label that means "not given", in addition to the empty one.
    ``numeric``, ``labels``, ``ids``, ``gpu_types``: as for
        :func:`gpusched.traces.checked_columns.checked_jobs`.
    ``values``: numbers and ticks by the file's names, including parts.
    ``of_job``: which of the numbers are for the whole job.
    ``has_dates``: whether submissions have dates.
    ``how``: remark on the source, added to its name.
    ``notes``: further remarks, a sentence each.
    """

    def __init__(
        self, screen: Screen, data: Mapping[str, polars.Series] | None = None, absent: str = ""
    ) -> None:
        self.screen, self.data, self._absent = screen, data or {}, absent
        self.numeric: dict[str, AnyArray] = {}
        self.values: dict[str, AnyArray] = {}
        self.of_job: set[str] = set()
        self.labels: dict[str, Labels] = {}
        self.ids: AnyArray | None = None
        self.gpu_types: Labels | list[Any] | None = None
        self.has_dates = False
        self._ticks: set[str] = set()
        self.how = ""
        self.notes: tuple[str, ...] = ()

    def take(self, column: TextColumn) -> None:
        """Read one column."""
        ours, values = column.ours, self.data[column.name]
        if column.kind in ("time", "moment"):
            self._take_moments(column, values)
        elif column.kind in ("number", "flag"):
            self._keep(column, ours, self._numbers(column, values))
        elif column.kind == "gap":
            gaps = self._numbers(column, values)
            self.numeric["submit_us"] = parse.cumulated(self.screen, ours, gaps)
        elif column.kind == "id":
            self.ids = parse.identifiers(self.screen, column.name, values)
        elif column.kind == "types":
            # A typed file may have lists instead of texts such as V100|T4.
            is_text = str(values.dtype) == "String"
            self.gpu_types = Labels.of(values) if is_text else values.to_list()
        else:
            self.labels[ours] = self._labels(column, values)

    def take_span(self, span: Span) -> AnyArray:
        """Compute a trace column in seconds from the two times of a span; NaN: unknown."""
        begin, end = span.begin, span.end
        first, last = (
            self.values[name] if name in self._ticks else self.values[name] * US_PER_S
            for name in (begin, end)
        )
        is_known = self.is_given(begin) & self.is_given(end)
        taken = np.where(is_known, (last - first) / US_PER_S, np.nan)
        self.numeric[span.ours] = taken
        self.screen.show(span.ours, f"{end} - {begin}", taken)
        return taken

    def is_given(self, name: str) -> AnyArray:
        """Return in which rows a time that may be missing is known."""
        values = self.values[name]
        return values != NOT_A_TIME if name in self._ticks else ~np.isnan(values)

    def share_between_workers(self) -> None:
        """Divide values for the whole job by its workers (1 if it has no GPUs)."""
        workers = np.maximum(np.nan_to_num(self.numeric["gpus"], nan=1), 1)
        for ours in self.of_job:
            self.numeric[ours] = self.numeric[ours] / workers

    def _keep(self, column: TextColumn, ours: str, values: AnyArray) -> None:
        self.values[column.name] = values
        if column.is_part:
            return
        self.numeric[ours] = values
        if column.is_of_job:
            self.of_job.add(ours)

    def _take_moments(self, column: TextColumn, values: polars.Series) -> None:
        ours, label = column.ours, column.name
        if column.kind == "moment" and not parse.is_wall_clock(values):
            self._keep(column, ours, self._numbers(column, values))
            return
        is_submit = ours == "submit_s"
        if column.kind == "moment" and not is_submit and not self.has_dates:
            raise ValueError(
                f"{self.screen.source}: column {label!r} has wall-clock times, but submit times "
                "have none"
            )
        missing = NOT_A_TIME if column.may_miss else None
        known = values
        if column.absent:
            known = values.set(values.str.to_lowercase().is_in(column.absent), "")
        ticks = ticks_of(
            self.screen, ours, label, known, missing=missing, may_count=column.may_count
        )
        self.screen.show(ours, label, values)
        self._ticks.add(label)
        self._keep(column, _TICKS.get(ours, ours), ticks)
        self.has_dates = self.has_dates or is_submit

    def _numbers(self, column: TextColumn, values: polars.Series) -> AnyArray:
        ours, label, screen = column.ours, column.name, self.screen
        read = parse.numbers(
            screen, ours, label, values,
            may_miss=column.may_miss, may_be_time=column.kind == "moment",
        )  # fmt: skip
        if column.kind == "flag":
            screen.require((read == 0) | (read == 1), ours, "must be 0 or 1")
        if column.is_positive:
            screen.require(read > 0, ours, "must be positive")
        if column.least is not None:
            read = np.where(read >= column.least, read, np.nan)
        if column.unit != 1:
            read = read * column.unit
        return read if column.parts == 1 else read / column.parts

    def _labels(self, column: TextColumn, values: polars.Series) -> Labels:
        if column.within:
            values = values.str.extract(column.within, 1).fill_null("")
        if column.kind == "status" and column.states is not None:
            return parse.statuses(values, column.states)
        if self._absent:
            values = values.replace(self._absent, "")
        named = parse.labels(self.screen, column.name, values)
        if column.kind == "status":
            named, said = parse.known_statuses(named)
            self.notes += said
        return named


Step = Callable[[ReadColumns], None]
"""A format's own step: check rows, or derive trace columns from several columns."""


class TextSchema(msgspec.Struct, frozen=True):
    """The columns of a text format, in any order in the file unless its header is exact.

    ``columns``: columns to read; the first bad one gives the reason for a rejected row.
    ``spans``: trace columns that are the time between two of them.
    ``header``: all names in file order, if files of this format have exactly these.
    ``has_no_header``: whether the first line is already a row, unless it equals the header.
    ``names``: required names, in the order in which missing ones are reported; default: those of
        the required columns.
    ``marks``: further names that identify the format but are not read.
    ``separator``: text between the fields of a row.
    ``comment``: start of comment lines, in files without a header and with blanks between fields.
    ``absent``: text for "not given" in every column.
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
        """Whether the header of a file matches this format."""
        if self.header is not None:
            return source.header == self.header
        return {*self.required, *self.marks} <= set(source.header)

    def columns_of(self, source: Source, *, judge: Step | None = None) -> ReadColumns:
        """Read the declared columns that a file has.

        ``judge``: step before reading; columns that it reads are not read again.
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

        ``judge``, ``derive``: steps before and after reading the columns.
        ``epoch``: time of second 0, if the file states it elsewhere.
        ``name``: name of the trace; default: that of the file.
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
        """Return a note on unused columns that are not empty."""
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
    """Build a trace with this name from the columns read from a file."""
    read.share_between_workers()
    source = read.screen.source
    if read.has_dates and not any(read.screen.is_aware.values()):
        read.notes += (LOCAL_DATES,)
    return Trace._of_screened(
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
