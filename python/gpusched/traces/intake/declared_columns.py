"""Columns as they are declared, and those of a table as they are read by these declarations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.labels import Labels
from gpusched.base.rejects import Screen
from gpusched.traces import text_columns as parse
from gpusched.traces.deadlines import NOT_A_TIME
from gpusched.traces.intake.arrivals import cumulated
from gpusched.traces.intake.known_statuses import known_statuses

if TYPE_CHECKING:
    import polars

Kind = Literal["number", "time", "moment", "gap", "id", "label", "status", "types"]
"""How a column is read: numbers, wall-clock times, either of these two, times since the row before,
unique names, shared names, states, and sets of GPU types."""
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
    unit, parts
        Of numbers: ours in one of the file's (60 for minutes where ours are seconds), and how many
        of the file's are one of ours (1000 for thousandths).
    is_required
        Whether a file without it is none of this format.
    may_miss
        Whether an empty number stands for "not given" and is no fault.
    least
        Smaller numbers stand for "not given".
    states
        Of a status: what the states of the file are here; others are ``"unknown"``. None: they are
        ours.
    part
        Where ours follows from several columns, the name under which this one is kept.
    """

    name: str
    ours: str
    kind: Kind = "number"
    unit: float = 1
    parts: float = 1
    is_required: bool = True
    may_miss: bool = False
    least: float | None = None
    states: Mapping[str, str] | None = None
    part: str = ""


class ReadColumns:
    """What has been read of a table so far.

    Parameters
    ----------
    screen
        Judges the rows.
    data
        The table's columns by name, of text or typed.
    absent
        A label that stands for "not given", beside the empty one.

    Attributes
    ----------
    numeric, labels, ids, gpu_types
        As :func:`gpusched.traces.assembly.assemble` takes them, and parts under their own names.
    has_dates
        Whether submissions have dates.
    notes
        What a reader should know, a sentence each.
    """

    def __init__(self, screen: Screen, data: Mapping[str, polars.Series], absent: str = "") -> None:
        self.screen, self.data, self._absent = screen, data, absent
        self.numeric: dict[str, AnyArray] = {}
        self.labels: dict[str, Labels] = {}
        self.ids: AnyArray | None = None
        self.gpu_types: Labels | list[Any] | None = None
        self.has_dates = False
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
        elif column.kind == "number":
            self.numeric[column.part or ours] = self._numbers(column, values)
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

    def _take_moments(self, column: TextColumn, values: polars.Series) -> None:
        ours, label = column.ours, column.name
        if column.kind == "moment" and not parse.is_wall_clock(values):
            self.numeric[ours] = self._numbers(column, values)
            return
        is_submit = ours == "submit_s"
        if column.kind == "moment" and not is_submit and not self.has_dates:
            raise ValueError(
                f"{self.screen.source}: column {label!r} has wall-clock times, as the submissions "
                "have not"
            )
        missing = None if is_submit else NOT_A_TIME
        ticks = parse.times(self.screen, ours, label, values, missing=missing)
        self.numeric[_TICKS[ours]] = ticks
        self.has_dates = self.has_dates or is_submit

    def _numbers(self, column: TextColumn, values: polars.Series) -> AnyArray:
        label, may_miss = column.name, column.may_miss
        read = parse.numbers(self.screen, column.ours, label, values, may_miss=may_miss)
        if column.least is not None:
            read = np.where(read >= column.least, read, np.nan)
        if column.unit != 1:
            read = read * column.unit
        return read if column.parts == 1 else read / column.parts

    def _labels(self, column: TextColumn, values: polars.Series) -> Labels:
        if column.kind == "status" and column.states is not None:
            return parse.statuses(values, column.states)
        if self._absent:
            values = values.replace(self._absent, "")
        named = parse.labels(self.screen, column.name, values)
        if column.kind == "status":
            named, said = known_statuses(named)
            self.notes += said
        return named
