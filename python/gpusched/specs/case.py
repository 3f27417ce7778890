"""The core's inputs for a run: its columns, and a flat file of them for the replay tool."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gpusched import _core
from gpusched.base.arrays import AnyArray, Float64, Int64, read_only
from gpusched.base.labels import Labels
from gpusched.base.memo import Memo
from gpusched.base.replacing import write_bytes
from gpusched.model.cluster import Cluster
from gpusched.plugins.policy import (
    Choice,
    ContentionChoice,
    PlacementChoice,
    Policy,
    SpeedChoice,
)
from gpusched.plugins.registry import has_flag_of, speeds
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.job_columns import HOLDS, JOB_COLUMNS, is_blank, precedence_of
from gpusched.traces.model_columns import demand_columns, model_columns, types_of_own_width
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.traces.dependencies import Holds


class PredictedBy(NamedTuple):
    """The trace's column with the run times that a run's policy sees.

    ``column``: ``service_us`` (true run times), ``estimate_us`` or ``predicted_us``.
    ``predictor``: name of the predictor, for messages.
    """

    column: str
    predictor: str = ""

    @property
    def is_truth(self) -> bool:
        """Whether it holds true run times."""
        return self.column == "service_us"

    @property
    def is_estimate(self) -> bool:
        """Whether it holds users' estimates."""
        return self.column == "estimate_us"

    def values(self, trace: Trace) -> AnyArray:
        """Return the column, in which every job must have a value."""
        values: AnyArray | None = getattr(trace, self.column)
        shown = self.column.removesuffix("us") + "s"
        if values is None:
            raise ValueError(f"predictor {self.predictor!r}: the trace has no {shown}")
        missing = np.flatnonzero(values == NOT_GIVEN)
        if missing.size:
            others = f" ({missing.size - 1} more missing)" if missing.size > 1 else ""
            raise ValueError(
                f"predictor {self.predictor!r}: job {missing[0]} (row {trace.row[missing[0]]}) "
                f"has no {shown}{others}"
            )
        return values


def has_all_estimates(trace: Trace) -> bool:
    """Whether each job has an estimate of its run time."""
    return trace.estimate_us is not None and bool((trace.estimate_us != NOT_GIVEN).all())


TRUTH: Final = PredictedBy("service_us")
"""The default of runs."""


_MAGIC = b"GPUSCASE"
_HEAD = 3 * 8 + 64
_FORMAT = 6
_MODELS = ("profile", "graph")
_HELD_BY = tuple(JOB_COLUMNS[name].stored for name in HOLDS)
_CLUSTER_DTYPES = {
    "nic_bytes_per_s": "<f8",
    "intra_bytes_per_s": "<f8",
    "server_domain": "<i4",
    "domain_parent": "<i4",
    "uplink_bytes_per_s": "<f8",
    "cpu_milli": "<i8",
    "memory_mib": "<i8",
    "part_of": "<i4",
}


class PublicColumns:
    """Columns for Python plug-ins that the core does not read.

    Its attributes are labels (``user``, ``account``, ``queue``, ``group``) and read-only arrays
    (``priority``, ``estimate_us``, ``id``) with an entry for each job. If the trace lacks a column,
    all labels are ``""``, priorities 0 and estimates -1.
    """

    def __init__(self, trace: Trace) -> None:
        names = ("user", "account", "queue", "group", "priority", "estimate_us", "id")
        # Holding the trace would keep it alive as long as the cached tables.
        self._columns = {name: getattr(trace, name) for name in names}
        self._rows: AnyArray = np.arange(len(trace))

    def __getitem__(self, rows: AnyArray) -> PublicColumns:
        """Return the columns of some jobs; indexed as an array."""
        made = object.__new__(PublicColumns)
        made._columns, made._rows = self._columns, self._rows[rows]
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(name)
        column = self._columns[name]
        if column is None:
            column = _ABSENT[name](len(self._rows))
        else:
            is_labels = isinstance(column, Labels)
            column = column.take(self._rows) if is_labels else read_only(column[self._rows])
        setattr(self, name, column)  # cache
        return column


