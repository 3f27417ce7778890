"""Single decisions without a run: decide, when, assign, transport, place, plan, fill.

Names are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpusched.base.lazy_names import lazy_names
from gpusched.base.libraries import need

if TYPE_CHECKING:
    from gpusched.deciding.assignment import AssignmentSolver as AssignmentSolver
    from gpusched.deciding.assignment import Matching as Matching
    from gpusched.deciding.assignment import Transport as Transport
    from gpusched.deciding.assignment import assign as assign
    from gpusched.deciding.assignment import transport as transport
    from gpusched.deciding.batch_plan import Plan as Plan
    from gpusched.deciding.batch_plan import plan as plan
    from gpusched.deciding.cluster_state import ClusterState as ClusterState
    from gpusched.deciding.deadline_plan import DeadlineJob as DeadlineJob
    from gpusched.deciding.deadline_plan import DeadlinePlan as DeadlinePlan
    from gpusched.deciding.deadline_plan import DeadlineStep as DeadlineStep
    from gpusched.deciding.deadline_plan import plan_deadlines as plan_deadlines
    from gpusched.deciding.decision import ClusterDecision as ClusterDecision
    from gpusched.deciding.filling import FillResult as FillResult
    from gpusched.deciding.filling import fill as fill
    from gpusched.deciding.market import JobPlacement as JobPlacement
    from gpusched.deciding.market import place_jobs as place_jobs
    from gpusched.deciding.starting import Sooner as Sooner
    from gpusched.deciding.starting import StartForecast as StartForecast
    from gpusched.deciding.starting import when as when
    from gpusched.deciding.states.reading import read_state as read_state
    from gpusched.deciding.states.schemas import state_schema as state_schema

_load, __dir__, __all__ = lazy_names(
    __name__,
    {
        "AssignmentSolver": "deciding.assignment",
        "ClusterDecision": "deciding.decision",
        "ClusterState": "deciding.cluster_state",
        "DeadlineJob": "deciding.deadline_plan",
        "DeadlinePlan": "deciding.deadline_plan",
        "DeadlineStep": "deciding.deadline_plan",
        "FillResult": "deciding.filling",
        "JobPlacement": "deciding.market",
        "Matching": "deciding.assignment",
        "Plan": "deciding.batch_plan",
        "Sooner": "deciding.starting",
        "StartForecast": "deciding.starting",
        "Transport": "deciding.assignment",
        "assign": "deciding.assignment",
        "fill": "deciding.filling",
        "place_jobs": "deciding.market",
        "plan": "deciding.batch_plan",
        "plan_deadlines": "deciding.deadline_plan",
        "read_state": "deciding.states.reading",
        "state_schema": "deciding.states.schemas",
        "transport": "deciding.assignment",
        "when": "deciding.starting",
    },
)


def __getattr__(name: str) -> Any:
    if name != "exact":
        return _load(name)
    need("gpusched_papers", "gpusched.deciding.exact", "gpusched-papers")
    return import_module("gpusched_papers.exact")
