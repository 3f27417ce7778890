"""Traces (jobs as columns), their files, audits and generators.

Names are loaded on first use.
"""

from __future__ import annotations

from gpusched.base.lazy_names import lazy_names

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
