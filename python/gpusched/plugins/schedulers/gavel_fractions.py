"""Fractions of time that a program of gavel gives, and the time that jobs have had since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from gpusched.base.supervision import listen
from gpusched.plugins.schedulers.gavel_held import Held
from gpusched.plugins.schedulers.gavel_jobs import Array
from gpusched.plugins.schedulers.type_parts import Parts

_NOWHERE: Final = -1  # beside the types: of a job without fractions
_SEVERAL: Final = -2

_BLOCK: Final = 1 << 16  # pairs that are gone through before a stop is listened for


class Fractions:
    """What the last program gave, on each type, and what jobs have had of it."""

    def __init__(self, num_types: int, now_us: int) -> None:
        self.given: dict[int, Array] = {}
        self.solved_us = now_us
        self._types = np.arange(num_types)
        self._only: dict[int, int] = {}  # the type of those that have a fraction of no other
        self._row: dict[int, int] = {}
        self._received: Array  # microseconds on each type since then, but for what is held now

    def clear(self, now_us: int) -> None:
        """Forget the last program: another one is solved now."""
        self.given, self._only, self._row = {}, {}, {}
        self.solved_us = now_us

    def take(self, ids: list[int], fractions: Array) -> None:
        """Follow these from now on, a row for each job."""
        self.given = dict(zip(ids, fractions, strict=True))
        many = np.count_nonzero(fractions > 0, axis=1)
        only = np.select([many == 0, many == 1], [_NOWHERE, fractions.argmax(axis=1)], _SEVERAL)
        self._only = dict(zip(ids, only.tolist(), strict=True))
        self._row = dict(zip(ids, range(len(ids)), strict=True))
        self._received = np.zeros(fractions.shape)

    def forget(self, job: int) -> None:
        """Drop a job that has left."""
        for known in (self.given, self._only, self._row):
            known.pop(job, None)

    def count(self, job: int, kind: int, since_us: int, now_us: int) -> None:
        """Charge a job for its time on a type."""
        if job in self._row:
            self._received[self._row[job], kind] += now_us - max(since_us, self.solved_us)

    def are_held(self, held: Mapping[int, Parts], widths: Mapping[int, int]) -> bool:
        """Whether each of these jobs is on the one type that the program has for it, if any."""
        for job, parts in held.items():
            kind = self._only.get(job, _NOWHERE)
            if kind != _NOWHERE and parts != [(kind, widths[job])]:
                return False
        return True

    def by_priority(self, ids: list[int], held: Held, now_us: int) -> Iterator[tuple[int, int]]:
        """Yield pairs of a job and a type by the fraction over what the job has had."""
        fractions = np.array([self.given[job] for job in ids])
        elapsed = max(1, now_us - self.solved_us)
        on = np.array([held.kind(job) for job in ids])
        since_us = np.array([held.since_us.get(job, now_us) for job in ids])
        received = self._received[[self._row[job] for job in ids]]
        runs = on >= 0
        received[runs, on[runs]] += now_us - np.maximum(since_us[runs], self.solved_us)
        had = received / elapsed
        priority = np.where(had > 0, fractions / np.maximum(had, 1e-12), fractions * 1e9)
        is_new = on[:, None] != self._types
        rows, kinds = np.nonzero(fractions > 0)
        order = np.lexsort((kinds, rows, is_new[rows, kinds], -priority[rows, kinds]))
        for begin in range(0, len(order), _BLOCK):
            listen()
            block = order[begin : begin + _BLOCK]
            for row, kind in zip(rows[block].tolist(), kinds[block].tolist(), strict=True):
                yield ids[row], kind
