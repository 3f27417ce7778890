"""The cluster: groups of equal servers in a network, frozen and strictly decoded from TOML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int32, Int64, read_only
from gpusched.base.field_checks import check_integer, check_name, check_positive
from gpusched.base.files import decode_toml, naming, toml_value
from gpusched.base.source import Source
from gpusched.base.suggest import nearest
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE

MAX_GPUS_PER_SERVER: Final = 64
MAX_SERVERS: Final = 262_144
MIN_GBPS: Final = 1e-6
MAX_GBPS: Final = 1e9
MAX_SPEED: Final = 1e3
_QUANTITIES: Final = ("cpu", "memory_gib")
_BANDWIDTHS: Final = ("nic_gbps", "intra_gbps")


class Devices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """GPUs of one type in a server with several types.

    ``type``: model of the GPUs.
    ``count``: number per server, 1 to 64.
    ``speed``: speed of one GPU, as in :class:`ServerGroup`.
    """

    type: str
    count: int
    speed: float = 1.0


class ServerGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Equal servers.

    Attributes
    ----------
    count
        Number of servers, 1 or more.
    gpus
        GPUs of each server, 1 to 64.
    gpu_type
        Model of the GPUs.
    devices
        Replaces both for servers with several GPU types: ``(type, count)`` or ``(type, count,
        speed)`` each. A cluster splits such a group into one group per type, linked by
        ``part_of``.
    part_of
        Common name of groups with equal counts that are the GPU types of the same servers. CPU and
        memory belong to the server and are shared by its parts.
    cpu, memory_gib
        CPU cores and memory of each server; None: unlimited.
    nic_gbps, intra_gbps
        Bandwidth of the NIC, and between the GPUs of one server, in Gbit/s.
    domain
        Name of the servers' innermost domain; None in a cluster without domains.
    speed
        Speed of one GPU relative to that of the stated run times, 0.001 to 1,000: see
        :class:`Cluster`.
    """

    count: int
    gpus: int = 0
    gpu_type: str = "gpu"
    cpu: float | None = None
    memory_gib: float | None = None
    nic_gbps: float | None = None
    intra_gbps: float | None = None
    domain: str | None = None
    devices: tuple[Devices, ...] = ()
    part_of: str | None = None
    speed: float = 1.0

    def __post_init__(self) -> None:
        check_integer("count", self.count, 1, MAX_SERVERS)
        speed = check_positive("speed", self.speed, 1 / MAX_SPEED, MAX_SPEED)
        msgspec.structs.force_setattr(self, "speed", speed)
        if self.devices:
            self._read_devices()
        check_integer("gpus", self.gpus, 1, MAX_GPUS_PER_SERVER)
        if self.part_of is not None:
            check_name("part_of", self.part_of)
        if not isinstance(self.gpu_type, str):
            raise TypeError(f"gpu_type: {self.gpu_type!r} must be text")
        if not self.gpu_type.strip() or "|" in self.gpu_type:
            raise ValueError(f"gpu_type: {self.gpu_type!r} must not be empty or contain '|'")
        if self.domain is not None:
            check_name("domain", self.domain)
        for name in (*_QUANTITIES, *_BANDWIDTHS):
            value = getattr(self, name)
            if value is not None:
                limits = (MIN_GBPS, MAX_GBPS) if name in _BANDWIDTHS else ()
                number = check_positive(name, value, *limits)
                msgspec.structs.force_setattr(self, name, number)

    def _read_devices(self) -> None:
        try:
            given = [
                Devices(**each) if isinstance(each, dict)
                else each if isinstance(each, Devices) else Devices(*each)
                for each in self.devices
            ]  # fmt: skip
        except TypeError:
            raise TypeError(f"devices: {self.devices!r} must be (type, count) each") from None
        for each in given:
            check_integer("devices: count", each.count, 1, MAX_GPUS_PER_SERVER)
            ServerGroup(1, each.count, each.type, speed=each.speed)
        is_plain = self.gpu_type == "gpu" and self.part_of is None and self.speed == 1
        if not is_plain or self.gpus not in (0, sum(each.count for each in given)):
            raise ValueError("devices: cannot be combined with gpus, gpu_type, speed or part_of")
        if len({each.type for each in given}) < len(given):
            raise ValueError("devices: names a type twice")
        msgspec.structs.force_setattr(self, "devices", tuple(given))
        msgspec.structs.force_setattr(self, "gpus", sum(each.count for each in given))

    def _parts(self, name: str) -> tuple[ServerGroup, ...]:
        """Split the group by GPU type, with a common ``name`` if there are several."""
        if not self.devices:
            return (self,)
        one = {"devices": (), "part_of": name if len(self.devices) > 1 else None}
        return tuple(
            msgspec.structs.replace(
                self, gpus=of.count, gpu_type=of.type, speed=float(of.speed), **one
            )
            for of in self.devices
        )

    def __str__(self) -> str:
        plural = "server" if self.count == 1 else "servers"
        return f"{self.count:,} {plural} x {self._gpus_text()}"

    def _gpus_text(self) -> str:
        label = "GPUs" if self.gpu_type == "gpu" else self.gpu_type
        return f"{self.gpus} {label}" + ("" if self.speed == 1 else f" of speed {self.speed:g}")


