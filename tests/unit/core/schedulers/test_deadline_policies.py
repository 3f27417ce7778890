"""Policies that look at deadlines, on schedules that can be worked out by hand."""

from typing import Any

import pytest

import gpusched as gs
from tests.unit.core.schedulers.two_types import NONE, random_workload, runs

LINEAR = gs.model.JobProfile("linear", throughput={"A": {1: 1.0, 2: 2.0, 4: 4.0}})
ONE_GPU = gs.Cluster((gs.ServerGroup(1, 1, "A"),))
FOUR_GPUS = gs.Cluster((gs.ServerGroup(1, 4, "A"),))


def simulate(policy: str, cluster: gs.Cluster, jobs: list[tuple], **options: Any) -> gs.Result:
    """Run jobs of (submit, service, gpus, deadline); of ``profile``, or without tables."""
    submit, service, gpus, deadline = map(list, zip(*jobs, strict=True))
    profile = options.pop("profile", None)
    tables = {} if profile is None else {"profiles": [profile], "profile": [0] * len(jobs)}
    restart_s = options.pop("restart_s", 0)
    trace = gs.Trace.from_columns(
        submit, service, gpus, deadline_s=deadline, restart_s=[restart_s] * len(jobs), **tables
    )
    speed = "fixed" if profile is None else "table"
    return gs.simulate(trace, cluster, policy=policy, speed=speed, placement="buddy", **options)


def finish_s(result: gs.Result) -> list[float]:
    return (result.schedule.finish_us / 1e6).tolist()


def admitted(result: gs.Result) -> dict[int, bool]:
    log = result.schedule.decisions()
    return {int(job): bool(yes) for job, yes in zip(log["job"], log["admitted"], strict=True)}


def test_edf_runs_the_earliest_deadline_and_takes_gpus_back_for_it():
    result = simulate("edf", ONE_GPU, [(0, 10, 1, 100), (2, 3, 1, 8)])
    assert runs(result) == [(0, 0, 2, 1), (1, 2, 5, 1), (0, 5, 13, 1)]


def test_edf_leaves_jobs_without_a_deadline_for_last_in_order_of_submit():
    result = simulate("edf", ONE_GPU, [(0, 2, 1, NONE), (0, 2, 1, NONE), (0, 2, 1, 900)])
    assert [run[0] for run in runs(result)] == [2, 0, 1]


def test_llf_prefers_less_slack_to_an_earlier_deadline():
    jobs = [(0, 10, 1, 12), (0, 2, 1, 5)]
    assert runs(simulate("llf:period_s=0", ONE_GPU, jobs)) == [(0, 0, 10, 1), (1, 10, 12, 1)]
    assert runs(simulate("edf", ONE_GPU, jobs)) == [(1, 0, 2, 1), (0, 2, 12, 1)]


def test_llf_notices_at_its_reviews_that_slack_runs_out():
    # After two seconds the waiting job has one second of slack, the running one still two.
    result = simulate("llf:period_s=1", ONE_GPU, [(0, 10, 1, 12), (0, 2, 1, 5)])
    assert runs(result)[1][:2] == (1, 2)
    assert result.schedule.finish_us[1] <= 5_000_000


def test_edf_fastest_gives_each_job_in_turn_the_fastest_that_is_left():
    result = simulate("edf-fastest", FOUR_GPUS, [(0, 8, 1, 100), (0, 8, 1, 50)], profile=LINEAR)
    assert runs(result) == [(1, 0, 2, 4), (0, 2, 4, 4)]


def test_edf_fastest_chooses_the_faster_type():
    cluster = gs.Cluster((gs.ServerGroup(1, 1, "A"), gs.ServerGroup(1, 1, "B")))
    profile = gs.model.JobProfile("p", throughput={"A": {1: 1.0}, "B": {1: 4.0}})
    result = simulate("edf-fastest", cluster, [(0, 4, 1, 99), (0, 4, 1, 9)], profile=profile)
    rows = result.schedule.intervals()
    assert rows["server"][rows["job"] == 1].tolist() == [1]
    # The other moves to the faster GPU once that is idle.
    assert rows["server"][rows["job"] == 0].tolist() == [0, 1]


def test_elasticflow_gives_the_least_share_and_turns_down_what_breaks_a_promise():
    jobs = [(0, 100, 1, 60), (0, 100, 1, 60), (0, 100, 1, 60)]
    result = simulate("elasticflow:slot_s=10", FOUR_GPUS, jobs, profile=LINEAR)
    assert admitted(result) == {0: True, 1: True, 2: False}
    assert runs(result)[:2] == [(0, 0, 50, 2), (1, 0, 50, 2)]
    log = result.schedule.decisions()
    assert log["reason"][2] == "the GPUs that admitted jobs leave do not suffice"
    # Turned down, it is best effort at its own width.
    assert runs(result)[2] == (2, 50, 150, 1)


