"""The interval rows of a schedule and their digest."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from itertools import groupby

from gpusched.readable.model import Row


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Sort by (job, start, server), and join intervals that touch and have the same GPUs."""
    intervals: list[list[Row]] = []
    for _, same in groupby(sorted(rows, key=lambda r: (r[0], r[1], r[3])), key=lambda r: r[:2]):
        interval = list(same)
        ended = [(row[0], row[2], *row[3:]) for row in (intervals[-1] if intervals else [])]
        if ended == [(row[0], row[1], *row[3:]) for row in interval]:
            interval = [
                (*before[:2], *row[2:])
                for before, row in zip(intervals.pop(), interval, strict=True)
            ]
        intervals.append(interval)
    return [row for interval in intervals for row in interval]


def digest(rows: Iterable[Row], rejects: Iterable[tuple[int, int]]) -> str:
    """Return the SHA-256 of rows in order and (job, reason) pairs as little-endian int64."""
    sha = hashlib.sha256()
    for job, start, end, server, mask in rows:
        sha.update(struct.pack("<4qQ", job, start, end, server, mask))
    for job, reason in rejects:
        sha.update(struct.pack("<2q", job, reason))
    return sha.hexdigest()
