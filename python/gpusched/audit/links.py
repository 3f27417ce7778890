"""What an audit must know about links: which gangs are on which, and how they are shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from gpusched.audit.case import Case, parameters
from gpusched.audit.rule_book import RuleBook
from gpusched.base.arrays import AnyArray, Float64, Int64

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster

_BYTES_PER_S = 1e9 / 8  # of one Gbit/s


class Sharing:
    """What the rings on a link get of its bandwidth, by the parameters that were given.

    Attributes
    ----------
    interacts
        Whether it matters how many there are: then ``part`` tells, otherwise ``own``.
    """

    interacts: ClassVar[bool] = False

    def __init__(self, given: Mapping[str, str]) -> None:
        pass

    @staticmethod
    def of(contention: str) -> Sharing | None:
        """Read it from the text of a run's contention; None if it is not known."""
        name, given = parameters(contention)
        rule = SHARING_RULES.find(name)
        return None if rule is None else rule(given)

    def own(self, bytes_per_s: Float64, gpus: Int64, behind: Int64) -> Float64:
        """Return the bytes per second of rings that hold ``gpus`` of those ``behind`` a link."""
        raise NotImplementedError

    def part(self, bytes_per_s: Float64, rings: Int64) -> Float64:
        """Return the bytes per second of each ring where ``rings`` share a link."""
        raise NotImplementedError


SHARING_RULES: Final = RuleBook[type[Sharing]]("contention")


@dataclass(frozen=True)
class Links:
    """The links of a cluster: the network card of each server, then the uplink of each domain.

    Attributes
    ----------
    bytes_per_s, gpus
        Bandwidth, and GPUs behind it; the root's uplink is infinite.
    above
        Per depth of the tree, the link number of the domain that each server is in; -1: none.
    """

    bytes_per_s: Float64
    gpus: Int64
    above: tuple[Int64, ...]

    @classmethod
    def of(cls, cluster: Cluster) -> Links:
        """Read the links from the description of the cluster."""
        counts = [group.count for group in cluster.servers]
        cards = [(group.nic_gbps or np.nan) * _BYTES_PER_S for group in cluster.servers]
        chains = {domain.name: [domain.name] for domain in cluster.domains}
        parent = {domain.name: domain.parent for domain in cluster.domains}
        for chain in chains.values():  # from the root down
            while (name := parent[chain[0]]) is not None:
                chain.insert(0, name)
        number = {name: cluster.num_servers + i for i, name in enumerate(chains)}
        gpus = dict.fromkeys(chains, 0)
        below = dict.fromkeys(chains, 0.0)
        for group, card in zip(cluster.servers, cards, strict=True):
            for name in chains.get(group.domain or "", []):
                gpus[name] += group.count * group.gpus
            if group.domain is not None:
                below[group.domain] += group.count * card
        uplink = dict.fromkeys(chains, np.inf)
        for domain in sorted(cluster.domains, key=lambda d: -len(chains[d.name])):
            if domain.parent is None:
                continue
            if domain.uplink_gbps is not None:
                uplink[domain.name] = domain.uplink_gbps * _BYTES_PER_S
            else:
                uplink[domain.name] = below[domain.name] / (domain.oversubscription or np.nan)
            below[domain.parent] += uplink[domain.name]
        above: list[Int64] = []
        for depth in range(1, max(map(len, chains.values()), default=0)):
            of_group = [
                number[chain[depth]] if len(chain) > depth else -1
                for chain in (chains[group.domain or ""] for group in cluster.servers)
            ]
            above.append(np.repeat(np.array(of_group, dtype=np.int64), counts))
        return cls(
            np.append(np.repeat(cards, counts), list(uplink.values())),
            np.append(cluster.server_gpus, list(gpus.values())).astype(np.int64),
            tuple(above),
        )


class OnLinks:
    """The intervals of a case on the links that they use, one value per interval unless it says so.

    Attributes
    ----------
    ideal_s
        Seconds per iteration at best, at the job's own width on the empty cluster.
    alone
        Service per tick if no link is shared.
    pair_ring, pair_link, pair_gpus
        The links of every interval on several servers: pairs in the order of the intervals, with
        the GPUs that the interval has behind the link.
    links
        Of the cluster.
    """

    ideal_s: Float64
    alone: Float64

    def __init__(self, case: Case) -> None:
        cluster, rows = case.cluster, case.rows
        self.links = Links.of(cluster)
        self.intra = np.repeat(
            [(group.intra_gbps or np.nan) * _BYTES_PER_S for group in cluster.servers],
            [group.count for group in cluster.servers],
        )
        self._gpus = case.width.astype(np.float64)
        self._span = np.diff(case.first, append=len(rows["job"]))
        self._owner = np.repeat(np.arange(len(case.first)), self._span)
        self._intra = np.minimum.reduceat(self.intra[rows["server"]], case.first)
        self._pair(rows, self._owner)

    def iteration_s(self, bytes_per_s: Float64, of: AnyArray | slice) -> Float64:
        """Return seconds per iteration of the intervals ``of`` where rings have this bandwidth."""
        raise NotImplementedError

    def rate(self, bytes_per_s: Float64, of: AnyArray | slice = slice(None)) -> Float64:
        """Return service per tick where a ring has this bandwidth, for the intervals ``of``."""
        rate: Float64 = self.ideal_s[of] / self.iteration_s(bytes_per_s, of)
        return rate

    def least(self, parts: Float64) -> Float64:
        """Return the bandwidth of each interval from its ``parts``, one for each pair."""
        least = self._intra.copy()
        np.fmin.at(least, self.pair_ring, parts)  # without bandwidths nothing is exchanged
        return least

    def within(self, bytes_per_s: Float64, of: AnyArray) -> Float64:
        """Bound the bandwidth of intervals by that inside of their servers."""
        return np.minimum(bytes_per_s, self._intra[of])

    def _pair(self, rows: dict[str, AnyArray], owner: Int64) -> None:
        on_several = self._span[owner] > 1
        ring, server = owner[on_several], rows["server"][on_several]
        gpus = np.bitwise_count(rows["mask"][on_several]).astype(np.int64)
        parts = [(ring, server, gpus)]
        num_links = len(self.links.gpus)
        for above in self.links.above:
            link = above[server]
            inside = link >= 0
            key, where = np.unique(ring[inside] * num_links + link[inside], return_inverse=True)
            held = np.bincount(where, gpus[inside], len(key)).astype(np.int64)
            crosses = held < self._gpus[key // num_links]
            key, held = key[crosses], held[crosses]
            parts.append((key // num_links, key % num_links, held))
        order = np.argsort(np.concatenate([part[0] for part in parts]), kind="stable")
        self.pair_ring = np.concatenate([part[0] for part in parts])[order]
        self.pair_link = np.concatenate([part[1] for part in parts])[order]
        self.pair_gpus = np.concatenate([part[2] for part in parts])[order]
