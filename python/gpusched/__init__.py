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
    from gpusched.base.supervision import Cancelled as Cancelled
    from gpusched.bounds.deadline_bounds import DeadlineBound as DeadlineBound
    from gpusched.bounds.deadline_bounds import deadline_bound as deadline_bound
    from gpusched.bounds.lower_bounds import lower_bounds as lower_bounds
    from gpusched.clusters.cluster import Cluster as Cluster
    from gpusched.clusters.cluster import ServerGroup as ServerGroup
    from gpusched.clusters.network import Domain as Domain
    from gpusched.clusters.topologies import read_topology as read_topology
    from gpusched.deciding.assignment import AssignmentSolver as AssignmentSolver
    from gpusched.deciding.assignment import Matching as Matching
    from gpusched.deciding.assignment import Transport as Transport
    from gpusched.deciding.assignment import assign as assign
    from gpusched.deciding.assignment import transport as transport
    from gpusched.deciding.batch_planning import Plan as Plan
    from gpusched.deciding.batch_planning import plan as plan
    from gpusched.deciding.deadline_jobs import DeadlineJob as DeadlineJob
    from gpusched.deciding.deadline_plan import DeadlinePlan as DeadlinePlan
    from gpusched.deciding.deadline_plan import DeadlineStep as DeadlineStep
    from gpusched.deciding.deadline_planning import plan_deadlines as plan_deadlines
    from gpusched.deciding.filling import fill as fill
    from gpusched.deciding.filling_result import FillResult as FillResult
    from gpusched.deciding.market import place_jobs as place_jobs
    from gpusched.deciding.market_decision import JobPlacement as JobPlacement
    from gpusched.engine.simulation import simulate as simulate
    from gpusched.generator.graph_zoo import assign_graphs as assign_graphs
    from gpusched.generator.graph_zoo import describe_graphs as describe_graphs
    from gpusched.generator.synthetic_traces import generate as generate
    from gpusched.models.calibration import Calibration as Calibration
    from gpusched.models.calibration import calibrate_ring as calibrate_ring
    from gpusched.models.calibration import read_pollux as read_pollux
    from gpusched.models.graph_models import graph_for as graph_for
    from gpusched.models.job_graphs import JobGraph as JobGraph
    from gpusched.models.job_graphs import Stage as Stage
    from gpusched.models.model_zoo import zoo as zoo
    from gpusched.models.profiles import JobProfile as JobProfile
    from gpusched.models.profiles import read_profiles as read_profiles
    from gpusched.models.throughput_files import read_throughputs as read_throughputs
    from gpusched.models.throughputs import Throughputs as Throughputs
    from gpusched.plugins.policy import ContentionChoice as ContentionChoice
    from gpusched.plugins.policy import PlacementChoice as PlacementChoice
    from gpusched.plugins.policy import Policy as Policy
    from gpusched.plugins.policy import SpeedChoice as SpeedChoice
    from gpusched.plugins.registry import PluginInfo as PluginInfo
    from gpusched.plugins.registry import contentions as contentions
    from gpusched.plugins.registry import placements as placements
    from gpusched.plugins.registry import policies as policies
    from gpusched.plugins.registry import register_order as register_order
    from gpusched.plugins.registry import register_placement as register_placement
    from gpusched.plugins.registry import register_scheduler as register_scheduler
    from gpusched.plugins.registry import speeds as speeds
    from gpusched.prediction import PredictionReport as PredictionReport
    from gpusched.prediction import Predictor as Predictor
    from gpusched.prediction import load_predictor as load_predictor
    from gpusched.prediction import predict as predict
    from gpusched.prediction import predictor as predictor
    from gpusched.prediction import predictors as predictors
    from gpusched.prediction import register_predictor as register_predictor
    from gpusched.reporting.report import write_report as write_report
    from gpusched.results.metric_registry import metrics as metrics
    from gpusched.results.metric_registry import register_metric as register_metric
    from gpusched.results.result import Result as Result
    from gpusched.results.result import load as load
    from gpusched.specs.run_spec import RunSpec as RunSpec
    from gpusched.specs.speed_limits import iteration_limits as iteration_limits
    from gpusched.studies.comparison import Comparison as Comparison
    from gpusched.studies.comparison import Interrupted as Interrupted
    from gpusched.studies.comparison import compare as compare
    from gpusched.traces.filling_requests import Requests as Requests
    from gpusched.traces.inventories import read_cluster as read_cluster
    from gpusched.traces.inventories import read_requests as read_requests
    from gpusched.traces.reading import read_trace as read_trace
    from gpusched.traces.smallest_cluster import smallest_cluster as smallest_cluster
    from gpusched.traces.workload import Trace as Trace

