"""Discretised two-dimensional LAS: queues by attained GPU time."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Any

from .engine import Engine
from .model import Active
from .orders import las
from .preemptive import Preemptive, ticks

PRESETS: dict[str, dict[str, Any]] = {
    "tiresias": {"limits": [3250.0, 7200.0]},
    "lucid": {
        "limits": [18000.0],
        "epoch": "period",
        "period_s": 60.0,
        "restart": "work",
        "cost_s": 40.0,
        "wide_cost_s": 60.0,
        "quota": "hold",
    },
}


class DiscretisedLas(Preemptive):
    """Key: (queue, submit or entry). The queue is the number of limits reached."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        preset = PRESETS[params.get("preset", "tiresias")]
        own = {"period_s": 60.0, "inside": "submit", "promote": 0.0}
        super().__init__(las, own | preset | dict(params))
        self.limits = [ticks(limit) for limit in self.params["limits"]]
        self.base: dict[int, int] = {}
        self.seen: dict[int, int] = {}
        self.entry: dict[int, int] = {}

    def since_promotion(self, job: Active, now: int) -> int:
        """Return the service attained since the last promotion."""
        return job.attained(now) - self.base.get(job.id, 0)

    def queue(self, job: Active, now: int) -> int:
        """Return the number of limits that the job has reached."""
        gpu_time = job.gpus * self.since_promotion(job, now)
        return bisect.bisect_right(self.limits, gpu_time)

    def keys(self, engine: Engine) -> dict[int, Any]:
        """Promote, note who entered a queue, return the sort keys."""
        now, sigma = engine.now, self.params["promote"]
        keys: dict[int, Any] = {}
        for job in engine.active:
            if sigma > 0 and not job.running and self.queue(job, now) > 0:
                unserved = float(now - job.released)
                if unserved > sigma * float(self.since_promotion(job, now)):
                    self.base[job.id] = job.attained(now)
            queue = self.queue(job, now)
            if self.seen.get(job.id) != queue:
                self.seen[job.id] = queue
                self.entry[job.id] = now
            by_entry = self.params["inside"] == "entry"
            inside = self.entry[job.id] if by_entry else job.job.submit_us
            keys[job.id] = (queue, inside, job.id)
        return keys

    def wake(self, engine: Engine) -> int | None:
        """Return the next review or the next instant at which a limit is reached."""
        review = super().wake(engine)
        if self.params["epoch"] == "period":
            return review
        times = [] if review is None else [review]
        for job in engine.running:
            queue = self.queue(job, engine.now)
            if queue < len(self.limits):
                needed = -(-self.limits[queue] // job.gpus)  # rounded up to a tick
                missing = needed - self.since_promotion(job, job.since)
                times.append(job.since + job.pending + missing)
        return min(times, default=None)
