"""Which job has which profile, and what the core reads of the profiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gpusched.base.arrays import Float64, Int32, Int64
from gpusched.base.draws import generator
from gpusched.base.field_checks import not_negative, numbered
from gpusched.model.profiles import AnyProfiles, JobProfile, known_profiles


def profile_index(values: Any, profiles: Sequence[JobProfile], num_rows: int) -> Int32:
    """Number one name, or one index, per row.

    Errors as of :func:`gpusched.base.field_checks.numbered`.
    """
    return numbered("profile", values, [profile.name for profile in profiles], num_rows)


def drawn_index(
    num_profiles: int, num_jobs: int, seed: int, weights: Iterable[float] | None
) -> Int32:
    """Draw one index per job from NumPy's PCG64.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, all are 0, or there is not one per profile.
    """
    random = generator(seed)
    shares: Float64 = np.ones(num_profiles)
    if weights is not None:
        given = list(weights)
        if len(given) != num_profiles:
            raise ValueError(f"weights: there are {len(given)}, for {num_profiles} profiles")
        shares = np.array(
            [not_negative(f"weights[{position}]", w, 1e9) for position, w in enumerate(given)]
        )
        if not shares.any():
            raise ValueError("weights: one must be positive")
    ends = np.cumsum(shares)
    draws = random.random(num_jobs) * ends[-1]
    index: Int32 = np.searchsorted(ends, draws, side="right").astype(np.int32)
    return index


def given_profiles(
    profile: Any, profiles: AnyProfiles, num_rows: int, kept: Int64
) -> dict[str, Any]:
    """Check the two arguments; the index is that of the ``kept`` rows in their order."""
    if profile is None and not isinstance(profiles, JobProfile) and not profiles:
        return {}
    known = known_profiles(profiles)
    if profile is None and len(known) > 1:
        raise ValueError(f"profile: is missing, one of {len(known)} profiles for each job")
    values = np.zeros(num_rows, dtype=np.int32) if profile is None else profile
    return {"profiles": known, "profile": profile_index(values, known, num_rows)[kept]}
