"""Hypothesis strategies: the cases of every policy, with jobs that ask for more than GPUs."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from .cases import Case, cases
from .model import WHOLE, Job

# Thousandths of cores, and MiB; a worker asks for as much as a few of them have.
ROOMS = st.sampled_from([None, 1000, 2000, 4000])
SHARES = st.sampled_from([WHOLE, 250, 300, 500, 700])


@st.composite
def demanding(draw: st.DrawFn, job: Job, amounts: tuple[int, ...]) -> Job:
    """Draw what the workers of a job ask for; one alone may share its GPU."""
    gpus = 1 if draw(st.integers(0, 2)) == 0 else job.gpus
    return replace(
        job,
        gpus=gpus,
        share_milli=draw(SHARES) if gpus == 1 else WHOLE,
        cpu_milli=draw(st.sampled_from(amounts)),
        memory_mib=draw(st.sampled_from(amounts)),
    )


@st.composite
def demand_cases(draw: st.DrawFn, policy: str, placement: str) -> Case:
    """Draw a replay of ``policy`` in which some job asks for more than GPUs."""
    case = draw(cases(policy, "first-fit"))
    amounts = draw(st.sampled_from([(0,), (0, 400), (0, 300, 1000)]))
    jobs = [draw(demanding(job, amounts)) for job in case.jobs]
    if all((job.share_milli, job.cpu_milli, job.memory_mib) == (WHOLE, 0, 0) for job in jobs):
        jobs[0] = replace(jobs[0], cpu_milli=400)
    room = [(draw(ROOMS), draw(ROOMS)) for _ in case.servers]
    return replace(case, jobs=jobs, placement=placement, room=room)
