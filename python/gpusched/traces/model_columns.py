"""What a speed reads of each job, from the profiles and the graphs of a trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.suggest import nearest
from gpusched.model.cluster import Cluster
from gpusched.model.job_graphs import Stage
from gpusched.model.profiles import COMPUTE, JobProfile, Table
from gpusched.traces.allowed_types import allowed_but_lacking
from gpusched.traces.graph_columns import check_widths
from gpusched.traces.throughput_columns import packed_and_spread
from gpusched.traces.trace_columns import TraceColumns

# Fields of a profile that a column is made of; of all others the one of its name.
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "compute_s": COMPUTE,
    "table_counts": ("throughput",),
}


def model_columns(
    trace: TraceColumns,
    cluster: Cluster,
    needed: Sequence[str],
    optional: Sequence[str] = (),
    *,
    speed: str,
) -> dict[str, AnyArray]:
    """Return columns of the core's job table that describe what a job computes.

    A column is what the trace, its profiles or the stages of its graphs have under that name:
    one value for each of them, or for each of them and each GPU type of ``cluster`` (row by row)
    where they tell types apart; 0 where a profile has no value. Those made in another way:

    - ``compute_s`` and ``stage_compute_s``: float64, NaN where there is no figure;
    - ``table_counts``, ascending: every number of GPUs that a profile of a job has throughputs
      for on a type of the cluster; ``throughput`` and ``spread_throughput``: for each profile,
      GPU type and count, 0 where a model cannot run;
    - ``graph_begin``: the first stage of each graph, and at the end the number of stages.

    Parameters
    ----------
    needed
        Names of columns that every job must have.
    optional
        Names of columns that are left out if no job's model has a value.
    speed
        Who asks, for messages.

    Raises
    ------
    ValueError
        If the trace lacks the profiles or graphs that a needed column is of; a job's profile
        lacks a figure; none has one for a GPU type of the cluster; a job may run on a GPU type
        for which its model has no figure; or a job is not as wide as its graph. The message
        names model, field, type and job.
    """
    known = _ModelColumns(trace, cluster, speed)
    columns = {name: known.needed(name) for name in needed}
    return columns | {name: known.made(name) for name in optional if known.has(name)}


class _ModelColumns:
    """The columns of one trace for one cluster; each is made when it is asked for."""

    def __init__(self, trace: TraceColumns, cluster: Cluster, speed: str) -> None:
        self._trace = trace
        self._types = cluster.gpu_types
        self._speed = speed
        self._own: dict[str, Callable[[], AnyArray]] = {
            "compute_s": self._compute_s,
            "table_counts": self._table_counts,
            "throughput": lambda: self._throughput(0),
            "spread_throughput": lambda: self._throughput(1),
            "graph_begin": self._graph_begin,
            "stage_compute_s": self._stage_compute_s,
        }

    def needed(self, name: str) -> AnyArray:
        """Return a column; raise where a job has no value for it."""
        if self._is_of_jobs(name):
            if getattr(self._trace, name) is None:
                raise ValueError(f"{self._trace.name}: {_hint(name)}")
            if name == "graph":
                check_widths(self._trace)
        elif _is_of_profiles(name):
            self._check_profiles(name)
        return self.made(name)

    def has(self, name: str) -> bool:
        """Whether a job has a value for the column."""
        if self._is_of_jobs(name):
            return getattr(self._trace, name) is not None
        if not _is_of_profiles(name):
            return self._trace.graph is not None
        fields = _FIELDS.get(name, (name,))
        return any(_is_given(getattr(p, field)) for p in self._used() for field in fields)

    def made(self, name: str) -> AnyArray:
        """Return a column, for models that have it."""
        if name in self._own:
            return self._own[name]()
        if self._is_of_jobs(name):
            column: AnyArray = getattr(self._trace, name)
            return column
        if name in Stage.__struct_fields__:
            return np.array([getattr(stage, name) for stage in self._stages()])
        values = [getattr(profile, name) for profile in self._trace.profiles]
        if any(isinstance(value, dict) for value in values):
            rows = [[(value or {}).get(t, 0) for t in self._types] for value in values]
            return np.array(rows).reshape(-1)
        return np.array([value or 0 for value in values])

    def _is_of_jobs(self, name: str) -> bool:
        return name in TraceColumns.__dataclass_fields__

    def _used(self) -> list[JobProfile]:
        """The profiles that jobs have."""
        if self._trace.profile is None:
            return []
        return [self._trace.profiles[place] for place in np.unique(self._trace.profile).tolist()]

    def _check_profiles(self, name: str) -> None:
        fields = _FIELDS.get(name, (name,))
        used = self._used()
        for profile in used:
            if not all(_is_given(getattr(profile, field)) for field in fields):
                raise ValueError(
                    f"profile {profile.name!r}: has no {', '.join(fields)}, which speed "
                    f"{self._speed!r} needs"
                )
        tables = [value for p in used for f in fields if isinstance(value := getattr(p, f), dict)]
        known = list(dict.fromkeys(gpu_type for table in tables for gpu_type in table))
        # Of compute times every allowed type is looked at, and named with its job.
        is_looked_at = name in self._own and name != "table_counts"
        if known and not is_looked_at and not set(known) & set(self._types):
            raise ValueError(
                f"cluster: no profile has a {fields[0]} for GPU type {self._types[0]!r}"
                f"{nearest(self._types[0], known)}"
            )

    def _compute_s(self) -> AnyArray:
        trace, types = self._trace, self._types
        compute = np.array([[p.compute_s(gpu_type) for gpu_type in types] for p in trace.profiles])
        assert trace.profile is not None
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
        return compute.reshape(-1)

    def _table_counts(self) -> AnyArray:
        tables = [profile.throughput for profile in self._used()]
        counts = sorted({n for table in tables for t in self._types for n in table.get(t, ())})
        return np.array(counts, dtype=np.int32)

    def _throughput(self, which: int) -> AnyArray:
        """Of packed (0) or of spread GPUs (1)."""
        counts = self._table_counts().tolist()
        column = np.zeros((len(self._trace.profiles), len(self._types), len(counts)))
        for position, tables in self._filled.items():
            for place, gpu_type in enumerate(self._types):
                if gpu_type in tables[which]:
                    table = tables[which][gpu_type]
                    column[position, place] = [table[count] for count in counts]
        return column.reshape(-1)

    @cached_property
    def _filled(self) -> dict[int, tuple[Table, Table]]:
        """Throughputs at all counts, of each profile that has any."""
        counts = self._table_counts().tolist()
        return {
            position: packed_and_spread(profile, counts)
            for position, profile in enumerate(self._trace.profiles)
            if profile.throughput
        }

    def _stages(self) -> list[Stage]:
        return [stage for graph in self._trace.graphs for stage in graph.stages]

    def _graph_begin(self) -> AnyArray:
        return np.cumsum([0] + [len(graph.stages) for graph in self._trace.graphs])

    def _stage_compute_s(self) -> AnyArray:
        trace, types = self._trace, self._types
        compute = np.array([[s.seconds(gpu_type) for gpu_type in types] for s in self._stages()])
        lacking = np.logical_or.reduceat(np.isnan(compute), self._graph_begin()[:-1], axis=0)
        assert trace.graph is not None
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
        return compute.reshape(-1)


def _is_of_profiles(name: str) -> bool:
    return all(f in JobProfile.__struct_fields__ for f in _FIELDS.get(name, (name,)))


def _is_given(value: Any) -> bool:
    """Whether a field of a profile is not left out; a float of 0 is a figure."""
    return value is not None and value != {} and (isinstance(value, float) or value != 0)


def _hint(index: str) -> str:
    """What the trace lacks, and how it gets it."""
    hints = {
        "profile": "the jobs have no profiles, see Trace.with_profiles and with_throughputs",
        "graph": "the jobs have no graphs, see Trace.with_graphs",
    }
    return hints.get(index, f"the jobs have no {index}")
