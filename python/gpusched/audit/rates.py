"""Rules of speed: what jobs achieve where they are, beside the others that run.

Each job's service is added up from the log: its rate in every stretch of time in which the number
of rings on its links stays the same, times the length of the stretch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gpusched.audit.case import Case, parameters
from gpusched.audit.laws import redo_us
from gpusched.audit.links import OnLinks, Sharing
from gpusched.audit.speed_rules import SPEED_RULES
from gpusched.base.arrays import Bool, Float64, Int64

MOST_SHARES: Final = 1_000_000_000
"""Bound on the shares of links that are computed, at about 20 million a second."""
_AT_A_TIME: Final = 1_000_000
_ROUNDING: Final = 2.0**-50


def check_shape(case: Case) -> None:
    """Check that times without contention are there if and only if run times are not fixed."""
    claimed_us = np.asarray(case.schedule.uncontended_us)
    wanted = 0 if case.flags.is_steady else case.num_jobs
    if claimed_us.shape != (wanted,):
        case.problems.append(f"malformed columns: uncontended_us has shape {claimed_us.shape}")


def check(case: Case, most_shares: int = MOST_SHARES) -> None:
    """Check that finished jobs achieved their service, to the tick, and what they say of it.

    A job that went at full speed from end to end must be right to the tick, unless speeds are sums
    over unequal workers, which the core rounds and the audit does not. Of all others as much is
    forgiven as double precision cannot tell apart: a millionth of a microsecond of service, and
    ``2**-50`` of its work for each stretch of time with one rate (and for 16 more).
    """
    if case.flags.is_steady:
        return
    claimed_us = np.asarray(case.schedule.uncontended_us)
    speed, _ = parameters(case.spec.speed)
    knows = SPEED_RULES.find(speed)
    sharing = Sharing.of(case.spec.contention)
    if knows is None or sharing is None or case.pooled:
        case.notes.append(
            f"speed {case.spec.speed}, contention {case.spec.contention}: not known, the work of "
            "jobs is not checked"
        )
        return
    server = case.rows["server"]
    if not len(server) or not 0 <= server.min() <= server.max() < case.cluster.num_servers:
        return
    if case.trace.profile is None:
        case.problems.append(f"speed {speed}: the trace has no profiles")
        return
    work = (case.trace.service_us + redo_us(case)).astype(np.float64)
    begin_us = case.start_us + case.restart_us  # of progress
    if knows.rates is not None:
        paced = _steady(case, knows.rates(case), begin_us)
    else:
        assert knows.on_links is not None
        paced = _on_links(case, knows.on_links(case), sharing, begin_us, most_shares)
    _check_work(case, paced, work, claimed_us, is_rounded=knows.is_rounded)


@dataclass(frozen=True)
class _Paced:
    """How fast jobs were in each interval, and which jobs are judged by it.

    Attributes
    ----------
    judged
        bool[num_jobs].
    done, last_rate, stretches, alone
        Of each interval: service in ticks; service per tick at the end; how often the rate
        changed, and one; and the rate if no link were shared.
    """

    judged: Bool
    done: Float64
    last_rate: Float64
    stretches: Float64
    alone: Float64


def _steady(case: Case, rate: Float64, begin_us: Int64) -> _Paced:
    """Nobody is in anybody's way."""
    done = np.maximum(case.end_us - begin_us, 0) * rate
    judged = np.ones(case.num_jobs, dtype=np.bool_)
    return _Paced(judged, done, rate, np.ones(len(done)), rate)


def _on_links(
    case: Case, rings: OnLinks, sharing: Sharing, begin_us: Int64, most_shares: int
) -> _Paced:
    if sharing.interacts:
        sweep = _Sweep(case, rings, sharing, begin_us)
        judged = sweep.affordable(case, most_shares)
        return _Paced(judged, *sweep.run(judged[case.job]), rings.alone)
    link = rings.pair_link
    parts = sharing.own(rings.links.bytes_per_s[link], rings.pair_gpus, rings.links.gpus[link])
    steady = _steady(case, rings.rate(rings.least(parts)), begin_us)
    return replace(steady, alone=rings.alone)


