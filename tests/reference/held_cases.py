"""Cases whose jobs are held, wait for each other, are tasks of arrays, are cancelled, and are of
different priorities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpusched.reference import HELD, Dependency, Job
from tests.reference.cases import Case
from tests.reference.drawing import Generator, Source, flag, is_rare
from tests.reference.outage_cases import ADOPTING, LONGEST, OF_AGES, limited_cases, outage_cases
from tests.reference.scales import MAX_SUBMIT, SHAPES

KINDS = ("after", "after", "afterany", "afterok", "afterok", "afternotok")
DELAYS = (0, 0, 1, 2, 5)
RANKS = ((0, 1), (0, 0, 0, 1, 2), range(12))

REACHES = ("earlier", "earlier", "later", "any")
"""On which jobs others depend; with ``any`` there are circles, whose jobs stay held."""


def held(source: Source, case: Case, reaches: Sequence[str] = REACHES) -> Case:
    """Return the case with times of eligibility, dependencies, arrays, cancellations and ranks."""
    jobs = with_holds(source, case.jobs, reaches, case.scale == "ages")
    limits: list[int | None] = []
    if flag(source):
        limits = [source.one_of((1, 1, 2, 3, None)) for _ in range(source.between(1, 3))]
        arrays = (None, *range(len(limits)), *range(len(limits)))
        jobs = [replace(job, array=source.one_of(arrays)) for job in jobs]
    if flag(source):
        ranks = source.one_of(RANKS)
        jobs = [replace(job, precedence=source.one_of(ranks)) for job in jobs]
    return replace(case, jobs=jobs, array_limits=limits, kill_invalid_depend=flag(source))


def with_holds(
    source: Source,
    jobs: Sequence[Job],
    reaches: Sequence[str] = REACHES,
    is_long: bool = False,
    unit: int = 1,
) -> list[Job]:
    """Draw the same without arrays, at the instants of other jobs and beside them.

    The jobs are returned in order of submission.
    """
    jobs = sorted(jobs, key=lambda job: job.submit_us)
    marks = [job.submit_us + source.one_of((0, job.service_us)) for job in jobs]
    lengths = OF_AGES if is_long else [unit * length for length in LONGEST]

    def later(job: Job) -> int:
        at = source.one_of(marks) if flag(source) else job.submit_us + source.one_of(lengths)
        return min(max(at, job.submit_us), MAX_SUBMIT)

    def dependency(targets: Sequence[int]) -> Dependency:
        kind = source.one_of(KINDS)
        delay = source.one_of(OF_AGES if is_long else DELAYS) * unit if kind == "after" else 0
        return Dependency(source.one_of(targets), kind, delay)

    every, reach = range(len(jobs)), source.one_of(reaches)
    has_begins, has_ends, has_others = flag(source), flag(source), flag(source)
    drawn = []
    for number, job in enumerate(jobs):
        given: dict[str, Any] = {}
        if has_begins and flag(source):
            given["eligible_us"] = HELD if is_rare(source, 12) else later(job)
        if has_ends and is_rare(source, 3):
            end = later(job)
            given["cancel_at_us"] = end if end > job.submit_us else None
        if has_others:
            before = () if reach == "later" else every[:number]
            targets = (*before, *(() if reach == "earlier" else every[number + 1 :]))
            count = source.one_of((0, 0, 1, 1, 2, 3)) if targets else 0
            given["dependencies"] = tuple(dependency(targets) for _ in range(count))
            given["dependency_any"] = flag(source)
            given["exit_failed"] = is_rare(source, 3)
        drawn.append(replace(job, **given))
    return drawn


@Generator
def held_cases(
    source: Source,
    policy: str,
    placement: str,
    speed: str = "fixed",
    scales: Sequence[str] = SHAPES,
) -> Case:
    """A replay with all of it, and with outages if the policy follows them."""
    drawn = outage_cases if policy in ADOPTING and flag(source) else limited_cases
    return held(source, drawn.draw(source, policy, placement, speed, scales))
