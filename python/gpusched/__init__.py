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
    from gpusched.bounds import lower_bounds as lower_bounds
    from gpusched.cluster import Cluster as Cluster
    from gpusched.cluster import ServerGroup as ServerGroup
    from gpusched.cluster import smallest_cluster as smallest_cluster
    from gpusched.generator import generate as generate
    from gpusched.plugins import PluginInfo as PluginInfo
    from gpusched.plugins import placements as placements
    from gpusched.plugins import policies as policies
    from gpusched.plugins import register_order as register_order
    from gpusched.plugins import register_placement as register_placement
    from gpusched.plugins import register_scheduler as register_scheduler
    from gpusched.policy import PlacementChoice as PlacementChoice
    from gpusched.policy import Policy as Policy
    from gpusched.report import write_report as write_report
    from gpusched.result import Result as Result
    from gpusched.result_store import load as load
    from gpusched.simulation import simulate as simulate
    from gpusched.spec import RunSpec as RunSpec
    from gpusched.study import Comparison as Comparison
    from gpusched.study import compare as compare
    from gpusched.traces import read_trace as read_trace
    from gpusched.workload import Trace as Trace

_HOME = {
    "Cluster": "cluster",
    "Comparison": "study",
    "InvariantError": "_core",
    "Order": "_core",
    "Placement": "_core",
    "PlacementChoice": "policy",
    "PluginInfo": "plugins",
    "Policy": "policy",
    "Result": "result",
    "RunSpec": "spec",
    "Scheduler": "_core",
    "ServerGroup": "cluster",
    "Trace": "workload",
    "__version__": "_core",
    "compare": "study",
    "generate": "generator",
    "load": "result_store",
    "lower_bounds": "bounds",
    "placements": "plugins",
    "policies": "plugins",
    "read_trace": "traces",
    "register_order": "plugins",
    "register_placement": "plugins",
    "register_scheduler": "plugins",
    "simulate": "simulation",
    "smallest_cluster": "cluster",
    "write_report": "report",
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
