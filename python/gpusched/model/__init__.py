"""Clusters, and models of jobs: profiles, throughputs, graphs and the built-in zoo.

Names load on first use.
"""

from __future__ import annotations

from gpusched.base.lazy_names import lazy_names

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
