"""Tables of a reproduction: plain texts, for a terminal and for Markdown."""

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
    """Write a mean as ``512 +- 14``."""
    return _with_width(value.value * scale, value.half_width * scale, digits)


def percent_of(value: Interval) -> str:
    """Write a mean that is a ratio as ``12.3 +- 1.1 %``."""
    return f"{_with_width(value.value * 100, value.half_width * 100, 1)} %"


def _with_width(value: float, half_width: float, digits: int) -> str:
    if math.isnan(half_width):
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ± {half_width:.{digits}f}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
