"""What a server is worth to a gang, and which of its GPUs the gang takes: a class per name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusched.readable.cluster_state import UNLIMITED, Cluster, lowest_bits
from gpusched.readable.free import Free
from gpusched.readable.model import WHOLE, Active, Job
from gpusched.readable.packing.fragmentation import Fragmentation
from gpusched.readable.rng import below, draw


@dataclass(frozen=True)
class Ask:
    """What is asked of one server: some workers of a job, and on which servers."""

    job: Active
    workers: int
    gang: int
    servers: tuple[int, ...]
    is_whole: bool = False  # the server must have just so many GPUs, all of them free


class Rule:
    """Any server; a share goes on the GPU that it fits best."""

    full_first = True

    def __init__(
        self, cluster: Cluster, jobs: Sequence[Job], seed: int, params: Mapping[str, Any]
    ) -> None:
        self.cluster = cluster
        self.jobs = jobs
        self.has_demands = any(
            job.share_milli < WHOLE or job.cpu_milli or job.memory_mib for job in jobs
        )
        self.seed = seed
        self.params = params

    def start(self, job: Active) -> None:
        """Begin with another gang."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        """Return what a server that can host the workers is worth, the less the better."""
        return 0

    def choose(self, scores: dict[int, float]) -> int:
        """Return the best of some servers."""
        return min(scores, key=lambda server: (scores[server], server))

    def gpus(self, free: Free, server: int, ask: Ask) -> int:
        """Return the GPUs that the workers take, as a mask."""
        if not ask.job.is_share:
            return lowest_bits(free.masks[server], ask.workers)
        sign = 1 if self.full_first else -1
        gpus = self.shareable(free, server, ask.job)
        return 1 << min(gpus, key=lambda gpu: (sign * free.left(server, gpu), gpu))

    def shareable(self, free: Free, server: int, job: Active) -> list[int]:
        """Return the GPUs with enough left for a share."""
        gpus = range(self.cluster.sizes[server])
        return [gpu for gpu in gpus if free.left(server, gpu) >= job.job.share_milli]

    def milli(self, free: Free, server: int) -> int:
        """Return the thousandths of all GPUs of a server that are free."""
        return sum(free.left(server, gpu) for gpu in range(self.cluster.sizes[server]))

    def resources(self, free: Free, server: int, ask: Ask) -> list[tuple[int, int, int]]:
        """Return of each resource what is free, the most that a server has, and what is asked."""
        job, workers = ask.job.job, max(1, ask.workers)
        most = max(self.cluster.sizes.values()) * WHOLE
        found = [(self.milli(free, server), most, job.share_milli * ask.workers)]
        if not self.has_demands:
            return found
        for left, all_of, asked in (
            (free.cpu_milli, self.cluster.cpu_milli, job.cpu_milli),
            (free.memory_mib, self.cluster.memory_mib, job.memory_mib),
        ):
            most = max((own for own in all_of.values() if own < UNLIMITED), default=0)
            if most > 0:
                found.append((min(left[server], most), most, asked * workers))
        return found

    def room(self, free: Free, server: int, ask: Ask) -> float:
        """Add up what is free, each resource as a part of the most that a server has."""
        total = 0.0
        for left, most, _ in self.resources(free, server, ask):
            total += left / most
        return total


class BestFit(Rule):
    """Least left in all resources."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        return self.room(free, server, ask)


class WorstFit(Rule):
    """Most left in all resources."""

    full_first = False

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        return -self.room(free, server, ask)


class Consolidated(Rule):
    """Least left of the GPUs."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        return self.milli(free, server)


class Spread(Rule):
    """Most left of the GPUs."""

    full_first = False

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        return -self.milli(free, server)


class DotProduct(Rule):
    """What is free is most like what is asked for, or least."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        total = 0.0
        for left, most, asked in self.resources(free, server, ask):
            total += asked / most * (left / most)
        return total if self.params.get("product") == "least" else -total


class Random(Rule):
    """Any server and any of its GPUs, by draws of the job."""

    def start(self, job: Active) -> None:
        self.job, self.counter = job.id, 1000003 * job.preemptions

    def choose(self, scores: dict[int, float]) -> int:
        return sorted(scores)[self.below(len(scores))]

    def gpus(self, free: Free, server: int, ask: Ask) -> int:
        if ask.job.is_share:
            left = self.shareable(free, server, ask.job)
        else:
            left = [gpu for gpu in range(64) if free.masks[server] >> gpu & 1]
        return sum(1 << left.pop(self.below(len(left))) for _ in range(ask.workers))

    def below(self, n: int) -> int:
        """Draw from 0 .. n - 1."""
        self.counter += 1
        return below(draw(self.seed, "placement", self.job, self.counter - 1), n)


