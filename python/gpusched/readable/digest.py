"""The interval rows of a schedule and their digest."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable

from gpusched.readable.model import Row


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Sort by (job, start, server)."""
    return sorted(rows, key=lambda r: (r[0], r[1], r[3]))


def digest(rows: Iterable[Row], rejects: Iterable[tuple[int, int]]) -> str:
    """Return the SHA-256 of rows in order and (job, reason) pairs as little-endian int64."""
    sha = hashlib.sha256()
    for job, start, end, server, mask in rows:
        sha.update(struct.pack("<4qQ", job, start, end, server, mask))
    for job, reason in rejects:
        sha.update(struct.pack("<2q", job, reason))
    return sha.hexdigest()
