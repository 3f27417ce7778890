"""The second level of an audit: the policy, as it is documented, would have decided so.

The readable engine, which is written from the documentation and shares nothing with the core,
decides the run again. What has been decided by a moment depends only on what came by then, so that
of long runs the first jobs can be decided by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.course import Course
from gpusched.audit.declarations import resolved
from gpusched.audit.log import LOG_COLUMNS
from gpusched.audit.readable_run import (
    jobs_of,
    network_of,
    room_of,
    servers_of,
    typed,
    values_of,
)
from gpusched.base.arrays import AnyArray
from gpusched.readable import BY_DEADLINE, PLACEMENTS, POLICIES, replay
from gpusched.readable.engine import Change
from gpusched.readable.packing import OWN as PACKINGS

if TYPE_CHECKING:
    from gpusched.readable.model import Outcome

MOST_LOOKS: Final = 3_500_000
"""Jobs looked at over all instants, some 600,000 a second: as much of a run is decided again."""

_COLUMNS: Final = (
    "start_us", "finish_us", "held_us", "paid_us", "preemptions", "resizes", "num_servers",
    "status", "reason",
)  # fmt: skip


def check(case: Case, course: Course, most_looks: int = MOST_LOOKS) -> None:
    """Decide the run again, or its first jobs, and compare what was held when.

    What cannot be shown is said in the notes, so that it is never taken for shown.
    """
    why = _unshown(case, course)
    if why:
        case.notes.append(f"decisions not shown: {why}")
        return
    num_jobs = len(case.trace)
    count = _affordable(case, course, most_looks)
    try:
        outcome = _decided(case, course, count)
    except (ValueError, RuntimeError) as error:
        case.problems.append(f"decided otherwise: as documented the run fails: {error}")
        return
    _compare_counters(case, outcome)
    if count == num_jobs:
        _compare_columns(case, outcome)
        _compare_log(case, outcome, None)
        return
    until_us = int(case.trace.submit_us[count])
    _compare_log(case, outcome, until_us)
    case.notes.append(
        f"decisions shown: those before {until_us / 1e6:g} s, when the first {count:,} of "
        f"{num_jobs:,} jobs had come"
    )


def _unshown(case: Case, course: Course) -> str:
    """Return why the readable engine cannot decide the run; empty if it can."""
    name, _ = resolved(case.spec.policy, case.flags.alias_of)
    if any(thing.role in ("policy", "placement") for thing in case.spec.python):
        return "the run decided by an object of Python"
    if name not in (*POLICIES, *BY_DEADLINE):
        return f"policy {name} has no readable twin"
    if values_of(case.spec.placement)[0] not in (*PLACEMENTS, *PACKINGS):
        return f"placement {case.spec.placement} has no readable twin"
    if not case.flags.predicted:
        return f"the trace does not hold what {case.spec.predictor} predicted"
    if course.is_handed_over:
        return "another policy decided before"
    return ""


def _affordable(case: Case, course: Course, most_looks: int) -> int:
    """Return how many of the first jobs can be decided on again within the bound, one at least."""
    moments, came = case.moments, ~case.rejected
    size = len(moments.us)
    change = np.bincount(moments.submits[came], minlength=size)
    change -= np.bincount(moments.ends[case.closes], minlength=size)
    jobs, at_us = course.taken_back(case)
    change -= np.bincount(moments.before(at_us[~case.has_run[jobs]]), minlength=size)
    # Timers are further instants, and the log does not say when they were.
    many = max(1.0, case.schedule.counters.get("instants", size) / size)
    looks = np.cumsum(np.maximum(np.cumsum(change), 0) + 1.0) * many
    last = int(np.searchsorted(looks, most_looks))
    if last >= size:
        return len(case.trace)
    return max(1, int(np.count_nonzero(case.trace.submit_us < moments.us[last])))


def _decided(case: Case, course: Course, count: int) -> Outcome:
    spec = case.spec
    policy, given = resolved(spec.policy, case.flags.alias_of)
    placement, placing = values_of(spec.placement)
    speed, pace = values_of(spec.speed)
    contention, sharing = values_of(spec.contention)
    return replay(
        jobs_of(case.trace, slice(count), case.flags.predicted, speed),
        servers_of(case.cluster),
        policy,
        placement,
        policy_params=typed(given),
        placement_params=placing,
        seed=spec.seed,
        speed=speed,
        contention=contention,
        speed_params=pace,
        contention_params=sharing,
        network=network_of(case.cluster),
        room=room_of(case.cluster),
        changes=[Change(us, job) for job, us in course.cancelled.items() if job < count],
        max_instants=int(case.schedule.counters.get("instants", 0)) + 1_000 * count,
    )


def _compare_columns(case: Case, outcome: Outcome) -> None:
    for name in _COLUMNS:
        claimed = np.asarray(getattr(case.schedule, name)).astype(np.int64)
        truth = np.array(getattr(outcome, name), np.int64)
        case.report(
            "decided otherwise",
            claimed != truth,
            lambda j, name=name, claimed=claimed, truth=truth: (  # type: ignore[misc]
                f"job {j} has {name} {claimed[j]}, under {case.spec.policy} as documented "
                f"{truth[j]}"
            ),
        )


def _compare_log(case: Case, outcome: Outcome, until_us: int | None) -> None:
    """Compare the rows; of a part those that begin before its end, cut off there."""
    rows = np.array(outcome.rows, dtype=object).reshape(-1, len(LOG_COLUMNS))
    truth = {name: rows[:, i] for i, name in enumerate(LOG_COLUMNS)}
    claimed = {name: case.rows[name].astype(object) for name in LOG_COLUMNS}
    if until_us is not None:
        truth, claimed = _cut(truth, until_us), _cut(claimed, until_us)
    size = min(len(truth["job"]), len(claimed["job"]))
    wrong = np.zeros(size + (len(truth["job"]) != len(claimed["job"])), np.bool_)
    for name in LOG_COLUMNS:
        wrong[:size] |= claimed[name][:size] != truth[name][:size]
    wrong[size:] = True
    case.report(
        "decided otherwise",
        wrong,
        lambda i: (
            f"the log has {_row(claimed, i)}, under {case.spec.policy} as documented "
            f"{_row(truth, i)}"
        ),
    )


def _cut(rows: Mapping[str, AnyArray], until_us: int) -> dict[str, AnyArray]:
    begun = rows["start_us"] < until_us
    cut = {name: column[begun] for name, column in rows.items()}
    cut["end_us"] = np.minimum(cut["end_us"], until_us)
    return cut


def _row(rows: Mapping[str, AnyArray], index: int) -> str:
    if index >= len(rows["job"]):
        return "no more rows"
    job, start_us, end_us, server, mask = (rows[name][index] for name in LOG_COLUMNS)
    return f"job {job} from {start_us} to {end_us} us on GPUs {int(mask):#x} of server {server}"


def _compare_counters(case: Case, outcome: Outcome) -> None:
    """The rates that changed are decided by who ran beside whom."""
    claimed = case.schedule.counters.get("rates_changed")
    if claimed is None or len(outcome.start_us) < len(case.trace):
        return
    if claimed != outcome.rates_changed:
        case.problems.append(
            f"decided otherwise: rates_changed is {claimed}, as documented {outcome.rates_changed}"
        )
