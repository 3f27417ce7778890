"""What the core is given for a run: its columns, and a flat file of them for the replay tool."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.suggest import nearest
from gpusched.clusters.cluster import Cluster
from gpusched.plugins.policy import (
    Choice,
    ContentionChoice,
    PlacementChoice,
    Policy,
    SpeedChoice,
    speeds,
)
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.demands import demand_columns
from gpusched.traces.graph_columns import graph_columns
from gpusched.traces.profile_columns import profile_columns
from gpusched.traces.throughput_columns import sample_columns, table_columns, types_of_own_width
from gpusched.traces.workload import Trace

PREDICTORS = ("oracle", "estimate", "column")

_MAGIC = b"GPUSCASE"
_HEAD = 3 * 8 + 64
_FORMAT = 5
_DTYPES = {
    "submit_us": "<i8",
    "service_us": "<i8",
    "gpus": "<i4",
    "predicted_us": "<i8",
    "estimate_us": "<i8",
    "checkpoint_us": "<i8",
    "restart_us": "<i8",
    "weight": "<f8",
    "type_set": "<i4",
    "type_masks": "<u8",
    "profile": "<i4",
    "gradient_bytes": "<f8",
    "compute_s": "<f8",
    "graph": "<i4",
    "graph_begin": "<i4",
    "replicas": "<i4",
    "stage_compute_s": "<f8",
    "activation_bytes": "<f8",
    "parameter_bytes": "<f8",
    "deadline_us": "<i8",
    "value": "<f8",
    "min_gpus": "<i4",
    "max_gpus": "<i4",
    "demand": "<i4",
    "demand_share_milli": "<i4",
    "demand_cpu_milli": "<i8",
    "demand_memory_mib": "<i8",
    "table_counts": "<i4",
    "throughput": "<f8",
    "spread_throughput": "<f8",
    "samples_per_s": "<f8",
    "max_samples": "<i8",
    "global_batch": "<i8",
}
# What a speed with the flag reads of each job; the others are not given to the core.
_MODELS = {
    "profiles": profile_columns,
    "graphs": graph_columns,
    "throughputs": table_columns,
    "samples": sample_columns,
}
_WISHES = ("deadline_us", "value", "min_gpus", "max_gpus")
_CLUSTER_DTYPES = {
    "nic_bytes_per_s": "<f8",
    "intra_bytes_per_s": "<f8",
    "server_domain": "<i4",
    "domain_parent": "<i4",
    "uplink_bytes_per_s": "<f8",
    "cpu_milli": "<i8",
    "memory_mib": "<i8",
}


def job_columns(
    trace: Trace,
    cluster: Cluster,
    predictor: str,
    *,
    uses_estimates: bool,
    speed: str = "fixed",
    fills_estimates: bool = True,
) -> dict[str, Any]:
    """Return the arguments of the core's job table for this run.

    Parameters
    ----------
    uses_estimates
        Whether the policy looks at estimates; if not, they are None, and need not be there.
    speed
        Name of the speed, whose flags say what it takes of the trace: profiles, throughputs,
        samples or graphs. What is not taken is left out.
    fills_estimates
        Whether the truth stands in for the estimates of jobs that have none; if not, -1 stays.

    Raises
    ------
    ValueError
        If the predictor is unknown, or asks for a column that the trace does not have; if the
        trace has no profiles or graphs, or one lacks figures that the speed needs, or is not as
        wide as a job.
    """
    if predictor not in PREDICTORS:
        raise ValueError(f"unknown predictor {predictor!r}{nearest(str(predictor), PREDICTORS)}")
    estimate_us = trace.estimate_us
    predicted_us = None
    if predictor == "estimate":
        predicted_us = estimate_us = complete_column(predictor, "estimate_s", trace, estimate_us)
    elif predictor == "column":
        predicted_us = complete_column(predictor, "predicted_s", trace, trace.predicted_us)
    if predictor != "estimate" and estimate_us is not None and uses_estimates:
        # Where a job has no estimate of its own the prediction stands in.
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
    models: dict[str, AnyArray] = {}
    for needed, columns in _MODELS.items():
        if paces.has(needed):
            models |= columns(trace, cluster)
    type_set = trace.type_set
    # By measured figures a GPU type may not run a job.
    if paces.has("elastic"):
        type_set, masks = types_of_own_width(trace, cluster, models, masks)
    return {
        "submit_us": trace.submit_us,
        "service_us": trace.service_us,
        "gpus": trace.gpus,
        "predicted_us": predicted_us,
        "estimate_us": estimate_us if uses_estimates else None,
        "checkpoint_us": trace.checkpoint_us,
        "restart_us": trace.restart_us,
        "weight": trace.weight,
        "type_set": type_set,
        "type_masks": masks,
        # What no job asks for is not even mentioned: such a trace pays nothing for it.
        **{name: getattr(trace, name) for name in _WISHES if getattr(trace, name) is not None},
        **demand_columns(trace),
        **models,
    }


def save_case(trace: Trace, cluster: Cluster, spec: RunSpec, path: str | os.PathLike[str]) -> None:
    """Write a run as a flat binary file that the native tool ``gpusched-replay`` reads.

    The tool runs the core without Python, for sanitizers and profilers, and prints the digest. It
    refuses a file that was cut short or changed: length and SHA-256 stand in its head.

    Raises
    ------
    ValueError
        If the policy or the placement is written in Python.
    """
    policy, placement = Policy.parse(spec.policy), PlacementChoice.parse(spec.placement)
    for choice in (policy, placement):
        if not choice.info.is_native:
            raise ValueError(f"{choice.kind} {choice.name}: the replay tool has no Python")
    speed, contention = SpeedChoice.parse(spec.speed), ContentionChoice.parse(spec.contention)
    columns = job_columns(
        trace,
        cluster,
        spec.predictor,
        uses_estimates=policy.has("estimate"),
        speed=speed.name,
    )
    servers = cluster.core_columns()
    parts = [struct.pack("<Q", spec.seed)]
    parts += map(_packed, (policy, placement, speed, contention))
    parts += [_array(columns.get(name), dtype) for name, dtype in _DTYPES.items()]
    parts += [_array(cluster.server_gpus, "<i4"), _array(cluster.server_type, "<i4")]
    parts += [_array(servers.get(name), dtype) for name, dtype in _CLUSTER_DTYPES.items()]
    Path(path).write_bytes(sealed(b"".join(parts)))


def sealed(contents: bytes) -> bytes:
    """Put the head of a case before its contents: their length and SHA-256."""
    sha256 = hashlib.sha256(contents).hexdigest().encode()
    return _MAGIC + struct.pack("<QQ", _FORMAT, len(contents)) + sha256 + contents


def unsealed(case: bytes) -> bytes:
    """Take the head of a case away, unchecked: for tests that damage what is behind it."""
    return case[_HEAD:]


def complete_column(predictor: str, column: str, trace: Trace, values: AnyArray | None) -> AnyArray:
    """Return ``values``, which every job must have.

    Raises
    ------
    ValueError
        If the trace has no such column, or a job has no value; the message names the job.
    """
    if values is None:
        raise ValueError(f"predictor {predictor!r}: the trace has no {column}")
    missing = np.flatnonzero(values == NOT_GIVEN)
    if missing.size:
        others = f", nor have {missing.size - 1} others" if missing.size > 1 else ""
        raise ValueError(
            f"predictor {predictor!r}: job {missing[0]} (row {trace.row[missing[0]]}) has no "
            f"{column}{others}"
        )
    return values


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
    """Write the number of elements and then the elements; None is an empty array."""
    array = np.asarray([] if values is None else values, dtype=dtype)
    return struct.pack("<Q", array.size) + array.tobytes()
