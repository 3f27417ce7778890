"""Rules of what a run counts: instants, events, running jobs and rates."""

from __future__ import annotations

from functools import partial

from gpusched.audit.course import Course
from gpusched.audit.evidence import Case
from gpusched.audit.orders import order_of

KNOWN = ("events", "instants", "max_running", "rates_changed", "rates_computed")


def check(case: Case, course: Course) -> None:
    """Check the counters of a schedule that has any: none of them can be what it says alone."""
    counters = dict(case.schedule.counters)
    if not counters:
        return
    if counters.keys() != set(KNOWN):
        case.problems.append(f"wrong counters: {sorted(counters)}, there are {list(KNOWN)}")
        return
    wrong = partial(_wrong, case, counters)
    num_finished, num_arrived = case.num_finished, case.num_jobs - case.num_rejected
    num_open = num_arrived - num_finished
    if not course.is_handed_over:
        events = num_arrived + num_finished + len(course.cut_off(case))
        wrong("events", events, events)
        running = case.moments.most_running
        wrong("max_running", running, running)
    least = case.moments.num_instants
    order = None if course.changes else order_of(case)
    is_exact = order is not None and not order.has_timers and num_open == 0
    wrong("instants", least, least if is_exact else 2**63)
    if case.flags.is_steady:
        wrong("rates_computed", 0, 0)
        wrong("rates_changed", 0, 0)
        return
    # Each start is a rate, and so is each change of one.
    num_starts, changed = len(case.first), int(counters["rates_changed"])
    wrong("rates_computed", num_starts + changed, 2**63)
    if not case.interacts:
        wrong("rates_changed", 0, 0)
        wrong("rates_computed", num_starts, num_starts)


def _wrong(case: Case, counters: dict[str, int], name: str, least: int, most: int) -> None:
    claimed = counters[name]
    if not least <= claimed <= most:
        truth = f"{least}" if least == most else f"at least {least}"
        case.problems.append(f"wrong counter: {name} is {claimed}, in truth {truth}")
