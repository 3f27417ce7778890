"""What a policy remembers from one decision to the next, as bytes that are passed along.

It is the course of the run so far, from which the engine comes to the same state of the policy
again: the jobs in the order in which they were told of, when each was told of and how it ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from gpusched import _core
from gpusched.base import container
from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.container import Kind
from gpusched.base.files import naming
from gpusched.clusters.cluster import Cluster
from gpusched.traces.trace_store import (
    TRACE_MEMBERS,
    TraceHeader,
    stored_column,
    stored_trace,
    trace_members,
)
from gpusched.traces.workload import Trace

_KIND: Final = Kind("gpusched-memory", 2)
FIRST: Final = ("first_attained_us", "first_preemptions", "first_added_us")
_COLUMNS: Final = ("ended_us", "attained_us", "start_us", "cost_us", "added_us")
_LISTS: Final = (*FIRST, "asked_us", "refused")


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: str
    policy: str
    placement: str
    seed: int
    cluster: Cluster
    begin_us: int
    last_us: int
    trace: TraceHeader


@dataclass(frozen=True)
class Memory:
    """The course of a policy's decisions so far.

    Attributes
    ----------
    policy, placement, seed, cluster
        Who decides, and on what: these must stay.
    jobs
        All jobs so far, in the order in which they were told of. ``submit_us`` is when, but for the
        jobs of the first decision.
    ended_us
        When it was known that a job was gone; -1: it waits or runs.
    attained_us, start_us, cost_us, added_us
        As of ``_core.Standing`` at the last decision; of a job that is gone, when it went.
    first_attained_us, first_preemptions, first_added_us
        As of ``_core.Standing`` at the first decision: of the first jobs.
    asked_us
        Decisions that were asked for while nothing happened.
    refused
        The rows of jobs that can never run.
    begin_us, last_us
        When the first and the last decision were.
    """

    policy: str
    placement: str
    seed: int
    cluster: Cluster
    jobs: Trace
    ended_us: Int64
    attained_us: Int64
    start_us: Int64
    cost_us: Int64
    added_us: Int64
    first_attained_us: Int64
    first_preemptions: Int64
    first_added_us: Int64
    asked_us: Int64
    refused: Int64
    begin_us: int
    last_us: int

    def to_bytes(self) -> bytes:
        """Return it as bytes that are refused if one of them is changed."""
        trace_header, arrays = trace_members(self.jobs)
        header = _Header(
            _core.__version__, self.policy, self.placement, self.seed, self.cluster,
            self.begin_us, self.last_us, trace_header,
        )  # fmt: skip
        columns = {f"course.{name}": getattr(self, name) for name in (*_COLUMNS, *_LISTS)}
        return container.encode(_KIND, msgspec.json.encode(header), {**arrays, **columns})

    @classmethod
    def from_bytes(cls, data: bytes) -> Memory:
        """Return what :meth:`to_bytes` was of.

        Raises
        ------
        ValueError
            If it was cut short or changed, is something else, or of another version, whose rules
            may differ.
        """
        with naming("memory", "not what an earlier decision gave"):
            encoded, arrays = container.decode(bytes(data), _KIND)
            header = msgspec.json.decode(encoded, type=_Header, strict=True)
            if header.version != _core.__version__:
                raise ValueError(
                    f"it is of gpusched {header.version}, and this is {_core.__version__}, whose "
                    "rules may differ"
                )
            members = {name: array for name, array in arrays.items() if name in TRACE_MEMBERS}
            jobs = stored_trace(header.trace, members)
            columns: dict[str, Any] = {
                name: stored_column(arrays, f"course.{name}", "i8", len(jobs)) for name in _COLUMNS
            }
            for name in _LISTS:
                length = np.size(arrays.get(f"course.{name}", ()))
                columns[name] = stored_column(arrays, f"course.{name}", "i8", length)
            if len(arrays) != len(members) + len(columns):
                raise ValueError("it has members that are not expected")
            _check(jobs, columns, header)
        return cls(
            header.policy, header.placement, header.seed, header.cluster, jobs,
            begin_us=header.begin_us, last_us=header.last_us, **columns,
        )  # fmt: skip


def _check(jobs: Trace, columns: dict[str, AnyArray], header: _Header) -> None:
    """Check what the engine relies on; a forger could have summed up anew."""
    for name, values in {"trace.submit_us": jobs.submit_us, **columns}.items():
        if values.min(initial=0) < -1 or values.max(initial=0) >= 2**61:
            raise ValueError(f"{name}: is out of range")
    if (np.diff(jobs.submit_us) < 0).any() or jobs.submit_us.min() < 0:
        raise ValueError("trace.submit_us: must ascend")
    if not int(jobs.submit_us.max()) <= header.last_us < 2**61:
        raise ValueError("last_us: lies before what was told")
    if not 0 <= header.begin_us <= header.last_us:
        raise ValueError("begin_us: is out of range")
    if len(set(jobs.id.tolist())) < len(jobs) or jobs.id.dtype.kind != "U":
        raise ValueError("trace.id: must be unique texts")
