"""Jobs that are submitted, cancelled or handed over in the course of a run."""

from __future__ import annotations

import numpy as np

from gpusched.schedules.schedule import UNFINISHED
from gpusched.testing.cases import Case, finished_result, partial_result
from gpusched.testing.law_registry import Faults, law
from gpusched.testing.trace_code import with_rows


def _middle(case: Case) -> float:
    """A time by which some jobs have come, seconds."""
    submits = case.trace.submit_s
    return float(submits[len(submits) // 2])


def _may_be_joined(case: Case) -> bool:
    """Whether jobs can be submitted to an open run of the case."""
    return case.trace.profile is None and case.trace.graph is None


@law(
    "no-foresight",
    "A job that is submitted in the course of a run gets what it had got if it had been known.",
    when=lambda case: _may_be_joined(case) and "looks-ahead" not in case.claims,
    rank=60,
)
def _no_foresight(case: Case) -> Faults:
    submits = case.trace.submit_s.tolist()
    if not submits or submits[0] == submits[-1]:
        return
    time_s = _middle(case)
    later = [job for job, at in enumerate(submits) if at > time_s]
    if not later:
        return
    known = with_rows(case.columns, range(later[0]))
    run = case.open(trace=known)
    run.run_until(time_s)
    run.step()
    try:
        run.submit(with_rows({**case.columns, "id": list(range(len(submits)))}, later))
    except ValueError as error:
        yield str(error)
        return
    if finished_result(run).digest != case.result.digest:
        yield f"jobs {later} are submitted after {time_s:g} s, and the digest is another"


@law("cancelled", "A job that is cancelled holds nothing from then on, and never starts.", rank=61)
def _cancelled(case: Case) -> Faults:
    if not len(case.trace):
        return
    run = case.open()
    run.run_until(_middle(case))
    run.step()
    state = run.state
    gone = set(state.running[:1].tolist())
    for job in gone:
        run.cancel(job)
    for job in state.waiting[:1].tolist():
        try:
            run.cancel(job)
        except ValueError:  # only some policies can do without a job that waits
            continue
        gone.add(job)
    until = run.now
    while run.step():
        state = run.state
        kept = gone & {*state.held_job.tolist(), *state.running.tolist(), *state.waiting.tolist()}
        if kept:
            yield f"job {min(kept)} was cancelled at {until:g} s and is there at {state.now_s:g} s"
    intervals = finished_result(run).intervals
    for job in gone:
        ends = intervals["end_us"][intervals["job"] == job]
        if len(ends) and int(ends.max()) > round(until * 1e6) + 1:
            yield f"job {job} was cancelled at {until:g} s and holds GPUs until {ends.max()} us"


@law(
    "takes-over",
    "A policy that takes over amid a run brings all jobs to their end.",
    of=("policy",),
    when=lambda case: not case.policy.has("estimate"),
    rank=62,
)
def _takes_over(case: Case) -> Faults:
    if not len(case.trace):
        return
    run = case.open(policy="fifo")
    run.run_until(_middle(case))
    run.step()
    run.set(policy=case.policy.make())
    result = finished_result(run)
    for job in np.flatnonzero(result.schedule.status == UNFINISHED).tolist():
        yield f"job {job} is unfinished"


@law("partial-results", "The result of a run that is open is that of its past.", rank=63)
def _partial_results(case: Case) -> Faults:
    if not len(case.trace):
        return
    run = case.open()
    run.run_until(_middle(case))
    so_far, whole = partial_result(run).schedule, case.result.schedule
    for job in (so_far.start_us >= 0).nonzero()[0].tolist():
        if so_far.start_us[job] != whole.start_us[job]:
            yield f"job {job} has started at {so_far.start_us[job]} us, and later at another time"
    for job in (so_far.finish_us >= 0).nonzero()[0].tolist():
        if so_far.finish_us[job] != whole.finish_us[job]:
            yield f"job {job} has finished at {so_far.finish_us[job]} us, and later at another time"
