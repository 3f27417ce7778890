"""Audit a trace or a trace file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.source import AnyFile, Source
from gpusched.traces.auditing.check_registry import Evidence, trace_checks
from gpusched.traces.auditing.findings import VERDICTS, TraceAudit
from gpusched.traces.checked_columns import duplicate_ids_kept
from gpusched.traces.reading import read_quietly
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster

_HEAD: Final = 100_000
_PROCESSORS: Final = re.compile(r"^;\s*MaxProcs:\s*(\d{1,9})\s*$", re.MULTILINE)


def audit_trace(
    trace: Trace | AnyFile | Sequence[AnyFile], cluster: Cluster | None = None, **options: Any
) -> TraceAudit:
    """Check a trace for errors and oddities; report verdicts with rows and effects.

    :meth:`gpusched.Result.audit`, by contrast, checks a schedule.

    Parameters
    ----------
    trace
        A trace, or its file or files, as for :func:`gpusched.read_trace`. A file gives more
        findings: duplicate ids are a finding instead of an error, and the GPUs in an SWF header
        count as the inventory.
    cluster
        The cluster for the jobs; without it, demands that exceed it are not checked.
    options
        For a file, those of :func:`gpusched.read_trace`.

    Returns
    -------
    TraceAudit
        One finding per check, the worst first; ``print(audit)`` shows those odd or wrong.

    Raises
    ------
    OSError, TypeError, ValueError
        As :func:`gpusched.read_trace`; TypeError if options are given with a trace.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 60, 60], [600, 30, 30], [1, 2, 2])
    >>> gs.traces.audit_trace(trace)["duplicate-rows"].count
    1
    """
    published = None
    if isinstance(trace, Trace):
        if options:
            raise TypeError(f"audit_trace: {next(iter(options))!r} applies only to files")
    else:
        file = trace
        with duplicate_ids_kept():
            trace = read_quietly(file, **options)
        if options.get("processors_per_gpu", 1) == 1:
            published = published_gpus(file)
    return judged(trace, cluster, published)


def judged(trace: Trace, cluster: Cluster | None, published: int | None) -> TraceAudit:
    """Audit a trace for a cluster, or for the number of GPUs that its publisher states."""
    evidence = Evidence(trace, cluster, published)
    findings = [check(evidence) for check in trace_checks().values()]
    findings.sort(key=lambda found: -VERDICTS.index(found.verdict))  # stable: then by rank
    return TraceAudit(trace.source, len(trace), tuple(findings))


def published_gpus(file: AnyFile | Sequence[AnyFile]) -> int | None:
    """Return the processors in the header of an SWF log, which are read as GPUs."""
    if not isinstance(file, str | os.PathLike):
        return None
    if Path(file).name.removesuffix(".gz").endswith(".swf"):
        found = _PROCESSORS.search(Source(file).text[:_HEAD])
        return int(found[1]) if found and int(found[1]) else None
    return None
