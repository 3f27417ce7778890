"""Gives the jobs of a trace graphs out of a zoo of models, and tells what came out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int32, Int64
from gpusched.base.draws import generator
from gpusched.base.field_checks import not_negative
from gpusched.base.suggest import nearest
from gpusched.clusters.cluster import Cluster
from gpusched.generator.graph_kinds import Kinds, limits_of
from gpusched.models.graph_models import MODELS, graph_for
from gpusched.plugins.policy import SpeedChoice
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.workload import GRAPHS_DRAWN, Trace

if TYPE_CHECKING:
    import polars

__all__ = ["MODELS", "assign_graphs", "describe_graphs", "graph_for"]

HEAVY: Final = 1.5
_MAX_ACCUMULATION: Final = 64


def assign_graphs(
    trace: Trace,
    cluster: Cluster,
    *,
    heavy_share: float | None = None,
    seed: int = 0,
    zoo: Sequence[str] | Mapping[str, float] | None = None,
    speed: str | SpeedChoice = "stages",
    heavy: float = HEAVY,
    keep_service: bool = False,
) -> Trace:
    """Return the same jobs, each with a graph of a model for its number of GPUs.

    The run times of a trace are taken for those under heavy-edge placement on the empty cluster:
    a job of d seconds has ``n = d / amin`` iterations, and its service, the run time at the least
    iteration time ``alow`` that no placement beats, becomes ``n * alow``. Estimates are scaled in
    the same way.

    Jobs of one (user, group) draw one number, so that recurring jobs of one width have one graph;
    without groups each job draws its own.

    Parameters
    ----------
    cluster
        On which ``alow``, ``amin`` and ``amax`` are found.
    heavy_share
        Share of the jobs with more than one GPU that communicate heavily, 0 to 1, met to one job
        (so that one group may be of both kinds). A model that is heavy by itself accumulates the
        gradients of 2, 4, ... 64 batches, as few as make it light, where a light one is wanted.
        None: as it comes, without accumulation.
    seed
        Of the draw, 0 or more.
    zoo
        Names out of ``MODELS``, or a weight for each; None: all with equal weights.
    speed
        ``stages``, with parameters.
    heavy
        A job communicates heavily if ``amax / amin`` is at least this.
    keep_service
        Leave service and estimates as they are: they then are run times at ``alow``.

    Returns
    -------
    Trace
        Its ``source`` tells the draw and the share of heavy jobs.

    Raises
    ------
    ValueError
        If a name or a value is wrong, the jobs have graphs already (their service then is no run
        time any more), the share cannot be reached, or the cluster lacks a bandwidth.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(2, 8).with_bandwidth(nic_gbps=25, intra_gbps=400)
    >>> trace = gs.Trace.from_columns([0, 1], [60, 60], [4, 8])
    >>> trace = gs.generator.assign_graphs(trace, cluster, seed=1)
    >>> trace.graph is None
    False
    """
    if trace.graph is not None and not keep_service:
        raise ValueError(
            f"{trace.name}: the jobs have graphs already; assign to the original trace, or "
            "with keep_service"
        )
    paces = SpeedChoice.parse(speed) if isinstance(speed, str) else speed
    if not paces.has("graphs"):
        raise ValueError(f"speed: must be one that reads graphs, such as stages, not {paces}")
    weights = _weights(zoo)
    random = generator(seed)
    if heavy_share is not None and not 0 <= heavy_share <= 1:
        raise ValueError(f"heavy_share: {heavy_share!r} must lie in 0..1")
    most = 1 if heavy_share is None else _MAX_ACCUMULATION
    kinds = Kinds(trace, cluster, weights, str(paces), heavy, most)
    draws, order = _draws(trace, random)
    wants_heavy = None if heavy_share is None else _wanted(kinds, trace, heavy_share, order)
    candidate = np.empty(len(trace), dtype=np.int64)
    for kind in range(kinds.num_kinds):
        for is_heavy in (None,) if wants_heavy is None else (False, True):
            jobs = kinds.kind == kind
            if wants_heavy is not None:
                jobs &= wants_heavy == is_heavy
            if jobs.any():
                candidate[jobs] = kinds.choose(kind, is_heavy, draws[jobs])
    return _assigned(trace, kinds, candidate, weights, seed, heavy_share, heavy, keep_service)


def describe_graphs(
    trace: Trace,
    cluster: Cluster,
    *,
    speed: str | SpeedChoice = "stages",
    heavy: float = HEAVY,
) -> polars.DataFrame:
    """Return what graphs the jobs have and how much they communicate on this cluster.

    Returns
    -------
    polars.DataFrame
        A row per graph and set of allowed GPU types that occur, by model and width: ``model``
        (the graph's name up to a blank), ``graph``, ``stages``, ``gpus``, ``gpu_types`` (empty:
        any), ``jobs``, ``alow_s``, ``amin_s``, ``amax_s`` (seconds per iteration), ``heavy``.

    Raises
    ------
    ValueError
        If the jobs have no graphs, or the cluster lacks a bandwidth.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(2, 8).with_bandwidth(nic_gbps=25, intra_gbps=400)
    >>> trace = gs.Trace.from_columns([0, 1], [60, 60], [4, 8])
    >>> trace = gs.generator.assign_graphs(trace, cluster, seed=1)
    >>> int(gs.generator.describe_graphs(trace, cluster)["jobs"].sum())
    2
    """
    import polars

    if trace.graph is None:
        raise ValueError(f"{trace.name}: the jobs have no graphs, see Trace.with_graphs")
    type_set = np.zeros(len(trace), np.int32) if trace.type_set is None else trace.type_set
    pairs, jobs = np.unique(np.stack((trace.graph, type_set)), axis=1, return_counts=True)
    sets = trace.type_sets or ((),)
    graphs = [trace.graphs[graph] for graph in pairs[0]]
    types = [sets[number] for number in pairs[1]]
    low, least, most = limits_of(graphs, types, cluster, str(speed))
    frame = polars.DataFrame(
        {
            "model": [graph.name.partition(" ")[0] for graph in graphs],
            "graph": [graph.name for graph in graphs],
            "stages": [len(graph.stages) for graph in graphs],
            "gpus": [graph.gpus for graph in graphs],
            "gpu_types": ["|".join(names) for names in types],
            "jobs": jobs,
            "alow_s": low,
            "amin_s": least,
            "amax_s": most,
            "heavy": most / least >= heavy,
        }
    )
    return frame.sort("model", "gpus", "stages", "graph", "gpu_types")


def _draws(trace: Trace, random: np.random.Generator) -> tuple[Float64, Int64]:
    """Draw a number in [0, 1) per job, and a place in line; one per (user, group) if there are."""
    key: Int64 = np.arange(len(trace))
    if trace.group is not None:
        codes = [trace.group.codes] + ([] if trace.user is None else [trace.user.codes])
        key = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].reshape(-1)
    num_keys = int(key.max()) + 1
    numbers, places = random.random(num_keys), random.permutation(num_keys)
    return numbers[key], places[key]


def _wanted(kinds: Kinds, trace: Trace, share: float, order: Int64) -> Bool:
    """Say for each job whether it gets a heavy graph."""
    may, may_not = kinds.can_be(True)[kinds.kind], kinds.can_be(False)[kinds.kind]
    num_wide = int(np.count_nonzero(trace.gpus > 1))
    wanted = round(share * num_wide)
    least, most = int(np.count_nonzero(~may_not)), int(np.count_nonzero(may))
    if not least <= wanted <= most:
        raise ValueError(
            f"heavy_share: {share:g} cannot be reached on this cluster, only "
            f"{least / max(1, num_wide):.3g} to {most / max(1, num_wide):.3g} of the jobs with "
            "more than one GPU"
        )
    is_heavy: Bool = ~may_not
    free = np.flatnonzero(may & may_not)
    first = free[np.argsort(order[free], kind="stable")][: wanted - least]
    is_heavy[first] = True
    return is_heavy


def _assigned(
    trace: Trace,
    kinds: Kinds,
    candidate: Int64,
    weights: Mapping[str, float],
    seed: int,
    heavy_share: float | None,
    heavy: float,
    keep_service: bool,
) -> Trace:
    used = {kinds.graphs[row].name: kinds.graphs[row] for row in np.unique(candidate).tolist()}
    number = {name: position for position, name in enumerate(used)}
    index_of_row = np.array([number.get(graph.name, -1) for graph in kinds.graphs], dtype=np.int32)
    index: Int32 = index_of_row[candidate]
    is_wide = trace.gpus > 1
    num_heavy = int(np.count_nonzero(kinds.is_heavy[candidate] & is_wide))
    num_wide = int(np.count_nonzero(is_wide))
    names = ", ".join(
        name if weight == 1 else f"{name} ({weight:g})" for name, weight in weights.items()
    )
    asked = "" if heavy_share is None else f", heavy_share {heavy_share:g}"
    told = (
        f"{GRAPHS_DRAWN}{names} (PCG64, seed {seed}{asked}): {num_heavy:,} of {num_wide:,} jobs "
        f"with more than one GPU are heavy (amax/amin >= {heavy:g})"
    )
    changes: dict[str, Any] = {}
    if not keep_service:
        told += ", service = run time x alow/amin"
        ratio = (kinds.low / kinds.least)[candidate]
        ratio[np.isnan(ratio)] = 1.0  # jobs that the cluster cannot hold
        changes["service_us"] = _scaled(trace.service_us, ratio)
        for column in ("estimate_us", "predicted_us"):
            guesses = getattr(trace, column)
            if guesses is not None:
                scaled = _scaled(guesses, ratio)
                changes[column] = np.where(guesses != NOT_GIVEN, scaled, NOT_GIVEN)
    changed = trace.with_graphs(tuple(used.values()), index)
    source = f"{changed.source}; {told}"
    return dataclasses.replace(changed, source=source, **changes)


def _scaled(ticks: Int64, ratio: Float64) -> Int64:
    return np.maximum(np.rint(ticks * ratio), 1).astype(np.int64)


def _weights(zoo: Sequence[str] | Mapping[str, float] | None) -> dict[str, float]:
    names = MODELS if zoo is None else zoo
    if isinstance(names, str):
        names = (names,)
    weights = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, 1.0)
    for name, weight in weights.items():
        if name not in MODELS:
            raise ValueError(f"zoo: unknown {name!r}{nearest(str(name), MODELS)}")
        not_negative(f"zoo[{name!r}]", weight, 1e9)
    weights = {name: float(weight) for name, weight in weights.items() if weight > 0}
    if not weights:
        raise ValueError("zoo: one weight must be positive")
    return weights
