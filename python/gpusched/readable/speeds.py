"""How fast a job progresses where it runs, beside the others that run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from gpusched.readable.cluster_state import Cluster
from gpusched.readable.model import Active, Allocation, Profile
from gpusched.readable.network import Link, Network

Share = Callable[[float, int, int, int], float]
"""Of one ring on one link: from its bandwidth, the number of rings on it, and the GPUs behind it,
those of this ring and all of them, to bytes per second."""


def none(bandwidth: float, rings: int, own: int, behind: int) -> float:
    """All of it."""
    return bandwidth


def reserved(bandwidth: float, rings: int, own: int, behind: int) -> float:
    """A part for each GPU, whether others use theirs or not."""
    return bandwidth * (own / behind)


def shared(degradation: float = 0.0, scaling: float = 1.0) -> Share:
    """Return equal parts, smaller the more rings there are."""

    def share(bandwidth: float, rings: int, own: int, behind: int) -> float:
        crowd = max(1.0, scaling * rings)
        return bandwidth / (crowd + degradation * (crowd - 1.0))

    return share


class Speed(Protocol):
    """Rates are service per tick, above 1 only on more GPUs than the job's own."""

    is_fixed: bool
    is_elastic: bool
    """Whether jobs may run at other widths than their own."""

    def can_run(self, job: Active) -> bool:
        """Whether the job can run at its own width on the empty cluster."""

    def can_use(self, job: Active, allocation: Allocation) -> bool:
        """Whether the job can run on these GPUs."""

    def rates(self, running: Sequence[Active]) -> Iterable[tuple[Active, float]]:
        """Return the rates of running jobs, all of which are given; of others they stay."""

    def uncontended_rate(self, job: Active) -> float:
        """Return the rate of a running job if it had every link for itself."""


class Anywhere:
    """A job may run wherever its GPUs are, at its own width alone."""

    is_fixed = False
    is_elastic = False

    def can_run(self, job: Active) -> bool:
        """Return True: there is a figure for every type."""
        return True

    def can_use(self, job: Active, allocation: Allocation) -> bool:
        """Return True."""
        return True


class OnLinks(Anywhere):
    """Jobs are slower where others use their links."""

    network: Network
    share: Share

    def rates(self, running: Sequence[Active]) -> Iterable[tuple[Active, float]]:
        """Compare the least iteration time with the one beside all others."""
        links = [link for job in running for link in self.network.links(allocation_of(job))]
        return [(job, self.rate(job, self.share, links)) for job in running]

    def uncontended_rate(self, job: Active) -> float:
        """Compare the least iteration time with the one where this job is."""
        return self.rate(job, none, [])

    def rate(self, job: Active, share: Share, all_links: Sequence[Link]) -> float:
        """Return the rate where ``all_links`` has every link as often as jobs use it."""
        raise NotImplementedError


class Fixed(Anywhere):
    """Every job runs as fast wherever it is."""

    is_fixed = True

    def rates(self, running: Sequence[Active]) -> Iterable[tuple[Active, float]]:
        """Return whole ones: ticks of service are then counted exactly, however many they are."""
        return [(job, 1) for job in running if job.rate is None]

    def uncontended_rate(self, job: Active) -> float:
        """Return one."""
        return 1.0


class Ring(OnLinks):
    """Workers compute, then gradients travel around a ring as fast as its slowest link."""

    def __init__(
        self,
        cluster: Cluster,
        network: Network,
        share: Share,
        overhead_s: float = 0.0005,
        reduction_bytes_per_s: float = 3e11,
    ) -> None:
        self.cluster = cluster
        self.network = network
        self.share = share
        self.overhead_s = overhead_s
        self.reduction_bytes_per_s = reduction_bytes_per_s

    def rate(self, job: Active, share: Share, all_links: Sequence[Link]) -> float:
        """Return the rate where ``all_links`` has every link as often as rings use it."""
        allocation = allocation_of(job)
        bandwidth = slowest_link(self.network, self.cluster, allocation, share, all_links)
        profile = profile_of(job)
        compute = max(profile.compute_s(self.cluster.types[server]) for server in allocation)
        now_s = self.iteration_s(profile, job.gpus, len(allocation), bandwidth, compute)
        return self.ideal_s(job) / now_s

    def ideal_s(self, job: Active) -> float:
        """Return the least iteration time: on an empty cluster, few servers and the best links."""
        allowed = self.cluster.allowed_servers(job.job)
        sizes = sorted((self.cluster.sizes[server] for server in allowed), reverse=True)
        span = next(n for n in range(1, len(sizes) + 1) if sum(sizes[:n]) >= job.gpus)
        bandwidth = max(self.network.intra(server) for server in allowed)
        if span > 1:
            bandwidth = min(bandwidth, max(self.network.nic(server) for server in allowed))
        profile = profile_of(job)
        compute = min(profile.compute_s(self.cluster.types[server]) for server in allowed)
        return self.iteration_s(profile, job.gpus, span, bandwidth, compute)

    def iteration_s(
        self, profile: Profile, gpus: int, span: int, bandwidth: float, compute: float
    ) -> float:
        """Return the seconds of an iteration; another order of operations would round in others."""
        sent = profile.gradient_bytes * (gpus - 1) / gpus
        exchange = 2.0 * sent / bandwidth + sent / self.reduction_bytes_per_s
        return exchange + (self.overhead_s * span + compute)


def slowest_link(
    network: Network,
    cluster: Cluster,
    allocation: Allocation,
    share: Share,
    all_links: Sequence[Link],
) -> float:
    """Return the bytes per second of a ring; ``all_links`` has a link for every ring on it."""
    own = {server: mask.bit_count() for server, mask in allocation.items()}
    bandwidth = min(network.intra(server) for server in allocation)
    for link in network.links(allocation):
        behind = network.gpus_behind(link, cluster.sizes)
        mine = network.gpus_behind(link, own)
        part = share(network.bandwidth(link), all_links.count(link), mine, behind)
        bandwidth = min(bandwidth, part)
    return bandwidth


def allocation_of(job: Active) -> Allocation:
    """Return the GPUs of a running job."""
    assert job.allocation is not None
    return job.allocation


def profile_of(job: Active) -> Profile:
    """Return the profile that every job has then."""
    if job.job.profile is None:
        raise ValueError("speed ring: every job needs a profile")
    return job.job.profile


CONTENTIONS: dict[str, Callable[..., Share]] = {
    "none": lambda: none,
    "reserved": lambda: reserved,
    "shared": shared,
}