def _unlabelled(num: int) -> Labels:
    return Labels(read_only(np.zeros(num, np.int32)), ("",))


_ABSENT: Final[dict[str, Callable[[int], Any]]] = {
    **dict.fromkeys(("user", "account", "queue", "group"), _unlabelled),
    "priority": lambda num: read_only(np.zeros(num)),
    "estimate_us": lambda num: read_only(np.full(num, NOT_GIVEN, np.int64)),
}


def job_columns(
    trace: Trace,
    cluster: Cluster,
    predicted: PredictedBy = TRUTH,
    *,
    uses_estimates: bool,
    speed: str = "fixed",
    fills_estimates: bool = True,
    holds: bool = False,
    priority_age_s: float | None = None,
    states: bool = False,
) -> dict[str, Any]:
    """Return the arguments of the core's job table for this run.

    These are the columns of ``_core.JOB_COLUMNS`` that the trace has and the run reads, in the
    table's types; others have no key. ``public_columns`` are for plug-ins.

    ``predicted``: the column of the trace with the run times that policies see.
    ``uses_estimates``: whether the policy reads estimates; if not, they are left out and may be
        missing.
    ``speed``: name of the speed; its registration lists the columns of profiles and graphs to
        include.
    ``fills_estimates``: whether true run times replace missing estimates; if not, they stay -1.
    ``holds``: whether to include what holds jobs back or cancels them, as for whole runs.
    ``priority_age_s``: as for :func:`gpusched.simulate`.
    ``states``: whether to include how long jobs may run by their limits or estimates, as for runs
        with maintenance that is known ahead.
    """
    estimate_us = trace.estimate_us
    predicted_us = None if predicted.is_truth else predicted.values(trace)
    if estimate_us is not None and uses_estimates and not predicted.is_estimate:
        # The prediction replaces a missing estimate.
        known_us = trace.service_us if predicted_us is None else predicted_us
        stand_in = known_us if fills_estimates else NOT_GIVEN
        estimate_us = np.where(estimate_us == NOT_GIVEN, stand_in, estimate_us)
    position = {name: index for index, name in enumerate(cluster.gpu_types)}
    everywhere = 2**64 - 1
    masks = [
        sum(1 << position[name] for name in names if name in position) if names else everywhere
        for names in trace.type_sets
    ]
    paces = speeds()[speed]
    models = model_columns(trace, cluster, paces.columns, paces.optional_columns, speed=speed)
    type_set = trace.type_set
    # Measured throughputs may exclude a GPU type for a job.
    if paces.has("elastic"):
        type_set, masks = types_of_own_width(trace, cluster, models, masks)
    known = {
        **_own_columns(trace),
        "precedence": precedence_of(trace, priority_age_s),
        "predicted_us": predicted_us,
        "estimate_us": estimate_us if uses_estimates else None,
        "type_set": type_set,
        "type_masks": None if type_set is None else masks,
        **demand_columns(trace),
        **models,
    }
    held = holds_of(trace) if holds else None
    known |= {} if held is None else held.columns
    known |= {"stated_us": _stated_us(trace)} if states else {}
    columns: dict[str, Any] = {
        column.name: np.ascontiguousarray(known[column.name], column.dtype)
        for column in _core.JOB_COLUMNS
        if known.get(column.name) is not None
    }
    return columns | {"public_columns": PublicColumns(trace)}


def _stated_us(trace: Trace) -> Int64:
    """Return how long each job may run by its limit, else by its estimate; -1: neither."""
    stated_us = np.full(len(trace), NOT_GIVEN, np.int64)
    for column in (trace.estimate_us, trace.time_limit_us):
        if column is not None:
            stated_us = np.where(column >= 0, column, stated_us)
    return stated_us


