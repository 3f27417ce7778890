"""A run in parts, and a fork, are the run."""

from __future__ import annotations

import numpy as np

from gpusched.testing.cases import Case, finished_result
from gpusched.testing.law_registry import Faults, law


def _instants(case: Case) -> list[float]:
    """Up to three times at which the run stops to be looked at, seconds."""
    if not len(case.trace):
        return []
    schedule = case.result.schedule
    last = int(max(schedule.finish_us.max(), case.trace.submit_us.max()))
    return [last * part / 4 / 1e6 for part in (1, 2, 3)]


@law("stepped", "A run that is stepped from instant to instant is the run.", rank=50)
def _stepped(case: Case) -> Faults:
    run = case.open()
    while run.step():
        pass
    if finished_result(run).digest != case.result.digest:
        yield "the digest of the stepped run is another"


@law("in-parts", "A run that stops now and then is the run.", rank=51)
def _in_parts(case: Case) -> Faults:
    run = case.open()
    for time_s in _instants(case):
        run.run_until(time_s)
    if finished_result(run).digest != case.result.digest:
        yield "the digest of the run in parts is another"


@law("forks", "A fork at any time, and the run after it, end as the run does.", rank=52)
def _forks(case: Case) -> Faults:
    run = case.open()
    for time_s in _instants(case):
        run.run_until(time_s)
        if finished_result(run.fork()).digest != case.result.digest:
            yield f"the fork at {time_s:g} s ends with another digest"
    late = run.fork()
    if finished_result(run).digest != case.result.digest:
        yield "the run ends with another digest once it has been forked"
    del run  # what a fork shares must not be the run's
    if finished_result(late).digest != case.result.digest:
        yield "the fork ends with another digest once the run is gone"


@law("forks-apart", "What is done to a fork, the run does not see.", rank=53)
def _forks_apart(case: Case) -> Faults:
    run = case.open()
    for time_s in _instants(case):
        run.run_until(time_s)
        fork = run.fork()
        for job in fork.state.running.tolist():
            fork.cancel(job)
        finished_result(fork)
    if finished_result(run).digest != case.result.digest:
        yield "jobs were cancelled in forks, and the run ends with another digest"


@law("sound-states", "Between instants, what is held and what is free is the cluster.", rank=54)
def _sound_states(case: Case) -> Faults:
    run = case.open()
    sizes = case.cluster.server_gpus.astype(np.int64)
    while run.step():
        state = run.state
        if set(state.waiting.tolist()) & set(state.running.tolist()):
            yield f"a job waits and runs at {state.now_s:g} s"
        if not case.is_pooled:
            held = np.zeros(len(sizes), dtype=np.int64)
            np.add.at(held, state.held_server, np.bitwise_count(state.held_mask))
            if (held + state.free_gpus != sizes).any():
                yield f"free and held GPUs are not those of the servers at {state.now_s:g} s"
        if int(state.gpus.sum()) + state.num_free != case.cluster.num_gpus:
            yield f"free and held GPUs are not those of the cluster at {state.now_s:g} s"
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
