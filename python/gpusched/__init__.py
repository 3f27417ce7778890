"""A scheduling core for GPU clusters: jobs, a cluster and a policy in, an audited schedule out.

Start with :func:`read_trace` or :func:`generate`, :class:`Cluster`, and :func:`simulate` or
:func:`compare`; :func:`sweep` runs studies. Specialised functions are in public submodules:
:mod:`~gpusched.bounds`, :mod:`~gpusched.engine`, :mod:`~gpusched.gym`, :mod:`~gpusched.model`,
:mod:`~gpusched.online`, :mod:`~gpusched.plugins`, :mod:`~gpusched.prediction`,
:mod:`~gpusched.reporting`, :mod:`~gpusched.studies`, :mod:`~gpusched.testing` and
:mod:`~gpusched.traces`; charts are in :mod:`~gpusched.reporting.plot`, also
``gpusched.plot``. Names and submodules load on first use, which keeps the import fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names, serve_old_names

if TYPE_CHECKING:
    from gpusched import bounds as bounds
    from gpusched import engine as engine
    from gpusched import gym as gym
    from gpusched import model as model
    from gpusched import online as online
    from gpusched import plugins as plugins
    from gpusched import prediction as prediction
    from gpusched import reporting as reporting
    from gpusched import studies as studies
    from gpusched import testing as testing
    from gpusched import traces as traces
    from gpusched._core import InvariantError as InvariantError
    from gpusched._core import LogLimitError as LogLimitError
    from gpusched._core import Order as Order
    from gpusched._core import Placement as Placement
    from gpusched._core import Scheduler as Scheduler
    from gpusched._core import __version__ as __version__
    from gpusched.base.progress import Progress as Progress
    from gpusched.base.run_warning import RunWarning as RunWarning
    from gpusched.base.supervision import Cancelled as Cancelled
    from gpusched.engine.open_run import Simulation as Simulation
    from gpusched.engine.open_run import resume as resume
    from gpusched.engine.seams import unregister as unregister
    from gpusched.engine.simulation import run as run
    from gpusched.engine.simulation import simulate as simulate
    from gpusched.model.cluster import Cluster as Cluster
    from gpusched.model.cluster import Domain as Domain
    from gpusched.model.cluster import ServerGroup as ServerGroup
    from gpusched.model.outages import Outages as Outages
    from gpusched.model.outages import generate_outages as generate_outages
    from gpusched.online.decision import decide as decide
    from gpusched.online.starting import when as when
    from gpusched.plugins.policy import Policy as Policy
    from gpusched.plugins.registry import contentions as contentions
    from gpusched.plugins.registry import placements as placements
    from gpusched.plugins.registry import policies as policies
    from gpusched.plugins.registry import register_order as register_order
    from gpusched.plugins.registry import register_placement as register_placement
    from gpusched.plugins.registry import register_scheduler as register_scheduler
    from gpusched.plugins.registry import speeds as speeds
    from gpusched.prediction import Predictor as Predictor
    from gpusched.prediction import predictors as predictors
    from gpusched.prediction import register_predictor as register_predictor
    from gpusched.reporting import plot as plot
    from gpusched.reporting.report import write_report as write_report
    from gpusched.results.metric_registry import metrics as metrics
    from gpusched.results.metric_registry import register_metric as register_metric
    from gpusched.results.result import Result as Result
    from gpusched.results.result import load_result as load_result
    from gpusched.specs.run_spec import RunSpec as RunSpec
    from gpusched.studies.comparison import Comparison as Comparison
    from gpusched.studies.comparison import Interrupted as Interrupted
    from gpusched.studies.comparison import compare as compare
    from gpusched.studies.fidelity_grades import fidelity as fidelity
    from gpusched.studies.sizing import size as size
    from gpusched.studies.study import Study as Study
    from gpusched.studies.sweep import sweep as sweep
    from gpusched.studies.tune import tune as tune
    from gpusched.studies.what_if import whatif as whatif
    from gpusched.traces.generating.synthetic_traces import generate as generate
    from gpusched.traces.inventories import read_cluster as read_cluster
    from gpusched.traces.outages import read_outages as read_outages
    from gpusched.traces.reading import read_trace as read_trace
    from gpusched.traces.workload import Trace as Trace

_HOME = {
    "Cancelled": "base.supervision",
    "Cluster": "model.cluster",
    "Comparison": "studies.comparison",
    "Domain": "model.cluster",
    "Interrupted": "studies.comparison",
    "InvariantError": "_core",
    "LogLimitError": "_core",
    "Order": "_core",
    "Outages": "model.outages",
    "Placement": "_core",
    "Policy": "plugins.policy",
    "Predictor": "prediction",
    "Progress": "base.progress",
    "Result": "results.result",
    "RunSpec": "specs.run_spec",
    "RunWarning": "base.run_warning",
    "Scheduler": "_core",
    "ServerGroup": "model.cluster",
    "Simulation": "engine.open_run",
    "Study": "studies.study",
    "Trace": "traces.workload",
    "__version__": "_core",
    "compare": "studies.comparison",
    "contentions": "plugins.registry",
    "decide": "online.decision",
    "fidelity": "studies.fidelity_grades",
    "generate": "traces.generating.synthetic_traces",
    "generate_outages": "model.outages",
    "load_result": "results.result",
    "metrics": "results.metric_registry",
    "placements": "plugins.registry",
    "policies": "plugins.registry",
    "predictors": "prediction",
    "read_cluster": "traces.inventories",
    "read_outages": "traces.outages",
    "read_trace": "traces.reading",
    "register_metric": "results.metric_registry",
    "register_order": "plugins.registry",
    "register_placement": "plugins.registry",
    "register_predictor": "prediction",
    "register_scheduler": "plugins.registry",
    "resume": "engine.open_run",
    "run": "engine.simulation",
    "simulate": "engine.simulation",
    "size": "studies.sizing",
    "speeds": "plugins.registry",
    "sweep": "studies.sweep",
    "tune": "studies.tune",
    "unregister": "engine.seams",
    "whatif": "studies.what_if",
    "when": "online.starting",
    "write_report": "reporting.report",
}
_SUBMODULES = (
    "bounds",
    "engine",
    "gym",
    "model",
    "online",
    "plugins",
    "prediction",
    "reporting",
    "studies",
    "testing",
    "traces",
)
_OLD_ROOMS = {
    "clusters": "model",
    "deciding": "online",
    "generator": "traces.generating",
    "models": "model",
    "plot": "reporting.plot",
    "readable": "reference",
    "statistics": "studies",
    "sweeping": "studies",
    "tuning": "studies",
}

serve_old_names({f"gpusched.{old}": f"gpusched.{new}" for old, new in _OLD_ROOMS.items()})
__getattr__, __dir__, __all__ = lazy_names(
    "gpusched", _HOME, submodules=(*_SUBMODULES, *_OLD_ROOMS)
)
