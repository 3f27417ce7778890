"""Run times that were cut: at the end of the log, at a limit, or by a filter."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration, plural
from gpusched.traces.auditing.check_registry import Outcome, trace_check
from gpusched.traces.auditing.evidence import Evidence

_EXPECTED: Final = 20
_LIMIT_S: Final = 600.0
_FLOORS_S: Final = (30, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200)


@trace_check(
    "running-at-end",
    summary="Jobs that were running when the log ended: many end at the very same last instant.",
    effect="Their run times are too short by what came after: long jobs look short, and the load "
    "is too low.",
    threshold="Odd where 5 jobs and 0.1 % of them end within a second of the last end; wrong where "
    "they hold 5 % of the GPU time.",
    rank=20,
)
def running_at_end(evidence: Evidence) -> Outcome:
    """Count the jobs that end together with the last one."""
    end_us = evidence.end_us
    jobs = np.flatnonzero(end_us >= end_us.max() - US_PER_S)
    if len(jobs) < max(5, 0.001 * evidence.num_jobs):
        return Outcome("fine", "jobs do not end together with the log")
    share = float(evidence.gpu_seconds[jobs].sum() / evidence.gpu_seconds.sum())
    what = f"{plural(len(jobs), 'job')} with {share:.0%} of the GPU time end when the log does"
    return Outcome("wrong" if share >= 0.05 else "odd", what, jobs)


@trace_check(
    "missing-long-runs",
    summary="A truncated tail: jobs of the last days that would have run on are missing.",
    effect="Only what had finished was written down: late jobs look short, and the load falls "
    "towards the end. Leave out the last days, as many as a long job runs.",
    threshold="Were run times the same all the time, 20 jobs or more would run beyond the last "
    "submit; wrong where fewer than a tenth of these do, odd where fewer than a fifth: jobs of "
    "one sweep are alike, so that a fourth is chance.",
    rank=21,
)
def missing_long_runs(evidence: Evidence) -> Outcome:
    """Compare how many jobs run beyond the last submit with how many would by chance."""
    submit_us, service_us = evidence.trace.submit_us, evidence.trace.service_us
    last = int(submit_us[-1])
    # Nothing of the first half is cut, or little; a job there tells how long jobs run.
    half = submit_us <= last // 2 + int(submit_us[0]) // 2
    if half.sum() < _EXPECTED or not evidence.trace.span_us:
        return Outcome("unknown", "too few jobs to tell")
    known = np.sort(service_us[half])
    # The last job itself runs beyond its own submit.
    beyond = 1.0 - np.searchsorted(known, last - submit_us[:-1], side="right") / len(known)
    expected = float(beyond.sum())
    if expected < _EXPECTED:
        return Outcome("unknown", "runs are too short beside the time to tell")
    # One long run of many that were submitted together weighs as much as all of them.
    found = int(np.count_nonzero(submit_us[:-1] + service_us[:-1] > last))
    what = f"{plural(found, 'job')} run beyond the last submit, {expected:,.0f} would by chance"
    if found >= 0.2 * expected:
        return Outcome("fine", what)
    late = np.flatnonzero(last - submit_us <= float(np.percentile(known, 95)))
    return Outcome("wrong" if found < 0.1 * expected else "odd", what, late)


@trace_check(
    "service-limit",
    summary="Run times that were cut at a limit: many of one length, of 10 minutes or more.",
    effect="A limit of that site is taken for the work of its jobs: whoever asks what another "
    "limit or speed would do gets a wrong answer.",
    threshold="A length of 0.2 % of the jobs and 8 of them, ten times as many as lengths within "
    "2 % of it have on average, is odd; wrong where such jobs hold 10 % of the GPU time.",
    rank=22,
)
def service_limit(evidence: Evidence) -> Outcome:
    """Look for single run times that stand out of those around them."""
    service_s = np.rint(evidence.trace.service_us / US_PER_S).astype(np.int64)
    lengths, counts = np.unique(service_s, return_counts=True)
    least = max(8.0, 0.002 * evidence.num_jobs)
    heaps = []
    total = np.concatenate(([0], np.cumsum(counts)))
    for at in np.flatnonzero((counts >= least) & (lengths >= _LIMIT_S)).tolist():
        low = np.searchsorted(lengths, 0.98 * lengths[at])
        high = np.searchsorted(lengths, 1.02 * lengths[at], side="right")
        others = total[high] - total[low] - counts[at]
        # Per second: run times are mostly whole seconds.
        if counts[at] >= 10 * max(1.0, others / (0.04 * lengths[at])):
            heaps.append(int(lengths[at]))
    if not heaps:
        return Outcome("fine", "no run time stands out")
    jobs = np.flatnonzero(np.isin(service_s, heaps))
    share = float(evidence.gpu_seconds[jobs].sum() / evidence.gpu_seconds.sum())
    shown = ", ".join(f"{length:,} s" for length in heaps[:3]) + (", ..." if heaps[3:] else "")
    what = f"{plural(len(jobs), 'job')} with {share:.0%} of the GPU time run exactly {shown}"
    return Outcome("wrong" if share >= 0.1 else "odd", what, jobs)


@trace_check(
    "short-jobs-filtered",
    summary="A hard minimum of the run times: shorter jobs were left out.",
    effect="Short jobs are most of the jobs of a site, and those that wait in vain: mean slowdown "
    "and the gain of serving short jobs first come out too small.",
    threshold="The shortest run lies within 5 % above a round time of 30 s or more, and 5 jobs and "
    "0.1 % of all run at most 10 % longer: where nothing is cut, the shortest are few.",
    rank=23,
)
def short_jobs_filtered(evidence: Evidence) -> Outcome:
    """Look at how the distribution of run times begins."""
    service_s = evidence.trace.service_s
    shortest = float(service_s.min())
    floor = next((f for f in _FLOORS_S if f <= shortest <= 1.05 * f), None)
    jobs = np.flatnonzero(service_s <= 1.1 * shortest)
    if floor is None or len(jobs) < max(5, 0.001 * evidence.num_jobs):
        return Outcome("fine", f"the shortest run is {duration(shortest)}, and few are as short")
    what = f"no run is shorter than {floor:,} s, and {len(jobs):,} are at most 10 % longer"
    return Outcome("odd", what, jobs)
