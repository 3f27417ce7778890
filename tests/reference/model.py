"""What goes in (jobs) and what comes out (an outcome)."""

from __future__ import annotations

from dataclasses import dataclass, field

FINISHED, REJECTED, UNFINISHED = 0, 1, 2

REJECT_REASONS = (
    "",
    "no server has an allowed GPU type",
    "needs more GPUs than the cluster has",
    "the placement refuses it on an empty cluster",
)

Allocation = dict[int, int]
"""Server -> mask of the GPUs held there. The one pool of ``count`` is server -1."""

Row = tuple[int, int, int, int, int]
"""Job, start, end, server, mask."""


@dataclass(frozen=True)
class Job:
    """A job as the trace states it; times are integer microseconds."""

    submit_us: int
    service_us: int
    gpus: int
    estimate_us: int | None = None
    predicted_us: int | None = None
    weight: float = 1.0
    checkpoint_us: int = 0
    restart_us: int = 0
    allowed: frozenset[str] | None = None


@dataclass(frozen=True)
class Outcome:
    """What happened, one entry per job in JobId order."""

    start_us: list[int]
    finish_us: list[int]
    held_us: list[int]
    paid_us: list[int]
    preemptions: list[int]
    num_servers: list[int]
    status: list[int]
    reason: list[int]
    rows: list[Row]
    digest: str


@dataclass
class Active:
    """A job and what the engine knows about it."""

    id: int
    job: Job
    cost: int
    status: int = UNFINISHED
    reason: int = 0
    allocation: Allocation | None = None
    since: int = -1
    pending: int = 0
    released: int = -1
    start: int = -1
    finish: int = -1
    held: int = 0
    paid: int = 0
    redo: int = 0
    preemptions: int = 0
    num_servers: int = 0
    rows: list[Row] = field(default_factory=list)

    @property
    def gpus(self) -> int:
        """The gang's width."""
        return self.job.gpus

    @property
    def running(self) -> bool:
        """Whether the job holds GPUs."""
        return self.allocation is not None

    @property
    def predicted(self) -> int:
        """The predicted service, at least one tick."""
        truth = self.job.service_us
        return max(1, truth if self.job.predicted_us is None else self.job.predicted_us)

    @property
    def estimate(self) -> int:
        """The estimate that easy and conservative use, at least one tick."""
        return self.predicted if self.job.estimate_us is None else max(1, self.job.estimate_us)

    def attained(self, now: int) -> int:
        """Return the time spent making progress until ``now``."""
        progress = max(0, now - self.since - self.pending) if self.running else 0
        return self.held - self.paid + progress

    def remaining(self, now: int) -> int:
        """Return the predicted remaining service, at least one tick."""
        return max(1, self.predicted + self.redo - self.attained(now))

    def finish_tick(self) -> int:
        """Return when the running job ends if it is left alone."""
        left = self.job.service_us + self.redo - self.attained(self.since)
        return self.since + self.pending + left
