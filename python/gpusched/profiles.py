"""What an iteration of a job costs: gradient bytes, and compute time by GPU type."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np

from gpusched.arrays import AnyArray, Float64, Int32, Int64
from gpusched.figures import (
    PerType,
    allowed_but_lacking,
    check_distinct,
    not_negative,
    numbered,
    per_type,
)
from gpusched.network import check_name, check_positive

if TYPE_CHECKING:
    from gpusched.cluster import Cluster
    from gpusched.workload import Trace

_MAX_BYTES: Final = 1e15
_MAX_BATCH: Final = 1e9
_MAX_SECONDS: Final = 1e6


class JobProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One training iteration of a data-parallel model.

    A worker computes for ``forward_s * batch + backward_s`` seconds, which must be positive, and
    then exchanges ``gradient_bytes`` with the others.

    Attributes
    ----------
    name
        Of the model.
    gradient_bytes
        Bytes that each worker contributes to the all-reduce, 0 to 1e15.
    batch
        Samples per worker and iteration, more than 0.
    forward_s
        Seconds per sample: all compute that grows with the batch. One figure for every GPU type,
        or one per type by its name.
    backward_s
        Seconds per iteration: all compute that does not. In the same way; where both are given
        by type, for the same types.
    source
        Where the figures come from.

    Raises
    ------
    TypeError, ValueError
        If a value is of a wrong type or out of range; the message names profile and field.
    """

    name: str
    gradient_bytes: float
    batch: float
    forward_s: PerType
    backward_s: PerType
    source: str = ""

    def __post_init__(self) -> None:
        check_name("name", self.name)
        where = f"profile {self.name!r}: "
        batch = check_positive(f"{where}batch", self.batch, high=_MAX_BATCH)
        gradient = not_negative(f"{where}gradient_bytes", self.gradient_bytes, _MAX_BYTES)
        set_field = msgspec.structs.force_setattr
        set_field(self, "batch", batch)
        set_field(self, "gradient_bytes", gradient)
        for field in ("forward_s", "backward_s"):
            set_field(self, field, per_type(f"{where}{field}", getattr(self, field), _MAX_SECONDS))
        if isinstance(self.forward_s, dict) and isinstance(self.backward_s, dict):
            for given, other in (("forward_s", "backward_s"), ("backward_s", "forward_s")):
                missing = sorted(set(getattr(self, given)) - set(getattr(self, other)))
                if missing:
                    raise ValueError(f"{where}{other}: has no figure for GPU type {missing[0]!r}")
        for gpu_type in self.gpu_types or ("",):
            seconds = self.compute_s(gpu_type)
            if not seconds > 0:
                raise ValueError(
                    f"{where}forward_s * batch + backward_s: {seconds} must be positive"
                )

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """The GPU types that the profile has figures for; empty: one figure for every type."""
        for figures in (self.forward_s, self.backward_s):
            if isinstance(figures, dict):
                return tuple(figures)
        return ()

    def compute_s(self, gpu_type: str) -> float:
        """Return the compute seconds of an iteration on ``gpu_type``; NaN without a figure."""
        seconds = [
            figures.get(gpu_type, math.nan) if isinstance(figures, dict) else figures
            for figures in (self.forward_s, self.backward_s)
        ]
        return seconds[0] * self.batch + seconds[1]


AnyProfiles: TypeAlias = JobProfile | Sequence[JobProfile] | Mapping[str, JobProfile]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    profiles: tuple[JobProfile, ...]


def read_profiles(path: str | os.PathLike[str]) -> tuple[JobProfile, ...]:
    """Read a file of profiles: ``[[profiles]]`` tables in TOML, or the same in JSON (``.json``).

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is malformed, or a field is unknown, missing, of a wrong type or out of range; the
        message names the file and the path of the field.
    """
    source = Path(path)
    decode: Any = msgspec.json.decode if source.suffix == ".json" else msgspec.toml.decode
    try:
        read: _File = decode(source.read_bytes(), type=_File, strict=True)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"{source}: {error}") from None
    return known_profiles(read.profiles, where=f"{source}: ")


def known_profiles(profiles: AnyProfiles, *, where: str = "") -> tuple[JobProfile, ...]:
    """Return the profiles as a tuple; raise if there are none, or two of one name."""
    if isinstance(profiles, JobProfile):
        profiles = (profiles,)
    known = tuple(profiles.values() if isinstance(profiles, Mapping) else profiles)
    for profile in known:
        if not isinstance(profile, JobProfile):
            raise TypeError(f"{where}profiles: expected a JobProfile, not {profile!r}")
    check_distinct("profiles", [profile.name for profile in known], where)
    return known


def profile_index(values: Any, profiles: Sequence[JobProfile], num_rows: int) -> Int32:
    """Number one name, or one index, per row; errors as in :func:`gpusched.figures.numbered`."""
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
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed: expected an integer, not {seed!r}")
    if seed < 0:
        raise ValueError(f"seed: {seed} must not be negative")
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
    draws = np.random.Generator(np.random.PCG64(int(seed))).random(num_jobs) * ends[-1]
    index: Int32 = np.searchsorted(ends, draws, side="right").astype(np.int32)
    return index


def profile_columns(trace: Trace, cluster: Cluster) -> dict[str, AnyArray]:
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
    gradients = np.array([profile.gradient_bytes for profile in trace.profiles])
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
