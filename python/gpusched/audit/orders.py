"""Rules of order: of jobs alike that wait, the one whose key is smaller starts first.

Where two jobs ask for the same, a placement that refuses the one refuses the other: so the order of
the queue shows in the log, whatever the placement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from gpusched.audit.declarations import resolved
from gpusched.audit.evidence import Case
from gpusched.audit.rule_book import RuleBook
from gpusched.base.arrays import AnyArray, Int64

Key = Callable[[Case, Mapping[str, str]], tuple[AnyArray, ...] | None]
"""Of each interval at its start, the first first; None where the log does not tell."""


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


ORDER_RULES: Final = RuleBook[OrderRule]("policy")


@dataclass(frozen=True)
class Order:
    """The rule of a run with its parameters, see :class:`OrderRule`."""

    rule: OrderRule
    given: Mapping[str, str]

    @property
    def has_timers(self) -> bool:
        """Whether it decides at other instants than those of arrivals and finishes."""
        if not self.rule.is_preemptive:
            return self.rule.scan == "" and not self.rule.head_first
        if self.rule.has_crossings:
            return True
        by_period = self.given.get("epoch", "event") == "period"
        return by_period or float(self.given.get("period_s", self.rule.period_s)) > 0

    @property
    def leaves_nothing(self) -> bool:
        """Whether no job waits that could be placed, whatever its turn."""
        if self.given.get("scan", self.rule.scan) != "skip":
            return False
        usual = {"epoch": "event", "quota": "free", "displace": "false"}
        return not self.rule.is_preemptive or self._is(usual)

    @property
    def shows_order(self) -> bool:
        """Whether a job never starts before one alike that is ahead of it."""
        return self.rule.key is not None and self._is({"displace": "false"})

    @property
    def head_first(self) -> bool:
        """Whether the first by submit is never passed over."""
        return self.rule.head_first and self.given.get("scan", "strict") == "strict"

    def _is(self, values: Mapping[str, str]) -> bool:
        return all(self.given.get(key, value).lower() == value for key, value in values.items())


def order_of(case: Case) -> Order | None:
    """Return the rule of the policy of a run; None if none is known."""
    return _order(case.spec.policy, case.flags.alias_of)


@lru_cache(maxsize=64)
def _order(policy: str, alias_of: str) -> Order | None:
    name, given = resolved(policy, alias_of)
    rule = ORDER_RULES.find(name)
    return None if rule is None else Order(rule, given)


def check(case: Case) -> None:
    """Check the starts of jobs alike, each against the one that started next."""
    order = order_of(case)
    if order is None or not case.any_waits or not order.shows_order:
        return
    assert order.rule.key is not None
    keys = order.rule.key(case, order.given)
    if keys is None:
        return
    kind = case.alike.of_job[case.job]
    if not case.flags.is_steady and case.trace.profile is not None:
        kind = kind * (int(case.trace.profile.max()) + 2) + case.trace.profile[case.job]
    start_us, since_us = case.start_us, case.since_us
    turn = np.lexsort((start_us, kind))
    if np.count_nonzero(case.is_resize):
        turn = turn[~case.is_resize[turn]]
    # Only who waits can be passed.
    later = np.flatnonzero(case.waits[turn[1:]])
    one, other = turn[later], turn[later + 1]
    ahead = (kind[one] == kind[other]) & (start_us[one] < start_us[other])
    ahead &= since_us[other] <= start_us[one]
    one, other = one[ahead], other[ahead]
    is_less, is_equal = np.zeros(len(one), np.bool_), np.ones(len(one), np.bool_)
    for column in (*keys, case.job):
        is_less |= is_equal & (column[other] < column[one])
        is_equal &= column[other] == column[one]
    case.report(
        "out of order",
        is_less,
        lambda i: (
            f"job {case.job[one[i]]} starts at {start_us[one[i]]} us, while job "
            f"{case.job[other[i]]} waits, asks for the same and goes first under "
            f"{case.spec.policy}"
        ),
    )


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
