"""Knowledge about single plug-ins: a table for each question, and a row for each name.

Common properties follow from flags; the parameters of policies, what fits an empty cluster and
the rates of speeds come from the reference engine. A row restates the documentation of a plug-in,
to check its schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.declarations import Given
from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.reference.rng import draw, uniform

Keys = tuple[AnyArray, ...] | None
Key = Callable[[Case, Any], Keys]
"""Keys of each interval at its start, the first first, from the case and the reference scheduler.

None if the log does not show them.
"""

_LAST = 2**62


def _attained_us(case: Case) -> Int64:
    """Return the earlier progress of each interval's job, microseconds."""
    return case.before(case.lasts_us - case.paid_us)


def _remaining_us(case: Case) -> Int64 | None:
    """Return the remaining run time at each start as the policy sees it, microseconds.

    None if services are unknown, or not counted in whole ticks.
    """
    predicted = case.predicted_us
    if predicted is None or not case.flags.is_steady:
        return None
    service = case.trace.service_us[case.job]
    if case.has_faults:
        left = case.progress.due_us
    else:
        left = service + case.rule.overrun_us + case.before(case.added_us) - _attained_us(case)
    truly = np.maximum(left, 1) + (predicted[case.job] - service)
    remaining: Int64 = np.maximum(truly, 1)
    return remaining


def _of_job(column: Callable[[Case], AnyArray | None], *, on_fixed: bool = False) -> Key:
    """Make a key from columns of jobs; ``on_fixed``: unknown if run times are not fixed."""

    def key(case: Case, scheduler: Any) -> Keys:
        values = column(case) if case.flags.is_steady or not on_fixed else None
        return None if values is None else (values[case.job],)

    return key


def _gpu_time(case: Case) -> Float64 | None:
    predicted = case.predicted_us
    return None if predicted is None else case.trace.gpus.astype(np.float64) * predicted


def _per_weight(case: Case) -> Float64 | None:
    predicted, weight = case.predicted_us, case.trace.weight
    return None if predicted is None else predicted / (1.0 if weight is None else weight)


def _lot(case: Case) -> Float64:
    """A number drawn once per job."""
    jobs = range(case.num_jobs)
    return np.array([uniform(draw(case.spec.seed, "order", job, 0)) for job in jobs])


def _remaining(case: Case, scheduler: Any) -> Keys:
    left = _remaining_us(case)
    return None if left is None else (left,)


def _remaining_gpu_time(case: Case, scheduler: Any) -> Keys:
    left = _remaining_us(case)
    if left is None:
        return None
    return (case.trace.gpus[case.job].astype(np.float64) * left.astype(np.float64),)


def _deadline(case: Case, scheduler: Any) -> Keys:
    deadline = case.trace.deadline_us
    if deadline is None:
        return (np.full(len(case.job), _LAST),)
    return (np.where(deadline < 0, _LAST, deadline)[case.job],)


def _laxity(case: Case, scheduler: Any) -> Keys:
    """For two jobs at one moment, that moment makes no difference."""
    left, due = _remaining_us(case), _deadline(case, scheduler)
    if left is None or due is None:
        return None
    return (np.where(due[0] < _LAST, due[0] - left, due[0]),)


def _queue(case: Case, scheduler: Any) -> Keys:
    if scheduler.params["inside"] != "submit" or scheduler.params["promote"] > 0:
        return None
    gpu_time = case.trace.gpus[case.job] * _attained_us(case)
    queue = np.searchsorted(np.array(scheduler.limits), gpu_time, side="right")
    return queue, *_turn(case, scheduler)


def _turn(case: Case, scheduler: Any) -> tuple[Int64, ...]:
    return (case.queue_us(case.job, case.start_us),)


ORDERS: Final[dict[str, Key | None]] = {
    "fifo": _turn,
    "sjf": _of_job(lambda case: case.predicted_us),
    "sgf": _of_job(lambda case: case.trace.gpus.astype(np.int64)),
    "swf": _of_job(_gpu_time),
    "wspt": _of_job(_per_weight),
    "random": _of_job(_lot),
    "spjf": _of_job(lambda case: case.predicted_us, on_fixed=True),
    "spwf": _of_job(_gpu_time, on_fixed=True),
    "easy": None,  # jobs behind the first may overtake each other
    "srtf": _remaining,
    "srsf": _remaining_gpu_time,
    "las": lambda case, scheduler: (_attained_us(case),),
    "edf": _deadline,
    "llf": _laxity,
    "2d-las": _queue,
    "serverfilling-srpt": _remaining_gpu_time,
}
"""Policies whose queues are documented as keys."""

HEAD_FIRST: Final = ("fifo", "easy")
"""Policies whose first job by submission starts whenever it can be placed."""

TAKES_ANY: Final = frozenset({
    "best-fit", "count", "first-fit", "heavy-edge", "lwf", "random", "spread", "topology",
    "worst-fit",
})  # fmt: skip
"""Placements that accept a job wherever enough GPUs are free, on any servers."""

OWN_FITS: Final = ("buddy", "consolidated-relaxed")
"""Placements that accept jobs on an empty cluster by a rule that no flag describes."""

PACED: Final = frozenset({"ring", "table", "proportional"})
"""Speeds whose work is checked; the reference engine gives their rates."""

Share = Callable[[Float64, Int64 | int, Int64 | int, Int64 | int], Float64]
"""For rings on links: from bandwidths, rings, GPUs of the ring and of all behind the link."""


