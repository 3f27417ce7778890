"""Speed of synchronous rounds: unequal workers divide a batch, then a ring adds up gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gpusched.readable.cluster_state import Cluster
from gpusched.readable.model import Active, Allocation, Samples
from gpusched.readable.network import Link, Network
from gpusched.readable.samples import (
    in_equal_parts,
    in_proportion,
    whole_in_equal_parts,
    whole_in_proportion,
)
from gpusched.readable.speeds import Share, allocation_of, none, slowest_link


class Proportional:
    """A round takes as long as its slowest worker, and then as its slowest link."""

    is_fixed = False
    is_elastic = True

    def __init__(
        self,
        cluster: Cluster,
        network: Network | None,
        share: Share,
        split: str = "proportional",
        batches: str = "real",
    ) -> None:
        self.cluster = cluster
        self.network = network
        self.share = share
        self.is_equal = split == "equal"
        self.is_whole = batches == "integer"

    def can_run(self, job: Active) -> bool:
        """Whether the job can run at its own width on the empty cluster."""
        return self.ideal_s(job) < math.inf

    def can_use(self, job: Active, allocation: Allocation) -> bool:
        """Whether the job can run on these GPUs."""
        return self.round_s(job, self.workers(allocation), math.inf) < math.inf

    def runs(self, job: Active, name: str) -> bool:
        """Whether the job can run at its own width on GPUs of a type, however many there are."""
        samples = samples_of(job)
        most = samples.most.get(name) or math.inf
        return samples.per_s[name] > 0 and most * job.gpus >= samples.batch

    def rates(self, running: Sequence[Active]) -> Iterable[tuple[Active, float]]:
        """Compare the least seconds of a round at the job's own width with the present ones."""
        links: list[Link] = []
        if self.network is not None:
            links = [link for job in running for link in self.network.links(allocation_of(job))]
        return [(job, self.rate_there(job, self.share, links)) for job in running]

    def uncontended_rate(self, job: Active) -> float:
        """Return the rate if the job had every link for itself."""
        return self.rate_there(job, none, [])

    def rate_there(self, job: Active, share: Share, all_links: Sequence[Link]) -> float:
        """Return the rate where ``all_links`` has every link as often as rings use it."""
        allocation = allocation_of(job)
        bandwidth = math.inf
        if self.network is not None:
            bandwidth = slowest_link(self.network, self.cluster, allocation, share, all_links)
        round_s = self.round_s(job, self.workers(allocation), bandwidth)
        return self.ideal_s(job) / self.at_least_ideal(job, job.width, round_s)

    def rate(self, job: Active, gpu_type: int, gpus: int) -> float:
        """Return the rate on so many GPUs of one type, on few servers; 0 where it cannot run so."""
        name = self.cluster.gpu_types[gpu_type]
        if gpus > self.cluster.gpus_of(name):
            return 0.0
        round_s = self.round_s(job, [name] * gpus, self.best_bandwidth([name], gpus))
        return self.ideal_s(job) / self.at_least_ideal(job, gpus, round_s)

    def at_least_ideal(self, job: Active, gpus: int, round_s: float) -> float:
        """Return the seconds of a round, at the job's own width no fewer than the ideal."""
        return max(round_s, self.ideal_s(job)) if gpus == job.gpus else round_s

    def workers(self, allocation: Allocation) -> list[str]:
        """Return the type of each GPU."""
        return [
            self.cluster.types[server]
            for server, mask in allocation.items()
            for _ in range(mask.bit_count())
        ]

    def round_s(self, job: Active, workers: Sequence[str], bandwidth: float) -> float:
        """Return the seconds of a round; another order of operations would round in others."""
        samples = samples_of(job)
        workers = self.fastest_first(job, workers)
        rates = [samples.per_s[name] for name in workers]
        if 0.0 in rates:
            return math.inf
        parts = self.parts(samples, rates, [samples.most.get(name) or math.inf for name in workers])
        if parts is None:
            return math.inf
        slowest_s = max(part / rate for part, rate in zip(parts, rates, strict=True))
        if len(workers) == 1 or samples.gradient_bytes == 0:
            return slowest_s
        num_workers = float(len(workers))
        sent = 2.0 * (num_workers - 1.0) / num_workers * samples.gradient_bytes
        return slowest_s + sent / bandwidth

    def fastest_first(self, job: Active, names: Sequence[str]) -> list[str]:
        """Return names of types from the fastest on, among equals in the order of the cluster."""
        per_s, types = samples_of(job).per_s, self.cluster.gpu_types
        return sorted(names, key=lambda name: (-per_s[name], types.index(name)))

    def parts(
        self, samples: Samples, rates: Sequence[float], most: Sequence[float]
    ) -> Sequence[float] | None:
        """Return the samples of each worker."""
        if self.is_whole and self.is_equal:
            return whole_in_equal_parts(samples.batch, most)
        if self.is_whole:
            return whole_in_proportion(samples.batch, rates, most)
        if self.is_equal:
            return in_equal_parts(float(samples.batch), most)
        return in_proportion(float(samples.batch), rates, most)

    def ideal_s(self, job: Active) -> float:
        """Return the least seconds of a round at the job's own width.

        Either on the fastest GPUs that there are, with the best links, or on GPUs of one type.
        """
        names = [self.cluster.gpu_types[index] for index in self.cluster.allowed_types(job.job)]
        fastest = self.fastest_first(job, names)
        workers = [name for name in fastest for _ in range(self.cluster.gpus_of(name))][: job.gpus]
        candidates = [(workers, names)]
        candidates += [
            ([name] * job.gpus, [name]) for name in names if self.cluster.gpus_of(name) >= job.gpus
        ]
        return min(
            self.round_s(job, gpus, self.best_bandwidth(types, job.gpus))
            for gpus, types in candidates
        )

    def best_bandwidth(self, names: Sequence[str], gpus: int) -> float:
        """Return the bytes per second of the best ring on servers of these types."""
        if self.network is None:
            return math.inf
        servers = [server for server in self.cluster.sizes if self.cluster.types[server] in names]
        inside = max(self.network.intra(server) for server in servers)
        if gpus <= max(self.cluster.sizes[server] for server in servers):
            return inside
        return min(inside, max(self.network.nic(server) for server in servers))


def samples_of(job: Active) -> Samples:
    """Return the samples that every job has then."""
    if job.job.samples is None:
        raise ValueError("speed proportional: every job needs samples")
    return job.job.samples
