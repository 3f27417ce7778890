"""Jobs that are there twice."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.wording import plural
from gpusched.traces.auditing.check_registry import Outcome, trace_check
from gpusched.traces.auditing.evidence import Evidence
from gpusched.traces.checked_columns import LABELS

_MANY: Final = 0.01


def _repeats(columns: list[AnyArray]) -> Int64:
    """Return the jobs that equal one before them in all columns."""
    order = np.lexsort(columns[::-1])  # stable: equal ones stay in the order of their index
    same = np.ones(len(order) - 1, dtype=np.bool_)
    for column in columns:
        sorted_values = column[order]
        same &= sorted_values[1:] == sorted_values[:-1]
    return np.sort(order[1:][same]).astype(np.int64)


@trace_check(
    "duplicate-ids",
    summary="Ids that several jobs have.",
    effect="A requeued job counts as several, or a file was joined twice; no run takes such ids.",
    threshold="Wrong from the first: an id names one job.",
    rank=0,
)
def duplicate_ids(evidence: Evidence) -> Outcome:
    """Look for ids that occur again."""
    _, codes = np.unique(evidence.trace.id, return_inverse=True)
    jobs = _repeats([codes])
    if not jobs.size:
        return Outcome("fine", "every id is there once")
    has = "has" if len(jobs) == 1 else "have"
    return Outcome("wrong", f"{plural(len(jobs), 'job')} {has} the id of another", jobs)


@trace_check(
    "duplicate-rows",
    summary="Jobs that equal another in all columns but the id.",
    effect="Load and queues are higher than they were, most where a file was joined twice.",
    threshold="Odd from the first, wrong from 1 % of the jobs where no id tells them apart: a "
    "sweep submits equal jobs in one second, but they rarely run equally long.",
    rank=1,
)
def duplicate_rows(evidence: Evidence) -> Outcome:
    """Look for jobs of one submit, service, width, wait and labels."""
    trace = evidence.trace
    columns: list[AnyArray] = [trace.submit_us, trace.service_us, trace.gpus]
    columns += [labels.codes for name in LABELS if (labels := getattr(trace, name)) is not None]
    given = (trace.source_wait_us, trace.estimate_us, trace.share_milli, trace.cpu_milli)
    columns += [values for values in given if values is not None]
    jobs = _repeats(columns)
    if not jobs.size:
        return Outcome("fine", "no two jobs are equal in all columns")
    share = len(jobs) / evidence.num_jobs
    what = f"{plural(len(jobs), 'job')} ({share:.2%}) like another in all columns"
    return Outcome("odd" if _has_ids(evidence) or share < _MANY else "wrong", what, jobs)


def _has_ids(evidence: Evidence) -> bool:
    """Whether ids say more than the place of a job among the rows."""
    ids = evidence.trace.id
    if ids.dtype.kind != "i":
        return True
    num_rows = evidence.num_jobs + evidence.trace.rejects.total
    is_ascending = bool((np.diff(ids[evidence.file_order]) > 0).all())
    return not (is_ascending and int(ids.min()) >= 0 and int(ids.max()) < num_rows)
