"""The kinds of servers that a cluster can be made of, and how many of each its jobs could use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.arrays import Bool, Int64
from gpusched.base.field_checks import check_integer
from gpusched.clusters.cluster import Cluster, ServerGroup
from gpusched.clusters.server_group import MAX_GPUS_PER_SERVER, MAX_SERVERS

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

ANY_GPU = "gpu"
"""The type of GPUs where none is named."""


@dataclass(frozen=True)
class ServerKinds:
    """One kind of server for each GPU type.

    Attributes
    ----------
    types
        The GPU types.
    gpus
        GPUs of a server of each.
    price
        Of an hour of such a server; None where no prices were given.
    nic_gbps, intra_gbps
        As in :class:`~gpusched.clusters.cluster.ServerGroup`, of all.
    """

    types: tuple[str, ...]
    gpus: tuple[int, ...]
    price: tuple[float, ...] | None = None
    nic_gbps: float | None = None
    intra_gbps: float | None = None

    @classmethod
    def of(
        cls,
        types: Sequence[str] | None,
        gpus_per_server: int | Mapping[str, int],
        prices: float | Mapping[str, float] | None,
        price_per: str,
        **bandwidths: float | None,
    ) -> ServerKinds:
        """Check what :func:`gpusched.size` was given; errors as there."""
        from gpusched.results.cost import checked_prices

        if price_per not in ("gpu", "server"):
            raise ValueError(f"price_per: {price_per!r} must be 'gpu' or 'server'")
        named = _named_types(types, prices)
        gpus = _gpus(gpus_per_server, named)
        if prices is None:
            return cls(named, gpus, None, **bandwidths)
        price = checked_prices(prices, named)
        if not all(price.values()):
            raise ValueError("prices: must be more than 0 to look for the cheapest")
        units = gpus if price_per == "gpu" else (1,) * len(named)
        per_server = tuple(price[kind] * count for kind, count in zip(named, units, strict=True))
        return cls(named, gpus, per_server, **bandwidths)

    @property
    def weights(self) -> tuple[float, ...]:
        """What is to be least: the price of a server of each, or without prices its GPUs."""
        return tuple(map(float, self.gpus)) if self.price is None else self.price

    def cluster(self, counts: Sequence[int]) -> Cluster:
        """Return so many servers of each; there must be one at least."""
        groups = tuple(
            ServerGroup(count, gpus, kind, nic_gbps=self.nic_gbps, intra_gbps=self.intra_gbps)
            for count, gpus, kind in zip(counts, self.gpus, self.types, strict=True)
            if count
        )
        return Cluster(groups)

    def usable(self, trace: Trace) -> tuple[tuple[Bool, int], ...]:
        """Distinct sets of types that jobs may use, and the GPUs of the widest job of each."""
        every = np.ones(len(self.types), dtype=np.bool_)
        if trace.type_set is None:
            return ((every, int(trace.gpus.max())),)
        found = []
        for index in np.unique(trace.type_set).tolist():
            allowed = trace.type_sets[index]
            mask = np.array([not allowed or kind in allowed for kind in self.types])
            found.append((mask, int(trace.gpus[trace.type_set == index].max())))
        return tuple(found)

    def have_room(self, counts: Sequence[int], usable: tuple[tuple[Bool, int], ...]) -> bool:
        """Whether each set of jobs finds GPUs for the widest of them."""
        gpus = np.asarray(counts) * np.asarray(self.gpus)
        return all(int(gpus[mask].sum()) >= widest for mask, widest in usable)

    def most_useful(self, trace: Trace) -> tuple[int, ...]:
        """Servers of each beyond which no more can be of use: every job finds some to itself.

        The most at one time if all jobs ran at once, each on servers of its own.
        """
        return tuple(
            min(MAX_SERVERS // len(self.types), self._peak(trace, kind))
            for kind in range(len(self.types))
        )

    def _peak(self, trace: Trace, kind: int) -> int:
        may: Bool = np.ones(len(trace), dtype=np.bool_)
        if trace.type_set is not None:
            names = self.types[kind]
            allowed = np.array([not types or names in types for types in trace.type_sets])
            may = allowed[trace.type_set]
        if not may.any():
            return 0
        servers: Int64 = -(-trace.gpus[may].astype(np.int64) // self.gpus[kind])
        begin_us, end_us = trace.submit_us[may], trace.submit_us[may] + trace.service_us[may]
        time_us = np.concatenate([begin_us, end_us])
        change = np.concatenate([servers, -servers])
        # Ends before beginnings of the same instant, as in the engine.
        order = np.lexsort((change, time_us))
        return int(np.cumsum(change[order]).max())


def _named_types(
    types: Sequence[str] | None, prices: float | Mapping[str, float] | None
) -> tuple[str, ...]:
    if types is None:
        return tuple(prices) if isinstance(prices, Mapping) else (ANY_GPU,)
    if isinstance(types, str) or not all(isinstance(kind, str) for kind in types):
        raise TypeError(f"types: expected a list of names, not {types!r}")
    named = tuple(types)
    if not named or len(set(named)) < len(named):
        raise ValueError(f"types: must be one or more names, each once, not {list(named)}")
    return named


def _gpus(gpus_per_server: Any, types: tuple[str, ...]) -> tuple[int, ...]:
    given = gpus_per_server
    if not isinstance(given, Mapping):
        check_integer("gpus_per_server", given, 1, MAX_GPUS_PER_SERVER)
        return (given,) * len(types)
    for kind in {*given} ^ {*types}:
        rule = "has none" if kind in types else "is not among the types"
        raise ValueError(f"gpus_per_server: GPU type {kind} {rule}")
    for kind in types:
        check_integer(f"gpus_per_server[{kind}]", given[kind], 1, MAX_GPUS_PER_SERVER)
    return tuple(given[kind] for kind in types)
