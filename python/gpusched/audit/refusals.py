"""Who can never run, and why: what an audit holds against the rejects of a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpusched.audit.empty_fit import Holds, fits_when_empty, has_room
from gpusched.base.arrays import Bool, Int64
from gpusched.base.memo import Memo

UInt8 = npt.NDArray[np.uint8]

if TYPE_CHECKING:
    from gpusched.audit.course import Course
    from gpusched.audit.declarations import Flags
    from gpusched.audit.evidence import Case
    from gpusched.traces.workload import Trace


def rejects(case: Case, course: Course) -> tuple[UInt8, Int64]:
    """Return for each job why it is rejected (an index in ``REJECT_REASONS``), 0 if it is not.

    And when, as far as it may have run before: at a change of policy that finds it waiting or
    running, and under which it can never run; -1 where it is judged as it arrives.
    """
    reason, at_us = np.zeros(case.num_jobs, np.uint8), np.full(case.num_jobs, -1, np.int64)
    if len(case.policies) == 1:
        return rejects_for_good(case, case.flags, np.ones(case.num_jobs, np.bool_)), at_us
    arrived = case.era(case.trace.submit_us)
    over_us = np.where(case.finished, case.last_end_us, np.iinfo(np.int64).max)
    jobs, cancelled_us = course.taken_back(case)
    over_us[jobs] = cancelled_us
    starts_us = [-1, *case.handed_over_us.tolist()]
    for era, (us, (_, flags)) in enumerate(zip(starts_us, case.policies, strict=True)):
        is_new = arrived == era
        is_found = (arrived < era) & (us < over_us) & (case.era(np.array([us])) == era)
        found = rejects_for_good(case, flags, case.last_end_us <= np.where(is_new, -1, us))
        judged = (is_new | is_found) & (reason == 0) & (found > 0)
        reason[judged] = found[judged]
        at_us[judged & is_found] = us
    return reason, at_us


def rejects_for_good(case: Case, flags: Flags, may_be: Bool) -> UInt8:
    """Return for each job why it can never run (an index in ``REJECT_REASONS``), 0 if it can.

    Of a placement that is not known, the refusals on an empty cluster are taken for true where they
    ``may_be``.
    """
    key = (case.cluster, case.spec.placement, case.measured, flags.places, flags.scatters,
           flags.consolidates)  # fmt: skip
    reason, is_open = _known.of(case.trace, key, lambda: _reasons(case, flags))
    if is_open is None:
        return reason
    return np.where(is_open & may_be & (case.claimed["reason"] == 3), np.uint8(3), reason)


def _reasons(case: Case, flags: Flags) -> tuple[UInt8, Bool | None]:
    """Return the reasons, and for which jobs a placement may have another one; None: for none."""
    alike = case.alike
    known = [
        _reason(case, flags, alike.allowed[kind[0]], kind, alike.has_demands)
        for kind in alike.kinds
    ]
    reason = np.array([reason or 0 for reason in known], np.uint8)[alike.of_job]
    if case.measured is not None:
        cannot_run = ~case.measured.can_run[case.measured.kinds.of_job]
        reason[(reason == 0) & cannot_run] = 4
    if None not in known:
        return reason, None
    return reason, np.array([reason is None for reason in known])[alike.of_job]


_known: Memo[Trace, tuple[UInt8, Bool | None]] = Memo(2)


def _reason(
    case: Case, flags: Flags, allowed: Bool, kind: list[int], has_demands: bool
) -> int | None:
    _, gpus, _, cpu_milli, memory_mib = kind
    may_use = allowed[case.server_type]
    sizes = case.server_gpus[may_use]
    if not len(sizes):
        return 1
    if gpus > sizes.sum():
        return 2
    # Who chooses GPUs itself takes any that the gang fits on.
    if flags.places:
        return 0
    placement = case.spec.placement
    if has_demands:
        holds = _host(case, may_use, cpu_milli, memory_mib)
        fits = has_room(flags, placement, sizes, holds, gpus)
    else:
        fits = fits_when_empty(flags, placement, sizes.tolist(), gpus)
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
