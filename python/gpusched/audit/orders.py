"""Rules of the queue: like jobs start in order, and no job waits that would have been started.

If a placement refuses a job, it refuses all jobs with the same request: so the order of the queue
shows in the log, under any placement. Parameters and their defaults are those of the reference
scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.course import Course
from gpusched.audit.declarations import resolved, values_of
from gpusched.audit.log import Steps
from gpusched.audit.rules import HEAD_FIRST, ORDERS, TAKES_ANY, Key
from gpusched.base.arrays import Bool, Int64, numbered
from gpusched.base.memo import kept
from gpusched.model.outages import NEVER_US
from gpusched.reference import make_scheduler
from gpusched.reference.lists import DiscretisedLas, ListScheduler, Preemptive, ServerFilling


@dataclass(frozen=True)
class Order:
    """The queue of a run, from its reference scheduler."""

    name: str
    scheduler: Any

    @property
    def key(self) -> Key | None:
        """The order visible in the log; None if a job may overtake a like job ahead of it."""
        is_displacing = isinstance(self.scheduler, Preemptive) and self.scheduler.params["displace"]
        return None if is_displacing else ORDERS[self.name]

    @property
    def has_timers(self) -> bool:
        """Whether it also decides at instants other than arrivals and finishes."""
        if isinstance(self.scheduler, DiscretisedLas):  # also when a job passes a limit
            return True
        return isinstance(self.scheduler, Preemptive) and (
            self.scheduler.period > 0 or self.scheduler.least_run > 0
        )

    @property
    def leaves_nothing(self) -> bool:
        """Whether no job that could be placed waits, whatever its position."""
        if isinstance(self.scheduler, ListScheduler):
            return not self.scheduler.strict
        usual = {"scan": "skip", "epoch": "event", "quota": "free", "displace": False}
        params = self.scheduler.params
        return all(params.get(name) == value for name, value in usual.items())

    @property
    def head_first(self) -> bool:
        """Whether the first job by precedence and submission starts whenever it can be placed."""
        return self.name in HEAD_FIRST and getattr(self.scheduler, "strict", True)

    @property
    def takes_back(self) -> bool:
        """Whether each decision gives all GPUs to jobs in order, as many as fit."""
        usual = {"scan": "skip", "epoch": "event", "least_s": 0.0}
        params = getattr(self.scheduler, "params", {})
        is_plain = isinstance(self.scheduler, Preemptive) and not self.may_fill
        return is_plain and all(params[name] == value for name, value in usual.items())

    @property
    def may_fill(self) -> bool:
        """Whether the widest of the first jobs go before the others."""
        return isinstance(self.scheduler, ServerFilling)

    def may_idle(self, case: Case) -> bool:
        """Whether GPUs may stay free although a waiting job fits."""
        return case.pooled and self.may_fill


def order_of(case: Case) -> Order | None:
    """Return the queue of the policy of a run; None if it is unknown."""
    return _order(case.spec.policy, case.flags.alias_of)


@lru_cache(maxsize=64)
def _order(policy: str, alias_of: str) -> Order | None:
    name, given = resolved(policy, alias_of)
    if given.get("patience_s", 0) > 0 or given.get("defrag") == "blocked":  # then waits decide, too
        return None
    try:
        return Order(name, make_scheduler(name, given)) if name in ORDERS else None
    except ValueError:  # such as a missing period: there is no such run
        return None


def check_order(case: Case) -> None:
    """Check the starts of like jobs, each against the one that started next.

    In a strict queue all jobs are alike: one that does not fit holds up the others.
    """
    order = order_of(case)
    if order is None or not case.any_waits or order.key is None:
        return
    keys = order.key(case, order.scheduler)
    columns = None if keys is None else (*keys, case.job)
    if case.precedence is not None:  # if the keys are unknown, classes are compared alone
        columns = (case.precedence[case.job], *(columns or ()))
    if columns is None:
        return
    is_strict = getattr(order.scheduler, "strict", False)
    kind = np.zeros(len(case.job), np.int64) if is_strict else case.alike.of_job[case.job]
    if not is_strict and not case.flags.is_steady and case.trace.profile is not None:
        kind = kind * (int(case.trace.profile.max()) + 2) + case.trace.profile[case.job]
    if not is_strict and case.length_us.any():
        kind = kind * len(case.length_us) + numbered(case.length_us)[1][case.job]
    start_us, since_us = case.start_us, case.since_us
    turn = np.lexsort((start_us, kind))
    if np.count_nonzero(case.is_resize):
        turn = turn[~case.is_resize[turn]]
    # Only waiting jobs can be overtaken.
    later = np.flatnonzero(case.waits[turn[1:]])
    one, other = turn[later], turn[later + 1]
    ahead = (kind[one] == kind[other]) & (start_us[one] < start_us[other])
    ahead &= since_us[other] <= start_us[one]
    one, other = one[ahead], other[ahead]
    is_less, is_equal = np.zeros(len(one), np.bool_), np.ones(len(one), np.bool_)
    for column in columns:
        is_less |= is_equal & (column[other] < column[one])
        is_equal &= column[other] == column[one]
    case.report(
        "out of order",
        is_less,
        lambda i: (
            f"job {case.job[one[i]]} starts at {start_us[one[i]]} us, while job "
            f"{case.job[other[i]]} waits{'' if is_strict else ', has the same request'} and goes "
            f"first under {case.spec.policy}"
        ),
    )


_KINDS, _ROWS = 16, 16_000_000
"""Number of job classes to check, those with the most waits first, in one pass over the log each.

