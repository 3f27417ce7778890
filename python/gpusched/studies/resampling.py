"""Resamples of small samples: the same draws for every row, so that thousands are one product."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64

NUM_RESAMPLES: Final = 9_999
_LEAST_RESAMPLES: Final = 999
# Weights that are kept, and cells of one product: 32 MB each at most.
_MOST_KEPT: Final = 2**20
_MOST_CELLS: Final = 2**22
_MOST_DRAWS: Final = 20_000_000


def enough_resamples(size: int) -> int:
    """Resamples of so many values that take no longer than a second or two."""
    return max(_LEAST_RESAMPLES, min(NUM_RESAMPLES, _MOST_DRAWS // max(1, size)))


def resampled_means(columns: Float64, num_resamples: int, seed: int) -> Float64:
    """Means of bootstrap resamples.

    Parameters
    ----------
    columns
        Columns that are resampled together, of shape (columns, experiments, n).
    num_resamples
        Resamples of each experiment; all take the same draws.
    seed
        Of the draws, which depend on it, on n and on ``num_resamples`` alone.

    Returns
    -------
    ndarray
        Of shape (columns, experiments, num_resamples).
    """
    size = columns.shape[-1]
    if size * num_resamples <= _MOST_KEPT:
        return columns @ _weights(size, num_resamples, seed).T
    made = np.empty((*columns.shape[:-1], num_resamples))
    start = 0
    for weights in _weights_in_parts(size, num_resamples, seed):
        made[..., start : start + len(weights)] = columns @ weights.T
        start += len(weights)
    return made


def parts(num_experiments: int, num_resamples: int) -> Iterator[slice]:
    """Slices of the experiments, each of which fits into memory with its resamples."""
    step = max(1, _MOST_CELLS // max(1, num_resamples))
    for start in range(0, num_experiments, step):
        yield slice(start, start + step)


@lru_cache(maxsize=8)
def _weights(size: int, num_resamples: int, seed: int) -> Float64:
    return np.concatenate(list(_weights_in_parts(size, num_resamples, seed)))


def _weights_in_parts(size: int, num_resamples: int, seed: int) -> Iterator[Float64]:
    """How often each value is drawn, over the number of draws: a row for each resample."""
    random = np.random.Generator(np.random.PCG64(seed))
    step = max(1, _MOST_KEPT // size)
    for start in range(0, num_resamples, step):
        num = min(step, num_resamples - start)
        drawn = random.integers(0, size, (num, size)) + size * np.arange(num)[:, None]
        yield np.bincount(drawn.ravel(), minlength=num * size).reshape(num, size) / size
