"""Themis' auctions of leases, on one server for each GPU type: slow, and easy to read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tests.reference.partial_allocation import Bundle, auction

SECOND = 1_000_000
MOST_BIDDERS = 16


@dataclass
class Tenant:
    """A job of which the service per second is known at some widths; times in ticks."""

    id: int
    submit: int
    service: int
    gpus: int
    restart: int
    rates: dict[tuple[int, int], float]
    """By GPU type and number of GPUs, in this order; a wider one is faster."""
    left: float = 0.0
    held: tuple[int, int] | None = None
    wants: tuple[int, int] | None = None
    has_run: bool = False
    starts: int = 0
    """When it makes progress, as long as it holds what it holds."""
    lease: int = 0
    lease_end: int = 0
    finish: int | None = None
    jobs_before: float = 0.0
    """Jobs x ticks until its submit."""

    def __post_init__(self) -> None:
        """Nothing is done."""
        self.left = float(self.service)

    @property
    def remaining(self) -> int:
        """The service left as policies see it: at least a tick of a job that has not ended."""
        return max(1, math.ceil(self.left))

    def ends(self, now: int) -> int:
        """Return when it ends if nothing changes."""
        assert self.held is not None
        return max(now, self.starts) + math.ceil(self.left / self.rates[self.held])

    def runs(self, since: int, until: int) -> None:
        """Make progress."""
        if self.held is not None and until > self.starts:
            self.left -= (until - max(since, self.starts)) * self.rates[self.held]


class Themis:
    """A run of jobs on so many GPUs of each type."""

    def __init__(
        self,
        jobs: list[Tenant],
        gpus: dict[int, int],
        period: int,
        fairness: float,
        least: int = SECOND,
    ) -> None:
        self.future, self.live = list(jobs), list[Tenant]()
        self.gpus, self.period, self.fairness = gpus, period, fairness
        self.least = least
        self.now, self.job_ticks = 0, 0.0

    def run(self, *, is_elastic: bool) -> None:
        """Run the jobs, by submit; each ends with a ``finish``."""
        wake = math.inf
        while self.future or self.live:
            instants = [job.ends(self.now) for job in self.live if job.held is not None]
            instants += [job.submit for job in self.future[:1]]
            before, self.now = self.now, int(min([*instants, wake]))
            self.job_ticks += (self.now - before) * len(self.live)
            for job in self.live:
                job.runs(before, self.now)
                if job.held is not None and job.left <= 0:
                    job.finish = self.now
            self.live = [job for job in self.live if job.finish is None]
            for job in self.future:
                if job.submit == self.now:
                    job.jobs_before = self.job_ticks
                    self.live.append(job)
            self.future = [job for job in self.future if job.submit > self.now]
            self.decide()
            waits = any(job.held is None for job in self.live)
            ends = [job.lease_end for job in self.live if job.held is not None]
            could_grow = is_elastic and sum(self.free().values()) > 0
            wake = min(ends) if ends and (waits or could_grow) else math.inf

    def free(self) -> dict[int, int]:
        """Return the GPUs that nobody wants."""
        free = dict(self.gpus)
        for job in self.live:
            if job.wants is not None:
                free[job.wants[0]] -= job.wants[1]
        return free

    def decide(self) -> None:
        """Auction what is free, give the rest to the others, and let leases begin."""
        candidates = []
        for job in self.live:
            job.wants = job.held
            if job.held is not None and job.lease_end <= self.now:
                job.wants = None
                candidates.append(job)
        free = sum(self.free().values())
        candidates += [
            job for job in self.live if not job.held and min(g for _, g in job.rates) <= free
        ]
        candidates.sort(key=lambda job: (-self.rho(job), job.id))
        self.hold_auctions(candidates)
        for job in candidates:
            if job.held != job.wants:
                if job.wants is not None:
                    job.starts = self.now + (job.restart if job.has_run else 0)
                    job.has_run = True
                job.held = job.wants
            if job.held is not None:
                job.lease_end = max(self.now, job.starts) + job.lease

    def rho(self, job: Tenant) -> float:
        """Return how much longer the job takes than on an equal share."""
        jobs = float(len(self.live))
        if self.now > job.submit:
            jobs = (self.job_ticks - job.jobs_before) / (self.now - job.submit)
        share = sum(self.gpus.values()) / jobs
        alone = job.service * max(1.0, job.gpus / share)
        return (self.now - job.submit + job.remaining) / alone

    def hold_auctions(self, candidates: list[Tenant]) -> None:
        """Let those bid who suffer most, at most 16 at a time."""
        num = max(1, math.ceil((1 - Fraction(str(self.fairness))) * len(candidates)))
        bidders, paid = candidates[:num], []
        for first in range(0, num, MOST_BIDDERS):
            group = bidders[first : first + MOST_BIDDERS]
            awards = auction(self.free(), [self.bids(job) for job in group])
            for job, (won, part) in zip(group, awards, strict=True):
                if won is not None:
                    paid += self.hand_over(job, won, part)
        for job in candidates:
            if job.wants is None:
                self.give_rest(job)
        for job, whole in paid:
            room = self.free()
            room[whole[0]] += 0 if job.wants is None else job.wants[1]
            if whole[1] <= room[whole[0]]:
                job.wants, job.lease = whole, max(self.least, self.period)

    def bids(self, job: Tenant) -> list[Bundle]:
        """Say how much sooner the job would end than after a lease of waiting."""
        elapsed = self.now - job.submit
        cost = job.restart if job.has_run else 0
        without = elapsed + (cost + self.period) + job.remaining / max(job.rates.values())
        found = []
        for held, rate in job.rates.items():
            pays = 0 if job.held == held else cost
            worth = without / (elapsed + pays + job.remaining / rate)
            if worth > 1:
                found.append((*held, worth))
        return found

    def hand_over(
        self, job: Tenant, won: Bundle, part: float
    ) -> list[tuple[Tenant, tuple[int, int]]]:
        """Give the job what it keeps; return it if it paid with GPUs."""
        gpu_type, gpus, _ = won
        widths = [g for t, g in job.rates if t == gpu_type and g <= gpus]
        keeps = part * gpus
        width = max([g for g in widths if g <= keeps + 1e-9], default=widths[0])
        job.wants = (gpu_type, width)
        ticks = math.floor(self.period * min(1.0, keeps / width) + 0.5)
        job.lease = max(self.least, ticks)
        return [] if width == gpus else [(job, (gpu_type, gpus))]

    def give_rest(self, job: Tenant) -> None:
        """Give the job the fastest of what is free, or what it held if a change does not pay."""
        free = self.free()
        fitting = [held for held in job.rates if held[1] <= free[held[0]]]
        if not fitting:
            return
        found = min(fitting, key=lambda held: (-job.rates[held], held[1], held[0]))
        if job.held is not None and job.held in fitting:
            now, then = job.remaining / job.rates[job.held], job.remaining / job.rates[found]
            if not then + job.restart < now:
                found = job.held
        job.wants, job.lease = found, max(self.least, self.period)
