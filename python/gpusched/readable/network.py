"""The links between servers, and which of them a ring of GPUs uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusched.readable.model import Allocation

Link = tuple[str, int]
"""("nic", server) or ("uplink", domain)."""


@dataclass(frozen=True)
class Network:
    """Bandwidths in Gbit/s, by server and by domain; the domains form a tree, or there are none."""

    nic_gbps: Sequence[float]
    intra_gbps: Sequence[float]
    server_domain: Sequence[int] = ()
    domain_parent: Sequence[int | None] = ()
    uplink_gbps: Sequence[float | None] = ()

    def nic(self, server: int) -> float:
        """Return bytes per second between a server and the network."""
        return self.nic_gbps[server] * 1e9 / 8

    def intra(self, server: int) -> float:
        """Return bytes per second between the GPUs of a server."""
        return self.intra_gbps[server] * 1e9 / 8

    def bandwidth(self, link: Link) -> float:
        """Return bytes per second."""
        kind, index = link
        if kind == "nic":
            return self.nic(index)
        gbps = self.uplink_gbps[index]
        assert gbps is not None
        return gbps * 1e9 / 8

    def is_behind(self, server: int, link: Link) -> bool:
        """Whether what the server sends to the rest of the cluster passes the link."""
        kind, index = link
        if kind == "nic":
            return server == index
        domain: int | None = self.server_domain[server]
        while domain is not None and domain != index:
            domain = self.domain_parent[domain]
        return domain == index

    def gpus_behind(self, link: Link, gpus: dict[int, int]) -> int:
        """Return how many of ``gpus``, by server, are behind the link."""
        return sum(count for server, count in gpus.items() if self.is_behind(server, link))

    def links(self, allocation: Allocation) -> list[Link]:
        """Return the links of a ring: none on one server."""
        if len(allocation) < 2:
            return []
        gpus = {server: mask.bit_count() for server, mask in allocation.items()}
        uplinks = [
            ("uplink", d) for d, parent in enumerate(self.domain_parent) if parent is not None
        ]
        crossed = [up for up in uplinks if 0 < self.gpus_behind(up, gpus) < sum(gpus.values())]
        return [("nic", server) for server in sorted(gpus)] + crossed