_HOME = {
    "AssignmentSolver": "deciding.assignment",
    "Calibration": "models.calibration",
    "Cancelled": "base.supervision",
    "Cluster": "clusters.cluster",
    "Comparison": "studies.comparison",
    "ContentionChoice": "plugins.policy",
    "DeadlineBound": "bounds.deadline_bounds",
    "DeadlineJob": "deciding.deadline_jobs",
    "DeadlinePlan": "deciding.deadline_plan",
    "DeadlineStep": "deciding.deadline_plan",
    "Domain": "clusters.network",
    "FillResult": "deciding.filling_result",
    "Interrupted": "studies.comparison",
    "InvariantError": "_core",
    "JobGraph": "models.job_graphs",
    "JobPlacement": "deciding.market_decision",
    "JobProfile": "models.profiles",
    "Matching": "deciding.assignment",
    "Order": "_core",
    "Placement": "_core",
    "PlacementChoice": "plugins.policy",
    "Plan": "deciding.batch_planning",
    "PluginInfo": "plugins.registry",
    "Policy": "plugins.policy",
    "PredictionReport": "prediction",
    "Predictor": "prediction",
    "Requests": "traces.filling_requests",
    "Result": "results.result",
    "RunSpec": "specs.run_spec",
    "Scheduler": "_core",
    "ServerGroup": "clusters.cluster",
    "SpeedChoice": "plugins.policy",
    "Stage": "models.job_graphs",
    "Throughputs": "models.throughputs",
    "Trace": "traces.workload",
    "Transport": "deciding.assignment",
    "__version__": "_core",
    "assign": "deciding.assignment",
    "assign_graphs": "generator.graph_zoo",
    "calibrate_ring": "models.calibration",
    "compare": "studies.comparison",
    "contentions": "plugins.registry",
    "deadline_bound": "bounds.deadline_bounds",
    "describe_graphs": "generator.graph_zoo",
    "fill": "deciding.filling",
    "generate": "generator.synthetic_traces",
    "graph_for": "models.graph_models",
    "iteration_limits": "specs.speed_limits",
    "load": "results.result",
    "load_predictor": "prediction",
    "lower_bounds": "bounds.lower_bounds",
    "metrics": "results.metric_registry",
    "place_jobs": "deciding.market",
    "placements": "plugins.registry",
    "plan": "deciding.batch_planning",
    "plan_deadlines": "deciding.deadline_planning",
    "policies": "plugins.registry",
    "predict": "prediction",
    "predictor": "prediction",
    "predictors": "prediction",
    "read_cluster": "traces.inventories",
    "read_pollux": "models.calibration",
    "read_profiles": "models.profiles",
    "read_requests": "traces.inventories",
    "read_throughputs": "models.throughput_files",
    "read_topology": "clusters.topologies",
    "read_trace": "traces.reading",
    "register_metric": "results.metric_registry",
    "register_order": "plugins.registry",
    "register_placement": "plugins.registry",
    "register_predictor": "prediction",
    "register_scheduler": "plugins.registry",
    "simulate": "engine.simulation",
    "smallest_cluster": "traces.smallest_cluster",
    "speeds": "plugins.registry",
    "transport": "deciding.assignment",
    "write_report": "reporting.report",
    "zoo": "models.model_zoo",
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