def test_a_batch_is_admitted_as_a_whole_or_not_at_all():
    # The first is alone. Of the two that come in its slot one cannot be met.
    jobs = [(0, 60, 1, 100), (2, 10, 1, 90), (4, 400, 1, 40)]
    each = simulate("elasticflow:slot_s=10", FOUR_GPUS, jobs, profile=LINEAR)
    assert admitted(each) == {0: True, 1: True, 2: False}
    batch = simulate("elasticflow:slot_s=10,admission=batch", FOUR_GPUS, jobs, profile=LINEAR)
    assert admitted(batch) == {0: True, 1: False, 2: False}
    # They are best effort, behind the spare GPUs of the first.
    assert batch.schedule.start_us.tolist() == [0, 15_000_000, 15_000_000]
    reasons = batch.schedule.decisions()["reason"]
    assert reasons[1] == "another job of its slot cannot be met"


def test_a_batch_that_can_be_met_is_admitted_as_its_slot_ends():
    jobs = [(0, 60, 1, 100), (2, 10, 1, 90), (4, 20, 1, 90)]
    policy = "elasticflow:slot_s=10,admission=batch"
    result = simulate(policy, FOUR_GPUS, jobs, profile=LINEAR)
    assert admitted(result) == {0: True, 1: True, 2: True}
    log = result.schedule.decisions()
    assert log["time_us"].tolist() == [0, 10_000_000, 10_000_000]


def test_edf_greatest_takes_the_greatest_width_though_it_be_slower():
    slower = gs.model.JobProfile("slower", throughput={"A": {1: 1.0, 2: 1.5, 4: 0.5}})
    jobs = [(0, 10, 1, 100), (0, 10, 1, 50), (5, 1, 1, 20)]
    result = simulate("edf-greatest:slot_s=10", FOUR_GPUS, jobs, profile=slower)
    # The third waits for the end of the slot, and then goes first.
    assert runs(result)[:2] == [(1, 0, 10, 4), (2, 10, 12, 4)]
    fast = simulate("edf-fastest", FOUR_GPUS, jobs, profile=slower)
    assert max(finish_s(fast)) < max(finish_s(result))


def test_edf_greatest_turns_down_who_would_break_a_deadline():
    jobs = [(0, 40, 1, 11), (0, 40, 1, 15), (0, 40, 1, 60)]
    policy = "edf-greatest:slot_s=10,admission=true"
    result = simulate(policy, FOUR_GPUS, jobs, profile=LINEAR)
    assert admitted(result) == {0: True, 1: False, 2: True}
    assert finish_s(result) == [10, 30, 20]


def test_a_finish_that_leaves_no_job_does_not_put_off_who_comes_next():
    # The second comes a slot after GPUs were given out last, the third within one of that.
    jobs = [(0, 40, 1, 99), (65, 40, 1, 199), (80, 40, 1, 299)]
    result = simulate("edf-greatest:slot_s=60", FOUR_GPUS, jobs, profile=LINEAR)
    assert runs(result) == [(0, 0, 10, 4), (1, 65, 75, 4), (2, 125, 135, 4)]


def test_promises_that_edf_greatest_breaks_are_counted_in_a_warning():
    # The second takes the GPUs of the first, whose restart nobody planned for.
    jobs = [(0, 80, 1, 31), (5, 40, 1, 25)]
    policy = "edf-greatest:slot_s=10,admission=true"
    with pytest.warns(gs.RunWarning, match="1 admitted jobs missed their deadlines"):
        result = simulate(policy, FOUR_GPUS, jobs, profile=LINEAR, restart_s=5)
    assert admitted(result) == {0: True, 1: True}
    assert finish_s(result) == [35, 20]
    assert result.audit().ok


def test_elasticflow_says_when_no_width_would_do():
    result = simulate("elasticflow", FOUR_GPUS, [(0, 100, 1, 20)], profile=LINEAR)
    assert admitted(result) == {0: False}
    assert result.schedule.decisions()["reason"][0] == "no width of any type meets the deadline"


@pytest.mark.parametrize(
    ("policy", "gpus"), [("elasticflow:slot_s=1", 1), ("chronus:lease_s=1", 1)]
)
def test_a_plan_of_too_many_slots_is_not_said_to_miss_the_deadline(policy, gpus):
    slots = 32_768
    within, beyond = (
        simulate(policy, ONE_GPU, [(0, service, gpus, 10 * slots)], profile=LINEAR)
        for service in (slots - 10, slots + 10)
    )
    assert admitted(within) == {0: True}
    assert admitted(beyond) == {0: False}
    reason = "no plan of at most 32768 slots meets the deadline"
    assert beyond.schedule.decisions()["reason"][0] == reason
    assert finish_s(beyond) == [slots + 10]


