"""The tree of domains above the servers, and how a gang is cut along it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Node = tuple[int, int]
"""(0, server) or (1, domain): servers come first."""

Counts = dict[int, int]
"""Server -> how much it could take."""


class Domains:
    """Servers without a domain have one root above them all."""

    def __init__(
        self,
        servers: Iterable[int],
        server_domain: Sequence[int] = (),
        domain_parent: Sequence[int | None] = (),
    ) -> None:
        self.parent: dict[Node, Node | None] = {}
        for server in servers:
            self.parent[0, server] = (1, server_domain[server] if server_domain else 0)
        for domain, parent in enumerate(domain_parent or (None,)):
            self.parent[1, domain] = None if parent is None else (1, parent)

    def above(self, node: Node | None) -> list[Node]:
        """Return a node and all above it."""
        return [] if node is None else [node, *self.above(self.parent[node])]

    def is_inside(self, server: int, domain: Node) -> bool:
        """Whether a domain has the server."""
        return domain in self.above((0, server))

    def capacity(self, node: Node, counts: Counts) -> int:
        """Return how much the servers of a node could take."""
        return sum(count for server, count in counts.items() if node in self.above((0, server)))

    def holding(self, counts: Counts, need: int) -> list[Node]:
        """Return the domains that could take so much, the smallest first."""
        able = [
            node for node in self.parent if node[0] == 1 and self.capacity(node, counts) >= need
        ]
        return sorted(
            able, key=lambda node: (-len(self.above(node)), self.capacity(node, counts), node)
        )

    def taken(self, domain: Node, counts: Counts, need: int) -> Counts:
        """Cut what is needed along the tree: few parts, and the last one fits best."""
        if domain[0] == 0:
            return {domain[1]: need}
        found: Counts = {}
        left = sorted(node for node, parent in self.parent.items() if parent == domain)
        while need > 0:
            capacities = {node: self.capacity(node, counts) for node in left}
            able = [node for node in left if capacities[node] >= need]
            if able:
                chosen = min(able, key=lambda node: (capacities[node], node))
            else:
                chosen = min(left, key=lambda node: (-capacities[node], node))
            amount = min(need, capacities[chosen])
            found |= self.taken(chosen, counts, amount)
            left.remove(chosen)
            need -= amount
        return found
