"""The cases of every policy, with jobs that want so many GPUs of each of their servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusched.reference.model import Job
from gpusched.reference.packing import NAMES
from tests.reference.cases import Case, cases
from tests.reference.contention_cases import contended_cases
from tests.reference.demand_cases import demand_cases
from tests.reference.drawing import Generator, Source
from tests.reference.packing_cases import packing_cases
from tests.reference.scales import SHAPES


def by_node(source: Source, job: Job, widest: int) -> Job:
    """Draw how many GPUs of each server a job wants; a profiled one keeps its width."""
    each = source.one_of([0, 1, 2, 3, 4])
    if each == 0:
        return job
    if job.profile is not None or job.share_milli < 1000:
        return replace(job, gpus_per_node=each) if job.gpus % each == 0 else job
    num = source.between(1, max(1, min(4, widest // each)))
    gpus = num * each
    most = None if job.max_gpus is None else max(job.max_gpus, gpus)
    return replace(job, gpus=gpus, gpus_per_node=each, min_gpus=1, max_gpus=most)


@Generator
def node_cases(source: Source, policy: str, placement: str, scales: Sequence[str] = SHAPES) -> Case:
    """A replay in which some job states its GPUs per node; others ask for more, or have rings."""
    kind = source.one_of(["plain", "demands", "domains", "ring"])
    if kind == "plain":
        case = cases.draw(source, policy, placement, scales=scales)
    elif kind == "demands":
        case = demand_cases.draw(source, policy, placement, scales=scales)
    elif kind == "ring":
        case = contended_cases.draw(source, policy, placement, "ring", "none", scales)
    else:
        packed = packing_cases.draw(source)
        case = Case(
            packed.jobs, packed.servers, policy, placement, {}, {}, packed.seed,
            network=packed.network, room=packed.room,
        )  # fmt: skip
    assert placement in NAMES
    widest = sum(gpus for gpus, _ in case.servers) + 1
    return replace(case, jobs=[by_node(source, job, widest) for job in case.jobs])
