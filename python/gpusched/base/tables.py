"""Tables for terminals, notebooks, papers and programs."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from gpusched.base.wording import Kind, span, written

if TYPE_CHECKING:
    from rich.table import Table as RichTable

BEST: Final = "bold green"
"""Terminal style of the best value; bold in Markdown, LaTeX and HTML."""
FORMATS: Final = ("markdown", "latex", "csv", "json")
"""Output formats of a table, by the method ``to_`` of that name."""

Limits: TypeAlias = "tuple[float | None, float | None]"
Value: TypeAlias = "str | float | Limits | None"
_FIGURE: Final = re.compile(r"(-|[<>]?[+-]?[\d,]+)(\.\d+)?( ?[a-z%]+)?( ?[*!]?)")
_LATEX: Final = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "†": r"$\dagger$", "≈": r"$\approx$",
    **{sign: f"${sign}$" for sign in "<>|"}, **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


class Column(msgspec.Struct, frozen=True):
    """A column, numeric by default.

    ``name``: its heading.
    ``kind``, ``sign``: format of its values, see :func:`gpusched.base.wording.written`.
    ``key``: its name for programs, with the unit of the values: ``mean_jct_s``. For limits, two
        names separated by a comma. Empty: the heading.
    ``short``: heading in a terminal, with ``|`` for line breaks.
    ``is_highest_first``: whether sorting puts the highest values first.
    ``is_text``: whether values are texts, aligned to the left; numbers are aligned to the right.
    ``is_unbroken``, ``fills``: in a terminal: whether texts are never broken, and whether it takes
        the remaining width.
    """

    name: str
    kind: Kind = "ratio"
    sign: str = ""
    key: str = ""
    short: str = ""
    is_highest_first: bool = False
    is_text: bool = False
    is_unbroken: bool = False
    fills: bool = False

    @property
    def keys(self) -> list[str]:
        """Its names for programs."""
        return self.key.split(",") if self.key else [self.name]

    def text(self, value: Value) -> str:
        """Format a value; texts are unchanged."""
        if isinstance(value, str) or (self.kind == "text" and value is not None):
            return str(value)
        if isinstance(value, tuple):
            return span(*value, self.kind, self.sign)
        return written(value, self.kind, self.sign)


class Cell(msgspec.Struct, frozen=True):
    """A value with a terminal style, a mark after it, and a dim detail below it."""

    value: Value
    style: str = ""
    mark: str = ""
    detail: str = ""


def text_column(name: str, *, is_unbroken: bool = False, fills: bool = False) -> Column:
    """Return a column of texts."""
    return Column(name, is_text=True, is_unbroken=is_unbroken, fills=fills)


class Table(msgspec.Struct, frozen=True):
    """A title, columns, rows of cells, and notes."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=10_000).print(self.to_rich())
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip("\n")

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The rows as formatted texts with marks."""
        return [*map(tuple, self._written(str, str))]

    def _written(
        self,
        escaped: Callable[[str], str],
        bold: Callable[[str], str],
        detail: str = " ({})",
    ) -> list[list[str]]:
        return [
            [
                (bold if cell.style == BEST else str)(escaped(column.text(cell.value)))
                + escaped(cell.mark)
                + escaped(detail.format(cell.detail) if cell.detail else "")
                for column, cell in zip(self.columns, row, strict=True)
            ]
            for row in self.rows
        ]

    def without(self, keys: Collection[str]) -> Table:
        """Return the table without the columns with these keys."""
        kept = [at for at, column in enumerate(self.columns) if column.key not in keys]
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[at] for at in kept), rows=rows)

    def transposed(self) -> Table:
        """Return a column for each row, named by its first cell."""
        name, *others = self.columns
        columns = [replace(name, short=""), *(Column(row[0]) for row in self.texts)]
        texts = [*zip(*self.rows, strict=True)][1:]
        rows = [
            [column.name, *(replace(cell, value=column.text(cell.value)) for cell in cells)]
            for column, cells in zip(others, texts, strict=True)
        ]
        return table(self.title, columns, rows, self.notes)

    def sorted_by(self, key: str) -> Table:
        """Sort the rows by a column, best first and undefined values last."""
        at = [column.keys[0] for column in self.columns].index(key)
        column = self.columns[at]

        def place(row: tuple[Cell, ...]) -> tuple[bool, Any]:
            value = row[at].value
            value = value[0] if isinstance(value, tuple) else value
            if column.is_text:
                return value is None, value or ""
            if value is None or isinstance(value, str) or math.isnan(value):
                return True, 0.0
            return False, -value if column.is_highest_first else value

        return replace(self, rows=tuple(sorted(self.rows, key=place)))

    def to_rich(self) -> RichTable:
        """Return the table for a terminal, without title and notes."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        made = RichTable(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
        plain, shown = self._written(str, str, ""), list[list[str]]()
        for column, *texts in zip(self.columns, *plain, strict=True):
            heading = column.short.replace("|", "\n") or column.name
            made.add_column(
                Text(heading, justify="left" if column.is_text else "right"),
                no_wrap=column.is_unbroken,
                ratio=1 if column.fills else None,
            )
            details = (len(row[len(shown)].detail) for row in self.rows)
            least = max(*map(len, heading.split("\n")), 0, *details)
            shown.append(list(texts) if column.is_text else _lined_up(texts, least))
        widths = [
            0 if column.is_text else max(map(len, texts), default=0)
            for column, texts in zip(self.columns, shown, strict=True)
        ]
        for row, line in zip(self.rows, zip(*shown, strict=True), strict=True):
            made.add_row(
                *(
                    Text.assemble(
                        Text(text, style=cell.style),
                        Text(f"\n{cell.detail.rjust(width)}" if cell.detail else "", style="dim"),
                    )
                    for cell, text, width in zip(row, line, widths, strict=True)
                )
            )
        return made

    def to_markdown(self) -> str:
        """Return the table under a bold title, with its notes below."""
        lines = [f"**{self.title}**", ""] if self.title else []
        lines.append(_line(map(_markdown, self.headings)))
        lines.append(_line("---" if column.is_text else "---:" for column in self.columns))
        lines += map(_line, self._written(_markdown, "**{}**".format))
        lines += [line for note in self.notes for line in ("", note)]
        return "\n".join(lines) + "\n"

    def to_latex(self) -> str:
        """Return the table with booktabs rules.

        With a title it is a float with its notes below; without, notes are comments. If several
        columns name the rows, groups with equal first cells are separated.
        """
        shape = "".join("l" if column.is_text else "r" for column in self.columns)
        lines = [f"\\begin{{tabular}}{{{shape}}}", "\\toprule"]
        lines += [" & ".join(map(_latex, self.headings)) + " \\\\", "\\midrule"]
        before = None
        for cells in self._written(_latex, "\\textbf{{{}}}".format):
            if shape.startswith("ll") and before not in (None, cells[0]):
                lines.append("\\addlinespace")
            before = cells[0]
            lines.append(" & ".join(cells) + " \\\\")
        lines += ["\\bottomrule", "\\end{tabular}"]
        if not self.title:
            return "\n".join(lines + [f"% {note}" for note in self.notes]) + "\n"
        head = ["\\begin{table}", "\\centering", f"\\caption{{{_latex(self.title)}}}"]
        below = [f"{_latex(note)}\\par" for note in self.notes]
        below = ["\\par\\smallskip", "{\\footnotesize", *below, "}"]
        return "\n".join([*head, *lines, *below, "\\end{table}"]) + "\n"

    def to_html(self) -> str:
        """Return the table without title and notes, escaped and unstyled, for notebooks."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.headings)
        rows = (
            "".join(f"<td>{text}</td>" for text in row)
            for row in self._written(escape, "<b>{}</b>".format)
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def records(self) -> list[dict[str, str | float | None]]:
        """Return the values of each row by column keys; undefined values are None."""
        keys = [key for column in self.columns for key in column.keys]
        rows = []
        for row in self.rows:
            values: list[str | float | None] = []
            for column, cell in zip(self.columns, row, strict=True):
                each = cell.value if isinstance(cell.value, tuple) else (cell.value,)
                if cell.detail and isinstance(cell.value, str):
                    each = (f"{cell.value} ({cell.detail})",)
                values += each if len(each) == len(column.keys) else (None,) * len(column.keys)
            plain = (None if isinstance(v, float) and not math.isfinite(v) else v for v in values)
            rows.append(dict(zip(keys, plain, strict=True)))
        return rows

    def to_csv(self) -> str:
        """Return a header of keys and a line for each row, with values in base units."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([key for column in self.columns for key in column.keys])
        writer.writerows(record.values() for record in self.records())
        return text.getvalue()

    def to_json(self) -> str:
        """Return an object for each row, with values in base units."""
        return json.dumps(self.records(), indent=2, ensure_ascii=False) + "\n"


