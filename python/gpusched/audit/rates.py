"""Rules of speed: the progress of jobs on their GPUs next to other running jobs.

The service of each job is summed from the log: its rate in every stretch of time with a constant
number of rings on its links, times the length of the stretch. The reference engine gives iteration
times; the log shows which jobs share which link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from gpusched.audit.case import Case, allowed_by_set, kinds_of
from gpusched.audit.declarations import values_of
from gpusched.audit.laws import redo_us
from gpusched.audit.readable_run import Links, jobs_of, network_of, parts_of, servers_of
from gpusched.audit.rules import PACED, SHARES, Share
from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.memo import Memo
from gpusched.reference.cluster import Cluster as Servers
from gpusched.reference.model import Active
from gpusched.reference.speeds import Paced, make_speed

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.traces.workload import Trace

MOST_SHARES: Final = 1_000_000_000
"""Limit on the link shares to compute, at about 20 million a second."""
_AT_A_TIME: Final = 1_000_000
_ROUNDING: Final = 2.0**-50


class Kinds:
    """Classes of jobs alike in profile, number of GPUs and allowed types, for the reference engine.

    ``of_job``: the class of each job.
    ``allowed``: bool[classes, GPU types]: the allowed types on which the model runs at the job's
        own number of GPUs, or all allowed ones if it runs on none.
    ``can_run``: whether each class can run at its own number of GPUs.
    """

    of_job: Int64
    allowed: Bool
    can_run: Bool

    def __init__(self, trace: Trace, cluster: Cluster, text: str) -> None:
        assert trace.profile is not None
        name, given = values_of(text)
        servers = Servers(servers_of(cluster), False, part_of=parts_of(cluster))
        speed = make_speed(servers, network_of(cluster), name, given, "none", {})
        self.speed = cast(Paced, speed)
        columns = [trace.profile, trace.gpus, trace.type_set]
        kinds, self.of_job = kinds_of(columns, [0, 0, 0])
        one_of = np.zeros(len(kinds), np.int64)
        one_of[self.of_job] = np.arange(len(trace))
        self.jobs = [Active(i, job) for i, job in
                     enumerate(jobs_of(trace, one_of, "service_us", name))]  # fmt: skip
        may_use = allowed_by_set(trace, cluster)[[kind[2] for kind in kinds]]
        runs = np.array([[self.speed.runs(job, t) for t in cluster.gpu_types] for job in self.jobs])
        known = may_use & runs
        self.allowed = np.where(known.any(axis=1, keepdims=True), known, may_use)
        self.can_run = np.array([self._can_run(servers, job) for job in self.jobs])
        self._ideal_s: dict[int, float] = {}

    def _can_run(self, servers: Servers, job: Active) -> bool:
        there = [sum(servers.sizes[one] for one in some) for some in servers.fitting(job.job)]
        return max(there, default=0) >= job.gpus and self.speed.can_run(job)

    def figures(
        self, kind: int, allocation: dict[int, int], bytes_per_s: float
    ) -> tuple[float, float, float, float]:
        """Return seconds per iteration of a job on these GPUs, and the bytes on its ring.

        The seconds are the minimum at its own number of GPUs, those with a bandwidth, and those
        with unlimited bandwidth.
        """
        if not self.can_run[kind]:
            return 0.0, np.inf, np.inf, 0.0
        job, speed = Active(kind, self.jobs[kind].job), self.speed
        job.allocation = allocation
        if kind not in self._ideal_s:
            self._ideal_s[kind] = speed.ideal_s(job)
        lone_s, fixed_s = speed.seconds(job, bytes_per_s), speed.seconds(job, np.inf)
        return self._ideal_s[kind], lone_s, fixed_s, speed.sent_bytes(job)


def kinds_by_figures(case: Case) -> Kinds | None:
    """Return the classes of jobs under a speed with figures per GPU type; else None."""
    name, _ = values_of(case.spec.speed)
    if not case.flags.is_elastic or case.trace.profile is None or name not in PACED:
        return None
    return _kinds_of(case)


def _kinds_of(case: Case) -> Kinds:
    trace, cluster, speed = case.trace, case.cluster, case.spec.speed
    return _known.of(trace, (cluster, speed), lambda: Kinds(trace, cluster, speed))


# Runs of one trace are audited one after the other.
_known: Memo[Trace, Kinds] = Memo(2)


class _Places:
    """The intervals of a case with their placement: one value per interval unless noted.

    ``alone``: service per tick if no link is shared.
    ``links``: links of the cluster.
    ``pair_ring``, ``pair_link``, ``pair_gpus``: the links of multi-server intervals: pairs in the
        order of the intervals, with the number of the interval's GPUs behind the link.
    ``sent``: bytes through the slowest link of a ring in an iteration.
    """

    def __init__(self, case: Case) -> None:
        kinds, rows = _kinds_of(case), case.rows
        self.links = Links.of(case.cluster)
        span = np.diff(case.first, append=len(rows["job"]))
        owner = np.repeat(np.arange(len(case.first)), span)
        self._intra = np.minimum.reduceat(self.links.intra[rows["server"]], case.first)
        self._pair(case, span, owner)
        kind = kinds.of_job[case.job]
        self._is_own = case.width == case.trace.gpus[case.job]
        # The number of servers, the workers on each, and the slowest link matter.
        self._lone_bytes_per_s = self.least(self.links.bytes_per_s[self.pair_link])
        num_types = len(case.cluster.gpu_types)
        held = np.bitwise_count(rows["mask"]).astype(np.int64)
        cell = owner * num_types + case.servers.type[rows["server"]]
        workers = np.bincount(cell, held, len(case.first) * num_types).astype(np.int64)
        _, slowest = np.unique(self._lone_bytes_per_s, return_inverse=True)
        columns = [kind, span, slowest, *workers.reshape(-1, num_types).T]
        alike, where = kinds_of(columns, [0] * len(columns))
        one_of = np.zeros(len(alike), np.int64)
        one_of[where] = np.arange(len(where))
        figures = np.empty((len(alike), 4))
        for row, i in enumerate(one_of.tolist()):
            here = slice(case.first[i], case.first[i] + span[i])
            held_by = zip(rows["server"][here].tolist(), rows["mask"][here].tolist(), strict=True)
            figures[row] = kinds.figures(kind[i], dict(held_by), float(self._lone_bytes_per_s[i]))
        self._ideal_s, self._lone_s, self._fixed_s, self.sent = figures[where].T
        self.alone = self.rate(self._lone_bytes_per_s)

    def _pair(self, case: Case, span: Int64, owner: Int64) -> None:
        on_several = span[owner] > 1
        ring, server = owner[on_several], case.rows["server"][on_several]
        gpus = np.bitwise_count(case.rows["mask"][on_several]).astype(np.int64)
        parts = [(ring, server, gpus)]
        num_links = len(self.links.gpus)
        for above in self.links.above:
            link = above[server]
            inside = link >= 0
            key, where = np.unique(ring[inside] * num_links + link[inside], return_inverse=True)
            held = np.bincount(where, gpus[inside], len(key)).astype(np.int64)
            crosses = held < case.width[key // num_links]
            key, held = key[crosses], held[crosses]
            parts.append((key // num_links, key % num_links, held))
        pairs = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(pairs[0], kind="stable")
        self.pair_ring, self.pair_link, self.pair_gpus = (column[order] for column in pairs)

    def rate(self, bytes_per_s: Float64, of: AnyArray | slice = slice(None)) -> Float64:
        """Return service per tick for rings with this bandwidth, for the intervals ``of``."""
        sent, ideal_s = self.sent[of], self._ideal_s[of]
        with np.errstate(invalid="ignore", divide="ignore"):
            shared_s = self._fixed_s[of] + np.where(sent > 0, sent / bytes_per_s, 0.0)
            is_lone = (bytes_per_s == self._lone_bytes_per_s[of]) | (sent == 0)
            seconds = np.where(is_lone, self._lone_s[of], shared_s)
            # At its own number of GPUs no job exceeds the ideal.
            seconds = np.where(self._is_own[of], np.maximum(seconds, ideal_s), seconds)
            rate: Float64 = ideal_s / seconds
        return rate

    def least(self, parts: Float64) -> Float64:
        """Return the bandwidth of each interval from its ``parts``, one for each pair."""
        least = self._intra.copy()
        np.fmin.at(least, self.pair_ring, parts)  # without bandwidths there is no exchange
        return least

    def within(self, bytes_per_s: Float64, of: AnyArray) -> Float64:
        """Limit the bandwidth of intervals to that within their servers."""
        return np.minimum(bytes_per_s, self._intra[of])


def check_rates(case: Case, most_shares: int = MOST_SHARES) -> None:
    """Check to the tick that finished jobs achieved their service, and their own figures.

    A job at full speed throughout must be exact to the tick. For others rounding errors are
    allowed: a millionth of a microsecond of service, and ``2**-50`` of its work for each stretch of
    time with one rate (and for 16 more).
    """
    claimed_us = np.asarray(case.schedule.uncontended_us)
    speed, _ = values_of(case.spec.speed)
    name, given = values_of(case.spec.contention)
    if speed not in PACED or name not in SHARES or case.pooled:
        case.notes.append(
            f"speed {case.spec.speed}, contention {case.spec.contention}: unknown, the work of "
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
    places, share = _Places(case), SHARES[name](given)
    if case.flags.interacts and places.sent.any():
        sweep = _Sweep(case, places, share, begin_us)
        judged = sweep.affordable(case, most_shares)
        pace = _Pace(judged, *sweep.run(judged[case.job]))
    else:
        link = places.pair_link
        behind = places.links.gpus[link]
        parts = share(places.links.bytes_per_s[link], 1, places.pair_gpus, behind)
        rate = places.rate(places.least(parts))
        done = np.maximum(case.end_us - begin_us, 0) * rate
        pace = _Pace(np.ones(case.num_jobs, dtype=np.bool_), done, rate, np.ones(len(done)))
    _check_work(case, pace, places.alone, work, claimed_us)


@dataclass(frozen=True)
class _Pace:
    """The speed of jobs in each interval, and which jobs are checked by it.

    ``judged``: bool[num_jobs].
    ``done``, ``last_rate``, ``stretches``: per interval: service in ticks; service per tick at the
        end; number of rate changes, plus one.
    """

    judged: Bool
    done: Float64
    last_rate: Float64
    stretches: Float64


def _check_work(
    case: Case, pace: _Pace, alone: Float64, work: Float64, claimed_us: Float64
) -> None:
    judged = pace.judged & case.finished
    done, last_rate, stretches = pace.done, pace.last_rate, pace.stretches
    ran, closes = case.ran, case.closes

    def by_job(values: Float64) -> Float64:
        sums = np.zeros(case.num_jobs)
        sums[ran] = np.add.reduceat(values, case.opens)
        return sums

    num_stretches = by_job(stretches)
    hindered = by_job(((stretches > 1) | (last_rate != 1.0)).astype(np.float64)) > 0
    tolerance = np.where(hindered, 1e-6 + _ROUNDING * (16 + num_stretches) * work, 0.0)
    kept = done
    if case.has_faults:
        lost, certain = _check_losses(case, done, work, tolerance)
        judged, kept = judged & certain, done - lost
    total = by_job(kept)
    before_last_tick = total.copy()
    before_last_tick[ran] -= last_rate[closes]
    case.report(
        "work lost",
        judged & (total < work - tolerance),
        lambda j: f"job {j} did {total[j]:.3f} us of {work[j]:.0f} us without restarts",
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
    alone_us = by_job(of_run / alone)
    never = case.num_intervals == 0
    case.report(
        "wrong uncontended_us",
        never & (claimed_us != 0),
        lambda j: f"job {j}: {claimed_us[j]:.3f}, but it never ran",
    )
    slowest = np.ones(len(work))
    slowest[ran] = np.minimum.reduceat(np.minimum(alone, 1.0), case.opens)
    case.report(
        "wrong uncontended_us",
        judged & ~(np.abs(claimed_us - alone_us) <= 2 * tolerance / slowest),
        lambda j: f"job {j}: {claimed_us[j]:.3f}, the log has {alone_us[j]:.3f}",
    )


def _check_losses(
    case: Case, done: Float64, work: Float64, tolerance: Float64
) -> tuple[Float64, Bool]:
    """Check the time lost to failures and kills, and that no job was stopped after its work.

    Return the service that each interval loses, and the jobs for which this is certain: rounding
    may decide whether a checkpoint was complete.
    """
    every_us = case.trace.checkpoint_every_us
    every = np.zeros(len(done)) if every_us is None else every_us[case.job].astype(np.float64)
    stops = case.is_hit | case.is_killed
    periods = np.divide(done, every, out=np.zeros(len(done)), where=every > 0)
    lost = np.where(stops, done - np.floor(periods) * every, 0.0)
    nearest = np.rint(periods)
    is_open = stops & (nearest > 0) & (np.abs(done - nearest * every) < tolerance[case.job])
    certain: Bool = case.per_job(is_open.astype(np.int64)) == 0
    if not certain.all():
        count = np.count_nonzero(~certain)
        case.notes.append(
            f"rates: unchecked are {count:,} jobs that stopped too close to a checkpoint"
        )
    share = np.divide(lost, done, out=np.zeros(len(done)), where=done > 0)
    ran_us = np.maximum(case.lasts_us - case.restart_us, 0)
    lost_us = case.per_job(np.rint(ran_us * share).astype(np.int64))
    rounded = case.per_job((lost < done).astype(np.int64) * stops)
    claimed = case.claimed["lost_us"]
    case.report(
        "wrong lost_us",
        certain & (np.abs(claimed - lost_us) > rounded),
        lambda j: f"job {j}: {claimed[j]}, the log has {lost_us[j]}",
    )
    reached = (case.before(done - lost) + done)[case.closes]
    last = case.job[case.closes]
    case.report(
        "goes on after its work",
        (certain & ~case.finished)[last] & (reached > (work + tolerance)[last]),
        lambda i: f"job {last[i]} did {reached[i]:.3f} us of {work[last[i]]:.0f} us",
    )
    return lost, certain


class _Sweep:
    """The log by link and time: which intervals share a link with how many others.

    Instants are numbered, so that (link, instant) is one integer and the number of rings on a link
    at an instant is found by bisection.
    """

    def __init__(self, case: Case, places: _Places, share: Share, begin_us: Int64) -> None:
        self._places, self._share = places, share
        self._begin_us, self._end_us = begin_us, case.end_us
        self._start_us = case.start_us
        self._instants = np.unique(np.concatenate((case.start_us, case.end_us)))
        self._from = np.searchsorted(self._instants, case.start_us)
        self._until = np.searchsorted(self._instants, case.end_us)
        ring, link = places.pair_ring, places.pair_link
        size = len(self._instants)
        ones = np.ones(len(ring), dtype=np.int64)
        moment = np.concatenate((link * size + self._from[ring], link * size + self._until[ring]))
        self._moments, where = np.unique(moment, return_inverse=True)
        change = np.bincount(where, np.concatenate((ones, -ones)), len(self._moments))
        # Every ring leaves its links: one cumulative sum over all links serves each of them.
        self._count = np.cumsum(change).astype(np.int64)
        # The changes on each link of a ring during its interval.
        self._low = np.searchsorted(self._moments, link * size + self._from[ring], side="right")
        self._high = np.searchsorted(self._moments, link * size + self._until[ring], side="left")
        self._num_links = np.bincount(ring, minlength=len(case.job))
        self._first_pair = np.concatenate(([0], np.cumsum(self._num_links)))
        changes = np.bincount(ring, self._high - self._low, len(case.job))
        self._cost = ((changes + 1) * self._num_links).astype(np.int64)

    def affordable(self, case: Case, most_shares: int) -> Bool:
        """Return the jobs to check: all, or as many random ones as the limit allows."""
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

        Multi-server intervals that are not ``chosen`` are skipped.
        """
        rate = self._places.alone
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
        rate = self._places.rate(self._bytes_per_s(who, instant), who)
        done = np.bincount(of, rate * length, len(intervals)).astype(np.float64, copy=False)
        return done, rate[last], np.bincount(of, minlength=len(intervals)).astype(np.float64)

    def _bytes_per_s(self, who: Int64, instant: Int64) -> Float64:
        """Return the bandwidth of intervals at instants: the smallest share of a link."""
        num_links = self._num_links[who]
        on = _ranges(self._first_pair[who], num_links)
        link = self._places.pair_link[on]
        moment = link * len(self._instants) + np.repeat(instant, num_links)
        rings = self._count[np.searchsorted(self._moments, moment, side="right") - 1]
        parts = self._share(self._places.links.bytes_per_s[link], rings, 1, 1)
        least: Float64 = np.minimum.reduceat(parts, _offsets(num_links))
        return self._places.within(least, who)


def _blocks(costs: Int64) -> Iterator[tuple[int, int]]:
    """Cut consecutive items, given the running sum of their ``costs``, into blocks."""
    begin = 0
    while begin < len(costs):
        spent = costs[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(costs, spent + _AT_A_TIME, side="right")))
        yield begin, end
        begin = end


def _offsets(counts: Int64) -> Int64:
    """Start of each of some consecutive runs."""
    begins: Int64 = np.cumsum(counts) - counts
    return begins


def _ranges(begins: Int64, counts: Int64) -> Int64:
    """Join the ranges of ``counts`` integers from ``begins``."""
    return np.arange(counts.sum()) + np.repeat(begins - _offsets(counts), counts)
