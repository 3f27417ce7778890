"""Strict conversion of user values from any container; errors name the field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32
from gpusched.base.suggest import nearest

_KINDS: Final = {
    "O": "Python objects",
    "U": "text",
    "T": "text",
    "S": "bytes",
    "b": "booleans",
    "c": "complex numbers",
    "M": "dates",
    "m": "durations",
    "V": "records",
}
_TYPES: Final = {
    "str": "text",
    "bytes": "bytes",
    "bool": "booleans",
    "complex": "complex numbers",
    "Decimal": "decimals",
    "date": "dates",
    "datetime": "dates",
    "Timestamp": "dates",
}


def is_missing(value: Any) -> bool:
    """Return whether an entry is missing: None, NaN, masked, pandas' NA or NaT."""
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | np.datetime64 | np.timedelta64) and bool(
        value != value
    )


def entries(what: str, values: Any, expected: str) -> list[Any]:
    """Return the entries of a column as Python values; missing ones are unchanged."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{what} must hold {expected}, not {values!r}")
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow, Polars and pandas, NumPy
        if hasattr(values, method):
            values = getattr(values, method)()
            break
    if not isinstance(values, Iterable):  # a single number in an array without dimensions
        raise TypeError(f"{what} must hold {expected}, not {values!r}")
    given = list(values)
    if any(kind is type(np.ma.masked) for kind in set(map(type, given))):
        given = [None if value is np.ma.masked else value for value in given]
    return given


def real_numbers(what: str, values: Any) -> AnyArray:
    """Return integers or floats as an array of any shape, NaN where one is missing."""
    array = plain_array(what, values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{what} must hold integers or floats, not {kind_name(array, values)}")
    return array


def unmasked(what: str, values: Any) -> Float64:
    """Return :func:`real_numbers` as float64, C-contiguous; masked entries are a ValueError.

    Booleans become 0 and 1.
    """
    is_truth = getattr(values, "dtype", None) == np.bool_
    array = real_numbers(what, np.asarray(values, np.uint8) if is_truth else values)
    missing = masked_rows(values)
    if missing is not None and missing.any():
        first = np.argwhere(missing)[0].tolist()
        raise ValueError(f"{what}[{', '.join(map(str, first))}]: is masked")
    made: Float64 = np.require(array, np.float64, "C")
    return made


def plain_array(what: str, values: Any) -> AnyArray:
    """Return an array of any type; missing numbers are NaN, durations NaT."""
    values = _unpacked(values)
    if isinstance(values, list | tuple):
        types = set(map(type, values))
        if types & {bool, np.bool_} and len(types) > 1:
            raise TypeError(f"{what} must not mix booleans with other values")
        if type(np.ma.masked) in types:
            values = [None if value is np.ma.masked else value for value in values]
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    if array.size == 0 and not hasattr(values, "dtype"):
        return array.astype(np.float64)  # an empty list has no type of its own
    if array.dtype.kind == "O":
        return _of_objects(array)
    missing = masked_rows(values)
    if missing is None or not missing.any():
        return array
    if array.dtype.kind in "iuf":
        array = array.astype(np.float64)
        array[missing] = np.nan
    elif array.dtype.kind == "m":
        array = array.copy()
        array[missing] = np.timedelta64("NaT")
    return array


def kind_name(array: AnyArray, values: Any) -> str:
    """Name the contents of ``array``, which was made from ``values``."""
    if array.dtype.kind == "O" and array.size:
        first = next((value for value in array.flat if not is_missing(value)), None)
        if first is not None:
            name = type(first).__name__
            return _TYPES.get(name, f"Python objects ({name})")
    return _KINDS.get(array.dtype.kind, str(array.dtype))


def masked_rows(values: Any) -> Bool | None:
    """Return which entries are masked, None if none can be."""
    if isinstance(values, np.ma.MaskedArray):
        mask: Bool = np.ma.getmaskarray(values)
        return mask
    return None


def _unpacked(values: Any) -> Any:
    """Convert pandas' Arrow columns and Polars' decimals, which NumPy would convert wrongly."""
    dtype = getattr(values, "dtype", None)
    if type(dtype).__name__ == "ArrowDtype":
        return values.array.__arrow_array__()
    if type(dtype).__name__ == "Decimal":
        return np.array(values.to_list(), dtype=object)
    return values


def _of_objects(array: AnyArray) -> AnyArray:
    """Convert objects to their common type, numbers or durations, if they have one."""
    missing = np.asarray(np.frompyfunc(is_missing, 1, 1)(array), dtype=np.bool_)
    types = set(map(type, array[~missing].flat))
    if not types:
        return np.full(array.shape, np.nan)
    if all(issubclass(kind, int | float | np.integer | np.floating) for kind in types) and not (
        types & {bool, np.bool_}
    ):
        if not missing.any() and all(issubclass(kind, int | np.integer) for kind in types):
            try:
                return array.astype(np.int64)
            except OverflowError:
                pass
        return np.where(missing, np.nan, array).astype(np.float64)
    if all(hasattr(kind, "total_seconds") for kind in types):
        return _durations(array, missing)
    return array


def _durations(array: AnyArray, missing: Bool) -> AnyArray:
    parts = [_nanoseconds(value) for value in array[~missing].flat]
    is_coarse = all(part % 1000 == 0 for part in parts)  # microseconds reach further
    ticks = np.full(array.shape, np.timedelta64("NaT"), "m8[us]" if is_coarse else "m8[ns]")
    ticks[~missing] = [part // 1000 if is_coarse else part for part in parts]
    return ticks


def _nanoseconds(duration: Any) -> int:
    """Convert a ``datetime.timedelta``, or pandas' Timedelta, exactly."""
    whole = (duration.days * 86_400 + duration.seconds) * 1_000_000 + duration.microseconds
    return int(whole * 1000 + getattr(duration, "nanoseconds", 0))


def check_name(field: str, value: Any) -> None:
    """Raise unless ``value`` is a non-blank text."""
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
    """Raise ValueError if there are no names, or two equal ones.

    ``field`` is the name of the list, and ``where`` a prefix of the message.
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
    """Convert a column of ``names``, or of indices into them, to indices."""
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
