"""The cases of policies that need the state alone, with outages, checkpoints and time limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpusched.reference import BY_DEADLINE, POLICIES, Job, Outage, make_scheduler
from gpusched.reference.model import WHOLE
from gpusched.reference.packing import NAMES
from tests.reference.cases import Case, cases
from tests.reference.contention_cases import contended_cases
from tests.reference.demand_cases import demand_cases
from tests.reference.drawing import Generator, Source, flag, is_rare, some_of
from tests.reference.node_cases import node_cases
from tests.reference.part_cases import part_cases
from tests.reference.scales import SHAPES

EVERY = (*POLICIES, *BY_DEADLINE)
ADOPTING = tuple(name for name in EVERY if not make_scheduler(name, {"limits": [1.0]}).has_memory)
"""Policies that decide by the state alone, and so may lose servers."""

MADE: Mapping[str, Any] = {
    "plain": cases,
    "demands": demand_cases,
    "nodes": node_cases,
    "parts": part_cases,
}
PERIODS = (1, 2, 3, 4, 7)
LONGEST = (1, 2, 3, 5, 8, 13)


def frail(source: Source, job: Job, *, writes: bool) -> Job:
    """Draw checkpoints, a number of requeues and a time limit of a job; some have none."""
    pools = {
        "checkpoint_every_us": PERIODS,
        "max_requeues": (0, 1, 2, 3),
        "time_limit_us": (*LONGEST, 20, 40),
    }
    given = some_of(source, pools)
    if writes and "checkpoint_every_us" in given:
        given["checkpoint_write_us"] = source.between(0, 2)
    return replace(job, **given)


def outage_list(source: Source, case: Case) -> list[Outage]:
    """Draw outages that begin and end where jobs do, and where others do."""
    step = source.one_of([1, 1, 2, 5])
    ends = [job.submit_us + job.service_us for job in case.jobs]
    last = min(max(ends), 60) // step + 1
    parts = dict(enumerate(case.part_of)) if flag(source) else {}
    outages = []
    for _ in range(source.between(1, source.one_of([1, 4, 10]))):
        server = source.between(0, len(case.servers) - 1)
        start = step * source.between(0, last)
        end = None if is_rare(source, 8) else start + step * source.one_of(LONGEST)
        kind = source.one_of(["fail", "drain"])
        whole = [part for part, of in parts.items() if of == parts[server]]
        outages += [Outage(part, start, end, kind) for part in whole or [server]]
    return outages


@Generator
def outage_cases(
    source: Source,
    policy: str,
    placement: str,
    speed: str = "fixed",
    scales: Sequence[str] = SHAPES,
) -> Case:
    """A replay of ``policy`` with outages; checkpoints take time at the fixed speed alone."""
    if speed == "fixed":
        kinds = MADE if placement in NAMES else ("plain", "plain", "parts")
        case = MADE[source.one_of(list(kinds))].draw(source, policy, placement, scales=scales)
    else:
        contention = source.one_of(["none", "reserved", "shared"])
        case = contended_cases.draw(source, policy, placement, speed, contention, scales)
    if not is_rare(source, 50):  # with shares they are refused
        case = replace(case, jobs=[replace(job, share_milli=WHOLE) for job in case.jobs])
    writes = case.speed == "fixed"
    jobs = [job if is_rare(source, 4) else frail(source, job, writes=writes) for job in case.jobs]
    return replace(case, jobs=jobs, outages=outage_list(source, case))
