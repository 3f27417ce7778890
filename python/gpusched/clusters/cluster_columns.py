"""The fields of a cluster, and its servers and network as the columns that the core reads."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int32, Int64, read_only
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE
from gpusched.clusters.network import BYTES_PER_S_PER_GBPS, Domain, parents, uplinks
from gpusched.clusters.server_group import ServerGroup

MAX_CAPACITY: Final = 2**62
"""What a server may have, in thousandths of a core or MiB: as good as no limit."""


class ClusterColumns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Groups of servers in a network, see :class:`~gpusched.clusters.cluster.Cluster`."""

    servers: tuple[ServerGroup, ...]
    name: str = "cluster"
    domains: tuple[Domain, ...] = ()

    @property
    def num_servers(self) -> int:
        """Number of servers."""
        return sum(group.count for group in self.servers)

    @property
    def num_gpus(self) -> int:
        """Number of GPUs."""
        return sum(group.count * group.gpus for group in self.servers)

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """Distinct GPU types in order of first appearance."""
        return tuple(dict.fromkeys(group.gpu_type for group in self.servers))

    @property
    def server_gpus(self) -> Int32:
        """int32[num_servers]: GPUs of each server."""
        return self._per_server([group.gpus for group in self.servers])

    @property
    def server_type(self) -> Int32:
        """int32[num_servers]: index in :attr:`gpu_types` of each server's GPUs."""
        index = {name: position for position, name in enumerate(self.gpu_types)}
        return self._per_server([index[group.gpu_type] for group in self.servers])

    @property
    def server_nic_bytes_per_s(self) -> Float64 | None:
        """float64[num_servers]: bytes/s of each network card, NaN where not given."""
        return self._bandwidth([group.nic_gbps for group in self.servers])

    @property
    def server_intra_bytes_per_s(self) -> Float64 | None:
        """float64[num_servers]: bytes/s between the GPUs of each server, in the same way."""
        return self._bandwidth([group.intra_gbps for group in self.servers])

    @property
    def server_domain(self) -> Int32 | None:
        """int32[num_servers]: index in ``domains`` of what each server is in."""
        if not self.domains:
            return None
        index = {domain.name: position for position, domain in enumerate(self.domains)}
        return self._per_server([index[str(group.domain)] for group in self.servers])

    @property
    def domain_parent(self) -> Int32 | None:
        """int32[num_domains]: index in ``domains`` of each parent, -1 for the root's."""
        return parents(self.domains) if self.domains else None

    @property
    def domain_uplink_bytes_per_s(self) -> Float64 | None:
        """float64[num_domains]: bytes/s of each uplink, infinite for the root."""
        return uplinks(self.servers, self.domains) if self.domains else None

    @property
    def server_cpu_milli(self) -> Int64 | None:
        """int64[num_servers]: thousandths of a CPU core of each server, -1 where not given."""
        return self._capacity([group.cpu for group in self.servers], MILLI_PER_CORE)

    @property
    def server_memory_mib(self) -> Int64 | None:
        """int64[num_servers]: MiB of memory of each server, -1 where not given."""
        return self._capacity([group.memory_gib for group in self.servers], MIB_PER_GIB)

    def core_columns(self) -> dict[str, AnyArray | None]:
        """Return what the core's cluster takes as keywords beside its GPUs.

        Returns
        -------
        dict
            The network, None where not given; CPU and memory only where given.

        Examples
        --------
        >>> gs.Cluster.uniform(2, 8, cpu=96).core_columns()["cpu_milli"].tolist()
        [96000, 96000]
        """
        capacity = {"cpu_milli": self.server_cpu_milli, "memory_mib": self.server_memory_mib}
        return {
            **{name: amounts for name, amounts in capacity.items() if amounts is not None},
            "nic_bytes_per_s": self.server_nic_bytes_per_s,
            "intra_bytes_per_s": self.server_intra_bytes_per_s,
            "server_domain": self.server_domain,
            "domain_parent": self.domain_parent,
            "uplink_bytes_per_s": self.domain_uplink_bytes_per_s,
        }

    def _bandwidth(self, gbps: list[float | None]) -> Float64 | None:
        if all(value is None for value in gbps):
            return None
        rates = [np.nan if value is None else value * BYTES_PER_S_PER_GBPS for value in gbps]
        counts = [group.count for group in self.servers]
        return read_only(np.repeat(np.array(rates), counts))

    def _capacity(self, amounts: list[float | None], units: int) -> Int64 | None:
        if all(amount is None for amount in amounts):
            return None
        # Rounded down: what a server has is never more than it says.
        whole = [
            -1 if amount is None else min(int(amount * units), MAX_CAPACITY) for amount in amounts
        ]
        counts = [group.count for group in self.servers]
        return read_only(np.repeat(np.array(whole, dtype=np.int64), counts))

    def _per_server(self, values: list[int]) -> Int32:
        counts = [group.count for group in self.servers]
        return read_only(np.repeat(np.array(values, dtype=np.int32), counts))
