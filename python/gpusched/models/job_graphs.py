"""A job as a graph: pipeline stages of replicas, what each computes, and what they exchange."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray, Int32
from gpusched.clusters.network import check_name
from gpusched.models.field_checks import (
    PerType,
    allowed_but_lacking,
    check_distinct,
    not_negative,
    numbered,
    per_type,
)

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.trace_columns import TraceColumns
    from gpusched.traces.workload import Trace

MAX_REPLICAS: Final = 1_000_000
_MAX_BYTES: Final = 1e15
_MAX_SECONDS: Final = 1e6


class Stage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Equal replicas of a part of the model, one GPU each.

    Attributes
    ----------
    replicas
        1 to 1,000,000.
    compute_s
        Seconds that a replica computes per iteration, forward and backward, more than 0: one
        figure for every GPU type, or one per type by its name.
    parameter_bytes
        Bytes of parameters of the stage, 0 to 1e15; its replicas all-reduce as many gradients.
    activation_bytes
        Bytes of activations that the stage as a whole sends to the next one per iteration, 0 to
        1e15; the gradients that come back are as large. 0 for the last stage.

    Raises
    ------
    TypeError, ValueError
        If a value is of a wrong type or out of range; the message names the field.
    """

    replicas: int
    compute_s: PerType
    parameter_bytes: float
    activation_bytes: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.replicas, bool) or not isinstance(self.replicas, int):
            raise TypeError(f"replicas: {self.replicas!r} must be an integer")
        if not 1 <= self.replicas <= MAX_REPLICAS:
            raise ValueError(f"replicas: {self.replicas} must lie in 1..{MAX_REPLICAS:,}")
        set_field = msgspec.structs.force_setattr
        set_field(self, "compute_s", per_type("compute_s", self.compute_s, _MAX_SECONDS))
        for gpu_type in self.gpu_types or ("",):
            seconds = self.seconds(gpu_type)
            if not seconds > 0:
                where = f"compute_s[{gpu_type!r}]" if gpu_type else "compute_s"
                raise ValueError(f"{where}: {seconds} must be positive")
        for field in ("parameter_bytes", "activation_bytes"):
            set_field(self, field, not_negative(field, getattr(self, field), _MAX_BYTES))

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """The GPU types that the stage has figures for; empty: one figure for every type."""
        return tuple(self.compute_s) if isinstance(self.compute_s, dict) else ()

    def seconds(self, gpu_type: str) -> float:
        """Return the compute seconds of an iteration on ``gpu_type``; NaN without a figure."""
        if isinstance(self.compute_s, dict):
            return self.compute_s.get(gpu_type, math.nan)
        return self.compute_s


class JobGraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model and its parallel configuration; one stage is pure data parallelism.

    Each replica of a stage exchanges an equal part of the activations with each replica of the
    next, and the replicas of one stage reduce their gradients in a ring.

    Attributes
    ----------
    name
        Unique among the graphs of a trace.
    stages
        In the order of the pipeline, at least one.
    source
        Where the figures come from.

    Raises
    ------
    TypeError, ValueError
        If there is no stage, the last one sends activations, or a stage lacks a GPU type that
        another has; the message names graph, stage and field.

    Examples
    --------
    >>> import gpusched as gs
    >>> first = gs.models.Stage(2, 0.2, parameter_bytes=7e8, activation_bytes=1.3e7)
    >>> gs.models.JobGraph("bert 2+1", (first, gs.models.Stage(1, 0.1, parameter_bytes=7e8))).gpus
    3
    """

    name: str
    stages: tuple[Stage, ...]
    source: str = ""

    def __post_init__(self) -> None:
        check_name("name", self.name)
        where = f"graph {self.name!r}: "
        if not isinstance(self.stages, tuple) or not all(isinstance(s, Stage) for s in self.stages):
            raise TypeError(f"{where}stages: must be a tuple of Stage")
        if not self.stages:
            raise ValueError(f"{where}stages: at least one is needed")
        last = len(self.stages) - 1
        if self.stages[last].activation_bytes > 0:
            raise ValueError(
                f"{where}stages[{last}].activation_bytes: must be 0, there is no next stage"
            )
        for position, stage in enumerate(self.stages):
            missing = [t for t in self.gpu_types if math.isnan(stage.seconds(t))]
            if missing:
                raise ValueError(
                    f"{where}stages[{position}].compute_s: has no figure for GPU type "
                    f"{missing[0]!r}"
                )

    @property
    def gpus(self) -> int:
        """Replicas of all stages: the width of the gang."""
        return sum(stage.replicas for stage in self.stages)

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """The GPU types that the graph has figures for; empty: one figure for every type."""
        return tuple(dict.fromkeys(t for stage in self.stages for t in stage.gpu_types))


AnyGraphs: TypeAlias = JobGraph | Sequence[JobGraph] | Mapping[str, JobGraph]


def known_graphs(graphs: AnyGraphs) -> tuple[JobGraph, ...]:
    """Return the graphs as a tuple; raise if there are none, or two of one name."""
    if isinstance(graphs, JobGraph):
        graphs = (graphs,)
    known = tuple(graphs.values() if isinstance(graphs, Mapping) else graphs)
    for graph in known:
        if not isinstance(graph, JobGraph):
            raise TypeError(f"graphs: expected a JobGraph, not {graph!r}")
    check_distinct("graphs", [graph.name for graph in known])
    return known


def graph_index(values: Any, graphs: Sequence[JobGraph], gpus: Int32) -> Int32:
    """Number one name, or one index, per row of ``gpus``.

    None stands for the one graph that is as wide as the job.

    Raises
    ------
    TypeError, ValueError
        As :func:`gpusched.models.field_checks.numbered` does; or if there is no graph, or more than
        one, as wide as a job. The message names the row.
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


