"""What holds of how long jobs take."""

from __future__ import annotations

import numpy as np

from gpusched.testing.cases import Case
from gpusched.testing.law_registry import Faults, law
from gpusched.testing.trace_code import with_columns, with_rows

_SPEED = ("speed",)


def _lone_held(case: Case, job: int, **changed: object) -> int:
    """Time with GPUs of a job that is alone, microseconds; -1 if it does not finish."""
    columns = {name: values if name in ("profiles", "graphs") else [values[job]]
               for name, values in case.columns.items()}  # fmt: skip
    trace = with_columns({**columns, "submit_s": [0], **changed})
    schedule = case.simulate(trace=trace, cluster=case.cluster).schedule
    return int(schedule.held_us[0]) if schedule.finish_us[0] >= 0 else -1


@law(
    "verified-rates",
    "All rates, computed anew after each instant, are the same.",
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
        yield "the run that is verified has another digest"


@law(
    "steady-service",
    "At a speed that is steady a job holds GPUs for its service, wherever they are.",
    of=_SPEED,
    when=lambda case: case.speed.has("steady") and not case.is_preemptive,
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
    "A lone job at its own width takes its service, or longer where its place is not the best.",
    of=_SPEED,
    rank=98,
)
def _at_least_service(case: Case) -> Faults:
    for job in range(min(3, len(case.trace))):
        held = _lone_held(case, job, checkpoint_s=[0], restart_s=[0])
        if 0 <= held < case.trace.service_us[job]:
            yield f"job {job} takes {held} us; its service is {case.trace.service_us[job]} us"


@law("contention-costs", "Jobs that begin together are no faster for sharing links.", of=_SPEED,
     when=lambda case: case.has_contention, rank=99)  # fmt: skip
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
