"""Delimited text as columns of text, each row with its physical line number."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from gpusched.base.arrays import Int64
from gpusched.base.files import MAX_COLUMNS
from gpusched.base.libraries import polars
from gpusched.base.rejects import Screen
from gpusched.base.source import Source

_UNUSED: Final = "\x01"
"""A separator that never occurs, to read whole lines as one column."""
_SMALL: Final = 4096
"""Characters of a file that is read faster without Polars."""


class Table(msgspec.Struct, frozen=True):
    """Columns of text.

    ``source``: the file.
    ``columns``: text of each column, as in the file.
    ``lines``: int64: physical line of each row; 1 is the file's first line.
    """

    source: Source
    columns: dict[str, polars.Series]
    lines: Int64

    def screen(self) -> Screen:
        """Return a screen for this table's rows."""
        return Screen(str(self.source), self.lines, "line")


def read_table(
    source: Source,
    required: Sequence[str] = (),
    *,
    separator: str = ",",
    header: Sequence[str] | None = None,
) -> Table:
    """Read delimited text.

    ``required``: required columns.
    ``header``: column names of a file without a header line.
    """
    names = list(header) if header is not None else _names(source, separator)
    for name in required:
        if name not in names:
            raise ValueError(
                f"{source}, line 1: column {name!r} is missing; the header has {', '.join(names)}"
            )
    first_row = 0 if header is not None else 1
    is_small = len(source.text) < _SMALL
    table = None if is_small else _read_lines(source, names, separator, first_row)
    if table is None:
        table = _read_records(source, names, separator, first_row)
    if not table.lines.size:
        raise ValueError(f"{source}: no jobs; the file has no row below its header")
    return table


def read_spaced(source: Source, names: Sequence[str], *, comment: str) -> Table:
    """Read blank-separated columns; skip empty lines and those that begin with ``comment``."""
    every = polars.Series(source.text.split("\n")).str.strip_chars()
    is_row = (every != "") & ~every.str.starts_with(comment)
    lines = is_row.arg_true().to_numpy().astype(np.int64) + 1
    if not lines.size:
        raise ValueError(f"{source}: no jobs; the file has only comments")
    rows = every.filter(is_row).str.replace_all(r"[ \t]+", " ")
    num_fields = rows.str.count_matches(" ", literal=True).to_numpy() + 1
    _check_fields(source, names, lines, num_fields)
    data = "\n".join(rows.to_list()).encode()
    return Table(source, _columns(source, data, names, " ", lines, quote=None), lines)


def _names(source: Source, separator: str) -> list[str]:
    first = source.text[: source.text.find("\n")] if "\n" in source.text else source.text
    try:
        fields = next(csv.reader([first], delimiter=separator), [])
    except csv.Error as error:
        raise ValueError(f"{source}, line 1: {error}") from None
    names = [name.strip() for name in fields]
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"{source}, line 1: {len(names):,} columns; at most {MAX_COLUMNS:,}")
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{source}, line 1: column {name!r} is named twice")
        seen.add(name)
    return names


def _read_lines(source: Source, names: list[str], separator: str, first_row: int) -> Table | None:
    """Read text with one row per line natively; None for other text."""
    data = source.text.rstrip("\n").encode()
    if not data:
        return Table(source, {}, np.empty(0, dtype=np.int64))
    if data.startswith(b"\n") or b"\n\n" in data or _UNUSED.encode() in data:
        return None
    every = polars.read_csv(
        data, has_header=False, separator=_UNUSED, quote_char=None, infer_schema=False
    ).to_series()
    bare, quote = every, None
    if b'"' in data:
        # Only fully quoted fields, without line ends or quotes inside.
        field = f'("[^"]*"|[^"{separator}]*)'
        if not every.str.contains(f"^{field}({re.escape(separator)}{field})*$").all():
            return None
        bare, quote = every.str.replace_all('"[^"]*"', ""), '"'
    lines = np.arange(first_row + 1, len(every) + 1, dtype=np.int64)
    if not lines.size:
        return Table(source, {}, lines)
    num_marks = bare[first_row:].str.count_matches(separator, literal=True)
    if num_marks.min() != num_marks.max() or num_marks[0] != len(names) - 1:
        _check_fields(source, names, lines, num_marks.to_numpy().astype(np.int64) + 1)
    content = data.split(b"\n", first_row)[-1]
    return Table(source, _columns(source, content, names, separator, lines, quote=quote), lines)


def _columns(
    source: Source,
    data: bytes,
    names: Sequence[str],
    separator: str,
    lines: Int64,
    *,
    quote: str | None,
) -> dict[str, polars.Series]:
    frame = polars.read_csv(
        data,
        has_header=False,
        new_columns=list(names),
        separator=separator,
        quote_char=quote,
        infer_schema=False,
    )
    if frame.height != lines.size:  # line numbers must be exact
        raise ValueError(f"{source}: {frame.height} rows in {lines.size} lines")
    filled = frame.fill_null("") if any(column.null_count() for column in frame) else frame
    return {name: filled[name] for name in names}


def _check_fields(source: Source, names: Sequence[str], lines: Int64, num_fields: Int64) -> None:
    ragged = np.flatnonzero(num_fields != len(names))
    if ragged.size:
        index = int(ragged[0])
        raise _ragged(source, int(lines[index]), int(num_fields[index]), len(names))


def _read_records(source: Source, names: list[str], separator: str, first_row: int) -> Table:
    """Read any delimited text, record by record; a quoted field may span lines."""
    text = io.StringIO(source.text, newline="\n")
    reader = csv.reader(text, delimiter=separator, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    start = 1
    try:
        for row in reader:
            if row and start > first_row:
                if len(row) != len(names):
                    raise _ragged(source, start, len(row), len(names))
                rows.append(row)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{source}, line {start}: {error}") from None
    columns = zip(*rows, strict=True)
    return Table(
        source,
        {name: polars.Series(name, values) for name, values in zip(names, columns, strict=False)},
        np.array(lines, dtype=np.int64),
    )


def _ragged(source: Source, line: int, num_fields: int, expected: int) -> ValueError:
    plural = "field" if num_fields == 1 else "fields"
    return ValueError(
        f"{source}, line {line}: {num_fields} {plural}, but a row must have {expected} "
        "(a malformed or truncated row)"
    )
