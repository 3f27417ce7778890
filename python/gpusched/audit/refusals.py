"""Who can never run, and why: what an audit holds against the rejects of a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched.audit.empty_fit import Holds, fits_when_empty, has_room
from gpusched.audit.type_speeds import Measured
from gpusched.base.arrays import Bool, Int64

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
    claimed = np.asarray(case.schedule.reason).astype(np.int64)
    cannot_run = np.zeros(len(case.trace), dtype=np.bool_)
    if measured is not None:
        cannot_run = ~measured.can_run[measured.kinds.of_job]
    alike = case.alike
    known = [_reason(case, alike.allowed[kind[0]], kind, alike.has_demands) for kind in alike.kinds]
    truth = np.array([-1 if reason is None else reason for reason in known])
    reason = truth[alike.of_job]
    reason = np.where(reason >= 0, reason, np.where(claimed == 3, 3, 0))
    return np.where((reason == 0) & cannot_run, 4, reason)


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
