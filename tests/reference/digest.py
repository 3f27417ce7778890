"""The interval rows of a schedule and their digest."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable

from .model import Row


def merged(rows: Iterable[Row]) -> list[Row]:
    """Sort by (job, start, server) and join adjacent rows on the same GPUs."""
    result: list[Row] = []
    for job, start, end, server, mask in sorted(rows, key=lambda r: (r[0], r[3], r[4], r[1])):
        if result:
            last_job, last_start, last_end, last_server, last_mask = result[-1]
            if (last_job, last_end, last_server, last_mask) == (job, start, server, mask):
                result[-1] = (job, last_start, end, server, mask)
                continue
        result.append((job, start, end, server, mask))
    return sorted(result, key=lambda r: (r[0], r[1], r[3]))


def digest(rows: Iterable[Row], rejects: Iterable[tuple[int, int]]) -> str:
    """Return the SHA-256 of merged rows and (job, reason) pairs as little-endian int64."""
    sha = hashlib.sha256()
    for job, start, end, server, mask in rows:
        sha.update(struct.pack("<4qQ", job, start, end, server, mask))
    for job, reason in rejects:
        sha.update(struct.pack("<2q", job, reason))
    return sha.hexdigest()
