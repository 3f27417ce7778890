"""Rows of a timeline on which nothing overlaps."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import numpy as np

from gpusched.base.arrays import AnyArray, Int64

PER_GPU = 1000
"""Lanes of one GPU: its number times this, and more for jobs that share it."""


def lanes_of(rows: Mapping[str, AnyArray]) -> Int64:
    """Return the lane of each row on its server: its lowest GPU, times 1,000.

    Jobs that share a GPU, and all jobs of a pool without servers, get further lanes, each the
    first that is free.
    """
    mask = rows["mask"].astype(np.uint64)
    lowest = mask & (~mask + np.uint64(1))
    gpu = np.zeros(len(mask), dtype=np.int64)
    held = lowest > 0
    gpu[held] = np.round(np.log2(lowest[held].astype(np.float64))).astype(np.int64)
    lane = gpu * PER_GPU
    order = np.lexsort((rows["end_us"], rows["start_us"], lane, rows["server"]))
    place = np.stack([rows["server"][order], lane[order]])
    same = (place[:, 1:] == place[:, :-1]).all(axis=0)
    overlaps = same & (rows["start_us"][order][1:] < rows["end_us"][order][:-1])
    if overlaps.any():
        _spread(rows, order, lane)
    return lane


def _spread(rows: Mapping[str, AnyArray], order: AnyArray, lane: Int64) -> None:
    """Move rows that overlap one before them to the first lane that is free."""
    server, start_us, end_us = (rows[name].tolist() for name in ("server", "start_us", "end_us"))
    group: tuple[int, int] | None = None
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    num_lanes = 0
    for row in order.tolist():
        of = (server[row], int(lane[row]))
        if of != group:
            group, free, busy, num_lanes = of, [], [], 0
        while busy and busy[0][0] <= start_us[row]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            chosen = heapq.heappop(free)
        else:
            chosen, num_lanes = num_lanes, num_lanes + 1
        heapq.heappush(busy, (end_us[row], chosen))
        lane[row] += chosen
