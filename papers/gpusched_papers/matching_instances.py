"""Instances of one decision: jobs of several speeds, and workers of several types."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gpusched_papers.study import Float64
from gpusched_papers.unequal_gpus import TYPES, throughputs

Counts = NDArray[np.int32]
"""Workers that each job holds of each column."""


@dataclass(frozen=True)
class Family:
    """Where instances come from.

    Attributes
    ----------
    name, title
        For files, and for people.
    types
        Names of the GPU types.
    """

    name: str
    title: str
    types: tuple[str, ...]


MEASURED: Final = Family("measured", "measured speeds, heavy-tailed rounds", tuple(TYPES))
"""Jobs are models of Gavel's tables; what they have left differs by orders of magnitude."""
DRAWN: Final = Family("drawn", "drawn speeds, 6 to 12 rounds", ("T4", "P100", "V100"))
"""Jobs differ little, and no two workers are alike."""
FAMILIES: Final = (MEASURED, DRAWN)

ROUND_S: Final = 60.0
"""Of a measured job: its round takes so long on one worker of its best type."""
MEDIAN_ROUNDS: Final = 10.0
SIGMA: Final = 2.0
"""Rounds of measured jobs are log-normal with this median and spread of the logarithm."""

BASE_RATE: Final = (300.0, 700.0, 1500.0)
JOB_FACTOR: Final = (0.8, 1.6)
NOISE: Final = 0.1
ROUNDS: Final = (6, 12)
ROUND_SAMPLES: Final = 1e5

GRADIENT_BYTES: Final = (10e6, 50e6)
BANDWIDTH_GBPS: Final = 10.0

DRAWS: Final = 59
# (S, K) whose optimum is proven; MAIN is searched by several samplers and N.
MAIN: Final = (4, 15)
SIZES: Final = ((3, 9), MAIN, (5, 20), (5, 24), (6, 24))
TIMED: Final = (MAIN, (5, 24), (6, 24), (8, 32))
ENUMERATED: Final = (MAIN, (5, 24))
SWEPT: Final = (1, 5, 10, 20, 40, 59, 100, 299)
COVERED: Final = ((4, 12), MAIN)
"""(S, K) on which it is counted how often uniform draws hold one of the best categories."""
BEST_PART: Final = 0.05
COVERED_DRAWS: Final = 50
"""Samples of ``DRAWS`` categories for each instance."""
# Jobs, workers of each of four types.
CLUSTERS: Final = ((8, 16), (16, 32), (32, 64), (64, 128))
LARGE_RATES: Final = (300.0, 700.0, 1500.0, 2200.0)

OURS: Final = "market, seeded"
UNIFORM: Final = "uniform draws"
UNIFORM_DESCENT: Final = "uniform draws + descent"
EQUAL_MARKET: Final = "equal share + market"


@dataclass(frozen=True)
class Instance:
    """One decision.

    Attributes
    ----------
    rates
        Samples per second, shape ``(jobs, columns)``.
    type_of_column
        Index into the names of the family's types.
    capacity
        Workers of each column.
    rounds, round_samples, gradient_bytes
        Of each job.
    """

    family: Family
    seed: int
    rates: Float64 = field(repr=False)
    type_of_column: NDArray[np.int64] = field(repr=False)
    capacity: Counts = field(repr=False)
    rounds: Float64 = field(repr=False)
    round_samples: Float64 = field(repr=False)
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
        left: Float64 = self.rounds * self.round_samples
        return left

    def arguments(self) -> dict[str, Any]:
        """The same as :func:`gpusched.deciding.place_jobs` takes it."""
        return {
            "rates": self.rates,
            "capacity": self.capacity,
            "rounds": self.rounds,
            "round_samples": self.round_samples,
            "gradient_bytes": self.gradient_bytes,
            "bandwidth_gbps": BANDWIDTH_GBPS,
        }

    def job_s(self, counts: Counts, split: str = "proportional") -> Float64:
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

    def mean_s(self, counts: Counts, split: str = "proportional") -> float:
        """Mean completion in seconds."""
        return float(self.job_s(counts, split).mean())


def draw(family: Family, num_jobs: int, num_workers: int, seed: int) -> Instance:
    """Draw an instance of a family; its columns are single workers.

    Raises
    ------
    ValueError
        If it takes measured speeds, and they are not there.
    """
    return (measured if family == MEASURED else drawn)(num_jobs, num_workers, seed)


def measured(num_jobs: int, num_workers: int, seed: int) -> Instance:
    """Draw models of Gavel's tables on one GPU each, and log-normal rounds."""
    random = np.random.Generator(np.random.PCG64([seed, num_jobs, num_workers, 1]))
    types = np.sort(random.integers(0, len(MEASURED.types), num_workers))
    speeds = _measured_speeds()
    of_job = speeds[random.integers(0, len(speeds), num_jobs)]
    left = MEDIAN_ROUNDS * np.exp(SIGMA * random.standard_normal(num_jobs))
    return Instance(
        family=MEASURED,
        seed=seed,
        rates=of_job[:, types],
        type_of_column=types.astype(np.int64),
        capacity=np.ones(num_workers, dtype=np.int32),
        rounds=np.ceil(left),
        round_samples=ROUND_S * of_job.max(axis=1),
        gradient_bytes=random.uniform(*GRADIENT_BYTES, num_jobs),
    )


@lru_cache(maxsize=1)
def _measured_speeds() -> Float64:
    """Return samples per second of every model on one GPU of each type."""
    tables = throughputs().values()
    return np.array([[model.samples_per_s[name] for name in MEASURED.types] for model in tables])


def drawn(num_jobs: int, num_workers: int, seed: int) -> Instance:
    """Draw an instance in which every worker has a speed of its own for every job."""
    random = np.random.Generator(np.random.PCG64([seed, num_jobs, num_workers]))
    types = np.sort(random.integers(0, len(DRAWN.types), num_workers))
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
    seed: int, random: np.random.Generator, rates: Float64, types: NDArray[np.int64], each: int
) -> Instance:
    num_jobs, num_columns = rates.shape
    return Instance(
        family=DRAWN,
        seed=seed,
        rates=rates,
        type_of_column=types.astype(np.int64),
        capacity=np.full(num_columns, each, dtype=np.int32),
        rounds=np.asarray(random.integers(ROUNDS[0], ROUNDS[1] + 1, num_jobs), dtype=np.float64),
        round_samples=np.full(num_jobs, ROUND_SAMPLES),
        gradient_bytes=np.asarray(random.uniform(*GRADIENT_BYTES, num_jobs)),
    )
