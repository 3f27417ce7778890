"""Runs in parts, forks, saved runs, and runs that are changed on the way."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from gpusched.engine.open_run import Simulation, resume
from gpusched.schedules.schedule import UNFINISHED
from gpusched.testing.cases import Case, finished_result, partial_result, with_rows
from gpusched.testing.law_registry import Faults, law


def _instants(case: Case) -> list[float]:
    """Up to three times at which the run is inspected, seconds."""
    if not len(case.trace):
        return []
    schedule = case.result.schedule
    last = int(max(schedule.finish_us.max(), case.trace.submit_us.max()))
    return [last * part / 4 / 1e6 for part in (1, 2, 3)]


@law("stepped", "A run advanced instant by instant equals the run.", rank=50)
def _stepped(case: Case) -> Faults:
    run = case.open()
    while run.step():
        pass
    if finished_result(run).digest != case.result.digest:
        yield "the digest of the stepped run differs"


@law("in-parts", "A run with interruptions equals the run.", rank=51)
def _in_parts(case: Case) -> Faults:
    run = case.open()
    for time_s in _instants(case):
        run.run_until(time_s)
    if finished_result(run).digest != case.result.digest:
        yield "the digest of the run in parts differs"


@law("forks", "A fork at any time, and the run after it, end as the run does.", rank=52)
def _forks(case: Case) -> Faults:
    run = case.open()
    for time_s in _instants(case):
        run.run_until(time_s)
        if finished_result(run.fork()).digest != case.result.digest:
            yield f"the digest of the fork at {time_s:g} s differs"
    late = run.fork()
    if finished_result(run).digest != case.result.digest:
        yield "the digest of the run differs after a fork"
    del run  # the fork must not depend on the run
    if finished_result(late).digest != case.result.digest:
        yield "the digest of the fork differs after the run was deleted"


@law("forks-apart", "Changes to a fork do not affect the run.", rank=53)
def _forks_apart(case: Case) -> Faults:
    run = case.open()
    for time_s in _instants(case):
        run.run_until(time_s)
        fork = run.fork()
        for job in fork.state.running.tolist():
            fork.cancel(job)
        finished_result(fork)
    if finished_result(run).digest != case.result.digest:
        yield "the digest of the run differs after jobs were cancelled in forks"


@law(
    "sound-states",
    "Between instants, held and free GPUs make up the cluster, or less if servers are down.",
    rank=54,
)
def _sound_states(case: Case) -> Faults:
    run = case.open()
    sizes = case.cluster.server_gpus.astype(np.int64)
    while run.step():
        state = run.state
        if set(state.waiting.tolist()) & set(state.running.tolist()):
            yield f"a job both waits and runs at {state.now_s:g} s"
        if not case.is_pooled:
            held = np.zeros(len(sizes), dtype=np.int64)
            np.add.at(held, state.held_server, np.bitwise_count(state.held_mask))
            up = held + state.free_gpus
            if (up > sizes).any() or (case.outages is None and (up < sizes).any()):
                yield f"free and held GPUs do not add up to the servers at {state.now_s:g} s"
        if case.has_limits:  # jobs may also be killed or fail
            continue
        if int(state.gpus.sum()) + state.num_free != case.cluster.num_gpus:
            yield f"free and held GPUs do not add up to the cluster at {state.now_s:g} s"
        known = state.num_waiting + state.num_running + state.num_finished + state.num_rejected
        if known != state.num_arrived:
            yield f"{state.num_arrived} jobs have arrived at {state.now_s:g} s; {known} are known"


@law(
    "work-conserving",
    "Under a policy that claims it, no job waits that would fit on one server.",
    of=("policy",),
    when=lambda case: "work-conserving" in case.claims and not case.is_pooled,
    rank=55,
)
def _work_conserving(case: Case) -> Faults:
    run = case.open()
    allowed = case.trace.allowed_types or [()] * len(case.trace)
    types = [case.cluster.gpu_types[i] for i in case.cluster.server_type.tolist()]
    while run.step():
        state = run.state
        free = state.free_gpus.tolist()
        for job in state.waiting.tolist():
            for server, gpus in enumerate(free):
                may = not allowed[job] or types[server] in allowed[job]
                if may and gpus >= case.trace.gpus[job]:
                    yield f"job {job} waits at {state.now_s:g} s; server {server} has {gpus} GPUs"


def _middle(case: Case) -> float:
    """A time by which some jobs have arrived, seconds."""
    submits = case.trace.submit_s
    return float(submits[len(submits) // 2])


def _may_be_joined(case: Case) -> bool:
    """Whether jobs can be submitted to an open run of the case."""
    return case.trace.profile is None and case.trace.graph is None and not case.may_wait


@law(
    "no-foresight",
    "A job submitted during a run is treated as if it had been known from the start.",
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
        yield f"the digest differs if jobs {later} are submitted after {time_s:g} s"


@law("cancelled", "A cancelled job holds no GPUs from then on, and never starts.", rank=61)
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
        except ValueError:  # not every policy can remove a waiting job
            continue
        gone.add(job)
    until = run.now
    while run.step():
        state = run.state
        kept = gone & {*state.held_job.tolist(), *state.running.tolist(), *state.waiting.tolist()}
        if kept:
            yield f"job {min(kept)} was cancelled at {until:g} s but exists at {state.now_s:g} s"
    intervals = finished_result(run).intervals
    for job in gone:
        ends = intervals["end_us"][intervals["job"] == job]
        if len(ends) and int(ends.max()) > round(until * 1e6) + 1:
            yield f"job {job} was cancelled at {until:g} s but holds GPUs until {ends.max()} us"


@law(
    "takes-over",
    "A policy that replaces another during a run without outages brings all jobs to their end, "
    "but for those that stay held.",
    of=("policy",),
    when=lambda case: not case.policy.has("estimate") and case.outages is None,
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
    schedule = result.schedule
    is_left = schedule.status == UNFINISHED
    if len(schedule.eligible_us):
        is_left &= schedule.eligible_us >= 0
    for job in np.flatnonzero(is_left).tolist():
        yield f"job {job} is unfinished"


@law("partial-results", "The result of an open run covers its past.", rank=63)
def _partial_results(case: Case) -> Faults:
    if not len(case.trace):
        return
    run = case.open()
    run.run_until(_middle(case))
    so_far, whole = partial_result(run).schedule, case.result.schedule
    for job in (so_far.start_us >= 0).nonzero()[0].tolist():
        if so_far.start_us[job] != whole.start_us[job]:
            yield f"job {job} started at {so_far.start_us[job]} us, but later at another time"
    for job in (so_far.finish_us >= 0).nonzero()[0].tolist():
        if so_far.finish_us[job] != whole.finish_us[job]:
            yield f"job {job} finished at {so_far.finish_us[job]} us, but later at another time"


def _can_be_saved(case: Case) -> bool:
    made = [part.object() for part in (case.policy, case.placement)]
    is_importable = not any("<locals>" in type(of).__qualname__ for of in made if of is not None)
    # Files cost a hundred times as much as the run: one workload in eight is enough.
    is_chosen = (int(case.trace.submit_s.sum()) + len(case.trace)) % 8 == 1
    return is_chosen and is_importable and hasattr(Simulation, "save")


@law(
    "saved",
    "A saved and resumed run ends as the run does, if its objects can be imported.",
    when=_can_be_saved,
    rank=64,
)
def _saved(case: Case) -> Faults:
    run: Any = case.open()
    run.run_until(float(case.trace.submit_s[len(case.trace) // 2]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        run.save(path)
        resumed = resume(path, trust_python=True)
    if finished_result(resumed).digest != case.result.digest:
        yield "the digest of the resumed run differs"
    if finished_result(run).digest != case.result.digest:
        yield "the digest of the run differs after it was saved"
