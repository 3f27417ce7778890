"""Rules of work conservation: no job waits that its policy would have started on what is free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from gpusched.audit.declarations import parameters
from gpusched.audit.evidence import Case
from gpusched.audit.orders import order_of
from gpusched.audit.rule_book import RuleBook
from gpusched.base.arrays import Bool, Int64

TAKES_ANY: Final = RuleBook[bool]("placement")
"""Placements that take a gang wherever enough GPUs are free, on any servers."""

_MOST_KINDS: Final = 16
"""Of jobs that are judged, those that wait most often: a pass over the log for each."""


def check(case: Case) -> None:
    """Check each instant: who waits behind it, and what is free behind it."""
    order = order_of(case)
    if order is None or not len(case.first) or case.flags.places:
        return
    if not (order.head_first or order.leaves_nothing):
        return
    if case.pooled and order.rule.may_idle_in_pool:
        return
    if case.alike.has_demands:
        return  # what servers have left beside GPUs decides, too
    if not order.leaves_nothing and order.given.get("scan") == "skip":
        return
    head = None if order.leaves_nothing else _heads(case)
    room = _Room(case)
    waits = np.bincount(case.alike.of_job[case.ran], minlength=len(case.alike.kinds))
    for kind in np.argsort(-waits, kind="stable")[:_MOST_KINDS].tolist():
        fits = room.fits(kind)
        if fits is None or not waits[kind]:
            continue
        waiting = _waiting(case, kind) > 0 if head is None else _is_head(case, head, kind)
        case.report(
            "left waiting",
            fits & waiting,
            lambda i, kind=kind: (  # type: ignore[misc]
                f"from {case.moments.us[i]} us on a job of {case.alike.kinds[kind][1]} GPUs waits "
                f"that {case.spec.policy} would have started: they are free"
            ),
        )


def _waiting(case: Case, kind: int) -> Int64:
    """Return how many jobs of a kind that got GPUs in the end wait behind each instant.

    Who is preempted does not start again at the same instant, and waits from the next one on.
    """
    size = len(case.moments.us)
    own = case.alike.of_job[case.job] == kind
    first = own & ~case.resumed
    came = np.bincount(case.moments.submits[case.job[first]], minlength=size)
    went = np.bincount(case.moments.starts[own], minlength=size)
    again = np.zeros(len(own), np.bool_)  # intervals that a preemption ends
    again[:-1] = own[:-1] & case.resumed[1:]
    resized = np.zeros(len(own), np.bool_)
    resized[:-1] = case.is_resize[1:]
    back = np.bincount(case.moments.ends[again & ~resized], minlength=size)
    went -= np.bincount(case.moments.starts[own & case.is_resize], minlength=size)
    waiting: Int64 = np.cumsum(came - went + back) - back
    return waiting


def _heads(case: Case) -> Int64:
    """Return the first job by submit that waits behind each instant, -1 for none."""
    start_us = np.full(len(case.trace), -1, np.int64)
    start_us[case.ran] = case.start_us[case.opens]
    latest = np.maximum.accumulate(start_us)
    head = np.searchsorted(latest, case.moments.us, side="right")
    none = head >= len(latest)
    head[none] = 0
    none |= case.trace.submit_us[head] > case.moments.us
    return np.where(none, -1, head)


def _is_head(case: Case, head: Int64, kind: int) -> Bool:
    is_head: Bool = (head >= 0) & (case.alike.of_job[head] == kind)
    return is_head


class _Room:
    """What is free behind each instant."""

    def __init__(self, case: Case) -> None:
        self._case = case
        name, _ = parameters(case.spec.placement)
        self._takes_any = case.pooled or TAKES_ANY.find(name) is not None
        self._by_server: Callable[[int], Int64] | None = None

    def fits(self, kind: int) -> Bool | None:
        """Return when a gang of the kind could be placed; None if it is not known."""
        case = self._case
        allowed, gpus = case.alike.allowed[case.alike.kinds[kind][0]], case.alike.kinds[kind][1]
        if case.pooled:
            return self._free(None) >= gpus
        servers = allowed[case.server_type]
        if self._takes_any:
            return self._free(servers) >= gpus
        if not case.flags.consolidates or gpus > case.server_gpus[servers].max(initial=0):
            return None
        return self._with_room(servers, gpus) > 0

    def _free(self, servers: Bool | None) -> Int64:
        """Return the free GPUs of some servers, all of them for None."""
        case, size = self._case, len(self._case.moments.us)
        if servers is None:
            taken = np.bincount(case.moments.starts, case.width, size)
            taken -= np.bincount(case.moments.ends, case.width, size)
            return case.cluster.num_gpus - np.cumsum(taken).astype(np.int64)
        own = servers[case.rows["server"]]
        held = np.bitwise_count(case.rows["mask"])[own]
        taken = np.bincount(case.moments.row_starts[own], held, size)
        taken -= np.bincount(case.moments.row_ends[own], held, size)
        return int(case.server_gpus[servers].sum()) - np.cumsum(taken).astype(np.int64)

    def _with_room(self, servers: Bool, gpus: int) -> Int64:
        """Return how many of some servers have so many GPUs free."""
        case, size = self._case, len(self._case.moments.us)
        server, at, free = case.moments.free_by_server
        own = servers[server]
        has = free[own] >= gpus
        begins = np.diff(server[own], prepend=-1) != 0
        before = np.append(True, has[:-1])
        before[begins] = case.server_gpus[server[own][begins]] >= gpus
        change = has.astype(np.int64) - before
        idle = int(np.count_nonzero(case.server_gpus[servers] >= gpus))
        more = np.bincount(at[own], change, size)
        return idle + np.cumsum(more).astype(np.int64)
