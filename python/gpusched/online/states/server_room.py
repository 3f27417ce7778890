"""Build a cluster and its allocations from named servers, some with unavailable GPUs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, Final

import numpy as np

from gpusched.model.cluster import Cluster, Devices, Domain, ServerGroup
from gpusched.online.cluster_state import NamedServer

UNTOLD_GBPS: Final = 100.0
"""Placeholder for uplink bandwidths, which no source states and no decision reads."""


@dataclass
class RoomServer:
    """A server as described by its source.

    ``name``, ``gpus``, ``gpu_type``: its name, how many GPUs it has, and their type.
    ``takes_jobs``: whether jobs may start on it now.
    ``used``: mask of the GPUs in use, according to the source.
    ``num_used``: number of GPUs in use, if only that is known; else 0.
    ``num_used_of``: the same by type, for a server with several types.
    ``devices``: types and numbers of its GPUs, in their order, if there are several types.
    ``domains``: its topology domains, from the outermost to the innermost; empty: unknown.
    """

    name: str
    gpus: int
    gpu_type: str
    takes_jobs: bool = True
    used: int = 0
    num_used: int = 0
    domains: tuple[str, ...] = ()
    devices: tuple[tuple[str, int], ...] = ()
    num_used_of: Mapping[str, int] = field(default_factory=dict)
    _held: dict[int, int] = field(default_factory=dict)
    _others: int = 0
    _counted: list[tuple[int | None, int, int]] = field(default_factory=list)

    @property
    def num_free(self) -> int:
        """Number of GPUs not assigned so far."""
        return self.gpus - self._taken().bit_count() - sum(count for _, count, _ in self._counted)

    @property
    def all_gpus(self) -> int:
        """The mask of all its GPUs."""
        return (1 << self.gpus) - 1

    @property
    def parts(self) -> tuple[tuple[str, int], ...]:
        """Types and numbers of its GPUs."""
        return self.devices or ((self.gpu_type, self.gpus),)

    @cached_property
    def types(self) -> dict[str, int]:
        """The masks of the GPUs of each type, in order."""
        masks, first = {}, 0
        for name, count in self.parts:
            masks[name] = (1 << count) - 1 << first
            first += count
        return masks

    def mask_of(self, types: Collection[str]) -> int:
        """Return the mask of the GPUs of some types, or of all if it has none of these types."""
        return sum(mask for name, mask in self.types.items() if name in types) or self.all_gpus

    def num_free_of(self, gpu_type: str) -> int:
        """Return unassigned GPUs of a type, or of all types if it does not have this one."""
        within = self.mask_of((gpu_type,))
        counted = sum(count for _, count, mask in self._counted if not mask & ~within)
        return (within & ~self._taken()).bit_count() - counted

    def hold(self, job: int | None, mask: int) -> None:
        """Record that a job of the state (None: another job) holds these GPUs."""
        if mask >> self.gpus:
            raise ValueError(
                f"server {self.name}: GPU {mask.bit_length() - 1} is not one of its {self.gpus}"
            )
        if job is None:
            self._others |= mask
            return
        twice = mask & (sum(self._held.values()) & ~self._held.get(job, 0))
        if twice:
            raise ValueError(f"server {self.name}: two jobs hold GPU {twice.bit_length() - 1}")
        self._held[job] = self._held.get(job, 0) | mask

    def hold_some(self, job: int | None, count: int, within: int | None = None) -> None:
        """Record that a job holds ``count`` unknown GPUs, if given within a mask."""
        self._counted.append((job, count, self.all_gpus if within is None else within))

    def settled(self) -> dict[int, int]:
        """Return the GPU mask of each job of the state; -1 has the unavailable GPUs.

        Jobs with only a known number get unassigned GPUs in use, then the lowest free ones.
        """
        every = self.all_gpus
        for name, within in self.types.items():
            told = self.num_used_of.get(name, 0) if self.devices else self.num_used
            room = self.num_free_of(name)
            seen = within.bit_count() - room
            if told > seen:
                self.hold_some(None, min(told - seen, room, self.num_free), within)
        for job, count, within in self._counted:
            left = within & ~self._taken()
            free = [*bits(left & self.used), *bits(left & ~self.used)]
            if len(free) < count:
                raise ValueError(f"server {self.name}: jobs hold more than its {self.gpus} GPUs")
            self.hold(job, sum(1 << number for number in free[:count]))
        self._counted = []
        gone = (self._others | self.used if self.takes_jobs else every) & every
        gone &= ~sum(self._held.values())
        return {-1: gone, **self._held} if gone else self._held

    def _taken(self) -> int:
        return sum(self._held.values()) | self._others


def settle(servers: list[RoomServer], name: str) -> tuple[Cluster, dict[str, Any]]:
    """Return the cluster, and columns with held GPUs and server names."""
    if not servers:
        raise ValueError("no server has a GPU")
    domains = _domains(name, [server.domains for server in servers])
    same = groupby(
        servers,
        lambda server: (
            tuple(Devices(*of) for of in server.parts),
            _named(name, server.domains) if domains else None,
        ),
    )
    groups: list[ServerGroup] = []
    parts: list[NamedServer] = []
    rows: list[tuple[int, int, int]] = []
    for (devices, domain), equal in same:
        alike = list(equal)
        groups.append(ServerGroup(len(alike), devices=devices, domain=domain))
        held = [server.settled() for server in alike]
        for place, server in enumerate(alike):
            for number, mask in enumerate(server.types.values()):
                first = (mask & -mask).bit_length() - 1
                at = len(parts) + number * len(alike) + place
                rows += [
                    (job, at, (gpus & mask) >> first)
                    for job, gpus in held[place].items()
                    if gpus & mask
                ]
        parts += [
            NamedServer(server.name, tuple(bits(list(server.types.values())[number])))
            for number in range(len(devices))
            for server in alike
        ]
    return Cluster(tuple(groups), name, domains), {
        "held_job": np.array([job for job, _, _ in rows], np.int64),
        "held_server": np.array([place for _, place, _ in rows], np.int64),
        "held_mask": np.array([mask for _, _, mask in rows], np.uint64),
        "servers": tuple(parts),
    }


def _named(root: str, path: Sequence[str]) -> str:
    return "/".join((root, *path))


def _domains(root: str, paths: Sequence[tuple[str, ...]]) -> tuple[Domain, ...]:
    """Return the tree of domains, each after its parent; empty if there are none."""
    if not any(paths):
        return ()
    inner = dict.fromkeys(path[: depth + 1] for path in paths for depth in range(len(path)))
    return Domain(root), *(
        Domain(_named(root, path), _named(root, path[:-1]), uplink_gbps=UNTOLD_GBPS)
        for path in inner
    )


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
