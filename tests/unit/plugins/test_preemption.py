"""What a policy written in Python says of its preemptions."""

from __future__ import annotations

from typing import Any

import pytest

import gpusched as gs
from gpusched.plugins.info import PreemptionBound
from gpusched.plugins.registry import describe


class Silent(gs.Scheduler):
    """Says nothing."""


def timed(name: str, **preemption: Any) -> type:
    """Make a scheduler with a period that says this of its preemptions."""

    def init(self: Any, *, period_s: float = 60.0) -> None:
        gs.Scheduler.__init__(self)

    return type(name, (Silent,), {"__init__": init, "preemption": preemption})


def test_a_scheduler_that_does_not_say_may_preempt_at_any_instant():
    assert describe(Silent, "scheduler", "silent").preemption is None


def test_one_that_promises_to_preempt_nobody_need_say_no_more():
    kind = type("Kind", (Silent,), {"flags": ("non-preemptive",)})
    found = describe(kind, "scheduler", "kind").preemption
    assert found == PreemptionBound()
    assert str(found) == "never"


def test_what_it_says_is_read_and_what_is_no_field_refused():
    told = timed("Told", at_arrivals=True, period="period_s", reason="so it is")
    found = describe(told, "scheduler", "told").preemption
    assert str(found) == "arrivals, multiples of `period_s`"
    both = timed("Both", at_finishes=True, least_run="period_s")
    found = describe(both, "scheduler", "both").preemption
    assert str(found) == "finishes, of jobs that have run for `period_s` or longer"
    wrong = timed("Unknown", period="slot_s")
    said = "scheduler unknown: preemption: it has no parameter 'slot_s'; it has: period_s"
    with pytest.raises(ValueError, match=said):
        describe(wrong, "scheduler", "unknown")
    heir = describe(type("Heir", (told,), {}), "scheduler", "heir").preemption
    assert heir == describe(told, "scheduler", "told").preemption
    wrong = type("Wrong", (Silent,), {"preemption": {"at_noon": True}})
    with pytest.raises(ValueError, match="scheduler wrong: preemption: unknown field 'at_noon'"):
        describe(wrong, "scheduler", "wrong")


def test_an_order_has_the_bound_of_its_list_scheduler():
    order = type("First", (gs.Order,), {"preemptive": True})
    found = describe(order, "order", "first").preemption
    assert found == gs.policies()["las"].preemption
    waiting = type("Last", (gs.Order,), {})
    assert describe(waiting, "order", "last").preemption == PreemptionBound()
