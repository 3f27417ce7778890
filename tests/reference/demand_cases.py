"""The cases of every policy, with jobs that ask for more than GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusched.reference.model import WHOLE, Job
from tests.reference.cases import Case, cases
from tests.reference.drawing import Generator, Source, flag
from tests.reference.scales import SHAPES

# Thousandths of cores, and MiB; a worker asks for as much as a few of them have.
ROOMS = (None, 1000, 2000, 4000)
SHARES = ((WHOLE, 1, 250, 300, 500, 700, 999), (250, 300, 400), (1, 400, WHOLE))


def demanding(
    source: Source, job: Job, shares: Sequence[int], amounts: Sequence[int], narrow: int
) -> Job:
    """Draw what the workers of a job ask for; one alone may share its GPU."""
    gpus = 1 if source.between(1, 6) <= narrow else job.gpus
    return replace(
        job,
        gpus=gpus,
        share_milli=source.one_of(shares) if gpus == 1 else WHOLE,
        cpu_milli=source.one_of(amounts),
        memory_mib=source.one_of(amounts),
    )


def huddled(source: Source, case: Case) -> Case:
    """Return the case on one small server: whoever shares a GPU there meets everybody else."""
    servers = [(source.between(1, 4), case.servers[0][1])]
    jobs = [replace(job, gpus=min(job.gpus, 3), allowed=None) for job in case.jobs]
    return replace(case, jobs=jobs, servers=servers)


@Generator
def demand_cases(
    source: Source, policy: str, placement: str, scales: Sequence[str] = SHAPES
) -> Case:
    """A replay of ``policy`` in which some job asks for more than GPUs."""
    case = cases.draw(source, policy, "first-fit", scales=scales)
    is_huddled = flag(source)
    if is_huddled:
        case = huddled(source, case)
    amounts = source.one_of([(0,), (0, 400), (0, 300, 1000), (0, 2**39)])
    amounts = (0,) if is_huddled else amounts
    narrow = source.one_of([2, 4, 5])  # of six jobs
    shares = (300, 400) if is_huddled else source.one_of(SHARES)
    jobs = [demanding(source, job, shares, amounts, narrow) for job in case.jobs]
    if all((job.share_milli, job.cpu_milli, job.memory_mib) == (WHOLE, 0, 0) for job in jobs):
        jobs[0] = replace(jobs[0], cpu_milli=400)
    is_roomy = is_huddled or flag(source)  # then shares alone decide
    room = [(None, None) if is_roomy else (source.one_of(ROOMS), source.one_of(ROOMS))
            for _ in case.servers]  # fmt: skip
    # These know whole GPUs alone.
    params = {key: v for key, v in case.policy_params.items() if key not in ("depth", "defrag")}
    return replace(
        case, jobs=jobs, placement=placement, policy_params=params, placement_params={}, room=room
    )
