"""Times in which servers have failed, are drained or maintained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusched.base.arrays import Bool, Int64
from gpusched.base.memo import kept
from gpusched.model.cluster import Cluster
from gpusched.model.outages import ANY, NEVER_US, Outages, spans


@dataclass(frozen=True)
class Downtimes:
    """Times of servers, by server and start; those of one server neither meet nor overlap.

    ``server``, ``start_us``, ``end_us``: where, and from when until when; ``NEVER_US`` if it does
        not end.
    """

    server: Int64
    start_us: Int64
    end_us: Int64

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        outages: Outages | None,
        kinds: Sequence[int] = ANY,
    ) -> Downtimes:
        """Join outages of these kinds that meet: no instant lies between them."""
        return cls(*spans(cluster, outages, kinds))

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
        """Return when the next one begins after each moment on its server; ``NEVER_US``: none."""
        index, servers = self._after(server, us)
        return np.where(
            servers[index] == server, np.append(self.start_us, NEVER_US)[index], NEVER_US
        )

    def cover(self, server: Int64, us: Int64) -> Bool:
        """Return whether each moment on its server lies in one."""
        index, servers = self._after(server, us)
        covers: Bool = (servers[index - 1] == server) & (us < np.append(self.end_us, 0)[index - 1])
        return covers
