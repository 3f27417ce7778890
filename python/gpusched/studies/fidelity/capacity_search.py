"""The capacity under which a policy does to jobs most nearly what happened to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MOST_TIMES: Final = 4
"""No more servers are tried than this times the least."""

PATIENCE: Final = 3
"""How many steps down in a row may bring it no nearer before the search ends."""


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


def smaller_capacity(distance: Callable[[int], float], most: int, least: int) -> int:
    """Return a number of servers, at most ``most``, that is nearer to what happened.

    The number is lowered in steps of a twentieth, until three in a row bring it no nearer.

    Parameters
    ----------
    distance
        How far from what happened it is on so many servers.
    most, least
        Where to begin, and the fewest to try.
    """
    step = max(1, most // 20)
    best, nearest, in_vain = most, distance(most), 0
    for servers in range(most - step, least - 1, -step):
        far = distance(servers)
        in_vain = 0 if far < nearest else in_vain + 1
        if in_vain == PATIENCE:
            break
        if far < nearest:
            best, nearest = servers, far
    return best
