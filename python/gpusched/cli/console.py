"""stdout for data, stderr for all else; both look right without a terminal."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs
from rich.console import Console
from rich.measure import Measurement
from rich.text import Text

from gpusched.base.tables import Table

if TYPE_CHECKING:
    import polars as pl

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
        console.print(table.to_rich())
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))


def show_text_table(table: Table) -> None:
    """Print a table with its title and notes, the units of its headings on lines of their own."""
    show_lines(["", table.title], style="bold")
    columns = tuple(
        column if column.is_text else structs.replace(column, name=column.name.replace(", ", "\n"))
        for column in table.columns
    )
    show_table(structs.replace(table, columns=columns), wrap=True)
    show_lines(table.notes, style="dim")


def table_width(table: Table) -> int:
    """The columns of a terminal that ``table`` takes if nothing in it is broken."""
    console = Console(width=10_000)
    return Measurement.get(console, console.options, table.to_rich()).maximum


def show_lines(lines: Iterable[str], style: str = "") -> None:
    """Print lines of text to stdout."""
    console = stdout()
    for line in lines:
        console.print(Text(line, style=style))


def show_json(value: Mapping[str, Any]) -> None:
    """Print ``value`` as JSON to stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def plain_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame for :func:`show_json`: what is not finite is None."""
    return [
        {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in row.items()
        }
        for row in frame.iter_rows(named=True)
    ]


def remark(lines: Iterable[str], style: str = "dim") -> None:
    """Print lines to stderr, unbroken however long they are."""
    console = stderr()
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=True)


@contextmanager
def worker_pipes() -> Iterator[None]:
    """Have a worker that is gone raise an error, where it would end the command as a reader does.

    A command ends without a word when nobody reads its output any more, which it learns by
    SIGPIPE. A process that works for it and has died, as at Ctrl-C, gives the same signal.
    """
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)
