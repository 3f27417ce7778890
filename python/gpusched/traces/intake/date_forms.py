"""Dates in the forms that people have, as ISO 8601 texts or columns of dates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.suggest import HintedError
from gpusched.base.ticks import US_PER_S
from gpusched.traces.intake.wall_clock import first_text

if TYPE_CHECKING:
    import polars

ORDERS: Final = ("dmy", "mdy")
_ISO: Final = r"^\s*\d{4}-\d{1,2}-\d{1,2}"
_YEAR_FIRST: Final = r"^(\d{4})[/.](\d{1,2})[/.](\d{1,2})"
_YEAR_LAST: Final = r"^(\d{1,2})([./-])(\d{1,2})[./-](\d{4})"
_ORDER_SAID: Final = {"dmy": "day.month.year", "mdy": "month/day/year"}
_COMPACT: Final = r"^((?:19|20)\d\d)(\d\d)(\d\d)$"
_FIRST_S, _LAST_S = 1e9, 4e9  # the years 2001 to 2096
_NOT_YET: Final = ("0", "-1")
_COUNTED: Final = (("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6))


def date_order(source: str, columns: Mapping[str, polars.Series], asked: str | None) -> str | None:
    """Return which of day and month comes first in dates that end in the year; None without such.

    Raises
    ------
    ValueError
        If no date of the file tells, and it was not said, or this is neither of the two.
    """
    import polars

    if asked is not None and asked not in ORDERS:
        raise ValueError(f"date_order: {asked!r} must be one of {', '.join(ORDERS)}")
    dates = {
        label: values
        for label, values in columns.items()
        if polars.Series([first_text(values)]).str.contains(_YEAR_LAST)[0]
    }
    if not dates or asked is not None:
        return asked
    parts = polars.concat(
        [
            values.str.strip_chars().str.extract_groups(_YEAR_LAST).struct.unnest()
            for values in dates.values()
        ]
    )
    is_dmy, is_mdy = (bool((parts[place].cast(polars.Int8) > 12).any()) for place in ("1", "3"))
    if is_dmy and is_mdy:
        raise ValueError(
            f"{source}: dates of both orders are in the file: some begin with the day, others with "
            f"the month (columns {', '.join(dates)})"
        )
    if is_dmy != is_mdy:
        return "dmy" if is_dmy else "mdy"
    if not is_dmy and (parts["2"] == ".").all():
        return "dmy"
    label, values = next(iter(dates.items()))
    raise HintedError(
        f"{source}: column {label!r}: {first_text(values)!r} may begin with the day or with the "
        "month, and no date of the file tells; say which",
        " with date_order='dmy' or date_order='mdy'",
        " with --option date_order=dmy or --option date_order=mdy",
    )


def plain_dates(values: polars.Series, order: str | None, unit: float) -> tuple[polars.Series, str]:
    """Return dates as ISO texts or as such, other columns as they are, and what they were.

    Numbers between the years 2001 and 2096 count seconds, thousandths or millionths since 1970,
    whichever it is; 0 and -1 among them are times that are not known. Eight digits may be a date.

    Parameters
    ----------
    unit
        Seconds of what numbers count; 0 where they do not count from 1970.
    """
    import polars

    first = polars.Series([first_text(values)])
    if first.str.contains(_ISO)[0]:
        return values, "dates"
    if first.str.contains(_YEAR_FIRST)[0]:
        return values.str.strip_chars().str.replace(_YEAR_FIRST, "$1-$2-$3"), "dates"
    if order is not None and first.str.contains(_YEAR_LAST)[0]:
        iso = "${4}-${3}-${1}" if order == "dmy" else "${4}-${1}-${3}"
        said = f"dates, {_ORDER_SAID[order]}"
        return values.str.strip_chars().str.replace(_YEAR_LAST, iso), said
    if not unit or not (values.dtype == polars.String or values.dtype.is_numeric()):
        return values, ""
    if unit == 1 and first.str.contains(_COMPACT)[0]:
        texts = values.str.strip_chars().replace(_NOT_YET, "")
        dates = texts.str.replace(_COMPACT, "$1-$2-$3")
        is_read = dates.str.to_date("%Y-%m-%d", strict=False).is_not_null() & (dates != texts)
        if (is_read | (texts == "")).fill_null(True).all():
            return dates, "dates, yearmonthday"
    counted = values.cast(polars.Float64, strict=False).fill_null(np.nan).to_numpy() * unit
    counted[(counted == 0) | (counted == -unit)] = np.nan
    known = counted[np.isfinite(counted)]
    for name, parts in _COUNTED:
        if len(known) and known.min() >= _FIRST_S * parts and known.max() < _LAST_S * parts:
            ticks = polars.Series(np.rint(counted * (US_PER_S / parts)), nan_to_null=True)
            whole = ticks.cast(polars.Int64, strict=False)
            said = f"{name} since 1970" if unit == 1 else "since 1970"
            return whole.cast(polars.Datetime("us", "UTC")), said
    return values, ""
