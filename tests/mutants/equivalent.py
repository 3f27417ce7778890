"""Faults that cannot change what anybody sees, and why: no test can notice them."""

from __future__ import annotations

from typing import Final

_REASONS: Final[dict[tuple[str, str], str]] = {}
"""By the file and the line as the fault leaves it, without its indentation."""


def reason_of(file: str, before: str, after: str) -> str:
    """Return why a fault changes nothing, or "" if it is not known to."""
    return _REASONS.get((file, after.strip()), "") if before != after else ""
