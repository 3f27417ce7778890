"""What the jobs of gavel hold, since when, and what that leaves of each GPU type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gpusched.plugins.schedulers.type_parts import Parts


class Held:
    """Looks at those alone that change, however many go on as they are."""

    def __init__(self, capacity: Iterable[int]) -> None:
        self.parts: dict[int, Parts] = {}
        self.since_us: dict[int, int] = {}
        self.free = list(capacity)  # negative where several jobs share a GPU
        self._restarting: dict[int, int] = {}  # until when a job pays for its restart
        self._started: set[int] = set()

    def hold(self, parts: Mapping[int, Parts], state: Any) -> None:
        """Let jobs that hold nothing hold these from now on; who has run before pays for it."""
        now_us = state.now_us
        self.parts.update(parts)
        self.since_us.update(dict.fromkeys(parts, now_us))
        for held in parts.values():
            for kind, gpus in held:
                self.free[kind] -= gpus
        again = [job for job in parts if job in self._started]
        if again:
            costs = state.restart_us(np.array(again, dtype=np.int64)).tolist()
            self._restarting.update(
                {job: now_us + cost for job, cost in zip(again, costs, strict=True) if cost}
            )
        self._started.update(parts)

    def release(self, job: int) -> None:
        """Let a job hold nothing, if it holds anything."""
        for kind, gpus in self.parts.pop(job, ()):
            self.free[kind] += gpus
        self.since_us.pop(job, None)
        self._restarting.pop(job, None)

    def forget(self, job: int) -> None:
        """Drop a job that has left."""
        self.release(job)
        self._started.discard(job)

    def kind(self, job: int) -> int:
        """Return the one type of a job, or -1 if it holds none or several."""
        parts: Sequence[tuple[int, int]] = self.parts.get(job, ())
        return parts[0][0] if len(parts) == 1 else -1

    def restarting(self, now_us: int) -> list[tuple[int, Parts]]:
        """Return who pays for a restart, and what it holds, by JobId."""
        jobs = sorted(job for job, until_us in self._restarting.items() if now_us <= until_us)
        return [(job, self.parts[job]) for job in jobs]

    def changes_to(self, wanted: Mapping[int, Parts]) -> tuple[dict[int, Parts], list[int]]:
        """Return who shall hold something else, and who nothing."""
        changed = {job: parts for job, parts in wanted.items() if self.parts.get(job) != parts}
        return changed, [job for job in self.parts if job not in wanted]
