"""What is held of each server over time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusched.audit.log.pairs import FEW, sorted_pairs
from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.memo import kept


class Occupancy:
    """An entry for each server and instant at which GPUs are taken or given back, in that order.

    Parameters
    ----------
    rows
        Of a log.
    server_gpus
        Of each server.
    """

    def __init__(self, rows: Mapping[str, AnyArray], server_gpus: Int64) -> None:
        self._rows, self._server_gpus = rows, server_gpus

    @property
    def any_shared(self) -> bool:
        """Whether any GPU has two holders between two instants."""
        _, _, _, is_shared = self._changes
        # Mostly none has behind any change, and nobody need know which are the last.
        return bool(np.count_nonzero(is_shared) and np.count_nonzero(is_shared & self._is_last))

    @kept
    def server(self) -> Int64:
        """Where."""
        server, _, _, _ = self._changes
        return server[self._is_last]

    @kept
    def us(self) -> Int64:
        """When."""
        _, us, _, _ = self._changes
        return us[self._is_last]

    @kept
    def free(self) -> Int64:
        """GPUs behind the instant; less of them if any has two holders."""
        _, _, held, _ = self._changes
        free: Int64 = self._server_gpus[self.server] - held[self._is_last]
        return free

    @kept
    def first(self) -> Int64:
        """The first entry of each server."""
        return np.flatnonzero(np.diff(self.server, prepend=-1))

    @kept
    def _changes(self) -> tuple[Int64, Int64, Int64, Bool]:
        """Where and when GPUs change hands, how many are held behind it, and whether any twice.

        By servers and times, of one time first what is given back. The sum of sets of GPUs, each a
        number with a bit for each, has as many bits as all of them together if and only if no two
        have a bit in common: otherwise one is carried.
        """
        server, us, gpus, mask = _sorted_changes(self._rows)
        # Whoever takes GPUs of a server gives them back: 0 between servers.
        held = np.add.accumulate(gpus, dtype=np.int64)
        return server, us, held, np.bitwise_count(np.add.accumulate(mask)) != held

    @kept
    def _is_last(self) -> Bool:
        """Which changes are the last of a server and an instant."""
        server, us, _, _ = self._changes
        is_last = np.ones(len(us), np.bool_)
        np.not_equal(us[1:], us[:-1], out=is_last[:-1])
        is_last[:-1] |= server[1:] != server[:-1]
        return is_last


def _sorted_changes(rows: Mapping[str, AnyArray]) -> tuple[Int64, Int64, AnyArray, AnyArray]:
    """Return servers, times, GPUs and their masks in the order of changes, negative if released."""
    server = np.concatenate((rows["server"], rows["server"])).astype(np.int64, copy=False)
    us = np.concatenate((rows["end_us"], rows["start_us"])).astype(np.int64, copy=False)
    if len(us) <= FEW:
        return _sorted_apart(server, us, rows["mask"])
    low = int(us.min())
    bits = (int(us.max()) - low).bit_length()
    if int(server.max()).bit_length() + bits > 62:
        return _sorted_apart(server, us, rows["mask"])
    key = ((server << bits) + (us - low)) << 1  # numbers sort many times as fast
    key[len(rows["mask"]) :] += 1
    mask = np.concatenate((rows["mask"], rows["mask"]))
    key, mask = sorted_pairs(key, mask.view(np.int64))
    is_release, mask = (key & 1) == 0, mask.view(np.uint64)
    gpus = np.bitwise_count(mask).astype(np.int8)
    np.negative(gpus, out=gpus, where=is_release)
    np.negative(mask, out=mask, where=is_release)
    key >>= 1
    return key >> bits, (key & ((1 << bits) - 1)) + low, gpus, mask


def _sorted_apart(
    server: Int64, us: Int64, mask: AnyArray
) -> tuple[Int64, Int64, AnyArray, AnyArray]:
    order = np.lexsort((us, server))  # of equal ones what came first stays first: releases
    gpus = np.bitwise_count(mask).astype(np.int64)
    gpus = np.concatenate((-gpus, gpus))[order]
    return server[order], us[order], gpus, np.concatenate((np.negative(mask), mask))[order]
