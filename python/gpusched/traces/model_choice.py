"""Assign profiles and graphs to jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from gpusched.base import draws
from gpusched.base.arrays import Float64, Int32, Int64
from gpusched.base.field_checks import not_negative, numbered
from gpusched.base.labels import Labels
from gpusched.model.job_graphs import JobGraph
from gpusched.model.profiles import AnyProfiles, JobProfile, filled_table, known_profiles

_BY_MODEL: Final = "by-model"
_UNIFORM: Final = "uniform"


def given_profiles(profile: Any, profiles: AnyProfiles, num_rows: int) -> dict[str, Any]:
    """Return the profiles, and each row's index into them."""
    known = known_profiles(profiles)
    if profile is None and len(known) > 1:
        raise ValueError(f"profile: missing; name one of the {len(known)} profiles for each job")
    values = np.zeros(num_rows, dtype=np.int32) if profile is None else profile
    index = numbered("profile", values, [model.name for model in known], num_rows)
    return {"profiles": known, "profile": index}


def drawn_index(
    num_profiles: int, num_jobs: int, seed: int, weights: Iterable[float] | None
) -> Int32:
    """Draw one index per job from NumPy's PCG64."""
    random = draws.generator(seed)
    shares: Float64 = np.ones(num_profiles)
    if weights is not None:
        given = list(weights)
        if len(given) != num_profiles:
            raise ValueError(f"weights: {len(given)} given for {num_profiles} profiles")
        shares = np.array(
            [not_negative(f"weights[{position}]", w, 1e9) for position, w in enumerate(given)]
        )
        if not shares.any():
            raise ValueError("weights: at least one must be positive")
    ends = np.cumsum(shares)
    drawn = random.random(num_jobs) * ends[-1]
    index: Int32 = np.searchsorted(ends, drawn, side="right").astype(np.int32)
    return index


def graph_index(values: Any, graphs: Sequence[JobGraph], gpus: Int32) -> Int32:
    """Return the graph index of each row of ``gpus``, from names or indices.

    None selects the one graph with as many replicas as the job has GPUs.
    """
    if values is not None:
        return numbered("graph", values, [graph.name for graph in graphs], len(gpus))
    of_width: dict[int, list[int]] = {}
    for position, graph in enumerate(graphs):
        of_width.setdefault(graph.gpus, []).append(position)
    widths, first, inverse = np.unique(gpus, return_index=True, return_inverse=True)
    for width, row in zip(widths.tolist(), first.tolist(), strict=True):
        fitting = of_width.get(width, [])
        if len(fitting) != 1:
            count = f"{len(fitting)} graphs have" if fitting else "no graph has"
            raise ValueError(f"row {row}, column 'graph': {count} {width} replicas")
    index: Int32 = np.array([of_width[width][0] for width in widths.tolist()], dtype=np.int32)
    return index[inverse]


def check_widths(graphs: Sequence[JobGraph], graph: Int32, gpus: Int32, row: Int64) -> None:
    """Raise ValueError naming job and graph if ``gpus`` differ from the graph's replicas."""
    widths = np.array([known.gpus for known in graphs], dtype=np.int64)
    wrong = np.flatnonzero(widths[graph] != gpus)
    if wrong.size:
        job = int(wrong[0])
        own = graphs[graph[job]]
        others = f" (also wrong for {wrong.size - 1:,} other jobs)" if wrong.size > 1 else ""
        raise ValueError(
            f"graph {own.name!r}: has {own.gpus} replicas, but job {job} (row {row[job]}) "
            f"has gpus {gpus[job]}{others}; they must be equal"
        )


def models_of_groups(
    models: Mapping[str, JobProfile],
    group: Labels | None,
    gpus: Int32,
    row: Int64,
    seed: int,
    choose: str,
) -> tuple[tuple[JobProfile, ...], Int32, int]:
    """Choose the profiles of :meth:`gpusched.Trace.with_throughputs`.

    The profiles, each job's index into them, and the number of jobs with a drawn profile.
    """
    if choose not in (_BY_MODEL, _UNIFORM):
        raise ValueError(f"choose: {choose!r} must be {_BY_MODEL!r} or {_UNIFORM!r}")
    seed = draws.check_seed(seed)
    if not isinstance(models, Mapping):
        raise TypeError(f"throughputs: expected profiles by model, not {models!r}")
    profiles = known_profiles(models)
    for profile in profiles:
        if not (profile.throughput or profile.samples_per_s):
            raise ValueError(f"throughputs: profile {profile.name!r} has no throughput")
    index = np.full(len(gpus), -1, dtype=np.int32)
    if choose == _BY_MODEL and group is not None:
        position = {name: number for number, name in enumerate(models)}
        of_name = np.array([position.get(name, -1) for name in group.names], dtype=np.int32)
        index = of_name[group.codes]
    left = np.flatnonzero(index < 0)
    number = draws.uniform(seed, draws.THROUGHPUTS, row[left])
    for width in np.unique(gpus[left]).tolist():
        # Draw among the models that can run on so many GPUs.
        fits = [place for place, profile in enumerate(profiles) if can_run(profile, width)]
        choices = np.array(fits or range(len(profiles)), dtype=np.int32)
        here = gpus[left] == width
        index[left[here]] = choices[(number[here] * len(choices)).astype(np.int64)]
    return profiles, index, len(left)


def can_run(profile: JobProfile, gpus: int) -> bool:
    """Whether the model has a figure for so many GPUs on some GPU type."""
    if profile.throughput:
        filled = filled_table(profile.throughput, [gpus])
        return any(curve[gpus] > 0 for curve in filled.values())
    return bool(profile.samples_per_s)
