"""Clusters: servers, their network, and the columns that the core reads of them.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster as Cluster
    from gpusched.clusters.cluster import Domain as Domain
    from gpusched.clusters.cluster import ServerGroup as ServerGroup
    from gpusched.clusters.topologies import read_topology as read_topology

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Cluster": "clusters.cluster",
        "Domain": "clusters.cluster",
        "ServerGroup": "clusters.cluster",
        "read_topology": "clusters.topologies",
    },
)