def _equal_parts(given: Given) -> Share:
    degradation, scaling = given.get("degradation", 0.0), given.get("scaling", 1.0)

    def share(
        bytes_per_s: Float64, rings: Int64 | int, own: Int64 | int, behind: Int64 | int
    ) -> Float64:
        crowd = np.maximum(1.0, scaling * rings)
        part: Float64 = bytes_per_s / (crowd + degradation * (crowd - 1.0))
        return part

    return share


SHARES: Final[dict[str, Callable[[Given], Share]]] = {
    "none": lambda given: lambda bytes_per_s, rings, own, behind: bytes_per_s,
    "reserved": lambda given: lambda bytes_per_s, rings, own, behind: bytes_per_s * (own / behind),
    "shared": _equal_parts,
}
"""A ring's share of a link, by the parameters of the contention."""


@dataclass(frozen=True)
class AdmissionRule:
    """Admission decisions of a policy about jobs with deadlines.

    ``admitted``, ``turned_down``: the possible reasons.
    ``is_priced``: whether jobs have a cost; otherwise costs and payoffs are 0.
    ``slot_s``: slot length of decisions and windows, by default; 0: decisions when jobs arrive,
        start or end; negative: at any time.
    ``slotted_by``: a parameter and the value that turns slots on.
    ``names_window``: reasons that come with a scarcest type and a window; None: each job has a
        window from its decision to its deadline.
    """

    admitted: frozenset[str]
    turned_down: frozenset[str]
    is_priced: bool = False
    slot_s: float = 0.0
    slotted_by: tuple[str, str] | None = None
    names_window: frozenset[str] | None = None


_ON_SHARES = AdmissionRule(
    admitted=frozenset({"a share of its type meets the deadline and all guarantees hold"}),
    turned_down=frozenset({
        "the deadline has passed",
        "another job of its slot cannot be met",
        "no single GPU type fits the job",
        "the GPUs that admitted jobs leave do not suffice",
        "no plan of at most 32768 slots meets the deadline",
        "no width of any type meets the deadline",
    }),
)  # fmt: skip

ADMISSIONS: Final = {
    "dancer": AdmissionRule(
        admitted=frozenset({"admitted"}),
        turned_down=frozenset({"too dear", "no room", "impossible", "too long", "cannot run"}),
        is_priced=True,
        slot_s=300.0,
        names_window=frozenset({"too dear", "no room"}),
    ),
    "chronus": _ON_SHARES,
    "elasticflow": replace(_ON_SHARES, slot_s=300.0, slotted_by=("admission", "batch")),
    "edf-greatest": AdmissionRule(
        admitted=frozenset({"it and all others end in time"}),
        turned_down=frozenset({"it or another job would miss its deadline"}),
        slot_s=-1.0,
    ),
}
"""Policies with admission decisions."""


@dataclass(frozen=True)
class Saying:
    """A possible warning of a policy.

    ``text``: a regular expression, or the exact text if it ``is_due``.
    ``is_due``: whether it must be given; otherwise the log does not show it.
    """

    text: str
    is_due: bool = False


def _of_serverfilling(case: Case, given: Given) -> Sequence[Saying]:
    """The filling is exact if each number of GPUs is a power of two that divides the cluster."""
    gpus = case.trace.gpus.astype(np.int64)
    is_odd = (gpus & (gpus - 1) != 0) | (case.cluster.num_gpus % gpus != 0)
    if not is_odd.any():
        return []
    return [
        Saying(
            f"{np.count_nonzero(is_odd)} jobs have a number of GPUs that is not a power of "
            "two dividing the cluster; the filling is not exact and may leave GPUs idle",
            is_due=True,
        )
    ]


def _of_edf_greatest(case: Case, given: Given) -> Sequence[Saying]:
    """Count admitted jobs that ended after the deadline, from decisions and log."""
    decisions, deadline_us = case.schedule.decisions(), case.trace.deadline_us
    job = np.asarray(decisions["job"])[np.asarray(decisions["admitted"]) == 1]
    if deadline_us is None:
        return []
    late = case.finished[job] & (np.asarray(case.schedule.finish_us)[job] > deadline_us[job])
    count = np.count_nonzero(late)
    text = f"edf-greatest: {count} admitted jobs missed their deadlines"
    return [Saying(text, is_due=True)] if count else []


def _of_caps(case: Case, given: Given) -> Sequence[Saying]:
    """Warnings on binding jobs under a cap."""
    if given.get("theta_s", 0) == 0:
        return []
    raised = r"theta_s was raised \d+ times, finally to [\d.]+ s, for jobs that did not fit "
    return [
        Saying(raised + "anywhere under it"),
        Saying("the cap theta_s was checked with true run times"),
    ]


def _always(*texts: str) -> SayingRule:
    """Return warnings that any case may have, as the log does not show their cause."""
    return lambda case, given: [Saying(text) for text in texts]


SayingRule = Callable[[Case, Given], Sequence[Saying]]
"""From the case and the policy's parameters."""

_FELL_BEHIND = r"\d+ admitted jobs fell behind their plans and became best effort"

SAYINGS: Final[dict[str, SayingRule]] = {
    "serverfilling-srpt": _of_serverfilling,
    # Guarantees violated by its plans; violations due to a placement are not counted.
    "dancer": _always(r"dancer: \d+ admitted jobs missed their deadlines"),
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
"""Possible warnings of policies."""