def _own_columns(trace: Trace) -> dict[str, Any]:
    """Return the jobs' columns without their models, which only some speeds read."""
    own = {
        column.name: getattr(trace, column.name, None)
        for column in _core.JOB_COLUMNS
        if column.per == "job" and column.name not in (*_MODELS, *_HELD_BY, "array")
    }
    return {name: None if is_blank(name, values) else values for name, values in own.items()}


def holds_of(trace: Trace) -> Holds | None:
    """Return what holds jobs of a run back or cancels them; None if the trace has no such column.

    Errors as :func:`gpusched.traces.dependencies.holds_of`.
    """
    if all(getattr(trace, name) is None for name in _HELD_BY):
        return None
    from gpusched.traces import dependencies

    return dependencies.holds_of(trace)


def save_case(
    trace: Trace,
    cluster: Cluster,
    spec: RunSpec,
    path: str | os.PathLike[str],
    *,
    predicted: PredictedBy | None,
) -> None:
    """Write a run as a flat binary file for the native tool ``gpusched-replay``.

    The tool runs the core without Python, for sanitizers and profilers, and prints the digest. It
    refuses a truncated or changed file by the length and SHA-256 in the header.

    ``predicted``: the column of the predictor of ``spec``; None if it predicts during the run.
    """
    for name in ("outages", "kill_invalid_depend"):
        if getattr(spec, name):
            raise ValueError(f"{name}: the replay tool has none")
    if predicted is None:
        raise ValueError(f"predictor {spec.predictor}: the replay tool cannot run Python")
    policy, placement = Policy.parse(spec.policy), PlacementChoice.parse(spec.placement)
    for choice in (policy, placement):
        if not choice.info.is_native:
            raise ValueError(f"{choice.kind} {choice.name}: the replay tool cannot run Python")
    speed, contention = SpeedChoice.parse(spec.speed), ContentionChoice.parse(spec.contention)
    columns = job_columns(
        trace,
        cluster,
        predicted,
        uses_estimates=policy.has("estimate"),
        speed=speed.name,
        holds=True,
        priority_age_s=spec.priority_age_s or None,
    )
    servers = cluster.core_columns()
    parts = [struct.pack("<Q", spec.seed)]
    parts += map(_packed, (policy, placement, speed, contention))
    # New columns are added at the end, so an older file has fewer.
    parts += [struct.pack("<Q", len(_core.JOB_COLUMNS))]
    parts += [_array(columns.get(column.name), column.dtype) for column in _core.JOB_COLUMNS]
    parts += [_array(cluster.server_gpus, "<i4"), _array(cluster.server_type, "<i4")]
    parts += [_array(servers.get(name), dtype) for name, dtype in _CLUSTER_DTYPES.items()]
    write_bytes(path, sealed(b"".join(parts)))


def sealed(contents: bytes) -> bytes:
    """Prepend the header of a case: length and SHA-256 of its contents."""
    sha256 = hashlib.sha256(contents).hexdigest().encode()
    return _MAGIC + struct.pack("<QQ", _FORMAT, len(contents)) + sha256 + contents


def unsealed(case: bytes) -> bytes:
    """Remove the header of a case, unchecked, for tests that damage the contents."""
    return case[_HEAD:]


def _packed(choice: Choice) -> bytes:
    values = choice.core_values()
    parts = [_text(choice.name), struct.pack("<Q", len(values))]
    for key, value in values.items():
        parts.append(_text(key))
        if isinstance(value, bool):
            parts.append(struct.pack("<QQ", 0, value))
        elif isinstance(value, int):
            parts.append(struct.pack("<Qq", 1, value))
        elif isinstance(value, float):
            parts.append(struct.pack("<Qd", 2, value))
        elif isinstance(value, str):
            parts.append(struct.pack("<Q", 3) + _text(value))
        else:
            parts.append(struct.pack("<Q", 4) + _array(value, "<f8"))
    return b"".join(parts)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _array(values: Any, dtype: str) -> bytes:
    """Encode the number of elements and the elements; None is an empty array."""
    little_endian = np.dtype(dtype).newbyteorder("<")
    array = np.asarray([] if values is None else values, dtype=little_endian)
    return struct.pack("<Q", array.size) + array.tobytes()


