"""The least number for which something holds that holds for more, as a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

NEIGHBOURS: Final = 3
"""How many numbers on either side of an answer are looked at."""


def fewest(
    holds: Callable[[int], bool], least: int, guess: int, most: int, neighbours: int = NEIGHBOURS
) -> int | None:
    """Find the least number in ``least..most`` for which ``holds``: bracket, bisect, look around.

    Parameters
    ----------
    holds
        Asked for some numbers, and for none twice if it keeps its answers. Where it is not
        monotone, the answer is the least number that was seen to hold with none of the
        ``neighbours`` numbers below it holding.
    guess
        Where to begin, in that range.
    neighbours
        Of the answer, asked for on either side; above only so that ``holds`` has seen them.

    Returns
    -------
    int or None
        None if it does not hold for ``most``, nor for the numbers asked for on the way to it.
    """
    low, high = _bracket(holds, least, guess, most)
    if high is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    found = high
    below = found - 1
    while below >= max(least, found - 1 - neighbours):
        if holds(below):
            found = below
        below -= 1
    for above in range(found + 1, min(most, found + neighbours) + 1):
        holds(above)
    return found


def _bracket(
    holds: Callable[[int], bool], least: int, guess: int, most: int
) -> tuple[int, int | None]:
    """Return a number for which it does not hold (or ``least - 1``), and one for which it does."""
    if holds(guess):
        high, step = guess, 1
        while high > least:
            low = max(least, high - step)
            if not holds(low):
                return low, high
            high, step = low, step * 2
        return least - 1, high
    low, step = guess, 1
    while low < most:
        high = min(most, low + step)
        if holds(high):
            return low, high
        low, step = high, step * 2
    return low, None
