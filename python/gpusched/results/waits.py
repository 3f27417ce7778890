"""Who held the GPUs that a job could have used while it waited, judged from the schedule alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.units import WHOLE_GPU
from gpusched.results.gpu_time import row_gpus, sums
from gpusched.schedules.schedule import whole_intervals

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace

RUNNING: Final = "running"
EARLIER: Final = "earlier"
LATER: Final = "later"
SIDES: Final = (RUNNING, EARLIER, LATER)
"""Held since before the wait; started in it by jobs that came before; by jobs that came after."""
# GPUs that are parts of one are sums of thousandths.
_ROUNDING: Final = 1e-6


@dataclass(frozen=True)
class Holder:
    """A job that held GPUs while another waited.

    Attributes
    ----------
    job
        JobId.
    gpus
        The most that it held at a time of those that the other could have used.
    share
        Its part of their GPU time.
    side
        One of :data:`SIDES`, of what it held first.
    """

    job: int
    gpus: float
    share: float
    side: str


@dataclass(frozen=True)
class Wait:
    """A time without GPUs.

    Attributes
    ----------
    begin_us, end_us
        Microseconds.
    gpus
        What the job waited for: its width, or its share of a GPU.
    usable
        GPUs of the types that it may use.
    free_at_begin, holders_at_begin
        Of those, how many were free when it began to wait, and how many jobs held the rest.
    shares
        Parts of their GPU time that were held, by :data:`SIDES`.
    holders
        Who held them, the most first.
    short_us
        Time in which fewer were free than it waited for.
    fits_us
        Time in which there was room for it in one piece: on one server, or if none is as large on
        servers that were wholly free. None where jobs share GPUs, of which the log does not tell.
    is_wide
        Whether no server is as large as the job.
    free_of_others
        The mean number of free GPUs that it may not use.
    """

    begin_us: int
    end_us: int
    gpus: float
    usable: int
    free_at_begin: float
    holders_at_begin: int
    shares: Mapping[str, float]
    holders: tuple[Holder, ...]
    short_us: int
    fits_us: int | None
    is_wide: bool
    free_of_others: float

    @property
    def length_us(self) -> int:
        """How long it was."""
        return self.end_us - self.begin_us

    @property
    def free_share(self) -> float:
        """The part of the GPU time that nobody held."""
        return max(0.0, 1.0 - sum(self.shares.values()))

    @property
    def scattered_us(self) -> int | None:
        """Time in which enough were free, but in pieces."""
        return None if self.fits_us is None else self.length_us - self.short_us - self.fits_us


class Waits:
    """Looks at waits of one job.

    Parameters
    ----------
    rows
        Who held which GPUs when, as in :attr:`gpusched.Result.intervals`.
    """

    def __init__(
        self, trace: Trace, cluster: Cluster, rows: Mapping[str, AnyArray], job: int
    ) -> None:
        self._trace, self._job, self._rows = trace, job, rows
        capacity = cluster.server_gpus.astype(np.int64)
        usable: Bool = np.ones(len(capacity), dtype=np.bool_)
        if trace.type_set is not None and (allowed := trace.type_sets[trace.type_set[job]]):
            kinds = [kind in allowed for kind in cluster.gpu_types]
            usable = np.array(kinds)[cluster.server_type]
        server = rows["server"]
        if (server < 0).any():  # one pool, whose jobs may use all of it
            server = np.zeros_like(server)
            capacity = np.array([capacity.sum()])
            usable = np.ones(1, dtype=np.bool_)
        self._server, self._capacity, self._usable = server, capacity, usable
        self._gpus = row_gpus(trace, rows)
        self._since_us = _since_us(rows)
        share = 1.0 if trace.share_milli is None else trace.share_milli[job] / WHOLE_GPU
        self._needed = float(trace.gpus[job]) * share
        self._is_wide = bool(self._needed > capacity[usable].max(initial=0))

    def look(self, begin_us: int, end_us: int) -> Wait:
        """Look at the time from ``begin_us`` to ``end_us``, which is later."""
        rows = self._rows
        meets = (rows["start_us"] < end_us) & (rows["end_us"] > begin_us)
        there = np.flatnonzero(meets & (rows["job"] != self._job))
        own = there[self._usable[self._server[there]]]
        others = there[~self._usable[self._server[there]]]
        usable = int(self._capacity[self._usable].sum())
        window = (begin_us, end_us)
        gpu_us = self._gpus[own] * self._within(own, window)
        total_us = usable * float(end_us - begin_us)
        side = self._sides(own, begin_us)
        at_begin = own[rows["start_us"][own] <= begin_us]
        short_us, fits_us = self._room(own, window)
        held_of_others = float(np.dot(self._gpus[others], self._within(others, window)))
        return Wait(
            begin_us,
            end_us,
            self._needed,
            usable,
            usable - float(self._gpus[at_begin].sum()),
            len(np.unique(rows["job"][at_begin])),
            {
                name: float(gpu_us[side == number].sum()) / total_us
                for number, name in enumerate(SIDES)
            },
            self._holders(own, gpu_us / total_us, side),
            short_us,
            fits_us if self._trace.share_milli is None else None,
            self._is_wide,
            float(self._capacity[~self._usable].sum()) - held_of_others / (end_us - begin_us),
        )

    def _within(self, index: Int64, window: tuple[int, int]) -> Float64:
        """The part of the rows' time that lies in the window, microseconds."""
        begin, end = self._rows["start_us"][index], self._rows["end_us"][index]
        length: AnyArray = np.minimum(end, window[1]) - np.maximum(begin, window[0])
        return length.astype(np.float64)

    def _sides(self, index: Int64, begin_us: int) -> Int64:
        """Index into :data:`SIDES` of each row; jobs are numbered as they come."""
        came_later = self._rows["job"][index] > self._job
        side: Int64 = np.where(self._since_us[index] < begin_us, 0, np.where(came_later, 2, 1))
        return side

    def _holders(self, index: Int64, share: Float64, side: Int64) -> tuple[Holder, ...]:
        if not len(index):
            return ()
        jobs, first, code = np.unique(
            self._rows["job"][index], return_index=True, return_inverse=True
        )
        shares = sums(code, share, len(jobs))
        # The rows of one interval, on several servers, are one after another.
        starts, of_row = np.unique(
            np.stack([code, self._rows["start_us"][index]]), axis=1, return_inverse=True
        )
        width = sums(of_row.reshape(-1), self._gpus[index], starts.shape[1])
        most = np.zeros(len(jobs))
        np.maximum.at(most, starts[0], width)
        order = np.lexsort((jobs, -shares))
        return tuple(
            Holder(int(jobs[i]), float(most[i]), float(shares[i]), SIDES[side[first[i]]])
            for i in order
        )

    def _room(self, index: Int64, window: tuple[int, int]) -> tuple[int, int]:
        """Time with too few free GPUs in all, and time with room in one piece, microseconds."""
        servers = np.flatnonzero(self._usable)
        place = np.cumsum(self._usable) - 1
        begin = np.maximum(self._rows["start_us"][index], window[0])
        end = np.minimum(self._rows["end_us"][index], window[1])
        where = place[self._server[index]]
        every = np.arange(len(servers))
        # Each server's used GPUs over time: it begins with none at the window's begin.
        server = np.concatenate([every, where, where])
        time_us = np.concatenate([np.full(len(servers), window[0]), begin, end])
        change = np.concatenate([np.zeros(len(servers)), self._gpus[index], -self._gpus[index]])
        order = np.lexsort((time_us, server))
        server, time_us = server[order], time_us[order]
        used = np.cumsum(change[order])  # each server's changes sum to nothing
        free = self._capacity[servers][server] - used
        last = np.append(server[1:] != server[:-1], True)
        until_us = np.where(last, window[1], np.append(time_us[1:], window[1]))
        if self._is_wide:
            whole = self._capacity[servers][server]
            piece = np.where(free >= whole - _ROUNDING, whole, 0).astype(np.float64)
            wanted = self._needed
        else:
            piece = (free >= self._needed - _ROUNDING).astype(np.float64)
            wanted = 1.0
        moments, (all_free, pieces) = _summed(time_us, until_us, [free, piece])
        length = np.diff(np.append(moments, window[1]))
        short = all_free < self._needed - _ROUNDING
        fits = ~short & (pieces >= wanted - _ROUNDING)
        return int(length[short].sum()), int(length[fits].sum())


def _summed(
    begin_us: Int64, end_us: Int64, values: Sequence[Float64]
) -> tuple[Int64, list[Float64]]:
    """Add step functions: the moments, and the sums of each of ``values`` from there on."""
    lasting = end_us > begin_us
    begin_us, end_us = begin_us[lasting], end_us[lasting]
    moments, place = np.unique(np.concatenate([begin_us, end_us]), return_inverse=True)
    found: list[Float64] = []
    for value in values:
        change = np.concatenate([value[lasting], -value[lasting]])
        found.append(np.cumsum(sums(place, change, len(moments)))[:-1])
    return moments[:-1], found


def _since_us(rows: Mapping[str, AnyArray]) -> Int64:
    """When the stretch without a break began in which each row lies: a resize is none."""
    first, begins_job = whole_intervals(rows)
    if not len(first):
        return np.empty(0, dtype=np.int64)
    start_us, end_us = rows["start_us"][first], rows["end_us"][first]
    begins = begins_job.copy()
    begins[1:] |= start_us[1:] != end_us[:-1]
    since: Int64 = start_us[begins][np.cumsum(begins) - 1]
    return np.repeat(since, np.diff(np.append(first, len(rows["job"]))))
