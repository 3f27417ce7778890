from typing import Any

from gpusched.traces.anonymising import anonymise as anonymise
from gpusched.traces.auditing.check_registry import trace_checks as trace_checks
from gpusched.traces.auditing.findings import TraceAudit as TraceAudit
from gpusched.traces.auditing.trace_audit import audit_trace as audit_trace
from gpusched.traces.cluster_sizing import smallest_cluster as smallest_cluster
from gpusched.traces.filling_requests import Requests as Requests
from gpusched.traces.inventories import read_requests as read_requests
from gpusched.traces.reading import read_trace as read_trace
from gpusched.traces.workload import Trace as Trace

__all__: list[str]

def __getattr__(name: str) -> Any: ...
