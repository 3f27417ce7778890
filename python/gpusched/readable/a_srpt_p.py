"""Preemptive A-SRPT: least remaining virtual work, unless a restart costs more than it gains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpusched.readable.engine import Engine
from gpusched.readable.model import Active
from gpusched.readable.preemptive import Preemptive


class ASrptP(Preemptive):
    """A running job is ahead by the work that its restart would cost."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        super().__init__(lambda job, now, seed: 0.0, params)

    def keys(self, engine: Engine) -> dict[int, Any]:
        """Return the sort key (key, id) of every active job."""
        return {job.id: (self.virtual_work(engine, job), job.id) for job in engine.active}

    def virtual_work(self, engine: Engine, job: Active) -> float:
        """Return the GPUs times the remaining time on a good placement."""
        ticks = float(job.remaining(engine.now)) * job.stretch
        if job.running:
            ticks -= float(self.cost(job.job, job.gpus))
        return float(job.gpus) * ticks
