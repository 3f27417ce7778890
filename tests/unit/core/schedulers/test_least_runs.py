"""No run is preempted before it has lasted for `least_s`."""

import pytest

import gpusched as gs


def finishes_s(policy: str, placement: str = "count", **columns: list[float]) -> list[float]:
    trace = gs.Trace.from_columns(**columns)
    cluster = gs.Cluster.uniform(servers=1, gpus=2)
    result = gs.simulate(trace, cluster, policy=policy, placement=placement)
    result.audit().raise_if_bad()
    return (result.schedule.finish_us / 1e6).tolist()


LONG_AND_SHORT = {"submit_s": [0, 10], "service_s": [100, 20], "gpus": [2, 2]}


@pytest.mark.parametrize("placement", ["count", "first-fit"])
def test_a_shorter_job_preempts_once_the_run_has_lasted_long_enough(placement):
    assert finishes_s("srtf", placement, **LONG_AND_SHORT) == [120, 30]
    assert finishes_s("srtf:least_s=10", placement, **LONG_AND_SHORT) == [120, 30]
    assert finishes_s("srtf:least_s=40", placement, **LONG_AND_SHORT) == [120, 60]
    assert finishes_s("srtf:least_s=99", placement, **LONG_AND_SHORT) == [100, 120]


def test_a_resumed_run_counts_anew():
    # Job 0 runs from 0 to 40 and from 60 on; job 2 arrives at 70 and waits until 100.
    jobs = {"submit_s": [0, 10, 70], "service_s": [100, 20, 5], "gpus": [2, 2, 2]}
    assert finishes_s("srtf:least_s=40", **jobs) == [125, 60, 105]


def test_a_job_that_may_not_be_preempted_is_served_before_wider_ones():
    # At 10 the widest of the prefix would go first: job 1. Job 0 is young until 30.
    jobs = {"submit_s": [0, 10], "service_s": [100, 20], "gpus": [1, 2]}
    assert finishes_s("serverfilling-srpt", **jobs) == [120, 30]
    assert finishes_s("serverfilling-srpt:least_s=30", **jobs) == [120, 50]


def test_nobody_displaces_a_run_that_is_too_short():
    jobs = {"submit_s": [0, 0, 10], "service_s": [100, 60, 20], "gpus": [1, 1, 2]}
    assert finishes_s("srtf:displace=true", "first-fit", **jobs)[2] == 30
    assert finishes_s("srtf:displace=true,least_s=30", "first-fit", **jobs)[2] == 50
