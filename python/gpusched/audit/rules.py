"""What the audit knows of single plug-ins: a table for each question, and a row for each name.

What holds of many plug-ins follows from their flags, and how fast a speed is the readable engine
says. A row is a twin of what a plug-in's documentation says, to hold its schedules against.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.declarations import Given
from gpusched.base.arrays import AnyArray, Bool, Float64, Int64

# Queues of policies.

Keys = tuple[AnyArray, ...] | None
Key = Callable[[Case, Given], Keys]
"""Of each interval at its start, the first first; None where the log does not tell."""

_LAST = 2**62


@dataclass(frozen=True)
class OrderRule:
    """What a policy's documentation says of its queue.

    Attributes
    ----------
    key
        None: jobs behind the first may pass each other.
    head_first
        The first of the queue starts wherever it can be placed, and the queue is by submit.
    is_preemptive
        Parameters of preemption apply.
    scan
        What it does behind a refusal unless told otherwise; "": neither of both.
    period_s
        Of its reviews unless told otherwise.
    may_idle_in_pool
        Under a pool GPUs may be left though a waiting job fits.
    has_crossings
        It decides when a key passes a limit, too.
    """

    key: Key | None = None
    head_first: bool = False
    is_preemptive: bool = False
    scan: str = "skip"
    period_s: float = 0.0
    may_idle_in_pool: bool = False
    has_crossings: bool = False


def attained_us(case: Case) -> Int64:
    """Return the progress that each interval's job had made before it, microseconds."""
    return case.before(case.lasts_us - case.paid_us)


def remaining_us(case: Case) -> Int64 | None:
    """Return what a policy takes for the remaining service at each start, microseconds.

    None where services are not known, or not counted in whole ticks.
    """
    predicted = case.predicted_us
    if predicted is None or not case.flags.is_steady:
        return None
    service = case.trace.service_us[case.job]
    left = service + case.rule.overrun_us + case.before(case.added_us) - attained_us(case)
    truly = np.maximum(left, 1) + (predicted[case.job] - service)
    remaining: Int64 = np.maximum(truly, 1)
    return remaining


def _of_job(column: Callable[[Case], AnyArray | None], *, on_fixed: bool = False) -> Key:
    """Make a key of what jobs have; ``on_fixed``: not known where run times are not fixed."""

    def key(case: Case, given: Given) -> Keys:
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
    word = np.full(len(case.trace), case.spec.seed, np.uint64)
    step = np.uint64(0x9E3779B97F4A7C15)
    parts = (np.uint64(1), np.arange(len(word), dtype=np.uint64), np.uint64(0))
    with np.errstate(over="ignore"):
        word = _mixed(word + step)
        for part in parts:
            word = _mixed(word + part * step + step)
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(word: AnyArray) -> AnyArray:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: AnyArray = word ^ (word >> np.uint64(31))
    return mixed


def _remaining(case: Case, given: Given) -> Keys:
    left = remaining_us(case)
    return None if left is None else (left,)


def _remaining_gpu_time(case: Case, given: Given) -> Keys:
    left = remaining_us(case)
    if left is None:
        return None
    return (case.trace.gpus[case.job].astype(np.float64) * left.astype(np.float64),)


def _deadline(case: Case, given: Given) -> Keys:
    deadline = case.trace.deadline_us
    if deadline is None:
        return (np.full(len(case.job), _LAST),)
    return (np.where(deadline < 0, _LAST, deadline)[case.job],)


def _laxity(case: Case, given: Given) -> Keys:
    """Of two jobs at one moment, that moment makes no difference."""
    left, due = remaining_us(case), _deadline(case, given)
    if left is None or due is None:
        return None
    return (np.where(due[0] < _LAST, due[0] - left, due[0]),)


def _queue(case: Case, given: Given) -> Keys:
    preset = given.get("preset", "tiresias")
    inside = "running" if preset == "tiresias-artefact" else "submit"
    if given.get("inside", inside) != "submit" or float(given.get("promote", "0")) > 0:
        return None
    is_lucid = preset == "lucid"
    limits = given.get("limits", "18000" if is_lucid else "3250/7200").split("/")
    beyond = given.get("sink", "passed" if is_lucid else "reached") == "passed"
    limits_us = sorted(round(float(limit) * 1e6) + beyond for limit in limits)
    gpu_time = case.trace.gpus[case.job] * attained_us(case)
    queue = np.searchsorted(np.array(limits_us), gpu_time, side="right")
    return queue, case.trace.submit_us[case.job]


def _preemptive(key: Key, **more: float) -> OrderRule:
    return OrderRule(key, is_preemptive=True, **more)  # type: ignore[arg-type]


_predicted = _of_job(lambda case: case.predicted_us)
_predicted_on_fixed = _of_job(lambda case: case.predicted_us, on_fixed=True)

