"""Traces (jobs as columns), their files, audits and generators.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.traces.anonymising import anonymise as anonymise
    from gpusched.traces.auditing.check_registry import trace_checks as trace_checks
    from gpusched.traces.auditing.findings import TraceAudit as TraceAudit
    from gpusched.traces.auditing.trace_audit import audit_trace as audit_trace
    from gpusched.traces.cluster_sizing import smallest_cluster as smallest_cluster
    from gpusched.traces.filling_requests import Requests as Requests
    from gpusched.traces.inventories import read_requests as read_requests
    from gpusched.traces.reading import read_trace as read_trace
    from gpusched.traces.workload import Trace as Trace

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Requests": "traces.filling_requests",
        "Trace": "traces.workload",
        "TraceAudit": "traces.auditing.findings",
        "anonymise": "traces.anonymising",
        "audit_trace": "traces.auditing.trace_audit",
        "read_requests": "traces.inventories",
        "read_trace": "traces.reading",
        "smallest_cluster": "traces.cluster_sizing",
        "trace_checks": "traces.auditing.check_registry",
    },
    submodules=("generating",),
)
