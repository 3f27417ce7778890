"""A scheduling core for GPU clusters: jobs, a cluster and a policy in, an audited schedule out.

Start with :func:`read_trace` or :func:`generate`, :class:`Cluster`, and :func:`simulate` or
:func:`compare`. Names are loaded on first use, so that importing the package costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpusched._core import InvariantError as InvariantError
    from gpusched._core import Order as Order
    from gpusched._core import Placement as Placement
    from gpusched._core import Scheduler as Scheduler
    from gpusched._core import __version__ as __version__
    from gpusched.assignment import AssignmentSolver as AssignmentSolver
    from gpusched.assignment import Matching as Matching
    from gpusched.assignment import Transport as Transport
    from gpusched.assignment import assign as assign
    from gpusched.assignment import transport as transport
    from gpusched.bounds import lower_bounds as lower_bounds
    from gpusched.calibration import Calibration as Calibration
    from gpusched.calibration import calibrate_ring as calibrate_ring
    from gpusched.calibration import read_pollux as read_pollux
    from gpusched.cluster import Cluster as Cluster
    from gpusched.cluster import ServerGroup as ServerGroup
    from gpusched.cluster import smallest_cluster as smallest_cluster
    from gpusched.deadline_bounds import DeadlineBound as DeadlineBound
    from gpusched.deadline_bounds import deadline_bound as deadline_bound
    from gpusched.deadline_plan import DeadlineJob as DeadlineJob
    from gpusched.deadline_plan import DeadlinePlan as DeadlinePlan
    from gpusched.deadline_plan import DeadlineStep as DeadlineStep
    from gpusched.deadline_plan import plan_deadlines as plan_deadlines
    from gpusched.filling import fill as fill
    from gpusched.filling_requests import Requests as Requests
    from gpusched.filling_result import FillResult as FillResult
    from gpusched.generator import generate as generate
    from gpusched.graph_models import graph_for as graph_for
    from gpusched.graph_zoo import assign_graphs as assign_graphs
    from gpusched.graph_zoo import describe_graphs as describe_graphs
    from gpusched.inventories import read_cluster as read_cluster
    from gpusched.inventories import read_requests as read_requests
    from gpusched.job_graphs import JobGraph as JobGraph
    from gpusched.job_graphs import Stage as Stage
    from gpusched.market import place_jobs as place_jobs
    from gpusched.market_decision import JobPlacement as JobPlacement
    from gpusched.model_zoo import zoo as zoo
    from gpusched.network import Domain as Domain
    from gpusched.planning import Plan as Plan
    from gpusched.planning import plan as plan
    from gpusched.plugins import PluginInfo as PluginInfo
    from gpusched.plugins import contentions as contentions
    from gpusched.plugins import placements as placements
    from gpusched.plugins import policies as policies
    from gpusched.plugins import register_order as register_order
    from gpusched.plugins import register_placement as register_placement
    from gpusched.plugins import register_scheduler as register_scheduler
    from gpusched.plugins import speeds as speeds
    from gpusched.policy import ContentionChoice as ContentionChoice
    from gpusched.policy import PlacementChoice as PlacementChoice
    from gpusched.policy import Policy as Policy
    from gpusched.policy import SpeedChoice as SpeedChoice
    from gpusched.prediction import PredictionReport as PredictionReport
    from gpusched.prediction import Predictor as Predictor
    from gpusched.prediction import load_predictor as load_predictor
    from gpusched.prediction import predict as predict
    from gpusched.prediction import predictor as predictor
    from gpusched.prediction import predictors as predictors
    from gpusched.prediction import register_predictor as register_predictor
    from gpusched.profiles import JobProfile as JobProfile
    from gpusched.profiles import read_profiles as read_profiles
    from gpusched.report import write_report as write_report
    from gpusched.result import Result as Result
    from gpusched.result_store import load as load
    from gpusched.simulation import simulate as simulate
    from gpusched.spec import RunSpec as RunSpec
    from gpusched.speed_limits import iteration_limits as iteration_limits
    from gpusched.study import Comparison as Comparison
    from gpusched.study import Interrupted as Interrupted
    from gpusched.study import compare as compare
    from gpusched.supervision import Cancelled as Cancelled
    from gpusched.throughput_files import read_throughputs as read_throughputs
    from gpusched.throughputs import Throughputs as Throughputs
    from gpusched.topologies import read_topology as read_topology
    from gpusched.traces import read_trace as read_trace
    from gpusched.workload import Trace as Trace

_HOME = {
    "AssignmentSolver": "assignment",
    "Calibration": "calibration",
    "Cancelled": "supervision",
    "Cluster": "cluster",
    "Comparison": "study",
    "ContentionChoice": "policy",
    "DeadlineBound": "deadline_bounds",
    "DeadlineJob": "deadline_plan",
    "DeadlinePlan": "deadline_plan",
    "DeadlineStep": "deadline_plan",
    "Domain": "network",
    "FillResult": "filling_result",
    "Interrupted": "study",
    "InvariantError": "_core",
    "JobGraph": "job_graphs",
    "JobPlacement": "market_decision",
    "JobProfile": "profiles",
    "Matching": "assignment",
    "Order": "_core",
    "Placement": "_core",
    "PlacementChoice": "policy",
    "Plan": "planning",
    "PluginInfo": "plugins",
    "Policy": "policy",
    "PredictionReport": "prediction",
    "Predictor": "prediction",
    "Requests": "filling_requests",
    "Result": "result",
    "RunSpec": "spec",
    "Scheduler": "_core",
    "ServerGroup": "cluster",
    "SpeedChoice": "policy",
    "Stage": "job_graphs",
    "Throughputs": "throughputs",
    "Trace": "workload",
    "Transport": "assignment",
    "__version__": "_core",
    "assign": "assignment",
    "assign_graphs": "graph_zoo",
    "calibrate_ring": "calibration",
    "compare": "study",
    "contentions": "plugins",
    "deadline_bound": "deadline_bounds",
    "describe_graphs": "graph_zoo",
    "fill": "filling",
    "generate": "generator",
    "graph_for": "graph_models",
    "iteration_limits": "speed_limits",
    "load": "result_store",
    "load_predictor": "prediction",
    "lower_bounds": "bounds",
    "place_jobs": "market",
    "placements": "plugins",
    "plan": "planning",
    "plan_deadlines": "deadline_plan",
    "policies": "plugins",
    "predict": "prediction",
    "predictor": "prediction",
    "predictors": "prediction",
    "read_cluster": "inventories",
    "read_pollux": "calibration",
    "read_profiles": "profiles",
    "read_requests": "inventories",
    "read_throughputs": "throughput_files",
    "read_topology": "topologies",
    "read_trace": "traces",
    "register_order": "plugins",
    "register_placement": "plugins",
    "register_predictor": "prediction",
    "register_scheduler": "plugins",
    "simulate": "simulation",
    "smallest_cluster": "cluster",
    "speeds": "plugins",
    "transport": "assignment",
    "write_report": "report",
    "zoo": "model_zoo",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'gpusched' has no attribute {name!r}")
    value = getattr(import_module(f"gpusched.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
