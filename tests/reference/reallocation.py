"""Who shall hold how many GPUs of which types becomes who holds which GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gpusched.reference.cluster import Cluster, Free
from gpusched.reference.model import Active, Allocation

if TYPE_CHECKING:
    from gpusched.reference.engine import Engine

Part = tuple[int, int]
"""GPU type, and how many of them."""


def parts_of(cluster: Cluster, allocation: Allocation) -> list[Part]:
    """Return how many GPUs of each type these are."""
    counts: dict[int, int] = {}
    for server, mask in allocation.items():
        gpu_type = cluster.gpu_types.index(cluster.types[server])
        counts[gpu_type] = counts.get(gpu_type, 0) + mask.bit_count()
    return sorted(counts.items())


class Reallocation:
    """One decision: what every job shall hold from now on, and how it gets it."""

    def __init__(self, engine: Engine, may_move: Callable[[Active], bool] = lambda _: True) -> None:
        self.engine = engine
        self.may_move = may_move

    def apply(self, wanted: Iterable[tuple[Active, list[Part]]]) -> list[Active]:
        """Let the jobs listed hold these parts and no others anything; return who found no place.

        Who is refused goes on with what it held if that is still free.
        """
        engine = self.engine
        parts = {job.id: of_job for job, of_job in wanted}
        for job in engine.running:
            if job.id not in parts:
                engine.preempt(job)
        changed = [
            job for job in engine.active if job.id in parts and self.parts(job) != parts[job.id]
        ]
        for job in changed:
            if job.running:
                engine.suspend(job)
        refused = []
        for job in sorted(changed, key=lambda job: (-width(parts[job.id]), job.id)):
            allocation = self.place(engine.free, job, parts[job.id])
            if allocation is not None:
                self.settle(job, allocation)
            elif not self.defragment(job, parts[job.id]):
                refused.append(job)
        refused.sort(key=lambda job: job.id)
        for job in refused:
            if job.running and not engine.restore(job):
                engine.preempt(job)
        return refused

    def parts(self, job: Active) -> list[Part]:
        """Return what a job holds."""
        return parts_of(self.engine.cluster, job.allocation or {})

    def place(self, free: Free, job: Active, parts: list[Part]) -> Allocation | None:
        """Ask the placement for one part after the other; all, and able to run, or nothing."""
        chosen: Allocation = {}
        for gpu_type, gpus in parts:
            part = self.engine.placer.place(job, free, gpus, gpu_type)
            if part is None:
                return None
            chosen |= part  # no server has GPUs of two types
        return dict(sorted(chosen.items())) if self.engine.speed.can_use(job, chosen) else None

    def settle(self, job: Active, allocation: Allocation) -> None:
        """Start or resize a job; nothing happens if it has found what it held."""
        engine = self.engine
        is_one_part = len(parts_of(engine.cluster, allocation)) == 1
        ranks = engine.placer.ranks(job, allocation) if is_one_part else []
        if not job.running:
            engine.start(job, allocation, ranks)
        elif allocation == job.allocation:
            engine.restore(job)
        else:
            engine.resize(job, allocation, ranks)

    def defragment(self, job: Active, parts: list[Part]) -> bool:
        """Move the smallest jobs that are in the way, as few as need be; False if none help."""
        engine = self.engine
        if any(gpus > self.num_free(gpu_type) for gpu_type, gpus in parts):
            return False
        movable = sorted(self.in_the_way(parts), key=lambda other: (other.width, other.id))
        for count in range(1, len(movable) + 1):
            moved = movable[:count]
            places = self.places(engine.free.released(moved), job, parts, moved)
            if places is not None:
                for other in moved:
                    engine.suspend(other)
                for each in [job, *moved]:
                    self.settle(each, places[each.id])
                return True
        return False

    def num_free(self, gpu_type: int) -> int:
        """Return the wholly free GPUs of a type."""
        cluster, masks = self.engine.cluster, self.engine.free.masks
        name = cluster.gpu_types[gpu_type]
        return sum(masks[server].bit_count() for server in masks if cluster.types[server] == name)

    def in_the_way(self, parts: list[Part]) -> list[Active]:
        """Return the unchanged jobs that may move, narrower than a part of their type."""
        found = []
        for other in self.engine.running:
            if other in self.engine.suspended or other.since == self.engine.now:
                continue
            held = self.parts(other)
            is_narrower = any(t == held[0][0] and gpus > held[0][1] for t, gpus in parts)
            if len(held) == 1 and is_narrower and self.may_move(other):
                found.append(other)
        return found

    def places(
        self, free: Free, job: Active, parts: list[Part], moved: list[Active]
    ) -> dict[int, Allocation] | None:
        """Find places for a job and then for those that move, the widest first; all or nothing."""
        order = [(job, parts)]
        order += [(o, self.parts(o)) for o in sorted(moved, key=lambda other: -other.width)]
        found: dict[int, Allocation] = {}
        for each, wanted in order:
            allocation = self.place(free, each, wanted)
            if allocation is None:
                return None
            free = free.claimed(each, allocation)
            found[each.id] = allocation
        return found


def width(parts: list[Part]) -> int:
    """Return the GPUs of all parts."""
    return sum(gpus for _, gpus in parts)
