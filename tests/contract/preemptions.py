"""What preempts whom when in a run, and whether a stated bound allows it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import gpusched as gs
from gpusched.base.run_warning import unwarned


@dataclass
class Course:
    """The preemptions of a run, and what bounds are stated by; times in microseconds."""

    trace: gs.Trace
    preempted: list[tuple[int, int, int]] = field(default_factory=list)
    """When, which job, and for how long it had run since it was started."""
    finishes: set[int] = field(default_factory=set)

    @property
    def arrivals(self) -> Counter[int]:
        """How many jobs arrive at each instant at which one does."""
        return Counter(self.trace.submit_us.tolist())

    @property
    def instants(self) -> Counter[int]:
        """How many jobs are preempted at each instant at which one is."""
        return Counter(at for at, _, _ in self.preempted)


def course_of(trace: gs.Trace, cluster: gs.Cluster, policy: gs.Policy, **options: Any) -> Course:
    """Run it to its end."""
    course, started = Course(trace), {}

    def hear(event: Any) -> None:
        at = round(event.time_s * 1e6)
        if event.what == "start":
            started[event.job] = at
        elif event.what == "preempt":
            course.preempted.append((at, event.job, at - started[event.job]))
        else:
            course.finishes.add(at)

    with unwarned():
        run = gs.Simulation(trace, cluster, policy=policy, **options)
        for what in ("start", "preempt", "finish"):
            run.on(what, hear)
        run.run()
    return course


def check(course: Course, policy: gs.Policy) -> None:
    """Raise unless the bound of the policy, as it is registered, allows the preemptions."""
    bound = policy.info.preemption
    assert bound is not None
    values = {entry["name"]: entry["default"] for entry in policy.info.parameters}
    values |= policy.parameters
    twice = [one for one, times in Counter((at, job) for at, job, _ in course.preempted).items()
             if times > 1]  # fmt: skip
    assert twice == []
    if bound.is_none:
        assert course.preempted == []
    elif bound.least_run:
        least_us = values[bound.least_run] * 1e6
        assert [one for one in course.preempted if one[2] < least_us] == []
    else:
        period_us = round(values[bound.period] * 1e6) if bound.period else None
        allowed = set()
        if bound.at_arrivals or period_us == 0:
            allowed |= set(course.arrivals)
        if bound.at_finishes or period_us == 0:
            allowed |= course.finishes
        own = [at for at in course.instants
               if at not in allowed and not (period_us and at % period_us == 0)]  # fmt: skip
        entries = len(values[bound.per_entry]) if bound.per_entry else 0
        assert len(own) <= entries * len(course.trace), own
