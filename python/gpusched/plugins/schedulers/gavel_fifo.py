"""In order of arrival, as the simulator of Gavel's authors has it: only the GPU type is chosen."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class InOrder:
    """Jobs by arrival, each on one type all the time, until one finds no room.

    Parameters
    ----------
    is_aware
        Whether each job has the type on which it is fastest, chosen anew each time. Else it keeps
        one: that of a job that is gone, or a random one.
    seed
        Of the random types.
    """

    def __init__(self, *, is_aware: bool, seed: int) -> None:
        self.is_aware = is_aware
        self.random = random.Random(seed)
        self.kept: dict[int, int] = {}  # type, by job

    def solve(
        self, ids: list[int], rates: Array, gpus: Array, remaining: Array, capacity: Array
    ) -> Array:
        """Return 1 for the type that a job is to have all the time."""
        del remaining  # how long jobs are is no matter
        row_of = {job: row for row, job in enumerate(ids)}
        width = dict(zip(ids, gpus.astype(int).tolist(), strict=True))
        left = capacity.astype(int).tolist()
        before = {} if self.is_aware else self.kept
        self.kept = {job: kind for job, kind in before.items() if job in row_of}
        for job, kind in self.kept.items():
            left[kind] -= width[job]
        vacant = [kind for job, kind in sorted(before.items()) if job not in row_of]
        for job in sorted(row_of.keys() - self.kept.keys()):
            speed = rates[row_of[job]]
            room = [kind for kind, free in enumerate(left) if free >= width[job]]
            if not room:
                break
            kind = self._chosen(room, vacant, speed)
            if speed[kind] > 0:
                self.kept[job] = kind
                left[kind] -= width[job]
        fractions = np.zeros_like(rates)
        for job, kind in self.kept.items():
            fractions[row_of[job], kind] = 1.0
        return fractions

    def _chosen(self, room: list[int], vacant: list[int], speed: Array) -> int:
        if self.is_aware:
            return max(room, key=lambda kind: (speed[kind], -kind))
        while vacant:
            kind = vacant.pop(0)
            if kind in room and speed[kind] > 0:
                return kind
        return room[self.random.randrange(len(room))]