def table(
    title: str,
    columns: Sequence[str | Column],
    rows: Iterable[Sequence[Value | Cell]],
    notes: Iterable[str] = (),
) -> Table:
    """Build a table; among plain column names, the first is text, the others are numeric."""
    made = tuple(
        Column(column, is_text=not place) if isinstance(column, str) else column
        for place, column in enumerate(columns)
    )
    body = tuple(
        tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows
    )
    for row in body:
        if len(row) != len(made):
            raise ValueError(f"{title}: row {row} does not have {len(made)} cells")
    return Table(title, made, body, tuple(notes))


def html_page(title: str, *parts: str) -> str:
    """Return a line of text followed by HTML tables, for notebooks."""
    return f"<div><p>{escape(title)}</p>{''.join(parts)}</div>"


def _lined_up(texts: Sequence[str], width: int) -> list[str]:
    """Align numbers to the right, with aligned decimal points if they share one unit."""
    parts = [_FIGURE.fullmatch(text) for text in texts]
    known = [part for part in parts if part is not None and part[1] != "-"]
    after = max((len(part[4]) for part in known), default=0)
    units = {part[3] for part in known}
    has_points = len(units) == 1 and units != {"%"}
    decimals = max(len(part[2] or "") for part in known) if has_points else 0
    lined = [
        text
        if part is None
        else f"{part[1]}{(part[2] or '').ljust(decimals * (part[1] != '-'))}{part[3] or ''}"
        f"{part[4].ljust(after)}"
        for text, part in zip(texts, parts, strict=True)
    ]
    width = max([width, *map(len, lined)])
    return [text.rjust(width) for text in lined]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    return re.sub(r"([|*])", r"\\\1", text.replace("\n", "; "))


def _latex(text: str) -> str:
    escaped = "".join(_LATEX.get(sign, sign) for sign in text.replace("\n", "; "))
    return re.sub(r"(?<!\w)-(?=\d)", "$-$", escaped)
