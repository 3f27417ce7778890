"""What is decided: families of instances, their sizes, and the ways to decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpusched_papers import unequal_gpus


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


MEASURED: Final = Family(
    "measured", "measured speeds, heavy-tailed rounds", tuple(unequal_gpus.TYPES)
)
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
