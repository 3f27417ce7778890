"""Block bootstrap of traces: :func:`resampled`."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np

from gpusched.traces.checked_columns import check_horizon
from gpusched.traces.job_columns import moved
from gpusched.traces.workload import Trace

AnyTrace = TypeVar("AnyTrace", bound=Trace)


def num_blocks(trace: Trace, block_us: int) -> int:
    """Return the number of whole time blocks that the submissions span."""
    return (trace.span_us + 1) // block_us


def resampled(trace: AnyTrace, block_us: int, rng: np.random.Generator) -> AnyTrace:
    """Return a trace of time blocks drawn with replacement and put in sequence.

    As many are drawn as there are whole blocks; jobs after the last whole block are dropped. A
    block is kept unchanged, so correlations and dependencies within a week remain; a backlog from
    the week before does not.

    ``block_us``: length of a block in microseconds; the first starts at the first submission.
    """
    number = num_blocks(trace, block_us)
    if number < 1:
        raise ValueError(f"{trace.name}: its submissions fill no block of {block_us} us")
    first_us = int(trace.submit_us[0])
    ends = np.searchsorted(trace.submit_us, first_us + block_us * np.arange(number + 1))
    while True:  # terminates: the first block holds a job
        drawn = rng.integers(number, size=number)
        jobs = np.concatenate([np.arange(ends[block], ends[block + 1]) for block in drawn])
        if len(jobs):
            break
    copy = np.repeat(np.arange(number), np.diff(ends)[drawn])
    shift = (copy - drawn[copy]) * block_us
    taken = trace._take(jobs)
    submit_us = taken.submit_us + shift
    check_horizon("resampled", submit_us, taken.service_us)
    number_of_job = np.arange(len(jobs), dtype=np.int64)
    fields: dict[str, Any] = {"id": number_of_job}
    if trace.array is not None or trace.dependency is not None:
        from gpusched.traces.dependencies import of_copies

        fields |= of_copies(taken, copy)
    return dataclasses.replace(
        taken,
        submit_us=submit_us,
        **moved(taken, shift),
        row=number_of_job,
        **fields,
        source=f"{trace.source}; {number} blocks of {block_us / 86_400e6:g} days drawn again",
    )