BYTES_PER_S_PER_GBPS: Final = 1e9 / 8
MAX_OVERSUBSCRIPTION: Final = 1e6


class Domain(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Servers behind one switch: a rack, a block of racks, or the whole cluster.

    The domains of a cluster form one tree. Every domain except the root has an uplink to its
    parent, with its bandwidth given by exactly one of the last two fields.

    Attributes
    ----------
    name
        Unique in the cluster.
    parent
        The domain above; None for the root.
    uplink_gbps
        Bandwidth of the uplink, Gbit/s.
    oversubscription
        Bandwidth from below (the NICs of servers and the uplinks of domains directly in the domain)
        over that of the uplink; 1 is full bisection.

    Raises
    ------
    TypeError, ValueError
        If a value has a wrong type or is out of range, a domain with a parent has none or both
        of ``uplink_gbps`` and ``oversubscription``, or the root has one; the message names it.
    """

    name: str
    parent: str | None = None
    uplink_gbps: float | None = None
    oversubscription: float | None = None

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if self.parent is not None:
            check_name("parent", self.parent)
        limits = {"uplink_gbps": (MIN_GBPS, MAX_GBPS)}
        limits["oversubscription"] = (1 / MAX_OVERSUBSCRIPTION, MAX_OVERSUBSCRIPTION)
        for field, (low, high) in limits.items():
            value = getattr(self, field)
            if value is not None:
                number = check_positive(field, value, low, high)
                msgspec.structs.force_setattr(self, field, number)
        given = [field for field in limits if getattr(self, field) is not None]
        if self.parent is None and given:
            raise ValueError(f"{given[0]}: domain {self.name!r} has no parent, so no uplink")
        if self.parent is not None and len(given) != 1:
            count = "both are" if given else "none is"
            raise ValueError(
                f"uplink_gbps, oversubscription: {count} given for domain {self.name!r}; "
                "one is needed"
            )


def check_domains(servers: Sequence[ServerGroup], domains: Sequence[Domain]) -> None:
    """Raise ValueError unless ``domains`` form one tree with every server in it.

    The message names the field by its path, such as ``domains[2].parent``.
    """
    names = _index_of(domains)
    if not domains:
        for position, group in enumerate(servers):
            if group.domain is not None:
                raise ValueError(
                    f"servers[{position}].domain: {group.domain!r} is unknown, there are no domains"
                )
        return
    _check_parents(domains, names)
    depth_first = _from_the_root(domains, names)
    has_servers = [False] * len(domains)
    for position, group in enumerate(servers):
        if group.domain is None:
            raise ValueError(
                f"servers[{position}].domain: is missing, the cluster has {len(domains)} domains"
            )
        if group.domain not in names:
            raise ValueError(f"servers[{position}].domain: unknown domain {group.domain!r}")
        has_servers[names[group.domain]] = True
    for index in reversed(depth_first):
        parent = domains[index].parent
        if not has_servers[index]:
            raise ValueError(f"domains[{index}].name: {domains[index].name!r} has no servers")
        if parent is not None:
            has_servers[names[parent]] = True
    uplinks(servers, domains)


def parents(domains: Sequence[Domain]) -> Int32:
    """Return the index of each domain's parent, int32[num_domains]; -1 for the root."""
    names = _index_of(domains)
    above = [-1 if domain.parent is None else names[domain.parent] for domain in domains]
    return read_only(np.array(above, dtype=np.int32))


def uplinks(servers: Sequence[ServerGroup], domains: Sequence[Domain]) -> Float64:
    """Return bytes/s of each domain's uplink, float64[num_domains]; infinite for the root."""
    names = _index_of(domains)
    below = [0.0] * len(domains)
    for position, group in enumerate(servers):
        if group.domain is None:
            continue
        index = names[group.domain]
        if group.nic_gbps is not None:
            below[index] += group.count * (group.nic_gbps * BYTES_PER_S_PER_GBPS)
        elif domains[index].oversubscription is not None:
            raise ValueError(
                f"servers[{position}].nic_gbps: is missing, the oversubscription of "
                f"domain {group.domain!r} needs it"
            )
    up = np.full(len(domains), np.inf)
    for index in reversed(_from_the_root(domains, names)):
        domain = domains[index]
        if domain.parent is None:
            continue
        if domain.uplink_gbps is not None:
            up[index] = domain.uplink_gbps * BYTES_PER_S_PER_GBPS
        else:
            assert domain.oversubscription is not None
            up[index] = below[index] / domain.oversubscription
        below[names[domain.parent]] += float(up[index])
    return read_only(up)


def racks(
    servers: Sequence[ServerGroup],
    servers_per_rack: int,
    oversubscription: float,
    racks_per_block: int | None,
    block_oversubscription: float,
) -> tuple[tuple[ServerGroup, ...], tuple[Domain, ...]]:
    """Put consecutive servers into racks, and racks into blocks; return groups and domains."""
    for position, group in enumerate(servers):
        if group.nic_gbps is None:
            raise ValueError(f"servers[{position}].nic_gbps: is missing, racks need it")
    num_racks = -(-sum(group.count for group in servers) // servers_per_rack)
    domains = [Domain("spine")]
    if racks_per_block is not None:
        domains += [
            Domain(f"block{block}", "spine", oversubscription=block_oversubscription)
            for block in range(-(-num_racks // racks_per_block))
        ]
    for rack in range(num_racks):
        above = "spine" if racks_per_block is None else f"block{rack // racks_per_block}"
        domains.append(Domain(f"rack{rack}", above, oversubscription=oversubscription))
    return tuple(_split(servers, servers_per_rack)), tuple(domains)


def _split(servers: Sequence[ServerGroup], servers_per_rack: int) -> Iterator[ServerGroup]:
    """Split groups at the ends of racks."""
    first = 0
    for group in servers:
        left = group.count
        while left:
            count = min(left, servers_per_rack - first % servers_per_rack)
            rack = f"rack{first // servers_per_rack}"
            yield msgspec.structs.replace(group, count=count, domain=rack)
            first += count
            left -= count


def _index_of(domains: Sequence[Domain]) -> dict[str, int]:
    names: dict[str, int] = {}
    for index, domain in enumerate(domains):
        if names.setdefault(domain.name, index) != index:
            raise ValueError(
                f"domains[{index}].name: {domain.name!r} is the name of "
                f"domains[{names[domain.name]}] too"
            )
    return names


def _check_parents(domains: Sequence[Domain], names: dict[str, int]) -> None:
    root = None
    for index, domain in enumerate(domains):
        if domain.parent is not None and domain.parent not in names:
            raise ValueError(f"domains[{index}].parent: unknown domain {domain.parent!r}")
        if domain.parent is None:
            if root is not None:
                raise ValueError(
                    f"domains[{index}].parent: is missing, and domains[{root}] is the root already"
                )
            root = index


def _from_the_root(domains: Sequence[Domain], names: dict[str, int]) -> list[int]:
    """Return the domains' indices, each after its parent; ValueError for a cycle."""
    inside: list[list[int]] = [[] for _ in domains]
    order = []
    for index, domain in enumerate(domains):
        if domain.parent is None:
            order.append(index)
        else:
            inside[names[domain.parent]].append(index)
    for index in order:  # grows during the loop
        order += inside[index]
    if len(order) != len(domains):
        index = min(set(range(len(domains))) - set(order))
        circle = [domains[index].name]
        while circle.count(circle[-1]) == 1:
            circle.append(str(domains[names[circle[-1]]].parent))
        circle = circle[circle.index(circle[-1]) :]
        raise ValueError(
            f"domains[{names[circle[0]]}].parent: forms a cycle, {' -> '.join(circle)}"
        )
    return order


MAX_CAPACITY: Final = 2**62
"""Largest capacity of a server, in thousandths of a core or MiB."""


class ClusterColumns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Groups of servers in a network, see :class:`~gpusched.model.cluster.Cluster`."""

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
    def speeds(self) -> dict[str, float]:
        """Speed of each GPU type relative to that of the stated run times."""
        return {group.gpu_type: group.speed for group in self.servers}

    @property
    def has_speeds(self) -> bool:
        """Whether a type's speed differs from 1."""
        return any(group.speed != 1 for group in self.servers)

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
        """float64[num_servers]: bytes/s of each NIC, NaN if not given."""
        return self._bandwidth([group.nic_gbps for group in self.servers])

    @property
    def server_intra_bytes_per_s(self) -> Float64 | None:
        """float64[num_servers]: bytes/s between the GPUs of each server, NaN if not given."""
        return self._bandwidth([group.intra_gbps for group in self.servers])

    @property
    def server_domain(self) -> Int32 | None:
        """int32[num_servers]: index in ``domains`` of each server's domain."""
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
        """int64[num_servers]: CPU of each server in thousandths of a core, -1 if not given."""
        return self._capacity([group.cpu for group in self.servers], MILLI_PER_CORE)

    @property
    def server_memory_mib(self) -> Int64 | None:
        """int64[num_servers]: memory of each server in MiB, -1 if not given."""
        return self._capacity([group.memory_gib for group in self.servers], MIB_PER_GIB)

    @property
    def server_part_of(self) -> Int32 | None:
        """int32[num_servers]: the first part of the same server, or itself.

        None if each server has one GPU type.
        """
        if all(group.part_of is None for group in self.servers):
            return None
        begins = np.cumsum([0, *(group.count for group in self.servers)]).tolist()
        first: dict[str, int] = {}
        columns = []
        for group, begin in zip(self.servers, begins[:-1], strict=True):
            at = begin if group.part_of is None else first.setdefault(group.part_of, begin)
            columns.append(np.arange(at, at + group.count, dtype=np.int32))
        return read_only(np.concatenate(columns))

    @property
    def server_first_gpu(self) -> Int32:
        """int32[num_servers]: index of each part's first GPU in its server."""
        before: dict[str, int] = {}
        first = []
        for group in self.servers:
            name = group.part_of
            first.append(0 if name is None else before.get(name, 0))
            if name is not None:
                before[name] = first[-1] + group.gpus
        return self._per_server(first)

    def core_columns(self) -> dict[str, AnyArray | None]:
        """Return the keyword arguments of the core's cluster, except its GPUs.

        Returns
        -------
        dict
            The network (None if not given); CPU, memory and parts only if given.

        Examples
        --------
        >>> gs.Cluster.uniform(2, 8, cpu=96).core_columns()["cpu_milli"].tolist()
        [96000, 96000]
        """
        capacity = {"cpu_milli": self.server_cpu_milli, "memory_mib": self.server_memory_mib}
        given = {**capacity, "part_of": self.server_part_of}
        return {
            **{name: column for name, column in given.items() if column is not None},
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
        # Rounded down, so that a server never has more than stated.
        whole = [
            -1 if amount is None else min(int(amount * units), MAX_CAPACITY) for amount in amounts
        ]
        counts = [group.count for group in self.servers]
        return read_only(np.repeat(np.array(whole, dtype=np.int64), counts))

    def _per_server(self, values: list[int]) -> Int32:
        counts = [group.count for group in self.servers]
        return read_only(np.repeat(np.array(values, dtype=np.int32), counts))


MAX_GPU_TYPES: Final = 64


class Cluster(ClusterColumns, frozen=True, forbid_unknown_fields=True):
    """Groups of servers; server ids number the servers of all groups in order.

    If a GPU type has a ``speed`` other than 1, jobs without profiles run that many times as fast
    on it. Each type has one speed.

    Attributes
    ----------
    servers
        The groups, at least one; at most 262,144 servers and 64 GPU types in all.
    name
        A title.
    domains
        The network as a tree, in any order; empty: only NICs limit bandwidth. Otherwise every
        group of servers names its domain, and every domain holds servers.

    Raises
    ------
    TypeError, ValueError
        If a field has a wrong type or is out of range, or the domains are not one tree; the
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
            raise ValueError("servers: at least one group of servers is needed")
        named = [group.part_of for group in self.servers]
        parts = [
            part
            for position, group in enumerate(self.servers)
            for part in group._parts(_unused(f"servers {position}", named))
        ]
        msgspec.structs.force_setattr(self, "servers", tuple(parts))
        _check_parts(self.servers)
        if self.num_servers > MAX_SERVERS:
            raise ValueError(f"servers: {self.num_servers:,} are more than {MAX_SERVERS:,}")
        if len(self.gpu_types) > MAX_GPU_TYPES:
            raise ValueError(
                f"servers: {len(self.gpu_types)} GPU types are more than {MAX_GPU_TYPES}"
            )
        speeds = self.speeds
        for position, group in enumerate(self.servers):
            if group.speed != speeds[group.gpu_type]:
                raise ValueError(
                    f"servers[{position}].speed: {group.speed:g}, but other GPUs of type "
                    f"{group.gpu_type!r} have {speeds[group.gpu_type]:g}"
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
        """Decode TOML text; to read a file, use :func:`gpusched.read_cluster`.

        Returns
        -------
        Cluster
            The servers, and the domains if any.

        Raises
        ------
        ValueError
            If the text is not TOML, or a field is unknown, missing, of a wrong type or out of
            range; the message names ``source`` and the path of the field.

        Examples
        --------
        >>> gs.Cluster.from_toml("servers = [{count = 2, gpus = 8}]").num_gpus
        16
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected TOML text, not {text!r}; gs.read_cluster reads files")
        if text.endswith(".toml"):
            raise ValueError(f"text: {text!r} is not TOML; gs.read_cluster reads files")
        return _decode(text, source)

    def to_toml(self) -> str:
        """Encode the cluster as TOML text for :meth:`from_toml`.

        Returns
        -------
        str
            TOML with a final line break.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(2, 8, "V100")
        >>> gs.Cluster.from_toml(cluster.to_toml()) == cluster
        True
        """
        lines = [f"name = {toml_value(self.name)}"]
        for table in (*self.domains, *self.servers):
            lines += ["", "[[domains]]" if isinstance(table, Domain) else "[[servers]]"]
            for field in msgspec.structs.fields(table):
                value = getattr(table, field.name)
                is_said = field.name != "devices" and (field.name, value) != ("speed", 1.0)
                if value is not None and is_said:
                    lines.append(f"{field.name} = {toml_value(value)}")
        return "\n".join(lines) + "\n"

    def with_bandwidth(
        self, *, nic_gbps: float | None = None, intra_gbps: float | None = None
    ) -> Cluster:
        """Return a copy with these bandwidths on all servers; None keeps one.

        Returns
        -------
        Cluster
            The copy; this cluster is unchanged.

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

    def with_speeds(self, speeds: Mapping[str, float]) -> Cluster:
        """Return a copy with these speeds of GPU types; others are kept.

        Returns
        -------
        Cluster
            The copy; this cluster is unchanged.

        Raises
        ------
        ValueError
            If a speed is out of range, or a type is not in the cluster; the message names it.

        Examples
        --------
        >>> cluster = gs.Cluster((gs.ServerGroup(4, 8, "A100"), gs.ServerGroup(4, 8, "V100")))
        >>> cluster.with_speeds({"A100": 2.1}).speeds
        {'A100': 2.1, 'V100': 1.0}
        """
        if not speeds:
            return self
        for name, speed in speeds.items():
            check_positive(f"speeds[{name!r}]", speed, 1 / MAX_SPEED, MAX_SPEED)
            if name not in self.gpu_types:
                raise ValueError(f"speeds: unknown {name!r}{nearest(name, self.gpu_types)}")
        groups = tuple(
            msgspec.structs.replace(group, speed=float(speeds.get(group.gpu_type, group.speed)))
            for group in self.servers
        )
        return msgspec.structs.replace(self, servers=groups)

    def with_racks(
        self,
        servers_per_rack: int,
        oversubscription: float = 1.0,
        racks_per_block: int | None = None,
        block_oversubscription: float = 1.0,
    ) -> Cluster:
        """Return a copy with the servers in racks, and the racks in blocks, under one spine.

        Parameters
        ----------
        servers_per_rack, racks_per_block
            1 or more; the last rack and block may be smaller. None: no blocks.
        oversubscription, block_oversubscription
            For the uplink of each rack and of each block, see :class:`Domain`.

        Returns
        -------
        Cluster
            The copy; this cluster is unchanged.

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
        if self.server_part_of is not None:
            raise ValueError("with_racks: servers with GPUs of several types; name their domains")
        if self.domains:
            raise ValueError(f"with_racks: the cluster has {len(self.domains)} domains already")
        servers, domains = racks(
            self.servers, servers_per_rack, oversubscription, racks_per_block,
            block_oversubscription,
        )  # fmt: skip
        return msgspec.structs.replace(self, servers=servers, domains=domains)

    def _repr_html_(self) -> str:
        """Return the groups of servers as a table, for notebooks."""
        from gpusched.base.tables import html_page, table

        groups = _merged(self.servers)
        rows = [
            [f"{of.count:,}", f"{of.gpus:,}", of.gpu_type or "any", f"{of.count * of.gpus:,}"]
            for of in groups[:_SHOWN_GROUPS]
        ]
        if len(groups) > len(rows):
            rows.append(["...", f"{len(groups) - len(rows):,} more kinds", "", ""])
        made = table("", ["servers", "GPUs each", "type", "GPUs"], rows)
        return html_page(str(self), made.to_html())

    def __str__(self) -> str:
        groups = " + ".join(_texts(_merged(self.servers)))
        gpus = f"{self.num_gpus:,} {'GPU' if self.num_gpus == 1 else 'GPUs'}"
        where = f" in {len(self.domains):,} domains" if len(self.domains) > 1 else ""
        return f"{groups} ({gpus}{where})"


_SHOWN_GROUPS: Final = 20


def _unused(name: str, names: Sequence[str | None]) -> str:
    while name in names:
        name += "'"
    return name


def _check_parts(servers: Sequence[ServerGroup]) -> None:
    """Raise ValueError unless the parts of the same servers agree."""
    groups: dict[str, list[tuple[int, ServerGroup]]] = {}
    for position, group in enumerate(servers):
        if group.part_of is not None:
            groups.setdefault(group.part_of, []).append((position, group))
    for name, parts in groups.items():
        position, first = parts[0]
        own = {"gpus": first.gpus, "gpu_type": first.gpu_type, "speed": first.speed}
        for at, part in parts[1:]:
            if msgspec.structs.replace(part, **own) != first:
                raise ValueError(
                    f"servers[{at}].part_of: {name!r} must have the count, CPU, memory, network "
                    f"and domain of servers[{position}]"
                )
        if len({part.gpu_type for _, part in parts}) < len(parts):
            raise ValueError(f"servers[{position}].part_of: {name!r} has a type of GPUs twice")
        if sum(part.gpus for _, part in parts) > MAX_GPUS_PER_SERVER:
            raise ValueError(
                f"servers[{position}].part_of: {name!r} has more than {MAX_GPUS_PER_SERVER} GPUs"
            )


def _texts(groups: Sequence[ServerGroup]) -> list[str]:
    """Describe each group; parts of the same servers together."""
    texts: dict[object, str] = {}
    for group in groups:
        key = object() if group.part_of is None else group.part_of
        more = f" + {group._gpus_text()}"
        texts[key] = texts[key] + more if key in texts else str(group)
    return list(texts.values())


def _merged(servers: tuple[ServerGroup, ...]) -> list[ServerGroup]:
    """Merge adjacent groups that differ only in their domain."""
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
