"""An independent check of schedules: replays the interval log against trace and cluster.

It shares nothing with the core or the metrics; every value is recomputed from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from gpusched.audit import claims, course, laws, orders
from gpusched.audit.case import Case
from gpusched.audit.declarations import Flags
from gpusched.base.arrays import AnyArray

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages
    from gpusched.schedules.schedule import Schedule
    from gpusched.specs.run_spec import RunSpec
    from gpusched.traces.workload import Trace

__all__ = ["AuditError", "AuditReport", "Flags", "Level", "audit"]


Level = Literal["log", "decisions"]
LEVELS = get_args(Level)


class AuditError(Exception):
    """A schedule that breaks the rules of an audit."""


@dataclass(frozen=True)
class AuditReport:
    """The findings of an audit; no problems means that every rule holds.

    Attributes
    ----------
    problems
        One sentence per broken rule, with the first case and the number of others.
    notes
        Checks that were not possible, or not for all jobs, one sentence each.
    """

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every rule holds."""
        return not self.problems

    def raise_if_bad(self) -> None:
        """Raise :class:`AuditError` with all problems, if there are any."""
        if self.problems:
            raise AuditError("\n".join(self.problems))

    def __str__(self) -> str:
        return "\n".join([*(self.problems or ["no problems"]), *self.notes])


def audit(
    trace: Trace,
    cluster: Cluster,
    spec: RunSpec,
    schedule: Schedule,
    intervals: Mapping[str, AnyArray],
    digest: str,
    summary: Callable[[], Mapping[str, Any]],
    flags: Flags,
    level: Level = "log",
    declared: Callable[[str], Flags] | None = None,
    outages: Outages | None = None,
) -> AuditReport:
    """Check that a schedule is possible, complete and correctly reported.

    No GPU is used twice (shares of one add up to at most one), no server exceeds its CPU or memory,
    jobs hold all their GPUs, within their limits and of allowed types, nothing runs before it is
    submitted and eligible or after it is cancelled, no work is lost or invented (at the speed of
    each moment, which may depend on the number and types of GPUs, the placement and shared links),
    restarts and resizes are paid. No job starts on a server that is down, a failure or maintenance
    ends all runs on its server and costs the work since the last checkpoint, and a time limit ends
    a run. Jobs end, stay held, are rejected for a true reason or were cancelled according to the
    warnings, and the columns, the digest, the deadlines met and the other metrics follow from the
    log. The specification matches the registered names and these very jobs; counters, warnings and
    decisions agree with the log. For policies whose queues are documented as keys, like jobs start
    in order, no job waits that could be placed, and none gets the GPUs of one of higher priority.

    ``intervals``: the log, with rows as in :attr:`Result.intervals <gpusched.Result.intervals>`.
    ``digest``: the log's digest according to the result.
    ``summary``: returns the metrics to check.
    ``flags``: the registered properties of policy, placement and speed.
    ``declared``: returns the same for another policy, by its string.
    ``outages``: failures, drains and maintenance of servers during the run.
    ``level``: ``"decisions"``: also check that the documented policy makes these decisions, see
        :mod:`gpusched.audit.decisions`.
    """
    if level not in LEVELS:
        raise ValueError(f"level: {level!r} must be one of {', '.join(LEVELS)}")
    case = Case(trace, cluster, spec, schedule, intervals, flags, outages=outages)
    claims.check_well_formed(case)
    if case.problems:  # the other rules read columns per job
        return AuditReport(case.problems)
    done = course.Course.of(case)
    case.cancelled = done.cancelled
    if done.is_handed_over:
        declared = declared or (lambda _: flags)
        case.policies = tuple((policy, declared(policy)) for policy in done.policies)
        case.hand_over(done.handed_over_us)
    case.holds = laws.known_holds(case, done)
    claims.check_claims(case)
    claims.check_shape(case)
    if case.problems:  # rules depend on the names, and metrics on the columns
        return AuditReport(case.problems, case.notes)
    if not flags.is_steady:
        from gpusched.audit import rates  # loads the reference engine

        case.measured = rates.kinds_by_figures(case)
    for law in laws.LAWS.values():
        law.check(case, done)
    claims.check_figures(case, digest, summary)
    if not flags.is_steady:
        rates.check_rates(case)
    claims.check_decisions(case, done)
    if case.problems:  # the remaining rules require a possible log
        return AuditReport(case.problems, case.notes)
    course.check(case, done)
    claims.check_counters(case, done)
    if not (done.is_handed_over or done.held):
        orders.check_order(case)
        orders.check_idleness(case, done)
        orders.check_precedence(case, done)
    if level == "decisions":
        from gpusched.audit import decisions  # loads the reference engine

        decisions.check(case, done)
    return AuditReport(case.problems, case.notes)
