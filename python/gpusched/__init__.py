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

from gpusched.base.lazy_names import lazy_names, serve_old_names

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
