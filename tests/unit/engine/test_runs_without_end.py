"""A run that only goes round ends with an error that says who goes round, and what would help."""

from __future__ import annotations

import re

import pytest

import gpusched as gs

CENTURIES_S = 2**53 / 1e6
CLUSTER = gs.Cluster.uniform(1, 2)
TWO = gs.Trace.from_columns([0, 0], [CENTURIES_S, CENTURIES_S], [2, 2])


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            "las:period_s=0.001",
            "jobs 0 and 1 take turns; each of the last 1.05e+06 preemptions and resizes at timers "
            "cost 0 us and gained 1e+03 us of service, and the 1.8e+16 us that are left would take "
            "1.8e+13 more; decide less often (a longer period_s), lower the restart costs",
        ),
        (
            "srtf:period_s=0.001,epoch=period",
            "the last 1.05e+06 decisions, 1e+03 us apart, were asked for by the scheduler alone, "
            "and 1.8e+13 more would follow; job 0 held GPUs, 2 jobs are not done; "
            "decide less often",
        ),
    ],
)
def test_a_run_of_centuries_in_milliseconds_says_what_goes_round(policy, message):
    begin = "at 1048576000 us: the run goes round without getting on: "
    with pytest.raises(ValueError, match=re.escape(begin + message)):
        gs.simulate(TWO, CLUSTER, policy=policy)


def test_turns_that_cost_far_more_than_they_gain_are_refused_before_the_run():
    jobs = gs.Trace.from_columns([0, 0], [1e5, 1e5], [2, 2], restart_s=[1e6, 1e6])
    with pytest.raises(
        ValueError, match="period_s: job 0 would pay 1000000000000 us for each turn"
    ):
        gs.simulate(jobs, CLUSTER, policy="las:period_s=0.001")
