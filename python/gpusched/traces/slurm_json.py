"""What Slurm's JSON holds: numbers and states, plain or wrapped, as its versions write them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

MAX_TASKS: Final = 1_000_000
"""Tasks of one array that are taken; Slurm itself allows four times as many."""


def number(value: Any) -> Any:
    """Return a number, None if it is not set, infinity if it is unlimited.

    Later versions write ``{"set": true, "infinite": false, "number": 60}``. What is neither is
    returned as it is.
    """
    if not isinstance(value, Mapping) or "number" not in value:
        return value
    if value.get("infinite") is True:
        return math.inf
    return value["number"] if value.get("set", True) is not False else None


def states(value: Any) -> frozenset[str]:
    """Return the state and its flags, in capitals: a text, or a list of texts."""
    given = value if isinstance(value, list) else [value]
    return frozenset(state.strip().upper() for state in given if isinstance(state, str))


def count(value: Any) -> float:
    """Return a number as :func:`number` does, NaN for what is none."""
    plain = number(value)
    is_number = isinstance(plain, int | float) and not isinstance(plain, bool)
    return float(plain) if is_number else math.nan


def tasks(text: str) -> list[int] | None:
    """Return the tasks of ``1-10%2`` or ``1,3,5-9:2``; None if they cannot be read, or are many."""
    found: list[int] = []
    for numbers in _ranges(text.partition("%")[0]):
        if numbers is None or len(found) + len(numbers) > MAX_TASKS:
            return None
        found += numbers
    return found


def _ranges(text: str) -> Iterator[range | None]:
    for part in text.split(","):
        ends, _, step = part.strip().partition(":")
        first, mark, last = ends.partition("-")
        words = [first, last or first, step or "1"]
        if (mark and not last) or not all(word.isdecimal() and len(word) < 10 for word in words):
            yield None
            return
        begin, end, by = map(int, words)
        yield range(begin, end + 1, by) if by and begin <= end else None
