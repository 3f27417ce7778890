"""Times in which servers have failed or are drained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Bool, Int64
from gpusched.base.memo import kept

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages

NEVER: Final = 2**62
"""After all instants of a run."""


def outage_rows(outages: Outages | None, cluster: Cluster) -> list[tuple[int, int, int, int]]:
    """Return server, start, end (``NEVER``: none) and kind of outages, of each part of a server."""
    if outages is None:
        return []
    part_of = cluster.server_part_of
    first = list(range(cluster.num_servers)) if part_of is None else part_of.tolist()
    parts: dict[int, list[int]] = {}
    for part, server in enumerate(first):
        parts.setdefault(server, []).append(part)
    end_us = np.where(outages.end_us < 0, NEVER, outages.end_us)
    columns = (outages.server, outages.start_us, end_us, outages.kind)
    return [
        (part, *when)
        for server, *when in zip(*(column.tolist() for column in columns), strict=True)
        if server < len(first)
        for part in parts[first[server]]
    ]


@dataclass(frozen=True)
class Downtimes:
    """Times of servers, by server and start; those of one server neither meet nor overlap.

    Attributes
    ----------
    server, start_us, end_us
        Where, and from when until when; ``NEVER`` if it does not end.
    """

    server: Int64
    start_us: Int64
    end_us: Int64

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, int]]) -> Downtimes:
        """Join times (server, start, end) that meet: no instant lies between them."""
        joined: list[list[int]] = []
        for server, start_us, end_us in sorted(rows):
            if joined and joined[-1][0] == server and start_us <= joined[-1][2]:
                joined[-1][2] = max(joined[-1][2], end_us)
            else:
                joined.append([server, start_us, end_us])
        return cls(*np.array(joined, np.int64).reshape(-1, 3).T)

    @kept
    def _starts(self) -> Int64:
        """All starts, ascending."""
        return np.unique(self.start_us)

    def _keys(self, server: Int64, us: Int64) -> Int64:
        """Number pairs: later starts before a time, and later servers, have larger numbers."""
        keys: Int64 = server * (len(self._starts) + 1)
        return keys + np.searchsorted(self._starts, us, side="right")

    def _after(self, server: Int64, us: Int64) -> tuple[Int64, Int64]:
        """Return the index of the first time that begins later, and the server there or -1."""
        own = self._keys(self.server, self.start_us)
        index = np.searchsorted(own, self._keys(server, us), side="right")
        return index, np.append(self.server, -1)

    def next_us(self, server: Int64, us: Int64) -> Int64:
        """Return when the next one begins after each moment on its server; ``NEVER``: none."""
        index, servers = self._after(server, us)
        return np.where(servers[index] == server, np.append(self.start_us, NEVER)[index], NEVER)

    def cover(self, server: Int64, us: Int64) -> Bool:
        """Return whether each moment on its server lies in one."""
        index, servers = self._after(server, us)
        covers: Bool = (servers[index - 1] == server) & (us < np.append(self.end_us, 0)[index - 1])
        return covers
