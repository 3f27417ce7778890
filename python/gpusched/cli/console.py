"""stdout for data, stderr for all else; both look right without a terminal."""

from __future__ import annotations

import io
import json
import math
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import msgspec
from rich.console import Console
from rich.measure import Measurement
from rich.text import Text

from gpusched.base.tables import Table

if TYPE_CHECKING:
    import polars as pl

WIDTH: Final = 100
TEXT: Final = "text"


class _Printing(msgspec.Struct):
    """How a command prints its tables, and how many it has."""

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
    """A console for data: at most ``WIDTH`` columns, exactly that many without a terminal."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal or console.width > WIDTH:
        console.width = WIDTH
    return console


def stderr() -> Console:
    """A console for progress and remarks."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def show_table(
    table: Table, *, wrap: bool = False, layout: Callable[[Table], Table] = lambda table: table
) -> None:
    """Print ``table`` to stdout as ``--as`` says, in the order of ``--sort``.

    For a person it has its title and notes, and no blanks at the ends of its lines.

    Parameters
    ----------
    wrap
        Break text in cells to stay within the console; otherwise the table is as wide as it is.
    layout
        What a person sees of it.
    """
    how = _PRINTING.get(_Printing())
    if how.sort is not None:
        try:
            table = table.sorted_by(how.sort)
        except ValueError:
            keys = ", ".join(column.keys[0] for column in table.columns)
            remark([f"--sort {how.sort}: not a column here; there are {keys}"], style="yellow")
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
    """The columns of a terminal that ``table`` takes if nothing in it is broken."""
    console = Console(file=io.StringIO(), width=10_000)  # a dumb terminal has 80 whatever is said
    return Measurement.get(console, console.options, table.to_rich()).maximum


def show_lines(lines: Iterable[str], style: str = "") -> None:
    """Print lines of text to stdout, unless ``--as`` asks for tables alone."""
    if _PRINTING.get(_Printing()).form != TEXT:
        return
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
