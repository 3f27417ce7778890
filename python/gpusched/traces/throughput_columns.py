"""Measured throughputs for the core, and which job has those of which model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from gpusched.base import draws
from gpusched.base.arrays import AnyArray, Int32, Int64
from gpusched.model.cluster import Cluster
from gpusched.model.profiles import (
    Curve,
    JobProfile,
    Table,
    filled_table,
    greatest_count,
    known_profiles,
)
from gpusched.traces.trace_columns import TraceColumns

BY_MODEL: Final = "by-model"
UNIFORM: Final = "uniform"
_MODELS_DRAWN: Final = "profiles drawn from "


class Assigned(NamedTuple):
    """The profiles of a trace, the index of each job's, and how they were drawn."""

    profiles: tuple[JobProfile, ...]
    of_job: Int32
    said: tuple[str, ...]


def types_of_own_width(
    trace: TraceColumns, cluster: Cluster, columns: Mapping[str, AnyArray], masks: Sequence[int]
) -> tuple[Int32 | None, list[int]]:
    """Keep of each job's allowed GPU types those that run its model at the job's own width.

    A job that none of them runs keeps all: the core rejects it, and says why.

    Parameters
    ----------
    columns
        What :func:`~gpusched.traces.model_columns.model_columns` returned.
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
        most = columns["max_samples"][row] if "max_samples" in columns else 0
        fits = most == 0 or most * gpus >= columns["global_batch"][profile]
        return bool(fits and columns["samples_per_s"][row] > 0)
    counts = columns["table_counts"]
    rates = columns["throughput"][row * len(counts) : (row + 1) * len(counts)]
    above = int(np.searchsorted(counts, gpus))
    if above == len(counts):
        return False
    below = above if counts[above] == gpus else above - 1
    return bool(below >= 0 and rates[below] > 0 and rates[above] > 0)


def packed_and_spread(profile: JobProfile, counts: Sequence[int]) -> tuple[Table, Table]:
    """Return the figures for close and for spread GPUs at each of ``counts``."""
    packed = filled_table(profile.throughput, counts)
    if not profile.spread_throughput:
        return packed, packed
    # What is known of spread GPUs stands; the rest is never better than close together.
    known = profile.spread_throughput
    spread = filled_table(known, counts, greatest_count(profile.throughput))
    return packed, {
        gpu_type: {
            count: _spread(known.get(gpu_type, {}), spread.get(gpu_type, {}), count, rate)
            for count, rate in curve.items()
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
