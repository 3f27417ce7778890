"""Which job has which graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusched.base.arrays import Int32
from gpusched.base.field_checks import numbered
from gpusched.model.job_graphs import JobGraph
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
