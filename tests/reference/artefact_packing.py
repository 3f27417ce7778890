"""Placements as the artefact of FGD has them, in whole per cent: twins of ``artefact=true``.

To import this is enough for the readable engine to know them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpusched.reference.cluster import UNLIMITED, Cluster, Free
from gpusched.reference.model import WHOLE, Job
from gpusched.reference.packing import RULES, Ask, Fgd, Fragmentation, Rule
from gpusched.reference.rng import draw

MOST = 100
EVERY_TYPE = 2**64 - 1


class Percent(Rule):
    """The most whole per cent; of equals the first in an order that is drawn for the run."""

    def __init__(
        self, cluster: Cluster, jobs: Sequence[Job], seed: int, params: Mapping[str, Any]
    ) -> None:
        super().__init__(cluster, jobs, seed, params)
        drawn = sorted(cluster.sizes, key=lambda server: (draw(seed, "servers", server, 0), server))
        self.order = {server: place for place, server in enumerate(drawn)}

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        return (MOST - self.percent(free, server, ask)) * len(self.order) + self.order[server]

    def percent(self, free: Free, server: int, ask: Ask) -> int:
        """Return what a server is worth, the more the better."""
        raise NotImplementedError

    def mean_of_two(
        self, free: Free, server: int, ask: Ask, term: Callable[[int, int, int], float]
    ) -> float:
        """Return the mean over CPU and GPUs of a term of what is free, what is asked, the most."""
        job = ask.job.job
        most = max(self.cluster.sizes.values()) * WHOLE
        gpu = term(self.milli(free, server), job.share_milli * ask.workers, most)
        limits = [limit for limit in self.cluster.cpu_milli.values() if limit < UNLIMITED]
        if not self.has_demands or max(limits, default=0) == 0:
            return gpu
        left = min(free.cpu_milli[server], max(limits))
        return (term(left, job.cpu_milli * max(1, ask.workers), max(limits)) + gpu) / 2


class PercentBestFit(Percent):
    """Least that would be left of CPU and GPUs."""

    def percent(self, free: Free, server: int, ask: Ask) -> int:
        left = self.mean_of_two(free, server, ask, lambda left, asked, most: (left - asked) / most)
        return int((1.0 - left) * MOST)


class PercentDotProduct(Percent):
    """Least product of what is free and what is asked for, of CPU and GPUs."""

    def percent(self, free: Free, server: int, ask: Ask) -> int:
        product = self.mean_of_two(
            free, server, ask, lambda left, asked, most: left / most * (asked / most)
        )
        is_least = self.params.get("product", "least") == "least"
        return int((1.0 - product if is_least else product) * MOST)


class PercentGpuPacking(Percent):
    """A share's GPU, the fuller the better; then used servers; then idle ones."""

    def percent(self, free: Free, server: int, ask: Ask) -> int:
        if ask.workers == 0:
            return 0
        size = self.cluster.sizes[server]
        if free.masks[server].bit_count() == size:
            return max(MOST // 3 - size, size)
        if ask.job.is_share:
            left = min(free.left(server, gpu) for gpu in self.shareable(free, server, ask.job))
            if left < WHOLE:
                return MOST - left // 100
        return max(MOST // 2 - ask.workers, MOST // 3)


class PercentGpuClustering(Percent):
    """A quarter for each kind of server, the fuller the better in it; all shares are one shape."""

    def percent(self, free: Free, server: int, ask: Ask) -> int:
        if ask.gang == 0:
            return 0
        quarter = MOST // 4
        most = max(self.cluster.sizes.values()) * WHOLE
        used = quarter * (most - self.milli(free, server)) // most
        shapes = {max(shape, 0) for shape in free.hosted.get(server, {})}
        if not shapes:
            return quarter + used
        if (0 if ask.job.is_share else ask.gang) not in shapes:
            return used
        return (3 if len(shapes) == 1 else 2) * quarter + used


class PercentFgd(Percent, Fgd):
    """The growth of fragments for the most frequent requests, by a logistic function."""

    TYPICAL_PERCENT = 95

    def __init__(
        self, cluster: Cluster, jobs: Sequence[Job], seed: int, params: Mapping[str, Any]
    ) -> None:
        super().__init__(cluster, jobs, seed, params)
        self.fragmentation = Fragmentation(cluster, self.typical(jobs))

    def percent(self, free: Free, server: int, ask: Ask) -> int:
        return MOST - min(self.growths(free, server, ask))[0]

    def cost(self, growth: int) -> int:
        gpus = growth / (WHOLE * len(self.fragmentation.jobs))
        return MOST - min(MOST - 1, int(MOST / (1.0 + math.exp(gpus))))

    def typical(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs of the most frequent kinds that make up enough of them."""
        numbers = Counter(map(self.kind, jobs))
        most_first = sorted(numbers, key=lambda kind: (numbers[kind], kind), reverse=True)
        kept: set[tuple[int, int, int, int]] = set()
        covered = 0
        for kind in most_first:
            if 100 * covered >= self.TYPICAL_PERCENT * len(jobs):
                break
            kept.add(kind)
            covered += numbers[kind]
        return [job for job in jobs if self.kind(job) in kept]

    def kind(self, job: Job) -> tuple[int, int, int, int]:
        """Return CPU, share, GPUs and types, by which equally frequent requests are told apart."""
        types = EVERY_TYPE
        if job.allowed:
            names = self.cluster.gpu_types
            types = sum(1 << index for index, name in enumerate(names) if name in job.allowed)
        return job.cpu_milli, job.share_milli if job.gpus else 0, job.gpus, types


RULES |= {
    "best-fit:artefact": PercentBestFit,
    "dot-product:artefact": PercentDotProduct,
    "fgd:artefact": PercentFgd,
    "gpu-packing:artefact": PercentGpuPacking,
    "gpu-clustering:artefact": PercentGpuClustering,
}
