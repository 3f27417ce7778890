"""Users and queues that a trace is mostly about."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.labels import Labels
from gpusched.traces.auditing.check_registry import Outcome, trace_check
from gpusched.traces.auditing.evidence import Evidence

_USER_JOBS: Final = 0.5
_QUEUE_JOBS: Final = 0.9
_ENOUGH_JOBS: Final = 1_000


@trace_check(
    "dominant-user",
    summary="A user with most of the jobs.",
    effect="Means over jobs are that user's; what helps them seems to help all. Look at results by "
    "user, or leave them out.",
    threshold="Odd from half of 1,000 jobs or more, beside at least two other users: where they "
    "follow Zipf's law, the first of hundreds has a sixth; of fewer jobs, one sweep is the half.",
    rank=50,
)
def dominant_user(evidence: Evidence) -> Outcome:
    """Find the user with the greatest share."""
    return _dominant(evidence, evidence.trace.user, "user", _USER_JOBS)


@trace_check(
    "dominant-queue",
    summary="A queue, or virtual cluster, with almost all jobs.",
    effect="The trace tells of one queue: rules between queues have nothing to decide.",
    threshold="Odd from nine tenths of 1,000 jobs or more, beside at least two other queues.",
    rank=51,
)
def dominant_queue(evidence: Evidence) -> Outcome:
    """Find the queue with the greatest share."""
    return _dominant(evidence, evidence.trace.queue, "queue", _QUEUE_JOBS)


def _dominant(evidence: Evidence, labels: Labels | None, noun: str, limit: float) -> Outcome:
    if labels is None:
        return Outcome("unknown", f"the trace has no {noun}s")
    counts = labels.counts() * np.array([bool(name) for name in labels.names])
    if np.count_nonzero(counts) < 3:
        return Outcome("unknown", f"there are fewer than three {noun}s")
    if evidence.num_jobs < _ENOUGH_JOBS:
        return Outcome("unknown", f"there are fewer than {_ENOUGH_JOBS:,} jobs")
    first = int(counts.argmax())
    jobs = np.flatnonzero(labels.codes == first)
    share = len(jobs) / evidence.num_jobs
    time = float(evidence.gpu_seconds[jobs].sum() / evidence.gpu_seconds.sum())
    what = (
        f"{noun} {labels.names[first]!r} has {share:.0%} of the jobs and {time:.0%} of the GPU time"
    )
    return Outcome("odd", what, jobs) if share >= limit else Outcome("fine", what)
