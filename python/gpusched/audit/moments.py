"""The instants of a log, numbered, and what is free behind each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusched.base.arrays import AnyArray, Int64


@dataclass
class Moments:
    """The instants at which a job came, got GPUs or gave them back.

    Attributes
    ----------
    submit_us
        Of each job.
    start_us, end_us
        Of each interval.
    rows, interval_of_row
        The log, and the interval of each row.
    server_gpus
        Of each server.
    """

    submit_us: Int64
    start_us: Int64
    end_us: Int64
    rows: Mapping[str, AnyArray]
    interval_of_row: Int64
    server_gpus: Int64

    @cached_property
    def us(self) -> Int64:
        """The instants in microseconds, ascending."""
        times = np.sort(np.concatenate((self.submit_us, self.start_us, self.end_us)))
        is_new = np.append(True, times[1:] != times[:-1])  # np.unique hashes, ten times as slow
        us: Int64 = times[is_new].astype(np.int64, copy=False)
        return us

    def of(self, times: AnyArray) -> Int64:
        """Return the numbers of instants."""
        return np.searchsorted(self.us, times).astype(np.int64, copy=False)

    @cached_property
    def starts(self) -> Int64:
        """The instant at which each interval begins."""
        return self.of(self.start_us)

    @cached_property
    def ends(self) -> Int64:
        """The instant at which each interval ends."""
        return self.of(self.end_us)

    @cached_property
    def submits(self) -> Int64:
        """The instant at which each job of the trace comes."""
        return self.of(self.submit_us)

    @cached_property
    def row_starts(self) -> Int64:
        """The instant at which each row of the log begins."""
        return self.starts[self.interval_of_row]

    @cached_property
    def row_ends(self) -> Int64:
        """The instant at which each row of the log ends."""
        return self.ends[self.interval_of_row]

    @cached_property
    def free_by_server(self) -> tuple[Int64, Int64, Int64]:
        """Server, instant and the GPUs that are free there behind it, by server and instant.

        There is an entry for each change.
        """
        size = len(self.us)
        server = np.concatenate((self.rows["server"], self.rows["server"]))
        key = server * size + np.concatenate((self.row_starts, self.row_ends))
        held = np.bitwise_count(self.rows["mask"]).astype(np.int64)
        order = np.argsort(key, kind="stable")
        key = key[order]
        last = np.append(np.flatnonzero(np.diff(key)), len(key) - 1)
        taken = np.cumsum(np.concatenate((held, -held))[order])[last]
        # Whoever takes GPUs of a server gives them back: 0 between servers.
        server, at = key[last] // size, key[last] % size
        return server, at, self.server_gpus[server] - taken
