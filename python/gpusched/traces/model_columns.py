"""Columns of the core's job table: figures of profiles and graphs, and resource demands."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int32, Int64
from gpusched.base.suggest import nearest
from gpusched.base.units import WHOLE_GPU
from gpusched.base.wording import plural
from gpusched.model.cluster import Cluster
from gpusched.model.job_graphs import Stage
from gpusched.model.profiles import (
    COMPUTE,
    MAX_COUNT,
    Curve,
    JobProfile,
    Table,
    filled_table,
    greatest_count,
    known_profiles,
)
from gpusched.traces.job_columns import JOB_COLUMNS
from gpusched.traces.model_choice import check_widths

if TYPE_CHECKING:
    from gpusched.model.throughputs import Throughputs
    from gpusched.traces.workload import Trace

_OF_JOBS: Final = {"row", *(column.stored for column in JOB_COLUMNS.values())}
# Profile fields that make up a column; other columns use the field of the same name.
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "compute_s": COMPUTE,
    "table_counts": ("throughput",),
}
_MARK: Final = "services on "
_STATED: Final = re.compile(rf"{_MARK}([^\s;,)/]+(?:/[^\s;,)/]+)*)")
_CLOSE: Final = 1e-9
RELATIVE: Final = "relative speeds of GPU types"
"""The source of profiles derived from the relative speeds of a cluster's GPU types."""


def model_columns(
    trace: Trace,
    cluster: Cluster,
    needed: Sequence[str],
    optional: Sequence[str] = (),
    *,
    speed: str,
) -> dict[str, AnyArray]:
    """Return columns of the core's job table that describe what a job computes.

    A column holds the values of the trace, its profiles or the stages of its graphs under that
    name: one per entry, or one per entry and GPU type of ``cluster`` (row by row) if they depend
    on the type; 0 where a profile has no value. Derived columns:

    - ``compute_s`` and ``stage_compute_s``: float64, NaN where there is no figure;
    - ``table_counts``, ascending: every number of GPUs with a throughput in a job's profile on a
      type of the cluster; ``throughput`` and ``spread_throughput``: per profile, GPU type and
      count, 0 where a model cannot run;
    - ``graph_begin``: the first stage of each graph, then the number of stages.

    ``needed``: names of columns that every job must have.
    ``optional``: names of columns that are left out if no job's model has a value.
    ``speed``: name of the performance model, for messages.
    """
    known = _ModelColumns(trace, cluster, speed)
    columns = {name: known.needed(name) for name in needed}
    return columns | {name: known.made(name) for name in optional if known.has(name)}


