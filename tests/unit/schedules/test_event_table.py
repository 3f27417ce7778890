"""Events in the engine's order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.reference import POLICIES
from tests.reference.cases import SECOND, cases
from tests.unit.small_runs import job, simulated


def test_events_of_one_instant_stand_in_the_engines_order():
    # At 3 s: job 2 finishes, 3 and 4 arrive, 4 is rejected, 3 takes the GPUs of 0 and 1.
    jobs = [job(0, 10, 1), job(0, 10, 1), job(0, 3, 2), job(3, 1, 4), job(3, 1, 9)]
    events = simulated(jobs, [(4, "gpu")], "srtf", id=list("abcde")).events
    frame = events.to_polars()
    assert frame.columns == ["time_s", "kind", "job", "id", "gpus"]
    at_3 = [row[1:4] for row in frame.rows() if row[0] == 3.0]
    assert at_3 == [
        ("finish", 2, "c"),
        ("arrival", 3, "d"),
        ("arrival", 4, "e"),
        ("reject", 4, "e"),
        ("preempt", 0, "a"),
        ("preempt", 1, "b"),
        ("start", 3, "d"),
    ]
    assert [row[1:4] for row in frame.rows() if row[0] == 4.0] == [
        ("finish", 3, "d"),
        ("resume", 0, "a"),
        ("resume", 1, "b"),
    ]
    assert events.kind.tolist() == frame["kind"].to_list()
    assert events.time_s.tolist() == frame["time_s"].to_list()
    assert repr(events) == "Events(4 finish, 5 arrival, 1 reject, 2 preempt, 4 start, 2 resume)"


@given(st.sampled_from(POLICIES).flatmap(lambda policy: cases(policy, "consolidated")))
@settings(max_examples=50, deadline=None)
def test_events_tell_the_life_of_each_job(case):
    case = case.at(SECOND)
    result = simulated(
        case.jobs, case.servers, case.policy, "consolidated", policy_params=case.policy_params
    )
    lives = {j: [] for j in range(len(result.trace))}
    free = result.cluster.num_gpus
    change = {"start": -1, "resume": -1, "preempt": 1, "finish": 1}
    for _, kind, j, _, gpus in result.events.to_polars().rows():
        lives[j].append(kind)
        free += change.get(kind, 0) * gpus
        assert 0 <= free <= result.cluster.num_gpus  # at each event, in their order
    for j, life in lives.items():
        if result.schedule.status[j] == 1:
            assert life == ["arrival", "reject"]
        else:
            again = ["preempt", "resume"] * int(result.schedule.preemptions[j])
            assert life == ["arrival", "start", *again, "finish"]
