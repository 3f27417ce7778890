"""Output: data to stdout, all else to stderr; both readable without a terminal."""

from __future__ import annotations

import io
import json
import math
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.measure import Measurement
from rich.text import Text

from gpusched.base.libraries import polars as pl
from gpusched.base.tables import Table

WIDTH: Final = 100
TEXT: Final = "text"


class _Printing(msgspec.Struct):
    """How a command prints its tables, and how many it has printed."""

    form: str = TEXT
    sort: str | None = None
    num_tables: int = 0


_PRINTING: Final[ContextVar[_Printing]] = ContextVar("_PRINTING")


@contextmanager
def printing(form: str, sort: str | None) -> Iterator[None]:
    """Print tables in this form, and sorted by this column; other lines only as ``TEXT``."""
    before = _PRINTING.set(_Printing(form, sort))
    try:
        yield
    finally:
        _PRINTING.reset(before)


def stdout() -> Console:
    """Return a console for data: at most ``WIDTH`` columns, exactly that without a terminal."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal or console.width > WIDTH:
        console.width = WIDTH
    return console


def stderr() -> Console:
    """Return a console for progress and remarks."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def show_table(
    table: Table, *, wrap: bool = False, layout: Callable[[Table], Table] = lambda table: table
) -> None:
    """Print ``table`` to stdout as ``--as`` says, in the order of ``--sort``.

    As text it has its title and notes, and no trailing blanks.

    ``wrap``: break text in cells to fit the console; otherwise the table keeps its width.
    ``layout``: change applied to a table that is printed as text.
    """
    how = _PRINTING.get(_Printing())
    if how.sort is not None:
        try:
            table = table.sorted_by(how.sort)
        except ValueError:
            keys = ", ".join(column.keys[0] for column in table.columns)
            remark([f"--sort {how.sort}: not a column here; known: {keys}"], style="yellow")
    if how.form != TEXT:
        print("\n" * (how.num_tables > 0) + getattr(table, f"to_{how.form}")(), end="")
        how.num_tables += 1
        return
    table, console = layout(table), stdout()
    if table.title:
        show_lines(["", table.title], style="bold")
    if not wrap:
        console.width = max(console.width, table_width(table))
    with console.capture() as capture:
        console.print(table.to_rich())
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))
    show_lines(table.notes, style="dim")


def table_width(table: Table) -> int:
    """Return the width of ``table`` in characters if no cell is broken."""
    console = Console(file=io.StringIO(), width=10_000)  # a dumb terminal would give 80
    return Measurement.get(console, console.options, table.to_rich()).maximum


def show_lines(lines: Iterable[str], style: str = "") -> None:
    """Print lines of text to stdout, unless ``--as`` restricts output to tables."""
    if _PRINTING.get(_Printing()).form != TEXT:
        return
    console = stdout()
    for line in lines:
        console.print(Text(line, style=style))


def show_json(value: Mapping[str, Any]) -> None:
    """Print ``value`` as JSON to stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def plain_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame for :func:`show_json`, with None for non-finite values."""
    return [
        {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in row.items()
        }
        for row in frame.iter_rows(named=True)
    ]


def remark(lines: Iterable[str], style: str = "dim") -> None:
    """Print lines to stderr without breaking them."""
    console = stderr()
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=True)


@contextmanager
def worker_pipes() -> Iterator[None]:
    """Turn the SIGPIPE of a dead worker process into an error.

    Elsewhere SIGPIPE means that the output is no longer read, and ends the command silently.
    A dead worker, as after Ctrl-C, raises the same signal.
    """
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)
