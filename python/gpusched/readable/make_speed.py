"""The speeds by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpusched.readable.cluster_state import Cluster
from gpusched.readable.network import Network
from gpusched.readable.proportional import Proportional
from gpusched.readable.speeds import CONTENTIONS, Fixed, Ring, Speed
from gpusched.readable.stages import Stages
from gpusched.readable.tables import Table

ON_LINKS: dict[str, Callable[..., Speed]] = {"ring": Ring, "stages": Stages}


def make_speed(
    cluster: Cluster,
    network: Network | None,
    name: str,
    params: Mapping[str, Any],
    contention: str,
    contention_params: Mapping[str, Any],
) -> Speed:
    """Return the speed of these names and parameters."""
    if contention not in CONTENTIONS:
        raise ValueError(f"unknown contention {contention!r}")
    if name == "fixed":
        if contention != "none":
            raise ValueError(f"contention {contention}: no link matters to the speed fixed")
        return Fixed()
    if name not in (*ON_LINKS, "table", "proportional"):
        raise ValueError(f"unknown speed {name!r}")
    if cluster.pooled:
        raise ValueError("count: a pool has no servers, so that no speed but fixed is defined")
    if name == "table":
        return Table(cluster)
    if name == "proportional":
        return Proportional(
            cluster, network, CONTENTIONS[contention](**contention_params), **params
        )
    if network is None:
        raise ValueError(f"speed {name}: the cluster needs a network")
    return ON_LINKS[name](cluster, network, CONTENTIONS[contention](**contention_params), **params)
