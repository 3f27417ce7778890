"""Properties of each run: a possible schedule, a log that keeps the rules, and run times."""

from __future__ import annotations

from functools import partial

import numpy as np

from gpusched._core import InvariantError
from gpusched.audit.course import Course
from gpusched.audit.laws import LAWS, rejects
from gpusched.testing.cases import HOLDS, LIMITS, Case, with_columns, with_rows
from gpusched.testing.law_registry import Faults, law


@law(
    "possible-actions",
    "Policy and placement name free GPUs for a whole job, and jobs that wait or run.",
    rank=1,
)
def _possible_actions(case: Case) -> Faults:
    try:
        _ = case.result
    except InvariantError as error:
        yield str(error)
    except Exception:
        return  # left to the next property


@law("no-error", "A run of valid jobs ends without an error.", rank=2)
def _no_error(case: Case) -> Faults:
    try:
        _ = case.result
    except InvariantError:
        return  # left to the property before
    except Exception as error:
        yield f"{type(error).__name__}: {error}"


def _of_log(name: str, case: Case, preempts: bool | None = None) -> Faults:
    """The findings of an audit by one of its rules."""
    evidence = case.evidence(preempts=preempts)
    LAWS[name].check(evidence, Course.of(evidence))
    yield from evidence.problems


for _rank, _name in (
    (10, "capacity"), (11, "real-gpus"), (12, "whole-gangs"), (13, "allowed-types"),
    (14, "after-submit"), (14, "eligible"), (15, "full-service"), (16, "closed-servers"),
    (16, "known-maintenance"), (17, "failures"), (18, "requeues"), (19, "cancellations"),
    (19, "limits"), (20, "ends"), (21, "reasons"), (31, "accounts"),
):  # fmt: skip
    law(_name, LAWS[_name].sentence, rank=_rank)(partial(_of_log, _name))


@law(
    "fits-one-server",
    "A job for which every server has enough GPUs of an allowed type is not rejected.",
    rank=22,
)
def _fits_one_server(case: Case) -> Faults:
    evidence = case.evidence()
    never, _ = rejects(evidence, Course.of(evidence))
    for job in np.flatnonzero((never == 0) & evidence.rejected).tolist():
        yield f"job {job} of {case.trace.gpus[job]} GPUs is rejected"


@law(
    "too-wide",
    "A job that is larger than the cluster, or may run nowhere, is rejected.",
    rank=23,
)
def _too_wide(case: Case) -> Faults:
    evidence = case.evidence()
    never, _ = rejects(evidence, Course.of(evidence))
    for job in np.flatnonzero((never > 0) & ~evidence.rejected).tolist():
        yield f"job {job} of {case.trace.gpus[job]} GPUs is not rejected"


@law("keeps-gpus", LAWS["keeps-gpus"].sentence, of=("policy",),
     when=lambda case: not case.is_preemptive, rank=24)  # fmt: skip
def _keeps_gpus(case: Case) -> Faults:
    preemptions = case.result.schedule.preemptions
    for job in np.flatnonzero(preemptions > 0).tolist():
        yield f"job {job} is preempted, {preemptions[job]} times"
    yield from _of_log("keeps-gpus", case, preempts=False)


@law("audit", "The audit of the schedule finds no problem.", rank=30)
def _audit(case: Case) -> Faults:
    try:
        case.result.audit().raise_if_bad()
    except Exception as error:
        yield str(error)


_SPEED = ("speed",)


def _lone_held(case: Case, job: int, **changed: object) -> int:
    """Time with GPUs of a job alone on the cluster, microseconds; -1 if it does not finish.

    There are no outages, limits and checkpoints, and nothing holds or cancels it.
    """
    columns = {name: values if name in ("profiles", "graphs") else [values[job]]
               for name, values in case.columns.items()
               if name not in (*LIMITS, *HOLDS)}  # fmt: skip
    trace = with_columns({**columns, "submit_s": [0], **changed})
    schedule = case.simulate(trace=trace, outages=None).schedule
    return int(schedule.held_us[0]) if schedule.finish_us[0] >= 0 else -1


@law(
    "verified-rates",
    "All rates, recomputed after each instant, are the same.",
    of=_SPEED,
    rank=95,
)
def _verified_rates(case: Case) -> Faults:
    try:
        digest = case.simulate(verify=True).digest
    except Exception as error:
        yield f"{type(error).__name__}: {error}"
        return
    if digest != case.result.digest:
        yield "the digest of the verified run differs"


@law(
    "steady-service",
    "At a steady speed a job holds GPUs for its service, on any GPUs, without outages, limits and "
    "holds.",
    of=_SPEED,
    when=lambda case: case.speed.has("steady") and not (case.is_preemptive or case.has_limits),
    rank=96,
)
def _steady_service(case: Case) -> Faults:
    schedule, service = case.result.schedule, case.trace.service_us
    for job in np.flatnonzero(case.finished & (schedule.held_us != service)).tolist():
        yield f"job {job} holds GPUs for {schedule.held_us[job]} us; its service is {service[job]}"


@law("longer-service", "A lone job of twice the service takes twice the time.", of=_SPEED, rank=97)
def _longer_service(case: Case) -> Faults:
    for job in range(min(2, len(case.trace))):
        service_s = case.columns["service_s"][job]
        once = _lone_held(case, job, checkpoint_s=[0], restart_s=[0])
        twice = _lone_held(case, job, service_s=[2 * service_s], checkpoint_s=[0], restart_s=[0])
        # Each finish is rounded up to a microsecond.
        if once >= 0 and not 2 * once - 2 <= twice <= 2 * once:
            yield f"job {job} takes {once} us, and {twice} us for twice its service"


@law(
    "at-least-service",
    "A lone job at its own number of GPUs takes its service, or longer on worse GPUs.",
    of=_SPEED,
    rank=98,
)
def _at_least_service(case: Case) -> Faults:
    for job in range(min(3, len(case.trace))):
        held = _lone_held(case, job, checkpoint_s=[0], restart_s=[0])
        if 0 <= held < case.trace.service_us[job]:
            yield f"job {job} takes {held} us; its service is {case.trace.service_us[job]} us"


@law("contention-costs", "Jobs that start together are no faster if they share links.", of=_SPEED,
     when=lambda case: case.has_contention and not case.has_limits, rank=99)  # fmt: skip
def _contention_costs(case: Case) -> Faults:
    rows = range(min(6, len(case.trace)))
    together = with_rows({**case.columns, "submit_s": [0] * len(case.trace)}, rows)
    if int(together.gpus.sum()) > case.cluster.num_gpus:
        return
    shared = case.simulate(trace=together, cluster=case.cluster).schedule
    alone = case.simulate(trace=together, cluster=case.cluster, contention="none").schedule
    if (shared.start_us != alone.start_us).any():
        return
    for job in np.flatnonzero(shared.held_us < alone.held_us).tolist():
        yield f"job {job} takes {shared.held_us[job]} us, and {alone.held_us[job]} us alone"
