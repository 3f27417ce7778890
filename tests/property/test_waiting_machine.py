"""The waiting jobs by class next to one plain list, with few classes and with a tree of many."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gpusched import _core
from gpusched._core import _testing
from tests.examples import examples

NONE = 2**32 - 1
ANY = 2**63 - 1
# Few distinct keys: ties are the interesting case.
keys = st.sampled_from([-1.0, 0.0, 0.0, 2.5, 1e300])


class WaitingMachine(RuleBasedStateMachine):
    """Jobs come and go; classes are closed, refused and opened."""

    widths: tuple[int, ...]

    def __init__(self) -> None:
        super().__init__()
        # Two sets of types, one job of each width for either, and one that can never fit.
        gpus = np.array([*self.widths, *self.widths, 400], dtype=np.int32)
        submit, service = np.zeros(gpus.size, np.int64), np.ones(gpus.size, np.int64)
        jobs = _core.JobTable(
            submit,
            service,
            gpus,
            type_set=np.arange(gpus.size, dtype=np.int32) // len(self.widths) % 2,
            type_masks=np.array([1, 3], dtype=np.uint64),
            **self.demands(gpus),
        )
        cluster = _core.Cluster(
            np.full(8, 40, np.int32),
            np.arange(8, dtype=np.int32) // 4,
            cpu_milli=np.full(8, 10**6),
            memory_mib=np.full(8, 10**6),
        )
        self.native = _testing.WaitingQueue(jobs, cluster)
        self.class_of = [self.native.class_of(job) for job in range(gpus.size)]
        self.gpus = gpus.tolist()
        self.waiting: list[tuple[float, int, int]] = []  # key, job, class
        self.closed: set[int] = set()
        self.refused: set[int] = set()
        self.num_jobs = 0

    def demands(self, gpus: Any) -> dict[str, Any]:
        return {}

    def classes(self) -> list[int]:
        return [own for own in self.class_of if own != NONE]

    def least(self, group: tuple[int, int] = (0, NONE), widest: int = ANY) -> Any:
        return min(
            (
                entry
                for entry in self.waiting
                if group[0] <= entry[2] < group[1]
                and entry[2] not in self.closed
                and self.native.room(entry[2]) <= widest
            ),
            default=None,
        )

    def forget_emptied(self, own: int) -> None:
        if all(entry[2] != own for entry in self.waiting):
            self.refused.discard(own)

    @rule(data=st.data(), new=st.lists(keys, min_size=1, max_size=8))
    def push(self, data: st.DataObject, new: list[float]) -> None:
        for key in new:
            own = data.draw(st.sampled_from(self.classes()), "class")
            self.native.push(own, key, self.num_jobs)
            self.waiting.append((key, self.num_jobs, own))
            self.num_jobs += 1

    @precondition(lambda self: self.least())
    @rule(num_popped=st.integers(1, 5))
    def pop(self, num_popped: int) -> None:
        for _ in range(num_popped):
            entry = self.least()
            if entry is None:
                return
            assert self.native.least(ANY) == entry
            self.native.pop(entry[2])
            self.waiting.remove(entry)
            self.forget_emptied(entry[2])

    @precondition(lambda self: self.least())
    @rule(refuses=st.booleans())
    def pass_over(self, refuses: bool) -> None:
        """Close the class that is first; a tree remembers who was refused."""
        own = self.least()[2]
        if refuses and self.native.has_tree:
            self.native.refuse(own)
            self.refused.add(own)
        else:
            self.native.close(own)
        self.closed.add(own)

    @rule()
    def reopen(self) -> None:
        self.native.reopen()
        self.closed.clear()

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), is_there=st.booleans())
    def remove(self, data: st.DataObject, is_there: bool) -> None:
        """From an open class, wherever it stands; what does not wait is not missed."""
        entry = data.draw(st.sampled_from(self.waiting), "job")
        if entry[2] in self.closed:
            return
        self.native.remove(entry[2], entry[1] if is_there else self.num_jobs)
        if is_there:
            self.waiting.remove(entry)
        self.forget_emptied(entry[2])

    @rule()
    def drain(self) -> None:
        assert sorted(self.native.drain()) == sorted(job for _, job, _ in self.waiting)
        self.waiting, self.closed, self.refused = [], set(), set()

    @rule(widest=st.integers(0, 310))
    def least_of_those_that_need_no_more(self, widest: int) -> None:
        assert self.native.least(widest) == self.least(widest=widest)

    @invariant()
    def agrees(self) -> None:
        assert len(self.native) == len(self.waiting)
        assert self.native.is_empty == (not self.waiting)
        assert self.native.least(ANY) == self.least()


class FewClassesMachine(WaitingMachine):
    widths = (1, 2, 4, 8, 150)

    @invariant()
    def looks_at_all(self) -> None:
        assert not self.native.has_tree


class ManyClassesMachine(WaitingMachine):
    widths = tuple(range(1, 76))

    def demands(self, gpus: Any) -> dict[str, Any]:
        # A worker of every third width asks for much, beside its GPUs.
        return {
            "demand": np.arange(gpus.size, dtype=np.int32) % 3,
            "demand_share_milli": np.full(3, 1_000, dtype=np.int32),
            "demand_cpu_milli": np.array([0, 1_000, 9_000]),
            "demand_memory_mib": np.array([0, 500, 100]),
        }

    @rule(
        data=st.data(),
        room=st.integers(0, 80),
        cpu_milli=st.sampled_from([0, 9_000, 200_000, ANY]),
        memory_mib=st.sampled_from([0, 400, 5_000, ANY]),
        fitting=st.integers(1, 5),
    )
    def least_that_fits(
        self, data: st.DataObject, room: int, cpu_milli: int, memory_mib: int, fitting: int
    ) -> None:
        """Who was refused is left out where it needs more than is left, or does not fit."""
        group = data.draw(st.integers(0, len(self.native.groups) - 1), "group")
        fits = [own % fitting == 0 for own in range(len(self.classes()))]
        begin, end = self.native.groups[group]
        expected = min(
            (
                entry
                for entry in self.waiting
                if begin <= entry[2] < end
                and entry[2] not in self.closed
                and self.native.room(entry[2]) <= room
                and (
                    entry[2] not in self.refused
                    or (fits[entry[2]] and self.needs_at_most(entry[2], cpu_milli, memory_mib))
                )
            ),
            default=None,
        )
        found = self.native.least_that_fits(group, room, cpu_milli, memory_mib, fits)
        assert found == expected

    def needs_at_most(self, own: int, cpu_milli: int, memory_mib: int) -> bool:
        job = self.class_of.index(own)
        cpu, memory = ((0, 0), (1_000, 500), (9_000, 100))[job % 3]
        return cpu * self.gpus[job] <= cpu_milli and memory * self.gpus[job] <= memory_mib

    @invariant()
    def has_a_tree(self) -> None:
        assert self.native.has_tree


TestFewClasses = FewClassesMachine.TestCase
TestManyClasses = ManyClassesMachine.TestCase
TestFewClasses.settings = examples(25, stateful_step_count=30)
TestManyClasses.settings = examples(25, stateful_step_count=30)
