"""Turns the ids that a user hands in into a checked column: integers or text, none twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.field_checks import entries, is_missing, kind_name, masked_rows, plain_array
from gpusched.base.rejects import Screen
from gpusched.traces.checked_columns import check_length

_KEEPS_DUPLICATES: Final = ContextVar("keeps duplicate ids", default=False)


def identifiers(column: str, values: Any, num_rows: int) -> AnyArray:
    """Return ids as int64 or as text.

    Raises
    ------
    TypeError
        If they are neither all integers nor all text.
    """
    what = f"column {column!r}"
    missing, is_both = masked_rows(values), False
    array = plain_array(what, values)
    if array.dtype.kind in "OT" or isinstance(values, list | tuple):
        given = entries(what, values, "integers or text")
        types = set(map(type, given))
        if types - {int, str}:
            missing = np.array([is_missing(value) for value in given], dtype=np.bool_)
        is_text = str in types and types <= {str, np.str_}
        if is_text and array.dtype.kind != "U":
            array = np.array(given, dtype=np.str_)
        is_both = not is_text and array.dtype.kind in "UT"
    elif array.dtype.kind == "f":
        missing = np.isnan(array)
    if missing is not None and missing.any():
        raise ValueError(f"{what}, row {int(np.argmax(missing))}: an id must not be missing")
    if is_both:
        raise TypeError(f"{what} must hold integers or text, not both")
    if array.dtype.kind not in "iuU" and array.size:
        raise TypeError(f"{what} must hold integers or text, not {kind_name(array, values)}")
    check_length(column, array, num_rows)
    if array.dtype.kind == "U":
        return array
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise ValueError(f"{what} must fit 64-bit signed integers")
    return array.astype(np.int64)


def unique_ids(screen: Screen, ids: AnyArray | None) -> AnyArray:
    """Return the ids, or where None are given the positions of the rows.

    Raises
    ------
    ValueError
        If two good rows have the same id; the message names both.
    """
    if ids is None:
        return np.arange(len(screen.rows), dtype=np.int64)
    if not _KEEPS_DUPLICATES.get():
        _check_unique(screen, ids)
    return ids


@contextmanager
def duplicate_ids_kept() -> Iterator[None]:
    """Take ids that are there twice within this context: for who looks for them."""
    token = _KEEPS_DUPLICATES.set(True)
    try:
        yield
    finally:
        _KEEPS_DUPLICATES.reset(token)


def _check_unique(screen: Screen, ids: AnyArray) -> None:
    good = ids[~screen.bad]
    if good.dtype.kind == "i":
        is_unique = bool((good[1:] > good[:-1]).all()) or len(np.unique(good)) == len(good)
    else:
        is_unique = len(set(good.tolist())) == len(good)
    if is_unique:
        return
    first_use: dict[Any, int] = {}
    for index in np.flatnonzero(~screen.bad).tolist():
        value = ids[index].item()
        if value in first_use:
            raise ValueError(
                f"{screen.place(index, 'id')}: {value!r} must be unique, "
                f"{screen.unit} {screen.rows[first_use[value]]} has it too"
            )
        first_use[value] = index
