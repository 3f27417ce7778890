"""The audit of runs in which several policies decided: who goes on, who is rejected, who pays."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from tests.campaigns.tamperings import stored, with_schedule
from tests.each import each


def changed(
    jobs: gs.Trace, cluster: gs.Cluster, first: str, second: Any, at_s: float, **given: Any
) -> gs.Result:
    run = gs.Simulation(jobs, cluster, policy=first, **given)
    run.run_until(at_s)
    run.set(policy=second)
    run.run()
    return stored(run.result())


TWO = gs.Cluster.uniform(1, 2)
ALONE = gs.Trace.from_columns([0, 1], [10, 10], [2, 2])


def went_on() -> gs.Result:
    """The first job keeps its GPUs as the policy changes."""
    return changed(ALONE, TWO, "fifo", "sjf", 5)


def test_a_job_that_keeps_its_gpus_through_a_change_of_policy_was_preempted_once():
    result = went_on()
    assert len(result.intervals["job"]) == 2
    assert result.schedule.preemptions.tolist() == [1, 0]
    assert result.audit().problems == []


@pytest.mark.parametrize("claimed", [0, 2])
def test_it_was_not_preempted_any_other_number_of_times(claimed):
    preemptions = np.array([claimed, 0], np.int32)
    problems = with_schedule(went_on(), preemptions=preemptions).audit().problems
    assert f"wrong preemptions: job 0: {claimed}, the log says 1" in problems


def test_who_goes_on_beside_a_change_of_policy_was_not_preempted():
    result = went_on()
    (warning,) = result.schedule.warnings
    moved = with_schedule(result, warnings=(warning.replace("at 5 s", "at 12 s"),))
    assert "wrong preemptions: job 0: 1, the log says 0 (and 1 more)" in moved.audit().problems


LOST = "overrun_s=3,restart=work,cost_s=2"


@each(
    ("first", "second"),
    [(f"srtf:{LOST}", "fifo"), ("fifo", f"srtf:{LOST}"), ("srtf:cost_s=4", f"las:{LOST}"),
     (f"las:{LOST}", "srtf:cost_s=4")],
)  # fmt: skip
@each("at_s", [0.5, 5.0, 14.0])
def test_each_policy_has_its_own_rule_of_restarts(first, second, at_s):
    jobs = gs.Trace.from_columns([0, 4, 6, 30], [20, 3, 9, 5], [2, 1, 2, 2])
    result = changed(jobs, TWO, first, second, at_s)
    assert result.audit().problems == []
    forged = with_schedule(result, paid_us=result.schedule.paid_us + 1)
    assert any(p.startswith("wrong paid_us") for p in forged.audit().problems)


UNEVEN = gs.Cluster((gs.ServerGroup(1, 4), gs.ServerGroup(2, 1)))


def rejected() -> gs.Result:
    """Two servers never hold the first job, and a policy that asks no placement gives it three."""
    jobs = gs.Trace.from_columns([0, 1], [100, 10], [6, 2])
    return changed(jobs, UNEVEN, "ff", "fifo", 5)


def test_a_job_that_ran_may_be_rejected_by_a_policy_that_takes_over():
    result = rejected()
    assert result.schedule.status.tolist() == [1, 0]
    assert result.audit().problems == []


def test_it_is_rejected_nowhere_else():
    result = rejected()
    (warning,) = result.schedule.warnings
    for text, problem in (
        ("at 4 s", "rejected job runs: job 0 is in the log"),
        ("at 120 s", "non-preemptive policy preempts: job 0 has 1 intervals under ff"),
    ):
        moved = with_schedule(result, warnings=(warning.replace("at 5 s", text),))
        assert problem in moved.audit().problems
    for text in ("became ff instead of ff", "became fifo instead of sjf"):
        other = with_schedule(
            result, warnings=(re.sub("became .+ instead of .+ at", f"{text} at", warning),)
        )
        assert any("job 0" in problem for problem in other.audit().problems)


class Backwards(gs.Order):
    """The last one first."""

    lifetime = "fixed"

    def rank(self, view: Any, jobs: Any) -> Any:
        return -jobs.astype(np.float64)


@pytest.mark.parametrize(("first", "second"), [("fifo", Backwards()), (Backwards(), "fifo")])
def test_a_policy_written_in_python_may_take_over_and_give_way(first, second):
    result = changed(ALONE, TWO, first, second, 5)
    assert [thing.role for thing in result.spec.python] == ["policy"] * (second != "fifo")
    assert result.audit().problems == []


def test_what_the_policy_that_took_over_warns_of_is_its_own():
    jobs = gs.Trace.from_columns([0, 1], [10, 10], [3, 1])
    result = changed(jobs, UNEVEN, "fifo", "serverfilling-srpt", 5)
    assert len(result.schedule.warnings) == 2
    assert result.audit().problems == []
