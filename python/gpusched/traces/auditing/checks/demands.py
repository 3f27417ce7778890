"""What jobs ask for, beside what there is."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.arrays import Int64
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.base.wording import plural
from gpusched.traces.auditing.check_registry import Outcome, trace_check
from gpusched.traces.auditing.evidence import Evidence

_NO_INVENTORY: Final = "no cluster is given, and the file states none"
_ODD_WIDTHS: Final = 0.05


@trace_check(
    "wider-than-cluster",
    summary="Jobs that ask for more GPUs than there are, of all types or of those they allow.",
    effect="No policy can ever run them: they are refused, or wait until the end.",
    threshold="Wrong from the first.",
    rank=40,
)
def wider_than_cluster(evidence: Evidence) -> Outcome:
    """Compare widths with the inventory, by allowed types."""
    trace, num_gpus = evidence.trace, evidence.num_gpus
    if num_gpus is None:
        return Outcome("unknown", _NO_INVENTORY)
    room = np.full(len(trace), num_gpus, dtype=np.int64)
    if evidence.cluster is not None and trace.type_set is not None:
        of_type: dict[str, int] = {}
        for group in evidence.cluster.servers:
            kind = group.gpu_type
            of_type[kind] = of_type.get(kind, 0) + group.count * group.gpus
        allowed = [
            sum(of_type.get(name, 0) for name in names) if names else num_gpus
            for names in trace.type_sets
        ]
        room = np.array(allowed, dtype=np.int64)[trace.type_set]
    jobs = np.flatnonzero(trace.gpus > room)
    if not jobs.size:
        return Outcome("fine", f"the widest job has {int(trace.gpus.max()):,} of {num_gpus:,} GPUs")
    widest = int(trace.gpus[jobs].max())
    what = f"{plural(len(jobs), 'job')} wider than all GPUs for them, up to {widest:,}"
    return Outcome("wrong", what, jobs)


@trace_check(
    "more-gpus-in-use",
    summary="More GPUs in use at once, by the site's own starts, than there are.",
    effect="The inventory is not that of the trace, or starts and run times are not: a run on "
    "these GPUs has longer queues than the site had.",
    threshold="Odd from the first GPU too many, wrong where they are in use for 1 % of the time.",
    rank=41,
)
def more_gpus_in_use(evidence: Evidence) -> Outcome:
    """Add up the GPUs of all jobs between their starts and ends."""
    if evidence.num_gpus is None:
        return Outcome("unknown", _NO_INVENTORY)
    if evidence.start_us is None:
        return Outcome("unknown", "the trace does not tell when its jobs started")
    times, held = _in_use(evidence)
    limit = evidence.num_gpus * WHOLE_GPU
    over = held[:-1] > limit
    most = int(held.max()) / WHOLE_GPU
    if not over.any():
        return Outcome("fine", f"at most {most:,.0f} of {evidence.num_gpus:,} GPUs are in use")
    share = float(np.diff(times)[over].sum() / (times[-1] - times[0]))
    # Jobs that start while too many are in use already, or make them too many.
    starts = np.searchsorted(times, evidence.start_us)
    jobs = np.flatnonzero(held[starts] > limit)
    what = (
        f"up to {most:,.0f} of {evidence.num_gpus:,} GPUs in use, too many {share:.1%} of the time"
    )
    return Outcome("wrong" if share >= 0.01 else "odd", what, jobs)


def _in_use(evidence: Evidence) -> tuple[Int64, Int64]:
    """Return all instants, and the thousandths of GPUs in use from each of them on."""
    assert evidence.start_us is not None
    trace = evidence.trace
    milli = trace.gpus * np.int64(WHOLE_GPU)
    if trace.share_milli is not None:
        milli = trace.gpus * trace.share_milli.astype(np.int64)
    times, at = np.unique(np.concatenate((evidence.start_us, evidence.end_us)), return_inverse=True)
    held = np.zeros(len(times), dtype=np.int64)
    np.add.at(held, at, np.concatenate((milli, -milli)))
    return times, np.cumsum(held)


@trace_check(
    "overload",
    summary="More work than the cluster can do in the time.",
    effect="The queue grows until the last submit: waits then tell how long the trace is, and not "
    "how good the policy.",
    threshold="Odd where GPUs x service of the jobs that fit exceeds the GPUs times the span of "
    "the submits.",
    rank=42,
)
def overload(evidence: Evidence) -> Outcome:
    """Compute the load."""
    if evidence.num_gpus is None:
        return Outcome("unknown", _NO_INVENTORY)
    if evidence.num_jobs < 2 or not evidence.trace.span_us:
        return Outcome("unknown", "all jobs arrive at one instant")
    work = evidence.fitting_gpu_seconds  # what can never run is told by another check
    share = float(work.sum() / evidence.gpu_seconds.sum())
    load = evidence.trace.offered_load(evidence.num_gpus) * share
    if load <= 1:
        return Outcome("fine", f"the load is {load:.2f}")
    done_us = np.cumsum(work) * US_PER_S / evidence.num_gpus
    behind = np.flatnonzero(done_us > evidence.trace.submit_us - evidence.trace.submit_us[0])
    return Outcome("odd", f"the load is {load:.2f}", behind)


@trace_check(
    "odd-widths",
    summary="Widths that are no powers of two and no multiples of 8.",
    effect="Gangs of 3, 5 or 7 GPUs leave holes that placements differ in; where they are the unit "
    "that is odd (cores, slots, shares), widths are no GPUs.",
    threshold="Odd from 5 % of the jobs: training jobs are mostly of 1, 2, 4 or whole servers.",
    rank=43,
)
def odd_widths(evidence: Evidence) -> Outcome:
    """Count widths that servers are rarely made for."""
    gpus = evidence.trace.gpus
    jobs = np.flatnonzero((gpus & (gpus - 1) != 0) & (gpus % 8 != 0))
    share = len(jobs) / evidence.num_jobs
    if share < _ODD_WIDTHS or len(jobs) < 5:
        return Outcome("fine", f"{share:.1%} of the jobs have widths like 3 or 6")
    widths, counts = np.unique(gpus[jobs], return_counts=True)
    shown = ", ".join(f"{widths[at]:,}" for at in np.argsort(-counts, kind="stable")[:3])
    what = f"{plural(len(jobs), 'job')} ({share:.1%}) have widths like {shown}"
    return Outcome("odd", what, jobs)