class GpuPacking(Rule):
    """Partly used GPUs, then used servers, then idle ones."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        size = self.cluster.sizes[server]
        if free.masks[server].bit_count() == size:
            return 2e6 + size
        if ask.job.is_share:
            left = min(free.left(server, gpu) for gpu in self.shareable(free, server, ask.job))
            if left < WHOLE:
                return left
        return 1e6 + self.milli(free, server)


class GpuClustering(Rule):
    """Servers with gangs of this shape alone, mixed ones, idle ones, others."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        milli = self.milli(free, server)
        hosted = free.hosted.get(server, {})
        shape = -ask.job.job.share_milli if ask.job.is_share else ask.gang
        if shape in hosted:
            return milli if len(hosted) == 1 else 1e6 + milli
        if shape == 0:
            return milli
        return 3e6 + milli if hosted else 2e6 + milli


class Fgd(Rule):
    """Fragments grow least, in steps; then the least free. A share tries every GPU."""

    STEP = 40  # thousandths of a GPU

    def __init__(
        self, cluster: Cluster, jobs: Sequence[Job], seed: int, params: Mapping[str, Any]
    ) -> None:
        super().__init__(cluster, jobs, seed, params)
        self.fragmentation = Fragmentation(cluster, jobs)

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        left = sum(free.left(server, gpu) for gpu in range(self.cluster.sizes[server]))
        return min(self.growths(free, server, ask))[0] * 65536 + left

    def gpus(self, free: Free, server: int, ask: Ask) -> int:
        return min(self.growths(free, server, ask))[1]

    def growths(self, free: Free, server: int, ask: Ask) -> list[tuple[int, int]]:
        """Return what the growth of fragments costs on each choice of GPUs."""
        masks = [lowest_bits(free.masks[server], ask.workers)]
        if ask.job.is_share:
            masks = [1 << gpu for gpu in self.shareable(free, server, ask.job)]
        before = self.fragmentation.of_server(free, server)
        found = []
        for mask in masks:
            after = free.claimed(ask.job, {server: mask})
            growth = self.fragmentation.of_server(after, server) - before
            found.append((self.cost(growth), mask))
        return found

    def cost(self, growth: int) -> int:
        """Return a growth in steps."""
        return -(-growth // (self.STEP * len(self.fragmentation.jobs)))


class Buddy(Rule):
    """The smallest block that the workers can be cut from."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        if ask.workers == 0:
            return free.masks[server].bit_count()
        if ask.job.is_share:
            left = min(free.left(server, gpu) for gpu in self.shareable(free, server, ask.job))
            if left < WHOLE:
                return left / WHOLE
        blocks = self.blocks(free, server, ask.workers)
        return min(blocks)[0] if blocks else None

    def gpus(self, free: Free, server: int, ask: Ask) -> int:
        if ask.workers == 0:
            return 0
        mask = super().gpus(free, server, ask)
        if ask.job.is_share and not mask & free.masks[server]:
            return mask
        _, _, inside = min(self.blocks(free, server, ask.workers))
        return lowest_bits(inside, ask.workers)

    def blocks(self, free: Free, server: int, width: int) -> list[tuple[int, int, int]]:
        """Return the aligned blocks with room: free GPUs around, start, free GPUs as a mask."""
        size = self.cluster.sizes[server]
        length = 1
        while length < width:
            length *= 2

        def block(start: int, length: int) -> int:
            return sum(1 << gpu for gpu in range(start, min(start + length, size)))

        found = []
        for start in range(0, size, length):
            inside = free.masks[server] & block(start, length)
            if inside.bit_count() < width:
                continue
            around, larger = inside, length
            while around == block(start - start % larger, larger) and larger < size:
                larger *= 2
                parent = block(start - start % larger, larger)
                if free.masks[server] & parent != parent:
                    break
                around = parent
            found.append((around.bit_count(), start, inside))
        return found


RULES: dict[str, type[Rule]] = {
    "first-fit": Rule,
    "best-fit": BestFit,
    "worst-fit": WorstFit,
    "spread": Spread,
    "random": Random,
    "consolidated": Consolidated,
    "consolidated-relaxed": Consolidated,
    "dot-product": DotProduct,
    "fgd": Fgd,
    "gpu-packing": GpuPacking,
    "gpu-clustering": GpuClustering,
    "buddy": Buddy,
    "topology": BestFit,
}
