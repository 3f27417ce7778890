"""What holds of each schedule: GPUs, gangs, times and ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.schedules.schedule import REJECT_REASONS, REJECTED, UNFINISHED
from gpusched.testing.cases import Case
from gpusched.testing.law_registry import Faults, law


def _rows(case: Case) -> Iterator[tuple[int, int, int, int, int]]:
    """(job, start_us, end_us, server, mask) of each stretch of the schedule."""
    intervals = case.result.intervals
    names = ("job", "start_us", "end_us", "server", "mask")
    return zip(*(intervals[name].tolist() for name in names), strict=True)


def _runs(case: Case) -> dict[tuple[int, int, int], int]:
    """GPUs of each stretch (job, start_us, end_us) on all servers; 0 in a pool."""
    gpus: dict[tuple[int, int, int], int] = {}
    for job, start, end, _, mask in _rows(case):
        gpus[job, start, end] = gpus.get((job, start, end), 0) + mask.bit_count()
    return gpus


@law("capacity", "No GPU is held by two jobs at a time.", rank=10)
def _capacity(case: Case) -> Faults:
    if case.is_pooled:
        yield from _pooled_capacity(case)
        return
    by_server: dict[int, list[tuple[int, int, int, int]]] = {}
    for job, start, end, server, mask in _rows(case):
        by_server.setdefault(server, []).append((start, end, job, mask))
    for server, stretches in by_server.items():
        stretches.sort()
        for at, (_, end, job, mask) in enumerate(stretches):
            for other_start, _, other, other_mask in stretches[at + 1 :]:
                if other_start >= end:
                    break
                if mask & other_mask:
                    gpu = (mask & other_mask).bit_length() - 1
                    yield (
                        f"jobs {job} and {other} hold GPU {gpu} of server {server} "
                        f"at {other_start / US_PER_S:g} s"
                    )


def _pooled_capacity(case: Case) -> Faults:
    changes = []
    for job, start, end in _runs(case):
        gpus = int(case.trace.gpus[job])
        changes += [(start, gpus), (end, -gpus)]
    held = 0
    for at, more in sorted(changes):  # what ends at an instant goes before what starts
        held += more
        if held > case.cluster.num_gpus:
            yield f"{held} GPUs are held at {at / US_PER_S:g} s"


@law("real-gpus", "Each GPU that is held is one that its server has.", rank=11)
def _real_gpus(case: Case) -> Faults:
    sizes = case.cluster.server_gpus.tolist()
    for job, _, _, server, mask in _rows(case):
        if not case.is_pooled and (server not in range(len(sizes)) or mask >> sizes[server]):
            yield f"job {job} holds GPUs {mask:#b} of server {server}"


@law("whole-gangs", "A job holds all GPUs of its gang whenever it runs.", rank=12)
def _whole_gangs(case: Case) -> Faults:
    is_elastic = case.speed.has("elastic") and case.policy.has("elastic")
    if case.is_pooled or is_elastic:
        return
    for (job, start, _), gpus in _runs(case).items():
        if gpus != case.trace.gpus[job]:
            wanted = int(case.trace.gpus[job])
            yield f"job {job} asks for {wanted} GPUs and holds {gpus} at {start / US_PER_S:g} s"


@law("allowed-types", "A job holds GPUs of the types that it allows, and no others.", rank=13)
def _allowed_types(case: Case) -> Faults:
    allowed = case.trace.allowed_types
    if allowed is None or case.is_pooled:
        return
    types = [case.cluster.gpu_types[i] for i in case.cluster.server_type.tolist()]
    for job, _, _, server, _ in _rows(case):
        if allowed[job] and types[server] not in allowed[job]:
            yield f"job {job} allows {allowed[job]} and runs on {types[server]}"


@law("after-submit", "No job starts before it is submitted.", rank=14)
def _after_submit(case: Case) -> Faults:
    start, submit = case.result.schedule.start_us, case.trace.submit_us
    for job in np.flatnonzero((start >= 0) & (start < submit)).tolist():
        yield f"job {job} starts {(submit[job] - start[job]) / US_PER_S:g} s before its submission"


@law(
    "full-service",
    "At a fixed speed a finished job held GPUs for its service and its restarts, no longer.",
    rank=15,
)
def _full_service(case: Case) -> Faults:
    schedule = case.result.schedule
    if not case.is_fixed:
        return
    worked = schedule.held_us - schedule.paid_us
    # A restart may be charged on the work that is done; then it is no part of what was held.
    wrong = case.finished & (worked < case.trace.service_us)
    if not case.is_preemptive:
        wrong |= case.finished & (worked > case.trace.service_us)
    for job in np.flatnonzero(wrong).tolist():
        yield (
            f"job {job} had GPUs for {worked[job] / US_PER_S:g} s of its "
            f"{case.trace.service_us[job] / US_PER_S:g} s of service"
        )


@law("ends", "Every job finishes or is rejected: none is forgotten, none starves.", rank=20)
def _ends(case: Case) -> Faults:
    for job in np.flatnonzero(case.result.schedule.status == UNFINISHED).tolist():
        began = case.result.schedule.start_us[job] >= 0
        yield f"job {job} {'began and is unfinished' if began else 'never starts'}"


@law("reasons", "A rejected job has a reason, and holds no GPU; no other job has one.", rank=21)
def _reasons(case: Case) -> Faults:
    schedule = case.result.schedule
    is_rejected = schedule.status == REJECTED
    for job in np.flatnonzero(is_rejected & (schedule.start_us >= 0)).tolist():
        yield f"job {job} is rejected and has run"
    for job in np.flatnonzero(is_rejected != (schedule.reason > 0)).tolist():
        reason = REJECT_REASONS[int(schedule.reason[job])]
        yield f"job {job} is {'' if is_rejected[job] else 'not '}rejected: {reason or 'no reason'}"


@law(
    "fits-one-server",
    "A job that every server has enough GPUs for, of a type that it allows, is not rejected.",
    rank=22,
)
def _fits_one_server(case: Case) -> Faults:
    schedule, jobs = case.result.schedule, case.trace
    if jobs.cpu_milli is not None or jobs.memory_mib is not None:
        return
    fits = case.can_run & (jobs.gpus <= case.cluster.server_gpus.min())
    fits &= schedule.reason != REJECT_REASONS.index("the speed knows no configuration for it")
    for job in np.flatnonzero(fits & (schedule.status == REJECTED)).tolist():
        yield f"job {job} of {jobs.gpus[job]} GPUs is rejected"


@law("too-wide", "A job that is wider than the cluster, or may run nowhere, is rejected.", rank=23)
def _too_wide(case: Case) -> Faults:
    never = (case.trace.gpus > case.cluster.num_gpus) | ~case.can_run
    if case.speed.has("elastic"):
        never = ~case.can_run
    for job in np.flatnonzero(never & (case.result.schedule.status != REJECTED)).tolist():
        yield f"job {job} of {case.trace.gpus[job]} GPUs is not rejected"


@law(
    "keeps-gpus",
    "Under a policy that does not preempt, a job that has begun runs to its end.",
    of=("policy",),
    when=lambda case: not case.is_preemptive,
    rank=24,
)
def _keeps_gpus(case: Case) -> Faults:
    schedule = case.result.schedule
    for job in np.flatnonzero(schedule.preemptions > 0).tolist():
        yield f"job {job} is preempted, {schedule.preemptions[job]} times"
    stretches: dict[int, set[tuple[int, int]]] = {}
    for job, start, end in _runs(case):
        stretches.setdefault(job, set()).add((start, end))
    for job, parts in stretches.items():
        if len(parts) > 1:
            yield f"job {job} runs in {len(parts)} stretches"


@law("audit", "The audit of the schedule finds nothing.", rank=30)
def _audit(case: Case) -> Faults:
    try:
        case.result.audit().raise_if_bad()
    except Exception as error:
        yield str(error)


@law("accounts", "Submission to finish is the time with GPUs and the time without.", rank=31)
def _accounts(case: Case) -> Faults:
    schedule = case.result.schedule
    lengths: dict[int, int] = {}
    for job, start, end in _runs(case):
        lengths[job] = lengths.get(job, 0) + end - start
    for job in np.flatnonzero(case.finished).tolist():
        if lengths.get(job, 0) != schedule.held_us[job]:
            yield f"job {job} held GPUs for {schedule.held_us[job]} us, and shows {lengths[job]}"
        if schedule.finish_us[job] - case.trace.submit_us[job] < schedule.held_us[job]:
            yield f"job {job} held GPUs for longer than it was there"