def _check_work(
    case: Case, paced: _Paced, work: Float64, claimed_us: Float64, *, is_rounded: bool
) -> None:
    judged = paced.judged & case.finished
    done, last_rate, stretches = paced.done, paced.last_rate, paced.stretches
    ran, closes = case.ran, case.closes
    by_job = _Totals(case)
    total, num_stretches = by_job.sum(done), by_job.sum(stretches)
    hindered = by_job.sum(((stretches > 1) | (last_rate != 1.0)).astype(np.float64)) > 0
    hindered |= is_rounded
    tolerance = np.where(hindered, 1e-6 + _ROUNDING * (16 + num_stretches) * work, 0.0)
    before_last_tick = total.copy()
    before_last_tick[ran] -= last_rate[closes]
    case.report(
        "work lost",
        judged & (total < work - tolerance),
        lambda j: f"job {j} did {total[j]:.3f} us of {work[j]:.0f} us, restart costs apart",
    )
    case.report(
        "finished too late",
        judged & (before_last_tick - work >= tolerance),
        lambda j: (
            f"job {j} had done {before_last_tick[j]:.3f} us of {work[j]:.0f} us "
            "a microsecond before its end"
        ),
    )
    of_run = done.copy()
    of_run[closes] += (work - total)[ran]  # the last run does what is left, not whole ticks
    alone_us = by_job.sum(of_run / paced.alone)
    never = case.num_intervals == 0
    case.report(
        "wrong uncontended_us",
        never & (claimed_us != 0),
        lambda j: f"job {j}: {claimed_us[j]:.3f}, and it never ran",
    )
    slowest = np.ones(len(work))
    slowest[ran] = np.minimum.reduceat(np.minimum(paced.alone, 1.0), case.opens)
    case.report(
        "wrong uncontended_us",
        judged & ~(np.abs(claimed_us - alone_us) <= 2 * tolerance / slowest),
        lambda j: f"job {j}: {claimed_us[j]:.3f}, the log says {alone_us[j]:.3f}",
    )