class _ModelColumns:
    """The columns of one trace for one cluster, built on demand."""

    def __init__(self, trace: Trace, cluster: Cluster, speed: str) -> None:
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
        """Return a column; raise if a job has no value for it."""
        if self._is_of_jobs(name):
            if getattr(self._trace, name) is None:
                raise ValueError(f"{self._trace.name}: {_hint(name)}")
            if name == "graph":
                graph = self._trace.graph
                assert graph is not None
                check_widths(self._trace.graphs, graph, self._trace.gpus, self._trace.row)
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
        """Build and return a column."""
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
        return name in _OF_JOBS

    def _used(self) -> list[JobProfile]:
        """Return the profiles that jobs use."""
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
        # Compute times are checked per job and allowed type elsewhere.
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
        found = _allowed_but_lacking(trace, types, trace.profile, np.isnan(compute))
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
        """Return the throughputs on packed (0) or spread GPUs (1)."""
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
        """Throughputs at all counts, for each profile that has any."""
        counts = self._table_counts().tolist()
        return {
            position: _packed_and_spread(profile, counts)
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
        found = _allowed_but_lacking(trace, types, trace.graph, lacking)
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
    """Whether a field of a profile is set; a float of 0 is."""
    return value is not None and value != {} and (isinstance(value, float) or value != 0)


def _hint(index: str) -> str:
    """Say what the trace lacks, and how to add it."""
    hints = {
        "profile": "the jobs have no profiles, see Trace.with_profiles and with_throughputs",
        "graph": "the jobs have no graphs, see Trace.with_graphs",
    }
    return hints.get(index, f"the jobs have no {index}")


def _allowed_but_lacking(
    trace: Trace, types: Sequence[str], index: Int32, lacking: Bool
) -> tuple[int, int, str] | None:
    """Find a job that may run on a GPU type for which its model has no figure.

    The first such job, the index of the type, and text that counts the others; None if there is no
    such job.

    ``types``: GPU types of the cluster.
    ``index``: int32[num_jobs]: the model of each job.
    ``lacking``: bool[num_models, num_types]: where there is no figure.
    """
    if not lacking[np.unique(index)].any():
        return None
    allowed: Bool = np.ones((1, len(types)), dtype=np.bool_)
    sets = np.zeros(len(trace), dtype=np.int32)
    if trace.type_set is not None:
        allowed = np.array([[not s or name in s for name in types] for s in trace.type_sets])
        sets = trace.type_set
    missing: Bool = np.asarray((lacking[:, None, :] & allowed[None, :, :]).any(axis=2))
    jobs = np.flatnonzero(missing[index, sets])
    if not jobs.size:
        return None
    job = int(jobs[0])
    position = int(np.flatnonzero(lacking[index[job], :] & allowed[sets[job], :])[0])
    others = f", nor for {jobs.size - 1:,} other jobs" if jobs.size > 1 else ""
    return job, position, others


def _packed_and_spread(profile: JobProfile, counts: Sequence[int]) -> tuple[Table, Table]:
    """Return the throughputs on packed and on spread GPUs at each of ``counts``."""
    packed = filled_table(profile.throughput, counts)
    if not profile.spread_throughput:
        return packed, packed
    # Keep known values of spread GPUs; interpolated ones are never better than packed.
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


def types_of_own_width(
    trace: Trace, cluster: Cluster, columns: Mapping[str, AnyArray], masks: Sequence[int]
) -> tuple[Int32 | None, list[int]]:
    """Restrict each job to the allowed GPU types that run its model on its own number of GPUs.

    A job that none of them can run keeps all: the core then rejects it with a reason.

    Each job's index into the sets, None if no job is restricted, and the masks of the sets.

    ``columns``: what :func:`model_columns` returned.
    ``masks``: bit masks over the types of the cluster, one for each type set of the trace.
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
    """Whether so many GPUs of the type have a positive throughput and enough memory."""
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


def stated_on(gpu_types: Sequence[str]) -> str:
    """Return the part of a trace's source that names the types its run times refer to.

    If there are several, each job's run time refers to its fastest type among them.
    """
    return f"{_MARK}{'/'.join(gpu_types)}"


def without_mark(source: str) -> str:
    """Return the source of a trace without the part from :func:`stated_on`."""
    return "; ".join(part for part in source.split("; ") if _STATED.search(part) is None)


def misread_services(trace: Trace, cluster: Cluster) -> list[str]:
    """Warn if run times were measured on GPU types other than those of the cluster.

    ``trace``: with profiles that have throughputs.
    ``cluster``: run times are read as those on the fastest of its types.
    """
    found = _STATED.search(trace.source)
    if found is None or trace.profile is None or trace.profiles is None:
        return []
    stated, here = found[1].split("/"), list(cluster.gpu_types)
    times = np.ones(len(trace))
    kinds, of_job = np.unique(
        np.column_stack([trace.profile, trace.gpus]), axis=0, return_inverse=True
    )
    for kind, (profile, gpus) in enumerate(kinds.tolist()):
        table = filled_table(trace.profiles[profile].throughput, [gpus])
        meant = max((table[name][gpus] for name in stated if name in table), default=0.0)
        taken = max((table[name][gpus] for name in here if name in table), default=0.0)
        if meant > 0 and taken > 0:
            times[of_job.reshape(-1) == kind] = taken / meant
    off = np.abs(times - 1) > _CLOSE
    if not off.any():
        return []
    return [
        f"run times were measured on {found[1]}, but are read as run times on the fastest of "
        f"{'/'.join(here)}: {plural(int(off.sum()), 'job')} of {len(trace):,} have "
        f"{float(times.min()):.2f} to {float(times.max()):.2f} times the intended work; name the "
        f"type that they were measured on (--reference-type, Trace.with_reference_type), or use "
        f"run times on the types of the cluster (format gavel: "
        f"gpu_type={','.join(here).lower()})"
    ]


def add_throughputs(trace: Trace, read: Throughputs, seed: int) -> tuple[Trace, tuple[str, ...]]:
    """Assign the models of a file to jobs; return the trace and notes on assumptions.

    If jobs have more GPUs than were measured for their models, tables are extended to the largest.
    """
    made = trace.with_throughputs(read, seed=seed)
    assert made.profile is not None
    named = () if trace.group is None else trace.group.values()
    said = read.notes
    if drawn := len(trace) - sum(name in read for name in named):
        said += (f"models assumed: those of {drawn:,} jobs drawn from {len(read)}, seed {seed}",)
    widest = min(int(made.gpus.max()), MAX_COUNT)
    ends = [greatest_count(p.throughput) if p.throughput else widest for p in made.profiles]
    num_wider = int(np.count_nonzero(made.gpus > np.array(ends)[made.profile]))
    if num_wider:
        made = dataclasses.replace(made, profiles=known_profiles(read.extended(widest)))
        said += (
            f"throughputs assumed for {plural(num_wider, 'job')} with more GPUs than were "
            f"measured: tables are extended to {widest:,} GPUs by the factor between their last "
            "two values",
        )
    return made, said


class Demanding(Protocol):
    """Jobs with resource demands: a trace, or anything with these columns."""

    @property
    def share_milli(self) -> Int32 | None: ...
    @property
    def cpu_milli(self) -> Int64 | None: ...
    @property
    def memory_mib(self) -> Int64 | None: ...
    def __len__(self) -> int: ...


def demand_columns(jobs: Demanding) -> dict[str, AnyArray]:
    """Return the demand columns of the core's job table; empty if there are no demands.

    ``demand`` int32[num_jobs]: index into the distinct demands, in ascending order:
    ``demand_share_milli`` int32, ``demand_cpu_milli`` and ``demand_memory_mib`` int64.
    """
    asked = (
        (jobs.share_milli, WHOLE_GPU, np.int32),
        (jobs.cpu_milli, 0, np.int64),
        (jobs.memory_mib, 0, np.int64),
    )
    if all(values is None or bool((values == none).all()) for values, none, _ in asked):
        return {}
    # Each column becomes a digit of one integer: sorting integers is cheaper than sorting rows.
    code = np.zeros(len(jobs), dtype=np.int64)
    distinct: list[Int64] = []
    for values, none, _ in asked:
        if values is None:
            distinct.append(np.array([none], dtype=np.int64))
            continue
        known, digit = np.unique(values, return_inverse=True)
        distinct.append(known.astype(np.int64))
        code = code * len(known) + digit
    rows, index = np.unique(code, return_inverse=True)
    columns: dict[str, AnyArray] = {"demand": index.astype(np.int32)}
    names = ("demand_share_milli", "demand_cpu_milli", "demand_memory_mib")
    for name, known, (_, _, dtype) in reversed(list(zip(names, distinct, asked, strict=True))):
        columns[name] = known[rows % len(known)].astype(dtype)
        rows = rows // len(known)
    return columns
