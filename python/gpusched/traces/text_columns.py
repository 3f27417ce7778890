"""Parse text and frame columns into numbers, ids and names; bad values go to the screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.labels import STATUSES, Labels
from gpusched.base.libraries import polars
from gpusched.base.rejects import Screen
from gpusched.base.ticks import MAX_SUBMIT_US, US_PER_S, seconds_to_us
from gpusched.traces.intake.wall_clock import EXAMPLE
from gpusched.traces.intake.wall_clock import UNIX_EPOCH as UNIX_EPOCH
from gpusched.traces.intake.wall_clock import is_wall_clock as is_wall_clock

OF_A_RUN: Final = {
    "finished": "ok", "rejected": "unknown", "unfinished": "unknown", "cancelled": "killed",
}  # fmt: skip
"""Statuses of a simulation result as those of a trace; ``killed`` and ``failed`` are the same."""
_NUM_SHOWN: Final = 5
_MAX_S: Final = MAX_SUBMIT_US / US_PER_S
_CLOCK: Final = r"^(?:(\d{1,5})-)?(\d{1,7}):(\d{2}):(\d{2}(?:\.\d{1,6})?)$"


def _clock_s(text: polars.Series) -> polars.Series:
    """Return the seconds of ``2:00:00`` and ``1-02:00:00``; null for other texts."""
    parts = text.str.extract_groups(_CLOCK).struct.unnest()
    days, hours, minutes, seconds = (parts[name].cast(polars.Float64) for name in parts.columns)
    return ((days.fill_null(0) * 24 + hours) * 60 + minutes) * 60 + seconds


def numbers(
    screen: Screen,
    column: str,
    label: str,
    values: polars.Series,
    *,
    may_miss: bool = False,
    may_be_time: bool = False,
) -> AnyArray:
    """Read a column of numbers.

    int64 or float64; rows that failed hold NaN.

    ``column``, ``label``: gpusched's name of the column, and the file's.
    ``may_miss``: whether an empty value means "not given" (NaN) instead of an error.
    ``may_be_time``: whether the column could also hold wall-clock times.
    """
    screen.show(column, label, values)
    if values.dtype == polars.String:
        parsed = values.cast(polars.Float64, strict=False)
        missing = np.zeros(len(values), dtype=np.bool_)
        if parsed.null_count():  # strip blanks only if needed: it costs as much as parsing
            text = values.str.strip_chars()
            parsed = text.cast(polars.Float64, strict=False)
            if column.endswith("_s"):
                parsed = parsed.fill_null(_clock_s(text))
            missing = (text.fill_null("") == "").to_numpy()
    elif values.dtype.is_numeric() and not values.dtype.is_decimal():
        parsed = values
        missing = values.is_null().to_numpy()
    elif values.dtype == polars.Duration and column.endswith("_s"):
        parsed = values.dt.total_microseconds() / US_PER_S
        missing = values.is_null().to_numpy()
    else:
        raise TypeError(f"{screen.source}: column {label!r} must hold numbers, not {values.dtype}")
    if not may_miss:
        screen.require(~missing, column, "must not be empty")
    rule = "must be a number" + (f" or a time like {EXAMPLE}" if may_be_time else "")
    screen.require(parsed.is_not_null().to_numpy() | missing, column, rule)
    array: AnyArray = parsed.to_numpy()
    return array.astype(np.int64 if array.dtype.kind == "i" else np.float64)


def identifiers(screen: Screen, label: str, values: Any) -> AnyArray:
    """Return ids as int64 if all of them are plain integers, else as text."""
    series = polars.Series(values)
    screen.show("id", label, series)
    if series.dtype == polars.String:
        # Only numbers that print the same again: no plus sign, no leading zeros.
        is_plain = series.str.contains(r"^(?:0|-?[1-9][0-9]{0,18})$").fill_null(False).all()
        whole = series.cast(polars.Int64, strict=False) if is_plain else None
        if whole is None or whole.null_count():
            return np.asarray(series.fill_null("").to_list(), dtype=np.str_)
        series = whole
    if not series.dtype.is_integer() or series.null_count():
        raise TypeError(
            f"{screen.source}: column {label!r} must hold integers or text, not {series.dtype}"
        )
    return series.cast(polars.Int64).to_numpy()


def labels(screen: Screen, label: str, values: polars.Series) -> Labels:
    """Number the names in a column; any scalar value can be a name."""
    if values.dtype.is_nested() or values.dtype in (polars.Binary, polars.Object):
        raise TypeError(
            f"{screen.source}: column {label!r} must hold text or integers, not {values.dtype}"
        )
    return Labels.of(values)


def statuses(values: Iterable[str], known: Mapping[str, str]) -> Labels:
    """Map the source's states to ok, failed and killed; others become ``"unknown"``."""
    given = Labels.of(values)
    ours = Labels.of(known.get(name.strip(), "unknown") for name in given.names)
    return Labels(ours.codes[given.codes], ours.names)


def of_a_run(named: Labels) -> tuple[Labels, tuple[str, ...]]:
    """Map the statuses of a simulation result, with a note; return other labels unchanged."""
    given = _present(named)
    theirs = [name for name in given if name in OF_A_RUN]
    if not theirs or not {*given} <= OF_A_RUN.keys() | {"killed", "failed"}:
        return named, ()
    ours = Labels.of(OF_A_RUN.get(name, name) for name in named.names)
    told = ", ".join(f"{name!r} becomes {OF_A_RUN[name]!r}" for name in theirs)
    return Labels(ours.codes[named.codes], ours.names), (f"status is that of a run: {told}",)


def known_statuses(named: Labels) -> tuple[Labels, tuple[str, ...]]:
    """Map statuses as :func:`of_a_run`, and others to ``"unknown"``; return notes on both."""
    named, notes = of_a_run(named)
    others = [name for name in _present(named) if name not in STATUSES]
    if others:
        shown = ", ".join(map(repr, others[:_NUM_SHOWN]))
        more = f" and {len(others) - _NUM_SHOWN:,} more" if len(others) > _NUM_SHOWN else ""
        rule = f"not one of {', '.join(STATUSES)}"
        notes += (f"status {shown}{more}: {rule}; read as 'unknown'",)
    return named.among(STATUSES, "unknown"), notes


def _present(named: Labels) -> list[str]:
    counts = named.counts().tolist()
    return [name for name, count in zip(named.names, counts, strict=True) if name and count]


def cumulated(screen: Screen, column: str, gaps_s: AnyArray) -> Int64:
    """Return the running sum of the seconds since the previous row, each rounded to ticks.

    The first may be missing (NaN).
    """
    if len(gaps_s) and np.isnan(gaps_s[0]):
        gaps_s = np.concatenate([np.zeros(1), gaps_s[1:]])
    good = np.isfinite(gaps_s) & (gaps_s >= 0) & (gaps_s <= _MAX_S)
    if not good.all():
        row = int(np.argmin(good))
        value = screen.shown[column][1][row] if column in screen.shown else gaps_s[row].item()
        raise ValueError(
            f"{screen.place(row, column)}: {value!r} must be a number of seconds, 0 or more; all "
            "later submit times depend on it"
        )
    total = np.cumsum(gaps_s, dtype=np.float64)
    if total.size and total[-1] > _MAX_S:
        raise ValueError(f"{screen.place(len(total) - 1, column)}: the submit times exceed 2^61 us")
    return np.cumsum(seconds_to_us(gaps_s))
