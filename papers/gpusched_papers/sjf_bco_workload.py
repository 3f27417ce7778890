"""The workload of Yu et al. (MobiHoc 2022): what they publish, and our calibration of the rest."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from gpusched.models import JobProfile
from gpusched_papers.study import Float64

JOBS_OF_WIDTH: Final = {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2}
ITERATIONS: Final = (1000.0, 6000.0)
ITERATION_S: Final = (0.01, 0.05)
SERVICE_S: Final = (50.0, 300.0)
SERVER_GPUS: Final = (4, 8, 16, 32)
_BATCH: Final = 32
_FORWARD_PART: Final = 1 / 3  # of the compute time; the ring does not care


@dataclass(frozen=True)
class Calibration:
    """What the paper does not publish; one slot is one second.

    Attributes
    ----------
    nic_gbps, intra_gbps
        ``be`` and ``bi``, Gbit/s.
    reduction_bytes_per_s
        ``C``.
    ring_share
        Part of a gang's iteration time that its ring would take over idle network cards. It sets
        the gradient: ``m = ring_share * tau * be * w / (2 (w - 1))``.
    overhead_s
        ``xi2``, seconds per server that a job spans.
    scaling, degradation
        ``xi1`` and ``a`` of the contention.
    """

    nic_gbps: float = 100.0
    intra_gbps: float = 2400.0
    reduction_bytes_per_s: float = 3e11
    ring_share: float = 0.025
    overhead_s: float = 1.8e-4
    scaling: float = 1.0
    degradation: float = 0.08

    @property
    def speed(self) -> str:
        """The speed model in the form that :func:`gpusched.simulate` takes."""
        return (
            f"ring:overhead_s={self.overhead_s!r},"
            f"reduction_bytes_per_s={self.reduction_bytes_per_s!r}"
        )

    @property
    def contention(self) -> str:
        """The contention model in the same form."""
        return f"shared:degradation={self.degradation!r},scaling={self.scaling!r}"


CALIBRATION: Final = Calibration()


@dataclass(frozen=True)
class Instance:
    """One random instance: the same for every policy."""

    seed: int
    trace: gs.Trace
    cluster: gs.Cluster
    gradient_bytes: Float64
    iteration_s: Float64

    @property
    def num_servers(self) -> int:
        """Number of servers."""
        return self.cluster.num_servers


def instance(seed: int, num_servers: int, calibration: Calibration) -> Instance:
    """Draw jobs and servers.

    Iterations and iteration time are uniform in their published ranges, drawn again until their
    product lies in the published range of service times. The jobs come in random order. Fewer
    servers are the first ones of more, and the jobs are the same, so that instances of one seed
    can be compared across numbers of servers.

    Parameters
    ----------
    seed
        Of the jobs, and with another stream of the servers.
    num_servers
        Number of servers, each with a number of GPUs uniform in {4, 8, 16, 32}.
    """
    jobs, servers = (
        np.random.Generator(np.random.PCG64(stream))
        for stream in np.random.SeedSequence(seed).spawn(2)
    )
    gpus = jobs.permutation(np.repeat(list(JOBS_OF_WIDTH), list(JOBS_OF_WIDTH.values())))
    iterations, iteration_s = _lengths(jobs, len(gpus))
    sizes = servers.choice(SERVER_GPUS, size=num_servers)
    while sizes.sum() < max(JOBS_OF_WIDTH):  # too small for the widest job
        sizes = servers.choice(SERVER_GPUS, size=num_servers)
    return build(seed, gpus, iterations, iteration_s, sizes, calibration)


def build(
    seed: int,
    gpus: NDArray[np.int64],
    iterations: Float64,
    iteration_s: Float64,
    server_gpus: NDArray[np.int64],
    calibration: Calibration,
) -> Instance:
    """Make trace and cluster so that each job has its iteration time on the empty cluster."""
    cluster = gs.Cluster(
        tuple(
            gs.ServerGroup(
                1, int(size), nic_gbps=calibration.nic_gbps, intra_gbps=calibration.intra_gbps
            )
            for size in server_gpus
        ),
        name=f"{len(server_gpus)} servers, seed {seed}",
    )
    gradient_bytes, compute_s = _profile_numbers(gpus, iteration_s, server_gpus, calibration)
    profiles = tuple(
        JobProfile(
            name=f"job-{job}",
            gradient_bytes=float(gradient_bytes[job]),
            batch=_BATCH,
            forward_s=float(compute_s[job]) * _FORWARD_PART / _BATCH,
            backward_s=float(compute_s[job]) * (1 - _FORWARD_PART),
        )
        for job in range(len(gpus))
    )
    trace = gs.Trace.from_columns(
        submit_s=np.zeros(len(gpus)),
        service_s=iterations * iteration_s,
        gpus=gpus,
        profile=np.arange(len(gpus)),
        profiles=profiles,
        name="sjf-bco",
    )
    trace = dataclasses.replace(trace, source=f"sjf-bco workload, seed {seed}")
    return Instance(seed, trace, cluster, gradient_bytes, iteration_s)


def _lengths(random: np.random.Generator, count: int) -> tuple[Float64, Float64]:
    """Iterations and iteration times whose products are in the range of service times."""
    iterations, iteration_s = np.empty(count), np.empty(count)
    missing = np.ones(count, dtype=bool)
    while missing.any():
        iterations[missing] = random.uniform(*ITERATIONS, size=np.count_nonzero(missing))
        iteration_s[missing] = random.uniform(*ITERATION_S, size=np.count_nonzero(missing))
        service_s = iterations * iteration_s
        missing = (service_s < SERVICE_S[0]) | (service_s > SERVICE_S[1])
    return iterations, iteration_s


def _profile_numbers(
    gpus: NDArray[np.int64],
    iteration_s: Float64,
    sizes: NDArray[np.int64],
    calibration: Calibration,
) -> tuple[Float64, Float64]:
    """Gradient bytes, and what is left for computing in an iteration on the empty cluster."""
    nic, intra = calibration.nic_gbps * 1e9 / 8, calibration.intra_gbps * 1e9 / 8
    ring = np.maximum(gpus, 2)  # a job of one GPU has a gradient, too, but sends nothing
    gradient = calibration.ring_share * iteration_s * nic * ring / (2 * (ring - 1))
    largest_first = np.cumsum(np.sort(sizes)[::-1])
    span = np.searchsorted(largest_first, gpus) + 1
    moved = gradient * (gpus - 1) / gpus
    sent_s = 2 * moved / np.where(span == 1, intra, min(nic, intra))
    reduced_s = moved / calibration.reduction_bytes_per_s
    compute_s = iteration_s - sent_s - reduced_s - calibration.overhead_s * span
    return gradient, compute_s
