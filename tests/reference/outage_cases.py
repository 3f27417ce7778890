"""The cases of policies that need the state alone, with outages, checkpoints and time limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpusched.reference import BY_DEADLINE, POLICIES, Job, Outage, make_scheduler
from gpusched.reference.model import WHOLE
from gpusched.reference.packing import NAMES
from tests.reference.cases import Case, cases
from tests.reference.contention_cases import contended_cases, ending
from tests.reference.demand_cases import demand_cases
from tests.reference.drawing import Generator, Source, flag, is_rare, some_of
from tests.reference.node_cases import node_cases
from tests.reference.part_cases import part_cases
from tests.reference.scales import MAX_SERVICE, MAX_SUBMIT, SECOND, SHAPES, YEAR

EVERY = (*POLICIES, *BY_DEADLINE)
ADOPTING = tuple(name for name in EVERY if not make_scheduler(name, {"limits": [1.0]}).has_memory)
"""Policies that decide by the state alone, and so may lose servers."""

MADE: Mapping[str, Any] = {
    "plain": cases,
    "demands": demand_cases,
    "nodes": node_cases,
    "parts": part_cases,
}
PLAIN = ("plain", "plain", "parts")
PERIODS = (1, 2, 3, 4, 7)
LONGEST = (1, 2, 3, 5, 8, 13, 20, 40)
OF_AGES = (1, 2, 3, 1000, SECOND, YEAR, 2**52)


def frail(source: Source, job: Job, scale: str, *, writes: bool) -> Job:
    """Draw checkpoints, a number of requeues and a time limit of a job; some have none."""
    is_long = scale == "ages"
    pools = {
        "checkpoint_every_us": OF_AGES if is_long else PERIODS,
        "max_requeues": (0, 1, 2, 3),
        "requeue_back": (True,),
        "time_limit_us": OF_AGES if is_long else LONGEST,
    }
    given = some_of(source, pools)
    if writes and "checkpoint_every_us" in given:
        given["checkpoint_write_us"] = source.one_of((0, 1, 2))
    return replace(job, **given)


def limits(source: Source, unit: int) -> dict[str, int]:
    """Draw a time limit and checkpoints that take no time, in units; neither for some jobs."""
    pools = {"checkpoint_every_us": PERIODS, "time_limit_us": LONGEST}
    given = some_of(source, pools)
    return {name: min(value * unit, MAX_SERVICE) for name, value in given.items()}


def outage_list(source: Source, case: Case) -> list[Outage]:
    """Draw outages that begin and end where jobs do, and where others do."""
    step = source.one_of([1, 1, 2, 5])
    marks = [job.submit_us + source.one_of((0, job.service_us)) for job in case.jobs]
    starts = marks if case.scale == "ages" else range(0, min(max(marks), 60) + step, step)
    lengths = OF_AGES if case.scale == "ages" else [step * length for length in LONGEST[:-2]]
    parts = dict(enumerate(case.part_of)) if flag(source) else {}
    outages = []
    for _ in range(source.between(1, source.one_of([1, 4, 10]))):
        server = source.between(0, len(case.servers) - 1)
        start = min(source.one_of(starts), MAX_SUBMIT)
        end = None if is_rare(source, 8) else start + source.one_of(lengths)
        kind = source.one_of(["fail", "drain", "maint"])
        known = None
        if kind == "maint" and flag(source):
            known = 0 if flag(source) else source.between(0, start)
        whole = [part for part, of in parts.items() if of == parts[server]]
        outages += [Outage(part, start, end, kind, known) for part in whole or [server]]
    return outages


@Generator
def limited_cases(
    source: Source,
    policy: str,
    placement: str,
    speed: str = "fixed",
    scales: Sequence[str] = SHAPES,
) -> Case:
    """A replay of any policy with checkpoints, which take time at the fixed speed, and limits."""
    if speed == "fixed":
        kinds = MADE if placement in NAMES else ("plain",) if placement == "count" else PLAIN
        case = MADE[source.one_of(list(kinds))].draw(source, policy, placement, scales=scales)
    else:
        contention = source.one_of(["none", "reserved", "shared"])
        case = contended_cases.draw(source, policy, placement, speed, contention, scales)
    writes = case.speed == "fixed"
    return replace(
        case,
        jobs=[
            job if is_rare(source, 4) else frail(source, job, case.scale, writes=writes)
            for job in case.jobs
        ],
        policy_params=case.policy_params if writes else ending(policy, case),
    )


@Generator
def outage_cases(
    source: Source,
    policy: str,
    placement: str,
    speed: str = "fixed",
    scales: Sequence[str] = SHAPES,
) -> Case:
    """The same with outages, under a policy that decides by the state alone."""
    case = limited_cases.draw(source, policy, placement, speed, scales)
    if not is_rare(source, 50):  # with shares they are refused
        case = replace(case, jobs=[replace(job, share_milli=WHOLE) for job in case.jobs])
    return replace(case, outages=outage_list(source, case))
