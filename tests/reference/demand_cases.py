"""The cases of every policy, with jobs that ask for more than GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .cases import Case, cases
from .drawing import Generator, Source, flag
from .model import WHOLE, Job
from .scales import SHAPES

# Thousandths of cores, and MiB; a worker asks for as much as a few of them have.
ROOMS = (None, 1000, 2000, 4000)
SHARES = (WHOLE, 1, 250, 300, 500, 700, 999)


def demanding(source: Source, job: Job, amounts: Sequence[int], narrow: int) -> Job:
    """Draw what the workers of a job ask for; one alone may share its GPU."""
    gpus = 1 if source.between(1, 6) <= narrow else job.gpus
    return replace(
        job,
        gpus=gpus,
        share_milli=source.one_of(SHARES) if gpus == 1 else WHOLE,
        cpu_milli=source.one_of(amounts),
        memory_mib=source.one_of(amounts),
    )


@Generator
def demand_cases(
    source: Source, policy: str, placement: str, scales: Sequence[str] = SHAPES
) -> Case:
    """A replay of ``policy`` in which some job asks for more than GPUs."""
    case = cases.draw(source, policy, "first-fit", scales=scales)
    amounts = source.one_of([(0,), (0, 400), (0, 300, 1000), (0, 2**39)])
    narrow = source.one_of([2, 4, 5])  # of six jobs
    jobs = [demanding(source, job, amounts, narrow) for job in case.jobs]
    if all((job.share_milli, job.cpu_milli, job.memory_mib) == (WHOLE, 0, 0) for job in jobs):
        jobs[0] = replace(jobs[0], cpu_milli=400)
    is_roomy = flag(source)  # then shares alone decide
    room = [(None, None) if is_roomy else (source.one_of(ROOMS), source.one_of(ROOMS))
            for _ in case.servers]  # fmt: skip
    return replace(case, jobs=jobs, placement=placement, placement_params={}, room=room)