ORDERS: Final = {
    "fifo": OrderRule(_of_job(lambda case: case.trace.submit_us), head_first=True, scan="strict"),
    "sjf": OrderRule(_predicted),
    "sgf": OrderRule(_of_job(lambda case: case.trace.gpus.astype(np.int64))),
    "swf": OrderRule(_of_job(_gpu_time)),
    "wspt": OrderRule(_of_job(_per_weight)),
    "random": OrderRule(_of_job(_lot)),
    "spjf": OrderRule(_predicted_on_fixed, scan="strict"),
    "spwf": OrderRule(_of_job(_gpu_time, on_fixed=True), scan="strict"),
    "easy": OrderRule(head_first=True, scan=""),
    "srtf": _preemptive(_remaining),
    "srsf": _preemptive(_remaining_gpu_time),
    "las": _preemptive(lambda case, given: (attained_us(case),), period_s=60.0),
    "edf": _preemptive(_deadline),
    "llf": _preemptive(_laxity, period_s=60.0),
    "2d-las": _preemptive(_queue, period_s=60.0, has_crossings=True),
    "serverfilling-srpt": _preemptive(_remaining_gpu_time, may_idle_in_pool=True),
}
"""Policies whose queues are documented as keys."""


# Placements.

Holds = Callable[[int], Bool]
"""``holds(workers)``: which allowed servers have GPUs, CPU and memory for so many when idle."""

FitRule = Callable[[Sequence[int], int, Given], bool]
"""``rule(sizes, gpus, given)``: of allowed servers by their GPUs, by the values of parameters."""

WideRule = Callable[[Int64, Holds, int], bool]
"""``rule(sizes, holds, gpus)``: of a gang that asks for more than GPUs, wider than all servers."""


def fits_on_fewest(sizes: Sequence[int], gpus: int) -> bool:
    """Whether one server holds the gang, or several of the largest and one what is left over."""
    size = max(sizes)
    whole, rest = divmod(gpus, size)
    num_largest = sizes.count(size)
    others_fit = num_largest > whole or any(rest <= other < size for other in sizes)
    return num_largest >= whole and (rest == 0 or others_fit)


def _fits_on_few(sizes: Sequence[int], gpus: int, given: Given) -> bool:
    """Whether a gang fits on up to kappa times the fewest servers."""
    if fits_on_fewest(sizes, gpus):
        return True
    limit = math.floor(float(given.get("kappa", "2")) * math.ceil(gpus / max(sizes)))
    held = np.cumsum(sorted(sizes, reverse=True))
    return int(np.searchsorted(held, gpus)) + 1 <= limit


def _fits_in_blocks(sizes: Int64, holds: Holds, gpus: int) -> bool:
    """Whether servers of any sizes, the largest first, are filled, and one holds the rest.

    Of an idle server every width that it has GPUs for is part of one block.
    """
    is_taken = np.zeros(len(sizes), dtype=np.bool_)
    rest = gpus
    for size in np.unique(sizes)[::-1].tolist():
        taken = np.flatnonzero((sizes == size) & holds(size))[: rest // size]
        is_taken[taken] = True
        rest -= size * len(taken)
    return rest == 0 or bool((holds(rest) & ~is_taken).any())


FITS: Final[dict[str, FitRule]] = {"consolidated-relaxed": _fits_on_few}
"""Which gangs a placement takes on an empty cluster, where its flags do not say."""

WIDE_FITS: Final[dict[str, WideRule]] = {"buddy": _fits_in_blocks}
"""The same of gangs that ask for more than GPUs, where a placement cuts them in its own way."""

TAKES_ANY: Final = frozenset({
    "best-fit", "count", "first-fit", "heavy-edge", "lwf", "random", "spread", "topology",
    "worst-fit",
})  # fmt: skip
"""Placements that take a gang wherever enough GPUs are free, on any servers."""


# Speeds.

PACED: Final = frozenset({"ring", "table", "proportional"})
"""Speeds by which the work in the log is judged; the readable engine says how fast they are."""

Share = Callable[[Float64, Int64 | int, Int64 | int, Int64 | int], Float64]
"""Of rings on links: from bandwidths, rings there, GPUs of the ring and of all behind the link."""


def _equal_parts(given: Given) -> Share:
    degradation = float(given.get("degradation", "0"))
    scaling = float(given.get("scaling", "1"))

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
"""What a ring gets of a link, by the parameters of the contention."""


# Admission.


@dataclass(frozen=True)
class AdmissionRule:
    """How a policy decides about jobs with deadlines.

    Attributes
    ----------
    admitted, turned_down
        The reasons that there are.
    is_priced
        Whether a job has a cost; otherwise costs and payoffs are 0.
    slot_s
        Of decisions and windows that keep to slots, unless the policy is told otherwise; 0: it
        decides when jobs come, start or end; negative: at any time.
    slotted_by
        A parameter and the value without which it does not keep to slots.
    names_window
        Reasons that come with a scarcest type and a window; None: each job has a window from its
        decision to its deadline.
    """

    admitted: frozenset[str]
    turned_down: frozenset[str]
    is_priced: bool = False
    slot_s: float = 0.0
    slotted_by: tuple[str, str] | None = None
    names_window: frozenset[str] | None = None


_ON_SHARES = AdmissionRule(
    admitted=frozenset({"a share of its type meets the deadline and every promise stands"}),
    turned_down=frozenset({
        "the deadline has passed",
        "another job of its slot cannot be met",
        "no single GPU type holds the gang",
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
"""Policies that take jobs or turn them down."""


# Warnings.


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
    if float(given.get("theta_s", "0")) == 0:
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