def check_widths(trace: TraceColumns) -> None:
    """Raise ValueError that names job and graph if a job is not as wide as its graph."""
    if trace.graph is None:
        return
    widths = np.array([graph.gpus for graph in trace.graphs], dtype=np.int64)
    wrong = np.flatnonzero(widths[trace.graph] != trace.gpus)
    if wrong.size:
        job = int(wrong[0])
        graph = trace.graphs[trace.graph[job]]
        others = f", as have {wrong.size - 1:,} other jobs" if wrong.size > 1 else ""
        raise ValueError(
            f"graph {graph.name!r}: has {graph.gpus} replicas, job {job} (row {trace.row[job]}) "
            f"has gpus {trace.gpus[job]}{others}; they must be equal"
        )


def graph_columns(trace: Trace, cluster: Cluster) -> dict[str, AnyArray]:
    """Return the graph columns of the core's job table, for the GPU types of ``cluster``.

    Returns
    -------
    dict
        ``graph`` int32[num_jobs]; ``graph_begin`` int32[num_graphs + 1], the first stage of each
        graph; per stage ``replicas`` int32, ``stage_compute_s`` float64[num_stages x
        num_gpu_types], row by row, NaN where a graph has no figure, ``activation_bytes`` and
        ``parameter_bytes`` float64.

    Raises
    ------
    ValueError
        If the trace has no graphs; a job's gpus are not the replicas of its graph; or a job may
        run on a GPU type of the cluster for which a stage of its graph has no figure. The message
        names graph, stage, type and job.
    """
    if trace.graph is None:
        raise ValueError(f"{trace.name}: the jobs have no graphs, see Trace.with_graphs")
    check_widths(trace)
    types = cluster.gpu_types
    stages = [stage for graph in trace.graphs for stage in graph.stages]
    begin = np.cumsum([0] + [len(graph.stages) for graph in trace.graphs])
    compute = np.array([[stage.seconds(gpu_type) for gpu_type in types] for stage in stages])
    lacking = np.logical_or.reduceat(np.isnan(compute), begin[:-1], axis=0)
    found = allowed_but_lacking(trace, types, trace.graph, lacking)
    if found is not None:
        job, position, others = found
        graph = trace.graphs[trace.graph[job]]
        number = next(
            number
            for number, stage in enumerate(graph.stages)
            if math.isnan(stage.seconds(types[position]))
        )
        raise ValueError(
            f"graph {graph.name!r}: stages[{number}].compute_s has no figure for GPU type "
            f"{types[position]!r}, on which job {job} (row {trace.row[job]}) may run{others}; "
            f"there are {', '.join(graph.gpu_types)}"
        )
    return {
        "graph": trace.graph,
        "graph_begin": begin.astype(np.int32),
        "replicas": np.array([stage.replicas for stage in stages], dtype=np.int32),
        "stage_compute_s": compute.reshape(-1),
        "activation_bytes": np.array([stage.activation_bytes for stage in stages]),
        "parameter_bytes": np.array([stage.parameter_bytes for stage in stages]),
    }
