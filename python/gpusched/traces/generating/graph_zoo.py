"""Assign graphs from a zoo of models to jobs, and describe the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int32, Int64
from gpusched.base.draws import generator
from gpusched.base.field_checks import not_negative
from gpusched.base.libraries import polars
from gpusched.base.suggest import nearest
from gpusched.model.cluster import Cluster
from gpusched.model.job_graphs import JobGraph
from gpusched.model.model_zoo import MODELS, graph_for, stages_of
from gpusched.plugins.policy import SpeedChoice
from gpusched.specs.case import iteration_limits
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.workload import GRAPHS_DRAWN, Trace


class Kinds:
    """Classes of jobs with equal numbers of GPUs and allowed types, and their possible graphs.

    ``kind``: int64[num_jobs]: the class of each job.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        weights: Mapping[str, float],
        speed: str,
        heavy: float,
        most: int,
    ) -> None:
        type_set = np.zeros(len(trace), np.int32) if trace.type_set is None else trace.type_set
        pairs, kind = np.unique(np.stack((trace.gpus, type_set)), axis=1, return_inverse=True)
        self.kind: Int64 = kind.reshape(-1)
        self.num_kinds = pairs.shape[1]
        self.is_wide: Bool = pairs[0] > 1
        sets = trace.type_sets or ((),)
        rows = [
            (number, candidate)
            for number, width in enumerate(pairs[0].tolist())
            for candidate in _candidates(width, weights, most if width > 1 else 1)
        ]
        self.of_kind = np.array([number for number, _ in rows])
        self.graphs = [candidate.graph for _, candidate in rows]
        self.weight = np.array([candidate.weight for _, candidate in rows])
        types = [sets[pairs[1][number]] for number, _ in rows]
        self.low, self.least, self.high = limits_of(self.graphs, types, cluster, speed)
        self.is_heavy: Bool = self.is_wide[self.of_kind] & (self.high / self.least >= heavy)
        self._keep_the_least_accumulation([candidate for _, candidate in rows])

    def _keep_the_least_accumulation(self, candidates: Sequence[_Candidate]) -> None:
        """Set the weight to 0 for candidates with more accumulation than needed to be light."""
        is_done: set[tuple[int, str, int]] = set()
        for row, candidate in enumerate(candidates):  # accumulation ascending
            key = (int(self.of_kind[row]), candidate.model, candidate.stages)
            if candidate.accumulation > 1 and (key in is_done or self.is_heavy[row]):
                self.weight[row] = 0.0
            if not self.is_heavy[row]:
                is_done.add(key)

    def can_be(self, is_heavy: bool) -> Bool:
        """Return bool[num_kinds]: whether a class has a heavy (or a light) graph."""
        found: Bool = np.zeros(self.num_kinds, dtype=np.bool_)
        found[self.of_kind[(self.is_heavy == is_heavy) & (self.weight > 0)]] = True
        return found

    def choose(self, kind: int, is_heavy: bool | None, draws: Float64) -> Int64:
        """Return the row of a graph of this class for each number in [0, 1)."""
        rows = np.flatnonzero((self.of_kind == kind) & (self.weight > 0))
        if is_heavy is not None:
            rows = rows[self.is_heavy[rows] == is_heavy]
        ends = np.cumsum(self.weight[rows])
        chosen: Int64 = rows[np.searchsorted(ends, draws * ends[-1], side="right")]
        return chosen


@dataclass(frozen=True)
class _Candidate:
    graph: JobGraph
    model: str
    stages: int
    accumulation: int
    weight: float


def _candidates(width: int, weights: Mapping[str, float], most: int) -> Iterable[_Candidate]:
    for model, weight in weights.items():
        possible = stages_of(model, width)
        for stages in possible:
            accumulation = 1
            while accumulation <= most:
                graph = graph_for(model, width, stages=stages, accumulation=accumulation)
                yield _Candidate(graph, model, stages, accumulation, weight / len(possible))
                accumulation *= 2


