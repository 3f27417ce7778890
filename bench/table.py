"""Reports of benchmarks: rows, and targets met or missed; as text and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bar:
    """A target: an upper (or lower) limit, and the measured value."""

    what: str
    measured: float
    limit: float
    unit: str = ""
    at_least: bool = False

    @property
    def is_met(self) -> bool:
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def cells(self) -> list[str]:
        sign = ">=" if self.at_least else "<="
        return [
            self.what,
            f"{sign} {_figure(self.limit)} {self.unit}".rstrip(),
            f"{_figure(self.measured)} {self.unit}".rstrip(),
            "met" if self.is_met else "MISSED",
        ]


@dataclass
class Section:
    """One benchmark: how it was measured, its rows, and its bars."""

    title: str
    method: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self) -> str:
        parts = [f"{self.title}\n{'-' * len(self.title)}\n{self.method}"]
        if self.rows:
            parts.append(_text_table(self.columns, self.rows))
        if self.bars:
            parts.append(_text_table(BAR_COLUMNS, [bar.cells() for bar in self.bars]))
        parts += self.notes
        return "\n\n".join(parts)

    def markdown(self) -> str:
        parts = [f"## {self.title}", self.method]
        if self.rows:
            parts.append(_markdown_table(self.columns, self.rows))
        if self.bars:
            parts.append(_markdown_table(BAR_COLUMNS, [bar.cells() for bar in self.bars]))
        parts += self.notes
        return "\n\n".join(parts)


BAR_COLUMNS = ("bar", "limit", "measured", "")


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _is_number(cell: str) -> bool:
    return cell[:1].isdigit() or cell in ("", "-")


def _numeric(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    return [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]


def _text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    numeric = _numeric(columns, rows)
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join([line(columns), line(["-" * width for width in widths]), *map(line, rows)])


def _markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    marks = ["--:" if right else ":--" for right in _numeric(columns, rows)]
    lines = [columns, marks, *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
