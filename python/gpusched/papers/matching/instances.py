"""Instances of ours: jobs of several speeds, workers of three types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Float64, Int32, Int64

TYPES: Final = ("T4", "P100", "V100")
BASE_RATE: Final = (300.0, 700.0, 1500.0)
JOB_FACTOR: Final = (0.8, 1.6)
NOISE: Final = 0.1
ROUNDS: Final = (6, 12)
ROUND_SAMPLES: Final = 1e5
GRADIENT_BYTES: Final = (10e6, 50e6)
BANDWIDTH_GBPS: Final = 10.0


@dataclass(frozen=True)
class Instance:
    """One decision.

    Attributes
    ----------
    rates
        Samples per second, shape ``(jobs, columns)``.
    type_of_column
        Index into the names of the types.
    capacity
        Workers of each column.
    rounds, gradient_bytes
        Of each job.
    """

    seed: int
    rates: Float64 = field(repr=False)
    type_of_column: Int64 = field(repr=False)
    capacity: Int32 = field(repr=False)
    rounds: Float64 = field(repr=False)
    gradient_bytes: Float64 = field(repr=False)

    @property
    def num_jobs(self) -> int:
        """S."""
        return len(self.rates)

    @property
    def num_workers(self) -> int:
        """K."""
        return int(self.capacity.sum())

    @property
    def work(self) -> Float64:
        """Samples that each job has left."""
        left: Float64 = self.rounds * ROUND_SAMPLES
        return left

    def arguments(self) -> dict[str, Any]:
        """The same as :func:`gpusched.deciding.place_jobs` takes it."""
        return {
            "rates": self.rates,
            "capacity": self.capacity,
            "rounds": self.rounds,
            "round_samples": ROUND_SAMPLES,
            "gradient_bytes": self.gradient_bytes,
            "bandwidth_gbps": BANDWIDTH_GBPS,
        }

    def job_s(self, counts: Int32, split: str = "proportional") -> Float64:
        """Completion of each job in seconds; infinite without workers.

        A plain twin of the core's, to judge all decisions alike.
        """
        workers = counts.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            if split == "proportional":
                compute = self.work / (counts * self.rates).sum(axis=1)
            else:
                slowest = np.where(counts > 0, self.rates, np.inf).min(axis=1)
                compute = self.work / (workers * slowest)
            bytes_per_s = BANDWIDTH_GBPS * 1e9 / 8
            ring = 2.0 * (workers - 1) / workers * self.gradient_bytes / bytes_per_s
        seconds: Float64 = np.where(workers > 0, compute + self.rounds * ring, np.inf)
        return seconds

    def mean_s(self, counts: Int32, split: str = "proportional") -> float:
        """Mean completion in seconds."""
        return float(self.job_s(counts, split).mean())


def draw(num_jobs: int, num_workers: int, seed: int) -> Instance:
    """Draw an instance in which every worker has a speed of its own for every job."""
    random = np.random.Generator(np.random.PCG64([seed, num_jobs, num_workers]))
    types = np.sort(random.integers(0, len(TYPES), num_workers))
    factor = random.uniform(*JOB_FACTOR, num_jobs)
    noise = random.uniform(1 - NOISE, 1 + NOISE, (num_jobs, num_workers))
    return _drawn(seed, random, np.asarray(BASE_RATE)[types] * factor[:, None] * noise, types, 1)


def draw_classes(
    num_jobs: int, per_type: int, seed: int, base_rate: tuple[float, ...] = BASE_RATE
) -> Instance:
    """Draw an instance in which the workers of a type are equal."""
    num_types = len(base_rate)
    random = np.random.Generator(np.random.PCG64([seed, num_jobs, per_type, num_types]))
    factor = random.uniform(*JOB_FACTOR, num_jobs)
    noise = random.uniform(1 - NOISE, 1 + NOISE, (num_jobs, num_types))
    rates = np.asarray(base_rate) * factor[:, None] * noise
    return _drawn(seed, random, rates, np.arange(num_types), per_type)


def _drawn(
    seed: int, random: np.random.Generator, rates: Float64, types: Int64, each: int
) -> Instance:
    num_jobs, num_columns = rates.shape
    return Instance(
        seed=seed,
        rates=rates,
        type_of_column=types.astype(np.int64),
        capacity=np.full(num_columns, each, dtype=np.int32),
        rounds=np.asarray(random.integers(ROUNDS[0], ROUNDS[1] + 1, num_jobs), dtype=np.float64),
        gradient_bytes=np.asarray(random.uniform(*GRADIENT_BYTES, num_jobs)),
    )
