"""Checks of single fields and of columns that name one of several: errors name the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusched.base.arrays import Int32
from gpusched.base.intake import masked_rows, plain_array
from gpusched.base.suggest import nearest


def check_name(field: str, value: Any) -> None:
    """Raise unless ``value`` is text with more than blanks in it."""
    if not isinstance(value, str):
        raise TypeError(f"{field}: {value!r} must be text")
    if not value.strip():
        raise ValueError(f"{field}: {value!r} must not be empty")


def check_positive(field: str, value: Any, low: float = 0.0, high: float = float("inf")) -> float:
    """Return ``value`` as a float; raise unless it is finite, positive and in ``[low, high]``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{field}: {value!r} must be a number")
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{field}: {value!r} must be finite and positive")
    if not low <= value <= high:
        raise ValueError(f"{field}: {value!r} must lie in {low:g}..{high:g}")
    return float(value)


def check_integer(name: str, value: Any, minimum: int, maximum: int) -> None:
    """Raise unless ``value`` is an integer in ``minimum..maximum``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: {value!r} must be an integer")
    if not minimum <= value <= maximum:
        raise ValueError(f"{name}: {value} must lie in {minimum:,}..{maximum:,}")


def not_negative(field: str, value: Any, high: float, low: float = 0.0) -> float:
    """Return ``value`` as a float; raise unless it is 0 or a number in low..high."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{field}: {value!r} must be a number")
    if not 0 <= value <= high:  # written so that NaN fails
        raise ValueError(f"{field}: {value!r} must lie in 0..{high:g}")
    if 0 < value < low:
        raise ValueError(f"{field}: {value!r} must be 0 or lie in {low:g}..{high:g}")
    return float(value)


def check_distinct(field: str, names: Sequence[str], where: str = "") -> None:
    """Raise ValueError if there are no names, or two equal ones: ``field`` is the list they name.

    ``where`` goes before the message.
    """
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        if first.setdefault(name, position) != position:
            raise ValueError(
                f"{where}{field}[{position}].name: {name!r} is the name of "
                f"{field}[{first[name]}] too"
            )
    if not first:
        raise ValueError(f"{where}{field}: at least one is needed")


def numbered(column: str, values: Any, names: Sequence[str], num_rows: int) -> Int32:
    """Number one of ``names``, or one index of them, per row.

    Raises
    ------
    TypeError
        If the column holds neither text nor integers.
    ValueError
        If it has another length, or an entry is no name or index; the message names the row.
    """
    array = plain_array(f"column {column!r}", values)
    if array.shape != (num_rows,):
        raise ValueError(f"column {column!r} has shape {array.shape}, not ({num_rows},)")
    missing = masked_rows(values)
    if missing is not None and missing.any():
        raise ValueError(f"row {int(np.argmax(missing))}, column {column!r}: is missing")
    if array.dtype.kind in "iu":
        outside = np.flatnonzero((array < 0) | (array >= len(names)))
        if outside.size:
            row = int(outside[0])
            raise ValueError(
                f"row {row}, column {column!r}: {array[row]} must lie in 0..{len(names) - 1}"
            )
        return array.astype(np.int32)
    number = {name: position for position, name in enumerate(names)}
    entries = array.tolist()
    for row, name in enumerate(entries):
        if not isinstance(name, str):
            raise TypeError(
                f"row {row}, column {column!r}: {name!r} must be text, or all rows integers"
            )
        if name not in number:
            raise ValueError(
                f"row {row}, column {column!r}: unknown {name!r}{nearest(name, list(number))}"
            )
    return np.array([number[name] for name in entries], dtype=np.int32)
