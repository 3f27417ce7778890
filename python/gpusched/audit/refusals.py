"""Who can never run, and why: what an audit holds against the rejects of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpusched.audit.empty_fit import Holds, fits_when_empty, has_room
from gpusched.audit.type_speeds import Measured, allowed_by_set
from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.numbering import numbered

if TYPE_CHECKING:
    from gpusched.audit.evidence import Case


def rejects_for_good(case: Case, measured: Measured | None) -> Int64:
    """Return for each job why it can never run (an index in ``REJECT_REASONS``), 0 if it can.

    Of a placement that is not known, the refusals on an empty cluster are taken for true.

    Parameters
    ----------
    measured
        What is known of the speed if it is one by figures per GPU type.
    """
    trace = case.trace
    claimed = np.asarray(case.schedule.reason).astype(np.int64)
    if measured is None:
        allowed = allowed_by_set(trace, case.cluster)
        of_job = np.zeros(len(trace), np.int64) if trace.type_set is None else trace.type_set
        cannot_run = np.zeros(len(trace), dtype=np.bool_)
    else:
        allowed, of_job = measured.kinds.allowed, measured.kinds.of_job
        cannot_run = ~measured.can_run[of_job]
    demands = (trace.share_milli, trace.cpu_milli, trace.memory_mib)
    kinds, kind_of_job = kinds_of([of_job, trace.gpus, *demands], [0, 1, 1000, 0, 0])
    # What no job asks for beside GPUs no placement looks at.
    has_demands = any(kind[2] < 1000 or kind[3] > 0 or kind[4] > 0 for kind in kinds)
    known = [_reason(case, allowed[kind[0]], kind, has_demands) for kind in kinds]
    truth = np.array([-1 if reason is None else reason for reason in known])
    reason = truth[kind_of_job]
    reason = np.where(reason >= 0, reason, np.where(claimed == 3, 3, 0))
    return np.where((reason == 0) & cannot_run, 4, reason)


def kinds_of(
    columns: Sequence[AnyArray | None], missing: Sequence[int]
) -> tuple[list[list[int]], Int64]:
    """Tell the rows of integers apart.

    Parameters
    ----------
    columns
        Each int64[num_jobs] or narrower, or None: then every row has what is ``missing`` there.

    Returns
    -------
    tuple
        The rows that differ, in no order, and which of them each job has.
    """
    there = [column for column in columns if column is not None]
    kind_of_job = np.zeros(len(there[0]), dtype=np.int64)
    for column in there:
        known, number = numbered(column)
        if len(known) > 1:
            # Both factors count rows at most: their product does not overflow.
            _, kind_of_job = numbered(kind_of_job * len(known) + number)
    one_of = np.zeros(int(kind_of_job.max()) + 1, dtype=np.int64)
    one_of[kind_of_job] = np.arange(len(kind_of_job))
    parts = [
        [absent] * len(one_of) if column is None else column[one_of].tolist()
        for column, absent in zip(columns, missing, strict=True)
    ]
    return [list(row) for row in zip(*parts, strict=True)], kind_of_job


def _reason(case: Case, allowed: Bool, kind: list[int], has_demands: bool) -> int | None:
    _, gpus, _, cpu_milli, memory_mib = kind
    may_use = allowed[case.server_type]
    sizes = case.server_gpus[may_use]
    if not len(sizes):
        return 1
    if gpus > sizes.sum():
        return 2
    # Who chooses GPUs itself takes any that the gang fits on.
    if case.flags.places:
        return 0
    placement = case.spec.placement
    if has_demands:
        holds = _host(case, may_use, cpu_milli, memory_mib)
        fits = has_room(case.flags, placement, sizes, holds, gpus)
    else:
        fits = fits_when_empty(case.flags, placement, sizes.tolist(), gpus)
    return None if fits is None else 0 if fits else 3


def _host(case: Case, may_use: Bool, cpu_milli: int, memory_mib: int) -> Holds:
    """Say which allowed servers hold how many workers that each ask for so much."""
    sizes = case.server_gpus[may_use]

    def holds(workers: int) -> Bool:
        room: Bool = sizes >= workers
        for asked, limits in (
            (cpu_milli, case.cluster.server_cpu_milli),
            (memory_mib, case.cluster.server_memory_mib),
        ):
            if limits is not None:
                room &= (limits[may_use] < 0) | (limits[may_use] >= asked * workers)
        return room

    return holds
