"""What the core is given for a run: its columns, and a flat file of them for the replay tool."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from gpusched.arrays import AnyArray
from gpusched.cluster import Cluster
from gpusched.columns import NOT_GIVEN
from gpusched.policy import Choice, PlacementChoice, Policy
from gpusched.spec import RunSpec
from gpusched.suggest import nearest
from gpusched.workload import Trace

PREDICTORS = ("oracle", "estimate")

_MAGIC = b"GPUSCASE"
_FORMAT = 1
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
}


def job_columns(
    trace: Trace, cluster: Cluster, predictor: str, *, uses_estimates: bool
) -> dict[str, Any]:
    """Return the arguments of the core's job table for this run.

    Raises
    ------
    ValueError
        If the predictor is unknown, or asks for estimates that the trace does not have.
    """
    if predictor not in PREDICTORS:
        raise ValueError(f"unknown predictor {predictor!r}{nearest(str(predictor), PREDICTORS)}")
    estimate_us = trace.estimate_us
    predicted_us = None
    if predictor == "estimate":
        predicted_us = estimate_us = _complete_estimates(trace)
    elif estimate_us is not None and uses_estimates:
        # Where a job has no estimate of its own the prediction stands in: here the truth.
        estimate_us = np.where(estimate_us == NOT_GIVEN, trace.service_us, estimate_us)
    position = {name: index for index, name in enumerate(cluster.gpu_types)}
    everywhere = 2**64 - 1
    masks = [
        sum(1 << position[name] for name in names if name in position) if names else everywhere
        for names in trace.type_sets
    ]
    return {
        "submit_us": trace.submit_us,
        "service_us": trace.service_us,
        "gpus": trace.gpus,
        "predicted_us": predicted_us,
        "estimate_us": estimate_us if uses_estimates else None,
        "checkpoint_us": trace.checkpoint_us,
        "restart_us": trace.restart_us,
        "weight": trace.weight,
        "type_set": trace.type_set,
        "type_masks": masks,
    }


def save_case(trace: Trace, cluster: Cluster, spec: RunSpec, path: str | os.PathLike[str]) -> None:
    """Write a run as a flat binary file that the native tool ``gpusched-replay`` reads.

    The tool runs the core without Python, for sanitizers and profilers, and prints the digest.

    Raises
    ------
    ValueError
        If the policy or the placement is written in Python.
    """
    policy, placement = Policy.parse(spec.policy), PlacementChoice.parse(spec.placement)
    for choice in (policy, placement):
        if not choice.info.is_native:
            raise ValueError(f"{choice.kind} {choice.name}: the replay tool has no Python")
    columns = job_columns(
        trace, cluster, spec.predictor, uses_estimates="estimate" in policy.info.flags
    )
    parts = [_MAGIC, struct.pack("<QQ", _FORMAT, spec.seed), _packed(policy), _packed(placement)]
    parts += [_array(columns[name], dtype) for name, dtype in _DTYPES.items()]
    parts += [_array(cluster.server_gpus, "<i4"), _array(cluster.server_type, "<i4")]
    Path(path).write_bytes(b"".join(parts))


def _complete_estimates(trace: Trace) -> AnyArray:
    if trace.estimate_us is None:
        raise ValueError("predictor 'estimate': the trace has no estimate_s")
    missing = np.flatnonzero(trace.estimate_us == NOT_GIVEN)
    if missing.size:
        others = f", nor have {missing.size - 1} others" if missing.size > 1 else ""
        raise ValueError(
            f"predictor 'estimate': job {missing[0]} (row {trace.row[missing[0]]}) has no "
            f"estimate_s{others}"
        )
    return trace.estimate_us


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
