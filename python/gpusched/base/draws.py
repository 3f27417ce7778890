"""Random numbers that depend only on (seed, stream, row), as in the core."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import Float64, Int64

DEADLINES: Final = 101
HAS_DEADLINE: Final = 102
THROUGHPUTS: Final = 103
ARRIVALS: Final = 104
SAMPLES: Final = 105
"""Streams of workloads; those of the core are below 100."""
FAILURES: Final = 32
"""Stream of drawn failures."""

_GOLDEN: Final = 0x9E3779B97F4A7C15
_WORD: Final = 2**64


def check_seed(seed: Any) -> int:
    """Return ``seed`` as an int; raise unless it is an integer in 0..2**64 - 1."""
    whole = _integer(seed)
    if not 0 <= whole < _WORD:
        raise ValueError(f"seed: {seed} must lie between 0 and 2**64 - 1")
    return whole


def generator(seed: Any) -> np.random.Generator:
    """Return NumPy's PCG64; raise unless ``seed`` is an integer of 0 or more."""
    whole = _integer(seed)
    if whole < 0:
        raise ValueError(f"seed: {seed} must not be negative")
    return np.random.Generator(np.random.PCG64(whole))


def _integer(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed: expected an integer, not {seed!r}")
    return int(seed)


def uniform(seed: int, stream: int, rows: Int64, counter: int = 0) -> Float64:
    """Draw one number in [0, 1) with 53 bits for each of ``rows``.

    The same row draws the same number in any selection of rows. This is the counter-based
    generator of the core (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
    """
    state = _mix((seed + _GOLDEN) % _WORD)
    state = _mix((state + stream * _GOLDEN + _GOLDEN) % _WORD)
    state = (state + _GOLDEN) % _WORD
    bits = _mixed(rows.astype(np.uint64) * np.uint64(_GOLDEN) + np.uint64(state))
    bits = _mixed(bits + np.uint64((counter + 1) * _GOLDEN % _WORD))
    numbers: Float64 = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return numbers


def _mix(word: int) -> int:
    return int(_mixed(np.array([word], dtype=np.uint64))[0])


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