def limits_of(
    graphs: Sequence[JobGraph], types: Sequence[tuple[str, ...]], cluster: Cluster, speed: str
) -> tuple[Float64, Float64, Float64]:
    """Return alow, amin and amax of jobs of these graphs and allowed types, seconds each."""
    distinct = {graph.name: graph for graph in graphs}
    probe = Trace.from_columns(
        np.zeros(len(graphs)),
        np.ones(len(graphs)),
        [graph.gpus for graph in graphs],
        gpu_types=types if any(types) else None,
        graph=[graph.name for graph in graphs],
        graphs=distinct,
    )
    limits = iteration_limits(probe, cluster, speed=speed)
    return limits["low"], limits["min"], limits["max"]


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

    The run times of a trace are read as those under heavy-edge placement on the empty cluster: a
    job of d seconds has ``n = d / amin`` iterations, and its ``service_s``, the run time at the
    lower bound ``alow`` of the iteration time, becomes ``n * alow``. Estimates are scaled likewise.

    Jobs of one (user, group) share one random number, so recurring jobs with equal numbers of GPUs
    have one graph; without groups each job has its own number.

    Parameters
    ----------
    cluster
        The cluster for ``alow``, ``amin`` and ``amax``.
    heavy_share
        Fraction of multi-GPU jobs that communicate heavily, 0 to 1, met to within one job (so one
        group may have both kinds). To make a heavy model light, it accumulates the gradients of 2,
        4, ... 64 batches, as few as possible. None: no target, and no accumulation.
    seed
        Seed of the draw, 0 or more.
    zoo
        Names from ``MODELS``, or a weight for each; None: all with equal weights.
    speed
        ``stages``, with parameters.
    heavy
        A job communicates heavily if ``amax / amin`` is at least this.
    keep_service
        Keep run times and estimates: they are then run times at ``alow``.

    Returns
    -------
    Trace
        Its ``source`` has the draw and the share of heavy jobs.

    Raises
    ------
    ValueError
        If a name or a value is wrong, the jobs already have graphs (so ``service_s`` is no longer a
        measured run time), the share cannot be reached, or the cluster lacks a bandwidth.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(2, 8).with_bandwidth(nic_gbps=25, intra_gbps=400)
    >>> trace = gs.Trace.from_columns([0, 1], [60, 60], [4, 8])
    >>> trace = gs.traces.generating.assign_graphs(trace, cluster, seed=1)
    >>> trace.graph is None
    False
    """
    if trace.graph is not None and not keep_service:
        raise ValueError(
            f"{trace.name}: the jobs already have graphs; use the original trace, or set "
            "keep_service"
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
    """Return a table of the jobs' graphs and their communication on this cluster.

    Returns
    -------
    polars.DataFrame
        A row per graph and set of allowed GPU types, sorted by model and GPUs: ``model`` (the
        graph's name up to a blank), ``graph``, ``stages``, ``gpus``, ``gpu_types`` (empty: any),
        ``jobs``, ``alow_s``, ``amin_s``, ``amax_s`` (seconds per iteration), ``heavy``.

    Raises
    ------
    ValueError
        If the jobs have no graphs, or the cluster lacks a bandwidth.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(2, 8).with_bandwidth(nic_gbps=25, intra_gbps=400)
    >>> trace = gs.Trace.from_columns([0, 1], [60, 60], [4, 8])
    >>> trace = gs.traces.generating.assign_graphs(trace, cluster, seed=1)
    >>> int(gs.traces.generating.describe_graphs(trace, cluster)["jobs"].sum())
    2
    """
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
    """Draw a number in [0, 1) and a rank per job, or per (user, group) if there are groups."""
    key: Int64 = np.arange(len(trace))
    if trace.group is not None:
        codes = [trace.group.codes] + ([] if trace.user is None else [trace.user.codes])
        key = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].reshape(-1)
    num_keys = int(key.max()) + 1
    numbers, places = random.random(num_keys), random.permutation(num_keys)
    return numbers[key], places[key]


def _wanted(kinds: Kinds, trace: Trace, share: float, order: Int64) -> Bool:
    """Return for each job whether it gets a heavy graph."""
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
        ratio[np.isnan(ratio)] = 1.0  # jobs that do not fit on the cluster
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
        raise ValueError("zoo: at least one weight must be positive")
    return weights
