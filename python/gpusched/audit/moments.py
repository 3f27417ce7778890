"""The instants of a log, numbered, and what is free behind each of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpusched.base.arrays import AnyArray, Int64

if TYPE_CHECKING:
    from gpusched.audit.evidence import Case


class Moments:
    """The instants at which a job that was not rejected came, got GPUs or gave them back."""

    def __init__(self, case: Case) -> None:
        self._case = case

    @cached_property
    def us(self) -> Int64:
        """The instants in microseconds, ascending."""
        case = self._case
        times = np.sort(np.concatenate((case.trace.submit_us, case.start_us, case.end_us)))
        is_new = np.append(True, times[1:] != times[:-1])  # np.unique hashes, ten times as slow
        return times[is_new].astype(np.int64, copy=False)

    def of(self, times: AnyArray) -> Int64:
        """Return the numbers of instants."""
        return np.searchsorted(self.us, times).astype(np.int64, copy=False)

    @cached_property
    def starts(self) -> Int64:
        """The instant at which each interval begins."""
        return self.of(self._case.start_us)

    @cached_property
    def ends(self) -> Int64:
        """The instant at which each interval ends."""
        return self.of(self._case.end_us)

    @cached_property
    def submits(self) -> Int64:
        """The instant at which each job of the trace comes."""
        return self.of(self._case.trace.submit_us)

    @cached_property
    def row_starts(self) -> Int64:
        """The instant at which each row of the log begins."""
        return self.starts[self._case.interval_of_row]

    @cached_property
    def row_ends(self) -> Int64:
        """The instant at which each row of the log ends."""
        return self.ends[self._case.interval_of_row]

    @cached_property
    def free_by_server(self) -> tuple[Int64, Int64, Int64]:
        """Server, instant and the GPUs that are free there behind it, by server and instant.

        There is an entry for each change.
        """
        case, size = self._case, len(self.us)
        server = np.concatenate((case.rows["server"], case.rows["server"]))
        key = server * size + np.concatenate((self.row_starts, self.row_ends))
        held = np.bitwise_count(case.rows["mask"]).astype(np.int64)
        order = np.argsort(key, kind="stable")
        key = key[order]
        last = np.append(np.flatnonzero(np.diff(key)), len(key) - 1)
        taken = np.cumsum(np.concatenate((held, -held))[order])[last]
        # Whoever takes GPUs of a server gives them back: 0 between servers.
        server, at = key[last] // size, key[last] % size
        return server, at, case.server_gpus[server] - taken
