"""What was done to a run in its course, as its warnings tell, and what else it warns of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.declarations import Given, values_of
from gpusched.base.arrays import Bool, Int64

_CANCELLED: Final = re.compile(r"job (\d+) was cancelled at (\d+(?:\.\d{1,6})?) s")
_HANDED_OVER: Final = re.compile(r"the policy became (.+) instead of (.+) at (\d+(?:\.\d{1,6})?) s")


@dataclass(frozen=True)
class Course:
    """What was done to a run between its instants.

    Attributes
    ----------
    cancelled
        The jobs that were taken back, with the instant of each in microseconds.
    policies
        The texts of the policies one after the other; none if there was only one.
    handed_over_us
        When they did, in microseconds.
    others
        All other warnings.
    """

    cancelled: Mapping[int, int]
    policies: tuple[str, ...]
    handed_over_us: tuple[int, ...]
    others: tuple[str, ...]

    @classmethod
    def of(cls, case: Case) -> Course:
        """Read it from the warnings."""
        cancelled: dict[int, int] = {}
        policies: list[str] = []
        handed_over_us: list[int] = []
        others: list[str] = []
        for warning in case.schedule.warnings:
            if found := _CANCELLED.fullmatch(warning):
                cancelled[int(found[1])] = int(Decimal(found[2]) * 1_000_000)
            elif found := _HANDED_OVER.fullmatch(warning):
                policies += [found[1]] if policies else [found[2], found[1]]
                handed_over_us.append(int(Decimal(found[3]) * 1_000_000))
            else:
                others.append(warning)
        return cls(cancelled, tuple(policies), tuple(handed_over_us), tuple(others))

    @property
    def changes(self) -> bool:
        """Whether anything was done."""
        return bool(self.cancelled or self.policies)

    @property
    def is_handed_over(self) -> bool:
        """Whether another policy decided before."""
        return bool(self.policies)

    def taken_back(self, case: Case) -> tuple[Int64, Int64]:
        """Return the jobs of the trace that did not end as they were cancelled, and when."""
        known = [job for job in self.cancelled if job < case.num_jobs]
        jobs = np.array([job for job in known if not case.finished[job]], np.int64)
        return jobs, np.array([self.cancelled[job] for job in jobs.tolist()], np.int64)

    def cut_off(self, case: Case) -> Int64:
        """Return those of them that ran until then."""
        if not self.cancelled:
            return np.empty(0, np.int64)
        jobs, _ = self.taken_back(case)
        num_runs = case.num_intervals[jobs] - case.num_resizes[jobs]
        cut: Int64 = jobs[case.claimed["preemptions"][jobs] < num_runs]
        return cut

    def ends(self, case: Case) -> Bool:
        """Return whether each job of the trace has ended: finished, rejected or cancelled."""
        ended = case.finished | case.rejected
        if self.cancelled:
            ended[self.taken_back(case)[0]] = True
        return ended


@dataclass(frozen=True)
class Saying:
    """A warning that a policy may give.

    Attributes
    ----------
    text
        A regular expression, or where it ``is_due`` the very text.
    is_due
        Whether it must be given as it is; otherwise the log does not tell.
    """

    text: str
    is_due: bool = False


def _of_serverfilling(case: Case, given: Given) -> Sequence[Saying]:
    """The filling is exact if each width is a power of two that divides the cluster."""
    gpus = case.trace.gpus.astype(np.int64)
    is_odd = (gpus & (gpus - 1) != 0) | (case.cluster.num_gpus % gpus != 0)
    if not is_odd.any():
        return []
    return [
        Saying(
            f"{np.count_nonzero(is_odd)} jobs have a width that is no power of two dividing the "
            "cluster: the filling is not exact and may leave GPUs idle",
            is_due=True,
        )
    ]


def _of_edf_greatest(case: Case, given: Given) -> Sequence[Saying]:
    """Whom it admitted and who ended after the deadline, as decisions and log tell."""
    decisions, deadline_us = case.schedule.decisions(), case.trace.deadline_us
    job = np.asarray(decisions["job"])[np.asarray(decisions["admitted"]) == 1]
    if deadline_us is None:
        return []
    late = case.finished[job] & (np.asarray(case.schedule.finish_us)[job] > deadline_us[job])
    count = np.count_nonzero(late)
    text = f"edf-greatest: {count} jobs that were admitted missed their deadlines"
    return [Saying(text, is_due=True)] if count else []


def _of_caps(case: Case, given: Given) -> Sequence[Saying]:
    """Where gangs are bound under a cap."""
    if given.get("theta_s", 0) == 0:
        return []
    raised = r"theta_s was raised \d+ times, in the end to [\d.]+ s, for jobs that fit nowhere "
    return [
        Saying(raised + "under it"),
        Saying("the cap theta_s counts with the true services"),
    ]


def _always(*texts: str) -> SayingRule:
    """What may be said of any case, as the log does not tell."""
    return lambda case, given: [Saying(text) for text in texts]


SayingRule = Callable[[Case, Given], Sequence[Saying]]
"""From the case and the policy's parameters."""

