"""Who can never run, and why: what an audit holds against the rejects of a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpusched.audit.empty_fit import Holds, fits_when_empty, has_room
from gpusched.base.arrays import Bool
from gpusched.base.memo import Memo

UInt8 = npt.NDArray[np.uint8]

if TYPE_CHECKING:
    from gpusched.audit.evidence import Case
    from gpusched.traces.workload import Trace


def rejects_for_good(case: Case) -> UInt8:
    """Return for each job why it can never run (an index in ``REJECT_REASONS``), 0 if it can.

    Of a placement that is not known, the refusals on an empty cluster are taken for true.
    """
    flags = case.flags
    key = (case.cluster, case.spec.placement, case.measured, flags.places, flags.scatters,
           flags.consolidates)  # fmt: skip
    reason, is_open = _known.of(case.trace, key, lambda: _reasons(case))
    if is_open is None:
        return reason
    return np.where(is_open & (case.claimed["reason"] == 3), np.uint8(3), reason)


def _reasons(case: Case) -> tuple[UInt8, Bool | None]:
    """Return the reasons, and for which jobs a placement may have another one; None: for none."""
    alike = case.alike
    known = [_reason(case, alike.allowed[kind[0]], kind, alike.has_demands) for kind in alike.kinds]
    reason = np.array([reason or 0 for reason in known], np.uint8)[alike.of_job]
    if case.measured is not None:
        cannot_run = ~case.measured.can_run[case.measured.kinds.of_job]
        reason[(reason == 0) & cannot_run] = 4
    if None not in known:
        return reason, None
    return reason, np.array([reason is None for reason in known])[alike.of_job]


_known: Memo[Trace, tuple[UInt8, Bool | None]] = Memo(2)


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
