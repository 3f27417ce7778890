"""stdout for data, stderr for all else; both look right without a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from gpusched.reporting.text_table import Table as TextTable

WIDTH: Final = 100


def stdout() -> Console:
    """A console for data: at most ``WIDTH`` columns, exactly that many without a terminal."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal or console.width > WIDTH:
        console.width = WIDTH
    return console


def stderr() -> Console:
    """A console for progress and remarks."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def new_table() -> Table:
    """Return an empty table in the common style."""
    return Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))


def show_table(table: Table, *, wrap: bool = False) -> None:
    """Print ``table`` to stdout without blanks at the ends of its lines.

    Parameters
    ----------
    wrap
        Break text in cells to stay within the console; otherwise the table is as wide as it is.
    """
    console = stdout()
    if not wrap:
        console.width = max(console.width, table_width(table))
    with console.capture() as capture:
        console.print(table)
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))


def show_text_table(table: TextTable) -> None:
    """Print a table of texts with its title and notes."""
    show_lines(["", table.title], style="bold")
    shown = new_table()
    shown.add_column(table.headings[0])
    for heading in table.headings[1:]:
        shown.add_column(heading.replace(", ", "\n"), justify="right")
    for row in table.rows:
        shown.add_row(*row)
    show_table(shown, wrap=True)
    show_lines(table.notes, style="dim")


def table_width(table: Table) -> int:
    """The columns of a terminal that ``table`` takes if nothing in it is broken."""
    console = Console(width=10_000)
    return Measurement.get(console, console.options, table).maximum


def show_lines(lines: Iterable[str], style: str = "") -> None:
    """Print lines of text to stdout."""
    console = stdout()
    for line in lines:
        console.print(Text(line, style=style))


def show_json(value: Mapping[str, Any]) -> None:
    """Print ``value`` as JSON to stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def remark(lines: Iterable[str], style: str = "dim") -> None:
    """Print lines to stderr, unbroken however long they are."""
    console = stderr()
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=True)
