"""Open runs as files: what decides a run so far, in a :mod:`gpusched.base.container`.

No state of the core is in it. A run is deterministic, so that its beginning and what was done to it
since are enough to come to where it was.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from gpusched.base import container
from gpusched.base.arrays import AnyArray
from gpusched.base.ticks import MAX_HORIZON_US
from gpusched.plugins.identity import PythonObject
from gpusched.prediction.learner import Header as ModelHeader
from gpusched.specs.fingerprints import fingerprint
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.trace_store import TRACE_MEMBERS, TraceHeader, stored_trace, trace_members
from gpusched.traces.workload import Trace

KIND: Final = container.Kind("gpusched-run", 1)
_PICKLE: Final = "python."
_MODEL: Final = "model."
_MOST: Final = 2**63 - 1


class StoredChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was done to the run after so many instants: a job taken back, or another policy.

    ``python`` is what the policy is known by where it is written in Python.
    """

    num_instants: int
    at_us: int
    job: int | None = None
    policy: str | None = None
    python: PythonObject | None = None

    def __post_init__(self) -> None:
        if (self.job is None) == (self.policy is None):
            raise ValueError("job, policy: one of them must be given")
        if self.job is not None and not 0 <= self.job < 2**32 - 1:
            raise ValueError(f"job: {self.job} is no row")
        if not 0 <= self.at_us <= MAX_HORIZON_US:
            raise ValueError(f"at_us: {self.at_us} is no time")


class RunHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of a saved run that is not an array.

    Attributes
    ----------
    version, libraries
        Of gpusched, and of Python and what the package computes with.
    spec
        Of the run as it began, with all jobs that were submitted since.
    verify, max_intervals
        As of :func:`gpusched.simulate`.
    changes
        In the order of the instants.
    num_instants, clock_us, reached
        How far the run is: instants, its time in microseconds, and the digest of what it has come
        to.
    wall_s
        Seconds that this took.
    model
        Of a predictor that was trained before.
    """

    version: str
    libraries: str
    spec: RunSpec
    verify: bool
    changes: tuple[StoredChange, ...]
    num_instants: int
    clock_us: int
    reached: str
    wall_s: float
    trace: TraceHeader
    model: ModelHeader | None = None
    max_intervals: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.num_instants <= _MOST:
            raise ValueError(f"num_instants: {self.num_instants} is no number of instants")
        if not 0 <= self.clock_us <= MAX_HORIZON_US:
            raise ValueError(f"clock_us: {self.clock_us} is no time")
        order = [0, *(change.num_instants for change in self.changes), self.num_instants]
        if order != sorted(order):
            raise ValueError("changes: must be in the order of the instants")


@dataclass(frozen=True)
class StoredRun:
    """A saved run: its header, its jobs, the arrays of its model, and pickles by their role."""

    header: RunHeader
    trace: Trace
    model: Mapping[str, AnyArray]
    pickles: Mapping[str, bytes]


def write(run: StoredRun, path: str | os.PathLike[str]) -> None:
    """Write ``run``; a file that is already there is replaced only by a complete one."""
    _, arrays = trace_members(run.trace)
    for name, array in run.model.items():
        arrays[f"{_MODEL}{name}"] = array
    for role, pickled in run.pickles.items():
        arrays[f"{_PICKLE}{role}"] = np.frombuffer(pickled, dtype=np.uint8)
    container.write(path, KIND, msgspec.json.encode(run.header), arrays)


def read(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> StoredRun:
    """Read what :func:`write` wrote; nothing is unpickled.

    Raises
    ------
    ValueError, msgspec.MsgspecError
        If it is anything else, or was changed.
    """
    encoded, arrays = container.read(path, KIND, max_bytes=max_bytes)
    header = msgspec.json.decode(encoded, type=RunHeader, strict=True)
    trace = stored_trace(header.trace, arrays)
    if fingerprint(trace) != header.spec.trace.sha256:
        raise ValueError("its trace does not have the stored fingerprint: it was changed")
    model = _behind(_MODEL, arrays)
    pickles = {}
    for role, array in _behind(_PICKLE, arrays).items():
        if array.dtype != np.uint8 or array.ndim != 1:
            raise ValueError(f"{_PICKLE}{role} does not hold bytes")
        pickles[role] = array.tobytes()
    left = {name for name in arrays if not name.startswith((_MODEL, _PICKLE))} - TRACE_MEMBERS
    if left:
        raise ValueError(f"{min(left)} is not expected")
    return StoredRun(header, trace, model, pickles)


def _behind(prefix: str, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the arrays with this prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
