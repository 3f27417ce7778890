"""What is free of a cluster: whole GPUs, parts of others, CPU and memory. Nothing is cached."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gpusched.readable.model import WHOLE, Active, Allocation


def workers_of(mask: int) -> int:
    """Return the workers on some GPUs of a server; a task without GPUs is one."""
    return max(1, mask.bit_count())


@dataclass(frozen=True)
class Free:
    """A value: to take or to give back makes another one."""

    masks: Allocation
    """Server -> its wholly free GPUs."""
    milli: dict[tuple[int, int], int]
    """(server, GPU) -> thousandths left, of GPUs that shares are taken of."""
    cpu_milli: dict[int, int]
    memory_mib: dict[int, int]
    hosted: dict[int, dict[int, int]] = field(default_factory=dict)
    """Server -> shape -> gangs there. A shape is a gang's width, or minus a share's thousandths."""

    @property
    def num_gpus(self) -> int:
        """Number of wholly free GPUs."""
        return sum(mask.bit_count() for mask in self.masks.values())

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
        return self._moved(job, allocation, -1)

    def released(self, jobs: Iterable[Active]) -> Free:
        """Return what is free when these running jobs have given back what they hold."""
        free = self
        for job in jobs:
            free = free._moved(job, job.allocation or {}, 1)
        return free

    def _moved(self, job: Active, allocation: Allocation, sign: int) -> Free:
        free = self._with_guest(job, allocation, -sign)
        if job.asks_for_more:
            free = free._with_room(job, allocation, sign)
        if job.is_share:
            return free._with_share(job, allocation, sign)
        masks = dict(free.masks)
        for server, mask in allocation.items():
            masks[server] = masks[server] | mask if sign > 0 else masks[server] & ~mask
        return replace(free, masks=masks)

    def _with_guest(self, job: Active, allocation: Allocation, sign: int) -> Free:
        width = sum(mask.bit_count() for mask in allocation.values())
        shape = -job.job.share_milli if job.is_share else width
        hosted = dict(self.hosted)
        for server, mask in allocation.items():
            if mask:
                there = dict(hosted.get(server, {}))
                there[shape] = there.get(shape, 0) + sign
                hosted[server] = {known: count for known, count in there.items() if count}
        return replace(self, hosted=hosted)

    def _with_room(self, job: Active, allocation: Allocation, sign: int) -> Free:
        cpu_milli, memory_mib = dict(self.cpu_milli), dict(self.memory_mib)
        for server, mask in allocation.items():
            cpu_milli[server] += sign * job.job.cpu_milli * workers_of(mask)
            memory_mib[server] += sign * job.job.memory_mib * workers_of(mask)
        return replace(self, cpu_milli=cpu_milli, memory_mib=memory_mib)

    def _with_share(self, job: Active, allocation: Allocation, sign: int) -> Free:
        ((server, mask),) = allocation.items()
        gpu = mask.bit_length() - 1
        left = self.left(server, gpu) + sign * job.job.share_milli
        milli, masks = dict(self.milli), dict(self.masks)
        milli.pop((server, gpu), None)
        if left == WHOLE:
            masks[server] |= mask
        else:
            masks[server] &= ~mask
            milli[server, gpu] = left
        return replace(self, masks=masks, milli=milli)
