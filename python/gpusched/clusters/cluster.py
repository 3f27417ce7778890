"""The cluster: groups of equal servers in a network, frozen and strictly decoded from TOML."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from gpusched.base.field_checks import check_integer
from gpusched.base.files import decode_toml, naming
from gpusched.base.source import Source
from gpusched.clusters.cluster_columns import ClusterColumns
from gpusched.clusters.network import Domain, check_domains, racks
from gpusched.clusters.server_group import MAX_SERVERS, ServerGroup

__all__ = ["Cluster", "Domain", "ServerGroup"]

MAX_GPU_TYPES: Final = 64


class Cluster(ClusterColumns, frozen=True, forbid_unknown_fields=True):
    """Servers in groups; server ids count through the groups in order.

    Attributes
    ----------
    servers
        The groups, at least one; at most 262,144 servers and 64 GPU types in all.
    name
        A title.
    domains
        The tree that the network is, in any order; empty: the network cards are all there is.
        Every group of servers then names the domain it is in, and every domain holds servers.

    Raises
    ------
    TypeError, ValueError
        If a field is of a wrong type or out of range, or the domains are not one tree; the
        message names the field, such as ``domains[2].parent``.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.servers, tuple) or not all(
            isinstance(group, ServerGroup) for group in self.servers
        ):
            raise TypeError("servers: must be a tuple of ServerGroup")
        if not isinstance(self.name, str):
            raise TypeError(f"name: {self.name!r} must be text")
        if not self.servers:
            raise ValueError("servers: there must be at least one group of servers")
        if self.num_servers > MAX_SERVERS:
            raise ValueError(f"servers: {self.num_servers:,} are more than {MAX_SERVERS:,}")
        if len(self.gpu_types) > MAX_GPU_TYPES:
            raise ValueError(
                f"servers: {len(self.gpu_types)} GPU types are more than {MAX_GPU_TYPES}"
            )
        if not isinstance(self.domains, tuple) or not all(
            isinstance(domain, Domain) for domain in self.domains
        ):
            raise TypeError("domains: must be a tuple of Domain")
        check_domains(self.servers, self.domains)

    @classmethod
    def uniform(
        cls,
        servers: int,
        gpus: int = 8,
        gpu_type: str = "gpu",
        *,
        cpu: float | None = None,
        memory_gib: float | None = None,
        nic_gbps: float | None = None,
        intra_gbps: float | None = None,
        name: str = "cluster",
    ) -> Cluster:
        """Return a cluster of ``servers`` equal servers; parameters as in :class:`ServerGroup`.

        Returns
        -------
        Cluster
            One group of servers, without domains.

        Raises
        ------
        ValueError
            If a value is out of range; the message names it.

        Examples
        --------
        >>> gs.Cluster.uniform(4, 8, "V100").num_gpus
        32
        """
        check_integer("servers", servers, 1, MAX_SERVERS)
        group = ServerGroup(servers, gpus, gpu_type, cpu, memory_gib, nic_gbps, intra_gbps)
        return cls((group,), name)

    @classmethod
    def from_toml(cls, text: str, source: str = "cluster") -> Cluster:
        """Decode TOML text; a file is read by :func:`gpusched.read_cluster`.

        Returns
        -------
        Cluster
            The servers, and the domains if there are any.

        Raises
        ------
        ValueError
            If it is not TOML, or a field is unknown, missing, of a wrong type or out of range;
            the message names ``source`` and the path of the field.

        Examples
        --------
        >>> gs.Cluster.from_toml("servers = [{count = 2, gpus = 8}]").num_gpus
        16
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected TOML text, not {text!r}; gs.read_cluster reads files")
        if text.endswith(".toml"):
            raise ValueError(f"text: {text!r} is no TOML; gs.read_cluster reads files")
        return _decode(text, source)

    def to_toml(self) -> str:
        """Return TOML text that :meth:`from_toml` turns back into an equal cluster.

        Returns
        -------
        str
            Ends in a line break.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(2, 8, "V100")
        >>> gs.Cluster.from_toml(cluster.to_toml()) == cluster
        True
        """
        lines = [f"name = {_toml(self.name)}"]
        for table in (*self.domains, *self.servers):
            lines += ["", "[[domains]]" if isinstance(table, Domain) else "[[servers]]"]
            for field in msgspec.structs.fields(table):
                value = getattr(table, field.name)
                if value is not None:
                    lines.append(f"{field.name} = {_toml(value)}")
        return "\n".join(lines) + "\n"

    def with_bandwidth(
        self, *, nic_gbps: float | None = None, intra_gbps: float | None = None
    ) -> Cluster:
        """Return the same cluster with these bandwidths on all servers; None leaves one as it is.

        Returns
        -------
        Cluster
            Another cluster; this one stays as it is.

        Raises
        ------
        ValueError
            If a value is out of range; the message names it.

        Examples
        --------
        >>> wired = gs.Cluster.uniform(4).with_bandwidth(nic_gbps=100)
        >>> wired.servers[0].nic_gbps
        100.0
        """
        given = {"nic_gbps": nic_gbps, "intra_gbps": intra_gbps}
        changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        groups = tuple(msgspec.structs.replace(group, **changes) for group in self.servers)
        return msgspec.structs.replace(self, servers=groups)

    def with_racks(
        self,
        servers_per_rack: int,
        oversubscription: float = 1.0,
        racks_per_block: int | None = None,
        block_oversubscription: float = 1.0,
    ) -> Cluster:
        """Return the same servers in racks, in order, and the racks in blocks under one spine.

        Parameters
        ----------
        servers_per_rack, racks_per_block
            1 or more; the last rack and block may be smaller. None: no blocks.
        oversubscription, block_oversubscription
            Of the uplink of each rack and of each block, see :class:`Domain`.

        Returns
        -------
        Cluster
            Another cluster; this one stays as it is.

        Raises
        ------
        ValueError
            If a value is out of range, the cluster has domains already, or a server has no
            ``nic_gbps``.

        Examples
        --------
        >>> wired = gs.Cluster.uniform(4, nic_gbps=100)
        >>> len(wired.with_racks(2, oversubscription=4).domains)
        3
        """
        check_integer("servers_per_rack", servers_per_rack, 1, MAX_SERVERS)
        if racks_per_block is not None:
            check_integer("racks_per_block", racks_per_block, 1, MAX_SERVERS)
        if self.domains:
            raise ValueError(f"with_racks: the cluster has {len(self.domains)} domains already")
        servers, domains = racks(
            self.servers, servers_per_rack, oversubscription, racks_per_block,
            block_oversubscription,
        )  # fmt: skip
        return msgspec.structs.replace(self, servers=servers, domains=domains)

    def _repr_html_(self) -> str:
        """Return the groups of servers as a table, for notebooks."""
        from gpusched.base.html import page, table

        groups = _merged(self.servers)
        rows = [
            [f"{of.count:,}", f"{of.gpus:,}", of.gpu_type or "any", f"{of.count * of.gpus:,}"]
            for of in groups[:_SHOWN_GROUPS]
        ]
        if len(groups) > len(rows):
            rows.append(["...", f"{len(groups) - len(rows):,} more kinds", "", ""])
        return page(str(self), table(["servers", "GPUs each", "type", "GPUs"], rows))

    def __str__(self) -> str:
        groups = " + ".join(map(str, _merged(self.servers)))
        gpus = f"{self.num_gpus:,} {'GPU' if self.num_gpus == 1 else 'GPUs'}"
        where = f" in {len(self.domains):,} domains" if len(self.domains) > 1 else ""
        return f"{groups} ({gpus}{where})"


_SHOWN_GROUPS: Final = 20


def _merged(servers: tuple[ServerGroup, ...]) -> list[ServerGroup]:
    """Join neighbouring groups that differ only in the domain they are in."""
    merged: list[ServerGroup] = []
    for group in servers:
        if group.domain is not None:
            group = msgspec.structs.replace(group, domain=None)
            if merged and msgspec.structs.replace(merged[-1], count=group.count) == group:
                group = msgspec.structs.replace(group, count=merged.pop().count + group.count)
        merged.append(group)
    return merged


def cluster_of(source: Source) -> Cluster:
    """Decode a cluster file; errors as in :meth:`Cluster.from_toml`."""
    with naming(source):
        return _decode(source.text, str(source))


def _decode(text: str, source: str) -> Cluster:
    with naming(source):
        try:
            return decode_toml(text, Cluster)
        except msgspec.MsgspecError as error:
            path = "" if " at `$" in str(error) else " - at `$`"
            raise ValueError(f"{source}: {error}{path}") from None


def _toml(value: str | float) -> str:
    # A JSON string is a TOML basic string, but for the delete character.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
