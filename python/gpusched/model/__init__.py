"""Clusters, and models of jobs: profiles, throughputs, graphs and the built-in zoo.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster as Cluster
    from gpusched.model.cluster import Domain as Domain
    from gpusched.model.cluster import ServerGroup as ServerGroup
    from gpusched.model.job_graphs import JobGraph as JobGraph
    from gpusched.model.job_graphs import Stage as Stage
    from gpusched.model.model_zoo import graph_for as graph_for
    from gpusched.model.model_zoo import zoo as zoo
    from gpusched.model.profiles import JobProfile as JobProfile
    from gpusched.model.profiles import read_profiles as read_profiles
    from gpusched.model.throughputs import Throughputs as Throughputs
    from gpusched.model.throughputs import read_pollux as read_pollux
    from gpusched.model.throughputs import read_throughputs as read_throughputs
    from gpusched.model.topologies import read_topology as read_topology

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Cluster": "model.cluster",
        "Domain": "model.cluster",
        "JobGraph": "model.job_graphs",
        "JobProfile": "model.profiles",
        "ServerGroup": "model.cluster",
        "Stage": "model.job_graphs",
        "Throughputs": "model.throughputs",
        "graph_for": "model.model_zoo",
        "read_pollux": "model.throughputs",
        "read_profiles": "model.profiles",
        "read_throughputs": "model.throughputs",
        "read_topology": "model.topologies",
        "zoo": "model.model_zoo",
    },
)
