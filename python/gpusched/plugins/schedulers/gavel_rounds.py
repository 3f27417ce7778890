"""Rounds as the simulator that Gavel's authors published has them.

A round begins as the last one ends, and ends with the last of the jobs that run in it; who comes
in between waits. Each GPU type in turn goes to jobs by their fraction over the part of that type's
time that they have had, and to those without a fraction in the end.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gpusched.plugins.schedulers.type_parts import Parts

Array = np.ndarray[Any, Any]

_SHUFFLER = 5  # of the seeds of that program


class SimulatorRounds:
    """What that program remembers between rounds.

    Parameters
    ----------
    round_us, reset_us
        The longest round, and the least time between two solutions.
    shuffles
        Whether the types take turns at random, by ``seed``, and not in the order of the cluster.
    idles
        Whether GPUs stay free rather than go to jobs without a fraction.
    """

    def __init__(
        self,
        num_types: int,
        round_us: int,
        reset_us: int,
        *,
        shuffles: bool,
        idles: bool,
        seed: int,
    ) -> None:
        self.num_types, self.round_us, self.reset_us = num_types, round_us, reset_us
        self.shuffler = random.Random(seed + _SHUFFLER) if shuffles else None
        self.idles = idles
        self.ends_us = -1
        self.counted_us = 0
        self.last_reset_us = 0
        self.had: dict[int, Array] = {}  # by job: time on each type since the last solution
        self.deficit: dict[int, Array] = {}
        self.all_had = np.zeros(num_types)
        self.isolated: dict[int, tuple[float, float, float]] = {}

    def meet(self, job: int) -> None:
        """A job has come: it counts as if it had had half a round on each type."""
        self.had[job] = np.full(self.num_types, self.round_us / 2)
        self.deficit[job] = np.zeros(self.num_types)

    def forget(self, job: int) -> None:
        """A job is gone; its time stays with the types."""
        del self.had[job], self.deficit[job]
        self.isolated.pop(job, None)

    def count(self, job: int, kind: int, time_us: int) -> None:
        """A job has had so much time on a type."""
        if job in self.had:
            self.had[job][kind] += time_us
        self.all_had[kind] += time_us

    def count_all(self, held: Mapping[int, Parts], now_us: int) -> None:
        """These jobs have had the time since the last call."""
        for job, parts in held.items():
            if len(parts) == 1:
                self.count(job, parts[0][0], now_us - self.counted_us)
        self.counted_us = now_us

    def is_due(self, now_us: int, *, is_idle: bool) -> bool:
        """Whether a round begins: the last one is over, or nobody runs in it any more."""
        return is_idle or now_us >= self.ends_us

    def may_reset(self, now_us: int, *, is_idle: bool) -> bool:
        """Whether a new solution may be followed from now on."""
        return is_idle or self.last_reset_us == 0 or now_us - self.last_reset_us >= self.reset_us

    def reset(self, now_us: int, fractions: Mapping[int, Array]) -> None:
        """Note what each job lacks of the old fractions, and count from now on."""
        elapsed = now_us - self.last_reset_us
        self.all_had[:] = 0.0
        for job, had in self.had.items():
            due = fractions[job] * elapsed if job in fractions else 0.0
            self.deficit[job] += due - (had - self.round_us / 2)
            had[:] = self.round_us / 2
            self.all_had += had
        self.last_reset_us = now_us

    def begin(self, now_us: int) -> None:
        """A round begins."""
        self.ends_us = now_us + self.round_us

    def pairs(self, fractions: Mapping[int, Array]) -> Iterator[tuple[int, int]]:
        """Jobs and types in the order in which they are tried."""
        kinds = list(range(self.num_types))
        if self.shuffler is not None:
            self.shuffler.shuffle(kinds)
        none = np.zeros(self.num_types)
        for kind in kinds:
            keyed = []
            for job, had in self.had.items():
                fraction = float(fractions.get(job, none)[kind])
                priority = fraction * 1e9
                if self.all_had[kind] > 0 and had[kind] > 0:
                    priority = fraction / (had[kind] / self.all_had[kind])
                keyed.append((priority, self.deficit[job][kind], fraction, job))
            keyed.sort(key=lambda entry: entry[:3], reverse=True)  # stable: then as they came
            for _, _, fraction, job in keyed:
                if fraction > 0 or not self.idles:
                    yield job, kind

    def fill(
        self,
        wanted: dict[int, Parts],
        free: list[int],
        fractions: Mapping[int, Array],
        rates: Mapping[int, tuple[float, ...]],
        widths: Mapping[int, int],
    ) -> None:
        """Give the free GPUs of each type to jobs that are not wanted yet."""
        taken = set(wanted)
        for job, kind in self.pairs(fractions):
            width = widths[job]
            if job in taken or rates[job][kind] <= 0 or free[kind] < width:
                continue
            taken.add(job)
            free[kind] -= width
            # Who came since the solution takes a place and does not run.
            if job in fractions:
                wanted[job] = [(kind, width)]

    def isolated_time(self, ids: list[int], alone: Array, left: Array) -> Array:
        """Return how long the work so far would have taken with the equal shares there were.

        Parameters
        ----------
        alone, left
            The rate with the present equal share, and the work left, of each of ``ids``.
        """
        for job, rate, work in zip(ids, alone.tolist(), left.tolist(), strict=True):
            time, before, rate_before = self.isolated.get(job, (0.0, work, rate))
            self.isolated[job] = (time + (before - work) / rate_before, work, rate)
        return np.array([self.isolated[job][0] for job in ids])
