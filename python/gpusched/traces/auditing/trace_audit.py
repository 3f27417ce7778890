"""Audits a trace, or the file of one."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.source import Source
from gpusched.traces.auditing.check_registry import trace_checks
from gpusched.traces.auditing.evidence import Evidence
from gpusched.traces.auditing.findings import VERDICTS, TraceAudit
from gpusched.traces.checked_columns import duplicate_ids_kept
from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster

_HEAD: Final = 100_000
_PROCESSORS: Final = re.compile(r"^;\s*MaxProcs:\s*(\d{1,9})\s*$", re.MULTILINE)


def audit_trace(
    trace: Trace | str | os.PathLike[str], cluster: Cluster | None = None, **options: Any
) -> TraceAudit:
    """Say what is wrong or odd in a trace: each check's verdict, with rows and effects.

    Not to be confused with :meth:`gpusched.Result.audit`, which judges a schedule.

    Parameters
    ----------
    trace
        A trace, or the path of its file. Of a file more can be told: an id that is there twice is
        a finding and no error, and the GPUs that an SWF header states are an inventory.
    cluster
        What the jobs are to run on; without it, nothing is said of demands that exceed it.
    options
        For a path, those of :func:`gpusched.read_trace`.

    Returns
    -------
    TraceAudit
        One finding per check, the worst first; ``print(audit)`` shows what is odd or wrong.

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
            raise TypeError(f"audit_trace: {next(iter(options))!r} is an option of reading a file")
    else:
        path = trace
        with duplicate_ids_kept():
            trace = read_trace(path, **options)
        if options.get("processors_per_gpu", 1) == 1:
            published = _published_gpus(path)
    evidence = Evidence(trace, cluster, published)
    findings = [check(evidence) for check in trace_checks().values()]
    findings.sort(key=lambda found: -VERDICTS.index(found.verdict))  # stable: then by rank
    return TraceAudit(trace.source, len(trace), tuple(findings))


def _published_gpus(path: str | os.PathLike[str]) -> int | None:
    """Return the processors that the header of an SWF log states, which are read as GPUs."""
    if Path(path).name.removesuffix(".gz").endswith(".swf"):
        found = _PROCESSORS.search(Source(path).text[:_HEAD])
        return int(found[1]) if found and int(found[1]) else None
    return None
