"""Seconds per iteration that a job can meet on an empty cluster: a bound, a good one, the worst."""

from __future__ import annotations

from gpusched.readable.model import Active, Allocation
from gpusched.readable.placements import Placer
from gpusched.readable.speeds import Ring, Speed, profile_of
from gpusched.readable.stages import Stages


def limits(speed: Speed, job: Active) -> tuple[float, float, float]:
    """Return the least that could be, what heavy-edge gives, and the most."""
    if isinstance(speed, Ring):
        low = speed.ideal_s(job)
        return low, low, worst_ring_s(speed, job)
    if isinstance(speed, Stages):
        placer = Placer("heavy-edge", {}, speed.cluster, 0, speed)
        allocation = placer.place(job, speed.cluster.idle())
        assert allocation is not None
        least = speed.placed_s(job, allocation, placer.ranks(job, allocation))
        return speed.low(job), least, max(speed.high(job), least)
    return 1.0, 1.0, 1.0


def stretch(speed: Speed, job: Active) -> float:
    """Return how much longer than its service a job runs where heavy-edge puts it."""
    low, least, _ = limits(speed, job)
    return least / low


def placed_s(speed: Speed, job: Active, allocation: Allocation, ranks: list[int]) -> float:
    """Return the seconds of an iteration where each GPU owns an equal part of its links."""
    if isinstance(speed, Stages):
        return speed.placed_s(job, allocation, ranks)
    assert isinstance(speed, Ring)
    own = {server: mask.bit_count() for server, mask in allocation.items()}
    bandwidth = min(speed.network.intra(server) for server in allocation)
    for link in speed.network.links(allocation):
        part = speed.network.gpus_behind(link, own) / behind(speed, link)
        bandwidth = min(bandwidth, speed.network.bandwidth(link) * part)
    profile = profile_of(job)
    compute = max(profile.compute_s(speed.cluster.types[server]) for server in allocation)
    return speed.iteration_s(profile, job.gpus, len(allocation), bandwidth, compute)


def worst_ring_s(speed: Ring, job: Active) -> float:
    """Return the seconds of an iteration with every worker alone on the worst server."""
    network = speed.network
    allowed = speed.cluster.allowed_servers(job.job)
    profile = profile_of(job)
    compute = max(profile.compute_s(speed.cluster.types[server]) for server in allowed)
    if job.gpus == 1:
        return speed.iteration_s(profile, 1, 1, network.intra(allowed[0]), compute)
    worst = min(network.intra(server) for server in allowed)
    uplinks = [("uplink", d) for d, up in enumerate(network.domain_parent) if up is not None]
    for link in [("nic", server) for server in allowed] + uplinks:
        if any(network.is_behind(server, link) for server in allowed):
            worst = min(worst, network.bandwidth(link) / behind(speed, link))
    return speed.iteration_s(profile, job.gpus, job.gpus, worst, compute)


def behind(speed: Ring, link: tuple[str, int]) -> int:
    """Return all GPUs behind a link."""
    return speed.network.gpus_behind(link, speed.cluster.sizes)