Short logs allow more, so that the number of rows checked is limited.
"""


def check_idleness(case: Case, course: Course) -> None:
    """Check the waiting jobs and free resources after each instant."""
    order = order_of(case)
    may_wait = case.any_waits or course.cancelled or not case.all_finished
    if order is None or case.flags.places or not may_wait:
        return
    if not (order.head_first or order.leaves_nothing):
        return
    if order.may_idle(case) or case.alike.has_demands or case.length_us.any():
        return  # CPU and memory of servers matter, too, or maintenance to come
    waits = (Waits.behind if order.leaves_nothing else Waits.ahead)(case, course)
    if not len(waits.job):
        return
    room = Room(case)
    kinds = case.alike.of_job[waits.job]
    often = np.bincount(kinds, minlength=len(case.alike.kinds))
    num_kinds = min(np.count_nonzero(often), max(_KINDS, _ROWS // max(1, len(case.rows["job"]))))
    for kind in np.argsort(-often, kind="stable")[:num_kinds].tolist():
        times = room.times(kind)
        if times is not None:
            _check_kind(case, waits.of(kinds == kind), *times)


def _check_kind(case: Case, waits: Waits, begin_us: Int64, end_us: Int64) -> None:
    """Check that like jobs do not wait between the starts and the ends of some times."""
    if not len(begin_us):
        return
    nearest = np.minimum(np.searchsorted(end_us, waits.from_us, side="right"), len(begin_us) - 1)
    since_us = np.maximum(waits.from_us, begin_us[nearest])
    case.report(
        "left waiting",
        since_us < np.minimum(waits.until_us, end_us[nearest]),
        lambda i: (
            f"from {since_us[i]} us on job {waits.job[i]} of {case.trace.gpus[waits.job[i]]} GPUs "
            f"waits although {case.spec.policy} would have started it: they are free"
        ),
    )


def check_precedence(case: Case, course: Course) -> None:
    """Check that no job waits while jobs of lower priority get as many GPUs as it needs.

    Under a preemptive policy those count, too, that they keep. Checked where any free GPUs suffice.
    """
    order, precedence = order_of(case), case.precedence
    if order is None or precedence is None or not _takes_all_alike(case):
        return
    is_preemptive = isinstance(order.scheduler, Preemptive)
    is_any = order.takes_back if is_preemptive else order.leaves_nothing
    if not (is_any or order.head_first):
        return
    waits = (Waits.behind if is_any else Waits.ahead)(case, course)
    instant = case.moments.of
    # Twice the number of an instant is its decision; one more, what comes after it.
    begin, end = 2 * instant(case.start_us), 2 * instant(case.end_us)
    from_, until = 2 * instant(waits.from_us), 2 * instant(waits.until_us)
    groups, group = np.unique(
        np.stack((precedence[waits.job], case.trace.gpus[waits.job])), axis=1, return_inverse=True
    )
    often = np.bincount(group.ravel(), minlength=groups.shape[1])
    most = max(_KINDS, _ROWS // max(1, len(case.rows["job"])))
    for number in np.argsort(-often, kind="stable")[:most].tolist():
        own, gpus = groups[:, number].tolist()
        goes_later = precedence[case.job] > own
        held = ~goes_later if is_preemptive else np.ones(len(case.job), np.bool_)
        at = np.concatenate(((begin + goes_later)[held], end[held]))
        change = np.concatenate((-case.width[held], case.width[held]))
        begins, ends = Steps.of(case.cluster.num_gpus, at, change).spans(gpus)
        if not len(begins):
            continue
        mine = np.flatnonzero(group.ravel() == number)
        nearest = np.minimum(np.searchsorted(ends, from_[mine], side="right"), len(begins) - 1)
        since = np.maximum(from_[mine], begins[nearest])
        case.report(
            "passed over",
            since < np.minimum(until[mine], ends[nearest]),
            lambda i, mine=mine, since=since, gpus=gpus: (  # type: ignore[misc]
                f"job {waits.job[mine[i]]} of {gpus} GPUs waits at "
                f"{case.moments.us[since[i] // 2]} us, although jobs of lower priority have as many"
            ),
        )


def _takes_all_alike(case: Case) -> bool:
    """Whether any job starts wherever enough GPUs are free, on any servers."""
    if case.flags.places or case.has_outages or case.cluster.server_part_of is not None:
        return False
    is_any = case.pooled or values_of(case.spec.placement)[0] in TAKES_ANY
    has_nodes = any(per_node for *_, per_node in case.alike.kinds)
    return is_any and not (case.alike.has_demands or has_nodes) and bool(case.alike.allowed.all())


_FROM_US = itemgetter(1)


@dataclass(frozen=True)
class Waits:
    """Jobs that wait, and when they could have started earlier.

    Each wait begins at an instant of the log and ends after another one; none is empty.
    """

    job: Int64
    from_us: Int64
    until_us: Int64

    def of(self, chosen: Bool) -> Waits:
        return Waits(self.job[chosen], self.from_us[chosen], self.until_us[chosen])

    @classmethod
    def behind(cls, case: Case, course: Course) -> Waits:
        """Return all waits, each until a start, until the job was cancelled, or forever."""
        jobs, at_us = course.taken_back(case)
        left = np.flatnonzero(~course.ends(case))
        jobs = np.concatenate((jobs, left))
        until_us = np.concatenate((at_us, np.full(len(left), NEVER_US)))
        # After a failure a job may restart at once, after a preemption at the next instant.
        end_us = case.last_end_us[jobs]
        instants = np.append(case.moments.us, NEVER_US)
        next_us = instants[np.searchsorted(instants[:-1], end_us, side="right")]
        next_us = np.where(case.of_jobs(case.is_hit[case.closes])[jobs], end_us, next_us)
        from_us = np.where(case.has_run[jobs], next_us, case.queued_us[jobs])
        return cls(
            np.concatenate((case.job[case.waits], jobs)),
            np.concatenate((case.since_us[case.waits], from_us)),
            np.concatenate((case.start_us[case.waits], until_us)),
        )._not_empty()

    @classmethod
    def ahead(cls, case: Case, course: Course) -> Waits:
        """Return the waits of the first job by precedence and submission.

        Each lasts until the job starts, was cancelled, or ever.
        """
        if case.precedence is not None:
            return cls._of_first(case, cls.behind(case, course), case.precedence)
        if case.is_hit.any() or case.has_holds:  # who is held stands in nobody's way
            return cls._of_first(case, cls.behind(case, course), np.zeros(case.num_jobs, np.int64))
        jobs, at_us = course.taken_back(case)
        left_us = np.where(case.has_run | case.rejected, case.first_start_us, NEVER_US)
        left_us[jobs] = np.where(case.has_run[jobs], left_us[jobs], at_us)
        others_us = np.append(-1, np.maximum.accumulate(left_us)[:-1])
        from_us = np.maximum(case.trace.submit_us, others_us)
        return cls(np.arange(len(left_us)), from_us, left_us)._not_empty()

    def _not_empty(self) -> Waits:
        return self.of(self.from_us < self.until_us)

    @classmethod
    def _of_first(cls, case: Case, waits: Waits, precedence: Int64) -> Waits:
        """Return the parts of the waits in which no job before it waits."""
        firsts: list[tuple[int, int, int]] = []
        line: list[tuple[int, int, int, int]] = []  # (precedence, queued, job, until)
        queued_us = case.queue_us(waits.job, waits.from_us)
        columns = (*vars(waits).values(), queued_us)
        coming = sorted(zip(*(c.tolist() for c in columns), strict=True), key=_FROM_US)
        instants = np.unique(np.concatenate((waits.from_us, waits.until_us))).tolist()
        place = 0
        for begin_us, end_us in pairwise(instants):
            while place < len(coming) and coming[place][1] == begin_us:
                job, _, until_us, since_us = coming[place]
                heappush(line, (int(precedence[job]), since_us, job, until_us))
                place += 1
            while line and line[0][3] <= begin_us:
                heappop(line)
            if line:
                firsts.append((line[0][2], begin_us, end_us))
        return cls(*np.array(firsts, np.int64).reshape(-1, 3).T)


class Room:
    """Times when jobs could be placed on the free GPUs."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._takes_any = case.pooled or values_of(case.spec.placement)[0] in TAKES_ANY

    def times(self, kind: int) -> tuple[Int64, Int64] | None:
        """Return starts and ends of the times when a job of the class fits; None: unknown."""
        case = self._case
        of_types, gpus, *_, per_node = case.alike.kinds[kind]
        allowed = case.alike.allowed[of_types]
        if case.pooled:
            return self._free_of_pool().spans(gpus)
        servers = allowed[case.servers.type]
        if case.cluster.server_part_of is not None and len(set(case.servers.type[servers])) > 1:
            return None  # it could fit on GPUs of two types, which it does not use
        if per_node and (self._takes_any or case.flags.consolidates):
            return self._with_room(servers, per_node).spans(gpus // per_node)
        if self._takes_any:
            return self._free(servers).spans(gpus)
        if not case.flags.consolidates or gpus > case.servers.gpus[servers].max(initial=0):
            return None
        return self._with_room(servers, gpus).spans(1)

    def _free_of_pool(self) -> Steps:
        case = self._case
        us = np.concatenate((case.start_us, case.end_us))
        return Steps.of(case.cluster.num_gpus, us, np.concatenate((-case.width, case.width)))

    @kept
    def _changes(self) -> tuple[Int64, Int64, Int64, Int64]:
        """Where, when and to how much free GPUs change, by server; and each server's first change.

        A closed server has none.
        """
        there, closed = self._case.occupancy, self._case.closed
        if not len(closed.server):
            return there.server, there.us, there.free, there.first
        ever = np.unique(closed.server)
        server = np.concatenate((ever, there.server, closed.server, closed.server))
        us = np.concatenate((ever * 0 - 1, there.us, closed.start_us, closed.end_us))
        idle = np.concatenate((self._case.servers.gpus[ever], there.free))
        is_told = np.arange(len(us)) < len(idle)
        order = np.lexsort((~is_told, us, server))
        server, us, is_told = server[order], us[order], is_told[order]
        last = np.maximum.accumulate(np.where(is_told, np.arange(len(us)), 0))
        free = np.where(closed.cover(server, us), 0, idle[order[last]])
        return server, us, free, np.flatnonzero(np.diff(server, prepend=-1))

    def _free(self, servers: Bool) -> Steps:
        """Return the free GPUs of some servers."""
        server, us, free, first = self._changes
        own, gpus = servers[server], self._case.servers.gpus
        change = np.diff(free, prepend=0)
        change[first] = free[first] - gpus[server[first]]
        return Steps.of(int(gpus[servers].sum()), us[own], change[own])

    def _with_room(self, servers: Bool, gpus: int) -> Steps:
        """Return how many of some servers have so many GPUs free."""
        case = self._case
        server, us, free, first = self._changes
        is_roomy = servers & (case.servers.gpus >= gpus)  # when it is idle
        has = free >= gpus
        if not servers.all():
            has &= servers[server]
        changes = np.empty(len(has), np.bool_)
        np.not_equal(has[1:], has[:-1], out=changes[1:])
        changes[first] = has[first] != is_roomy[server[first]]
        at = np.flatnonzero(changes)
        change = np.where(has[at], 1, -1).astype(np.int8)
        return Steps.of(int(np.count_nonzero(is_roomy)), us[at], change)
