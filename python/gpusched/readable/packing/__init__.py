"""Where gangs go that ask for more than GPUs, and the placements that exist for them.

A gang that the largest server could hold goes to one server, the best by the placement's rule; a
wider one takes whole servers of that size and one server for what is left over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpusched.readable.cluster_state import Cluster, lowest_bits
from gpusched.readable.domains import Domains
from gpusched.readable.free import Free
from gpusched.readable.model import Active, Allocation, Job
from gpusched.readable.network import Network
from gpusched.readable.packing.artefact_rules import ARTEFACT_RULES
from gpusched.readable.packing.rules import RULES, Ask

OWN = ("dot-product", "fgd", "gpu-packing", "gpu-clustering", "buddy", "topology")
"""Placements that go by their rule whatever the jobs ask for."""

NAMES = tuple(RULES)
"""Placements that know demands."""


class Packing:
    """A placement on one cluster, for the jobs of one replay."""

    def __init__(
        self,
        name: str,
        params: Mapping[str, Any],
        cluster: Cluster,
        jobs: Sequence[Job],
        network: Network | None,
        seed: int,
    ) -> None:
        self.name = name
        self.cluster = cluster
        rules = ARTEFACT_RULES if params.get("artefact") else RULES
        self.rule = rules[name](cluster, jobs, seed, params)
        tree = ((), ()) if network is None else (network.server_domain, network.domain_parent)
        self.domains = Domains(list(cluster.sizes), *tree)

    def place(
        self, job: Active, free: Free, gpus: int | None = None, gpu_type: int | None = None
    ) -> Allocation | None:
        """Return the GPUs of the gang, or of a part of it on one type, or None."""
        gang = job.gpus if gpus is None else gpus
        servers = tuple(self.cluster.allowed_servers(job.job))
        if gpu_type is not None:
            name = self.cluster.gpu_types[gpu_type]
            servers = tuple(s for s in servers if self.cluster.types[s] == name)
        self.rule.start(job)
        ask = Ask(job, gang, gang, servers)
        size = max((self.cluster.sizes[server] for server in servers), default=0)
        chosen: Allocation | None
        if self.name == "topology" and not self.rule.has_demands:
            chosen = self.place_gpus(free, ask)
        elif gang <= size:
            chosen = self.added(free, ask, {}, 1)
        elif self.name == "topology":
            chosen = self.place_in_domain(free, ask, size)
        elif self.name == "buddy":
            chosen = self.place_greedily(free, ask)
        else:
            chosen = self.added(free, whole(ask, size), {}, gang // size)
            chosen = self.with_rest(free, ask, chosen, gang % size)
        return None if chosen is None else dict(sorted(chosen.items()))

    def with_rest(
        self, free: Free, ask: Ask, chosen: Allocation | None, rest: int
    ) -> Allocation | None:
        """Add a server for what is left over, if anything is."""
        if chosen is None or rest == 0:
            return chosen
        return self.added(free, replace(ask, workers=rest), chosen, 1)

    def added(self, free: Free, ask: Ask, chosen: Allocation, count: int) -> Allocation | None:
        """Add so many other servers, the best first; None if there are not so many."""
        for _ in range(count):
            others = [s for s in ask.servers if s not in chosen and self.can_host(free, s, ask)]
            scores = {server: self.rule.score(free, server, ask) for server in others}
            able = {server: score for server, score in scores.items() if score is not None}
            if not able:
                return None
            server = self.rule.choose(able)
            chosen = {**chosen, server: self.rule.gpus(free, server, ask)}
        return chosen

    def can_host(self, free: Free, server: int, ask: Ask) -> bool:
        """Whether a server could take the workers."""
        if not free.has_room(server, ask.job, max(1, ask.workers)):
            return False
        if ask.job.is_share:
            return bool(self.rule.shareable(free, server, ask.job))
        if ask.is_whole and self.cluster.sizes[server] != ask.workers:
            return False
        return free.masks[server].bit_count() >= ask.workers

    def place_greedily(self, free: Free, ask: Ask) -> Allocation | None:
        """Take idle servers, the largest first, as long as the gang fills them."""
        chosen: Allocation = {}
        rest = ask.gang
        for size in sorted(set(self.cluster.sizes.values()), reverse=True):
            while rest >= size:
                more = self.added(free, whole(ask, size), chosen, 1)
                if more is None:
                    break
                chosen, rest = more, rest - size
        return self.with_rest(free, ask, chosen, rest)

    def place_gpus(self, free: Free, ask: Ask) -> Allocation | None:
        """One server if one holds the gang, else the smallest domain that does."""
        counts = {s: free.masks[s].bit_count() for s in ask.servers}
        able = [server for server in counts if counts[server] >= ask.gang]
        if able:
            best = min(able, key=lambda server: (counts[server], server))
            return {best: lowest_bits(free.masks[best], ask.gang)}
        for domain in self.domains.holding(counts, ask.gang):
            taken = self.domains.taken(domain, counts, ask.gang)
            return {s: lowest_bits(free.masks[s], count) for s, count in taken.items()}
        return None

    def place_in_domain(self, free: Free, ask: Ask, size: int) -> Allocation | None:
        """Take whole servers and one for the rest, in the smallest domain that has them."""
        num_whole, rest = divmod(ask.gang, size)
        able = {s: int(self.can_host(free, s, whole(ask, size))) for s in ask.servers}
        for domain in self.domains.holding(able, num_whole):
            taken = self.domains.taken(domain, able, num_whole)
            chosen = {server: lowest_bits(free.masks[server], size) for server in taken}
            inside = tuple(s for s in ask.servers if self.domains.is_inside(s, domain))
            found = self.with_rest(free, replace(ask, servers=inside), chosen, rest)
            if found is not None:
                return found
        return None


def make_packing(
    name: str,
    params: Mapping[str, Any],
    cluster: Cluster,
    jobs: Sequence[Job],
    network: Network | None,
    seed: int,
    has_demands: bool,
) -> Packing | None:
    """Return the placement for jobs that ask for more than GPUs, where it is asked."""
    if name not in OWN and not has_demands:
        return None
    if name not in NAMES:
        raise ValueError(f"placement {name}: it knows nothing but whole GPUs")
    return Packing(name, params, cluster, jobs, network, seed)


def whole(ask: Ask, size: int) -> Ask:
    """Ask for a whole server instead."""
    return replace(ask, workers=size, is_whole=True)