# Larger ones are not cached, as a run on them takes longer than building them.
_MOST_SERVERS = 16_384


def core_cluster(cluster: Cluster) -> _core.Cluster:
    """Return the core's view of a cluster, shared by runs."""
    return _kept(cluster) or _made(cluster)


@lru_cache(maxsize=8)
def _kept(cluster: Cluster) -> _core.Cluster | None:
    return _made(cluster) if cluster.num_servers <= _MOST_SERVERS else None


def _made(cluster: Cluster) -> _core.Cluster:
    return _core.Cluster(cluster.server_gpus, cluster.server_type, **cluster.core_columns())


def job_table(
    trace: Trace,
    cluster: Cluster,
    predicted: PredictedBy = TRUTH,
    *,
    uses_estimates: bool,
    speed: str = "fixed",
    priority_age_s: float | None = None,
    states: bool = False,
) -> _core.JobTable:
    """Return the core's view of a run's jobs; arguments and errors as for ``job_columns``.

    It borrows the trace's columns and is shared by runs.
    """
    # Models and sets of GPU types depend on the cluster.
    is_plain = trace.type_set is None and has_flag_of("speed", speed, "steady")
    uses_estimates = uses_estimates and trace.estimate_us is not None
    key = (predicted, uses_estimates, speed, priority_age_s, states, None if is_plain else cluster)
    return _tables.of(
        trace,
        key,
        lambda: _core.JobTable(
            **job_columns(
                trace,
                cluster,
                predicted,
                uses_estimates=uses_estimates,
                speed=speed,
                holds=True,
                priority_age_s=priority_age_s,
                states=states,
            )
        ),
    )


_tables: Memo[Trace, _core.JobTable] = Memo(4)


def iteration_limits(
    trace: Trace, cluster: Cluster, *, speed: str | SpeedChoice = "stages"
) -> dict[str, Float64]:
    """Return the range of each job's iteration time on the empty cluster.

    Returns
    -------
    dict
        float64[num_jobs] seconds, NaN for jobs that can never run. ``low``: a lower bound for
        every placement; a job's service is its run time at this. ``min``: with a good placement.
        ``max``: every worker on its own server, with its GPU's share of the network.

    Raises
    ------
    ValueError
        If the speed is unknown, or the trace or the cluster lacks what it needs.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(2, 8).with_bandwidth(nic_gbps=25, intra_gbps=400)
    >>> trace = gs.Trace.from_columns([0], [60], [16])
    >>> trace = trace.with_profiles([gs.model.zoo()["resnet50"]])
    >>> limits = gs.bounds.iteration_limits(trace, cluster, speed="ring")
    >>> bool(limits["low"][0] <= limits["min"][0] <= limits["max"][0])
    True
    """
    limits: dict[str, Float64] = _core.iteration_limits(*_speed_arguments(trace, cluster, speed))
    return limits


def least_costs(trace: Trace, cluster: Cluster, *, speed: str | SpeedChoice) -> dict[str, Float64]:
    """Return lower bounds on each job's cost over all its GPU counts and types.

    float64[num_jobs], relative to the job at its requested number of GPUs on the best type:
    ``time`` for the run time, ``gpu_time`` for the GPU time; 1 if the speed is not elastic. And the
    lowest and highest number of GPUs on which it can run, ``narrowest`` and ``widest``: the
    requested number if the speed is not elastic.
    """
    costs: dict[str, Float64] = _core.least_costs(*_speed_arguments(trace, cluster, speed))
    return costs


def _speed_arguments(trace: Trace, cluster: Cluster, speed: str | SpeedChoice) -> tuple[Any, ...]:
    paces = SpeedChoice.parse(speed) if isinstance(speed, str) else speed
    jobs = job_table(trace, cluster, uses_estimates=False, speed=paces.name)
    return jobs, core_cluster(cluster), paces.name, paces.core_values()
