"""How often uniform draws hold one of the best categories: by theory, and counted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.deciding.market import place_jobs
from gpusched_papers.matching.baselines import equal_shares
from gpusched_papers.matching.settings import BEST_PART, COVERED, COVERED_DRAWS, DRAWS, Family
from gpusched_papers.matching.workload import Instance, draw

# Every market is cleared to the end: what a category is worth is the same whoever looks at it.
_PLAIN: Final[dict[str, Any]] = {"guard": 0.0, "prune": False, "descend": False}
_SAME: Final = 1e-9


@dataclass(frozen=True)
class Coverage:
    """Uniform draws on one instance.

    Attributes
    ----------
    categories, best
        How many there are, and how many of them are among the best.
    is_open
        Whether equal shares, which every search begins with, are not among the best: else no draw
        is needed.
    samples, hits
        Samples of ``DRAWS`` categories, and those that held one of the best.
    """

    family: str
    seed: int
    jobs: int
    workers: int
    categories: int
    best: int
    is_open: bool
    samples: int
    hits: int


def theory(categories: int, draws: int = DRAWS, part: float = BEST_PART) -> float:
    """Return the chance that independent uniform draws hold one of the best categories.

    Of C categories the best part q are floor(q C). A draw misses them with probability
    1 - floor(q C) / C, all N draws with its N-th power. It tends to 1 - (1 - q)^N from below as C
    grows, and equals it where q C is whole.
    """
    return 1.0 - (1.0 - num_best(categories, part) / categories) ** draws


def num_best(categories: int, part: float = BEST_PART) -> int:
    """Return how many categories are the best part of all."""
    return int(part * categories + _SAME)


def values_of_all(instance: Instance) -> Float64:
    """Return the mean completion time of every category under its market, ascending."""
    jobs, workers = instance.num_jobs, instance.num_workers
    cuts = combinations(range(1, workers), jobs - 1)
    return np.sort([_value(instance, np.diff((0, *cut, workers))) for cut in cuts])


def coverage_of(family: Family, seed: int) -> list[Coverage]:
    """Count on one instance of each size."""
    return [count(draw(family, *size, seed), COVERED_DRAWS) for size in COVERED]


def count(instance: Instance, samples: int) -> Coverage:
    """Draw so many samples of ``DRAWS`` categories."""
    values = values_of_all(instance)
    best = num_best(len(values))
    least = values[best - 1] * (1 + _SAME)
    arguments = instance.arguments() | _PLAIN
    found = [
        place_jobs(**arguments, sampler="uniform", enumerate_up_to=0, draws=DRAWS, seed=sample)
        for sample in range(samples)
    ]
    return Coverage(
        family=instance.family.name,
        seed=instance.seed,
        jobs=instance.num_jobs,
        workers=instance.num_workers,
        categories=len(values),
        best=best,
        is_open=bool(_value(instance, equal_shares(instance)) > least),
        samples=samples,
        hits=sum(bool(instance.mean_s(one.counts) <= least) for one in found),
    )


def _value(instance: Instance, category: Any) -> float:
    found = place_jobs(**instance.arguments(), **_PLAIN, min_workers=category, max_workers=category)
    return instance.mean_s(found.counts)
