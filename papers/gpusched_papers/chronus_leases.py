"""Chronus as its authors' program decides: leases for jobs with deadlines, the rest by area."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

import gpusched as gs
from gpusched import _core
from gpusched.base.supervision import attended, listen
from gpusched.plugins.schedulers.type_parts import (
    Parts,
    best_parts,
    rates_by_type,
    start_first,
    want,
)

LONGEST: Final = 32_768
"""Leases of one job at most."""
FURTHEST: Final = 1 << 20
"""Leases ahead up to which claims are judged by the core, which counts them all."""


@dataclass(slots=True)
class Claim:
    """What a job asks of the leases from some number on.

    Attributes
    ----------
    gpus
        Its width.
    leases
        How many it needs.
    until
        The first lease that would end after its deadline.
    """

    gpus: int
    leases: int
    until: int

    def order(self) -> tuple[int, int, int]:
        """Return its place when several are planned: wide, then tight, then late first."""
        return -self.gpus, self.until - self.leases, -self.until


@dataclass
class LeasePlans:
    """GPUs of one type, cut into leases that are numbered from time 0 on.

    ``capacity``: GPUs of the type.
    ``plans``: the leases of each job, ascending.
    """

    capacity: int
    plans: dict[int, list[int]] = field(default_factory=dict)
    widths: dict[int, int] = field(default_factory=dict)
    taken: Counter[int] = field(default_factory=Counter)

    def latest(self, claim: Claim, start: int, extra: Counter[int]) -> list[int] | None:
        """Return the last leases with room from ``start`` on; None if there are too few.

        ``extra``: GPUs by lease that are taken besides those of the plans.
        """
        if claim.leases > min(claim.until - start, LONGEST):
            return None
        found: list[int] = []
        for lease in range(claim.until - 1, start - 1, -1):
            if self.taken[lease] + extra[lease] + claim.gpus <= self.capacity:
                found.append(lease)
                if len(found) == claim.leases:
                    return found[::-1]
        return None

    def together(self, claims: dict[int, Claim], start: int) -> dict[int, list[int]] | None:
        """Return the latest leases of all of them beside the plans; None if one has too few."""
        extra: Counter[int] = Counter()
        found: dict[int, list[int]] = {}
        for job in sorted(claims, key=lambda job: claims[job].order()):
            listen()
            leases = self.latest(claims[job], start, extra)
            if leases is None:
                return None
            found[job] = leases
            extra.update(dict.fromkeys(leases, claims[job].gpus))
        return found

    def admitted(self, claims: dict[int, Claim], start: int) -> list[int]:
        """Return who can have leases together with those admitted before it, judged in turn."""
        judged = {
            job: claim
            for job, claim in claims.items()
            if 0 < claim.leases <= LONGEST and claim.leases <= claim.until - start
        }
        if not judged:
            return []
        ahead = max(claim.until for claim in judged.values()) - start
        if ahead > FURTHEST:
            return self.admitted_by_planning(judged, start)
        rows = [(claim.gpus, claim.leases, claim.until) for claim in judged.values()]
        gpus, leases, until = np.array(rows, np.int64).T
        line = np.lexsort((-until, until - leases, -gpus))  # as Claim.order
        core = _core.LeaseLine(
            self.capacity, self._taken(start, ahead), gpus[line], leases[line], until[line] - start
        )
        found = []
        for job, place in zip(judged, np.argsort(line).tolist(), strict=True):
            listen()
            if core.try_join(place):
                found.append(job)
        return found

    def admitted_by_planning(self, claims: dict[int, Claim], start: int) -> list[int]:
        """Return the same, all that were admitted planned again for each: the slow twin."""
        line: dict[int, Claim] = {}
        for job, claim in claims.items():
            if self.together({**line, job: claim}, start) is not None:
                line[job] = claim
        return list(line)

    def _taken(self, start: int, leases: int) -> npt.NDArray[np.int32]:
        taken = np.zeros(leases, np.int32)
        for lease, gpus in self.taken.items():
            if start <= lease < start + leases:
                taken[lease - start] = gpus
        return taken

    def adopt(self, job: int, gpus: int, leases: list[int]) -> None:
        """Set leases aside for a job instead of those that it had."""
        self.drop(job)
        self.plans[job], self.widths[job] = leases, gpus
        self.taken.update(dict.fromkeys(leases, gpus))

    def drop(self, job: int) -> None:
        """Let all leases of a job go."""
        self._free(self.plans.pop(job, []), self.widths.pop(job, 0))

    def keep_last(self, job: int, leases: int) -> None:
        """Let the first leases of a job go that it no longer needs."""
        plan = self.plans[job]
        spare = max(len(plan) - leases, 0)
        self._free(plan[:spare], self.widths[job])
        self.plans[job] = plan[spare:]

    def now(self, lease: int) -> list[int]:
        """Return the jobs whose lease begins, and count it as begun."""
        running = [job for job, plan in self.plans.items() if plan and plan[0] == lease]
        for job in running:
            self.plans[job] = self.plans[job][1:]
        self.taken.pop(lease, None)
        return running

    def _free(self, leases: Iterable[int], gpus: int) -> None:
        for lease in leases:
            self.taken[lease] -= gpus
            if not self.taken[lease]:
                del self.taken[lease]


@dataclass(slots=True)
class LeaseJob:
    """What is known of a job; ``kind`` is the GPU type of its leases, -1 if it can have none."""

    gpus: int
    rates: Sequence[float]
    greatest_rate: float
    is_whole: bool
    kind: int
    due_us: int
    """The end of the last lease that it can use once it is admitted; -1: none."""
    came_us: int
    service_us: int
    restart_us: int
    estimate_us: int
    is_admitted: bool = False
    is_late: bool = False
    has_outrun: bool = False
    attained_us: int = 0
    held: Parts = field(default_factory=list)
    has_run: bool = False
    restarts_until_us: int = 0

    @property
    def left_us(self) -> int:
        """What is left of the estimate."""
        return self.estimate_us - self.attained_us

    def claim(self, lease_us: int) -> Claim:
        """Return what it asks of leases of this length."""
        per_lease = lease_us * self.rates[self.kind]
        return Claim(self.gpus, math.ceil(self.left_us / per_lease), self.due_us // lease_us)

    def place(self, now_us: int) -> tuple[bool, bool, int, int]:
        """Return its place among those without a lease: the smallest goes first."""
        left = self.estimate_us - self.attained_us
        time = self.due_us - now_us - left if self.is_late else left
        return not self.has_outrun, self.is_late, time * self.gpus, self.came_us


def first_leases(
    claims: Sequence[Claim], capacity: int, start: int, *, spares: bool
) -> list[list[int]] | None:
    """Give each job as many leases as it needs, and look at the first lease alone.

    The leases of each job, ascending; None where the solver found no solution.

    ``claims``: what each job needs; at least one.
    ``capacity``: GPUs that there are in each lease.
    ``start``: number of the lease that begins.
    ``spares``: as few GPUs as can be in it instead of as many.
    """
    try:
        from scipy import sparse
        from scipy.optimize import Bounds, LinearConstraint, milp
    except ImportError as error:
        needed = "a policy with integer programs needs scipy: pip install scipy"
        raise ImportError(needed, name="scipy") from error

    gpus = np.array([claim.gpus for claim in claims], dtype=float)
    # Of as many leases as all need together and one more, the others leave a job as many as it
    # needs without the first: what it holds later can be held there.
    longest = 1 + sum(claim.leases for claim in claims)
    windows = np.array([min(claim.until - start, longest) for claim in claims])
    if min(windows) < 1:
        return None
    jobs = np.repeat(np.arange(len(claims)), windows)
    leases = np.concatenate([np.arange(window) for window in windows])
    columns = np.arange(len(jobs))
    needs = np.array([claim.leases for claim in claims], dtype=float)
    per_job = sparse.csr_array((np.ones(len(jobs)), (jobs, columns)))
    per_lease = sparse.csr_array((gpus[jobs], (leases, columns)))
    cost = np.where(leases == 0, gpus[jobs] / capacity, 0.0)
    found = attended(
        lambda: milp(
            cost if spares else -cost,
            integrality=np.ones(len(jobs)),
            bounds=Bounds(0, 1),
            constraints=[
                LinearConstraint(per_job, needs, needs),
                LinearConstraint(per_lease, -np.inf, capacity),
            ],
        )
    )
    if found.x is None:
        return None
    is_held = found.x > 0.5
    return [(leases[is_held & (jobs == job)] + start).tolist() for job in range(len(claims))]


Ids = npt.NDArray[np.int64]


@gs.register_scheduler("chronus-leases")
class ChronusLeases(gs.Scheduler):
    """Leases for jobs with deadlines as late as they may be; what is left by GPU time.

    GPUs change hands at multiples of ``lease_s`` alone. Then, in this order: admitted jobs give up
    the first leases that they no longer need, and those without a plan get the last leases with
    room before their deadlines; who has the lease that begins runs. Who came since is judged, one
    after the other: a job is admitted if it can have leases together with those admitted before it,
    beside the plans. GPUs that are left go to all others, by the GPU time that is left; those that
    can no longer end in time come last.
    """

    source: ClassVar[str] = (
        "Gao, Ye, Sun, Wen, Zhang, Chronus, SoCC 2021, as in its program beside ElasticFlow."
    )
    differs: ClassVar[str] = (
        "Plans stand, where the paper solves an integer program at each lease (plans=program); of "
        "the program's habits, work counted twice and a charge at each resume are left out."
    )
    flags: ClassVar[tuple[str, ...]] = ("preemptive", "deadlines", "clairvoyant")
    preemption: ClassVar[Mapping[str, str]] = {
        "period": "lease_s",
        "reason": "GPUs change hands where leases begin.",
    }
    parameters: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "lease_s": {"minimum": 1.0, "maximum": 1e9, "help": "seconds of a lease"},
        "margin": {
            "minimum": 0.0,
            "maximum": 1e3,
            "help": "leases are counted for so much more than the predicted service",
        },
        "plans": {
            "choices": ["latest", "program"],
            "help": "latest: a plan stands, the last leases that have room; program: at each lease "
            "an integer program plans all anew, with as many GPUs as can be in the lease that "
            "begins, or as few where a job was turned down that still lives",
        },
    }

    def __init__(self, lease_s: float = 240.0, margin: float = 0.1, plans: str = "latest") -> None:
        super().__init__()
        self.lease_us = round(lease_s * 1e6)
        self.margin = margin
        self.solves = plans == "program"

    def begin(self, state: Any) -> None:
        """Forget the last run."""
        self.capacity: list[int] = state.type_gpus.tolist()
        self.ledgers = [LeasePlans(gpus) for gpus in self.capacity]
        self.jobs: dict[int, LeaseJob] = {}
        self.came: list[int] = []
        self.num_broken = self.num_unsolved = self.num_solved = 0

    def warnings(self) -> list[str]:
        """Say how many admitted jobs lost their leases, and how many programs were not solved."""
        lines = []
        if self.num_broken:
            lines.append(
                f"{self.num_broken} admitted jobs fell behind their plans and became best effort"
            )
        if self.num_unsolved:
            lines.append(
                f"chronus-leases: {self.num_unsolved} of {self.num_solved} programs had no "
                "solution; the plans stood instead"
            )
        return lines

    def withdraw(self, job: int) -> bool:
        """Forget a waiting job that is cancelled: its leases are free again."""
        self._forget(job)
        return True

    def decide(self, state: Any, finished: Ids, arrived: Ids, actions: Any) -> None:
        """Give all GPUs out anew where a lease begins; in between only listen."""
        for job in finished.tolist():
            self._forget(job)
        self._meet(state, arrived)
        if not self.jobs:
            return
        if state.now_us % self.lease_us == 0:
            self._update(state)
            wanted: dict[int, Parts] = {}
            free = list(self.capacity)
            self._lease(state.now_us // self.lease_us, wanted, free)
            self._admit(state)
            self._fill(state.now_us, wanted, free)
            actions.reallocate(sorted(wanted.items()))
            if not len(state.running):
                self._start_any(state, actions, wanted)
            self._note_restarts(state, wanted)
        actions.wake(self._next_change(state.now_us // self.lease_us) * self.lease_us)

    def _next_change(self, lease: int) -> int:
        """Return the next lease in which somebody may start or stop."""
        if any(not known.is_admitted for known in self.jobs.values()):
            return lease + 1
        firsts = [plan[0] for ledger in self.ledgers for plan in ledger.plans.values() if plan]
        is_unplanned = len(firsts) < len(self.jobs)
        return lease + 1 if is_unplanned else max(min(firsts), lease + 1)

    def _forget(self, job: int) -> None:
        known = self.jobs.pop(job, None)
        if known is not None and known.kind >= 0:
            self.ledgers[known.kind].drop(job)
        if job in self.came:
            self.came.remove(job)

    def _meet(self, state: Any, arrived: Ids) -> None:
        if not len(arrived):
            return
        gpus, rates = state.gpus[arrived], rates_by_type(state, arrived)
        fits = (rates > 0) & (np.array(self.capacity) >= gpus[:, None])
        is_whole = fits.any(axis=1)
        kinds = np.where(is_whole, np.where(fits, rates, 0.0).argmax(axis=1), -1)
        services, costs = state.predicted_us[arrived], state.restart_us(arrived)
        # A restart is paid in each lease, at the most.
        estimates = services * (1 + costs / self.lease_us) * (1 + self.margin)
        columns = (gpus, rates, rates.max(axis=1), is_whole, kinds)
        times = (state.deadline_us[arrived], state.submit_us[arrived], services, costs)
        known = (column.tolist() for column in columns + times)
        # Those beyond 64 bits are whole numbers, too.
        rows = zip(*known, map(int, estimates.tolist()), strict=True)  # as LeaseJob has them
        self.jobs.update(zip(arrived.tolist(), starmap(LeaseJob, rows), strict=True))
        self.came += arrived.tolist()

    def _update(self, state: Any) -> None:
        """Look up what is left of each estimate."""
        ids = np.fromiter(self.jobs, np.int64, len(self.jobs))
        for job, attained in zip(ids.tolist(), state.attained_us(ids).tolist(), strict=True):
            known = self.jobs[job]
            known.attained_us = attained
            if known.left_us <= 0 and not known.has_outrun:
                known.has_outrun, known.is_late = True, False
                self._turn_down(job)

    def _turn_down(self, job: int) -> None:
        known = self.jobs[job]
        if known.is_admitted:
            known.is_admitted = False
            self.ledgers[known.kind].drop(job)

    def _lease(self, lease: int, wanted: dict[int, Parts], free: list[int]) -> None:
        """Plan who has no plan, and run who has the lease that begins."""
        for kind, ledger in enumerate(self.ledgers):
            claims = {
                job: known.claim(self.lease_us)
                for job, known in self.jobs.items()
                if known.is_admitted and known.kind == kind
            }
            for job in sorted(claims, key=lambda job: claims[job].order()):
                claim = claims[job]
                if job in ledger.plans:
                    ledger.keep_last(job, claim.leases)
                    if len(ledger.plans[job]) == claim.leases:
                        continue
                    ledger.drop(job)
                found = ledger.together({job: claim}, lease)
                if found is None:
                    self.num_broken += 1
                    self._turn_down(job)
                    del claims[job]
                else:
                    ledger.adopt(job, claim.gpus, found[job])
            if self.solves and claims:
                self._solve(ledger, claims, lease)
            for job in ledger.now(lease):
                want(wanted, free, job, [(kind, self.jobs[job].gpus)])

    def _solve(self, ledger: LeasePlans, claims: dict[int, Claim], lease: int) -> None:
        """Plan all anew by the program, if it is solved."""
        spares = any(
            known.due_us >= 0 and not (known.is_admitted or known.is_late)
            for job, known in self.jobs.items()
            if job not in self.came
        )
        plans = first_leases(list(claims.values()), ledger.capacity, lease, spares=spares)
        self.num_solved += 1
        if plans is None:
            self.num_unsolved += 1
            return
        for (job, claim), plan in zip(claims.items(), plans, strict=True):
            ledger.adopt(job, claim.gpus, plan)

    def _admit(self, state: Any) -> None:
        """Judge who came since the last lease began, one after the other."""
        next_lease = state.now_us // self.lease_us + 1
        soonest_us = (next_lease + 1) * self.lease_us
        lines: list[dict[int, Claim]] = [{} for _ in self.ledgers]
        for job in self.came:
            known = self.jobs[job]
            if known.due_us >= soonest_us and known.kind >= 0:
                lines[known.kind][job] = known.claim(self.lease_us)
        for ledger, line in zip(self.ledgers, lines, strict=True):
            for job in ledger.admitted(line, next_lease):
                self.jobs[job].is_admitted = True
                self.jobs[job].due_us = line[job].until * self.lease_us
        self.came.clear()

    def _fill(self, now_us: int, wanted: dict[int, Parts], free: list[int]) -> None:
        """Give what is left to those without a lease, by GPU time left."""
        for job, known in self.jobs.items():
            if known.due_us >= 0 and not known.is_late and job not in wanted:
                self._look_at_end(now_us, job, known)
        line = [job for job, known in self.jobs.items() if not known.is_admitted]
        # Where a restart takes longer than a lease, nobody would get on.
        for job in line:
            if now_us < self.jobs[job].restarts_until_us:
                want(wanted, free, job, self.jobs[job].held)
        for job in sorted(line, key=lambda job: self.jobs[job].place(now_us)):
            if not any(free):
                return
            known = self.jobs[job]
            if job not in wanted and (parts := self._parts(known, free)):
                want(wanted, free, job, parts)

    def _parts(self, known: LeaseJob, free: list[int]) -> Parts:
        parts = best_parts(known.rates, known.gpus, free, is_whole=known.is_whole)
        return parts if parts or known.is_whole else known.held

    def _look_at_end(self, now_us: int, job: int, known: LeaseJob) -> None:
        """Whoever waits and can no longer end in time comes last from now on."""
        rate = known.greatest_rate
        left_us = known.service_us - known.attained_us
        if rate > 0 and known.due_us < now_us + left_us / rate:
            known.is_late = True
            self._turn_down(job)

    def _note_restarts(self, state: Any, wanted: Mapping[int, Parts]) -> None:
        """Note until when those that have just been given other GPUs pay for it."""
        running = set(state.running.tolist())
        for job, known in self.jobs.items():
            held = wanted.get(job) or state.parts_of(job) if job in running else []
            if held and held != known.held:
                cost_us = known.restart_us if known.has_run else 0
                known.restarts_until_us, known.has_run = state.now_us + cost_us, True
            known.held = held
            if not held:
                known.restarts_until_us = 0

    def _start_any(self, state: Any, actions: Any, wanted: Mapping[int, Parts]) -> None:
        """Start the first job that finds a place: what was wanted may never fit."""
        may_run = (j for j, known in self.jobs.items() if j in wanted or not known.is_admitted)
        start_first(state, actions, may_run)
