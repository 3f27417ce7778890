"""What is held of each server over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpusched.audit.log.pairs import FEW, sorted_pairs
from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.memo import kept


@dataclass(frozen=True)
class Occupancy:
    """An entry for each server and instant at which GPUs are taken or given back, in that order.

    Attributes
    ----------
    server, us
        Where and when.
    free
        GPUs behind the instant.
    is_shared
        Whether any has two holders; then less are free.
    """

    server: Int64
    us: Int64
    free: Int64
    is_shared: Bool

    @kept
    def first(self) -> Int64:
        """The first entry of each server."""
        return np.flatnonzero(np.diff(self.server, prepend=-1))

    @classmethod
    def of(cls, rows: Mapping[str, AnyArray], server_gpus: Int64) -> Occupancy:
        """Add up the rows of a log, by the GPUs of each server.

        The sum of sets of GPUs, each a number with a bit for each, has as many bits as all of them
        together if and only if no two have a bit in common: otherwise one is carried.
        """
        server, us, mask, is_release = _changes(rows)
        is_last = np.ones(len(us), np.bool_)  # of those of a server and an instant
        np.not_equal(us[1:], us[:-1], out=is_last[:-1])
        is_last[:-1] |= server[1:] != server[:-1]
        gpus = np.bitwise_count(mask).astype(np.int8)
        np.negative(gpus, out=gpus, where=is_release)
        np.negative(mask, out=mask, where=is_release)
        # Whoever takes GPUs of a server gives them back: 0 between servers.
        held, held_mask = np.cumsum(gpus, dtype=np.int64), np.cumsum(mask)
        is_shared = (np.bitwise_count(held_mask) != held) & is_last
        server = server[is_last]
        return cls(server, us[is_last], server_gpus[server] - held[is_last], is_shared)


def _changes(rows: Mapping[str, AnyArray]) -> tuple[Int64, Int64, AnyArray, Bool]:
    """Return servers, times, masks and whether they are given back, by server and time."""
    server = np.concatenate((rows["server"], rows["server"])).astype(np.int64, copy=False)
    us = np.concatenate((rows["start_us"], rows["end_us"])).astype(np.int64, copy=False)
    mask = np.concatenate((rows["mask"], rows["mask"]))
    is_release = np.repeat(np.array((False, True)), len(rows["mask"]))
    if len(us) <= FEW:
        return _sorted_apart(server, us, mask, is_release)
    low = int(us.min())
    bits = (int(us.max()) - low).bit_length()
    if int(server.max()).bit_length() + bits > 62:
        return _sorted_apart(server, us, mask, is_release)
    key = (((server << bits) + (us - low)) << 1) + is_release  # numbers sort many times as fast
    key, mask = sorted_pairs(key, mask.view(np.int64))
    is_release = (key & 1).astype(np.bool_)
    key >>= 1
    return key >> bits, (key & ((1 << bits) - 1)) + low, mask.view(np.uint64), is_release


def _sorted_apart(
    server: Int64, us: Int64, mask: AnyArray, is_release: Bool
) -> tuple[Int64, Int64, AnyArray, Bool]:
    order = np.lexsort((us, server))
    return server[order], us[order], mask[order], is_release[order]
