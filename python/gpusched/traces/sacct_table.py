"""What ``sacct --parsable`` prints: columns of text between any delimiter, nothing quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.delimited_text import Table
from gpusched.base.files import MAX_COLUMNS
from gpusched.base.source import Source

if TYPE_CHECKING:
    import polars

FREE_TEXT: Final = (
    "JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "Extra",
)  # fmt: skip
"""What users write, so that it may hold the delimiter."""
_FIRST_NAMES: Final = re.compile(r"\s*([A-Za-z]+)([^A-Za-z0-9]+)[A-Za-z]")
_MAX_DELIMITER: Final = 20


def delimiter_of(header: str) -> str | None:
    """Return what stands between the first two names of a header, None if there is nothing."""
    found = _FIRST_NAMES.match(header)
    return found[2] if found and len(found[2]) <= _MAX_DELIMITER else None


def names_of(header: str, delimiter: str) -> list[str]:
    """Return the names of the columns; an empty last one where every line ends in a delimiter."""
    return [name.strip() for name in header.split(delimiter)]


def read_sacct_table(source: Source, delimiter: str | None, known: Sequence[str]) -> Table:
    """Read the table; names that differ from ``known`` ones in case alone are taken for them.

    A delimiter too many is taken for part of the one column that holds :data:`FREE_TEXT`, but for
    a comma.

    Parameters
    ----------
    delimiter
        One or several characters; None: those between the first names of the header.

    Raises
    ------
    ValueError
        If there is no row, a column is named twice, a row has too few or too many fields, or
        columns are made by blanks.
    """
    import polars

    header, *rest = source.text.split("\n")
    delimiter = delimiter or delimiter_of(header)
    if delimiter is None:
        raise ValueError(f"{source}, line 1: no header of sacct; print it with --parsable2")
    if delimiter.strip(" ") == "":
        raise ValueError(f"{source}: sacct printed this for the eye; print it with --parsable2")
    canonical = {name.lower(): name for name in (*known, *FREE_TEXT)}
    names = [canonical.get(name.lower(), name) for name in names_of(header, delimiter)]
    _check_names(source, names)
    every = polars.Series(rest, dtype=polars.String)
    is_row = every.str.strip_chars() != ""
    lines = is_row.arg_true().to_numpy().astype(np.int64) + 2
    if not lines.size:
        raise ValueError(f"{source}: no jobs; the file has no row below its header")
    fields = every.filter(is_row).str.split(delimiter)
    surplus = fields.list.len().cast(polars.Int64).to_numpy() - len(names)
    free = [place for place, name in enumerate(names) if name in FREE_TEXT]
    if delimiter == ",":  # it stands between resources, too: nobody knows whose the surplus is
        free = []
    ragged = np.flatnonzero(surplus != 0 if len(free) != 1 else surplus < 0)
    if ragged.size:
        row = int(ragged[0])
        raise _ragged(source, int(lines[row]), len(names) + int(surplus[row]), len(names))
    columns = {
        name: fields.list.get(place).str.strip_chars() for place, name in enumerate(names) if name
    }
    longer = np.flatnonzero(surplus)
    if longer.size:
        _mend(columns, names, free[0], fields, longer, delimiter)
    return Table(source, columns, lines)


def _mend(
    columns: dict[str, polars.Series],
    names: Sequence[str],
    free: int,
    fields: polars.Series,
    rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    delimiter: str,
) -> None:
    """Give the surplus fields of ``rows`` to the column at ``free``."""
    mended = []
    for parts in fields[rows].to_list():
        end = free + 1 + len(parts) - len(names)
        mended.append([*parts[:free], delimiter.join(parts[free:end]), *parts[end:]])
    for name, values in zip(names, zip(*mended, strict=True), strict=True):
        if name:
            columns[name] = columns[name].scatter(rows, [value.strip() for value in values])


def _check_names(source: Source, names: Sequence[str]) -> None:
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"{source}, line 1: {len(names):,} columns; there may be {MAX_COLUMNS:,}")
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{source}, line 1: column {name!r} is named twice")
        seen.add(name)


def _ragged(source: Source, line: int, num_fields: int, expected: int) -> ValueError:
    plural = "field" if num_fields == 1 else "fields"
    return ValueError(
        f"{source}, line {line}: {num_fields} {plural}, but a row must have {expected} "
        "(a truncated row, or a text that holds the delimiter: print with another --delimiter)"
    )
