"""Leases set aside on GPUs of one type: how many are taken in each, and who has which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.supervision import listen

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

    Attributes
    ----------
    capacity
        GPUs of the type.
    plans
        The leases of each job, ascending.
    """

    capacity: int
    plans: dict[int, list[int]] = field(default_factory=dict)
    widths: dict[int, int] = field(default_factory=dict)
    taken: Counter[int] = field(default_factory=Counter)

    def latest(self, claim: Claim, start: int, extra: Counter[int]) -> list[int] | None:
        """Return the last leases with room from ``start`` on; None if there are too few.

        Parameters
        ----------
        extra
            GPUs by lease that are taken besides those of the plans.
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
