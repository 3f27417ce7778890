"""The cases of every policy on servers that have GPUs of several types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusched.base.units import WHOLE_GPU
from gpusched.reference.packing import NAMES
from gpusched.reference.speeds import between
from tests.reference.cases import Case, cases
from tests.reference.demand_cases import demand_cases
from tests.reference.drawing import Generator, Source, flag, is_rare
from tests.reference.elastic_cases import COUNTS, throughputs
from tests.reference.node_cases import by_node
from tests.reference.scales import ALL_TYPES, SHAPES


def joined(source: Source, case: Case) -> Case:
    """Make parts of the same server of some servers, whose types differ then."""
    servers, room = list(case.servers), list(case.room) or [(None, None)] * len(case.servers)
    part_of = list(range(len(servers)))
    for server in range(1, len(servers)):
        first = source.between(0, server)
        parts = [part for part in range(server) if part_of[part] == first]
        types = {servers[part][1] for part in parts}
        if not parts or len(types) == len(ALL_TYPES):
            continue
        if sum(servers[part][0] for part in parts) + servers[server][0] > 64:
            continue
        part_of[server], room[server] = first, room[first]
        if servers[server][1] in types:
            other = source.one_of([name for name in ALL_TYPES if name not in types])
            servers[server] = servers[server][0], other
    return replace(case, servers=servers, room=room if case.room else [], part_of=part_of)


def measured(source: Source, case: Case) -> Case:
    """Give some replays measured speeds; jobs may use the types on which they run then."""
    counts = source.one_of(COUNTS)
    model = throughputs.draw(source, counts)
    is_any = any(value > 0 for table in model.packed.values() for value in table.values())
    if not is_any or not is_rare(source, 3):
        return case
    present = {name for _, name in case.servers}
    jobs = []
    for job in case.jobs:
        may_use = present & (job.allowed or present)
        runs = {name for name in may_use if between(model.packed[name], job.gpus) > 0}
        jobs.append(replace(job, throughputs=model, allowed=frozenset(runs) or job.allowed))
    return replace(case, jobs=jobs, speed="table")


@Generator
def part_cases(source: Source, policy: str, placement: str, scales: Sequence[str] = SHAPES) -> Case:
    """A replay on such servers, some at measured speeds; some jobs ask for more than GPUs, or for
    so many of each server.
    """
    if placement in NAMES and flag(source):
        case = demand_cases.draw(source, policy, placement, scales=scales)
    else:
        case = cases.draw(source, policy, placement, scales=scales)
    if placement in NAMES and flag(source):
        case = replace(case, jobs=[by_node(source, job, 8) for job in case.jobs])
    case = joined(source, case)
    has_shares = any(job.share_milli < WHOLE_GPU for job in case.jobs)
    return measured(source, case) if case.speed == "fixed" and not has_shares else case
