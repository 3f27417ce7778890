"""Changes made during a run, according to its warnings, and its other warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.declarations import values_of
from gpusched.audit.rules import SAYINGS
from gpusched.base.arrays import Bool, Int64
from gpusched.model.outages import NEVER_US
from gpusched.reference.model import FAILED, FINISHED, KILLED

_CHANGED: Final = re.compile(r"job (\d+) was (cancelled|held|released) at (\d+(?:\.\d{1,6})?) s")
_HANDED_OVER: Final = re.compile(r"the policy became (.+) instead of (.+) at (\d+(?:\.\d{1,6})?) s")


@dataclass(frozen=True)
class Course:
    """The changes made to a run between its instants.

    ``cancelled``: the cancelled jobs, with the instant of each in microseconds.
    ``held``: the jobs that were taken out of the queue, or put back, in order: the job, the instant
        in microseconds, and whether it was held from then on.
    ``policies``: the policies in order; empty if there was only one.
    ``handed_over_us``: the times of the changes of policy, microseconds.
    ``others``: all other warnings.
    """

    cancelled: Mapping[int, int]
    held: tuple[tuple[int, int, bool], ...]
    policies: tuple[str, ...]
    handed_over_us: tuple[int, ...]
    others: tuple[str, ...]

    @classmethod
    def of(cls, case: Case) -> Course:
        """Parse it from the warnings."""
        cancelled: dict[int, int] = {}
        held: list[tuple[int, int, bool]] = []
        policies: list[str] = []
        handed_over_us: list[int] = []
        others: list[str] = []
        for warning in case.schedule.warnings:
            if found := _CHANGED.fullmatch(warning):
                job, at_us = int(found[1]), int(Decimal(found[3]) * 1_000_000)
                if found[2] == "cancelled":
                    cancelled[job] = at_us
                else:
                    held.append((job, at_us, found[2] == "held"))
            elif found := _HANDED_OVER.fullmatch(warning):
                policies += [found[1]] if policies else [found[2], found[1]]
                handed_over_us.append(int(Decimal(found[3]) * 1_000_000))
            else:
                others.append(warning)
        return cls(cancelled, tuple(held), tuple(policies), tuple(handed_over_us), tuple(others))

    @property
    def changes(self) -> bool:
        """Whether there was any change."""
        return bool(self.cancelled or self.held or self.policies)

    @property
    def is_handed_over(self) -> bool:
        """Whether the policy changed."""
        return bool(self.policies)

    def holds_us(self) -> Iterator[tuple[int, int, int]]:
        """Give the jobs that left the queue, and when they were held, from and until."""
        since_us: dict[int, int] = {}
        for job, at_us, is_held in self.held:
            if not is_held and job in since_us:
                yield job, since_us.pop(job), at_us
            elif is_held:
                since_us.setdefault(job, at_us)
        for job, at_us in since_us.items():
            yield job, at_us, NEVER_US

    def stays_held(self, case: Case) -> Bool:
        """Return whether each job of the trace left the queue and was never put back."""
        is_held = np.zeros(case.num_jobs, np.bool_)
        out = [job for job, _, until_us in self.holds_us() if until_us == NEVER_US]
        is_held[[job for job in out if job < case.num_jobs]] = True
        return is_held

    def taken_back(self, case: Case) -> tuple[Int64, Int64]:
        """Return the cancelled jobs of the trace, and when they were cancelled."""
        if case.holds is not None:
            jobs = np.flatnonzero(case.holds.gone_us < NEVER_US)
            return jobs, case.holds.gone_us[jobs]
        known = [job for job in self.cancelled if job < case.num_jobs]
        ended = case.finished | case.over
        jobs = np.array([job for job in known if not ended[job]], np.int64)
        return jobs, np.array([self.cancelled[job] for job in jobs.tolist()], np.int64)

    def cut_off(self, case: Case) -> Int64:
        """Return those of them that ran until then."""
        if not (self.cancelled or case.has_holds):
            return np.empty(0, np.int64)
        jobs, _ = self.taken_back(case)
        num_runs = case.num_intervals[jobs] - case.num_resizes[jobs] - case.hits[jobs]
        cut: Int64 = jobs[case.claimed["preemptions"][jobs] < num_runs]
        return cut

    def ends(self, case: Case) -> Bool:
        """Return whether each job of the trace has come to an end."""
        ended = case.finished | case.rejected | case.over
        if self.cancelled or case.has_holds:
            ended[self.taken_back(case)[0]] = True
        return ended


def check(case: Case, course: Course) -> None:
    """Check that warnings are true, and that none is missing."""
    ran = set(course.cut_off(case).tolist())
    for job, at_us in course.cancelled.items():
        if not _may_be_cancelled(case, job, at_us, ran=job in ran):
            case.problems.append(f"wrong warning: job {job} was not cancelled at {at_us} us")
    for job, from_us, until_us in course.holds_us():
        if not _may_be_held(case, job, from_us, until_us):
            case.problems.append(f"wrong warning: job {job} was not held at {from_us} us")
    if course.held:
        case.notes.append("jobs left the queue during the run: its order is unchecked")
    if course.policies:
        if course.policies[-1] != case.spec.policy:
            case.problems.append(
                f"wrong warning: the policy became {course.policies[-1]}, the specification has "
                f"{case.spec.policy}"
            )
        case.notes.append("the policy changed during the run: its order is unchecked")
    _check_waiting(case, course)
    if any(thing.role == "policy" for thing in case.spec.python):
        return  # its warnings are unknown
    name, given = values_of(case.flags.alias_of or case.spec.policy)
    rule = SAYINGS.get(name)
    sayings = [] if rule is None else rule(case, given)
    others = [text for text in course.others if not any(mark in text for mark in _MARKS)]
    for saying in sayings:
        if saying.is_due and not course.is_handed_over and saying.text not in others:
            case.problems.append(f"missing warning: {saying.text}")
    for warning in others:
        known = (
            warning == said.text if said.is_due else re.fullmatch(said.text, warning)
            for said in sayings
        )
        if not any(known):
            case.problems.append(f"wrong warning: nothing in the log supports {warning!r}")


def _may_be_cancelled(case: Case, job: int, at_us: int, *, ran: bool) -> bool:
    """Whether the log agrees: a job that ran ends there, one that waited ended before."""
    if job >= case.num_jobs or case.rejected[job] or at_us < case.trace.submit_us[job]:
        return False
    end_us, status = case.last_end_us[job], case.claimed["status"][job]
    if ran or status in (FINISHED, KILLED):  # a job may finish or be killed at that instant
        return bool(end_us == at_us)
    if status == FAILED:
        return False
    return bool(end_us <= at_us)


def _may_be_held(case: Case, job: int, from_us: int, until_us: int) -> bool:
    """Whether the log agrees: the job has arrived, and does not run in between."""
    if job >= case.num_jobs or from_us < case.queued_us[job]:
        return False
    mine = case.job == job
    return not bool(np.any(mine & (case.start_us < until_us) & (case.end_us > from_us)))


_MARKS: Final = (" forever, the first is job ", " held, the first is job ")


def _check_waiting(case: Case, course: Course) -> None:
    """Check the warnings on jobs that did not end: those in the queue, and those that are held."""
    if case.all_finished and not course.others:
        return
    left = ~course.ends(case)
    is_held = left & ((case.queued_us == NEVER_US) | course.stays_held(case))
    for mark, verb, jobs in zip(
        _MARKS, ("wait", "stay"), map(np.flatnonzero, (left & ~is_held, is_held)), strict=True
    ):
        due: list[str] = []
        if len(jobs):
            many = f"1 job {verb}s" if len(jobs) == 1 else f"{len(jobs)} jobs {verb}"
            due = [f"{many}{mark}{jobs[0]}"]
        said = [warning for warning in course.others if mark in warning]
        if [warning.partition(":")[0] for warning in said] != due:
            truth = due[0] if due else "none waits"
            case.problems.append(f"wrong warning: on waiting jobs it has {said}, expected {truth}")
