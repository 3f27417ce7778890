"""Measured throughputs for the core, and which job has those of which model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from gpusched.base import draws
from gpusched.base.arrays import AnyArray, Float64, Int32, Int64
from gpusched.base.suggest import nearest
from gpusched.clusters.cluster import Cluster
from gpusched.models.profiles import JobProfile, known_profiles
from gpusched.models.throughput_tables import Curve, Table, filled_table, greatest_count
from gpusched.traces.trace_columns import TraceColumns

BY_MODEL: Final = "by-model"
UNIFORM: Final = "uniform"
_MODELS_DRAWN: Final = "profiles drawn from "


class Assigned(NamedTuple):
    """The profiles of a trace, the index of each job's, and how they were drawn."""

    profiles: tuple[JobProfile, ...]
    of_job: Int32
    said: tuple[str, ...]


def table_columns(trace: TraceColumns, cluster: Cluster) -> dict[str, AnyArray]:
    """Return what the speed ``table`` reads of each job, for the GPU types of ``cluster``.

    Returns
    -------
    dict
        ``profile`` int32[num_jobs]; ``table_counts`` int32[C], ascending: every number of GPUs
        that a profile has figures for on a type of the cluster; ``throughput`` and, if a profile
        has one, ``spread_throughput`` float64[num_profiles x num_gpu_types x C], row by row, 0
        where a model cannot run; ``gradient_bytes`` float64[num_profiles], 0 where not known.

    Raises
    ------
    ValueError
        If the trace has no profiles, a job's has no throughput, or none has a figure for a GPU
        type of the cluster.
    """
    used = _used(trace, cluster, "throughput", "table")
    types = cluster.gpu_types
    counts = sorted({n for p in used for t in types for n in p.throughput.get(t, ())})
    shape = (len(trace.profiles), len(types), len(counts))
    packed, spread = np.zeros(shape), np.zeros(shape)
    for position, profile in enumerate(trace.profiles):
        if not profile.throughput:
            continue  # no job has it
        tables = _both(profile, counts)
        for column, gpu_type in enumerate(types):
            if gpu_type in profile.throughput:
                for out, table in zip((packed, spread), tables, strict=True):
                    out[position, column] = [table[gpu_type][count] for count in counts]
    assert trace.profile is not None
    columns: dict[str, AnyArray] = {
        "profile": trace.profile,
        "gradient_bytes": _gradients(trace.profiles),
        "table_counts": np.array(counts, dtype=np.int32),
        "throughput": packed.reshape(-1),
    }
    if any(profile.spread_throughput for profile in used):
        columns["spread_throughput"] = spread.reshape(-1)
    return columns


def sample_columns(trace: TraceColumns, cluster: Cluster) -> dict[str, AnyArray]:
    """Return what the speed ``proportional`` reads of each job, for the types of ``cluster``.

    Returns
    -------
    dict
        ``profile`` int32[num_jobs]; ``gradient_bytes`` float64[num_profiles], 0 where not known;
        ``samples_per_s`` float64 and ``max_samples`` int64[num_profiles x num_gpu_types], row by
        row, 0 where a model cannot run, and where there is no limit; ``global_batch``
        int64[num_profiles].

    Raises
    ------
    ValueError
        If the trace has no profiles, a job's has no samples_per_s, or none has a figure for a GPU
        type of the cluster.
    """
    _used(trace, cluster, "samples_per_s", "proportional")
    types, profiles = cluster.gpu_types, trace.profiles
    assert trace.profile is not None
    rates = np.array([[p.samples_per_s.get(t, 0.0) for t in types] for p in profiles])
    limits = np.array([[p.max_samples.get(t, 0) for t in types] for p in profiles], dtype=np.int64)
    return {
        "profile": trace.profile,
        "gradient_bytes": _gradients(profiles),
        "samples_per_s": rates.reshape(-1),
        "max_samples": limits.reshape(-1),
        "global_batch": np.array([p.global_batch for p in profiles], dtype=np.int64),
    }


def types_of_own_width(
    trace: TraceColumns, cluster: Cluster, columns: Mapping[str, AnyArray], masks: Sequence[int]
) -> tuple[Int32 | None, list[int]]:
    """Keep of each job's allowed GPU types those that run its model at the job's own width.

    A job that none of them runs keeps all: the core rejects it, and says why.

    Parameters
    ----------
    columns
        What :func:`table_columns` or :func:`sample_columns` returned.
    masks
        A bit for each type of the cluster, of each of the trace's type sets.

    Returns
    -------
    tuple
        The index of each job's set, None if no job is restricted, and the masks of the sets.
    """
    num_types = len(cluster.gpu_types)
    everywhere = 2**64 - 1
    sets = np.zeros(len(trace), dtype=np.int64) if trace.type_set is None else trace.type_set
    given = [everywhere] if trace.type_set is None else list(masks)
    assert trace.profile is not None
    widest = int(trace.gpus.max()) + 1
    code = (trace.profile.astype(np.int64) * len(given) + sets) * widest + trace.gpus
    kinds, of_job = np.unique(code, return_inverse=True)
    number: dict[int, int] = {}
    index = np.empty(len(kinds), dtype=np.int32)
    for place, kind in enumerate(kinds.tolist()):
        model_and_set, gpus = divmod(kind, widest)
        profile, allowed = divmod(model_and_set, len(given))
        runs = sum(1 << t for t in range(num_types) if _runs(columns, num_types, profile, t, gpus))
        every = runs == (1 << num_types) - 1
        mask = given[allowed] if every else (given[allowed] & runs) or given[allowed]
        index[place] = number.setdefault(mask, len(number))
    if list(number) == [everywhere]:
        return None, []
    return index[of_job], list(number)


