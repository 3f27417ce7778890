"""ServerFilling-SRPT: the smallest jobs that fill the cluster, widest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpusched.readable.model import Active
from gpusched.readable.orders import srsf
from gpusched.readable.preemptive import Preemptive


class ServerFilling(Preemptive):
    """As the others, with another set of taken jobs."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        super().__init__(srsf, params)

    def take(self, ranked: list[Active], num_gpus: int) -> list[Active]:
        """Return the jobs of the shortest prefix that could fill the cluster, widest first."""
        prefix: list[Active] = []
        for job in ranked:
            if sum(other.gpus for other in prefix) >= num_gpus:
                break
            prefix.append(job)
        widest_first = sorted(prefix, key=lambda job: -job.gpus)  # stable: then by key
        return super().take(widest_first, num_gpus)
