"""The waiting jobs of backfilling, by class and length, next to one plain list of each class."""

from __future__ import annotations

from bisect import insort

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gpusched import _core
from gpusched._core import _testing
from tests.examples import examples

NEVER = 2**63 - 1
NUM_JOBS = 30_000  # more than two blocks of blocks of either class
LONGEST = 1_000
# Most jobs are long: a search passes over whole blocks.
ESTIMATES = np.random.default_rng(1).choice(
    np.array([3, 40, 41, 500, 900, LONGEST]), NUM_JOBS, p=[0.002, 0.004, 0.004, 0.09, 0.4, 0.5]
)
fractions = st.floats(0, 1)
classes = st.integers(0, 1)
lengths = st.sampled_from([0, 3, 39, 40, 500, LONGEST, NEVER - 1, NEVER])


class BackfillMachine(RuleBasedStateMachine):
    """Jobs come in order or later and leave from anywhere; who is short enough is asked for."""

    def __init__(self) -> None:
        super().__init__()
        gpus = 1 + np.arange(NUM_JOBS, dtype=np.int32) % 2
        jobs = _core.JobTable(
            np.zeros(NUM_JOBS, np.int64), ESTIMATES, gpus, estimate_us=ESTIMATES.astype(np.int64)
        )
        cluster = _core.Cluster(np.full(1, 8, np.int32), np.zeros(1, np.int32))
        self.native = _testing.BackfillQueue(jobs, cluster)
        self.waiting: tuple[list[int], list[int]] = ([], [])
        self.num_added = 0
        self.later: list[int] = []  # who was passed over, or has left

    def next(self, own: int, after: int, longest: int) -> int | None:
        short = (job for job in self.waiting[own] if job > after and ESTIMATES[job] <= longest)
        return next(short, None)

    def ask(self, own: int, after: int, longest: int) -> int | None:
        found: int | None = self.native.next(own, after, longest)
        assert found == self.next(own, after, longest)
        return found

    def remove(self, own: int, job: int) -> None:
        self.native.remove(job)
        self.waiting[own].remove(job)
        self.later.append(job)

    @rule(num_new=st.integers(1, 300) | st.integers(5_000, 10_000), every=st.sampled_from([0, 7]))
    def add(self, num_new: int, every: int) -> None:
        """All of the next, or all but some."""
        for job in range(self.num_added, min(self.num_added + num_new, NUM_JOBS)):
            self.num_added += 1
            if every and job % every == 0:
                self.later.append(job)
            else:
                self.native.add(job)
                self.waiting[job % 2].append(job)

    @precondition(lambda self: self.later)
    @rule(where=fractions, num_new=st.integers(1, 20))
    def add_later(self, where: float, num_new: int) -> None:
        first = int(where * len(self.later))
        for job in reversed(self.later[first : first + num_new]):
            self.native.add(job)
            insort(self.waiting[job % 2], job)
        del self.later[first : first + num_new]

    @precondition(lambda self: any(self.waiting))
    @rule(own=classes, where=fractions, num_removed=st.integers(1, 3_000))
    def remove_many(self, own: int, where: float, num_removed: int) -> None:
        first = int(where * len(self.waiting[own]))
        for job in self.waiting[own][first : first + num_removed]:
            self.native.remove(job)
        del self.waiting[own][first : first + num_removed]

    @rule(own=classes, after=fractions, longest=lengths)
    def next_after_anybody(self, own: int, after: float, longest: int) -> None:
        """Also after who has left."""
        self.ask(own, int(after * self.num_added), longest)

    @precondition(lambda self: any(self.waiting))
    @rule(
        own=classes,
        longest=st.integers(0, LONGEST),
        step=st.integers(-30, 60),
        starts=st.lists(st.booleans(), max_size=12),
    )
    def backfill(self, own: int, longest: int, step: int, starts: list[bool]) -> None:
        """As a scheduler does: behind the first of all, again and again for shorter jobs."""
        after = first = min(line[0] for line in self.waiting if line)
        for does_start in starts:
            job = self.ask(own, after, longest)
            if job is None:
                after = first
            elif does_start:
                self.remove(own, job)
                after = first
            else:
                after = job
            longest -= step  # the reserved instant comes nearer, or another is reserved

    @precondition(lambda self: any(self.waiting))
    @rule(num_started=st.integers(1, 300))
    def start_the_first(self, num_started: int) -> None:
        for _ in range(min(num_started, sum(map(len, self.waiting)))):
            own = min((line[0], own) for own, line in enumerate(self.waiting) if line)[1]
            self.remove(own, self.waiting[own][0])

    @invariant()
    def agrees(self) -> None:
        assert len(self.native) == sum(map(len, self.waiting))
        for own, line in enumerate(self.waiting):
            assert self.native.num_waiting(own) == len(line)
            assert self.native.first(own) == (line[0] if line else None)
            if line:
                assert self.native.shortest(own) <= ESTIMATES[line].min()
            else:
                assert self.native.shortest(own) == NEVER


TestBackfillQueue = BackfillMachine.TestCase
TestBackfillQueue.settings = examples(25, stateful_step_count=40)
