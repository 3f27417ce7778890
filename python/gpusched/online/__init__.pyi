from typing import Any

from gpusched.online.assignment import AssignmentSolver as AssignmentSolver
from gpusched.online.assignment import Matching as Matching
from gpusched.online.assignment import Transport as Transport
from gpusched.online.assignment import assign as assign
from gpusched.online.assignment import transport as transport
from gpusched.online.batch_plan import Plan as Plan
from gpusched.online.batch_plan import plan as plan
from gpusched.online.cluster_state import ClusterState as ClusterState
from gpusched.online.deadline_plan import DeadlineJob as DeadlineJob
from gpusched.online.deadline_plan import DeadlinePlan as DeadlinePlan
from gpusched.online.deadline_plan import DeadlineStep as DeadlineStep
from gpusched.online.deadline_plan import plan_deadlines as plan_deadlines
from gpusched.online.decision import ClusterDecision as ClusterDecision
from gpusched.online.decision_lines import state_schema as state_schema
from gpusched.online.filling import FillResult as FillResult
from gpusched.online.filling import fill as fill
from gpusched.online.market import JobPlacement as JobPlacement
from gpusched.online.market import place_jobs as place_jobs
from gpusched.online.starting import Sooner as Sooner
from gpusched.online.starting import StartCalibration as StartCalibration
from gpusched.online.starting import StartForecast as StartForecast
from gpusched.online.starting import calibrate_starts as calibrate_starts
from gpusched.online.starting import when as when
from gpusched.online.starting import when_all as when_all
from gpusched.online.states.state_formats import read_state as read_state
from gpusched.online.states.state_schema import write_state as write_state

__all__: list[str]

def __getattr__(name: str) -> Any: ...
