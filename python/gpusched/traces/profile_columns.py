"""Which job has which profile, and what the core reads of the profiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int32, Int64
from gpusched.base.draws import generator
from gpusched.base.field_checks import not_negative, numbered
from gpusched.clusters.cluster import Cluster
from gpusched.models.profiles import COMPUTE, AnyProfiles, JobProfile, known_profiles
from gpusched.traces.missing_figures import allowed_but_lacking
from gpusched.traces.trace_columns import TraceColumns


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


def profile_columns(trace: TraceColumns, cluster: Cluster) -> dict[str, AnyArray]:
    """Return the profile columns of the core's job table, for the GPU types of ``cluster``.

    Returns
    -------
    dict
        ``profile`` int32[num_jobs]; ``gradient_bytes`` float64[num_profiles]; ``compute_s``
        float64[num_profiles x num_gpu_types], row by row, NaN where a profile has no figure.

    Raises
    ------
    ValueError
        If the trace has no profiles, or a job may run on a GPU type of the cluster for which its
        profile has no figure; the message names profile, field, type and job.
    """
    if trace.profile is None:
        raise ValueError(f"{trace.name}: the jobs have no profiles, see Trace.with_profiles")
    for position in np.unique(trace.profile).tolist():
        used = trace.profiles[position]
        if not used.has_compute:
            raise ValueError(
                f"profile {used.name!r}: has no {', '.join(COMPUTE)}, which speed 'ring' needs"
            )
    types = cluster.gpu_types
    compute = np.array([[p.compute_s(gpu_type) for gpu_type in types] for p in trace.profiles])
    found = allowed_but_lacking(trace, types, trace.profile, np.isnan(compute))
    if found is not None:
        job, position, others = found
        profile = trace.profiles[trace.profile[job]]
        field = "forward_s" if isinstance(profile.forward_s, dict) else "backward_s"
        raise ValueError(
            f"profile {profile.name!r}: {field} has no figure for GPU type "
            f"{types[position]!r}, on which job {job} (row {trace.row[job]}) "
            f"may run{others}; there are {', '.join(profile.gpu_types)}"
        )
    gradients = np.array([profile.gradient_bytes or 0.0 for profile in trace.profiles])
    return {
        "profile": trace.profile,
        "gradient_bytes": gradients,
        "compute_s": compute.reshape(-1),
    }


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
