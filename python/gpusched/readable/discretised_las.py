"""Discretised two-dimensional LAS: queues by attained GPU time."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Any

from gpusched.readable.engine import Engine
from gpusched.readable.model import Active
from gpusched.readable.orders import las
from gpusched.readable.preemptive import Preemptive, ticks

PRESETS: dict[str, dict[str, Any]] = {
    "tiresias": {"limits": [3250.0, 7200.0]},
    "tiresias-artefact": {
        "limits": [3250.0, 7200.0],
        "inside": "running",
        "crossing": "floored",
        "period_s": 0.0,
    },
    "lucid": {
        "limits": [18000.0],
        "epoch": "period",
        "period_s": 60.0,
        "restart": "work",
        "cost_s": 40.0,
        "wide_cost_s": 60.0,
        "quota": "hold",
        "overrun_s": 1.0,
        "sink": "passed",
    },
}


class DiscretisedLas(Preemptive):
    """Key: (queue, submit, entry or place). The queue is the number of limits reached."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        preset = PRESETS[params.get("preset", "tiresias")]
        own = {
            "period_s": 60.0,
            "inside": "submit",
            "promote": 0.0,
            "crossing": "exact",
            "sink": "reached",
        }
        super().__init__(las, own | preset | dict(params))
        beyond = 1 if self.params["sink"] == "passed" else 0
        self.limits = [ticks(limit) + beyond for limit in self.params["limits"]]
        self.base: dict[int, int] = {}
        self.seen: dict[int, int] = {}
        self.entry: dict[int, int] = {}
        self.line: list[int] = []  # JobIds as they stand, with inside=running

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
        moved: list[int] = []  # into another queue
        by_entry = self.params["inside"] == "entry"
        for job in engine.active:
            if sigma > 0 and not job.running and self.queue(job, now) > 0:
                unserved = float(now - job.released)
                if unserved > sigma * float(self.since_promotion(job, now)):
                    self.base[job.id] = job.attained(now)
            queue = self.queue(job, now)
            if self.seen.get(job.id) != queue:
                if job.id in self.seen:
                    moved.append(job.id)
                self.seen[job.id] = queue
                self.entry[job.id] = now
            inside = self.entry[job.id] if by_entry else job.job.submit_us
            keys[job.id] = (queue, inside, job.id)
        if self.params["inside"] == "running":
            self.line_up(engine, moved)
            return {job: (keys[job][0], place) for place, job in enumerate(self.line)}
        return keys

    def line_up(self, engine: Engine, moved: list[int]) -> None:
        """Let who waits go behind who runs, then add who came, then who changed queues."""
        active = {job.id: job for job in engine.active}
        stood = [job for job in self.line if job in active and job not in moved]
        stood.sort(key=lambda job: not active[job].running)  # stable
        came = [job for job in active if job not in self.line]
        self.line = stood + came + moved

    def wake(self, engine: Engine) -> int | None:
        """Return the next review or the next instant at which a limit is reached."""
        review = super().wake(engine)
        if self.params["epoch"] == "period":
            return review
        times = [] if review is None else [review]
        for job in engine.running:
            queue = self.seen[job.id]
            if queue < len(self.limits) and self.params["crossing"] == "floored":
                missing = self.limits[queue] - self.since_promotion(job, engine.now)
                whole = max(1, missing // (job.gpus * ticks(1)))
                times.append(max(engine.now, job.since + job.pending) + whole * ticks(1))
            elif queue < len(self.limits):
                needed = -(-self.limits[queue] // job.gpus)  # rounded up to a tick
                missing = needed - self.since_promotion(job, job.since)
                times.append(job.since + job.pending + missing)
        return min(times, default=None)