_FELL_BEHIND = r"\d+ admitted jobs fell behind their plans and became best effort"

SAYINGS: Final[dict[str, SayingRule]] = {
    "serverfilling-srpt": _of_serverfilling,
    # Promises that its plans broke; what a placement adds to that, it does not count.
    "dancer": _always(r"dancer: \d+ jobs that were admitted missed their deadlines"),
    "edf-greatest": _of_edf_greatest,
    "gavel": _always(
        "gavel decides by throughputs, and the speed of the run has none: .+",
        r"gavel: \d+ of \d+ programs for .+",
    ),
    "chronus-leases": _always(
        _FELL_BEHIND, r"chronus-leases: \d+ of \d+ programs had no solution; .+"
    ),
    "chronus": _always(_FELL_BEHIND),
    "elasticflow": _always(_FELL_BEHIND),
    **dict.fromkeys(("sjf-bco", "ff", "ls", "rand"), _of_caps),
}
"""What policies warn of."""


def check(case: Case, course: Course) -> None:
    """Check that what the warnings tell is so, and that nothing is left untold."""
    ran = set(course.cut_off(case).tolist()) if course.cancelled else set()
    for job, at_us in course.cancelled.items():
        if not _may_be_cancelled(case, job, at_us, ran=job in ran):
            case.problems.append(f"wrong warning: job {job} was not cancelled at {at_us} us")
    if course.policies:
        if course.policies[-1] != case.spec.policy:
            case.problems.append(
                f"wrong warning: the policy became {course.policies[-1]}, the specification has "
                f"{case.spec.policy}"
            )
        case.notes.append("the policy was changed in the course of the run: its order is unchecked")
    _check_waiting(case, course)
    if any(thing.role == "policy" for thing in case.spec.python):
        return  # which may say what it likes
    name, given = values_of(case.flags.alias_of or case.spec.policy)
    rule = SAYINGS.get(name)
    sayings = [] if rule is None else rule(case, given)
    others = [warning for warning in course.others if "for ever" not in warning]
    for saying in sayings:
        if saying.is_due and not course.is_handed_over and saying.text not in others:
            case.problems.append(f"missing warning: {saying.text}")
    for warning in others:
        known = (
            warning == said.text if said.is_due else re.fullmatch(said.text, warning)
            for said in sayings
        )
        if not any(known):
            case.problems.append(f"wrong warning: nothing in the log says that {warning!r}")


def _may_be_cancelled(case: Case, job: int, at_us: int, *, ran: bool) -> bool:
    """Whether the log allows it: a job that ran then ends there, one that waited has before."""
    if job >= case.num_jobs or case.rejected[job] or at_us < case.trace.submit_us[job]:
        return False
    end_us = case.last_end_us[job]
    if ran or case.finished[job]:  # who finishes at that instant has finished
        return bool(end_us == at_us)
    return bool(end_us <= at_us)


def _check_waiting(case: Case, course: Course) -> None:
    """Jobs that nobody took back and that did not end wait for ever, and that is said."""
    due: tuple[str, ...] = ()
    if not case.all_finished and len(jobs := np.flatnonzero(~course.ends(case))):
        many = f"{len(jobs)} job waits" if len(jobs) == 1 else f"{len(jobs)} jobs wait"
        due = (f"{many} for ever, the first is job {jobs[0]}:",)
    said = [warning for warning in course.others if "for ever" in warning]
    if not (said or due):
        return
    if len(said) != len(due) or any(not w.startswith(d) for w, d in zip(said, due, strict=True)):
        truth = due[0] if due else "none does"
        case.problems.append(f"wrong warning: of jobs that wait it says {said}, in truth {truth}")
