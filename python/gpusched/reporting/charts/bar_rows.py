"""The bars of whole runs in few bytes, from which a page draws any window and any servers."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.reporting.charts.bars import knows_servers, runs_of_bits

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

TICKS: Final = 1 << 24
"""Times are told to this part of the whole time."""
_COLUMNS: Final = 7
_PLANES: Final = 4  # bytes of a number


@dataclass(frozen=True)
class BarRows:
    """The bars of one policy on all servers.

    Attributes
    ----------
    count, left_out
        Bars that are here, and those of the least area that are not.
    packed
        Base64 of a zlib stream. In it are the columns begin, length, server, first GPU, number of
        GPUs, job, and GPUs of the job; times are in ticks. Each has ``count`` unsigned numbers of
        four bytes: all lowest bytes first, then all second ones, and so on. Bars stand by their
        begin, and instead of begin and job their differences are there, modulo 2^32: so most
        bytes are 0.
    """

    count: int
    left_out: int
    packed: str


def bar_rows(
    comparison: Comparison, window_s: tuple[float, float], most_bars: int
) -> tuple[list[BarRows], float]:
    """Pack at most ``most_bars`` bars of each policy that tells of servers, in their order.

    Those that lie in the window go before others, then those of the most GPU time.

    Parameters
    ----------
    window_s
        From and to, in seconds since the first submission.

    Returns
    -------
    tuple
        The rows of each policy, and the length of the whole time, seconds.
    """
    known = [result for result in comparison.results.values() if knows_servers(result)]
    origin_us = int(comparison.trace.submit_us[0])
    end_us = max(int(result.intervals["end_us"].max()) for result in known)
    span_us = max(1, end_us - origin_us)
    low, high = (origin_us + round(end * 1e6) for end in window_s)
    return [_packed(result, origin_us, span_us, (low, high), most_bars) for result in known], (
        span_us / 1e6
    )


def _packed(
    result: Result, origin_us: int, span_us: int, window_us: tuple[int, int], most_bars: int
) -> BarRows:
    table, left_out = _chosen(result.intervals, window_us, most_bars)
    row, first, length = runs_of_bits(table["mask"])
    # In doubles: microseconds x ticks would leave the range of 64 bits.
    begin, end = (
        np.rint((table[name] - origin_us) * (TICKS / span_us)).astype(np.int64)
        for name in ("start_us", "end_us")
    )
    job = table["job"]
    columns = (
        np.diff(begin[row], prepend=0),
        np.maximum(end - begin, 1)[row],
        table["server"][row],
        first,
        length,
        np.diff(job[row], prepend=0),
        result.trace.gpus[job][row],
    )
    numbers = np.stack([column.astype(np.int64) & 0xFFFFFFFF for column in columns])
    planes = numbers.astype("<u4").view(np.uint8).reshape(_COLUMNS, len(row), _PLANES)
    # Level 9 takes seven times as long to save 2 %.
    stream = zlib.compress(np.ascontiguousarray(planes.transpose(0, 2, 1)).tobytes(), 6)
    return BarRows(len(row), left_out, base64.b64encode(stream).decode())


def _chosen(
    rows: Mapping[str, AnyArray], window_us: tuple[int, int], most_bars: int
) -> tuple[dict[str, AnyArray], int]:
    """Return the rows that are told, by their begin, and how many bars the others have."""
    mask = rows["mask"]
    num_bars = np.bitwise_count(mask & ~(mask << np.uint64(1))).astype(np.int64)
    total = int(num_bars.sum())
    every: Int64 = np.arange(len(mask))
    if total > most_bars:
        inside = (rows["start_us"] < window_us[1]) & (rows["end_us"] > window_us[0])
        area = np.bitwise_count(mask) * (rows["end_us"] - rows["start_us"]).astype(np.float64)
        every = _foremost(area, inside, most_bars)
        every = every[np.lexsort((-area[every], ~inside[every]))]
        every = every[: int(np.searchsorted(np.cumsum(num_bars[every]), most_bars, side="right"))]
    kept = every[np.lexsort((every, rows["start_us"][every]))]
    table: dict[str, Any] = {name: values[kept] for name, values in rows.items()}
    return table, total - int(num_bars[kept].sum())


def _foremost(area: Float64, inside: Bool, count: int) -> Int64:
    """Return rows, ascending, among which so many come first: those inside, then by area.

    What is found is sorted afterwards: a sort of all rows is the dearest part of a long run's page.
    """
    # Rounding may make ranks equal, but changes the order of none.
    rank = np.where(inside, area, area - (area.max() + 1.0))
    if count >= len(rank):
        return np.arange(len(rank))
    return np.flatnonzero(rank >= np.partition(rank, -count)[-count])
