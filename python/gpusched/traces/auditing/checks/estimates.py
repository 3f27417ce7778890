"""What users said their jobs would take, beside what they took."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration, plural
from gpusched.traces.auditing.check_registry import Outcome, trace_check
from gpusched.traces.auditing.evidence import Evidence

_GRACE_S: Final = 60
_BELOW: Final = 0.01
_EQUAL: Final = 0.05


@trace_check(
    "estimates-below-services",
    summary="Jobs that ran longer than estimated.",
    effect="Backfilling reserves too short a time for them: reserved starts are missed, and easy "
    "and conservative lose what they promise. If these are limits, some site did not enforce them.",
    threshold="Odd from 1 % of the jobs with an estimate that exceed it by more than a minute, "
    "which is a usual grace before a job is killed.",
    rank=60,
)
def estimates_below_services(evidence: Evidence) -> Outcome:
    """Count run times above their estimates."""
    estimate_us = evidence.trace.estimate_us
    if estimate_us is None:
        return Outcome("unknown", "the trace has no estimates")
    given = estimate_us >= 0
    over_us = evidence.trace.service_us - estimate_us
    jobs = np.flatnonzero(given & (over_us > _GRACE_S * US_PER_S))
    share = len(jobs) / max(1, int(given.sum()))
    if share < _BELOW:
        return Outcome("fine", f"{share:.2%} of the estimates are exceeded")
    most = duration(float(over_us[jobs].max()) / US_PER_S)
    return Outcome(
        "odd", f"{plural(len(jobs), 'job')} ({share:.0%}) exceed theirs, by up to {most}", jobs
    )


@trace_check(
    "estimates-equal-services",
    summary="Jobs that ran exactly as long as estimated.",
    effect="Either they were killed at their limit, and their work is not known, or the estimate "
    "is the run time written again: then backfilling knows the future.",
    threshold="Odd from 5 % of the jobs with an estimate, and 5 of them, within a second; wrong "
    "from half of them: nobody guesses so well.",
    rank=61,
)
def estimates_equal_services(evidence: Evidence) -> Outcome:
    """Count run times that equal their estimates."""
    estimate_us = evidence.trace.estimate_us
    if estimate_us is None:
        return Outcome("unknown", "the trace has no estimates")
    given = estimate_us >= 0
    near = np.abs(evidence.trace.service_us - estimate_us) <= US_PER_S
    jobs = np.flatnonzero(given & near)
    share = len(jobs) / max(1, int(given.sum()))
    if share < _EQUAL or len(jobs) < 5:
        return Outcome("fine", f"{share:.1%} of the jobs run exactly as long as estimated")
    what = f"{plural(len(jobs), 'job')} ({share:.0%}) run exactly as long as estimated"
    return Outcome("wrong" if share >= 0.5 else "odd", what, jobs)
