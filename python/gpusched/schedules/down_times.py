"""When GPUs are down: from the outages of servers and the interval log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int64, accumulate
from gpusched.base.units import WHOLE_GPU
from gpusched.model.outages import HITTING, spans

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages
    from gpusched.traces.workload import Trace


def struck(
    rows: Mapping[str, AnyArray],
    cluster: Cluster,
    outages: Outages | None,
    kinds: Sequence[int] = HITTING,
) -> Bool:
    """Return which rows of an interval log end as an outage of these kinds of their server begins.

    The default are those that interrupt jobs.
    """
    if outages is None:
        return np.zeros(len(rows["job"]), np.bool_)
    server, begin_us, _ = spans(cluster, outages, kinds)
    found: Bool = np.isin(rows["end_us"], begin_us)
    fails = {*zip(server.tolist(), begin_us.tolist(), strict=True)}
    ends = zip(rows["server"][found].tolist(), rows["end_us"][found].tolist(), strict=True)
    found[found] = [end in fails for end in ends]
    return found


def held_milli(trace: Trace, rows: Mapping[str, AnyArray]) -> Int64:
    """Return the GPUs of each row of an interval log, in thousandths."""
    job = rows["job"]
    pooled = rows["server"] < 0
    gpus = np.where(pooled, trace.gpus[job], np.bitwise_count(rows["mask"])).astype(np.int64)
    shares = WHOLE_GPU if trace.share_milli is None else trace.share_milli[job].astype(np.int64)
    return gpus * shares


def down_rows(
    trace: Trace, cluster: Cluster, rows: Mapping[str, AnyArray], outages: Outages | None
) -> dict[str, Int64]:
    """Return the GPUs that are down, a row for each server and time in which they are as many.

    The GPUs of a server are down while an outage of it is open, except those that a job still
    holds.

    Columns ``server``, ``start_us``, ``end_us`` and ``milli`` (thousandths of GPUs), by server and
    time.

    ``rows``: the interval log, as :attr:`gpusched.Result.intervals`.
    """
    if outages is None:
        return {name: np.empty(0, np.int64) for name in ("server", "start_us", "end_us", "milli")}
    server, begin_us, end_us = spans(cluster, outages)
    row, span = _overlaps(rows, server, begin_us, end_us)
    gpus = WHOLE_GPU * cluster.server_gpus[server].astype(np.int64)
    held = held_milli(trace, {name: values[row] for name, values in rows.items()})
    of, time_us, milli = accumulate(
        np.concatenate((server, server, server[span], server[span])),
        np.concatenate((
            begin_us, end_us, np.maximum(rows["start_us"][row], begin_us[span]),
            np.minimum(rows["end_us"][row], end_us[span]),
        )),
        np.concatenate((gpus, -gpus, -held, held)),
    )  # fmt: skip
    some = np.flatnonzero(milli)  # the last step of each server is 0
    return {
        "server": of[some], "start_us": time_us[some], "end_us": time_us[some + 1],
        "milli": milli[some],
    }  # fmt: skip


def _overlaps(
    rows: Mapping[str, AnyArray], server: Int64, begin_us: Int64, end_us: Int64
) -> tuple[Int64, Int64]:
    """Return pairs (row, span) of one server that have time in common."""
    own = np.flatnonzero(np.isin(rows["server"], server))
    times_us = (begin_us, end_us, rows["start_us"][own], rows["end_us"][own])
    known, rank = np.unique(np.concatenate(times_us), return_inverse=True)
    of = np.concatenate((server, server, rows["server"][own], rows["server"][own]))
    ends = np.cumsum([len(times) for times in times_us])[:-1]
    begin, end, since, until = np.split(of * len(known) + rank, ends)
    first = np.searchsorted(end, since, "right")
    count = np.searchsorted(begin, until, "left") - first
    place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(own, count), np.repeat(first, count) + place