def _runs(
    columns: Mapping[str, AnyArray], num_types: int, profile: int, gpu_type: int, gpus: int
) -> bool:
    """Whether the core has a positive figure for so many GPUs of the type, and memory for it."""
    row = profile * num_types + gpu_type
    if "samples_per_s" in columns:
        most = columns["max_samples"][row]
        fits = most == 0 or most * gpus >= columns["global_batch"][profile]
        return bool(fits and columns["samples_per_s"][row] > 0)
    counts = columns["table_counts"]
    figures = columns["throughput"][row * len(counts) : (row + 1) * len(counts)]
    above = int(np.searchsorted(counts, gpus))
    if above == len(counts):
        return False
    below = above if counts[above] == gpus else above - 1
    return bool(below >= 0 and figures[below] > 0 and figures[above] > 0)


def _used(trace: TraceColumns, cluster: Cluster, field: str, speed: str) -> list[JobProfile]:
    """Return the profiles that jobs have: all with ``field``, one for a type of the cluster."""
    if trace.profile is None:
        raise ValueError(f"{trace.name}: the jobs have no profiles, see Trace.with_throughputs")
    used = [trace.profiles[position] for position in np.unique(trace.profile).tolist()]
    for profile in used:
        if not getattr(profile, field):
            raise ValueError(f"profile {profile.name!r}: has no {field}, which {speed!r} needs")
    known = list(dict.fromkeys(gpu_type for p in used for gpu_type in getattr(p, field)))
    if not set(known) & set(cluster.gpu_types):
        raise ValueError(
            f"cluster: no profile has a {field} for GPU type {cluster.gpu_types[0]!r}"
            f"{nearest(cluster.gpu_types[0], known)}"
        )
    return used


def _gradients(profiles: Sequence[JobProfile]) -> Float64:
    return np.array([profile.gradient_bytes or 0.0 for profile in profiles])


def _both(profile: JobProfile, counts: Sequence[int]) -> tuple[Table, Table]:
    """Return the figures for close and for spread GPUs at each of ``counts``."""
    packed = filled_table(profile.throughput, counts)
    if not profile.spread_throughput:
        return packed, packed
    # What is known of spread GPUs stands; the rest is never better than close together.
    known = profile.spread_throughput
    spread = filled_table(known, counts, greatest_count(profile.throughput))
    return packed, {
        gpu_type: {
            count: _spread(known.get(gpu_type, {}), spread.get(gpu_type, {}), count, figure)
            for count, figure in curve.items()
        }
        for gpu_type, curve in packed.items()
    }


def _spread(known: Curve, filled: Curve, count: int, packed: float) -> float:
    if count in known:
        return known[count]
    if not known or count < min(known):
        return packed
    return min(packed, filled.get(count, packed))


def can_run(profile: JobProfile, gpus: int) -> bool:
    """Return whether some GPU type is known to run the model on so many GPUs."""
    if profile.throughput:
        filled = filled_table(profile.throughput, [gpus])
        return any(curve[gpus] > 0 for curve in filled.values())
    return bool(profile.samples_per_s)


def assign_models(
    trace: TraceColumns, models: Mapping[str, JobProfile], seed: int, choose: str
) -> Assigned:
    """Return the profiles of :meth:`gpusched.Trace.with_throughputs`."""
    if choose not in (BY_MODEL, UNIFORM):
        raise ValueError(f"choose: {choose!r} must be {BY_MODEL!r} or {UNIFORM!r}")
    seed = draws.check_seed(seed)
    if not isinstance(models, Mapping):
        raise TypeError(f"throughputs: expected profiles by model, not {models!r}")
    profiles = known_profiles(models)
    for profile in profiles:
        if not (profile.throughput or profile.samples_per_s):
            raise ValueError(f"throughputs: profile {profile.name!r} has no throughput")
    index = np.full(len(trace), -1, dtype=np.int32)
    if choose == BY_MODEL and trace.group is not None:
        position = {name: number for number, name in enumerate(models)}
        of_name = np.array([position.get(name, -1) for name in trace.group.names], dtype=np.int32)
        index = of_name[trace.group.codes]
    left = np.flatnonzero(index < 0).astype(np.int64)
    if not left.size:
        return Assigned(profiles, index, ())
    index[left] = _drawn(trace, profiles, seed, left)
    jobs = "" if left.size == len(trace) else f" for {left.size:,} jobs of other groups"
    said = f"{_MODELS_DRAWN}{len(profiles)} models{jobs} (seed {seed})"
    return Assigned(profiles, index, (said,))


def _drawn(trace: TraceColumns, profiles: Sequence[JobProfile], seed: int, jobs: Int64) -> Int32:
    """Draw a profile for each of ``jobs`` among those that can run at its width."""
    number = draws.uniform(seed, draws.THROUGHPUTS, trace.row[jobs])
    gpus = trace.gpus[jobs]
    index = np.empty(len(jobs), dtype=np.int32)
    for width in np.unique(gpus).tolist():
        fits = [place for place, profile in enumerate(profiles) if can_run(profile, width)]
        choices = np.array(fits or range(len(profiles)), dtype=np.int32)
        here = gpus == width
        index[here] = choices[(number[here] * len(choices)).astype(np.int64)]
    return index
