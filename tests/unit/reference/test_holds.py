"""Jobs that are held, wait for each other and are cancelled: published cases, and small schedules
worked out by hand.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpusched.reference import (
    CANCELLED,
    FAILED,
    FINISHED,
    HELD,
    KILLED,
    POLICIES,
    REJECTED,
    UNFINISHED,
    Dependency,
    Job,
    Outage,
)
from tests.each import each
from tests.unit.reference.published import CASES, check_published, needs_cases, run, runs

SHOWN = ("L03", "L04", "L05", "L06", "L08", "L13")


def on(target: int, kind: str = "afterany", delay: int = 0) -> tuple[Dependency, ...]:
    return (Dependency(target, kind, delay),)


@needs_cases
@each("name", SHOWN)
def test_the_published_cases(name):
    check_published(name)


@needs_cases
def test_an_array_of_exponential_tasks_ends_when_the_closed_form_says():
    case = CASES["L53"]
    draws = np.random.default_rng(0)
    tasks = case["input"]["tasks"]
    for limit, expected in ((case["input"]["at_once"], case["expect"]["mean_makespan"]),
                            (4, case["expect"]["n_10_k_4"])):  # fmt: skip
        ends = []
        for _ in range(400):
            services = np.maximum(draws.exponential(1e6, tasks).round().astype(int), 1)
            jobs = [Job(0, int(service), 1, array=0) for service in services]
            ends.append(max(run(jobs, [case["input"]["gpus"]], "fifo", arrays=[limit]).finish_us))
        mean, error = np.mean(ends) / 1e6, np.std(ends) / 1e6 / 20
        assert abs(mean - expected) < 4 * error


# Eligibility.


@each("policy", ["fifo", "easy"])
def test_a_job_that_is_not_eligible_is_not_in_the_queue(policy):
    # Held, the first job blocks nobody; eligible at 3, it keeps the place of its submission.
    jobs = [Job(0, 9, 2, eligible_us=3), Job(1, 4, 2), Job(2, 4, 2)]
    outcome = run(jobs, [2], policy)
    assert outcome.start_us == [5, 1, 14]
    assert outcome.eligible_us == [3, 1, 2]


def test_an_idle_cluster_waits_for_a_time_of_eligibility():
    outcome = run([Job(0, 5, 1, eligible_us=7)], [1], "fifo")
    assert runs(outcome, 0) == [[7, 12]]


def test_a_job_that_is_held_for_good_stays_held_and_others_run():
    outcome = run([Job(0, 5, 1, eligible_us=HELD), Job(1, 5, 1)], [1], "fifo")
    assert outcome.status == [UNFINISHED, FINISHED]
    assert outcome.eligible_us == [-1, 1]


def test_a_job_that_can_never_start_is_rejected_when_it_arrives():
    jobs = [Job(0, 5, 9, eligible_us=7), Job(0, 5, 1, dependencies=on(0))]
    outcome = run(jobs, [1], "fifo")
    assert outcome.status == [REJECTED, FINISHED]
    assert outcome.eligible_us == [-1, 0]
    assert runs(outcome, 1) == [[0, 5]]


def test_a_policy_with_an_epoch_sees_a_released_job_at_its_next_decision():
    outcome = run([Job(0, 2, 1, eligible_us=7)], [1], "srtf", epoch="period", period_s=5)
    assert runs(outcome, 0) == [[10, 12]]
    assert outcome.eligible_us == [7]


def test_a_held_job_has_all_the_work_that_a_policy_adds():
    outcome = run([Job(0, 5, 1, eligible_us=3)], [1], "srtf", overrun_s=2)
    assert runs(outcome, 0) == [[3, 10]]


def test_servers_fail_and_come_back_while_jobs_are_held():
    # Only job 0 is left from 2 on, and the server is down from 4 to 20.
    jobs = [Job(0, 5, 1, eligible_us=10), Job(0, 2, 1)]
    outcome = run(jobs, [1], "fifo", Outage(0, 4, 20))
    assert runs(outcome, 0) == [[20, 25]]


def test_a_run_with_a_server_that_is_never_back_goes_on_while_a_job_is_held():
    jobs = [Job(0, 5, 4), Job(0, 5, 2, eligible_us=9), Job(1, 5, 2)]
    outcome = run(jobs, [2, 2], "sjf", Outage(1, 0, None))
    assert outcome.start_us == [-1, 9, 1]


# Dependencies.


@each(
    "kind, delay, start",
    [("after", 0, 3), ("after", 1, 3), ("after", 4, 6), ("afterany", 0, 7), ("afterok", 0, 7)],
)
def test_a_condition_is_met_at_the_start_or_the_end_of_its_target(kind, delay, start):
    # The target starts at 2 and ends at 7; a decision comes after the releases of its instant.
    jobs = [Job(0, 2, 2), Job(0, 5, 2), Job(0, 1, 1, dependencies=on(1, kind, delay))]
    outcome = run(jobs, [2, 1], "fifo")
    assert outcome.start_us == [0, 2, start]
    assert outcome.eligible_us[2] == start


def test_after_counts_from_the_first_start():
    # Job 0 is preempted at 1 and goes on at 3.
    jobs = [Job(0, 9, 1), Job(0, 1, 1, dependencies=on(0, "after", 2)), Job(1, 2, 1)]
    outcome = run(jobs, [1], "srtf")
    assert runs(outcome, 0)[0] == [0, 1]
    assert outcome.eligible_us == [0, 2, 1]


@each("delay", [0, 3])
def test_after_counts_from_the_end_of_a_target_that_never_starts(delay):
    jobs = [Job(0, 5, 1, eligible_us=HELD, cancel_at_us=4),
            Job(0, 5, 1, dependencies=on(0, "after", delay))]  # fmt: skip
    outcome = run(jobs, [1], "fifo")
    assert outcome.status == [CANCELLED, FINISHED]
    assert runs(outcome, 1) == [[4 + delay, 9 + delay]]


ENDS = {
    "ok": (Job(0, 5, 1), FINISHED, 5),
    "exit": (Job(0, 5, 1, exit_failed=True), FINISHED, 5),
    "killed": (Job(0, 5, 1, time_limit_us=3), KILLED, 3),
    "hit": (Job(0, 5, 1, max_requeues=0), FAILED, 2),
    "cancelled": (Job(0, 5, 1, cancel_at_us=4), CANCELLED, 4),
    "rejected": (Job(0, 5, 8), REJECTED, 0),
}


@each("name", ENDS)
def test_only_a_finish_with_a_good_exit_is_ok(name):
    target, status, end = ENDS[name]
    others = [Job(0, 1, 1, dependencies=on(0, kind)) for kind in ("afterok", "afternotok")]
    others.append(Job(0, 1, 1, dependencies=on(0)))
    outage = [Outage(0, 2, 3)] if status == FAILED else []
    outcome = run([target, *others], [1, 1, 1], "fifo", *outage)
    assert outcome.status[0] == status
    is_ok = name == "ok"
    assert outcome.eligible_us[1:] == [end if is_ok else -2, -2 if is_ok else end, end]


def test_conditions_are_joined_by_and_or_by_or():
    two = (Dependency(0, "afterok"), Dependency(1, "afterok"))
    jobs = [Job(0, 3, 1), Job(0, 6, 1), Job(0, 1, 1, dependencies=two),
            Job(0, 1, 1, dependencies=two, dependency_any=True)]  # fmt: skip
    assert run(jobs, [4], "fifo").start_us == [0, 0, 6, 3]
    jobs[0] = replace(jobs[0], exit_failed=True)
    assert run(jobs, [4], "fifo").eligible_us == [0, 0, -2, 6]
    jobs[1] = replace(jobs[1], exit_failed=True)
    assert run(jobs, [4], "fifo").eligible_us == [0, 0, -2, -2]


def test_under_or_an_earlier_condition_passes_one_that_is_known():
    # Known at 0 is that 50 after the start of job 0 is 50; then job 1 ends at 6.
    two = (Dependency(0, "after", 50), Dependency(1))
    jobs = [Job(0, 9, 1), Job(0, 6, 1), Job(0, 1, 1, dependencies=two, dependency_any=True)]
    assert run(jobs, [4], "fifo").eligible_us == [0, 0, 6]


def test_a_job_waits_for_its_time_and_its_conditions():
    jobs = [Job(0, 5, 1), Job(0, 1, 1, dependencies=on(0), eligible_us=3),
            Job(0, 1, 1, dependencies=on(0), eligible_us=8)]  # fmt: skip
    assert run(jobs, [4], "fifo").eligible_us == [0, 5, 8]


def test_a_condition_that_is_met_before_the_submission_holds_nothing():
    jobs = [Job(0, 2, 1), Job(5, 3, 1, dependencies=on(0))]
    outcome, plain = run(jobs, [1], "fifo"), run([Job(0, 2, 1), Job(5, 3, 1)], [1], "fifo")
    assert outcome.eligible_us == [0, 5]
    assert outcome.digest == plain.digest


def test_a_target_may_be_submitted_later():
    jobs = [Job(0, 2, 1, dependencies=on(1)), Job(4, 3, 1)]
    assert run(jobs, [1], "fifo").start_us == [7, 4]


def test_jobs_of_a_circle_stay_held():
    jobs = [Job(0, 2, 1, dependencies=on(1)), Job(0, 2, 1, dependencies=on(0)), Job(0, 2, 1)]
    outcome = run(jobs, [1], "fifo", kill=True)
    assert outcome.status == [UNFINISHED, UNFINISHED, FINISHED]
    assert outcome.eligible_us == [-1, -1, 0]


@each("kill", [False, True])
def test_impossible_jobs_are_cancelled_down_the_chain_at_one_instant(kill):
    # The chain runs against the order of the jobs.
    jobs = [
        Job(0, 3, 1, dependencies=on(1)),
        Job(0, 3, 1, dependencies=on(2, "afterok")),
        Job(0, 3, 1, dependencies=on(3, "afterok")),
        Job(0, 5, 1, exit_failed=True),
    ]
    outcome = run(jobs, [1], "fifo", kill=kill)
    if kill:
        assert outcome.eligible_us == [5, -2, -2, 0]
        assert outcome.status == [FINISHED, CANCELLED, CANCELLED, FINISHED]
    else:
        assert outcome.eligible_us == [-1, -1, -2, 0]
        assert outcome.status == [UNFINISHED] * 3 + [FINISHED]


def test_an_impossible_job_is_cancelled_when_it_arrives_but_not_before():
    jobs = [Job(0, 2, 1, exit_failed=True), Job(0, 1, 1, dependencies=on(2)),
            Job(6, 3, 1, dependencies=on(0, "afterok"))]  # fmt: skip
    assert run(jobs, [1], "fifo", kill=True).eligible_us == [0, 6, -2]


# Arrays.


def test_a_task_that_was_preempted_or_hit_counts_and_one_that_is_over_does_not():
    # Job 0 is hit at 3 and waits until 6, job 1 is cancelled as it waits behind it.
    jobs = [Job(0, 5, 1, array=0), Job(0, 5, 1, array=0, cancel_at_us=4), Job(0, 5, 1, array=0)]
    outcome = run(jobs, [1], "fifo", Outage(0, 3, 6), arrays=[2])
    assert runs(outcome, 0) == [[0, 3], [6, 11]]
    assert outcome.eligible_us == [0, 0, 4]


def test_of_the_tasks_that_are_ready_the_smallest_number_goes_first():
    # At 5 job 1 has become ready, and passes job 2, which is ready since 0.
    jobs = [Job(0, 5, 1, array=0), Job(0, 1, 1, array=0, eligible_us=5), Job(0, 2, 1, array=0),
            Job(0, 1, 1, array=0, eligible_us=9), Job(3, 4, 1, array=1)]  # fmt: skip
    outcome = run(jobs, [4], "fifo", arrays=[1, None])
    assert outcome.eligible_us == [0, 5, 6, 9, 3]


def test_a_limit_of_one_is_a_chain():
    jobs = [Job(0, service, 1) for service in (3, 5, 2)]
    chain = [replace(job, dependencies=on(i - 1) if i else ()) for i, job in enumerate(jobs)]
    tasks = [replace(job, array=0) for job in jobs]
    assert run(tasks, [4], "fifo", arrays=[1]).digest == run(chain, [4], "fifo").digest


# Cancellations.


def test_running_waiting_and_held_jobs_are_cancelled():
    jobs = [Job(0, 9, 1, cancel_at_us=4), Job(0, 9, 1, cancel_at_us=3), Job(0, 2, 1),
            Job(0, 1, 1, eligible_us=8, cancel_at_us=5)]  # fmt: skip
    outcome = run(jobs, [1], "fifo")
    assert outcome.status == [CANCELLED, CANCELLED, FINISHED, CANCELLED]
    assert runs(outcome, 0) == [[0, 4]]
    assert outcome.start_us == [0, -1, 4, -1]
    assert outcome.eligible_us == [0, 0, 0, -1]


def test_a_job_that_ends_by_itself_at_that_instant_was_not_cancelled():
    jobs = [Job(0, 5, 1, cancel_at_us=5), Job(0, 9, 1, cancel_at_us=3, time_limit_us=3),
            Job(0, 9, 1, cancel_at_us=4, max_requeues=0)]  # fmt: skip
    outcome = run(jobs, [1, 1, 1], "fifo", Outage(2, 4, 6))
    assert outcome.status == [FINISHED, KILLED, CANCELLED]
    assert outcome.failures == [0, 0, 0]


def test_a_job_is_cancelled_before_its_conditions_are_judged():
    jobs = [Job(0, 5, 1), Job(0, 1, 1, dependencies=on(0), cancel_at_us=5),
            Job(0, 1, 1, dependencies=on(0, "afternotok"), cancel_at_us=5)]  # fmt: skip
    outcome = run(jobs, [1], "fifo")
    assert outcome.status == [FINISHED, CANCELLED, CANCELLED]
    assert outcome.eligible_us == [0, -1, -1]


def test_a_cancellation_of_a_job_that_is_over_is_no_instant():
    # A decision at 12 would preempt job 2, which has attained more than job 0 by then.
    jobs = [Job(0, 20, 1), Job(0, 1, 1), Job(4, 20, 1)]
    plain = run(jobs, [1], "las", period_s=50)
    assert runs(plain, 2) == [[5, 25]]
    jobs[1] = replace(jobs[1], cancel_at_us=12)
    assert run(jobs, [1], "las", period_s=50).digest == plain.digest
    # That of a job that is held is one.
    held = run([*jobs, Job(4, 1, 1, eligible_us=HELD, cancel_at_us=12)], [1], "las", period_s=50)
    assert runs(held, 2)[0] == [5, 12]


def test_a_waiting_job_that_is_cancelled_lets_others_pass():
    # Job 1 is the strict head.
    jobs = [Job(0, 9, 1), Job(1, 9, 2, cancel_at_us=3), Job(2, 2, 1)]
    assert run(jobs, [2], "fifo").start_us == [0, -1, 3]


# All policies.


@each("policy", POLICIES)
def test_what_holds_and_cancels_nothing_leaves_the_digest_as_it_is(policy):
    params = {"limits": [5.0]} if policy == "2d-las" else {}
    draws = np.random.default_rng(1)
    jobs = [
        Job(int(submit), int(service), int(gpus))
        for submit, service, gpus in zip(
            np.sort(draws.integers(0, 20, 12)), draws.integers(1, 9, 12), draws.integers(1, 4, 12),
            strict=True,
        )
    ]  # fmt: skip
    plain = run(jobs, [3, 2], policy, **params)
    same = [
        replace(job, eligible_us=job.submit_us, array=0, cancel_at_us=plain.finish_us[number],
                dependencies=on(0) if job.submit_us > plain.finish_us[0] else ())
        for number, job in enumerate(jobs)
    ]  # fmt: skip
    outcome = run(same, [3, 2], policy, arrays=[12], kill=True, **params)
    assert outcome.digest == plain.digest
    assert outcome.eligible_us == [job.submit_us for job in jobs]
    assert not plain.eligible_us


@each(
    "job, message",
    [
        (Job(2, 1, 1, eligible_us=1), "eligible_us"),
        (Job(2, 1, 1, eligible_us=HELD + 1), "eligible_us"),
        (Job(2, 1, 1, cancel_at_us=2), "cancel_at_us"),
        (Job(2, 1, 1, array=1), "array"),
        (Job(2, 1, 1, dependencies=on(1)), "dependency_target"),
        (Job(2, 1, 1, dependencies=on(2)), "dependency_target"),
        (Job(2, 1, 1, dependencies=on(0, "after", -1)), "dependency_delay_us"),
        (Job(2, 1, 1, dependencies=on(0, "afterok", 1)), "dependency_delay_us"),
    ],
)
def test_what_is_out_of_range_is_refused(job, message):
    with pytest.raises(ValueError, match=message):
        run([Job(0, 1, 1), job], [1], "fifo", arrays=[1])
    with pytest.raises(ValueError, match="array_limit"):
        run([Job(0, 1, 1)], [1], "fifo", arrays=[0])
