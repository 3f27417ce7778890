"""The jobs that hold no GPUs, by kind: what fits no more fits for none of its kind."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from gpusched.plugins.schedulers.type_parts import Parts, best_parts, want

Kind = tuple[int, tuple[float, ...], bool]
"""A width, how fast a job is on each GPU type, and whether some type holds the whole gang."""


class Waiting:
    """Jobs in a line for each kind, by JobId; one that leaves is passed over where it stands."""

    def __init__(self) -> None:
        self.kinds: dict[int, Kind] = {}  # of all active jobs
        self.waiting: set[int] = set()
        self.lines: dict[Kind, list[int]] = {}  # heaps

    def meet(self, jobs: Iterable[int], kinds: Iterable[Kind]) -> None:
        """Take up jobs that have just arrived."""
        self.kinds.update(zip(jobs, kinds, strict=True))
        self.put_back(jobs)

    def forget(self, job: int) -> None:
        """Forget a job that is no more."""
        self.kinds.pop(job, None)
        self.waiting.discard(job)

    def put_back(self, jobs: Iterable[int]) -> None:
        """Let those that are active and do not wait wait."""
        for job in jobs:
            if job in self.kinds and job not in self.waiting:
                self.waiting.add(job)
                heappush(self.lines.setdefault(self.kinds[job], []), job)

    def start(self, job: int) -> None:
        """Pass over a job that holds GPUs from now on."""
        self.waiting.discard(job)

    def fill(self, wanted: dict[int, Parts], free: list[int]) -> None:
        """Give free GPUs to whom they serve best of those that want none, by JobId."""
        self.waiting.difference_update(wanted)
        if not any(free):
            return
        heads = [(line[0], kind) for kind in list(self.lines) if (line := self._line(kind))]
        heapify(heads)
        while heads and any(free):
            job, kind = heappop(heads)
            width, rates, is_whole = kind
            if parts := best_parts(rates, width, free, is_whole=is_whole):
                want(wanted, free, job, parts)
                self.waiting.remove(job)
                if line := self._line(kind):
                    heappush(heads, (line[0], kind))

    def _line(self, kind: Kind) -> list[int]:
        """Return the line, without those at its head that are gone; drop it if nobody is left."""
        line = self.lines[kind]
        while line and line[0] not in self.waiting:
            heappop(line)
        if not line:
            del self.lines[kind]
        return line
