"""Cases where enough GPUs are free for a job but lie on the wrong servers."""

from __future__ import annotations

from dataclasses import replace

from gpusched.reference import orders
from tests.reference.cases import Case, cases
from tests.reference.drawing import Generator, Source, is_rare
from tests.reference.outage_cases import frail, outage_list

CHOOSY = ("consolidated", "consolidated", "consolidated-relaxed", "buddy", "topology")


@Generator
def fragmented_cases(source: Source) -> Case:
    """Narrow jobs and a few of one or two whole servers; a third has limits and outages too."""
    policy = source.one_of((*orders.NON_PREEMPTIVE, "fifo"))
    case = cases.draw(source, policy, source.one_of(CHOOSY), scales=("small", "costly"))
    servers = [(4, case.servers[0][1])] * source.between(2, 4)
    lengths = source.one_of((1, 5))  # as a multiple: the longer, the fuller the servers
    case = replace(
        case,
        jobs=[
            replace(
                job,
                gpus=source.one_of((1, 1, 2, 2, 3, 4)) * (1 + is_rare(source, 8)),
                service_us=job.service_us * lengths,
                allowed=None,
            )
            for job in case.jobs
        ],
        servers=servers,
        policy_params=case.policy_params | {"defrag": "blocked"},
    )
    if source.between(1, 3) > 1:
        return case
    jobs = [frail(source, job, case.scale, writes=True) for job in case.jobs]
    return replace(case, jobs=jobs, outages=outage_list(source, case))
