"""Orders whose keys change as time goes by, without preemption: each decision ranks anew."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import PLACEMENTS, make_engine
from gpusched.reference.lists import ListScheduler
from gpusched.reference.model import Active
from tests.examples import examples
from tests.parity.core import assert_same, make_cluster, make_trace, outcome_of
from tests.reference.cases import SECOND, cases


class HighestResponseRatio(gs.Order):
    """Who waits ages the faster the shorter it is (Brinch Hansen, 1971)."""

    lifetime = "clock"
    scan = "skip"

    def rank(self, view: Any, jobs: Any) -> Any:
        waited = (view.now_us - view.submit_us[jobs]).astype(float)
        return -waited / view.predicted_us[jobs].astype(float)


class HighestResponseRatioStrict(HighestResponseRatio):
    """The same; the first that does not fit blocks the others."""

    scan = "strict"


def ratio(job: Active, now: int, seed: int) -> float:
    """The same key for the reference."""
    return -float(now - job.job.submit_us) / float(job.predicted)


@pytest.mark.parametrize("order", [HighestResponseRatio, HighestResponseRatioStrict])
@examples(60)
@given(case=st.sampled_from(PLACEMENTS).flatmap(lambda name: cases("sjf", name, "none")))
def test_waiting_jobs_are_ranked_anew_at_each_decision(order, case):
    case = case.at(SECOND)
    result = gs.simulate(
        make_trace(case.jobs),
        make_cluster(case.servers),
        policy=order(),
        placement=gs.plugins.PlacementChoice(case.placement, **case.placement_params),
        seed=case.seed,
    )
    scheduler = ListScheduler(ratio, order is HighestResponseRatioStrict)
    expected = make_engine(
        case.jobs, case.servers, scheduler, case.placement,
        placement_params=case.placement_params, seed=case.seed,
    ).run()  # fmt: skip
    assert_same(expected, outcome_of(result.schedule))


def test_a_short_job_overtakes_a_long_one_as_it_waits():
    # At 2 the long job has waited longer; at 100 the short one has, for its length.
    trace = gs.Trace.from_columns(submit_s=[0, 1, 2], service_s=[100, 50, 5], gpus=[1, 1, 1])
    result = gs.simulate(trace, gs.Cluster.uniform(1, 1), policy=HighestResponseRatio())
    assert result.jobs["start_s"].tolist() == [0, 105, 100]
