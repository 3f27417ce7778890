"""Fractions of time that a program of gavel gives, and the time that jobs have had since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from gpusched.plugins.schedulers.gavel_jobs import Array
from gpusched.plugins.schedulers.type_parts import Parts

_NOWHERE: Final = -1  # beside the types: of a job without fractions
_SEVERAL: Final = -2


class Fractions:
    """What the last program gave, on each type, and what jobs have had of it."""

    def __init__(self, num_types: int, now_us: int) -> None:
        self.given: dict[int, Array] = {}
        self.solved_us = now_us
        self._types = np.arange(num_types)
        self._only: dict[int, int] = {}  # the type of those that have a fraction of no other
        self._received: dict[int, Array] = {}  # microseconds on each type since then

    def clear(self, now_us: int) -> None:
        """Forget the last program: another one is solved now."""
        self.given, self._only, self._received = {}, {}, {}
        self.solved_us = now_us

    def take(self, ids: list[int], fractions: Array) -> None:
        """Follow these from now on, a row for each job."""
        self.given = dict(zip(ids, fractions, strict=True))
        many = np.count_nonzero(fractions > 0, axis=1)
        only = np.select([many == 0, many == 1], [_NOWHERE, fractions.argmax(axis=1)], _SEVERAL)
        self._only = dict(zip(ids, only.tolist(), strict=True))
        self._received = {job: np.zeros(len(self._types)) for job in ids}

    def forget(self, job: int) -> None:
        """Drop a job that has left."""
        for known in (self.given, self._only, self._received):
            known.pop(job, None)

    def count(self, job: int, kind: int, past_us: int) -> None:
        """Charge a job for its time on a type."""
        if job in self._received:
            self._received[job][kind] += past_us

    def are_held(self, held: Mapping[int, Parts], widths: Mapping[int, int]) -> bool:
        """Whether each of these jobs is on the one type that the program has for it, if any."""
        for job, parts in held.items():
            kind = self._only.get(job, _NOWHERE)
            if kind != _NOWHERE and parts != [(kind, widths[job])]:
                return False
        return True

    def by_priority(
        self, ids: list[int], held: Mapping[int, Parts], now_us: int
    ) -> Iterator[tuple[int, int]]:
        """Yield pairs of a job and a type by the fraction over what the job has had."""
        fractions = np.array([self.given[job] for job in ids])
        elapsed = max(1, now_us - self.solved_us)
        had = np.array([self._received[job] for job in ids]) / elapsed
        priority = np.where(had > 0, fractions / np.maximum(had, 1e-12), fractions * 1e9)
        on = [held[job][0][0] if len(held.get(job, ())) == 1 else -1 for job in ids]
        is_new = np.array(on)[:, None] != self._types
        rows, kinds = np.nonzero(fractions > 0)
        order = np.lexsort((kinds, rows, is_new[rows, kinds], -priority[rows, kinds]))
        for row, kind in zip(rows[order].tolist(), kinds[order].tolist(), strict=True):
            yield ids[row], kind
