"""Columns as they are declared, and those of a table as they are read by these declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.labels import Labels
from gpusched.base.rejects import Screen
from gpusched.base.ticks import US_PER_S
from gpusched.traces import text_columns as parse
from gpusched.traces.intake.arrivals import cumulated
from gpusched.traces.intake.known_statuses import known_statuses
from gpusched.traces.intake.wall_clock import ticks_of
from gpusched.traces.job_columns import JOB_COLUMNS, NOT_A_TIME

if TYPE_CHECKING:
    import polars

Kind = Literal["number", "flag", "time", "moment", "gap", "id", "label", "status", "types"]
"""How a column is read: numbers, 0 or 1, wall-clock times, numbers or times, times since the row
before, unique names, shared names, states, and sets of GPU types."""
_TICKS: Final = {
    column.name: column.stored for column in JOB_COLUMNS.values() if column.kind == "moment"
}


class TextColumn(msgspec.Struct, frozen=True):
    """A column of a format.

    Attributes
    ----------
    name, ours
        Its name in the file, and in :meth:`gpusched.Trace.from_columns`.
    kind
        How it is read.
    unit, parts
        Of numbers: ours in one of the file's (60 for minutes where ours are seconds), and how many
        of the file's are one of ours (1000 for thousandths).
    is_required
        Whether a file without it is none of this format.
    only_with
        The column without which this one is not read.
    may_miss
        Whether an empty number or time stands for "not given" and is no fault.
    absent
        Of times: what else does, in lower case.
    is_positive
        Of numbers: whether others are faults.
    least
        Smaller numbers stand for "not given".
    is_of_job
        Of numbers: whether they tell what a whole job has, where ours tells what a worker has.
    may_count
        Of times: whether the file may count the seconds since 1970 in their stead.
    states
        Of a status: what the states of the file are here; others are ``"unknown"``. None: they are
        ours.
    within
        Of a status: a pattern whose first group is the state; by default it is the whole text.
    is_part
        Whether ours follows from several columns, of which this is one.
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
    """One of our columns that is the time between two columns of the file."""

    ours: str
    end: str
    begin: str


class ReadColumns:
    """What has been read of a table so far.

    Parameters
    ----------
    screen
        Judges the rows.
    data
        The table's columns by name, of text or typed; None: what is read is no table.
    absent
        A label that stands for "not given", beside the empty one.

    Attributes
    ----------
    numeric, labels, ids, gpu_types
        As :func:`gpusched.traces.assembly.assemble` takes them.
    values
        Numbers and ticks by the names of the file, those of parts as well.
    of_job
        Which of the numbers tell what a whole job has.
    has_dates
        Whether submissions have dates.
    how
        Said of the source, behind its name.
    notes
        What a reader should know, a sentence each.
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
        """Read one column.

        Raises
        ------
        TypeError, ValueError
            If it cannot be read at all; rows that are bad are left to the screen.
        """
        ours, values = column.ours, self.data[column.name]
        if column.kind in ("time", "moment"):
            self._take_moments(column, values)
        elif column.kind in ("number", "flag"):
            self._keep(column, ours, self._numbers(column, values))
        elif column.kind == "gap":
            gaps = parse.numbers(self.screen, ours, column.name, values, may_miss=True)
            self.numeric["submit_us"] = cumulated(self.screen, ours, gaps)
        elif column.kind == "id":
            self.ids = parse.identifiers(self.screen, column.name, values)
        elif column.kind == "types":
            # A typed file may have lists in the place of texts such as V100|T4.
            is_text = str(values.dtype) == "String"
            self.gpu_types = Labels.of(values) if is_text else values.to_list()
        else:
            self.labels[ours] = self._labels(column, values)

    def take_span(self, span: Span) -> None:
        """Make one of our columns of the two that it lies between, in ticks or in seconds."""
        taken: AnyArray = self.values[span.end] - self.values[span.begin]
        is_ticks = any(name in self._ticks for name in (span.end, span.begin))
        self.numeric[span.ours] = taken / US_PER_S if is_ticks else taken
        self.screen.show(span.ours, f"{span.end} - {span.begin}", self.numeric[span.ours])

    def is_given(self, name: str) -> AnyArray:
        """Tell of which rows a time that may miss is known."""
        values = self.values[name]
        return values != NOT_A_TIME if name in self._ticks else ~np.isnan(values)

    def between(self, begin: str, end: str) -> AnyArray:
        """Return the seconds between two times that may miss; NaN where one is not known."""
        first, last = (
            self.values[name] if name in self._ticks else self.values[name] * US_PER_S
            for name in (begin, end)
        )
        taken = (last - first) / US_PER_S
        return np.where(self.is_given(begin) & self.is_given(end), taken, np.nan)

    def share_between_workers(self) -> None:
        """Have what tells of a whole job tell of each of its workers; without GPUs it is one."""
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
                f"{self.screen.source}: column {label!r} has wall-clock times, as the submissions "
                "have not"
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
        read = parse.numbers(screen, ours, label, values, may_miss=column.may_miss)
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
            named, said = known_statuses(named)
            self.notes += said
        return named
