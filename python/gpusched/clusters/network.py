"""The network of a cluster: a tree of domains (racks, blocks) with an uplink each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from gpusched.base.arrays import Float64, Int32, read_only
from gpusched.base.field_checks import check_name, check_positive
from gpusched.clusters.server_group import MAX_GBPS, MIN_GBPS, ServerGroup

BYTES_PER_S_PER_GBPS: Final = 1e9 / 8
MAX_OVERSUBSCRIPTION: Final = 1e6


class Domain(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Servers behind one switch: a rack, a block of racks, or the whole cluster.

    The domains of a cluster form one tree. Every domain but the root has an uplink to its parent,
    whose bandwidth is given by exactly one of the last two fields.

    Attributes
    ----------
    name
        Unique in the cluster.
    parent
        The domain above; None for the root.
    uplink_gbps
        Bandwidth of the uplink, Gbit/s.
    oversubscription
        What could arrive from below (the network cards of the servers directly in the domain, and
        the uplinks of the domains directly in it) over the bandwidth of the uplink; 1 is a full
        bisection.

    Raises
    ------
    TypeError, ValueError
        If a value is of a wrong type or out of range, or a domain with a parent has none or both
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
    """Raise ValueError unless ``domains`` are one tree that holds every server.

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
            raise ValueError(f"servers[{position}].domain: {group.domain!r} is no domain")
        has_servers[names[group.domain]] = True
    for index in reversed(depth_first):
        parent = domains[index].parent
        if not has_servers[index]:
            raise ValueError(f"domains[{index}].name: {domains[index].name!r} has no servers")
        if parent is not None:
            has_servers[names[parent]] = True
    uplinks(servers, domains)


def parents(domains: Sequence[Domain]) -> Int32:
    """int32[num_domains]: index of each domain's parent; -1 for the root."""
    names = _index_of(domains)
    above = [-1 if domain.parent is None else names[domain.parent] for domain in domains]
    return read_only(np.array(above, dtype=np.int32))


def uplinks(servers: Sequence[ServerGroup], domains: Sequence[Domain]) -> Float64:
    """float64[num_domains]: bytes/s of each domain's uplink; infinite for the root.

    Raises
    ------
    ValueError
        If an oversubscription is over the network card of a server that gives no ``nic_gbps``.
    """
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
    """Put consecutive servers into racks, and racks into blocks: new groups and their domains."""
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
    """Cut the groups where a rack ends."""
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
            raise ValueError(f"domains[{index}].parent: {domain.parent!r} is no domain")
        if domain.parent is None:
            if root is not None:
                raise ValueError(
                    f"domains[{index}].parent: is missing, and domains[{root}] is the root already"
                )
            root = index


def _from_the_root(domains: Sequence[Domain], names: dict[str, int]) -> list[int]:
    """Indices of the domains, each after its parent; ValueError if some are in a circle."""
    inside: list[list[int]] = [[] for _ in domains]
    order = []
    for index, domain in enumerate(domains):
        if domain.parent is None:
            order.append(index)
        else:
            inside[names[domain.parent]].append(index)
    for index in order:  # grows while it is walked
        order += inside[index]
    if len(order) != len(domains):
        index = min(set(range(len(domains))) - set(order))
        circle = [domains[index].name]
        while circle.count(circle[-1]) == 1:
            circle.append(str(domains[names[circle[-1]]].parent))
        circle = circle[circle.index(circle[-1]) :]
        raise ValueError(
            f"domains[{names[circle[0]]}].parent: goes in a circle, {' -> '.join(circle)}"
        )
    return order
