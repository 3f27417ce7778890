"""What the bench times decisions with, of native policies and those of Python."""

from __future__ import annotations

import pytest

import gpusched as gs
from bench.policies import TimedPolicy

every_kind = pytest.mark.parametrize("name", ["optimus", "gavel"])


@every_kind
def test_a_policy_that_came_to_no_decision_has_no_times(name):
    assert TimedPolicy(name).decisions_ms().shape == (0,)


@every_kind
def test_every_decision_is_timed(name):
    cluster = gs.Cluster.uniform(2, 4)
    timed = TimedPolicy(name)
    result = gs.simulate(gs.generate("philly", 30, cluster=cluster, seed=1), cluster,
                         policy=timed.policy)  # fmt: skip
    found = timed.decisions_ms()
    assert 1 < len(found) <= result.schedule.counters["instants"]
    assert (found >= 0).all()
