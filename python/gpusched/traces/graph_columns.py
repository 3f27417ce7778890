"""Which job has which graph, and what the core reads of the graphs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusched.base.arrays import AnyArray, Int32
from gpusched.base.field_checks import numbered
from gpusched.clusters.cluster import Cluster
from gpusched.models.job_graphs import JobGraph
from gpusched.traces.missing_figures import allowed_but_lacking
from gpusched.traces.trace_columns import TraceColumns


def graph_index(values: Any, graphs: Sequence[JobGraph], gpus: Int32) -> Int32:
    """Number one name, or one index, per row of ``gpus``.

    None stands for the one graph that is as wide as the job.

    Raises
    ------
    TypeError, ValueError
        As :func:`gpusched.base.field_checks.numbered` does; or if there is no graph, or more than
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


def graph_columns(trace: TraceColumns, cluster: Cluster) -> dict[str, AnyArray]:
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
