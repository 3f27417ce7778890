"""Tables of plain texts, for a terminal and for Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpusched.statistics.intervals import Interval


@dataclass(frozen=True)
class Table:
    """A title, headings, rows of texts, and what a reader must know about them.

    The first column is text and the others are figures.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def to_markdown(self) -> str:
        """Return the table under a bold title, with its notes below."""
        lines = [f"**{self.title}**", "", _line(self.headings)]
        lines.append(_line(["---", *["---:"] * (len(self.headings) - 1)]))
        lines += map(_line, self.rows)
        lines += [line for note in self.notes for line in ("", note)]
        return "\n".join(lines) + "\n"


def table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    notes: Iterable[str] = (),
) -> Table:
    """Build a table.

    Raises
    ------
    ValueError
        If a row has another length than the headings.
    """
    body = tuple(tuple(row) for row in rows)
    for row in body:
        if len(row) != len(headings):
            raise ValueError(f"{title}: row {row} does not have {len(headings)} cells")
    return Table(title, tuple(headings), body, tuple(notes))


def figure_of(value: Interval, digits: int = 0, scale: float = 1.0) -> str:
    """Write a mean as ``512 +- 14``, or with both limits where one is farther off."""
    return _with_limits(value.scaled(scale), digits)


def percent_of(value: Interval) -> str:
    """Write a ratio as ``12.3 +- 1.1 %``, or as ``12.3 [10.8, 13.1] %``."""
    return f"{_with_limits(value.scaled(100), 1)} %"


def _with_limits(value: Interval, digits: int) -> str:
    told = f"{value.value:.{digits}f}"
    if not value.is_known:
        return told if math.isnan(value.half_width) else f"{told} (no limits)"
    if math.isclose(value.low + value.high, 2 * value.value, rel_tol=1e-6, abs_tol=1e-9):
        return f"{told} ± {value.half_width:.{digits}f}"
    return f"{told} [{value.low:.{digits}f}, {value.high:.{digits}f}]"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
