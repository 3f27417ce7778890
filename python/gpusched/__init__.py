"""A scheduling core for GPU clusters: jobs, a cluster and a policy in, an audited schedule out.

Start with :func:`read_trace` or :func:`generate`, :class:`Cluster`, and :func:`simulate` or
:func:`compare`; :func:`sweep` does many runs. What fewer people need is in public submodules:
:mod:`~gpusched.deciding`, :mod:`~gpusched.models`, :mod:`~gpusched.bounds`,
:mod:`~gpusched.prediction`, :mod:`~gpusched.clusters`, :mod:`~gpusched.traces`,
:mod:`~gpusched.generator`, :mod:`~gpusched.statistics`, :mod:`~gpusched.testing`,
:mod:`~gpusched.gym` and :mod:`~gpusched.plot`. Names and
submodules are loaded on first use, so that importing the package costs little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched import bounds as bounds
    from gpusched import clusters as clusters
    from gpusched import deciding as deciding
    from gpusched import generator as generator
    from gpusched import gym as gym
    from gpusched import models as models
    from gpusched import plot as plot
    from gpusched import prediction as prediction
    from gpusched import statistics as statistics
    from gpusched import testing as testing
    from gpusched import traces as traces
    from gpusched._core import Actions as Actions
    from gpusched._core import Allocation as Allocation
    from gpusched._core import FreeGpus as FreeGpus
    from gpusched._core import InvariantError as InvariantError
    from gpusched._core import Order as Order
    from gpusched._core import Part as Part
    from gpusched._core import Placement as Placement
    from gpusched._core import Request as Request
    from gpusched._core import Scheduler as Scheduler
    from gpusched._core import State as State
    from gpusched._core import __version__ as __version__
    from gpusched.base.progress import Progress as Progress
    from gpusched.base.run_warning import RunWarning as RunWarning
    from gpusched.base.supervision import Cancelled as Cancelled
    from gpusched.clusters.cluster import Cluster as Cluster
    from gpusched.clusters.cluster import ServerGroup as ServerGroup
    from gpusched.clusters.network import Domain as Domain
    from gpusched.deciding.cluster_state import ClusterState as ClusterState
    from gpusched.deciding.decision import ClusterDecision as ClusterDecision
    from gpusched.deciding.decision import decide as decide
    from gpusched.deciding.start_forecast import Sooner as Sooner
    from gpusched.deciding.start_forecast import StartForecast as StartForecast
    from gpusched.deciding.starting import when as when
    from gpusched.deciding.states.reading import read_state as read_state
    from gpusched.deciding.states.schemas import state_schema as state_schema
    from gpusched.engine.open_run import Simulation as Simulation
    from gpusched.engine.open_run import resume as resume
    from gpusched.engine.open_state import SimulationState as SimulationState
    from gpusched.engine.simulation import run as run
    from gpusched.engine.simulation import simulate as simulate
    from gpusched.engine.stepped_run import SimulationEvent as SimulationEvent
    from gpusched.generator.synthetic_traces import generate as generate
    from gpusched.plugins.info import PluginInfo as PluginInfo
    from gpusched.plugins.policy import ContentionChoice as ContentionChoice
    from gpusched.plugins.policy import PlacementChoice as PlacementChoice
    from gpusched.plugins.policy import Policy as Policy
    from gpusched.plugins.policy import SpeedChoice as SpeedChoice
    from gpusched.plugins.registering import register_order as register_order
    from gpusched.plugins.registering import register_placement as register_placement
    from gpusched.plugins.registering import register_scheduler as register_scheduler
    from gpusched.plugins.registry import contentions as contentions
    from gpusched.plugins.registry import placements as placements
    from gpusched.plugins.registry import policies as policies
    from gpusched.plugins.registry import speeds as speeds
    from gpusched.prediction import Predictor as Predictor
    from gpusched.prediction import predictors as predictors
    from gpusched.prediction import register_predictor as register_predictor
    from gpusched.reporting.report import write_report as write_report
    from gpusched.reporting.sizing_page import write_sizing as write_sizing
    from gpusched.reporting.sweeps.sweep_page import write_sweep as write_sweep
    from gpusched.reporting.tuning_page import write_tuning as write_tuning
    from gpusched.results.metric_registry import metrics as metrics
    from gpusched.results.metric_registry import register_metric as register_metric
    from gpusched.results.result import Result as Result
    from gpusched.results.result import load_result as load_result
    from gpusched.specs.run_spec import RunSpec as RunSpec
    from gpusched.studies.comparison import compare as compare
    from gpusched.studies.comparison_result import Comparison as Comparison
    from gpusched.studies.comparison_result import Interrupted as Interrupted
    from gpusched.studies.fidelity.fidelity import fidelity as fidelity
    from gpusched.studies.fidelity.fidelity_result import Fidelity as Fidelity
    from gpusched.studies.sizing.sizing import size as size
    from gpusched.studies.sizing.sizing_result import Sizing as Sizing
    from gpusched.studies.whatif.whatif import whatif as whatif
    from gpusched.studies.whatif.whatif_result import WhatIf as WhatIf
    from gpusched.sweeping.status import sweep_status as sweep_status
    from gpusched.sweeping.study import Study as Study
    from gpusched.sweeping.sweep import sweep as sweep
    from gpusched.sweeping.sweep_result import SweepResult as SweepResult
    from gpusched.traces.inventories import read_cluster as read_cluster
    from gpusched.traces.reading import read_trace as read_trace
    from gpusched.traces.workload import Trace as Trace
    from gpusched.tuning.tune import tune as tune
    from gpusched.tuning.tuning_result import Tuning as Tuning

_HOME = {
    "Actions": "_core",
    "Allocation": "_core",
    "Cancelled": "base.supervision",
    "Cluster": "clusters.cluster",
    "ClusterDecision": "deciding.decision",
    "ClusterState": "deciding.cluster_state",
    "Comparison": "studies.comparison_result",
    "ContentionChoice": "plugins.policy",
    "Domain": "clusters.network",
    "Fidelity": "studies.fidelity.fidelity_result",
    "FreeGpus": "_core",
    "Interrupted": "studies.comparison_result",
    "InvariantError": "_core",
    "Order": "_core",
    "Part": "_core",
    "Placement": "_core",
    "PlacementChoice": "plugins.policy",
    "PluginInfo": "plugins.info",
    "Policy": "plugins.policy",
    "Predictor": "prediction",
    "Progress": "base.progress",
    "Request": "_core",
    "Result": "results.result",
    "RunSpec": "specs.run_spec",
    "RunWarning": "base.run_warning",
    "Scheduler": "_core",
    "ServerGroup": "clusters.cluster",
    "Simulation": "engine.open_run",
    "SimulationEvent": "engine.stepped_run",
    "SimulationState": "engine.open_state",
    "Sizing": "studies.sizing.sizing_result",
    "Sooner": "deciding.start_forecast",
    "SpeedChoice": "plugins.policy",
    "StartForecast": "deciding.start_forecast",
    "State": "_core",
    "Study": "sweeping.study",
    "SweepResult": "sweeping.sweep_result",
    "Trace": "traces.workload",
    "Tuning": "tuning.tuning_result",
    "WhatIf": "studies.whatif.whatif_result",
    "__version__": "_core",
    "compare": "studies.comparison",
    "contentions": "plugins.registry",
    "decide": "deciding.decision",
    "fidelity": "studies.fidelity.fidelity",
    "generate": "generator.synthetic_traces",
    "load_result": "results.result",
    "metrics": "results.metric_registry",
    "placements": "plugins.registry",
    "policies": "plugins.registry",
    "predictors": "prediction",
    "read_cluster": "traces.inventories",
    "read_state": "deciding.states.reading",
    "read_trace": "traces.reading",
    "register_metric": "results.metric_registry",
    "register_order": "plugins.registering",
    "register_placement": "plugins.registering",
    "register_predictor": "prediction",
    "register_scheduler": "plugins.registering",
    "resume": "engine.open_run",
    "run": "engine.simulation",
    "simulate": "engine.simulation",
    "size": "studies.sizing.sizing",
    "speeds": "plugins.registry",
    "state_schema": "deciding.states.schemas",
    "sweep": "sweeping.sweep",
    "sweep_status": "sweeping.status",
    "tune": "tuning.tune",
    "whatif": "studies.whatif.whatif",
    "when": "deciding.starting",
    "write_report": "reporting.report",
    "write_sizing": "reporting.sizing_page",
    "write_sweep": "reporting.sweeps.sweep_page",
    "write_tuning": "reporting.tuning_page",
}
_SUBMODULES = (
    "bounds",
    "clusters",
    "deciding",
    "generator",
    "gym",
    "models",
    "plot",
    "prediction",
    "statistics",
    "testing",
    "traces",
)
# What stood here, by the submodule that has it.
_MOVED = {
    "bounds": "DeadlineBound deadline_bound iteration_limits lower_bounds",
    "clusters": "read_topology",
    "deciding": (
        "AssignmentSolver DeadlineJob DeadlinePlan DeadlineStep FillResult JobPlacement "
        "Matching Plan Transport assign fill place_jobs plan plan_deadlines transport"
    ),
    "generator": "assign_graphs describe_graphs",
    "models": (
        "Calibration JobGraph JobProfile Stage Throughputs calibrate_ring graph_for "
        "read_pollux read_profiles read_throughputs zoo"
    ),
    "prediction": "PredictionReport load_predictor predict predictor",
    "traces": "Requests read_requests smallest_cluster",
}

__getattr__, __dir__, __all__ = lazy_names(
    "gpusched",
    _HOME,
    submodules=_SUBMODULES,
    moved={
        "load": "gpusched.load_result",
        **{
            name: f"gpusched.{room}.{name}"
            for room, names in _MOVED.items()
            for name in names.split()
        },
    },
)
