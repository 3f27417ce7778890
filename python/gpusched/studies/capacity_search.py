"""The capacity under which a policy makes jobs wait as long as they did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MOST_TIMES: Final = 4
"""No more servers are tried than this times the least."""


def nearest_capacity(mean_wait: Callable[[int], float], least: int, target: float) -> int:
    """Return the number of servers whose mean wait is the nearest to ``target``.

    More servers make for shorter waits, but for exceptions. So their number is raised in steps
    that grow until waits are as short as the target, the step that passed it is bisected, and the
    neighbours of what that finds are tried, too. If waits are short enough on ``least`` servers,
    those are taken.

    Parameters
    ----------
    mean_wait
        The mean wait on so many servers; it is asked once for each number.
    least
        The fewest servers that may be taken.
    target
        The mean wait to come near to.

    Returns
    -------
    int
        Among those tried the nearest, and of equally near ones the fewest.
    """
    seen: dict[int, float] = {}

    def at(servers: int) -> float:
        if servers not in seen:
            seen[servers] = mean_wait(servers)
        return seen[servers]

    if at(least) <= target:
        return least
    low, most = least, MOST_TIMES * least
    step = max(1, least // 16)
    high = min(low + step, most)
    while at(high) > target and high < most:
        low, step = high, 2 * step
        high = min(high + step, most)
    while high - low > 1:
        middle = (low + high) // 2
        if at(middle) > target:
            low = middle
        else:
            high = middle
    for beside in (low - 1, high + 1):
        if least <= beside <= most:
            at(beside)
    return min(seen, key=lambda servers: (abs(seen[servers] - target), servers))