def test_elasticflow_gives_spare_gpus_where_they_save_most():
    result = simulate("elasticflow:slot_s=10", FOUR_GPUS, [(0, 99, 1, 120)], profile=LINEAR)
    assert runs(result) == [(0, 0, 24.75, 4)]


def test_elasticflow_does_not_grow_a_job_for_less_than_the_restart_costs():
    jobs = [(0, 10, 2, 100), (0, 90, 1, 200)]
    result = simulate("elasticflow:slot_s=10", FOUR_GPUS, jobs, profile=LINEAR, restart_s=30)
    assert (result.schedule.resizes == 0).all()


def test_elasticflow_takes_gpus_of_best_effort_jobs_back():
    jobs = [(0, 30, 1, NONE), (5, 9, 1, 40)]
    result = simulate("elasticflow:slot_s=10", ONE_GPU, jobs)
    assert runs(result) == [(0, 0, 5, 1), (1, 5, 14, 1), (0, 14, 39, 1)]


def test_elasticflow_pinned_to_one_type_turns_down_what_another_type_could_do():
    cluster = gs.Cluster((gs.ServerGroup(1, 2, "A"), gs.ServerGroup(1, 2, "B")))
    profile = gs.model.JobProfile("p", throughput={"A": {1: 1.0, 2: 2.0}, "B": {1: 2.0, 2: 4.0}})
    jobs = [(0, 10, 1, 12)] * 3
    pinned = simulate("elasticflow:slot_s=4,types=pinned", cluster, jobs, profile=profile)
    assert admitted(pinned) == {0: True, 1: True, 2: False}
    assert set(pinned.schedule.intervals()["server"].tolist()) == {1}
    ordered = simulate("elasticflow:slot_s=4", cluster, jobs, profile=profile)
    assert admitted(ordered) == {0: True, 1: True, 2: True}
    rows = ordered.schedule.intervals()
    assert rows["server"][rows["job"] == 2].tolist()[0] == 0


def test_chronus_waits_for_a_lease_to_end():
    jobs = [(0, 30, 1, NONE), (5, 9, 1, 40)]
    result = simulate("chronus:lease_s=10", ONE_GPU, jobs)
    assert runs(result) == [(0, 0, 10, 1), (1, 10, 19, 1), (0, 19, 39, 1)]


def test_chronus_plans_by_slack_and_turns_down_what_no_lease_is_left_for():
    jobs = [(0, 30, 1, NONE), (5, 9, 1, 40), (5, 9, 1, 25), (5, 9, 1, 25)]
    result = simulate("chronus:lease_s=10", ONE_GPU, jobs)
    assert admitted(result) == {1: True, 2: True, 3: False}
    assert [run[0] for run in runs(result)][1:3] == [2, 1]
    assert (result.schedule.finish_us[1:3] <= result.trace.deadline_us[1:3]).all()


@pytest.mark.parametrize(
    "policy", ["elasticflow:slot_s=20", "elasticflow:slot_s=20,types=pinned", "chronus:lease_s=30"]
)
def test_a_promise_is_never_broken_while_jobs_run_as_fast_as_they_should(policy):
    num_admitted = num_refused = 0
    for seed in range(100):
        trace, cluster = random_workload(seed)
        result = gs.simulate(trace, cluster, policy=policy, placement="buddy", speed="table")
        promised = [job for job, yes in admitted(result).items() if yes]
        assert (result.schedule.status == 0).all()
        assert not result.warnings
        assert (result.schedule.finish_us[promised] <= trace.deadline_us[promised]).all(), seed
        num_admitted += len(promised)
        num_refused += len(admitted(result)) - len(promised)
    assert num_admitted > 300
    assert num_refused > 100


def test_a_job_whose_time_was_underestimated_loses_its_promise_and_still_ends():
    trace = gs.Trace.from_columns(
        [0, 0], [100, 100], [1, 1], deadline_s=[60, 300], estimate_s=[20, 20],
        profiles=[LINEAR], profile=[0, 0],
    )  # fmt: skip
    result = gs.simulate(
        trace, ONE_GPU, policy="elasticflow:slot_s=10", speed="table", predictor="estimate"
    )
    assert admitted(result) == {0: True, 1: True}
    assert (result.schedule.status == 0).all()
    assert any("fell behind their plans" in warning for warning in result.warnings)
