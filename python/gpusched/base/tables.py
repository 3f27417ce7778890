"""Tables of texts: for a terminal, for notebooks, for Markdown, for LaTeX and for ``print``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from rich.table import Table as RichTable

BEST: Final = "bold green"
"""How a terminal shows the best of several."""


class Column(msgspec.Struct, frozen=True):
    """A column, of figures unless said.

    Attributes
    ----------
    name
        Its heading, of several lines where it has line breaks.
    unit
        Of its figures.
    is_text
        Texts stand to the left, figures to the right.
    is_unbroken, fills
        In a terminal: whether its texts are never broken, and whether it takes all room that is
        left.
    """

    name: str
    unit: str = ""
    is_text: bool = False
    is_unbroken: bool = False
    fills: bool = False

    def heading(self, between: str = ", ") -> str:
        """Return the name and the unit."""
        return f"{self.name}{between}{self.unit}" if self.unit else self.name


class Cell(msgspec.Struct, frozen=True):
    """A text that a terminal shows in a style, with a dim detail below it."""

    text: str
    style: str = ""
    detail: str = ""


def text_column(name: str, *, is_unbroken: bool = False, fills: bool = False) -> Column:
    """Return a column of texts."""
    return Column(name, is_text=True, is_unbroken=is_unbroken, fills=fills)


class Table(msgspec.Struct, frozen=True):
    """A title, columns, rows of texts, and what a reader must know about them.

    Attributes
    ----------
    rows
        As many cells as columns each; one without any sets groups of rows apart.
    best
        The places of rows that a terminal shows as the best.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    notes: tuple[str, ...] = ()
    best: tuple[int, ...] = ()

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of the columns with their units."""
        return tuple(column.heading() for column in self.columns)

    def to_rich(self) -> RichTable:
        """Return the table for a terminal, without title and notes."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        def shown(cell: str | Cell) -> Text:
            if isinstance(cell, str):
                return Text(cell)
            detail = Text(f"\n{cell.detail}" if cell.detail else "", style="dim")
            return Text.assemble(Text(cell.text, style=cell.style), detail)

        made = RichTable(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
        for column in self.columns:
            made.add_column(
                Text(column.heading("\n")),
                justify="left" if column.is_text else "right",
                no_wrap=column.is_unbroken,
                ratio=1 if column.fills else None,
            )
        for place, row in enumerate(self.rows):
            made.add_row(*map(shown, row), style=BEST if place in self.best else None)
        return made

    def to_markdown(self, marks: tuple[str, str] = ("---", "---:")) -> str:
        """Return the table under a bold title, with its notes below.

        Parameters
        ----------
        marks
            Below the headings of texts, and of figures.
        """
        lines = [f"**{self.title}**", ""] if self.title else []
        lines.append(_line(self.headings))
        lines.append(_line([marks[not column.is_text] for column in self.columns]))
        lines += [_line(map(_plain, row)) for row in self.rows]
        lines += [line for note in self.notes for line in ("", note)]
        return "\n".join(lines) + "\n"

    def to_latex(self) -> str:
        """Return the table with rules of booktabs; all its texts are LaTeX already.

        Under a title it floats with its notes below, else they are comments. Where rows are named
        by several columns, those that differ in the first stand apart.
        """
        shape = "".join("l" if column.is_text else "r" for column in self.columns)
        lines = [f"\\begin{{tabular}}{{{shape}}}", "\\toprule"]
        lines += [" & ".join(self.headings) + " \\\\", "\\midrule"]
        before: str | None = None
        for row in self.rows:
            cells = [_plain(cell) for cell in row]
            if shape.startswith("ll") and before not in (None, cells[0]):
                lines.append("\\addlinespace")
            before = cells[0]
            lines.append(" & ".join(cells) + " \\\\")
        lines += ["\\bottomrule", "\\end{tabular}"]
        if not self.title:
            return "\n".join(lines + [f"% {note}" for note in self.notes]) + "\n"
        head = ["\\begin{table}", "\\centering", f"\\caption{{{self.title}}}"]
        below = [f"{note}\\par" for note in self.notes]
        below = ["\\par\\smallskip", "{\\footnotesize", *below, "}"]
        return "\n".join([*head, *lines, *below, "\\end{table}"]) + "\n"

    def to_html(self) -> str:
        """Return the table alone, escaped and without a style, for notebooks."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.headings)
        rows = ("".join(f"<td>{escape(_plain(cell))}</td>" for cell in row) for row in self.rows)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table(
    title: str,
    columns: Sequence[str | Column],
    rows: Iterable[Sequence[str | Cell]],
    notes: Iterable[str] = (),
    *,
    best: Iterable[int] = (),
) -> Table:
    """Build a table; of columns that are named alone the first has texts, the others figures.

    Raises
    ------
    ValueError
        If a row has another length than the headings.
    """
    made = tuple(
        Column(column, is_text=not place) if isinstance(column, str) else column
        for place, column in enumerate(columns)
    )
    body = tuple(tuple(row) for row in rows)
    for row in body:
        if row and len(row) != len(made):
            raise ValueError(f"{title}: row {row} does not have {len(made)} cells")
    return Table(title, made, body, tuple(notes), tuple(best))


def html_page(title: str, *parts: str) -> str:
    """Return a line of text with tables of HTML below it, for notebooks."""
    return f"<div><p>{escape(title)}</p>{''.join(parts)}</div>"


def aligned(rows: Sequence[Sequence[str]], *, texts: int = 1) -> list[str]:
    """Return the rows as lines with columns under each other, for ``print``.

    Parameters
    ----------
    rows
        Equally many cells each, the headings first.
    texts
        How many columns, from the first on, are texts; the others are figures, set to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(cell: str | Cell) -> str:
    return cell if isinstance(cell, str) else cell.text
