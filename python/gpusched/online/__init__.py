"""Single decisions without a run: decide, when, assign, transport, place, plan, fill.

Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gpusched.base.lazy_names import lazy_names
from gpusched.base.libraries import need

_load, __dir__, __all__ = lazy_names(
    __name__,
    {
        "AssignmentSolver": "online.assignment",
        "ClusterDecision": "online.decision",
        "ClusterState": "online.cluster_state",
        "DeadlineJob": "online.deadline_plan",
        "DeadlinePlan": "online.deadline_plan",
        "DeadlineStep": "online.deadline_plan",
        "FillResult": "online.filling",
        "JobPlacement": "online.market",
        "Matching": "online.assignment",
        "Plan": "online.batch_plan",
        "Sooner": "online.starting",
        "StartCalibration": "online.starting",
        "StartForecast": "online.starting",
        "Transport": "online.assignment",
        "assign": "online.assignment",
        "calibrate_starts": "online.starting",
        "fill": "online.filling",
        "place_jobs": "online.market",
        "plan": "online.batch_plan",
        "plan_deadlines": "online.deadline_plan",
        "read_state": "online.states.state_formats",
        "state_schema": "online.decision_lines",
        "transport": "online.assignment",
        "when": "online.starting",
        "when_all": "online.starting",
        "write_state": "online.states.state_schema",
    },
)


def __getattr__(name: str) -> Any:
    if name != "exact":
        return _load(name)
    need("gpusched_papers", "gpusched.online.exact", "gpusched-papers")
    return import_module("gpusched_papers.exact")
