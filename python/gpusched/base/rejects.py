"""Rejected rows of an input: each is an error or counted, never ignored."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol

import msgspec
import numpy as np

from gpusched.base.arrays import Bool, Int64

OnBad = Literal["error", "reject"]
NUM_KEPT_LINES: Final = 10


class Rejects(msgspec.Struct, frozen=True):
    """Rows rejected from a trace, by reason.

    Attributes
    ----------
    counts
        Number of rows for each reason; a row counts once, under the first rule it breaks.
    first
        The first rows of each reason (at most 10): physical lines of a text file, 1 being its
        first line; otherwise positions in the input, from 0.
    unit
        ``"line"`` or ``"row"``: what the numbers in ``first`` are.
    columns
        gpusched's name of each reason's column.
    """

    counts: Mapping[str, int] = msgspec.field(default_factory=dict)
    first: Mapping[str, tuple[int, ...]] = msgspec.field(default_factory=dict)
    unit: str = "row"
    columns: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def total(self) -> int:
        """Number of rejected rows."""
        return sum(self.counts.values())

    def plus(self, rows: Mapping[str, Sequence[int]]) -> Rejects:
        """Return these and further rejects, given as all rows of each reason, in order."""
        counts, first = dict(self.counts), dict(self.first)
        for reason, places in rows.items():
            counts[reason] = counts.get(reason, 0) + len(places)
            first[reason] = (*first.get(reason, ()), *places)[:NUM_KEPT_LINES]
        return msgspec.structs.replace(self, counts=counts, first=first)

    def lines(self) -> list[str]:
        """Return one line of text per reason, the most frequent first."""
        ranked = sorted(self.counts, key=lambda reason: (-self.counts[reason], reason))
        return [self._line(reason) for reason in ranked]

    def _line(self, reason: str) -> str:
        count, first = self.counts[reason], self.first[reason]
        # One line may hold several jobs.
        places = list(dict.fromkeys(first))
        where = ", ".join(map(str, places)) + (", ..." if count > len(first) else "")
        unit = _plural(self.unit, len(places) if count == len(first) else count)
        return f"{reason}: {count:,} {_plural('row', count)} ({unit} {where})"

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "no rejects"


class _Indexable(Protocol):
    def __getitem__(self, index: int, /) -> Any: ...


class Screen:
    """Validates the rows of one input rule by rule, and records the first broken rule.

    ``source``: name of the input in messages: a path, or ``"columns"``.
    ``rows``: int64[n]: line or row number of each row.
    ``unit``: ``"line"`` or ``"row"``.
    ``is_aware``: for each column of wall-clock times, whether they have a zone.
    ``may_be_empty``: whether all rows may be rejected.
    """

    def __init__(self, source: str | os.PathLike[str], rows: Int64, unit: str = "row") -> None:
        self.source = os.fspath(source)
        self.rows = rows
        self.unit = unit
        self.bad: Bool = np.zeros(len(rows), dtype=np.bool_)
        self.shown: dict[str, tuple[str, _Indexable]] = {}
        self.is_aware: dict[str, bool] = {}
        self.may_be_empty = False
        self._reasons: dict[str, Int64] = {}
        self._rules: dict[str, tuple[str, str]] = {}

    def show(self, column: str, label: str, values: _Indexable) -> None:
        """Use the input's name of ``column``, and quote its ``values`` in messages."""
        self.shown[column] = (label, values)

    def show_others(self, columns: Mapping[str, _Indexable | None]) -> None:
        """Quote the given columns that are not shown yet, under their own names."""
        for column, values in columns.items():
            if values is not None and column not in self.shown:
                self.show(column, column, values)

    def label(self, column: str) -> str:
        """Return the input's name of ``column``."""
        return self.shown[column][0] if column in self.shown else column

    def require(self, good: Bool, column: str, rule: str) -> Bool:
        """Mark the rows that are not ``good``; return all rows that are still good."""
        failed = np.flatnonzero(~good & ~self.bad).astype(np.int64)
        if failed.size:
            reason = f"{self.label(column)} {rule}"
            self._reasons[reason] = np.append(
                self._reasons.get(reason, np.empty(0, dtype=np.int64)), failed
            )
            self._rules[reason] = (column, rule)
            self.bad[failed] = True
        return ~self.bad

    def place(self, index: int, column: str | None = None) -> str:
        """Return ``source, line n, column 'c'`` for messages."""
        where = f"{self.source}, {self.unit} {self.rows[index]}"
        return where if column is None else f"{where}, column {self.label(column)!r}"

    def finish(self, on_bad: OnBad) -> Rejects:
        """Raise for the first bad row, or return the counts."""
        if on_bad not in ("error", "reject"):
            raise ValueError(f'on_bad: {on_bad!r} must be "error" or "reject"')
        if on_bad == "error" and self._reasons:
            self._raise_first()
        rejects = Rejects(
            {reason: len(rows) for reason, rows in self._reasons.items()},
            {
                reason: tuple(self.rows[np.sort(rows)[:NUM_KEPT_LINES]].tolist())
                for reason, rows in self._reasons.items()
            },
            self.unit,
            {reason: column for reason, (column, _) in self._rules.items()},
        )
        if self.bad.all() and not self.may_be_empty:
            count = len(self.bad)
            every = "the only row was" if count == 1 else f"all {count:,} rows were"
            why = f"; {every} rejected: " if rejects else ""
            raise ValueError(f"{self.source}: no jobs{why}{'; '.join(rejects.lines())}")
        return rejects

    def _raise_first(self) -> None:
        reason = min(self._reasons, key=lambda reason: int(self._reasons[reason].min()))
        index = int(self._reasons[reason].min())
        column, rule = self._rules[reason]
        others = int(self.bad.sum()) - 1
        more = f" (and {others:,} more invalid {_plural('row', others)})" if others else ""
        shown = ""
        if column in self.shown:
            value = self.shown[column][1][index]
            shown = f"{value.item() if isinstance(value, np.generic) else value!r} "
        raise ValueError(f"{self.place(index, column)}: {shown}{rule}{more}")


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