class _Totals:
    """Sums over the intervals of each job of the trace."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def sum(self, values: Float64) -> Float64:
        sums = np.zeros(len(self._case.trace))
        sums[self._case.ran] = np.add.reduceat(values, self._case.opens)
        return sums


class _Sweep:
    """The log in the order of time, link by link: who shares what with how many.

    Instants are numbered, so that (link, instant) is one integer and the number of rings on a link
    at an instant is found by bisection.
    """

    def __init__(self, case: Case, rings: OnLinks, sharing: Sharing, begin_us: Int64) -> None:
        self._rings, self._sharing = rings, sharing
        self._begin_us, self._end_us = begin_us, case.end_us
        self._start_us = case.start_us
        self._instants = np.unique(np.concatenate((case.start_us, case.end_us)))
        self._from = np.searchsorted(self._instants, case.start_us)
        self._until = np.searchsorted(self._instants, case.end_us)
        ring, link = rings.pair_ring, rings.pair_link
        size = len(self._instants)
        ones = np.ones(len(ring), dtype=np.int64)
        moment = np.concatenate((link * size + self._from[ring], link * size + self._until[ring]))
        self._moments, where = np.unique(moment, return_inverse=True)
        change = np.bincount(where, np.concatenate((ones, -ones)), len(self._moments))
        # Whoever comes onto a link leaves it: the sum over all links is one over each of them.
        self._count = np.cumsum(change).astype(np.int64)
        # The changes on each link of a ring while it is there.
        self._low = np.searchsorted(self._moments, link * size + self._from[ring], side="right")
        self._high = np.searchsorted(self._moments, link * size + self._until[ring], side="left")
        self._num_links = np.bincount(ring, minlength=len(case.job))
        self._first_pair = np.concatenate(([0], np.cumsum(self._num_links)))
        changes = np.bincount(ring, self._high - self._low, len(case.job))
        self._cost = ((changes + 1) * self._num_links).astype(np.int64)

    def affordable(self, case: Case, most_shares: int) -> Bool:
        """Return the jobs that are swept: all, or as many at random as the bound allows."""
        cost = case.per_job(self._cost)
        judged = np.ones(len(cost), dtype=np.bool_)
        if cost.sum() <= most_shares:
            return judged
        spread = np.flatnonzero(cost)
        chosen = np.random.default_rng(len(spread)).permutation(spread)
        num_swept = max(1, int(np.searchsorted(np.cumsum(cost[chosen]), most_shares, side="right")))
        judged[chosen[num_swept:]] = False
        case.notes.append(
            f"rates: of the {len(spread):,} jobs that ran on several servers "
            f"{num_swept:,} were checked, chosen at random; all others were"
        )
        return judged

    def run(self, chosen: Bool) -> tuple[Float64, Float64, Float64]:
        """Return for each interval the service achieved, the last rate and the number of rates.

        Intervals on several servers that are not ``chosen`` are passed over.
        """
        rate = self._rings.alone
        done = np.maximum(self._end_us - self._begin_us, 0) * rate
        last_rate, stretches = rate.copy(), np.ones(len(rate))
        todo = np.flatnonzero((self._num_links > 0) & chosen)
        for begin, end in _blocks(np.cumsum(self._cost[todo])):
            part = todo[begin:end]
            done[part], last_rate[part], stretches[part] = self._sweep(part)
        return done, last_rate, stretches

    def _sweep(self, intervals: Int64) -> tuple[Float64, Float64, Float64]:
        size = len(self._instants)
        pair = _ranges(self._first_pair[intervals], self._num_links[intervals])
        change = _ranges(self._low[pair], (self._high - self._low)[pair])
        changes = np.add.reduceat(
            (self._high - self._low)[pair], _offsets(self._num_links[intervals])
        )
        local = np.arange(len(intervals))
        # A stretch begins with the interval, and with every change on one of its links.
        key = np.concatenate(
            (
                local * size + self._from[intervals],
                np.repeat(local, changes) * size + self._moments[change] % size,
            )
        )
        key = np.unique(key)
        of, instant = key // size, key % size
        begin_us = self._instants[instant]
        last = np.append(of[1:] != of[:-1], True)
        end_us = np.append(begin_us[1:], 0)
        end_us[last] = self._end_us[intervals]
        length = np.maximum(end_us - np.maximum(begin_us, self._begin_us[intervals][of]), 0)

        who = intervals[of]
        rate = self._rings.rate(self._bytes_per_s(who, instant), who)
        done = np.bincount(of, rate * length, len(intervals)).astype(np.float64, copy=False)
        return done, rate[last], np.bincount(of, minlength=len(intervals)).astype(np.float64)

    def _bytes_per_s(self, who: Int64, instant: Int64) -> Float64:
        """Return the bandwidth of intervals at instants: its least share of a link."""
        num_links = self._num_links[who]
        pairs = np.cumsum(num_links)
        least = np.empty(len(who))
        for begin, end in _blocks(pairs):
            on = _ranges(self._first_pair[who[begin:end]], num_links[begin:end])
            link = self._rings.pair_link[on]
            moment = link * len(self._instants) + np.repeat(
                instant[begin:end], num_links[begin:end]
            )
            rings = self._count[np.searchsorted(self._moments, moment, side="right") - 1]
            parts = self._sharing.part(self._rings.links.bytes_per_s[link], rings)
            least[begin:end] = np.minimum.reduceat(parts, _offsets(num_links[begin:end]))
        return self._rings.within(least, who)


def _blocks(costs: Int64) -> Iterator[tuple[int, int]]:
    """Cut consecutive items, of which the running sum of ``costs`` is given, into blocks."""
    begin = 0
    while begin < len(costs):
        spent = costs[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(costs, spent + _AT_A_TIME, side="right")))
        yield begin, end
        begin = end


def _offsets(counts: Int64) -> Int64:
    """Where each of some consecutive runs begins."""
    begins: Int64 = np.cumsum(counts) - counts
    return begins


def _ranges(begins: Int64, counts: Int64) -> Int64:
    """Join the ranges of ``counts`` integers from ``begins``."""
    return np.arange(counts.sum()) + np.repeat(begins - _offsets(counts), counts)
