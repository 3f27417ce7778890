"""Units of time in user input, and of GPU shares, CPU cores and memory in the core."""

from __future__ import annotations

import re
from typing import Final

WHOLE_GPU: Final = 1000
"""GPU shares are in thousandths."""
MILLI_PER_CORE: Final = 1000
MIB_PER_GIB: Final = 1024

UNITS: Final = {
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
}
"""Seconds of the units of times and of column name suffixes."""
_TIME: Final = re.compile(r"(.*?)\s*([a-z]*)")


def seconds_of(text: str | float) -> float:
    """Read a time: ``90``, ``90s``, ``15m``, ``1.5h`` or ``1d``."""
    found = _TIME.fullmatch(str(text).strip().lower())
    try:
        assert found is not None
        return float(found[1]) * (UNITS | {"m": 60.0})[found[2] or "s"]
    except (KeyError, ValueError):
        raise ValueError(f"{text!r} must be a time such as 90, 90s, 15m, 1.5h or 1d") from None


def requeue_back_of(rule: str) -> int:
    """Return the value of the column requeue_back for ``same`` or ``back``.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if rule not in ("same", "back"):
        raise ValueError(f"{rule!r} must be same or back")
    return int(rule == "back")


def share_of(text: str | float) -> float:
    """Read a share: ``0.9`` or ``90%``."""
    written = str(text).strip()
    try:
        return float(written.removesuffix("%")) / (100 if written.endswith("%") else 1)
    except ValueError:
        raise ValueError(f"{text!r} must be a share such as 0.9 or 90%") from None
