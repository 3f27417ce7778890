"""What is free of a cluster: whole GPUs, parts of others, CPU and memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from gpusched.readable.model import WHOLE, Active, Allocation

Guests = dict[int, tuple[Active, Allocation]]
"""JobId -> a job that has GPUs, and which."""


def workers_of(mask: int) -> int:
    """Return the workers on some GPUs of a server; a task without GPUs is one."""
    return max(1, mask.bit_count())


@dataclass
class Free:
    """A value: to take or to give back makes another one.

    It is not frozen: thousands are made in a run, and a frozen one takes several times as long.
    """

    masks: Allocation
    """Server -> its wholly free GPUs."""
    milli: dict[tuple[int, int], int]
    """(server, GPU) -> thousandths left, of GPUs that shares are taken of."""
    cpu_milli: dict[int, int]
    memory_mib: dict[int, int]
    guests: Guests = field(default_factory=dict)

    @cached_property
    def counts(self) -> dict[int, int]:
        """Server -> number of its wholly free GPUs."""
        return dict(zip(self.masks, map(int.bit_count, self.masks.values()), strict=True))

    @cached_property
    def num_gpus(self) -> int:
        """Number of wholly free GPUs."""
        return sum(map(int.bit_count, self.masks.values()))

    @cached_property
    def hosted(self) -> dict[int, dict[int, int]]:
        """Server -> shape -> gangs: a gang's width, or minus the thousandths of a share."""
        hosted: dict[int, dict[int, int]] = {}
        for job, allocation in self.guests.values():
            width = sum(mask.bit_count() for mask in allocation.values())
            shape = -job.job.share_milli if job.is_share else width
            for server, mask in allocation.items():
                if mask:
                    there = hosted.setdefault(server, {})
                    there[shape] = there.get(shape, 0) + 1
        return hosted

    def has_room(self, server: int, job: Active, workers: int) -> bool:
        """Whether a server has the CPU and memory for so many workers of a job."""
        return (
            self.cpu_milli[server] >= job.job.cpu_milli * workers
            and self.memory_mib[server] >= job.job.memory_mib * workers
        )

    def left(self, server: int, gpu: int) -> int:
        """Return the thousandths of a GPU that are free."""
        if self.masks[server] >> gpu & 1:
            return WHOLE
        return self.milli.get((server, gpu), 0)

    def contains(self, job: Active, allocation: Allocation) -> bool:
        """Whether a job could take these GPUs, and what it asks for beside them."""
        for server, mask in allocation.items():
            if job.is_share:
                if self.left(server, mask.bit_length() - 1) < job.job.share_milli:
                    return False
            elif mask & ~self.masks[server]:
                return False
            if not self.has_room(server, job, workers_of(mask)):
                return False
        return True

    def claimed(self, job: Active, allocation: Allocation) -> Free:
        """Return what is left when the job has taken these GPUs."""
        after = self._copied()
        after._move(job, allocation, -1)
        after.guests[job.id] = job, allocation
        return after

    def released(self, jobs: Iterable[Active]) -> Free:
        """Return what is free when these running jobs have given back what they hold."""
        after = self._copied()
        for job in jobs:
            after._move(job, job.allocation or {}, 1)
            after.guests.pop(job.id, None)
        return after

    def _copied(self) -> Free:
        """Return another one, which may be changed until somebody has seen it.

        CPU and memory, which few jobs ask for, are made anew where they change.
        """
        masks, milli, guests = dict(self.masks), dict(self.milli), dict(self.guests)
        return Free(masks, milli, self.cpu_milli, self.memory_mib, guests)

    def _move(self, job: Active, allocation: Allocation, sign: int) -> None:
        for server, mask in allocation.items():
            if job.is_share:
                self._move_share(job, server, mask, sign)
            elif sign > 0:
                self.masks[server] |= mask
            else:
                self.masks[server] &= ~mask
            if job.asks_for_more:
                workers = sign * workers_of(mask)
                cpu_milli = self.cpu_milli[server] + job.job.cpu_milli * workers
                memory_mib = self.memory_mib[server] + job.job.memory_mib * workers
                self.cpu_milli = self.cpu_milli | {server: cpu_milli}
                self.memory_mib = self.memory_mib | {server: memory_mib}

    def _move_share(self, job: Active, server: int, mask: int, sign: int) -> None:
        gpu = mask.bit_length() - 1
        left = self.left(server, gpu) + sign * job.job.share_milli
        self.milli.pop((server, gpu), None)
        if left == WHOLE:
            self.masks[server] |= mask
        else:
            self.masks[server] &= ~mask
            self.milli[server, gpu] = left
