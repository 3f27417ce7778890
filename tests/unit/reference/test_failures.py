"""Outages, checkpoints and time limits: published cases, and small schedules worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpusched.reference import (
    FINISHED,
    KILLED,
    Job,
    Outage,
    Outcome,
    Throughputs,
    replay,
)
from gpusched.reference.model import UNFINISHED
from tests.each import each
from tests.unit.reference.published import (
    CASES,
    SECOND,
    check_published,
    needs_cases,
    replayed,
    run,
    runs,
)

SHOWN = (
    "F01", "F02", "F03", "F04", "F05", "F06", "F08", "F09", "F10", "F11", "F12", "F13",
    "F14", "F15", "L01", "L14", "L50",
)  # fmt: skip


@needs_cases
@each("name", SHOWN)
def test_the_published_cases(name):
    check_published(name)


@needs_cases
def test_gpu_time_is_down_held_or_idle_and_held_time_is_useful_or_lost():
    expected, case = CASES["F19"]["expect"], CASES["F10"]["input"]
    outcome = replayed(case)
    (outage,) = case["outages"]
    last = max(outcome.finish_us)
    capacity = 8 * last
    down = 4 * (outage["end_s"] - outage["start_s"]) * SECOND
    held = sum((end - start) * mask.bit_count() for _, start, end, _, mask in outcome.rows)
    lost = sum(us * row["gpus"] for us, row in zip(outcome.lost_us, case["jobs"], strict=True))
    useful = sum(row["service_s"] * row["gpus"] for row in case["jobs"]) * SECOND
    assert held == useful + lost
    assert outcome.failures == [expected["failures"], 0]
    sums = {
        "capacity": capacity, "down": down, "held": held, "useful": useful,
        "lost_to_failures": lost, "idle_up": capacity - down - held,
    }  # fmt: skip
    for name, value in sums.items():
        assert value == expected[f"{name}_gpu_s"] * SECOND, name


def test_two_servers_of_a_gang_that_fail_at_once_are_one_failure():
    outcome = run([Job(0, 9, 4)], [2, 2], "fifo", Outage(0, 3, 4), Outage(1, 3, 5), Outage(1, 3, 6))
    assert outcome.failures == [1]
    assert runs(outcome, 0) == [[0, 3], [6, 15]]


def test_an_outage_that_begins_as_another_ends_leaves_no_gap():
    outcome = run([Job(0, 9, 2)], [2], "fifo", Outage(0, 6, 8), Outage(0, 3, 6, "drain"),
                  Outage(0, 2, 3))  # fmt: skip
    assert outcome.failures == [1]
    assert runs(outcome, 0) == [[0, 2], [8, 17]]


def test_a_server_that_fails_while_it_is_drained_hits_its_jobs():
    outcome = run([Job(0, 9, 2)], [2], "fifo", Outage(0, 1, 20, "drain"), Outage(0, 4, 6))
    assert outcome.failures == [1]
    assert runs(outcome, 0) == [[0, 4], [20, 29]]


def test_a_hit_job_starts_again_in_the_decision_of_that_instant():
    outcome = run([Job(0, 9, 2)], [2, 2], "fifo", Outage(0, 4, 6))
    assert runs(outcome, 0) == [[0, 4], [4, 13]]
    assert (outcome.failures, outcome.preemptions, outcome.lost_us) == ([1], [0], [4])


def ends(outcome: Outcome) -> list[list[list[float]]]:
    """The last run of each job."""
    return [runs(outcome, job)[-1] for job in range(len(outcome.status))]


BY_SUBMISSION = {
    "fifo": {}, "fifo-skip": {}, "easy": {}, "2d-las": {"limits": [1.0]},
    "easy, two reservations": {"depth": 2},
}  # fmt: skip


@each("name", BY_SUBMISSION)
@each("kind", ["fail", "maint"])
def test_a_hit_job_keeps_its_place_or_goes_to_the_back(name, kind):
    # Job 2 comes as job 0 is hit, and so after it.
    outage = Outage(0, 4, 6, kind)

    def at(**place: bool) -> list[list[list[float]]]:
        jobs = [Job(0, 9, 2, **place), Job(1, 5, 2), Job(4, 3, 2)]
        return ends(run(jobs, [2], name.split(",")[0], outage, **BY_SUBMISSION[name]))

    assert at() == at(requeue_back=False) == [[6, 15], [15, 20], [20, 23]]
    assert at(requeue_back=True) == [[11, 20], [6, 11], [20, 23]]


@each("name", BY_SUBMISSION)
def test_jobs_hit_at_once_keep_their_order_and_those_hit_before_go_first(name):
    # Job 1 is hit at 3, jobs 0 and 2 at 5.
    jobs = [Job(time, 20, 2, requeue_back=True) for time in range(3)]
    outages = [Outage(1, 3, 9), Outage(0, 5, 9), Outage(2, 5, 9)]
    outcome = run(jobs, [2, 2, 2], name.split(",")[0], *outages, Outage(1, 9, None, "drain"),
                  Outage(2, 9, None, "drain"), **BY_SUBMISSION[name])  # fmt: skip
    assert ends(outcome) == [[29, 49], [9, 29], [49, 69]]


def test_orders_by_something_else_and_priorities_do_not_follow_the_queue_time():
    outage = Outage(0, 4, 6)
    jobs = [Job(0, 9, 2, requeue_back=True), Job(1, 9, 2)]
    for policy in ("sgf", "sjf", "wspt", "edf", "swf"):
        assert ends(run(jobs, [2], policy, outage)) == [[6, 15], [15, 24]]
    ranked = [jobs[0], replace(jobs[1], precedence=1)]
    for policy in ("fifo", "easy"):
        assert ends(run(jobs, [2], policy, outage)) == [[15, 24], [6, 15]]
        assert ends(run(ranked, [2], policy, outage)) == [[6, 15], [15, 24]]


def test_patience_begins_anew_at_the_back():
    # Job 1 has waited for 7 at 8; job 0, which is shorter, for 8, or from 4 on.
    jobs = [Job(0, 9, 2), Job(1, 20, 2)]
    back = [replace(jobs[0], requeue_back=True), jobs[1]]
    for gang, expected in ((jobs, [[8, 17], [17, 37]]), (back, [[28, 37], [8, 28]])):
        assert ends(run(gang, [2], "sjf", Outage(0, 4, 8), patience_s=7)) == expected
    assert ends(run(back, [2], "sjf", Outage(0, 4, 8)))[0] == [8, 17]


def test_jobs_that_wait_for_a_server_that_is_never_back_are_unfinished():
    jobs = [Job(0, 5, 4), Job(1, 5, 2)]
    for policy, params in (("fifo", {}), ("las", {"period_s": 2}), ("easy", {})):
        outcome = run(jobs, [2, 2], policy, Outage(1, 3, None), **params)
        assert outcome.status[0] == UNFINISHED
        assert outcome.finish_us[0] == -1
        assert outcome.status[1] == (UNFINISHED if policy == "fifo" else FINISHED)


def test_a_job_that_becomes_overdue_passes_one_that_waits_for_a_server_that_is_never_back():
    jobs = [Job(0, 9, 2), Job(0, 5, 4)]
    outcome = run(jobs, [2, 2], "sjf", Outage(1, 0), scan="strict", patience_s=7)
    assert runs(outcome, 0) == [[7, 16]]
    assert outcome.status == [FINISHED, UNFINISHED]


def test_a_policy_with_an_epoch_decides_after_the_last_outage():
    outcome = run([Job(3, 4, 2)], [2], "srtf", Outage(0, 0, 2), epoch="period", period_s=5)
    assert runs(outcome, 0) == [[5, 9]]


def test_gpus_of_a_drained_server_stay_in_the_budget_until_they_are_released():
    # At 2 the budget is 4: job 0 is taken again, and job 2 (2 GPUs) after it.
    jobs = [Job(0, 5, 2), Job(0, 9, 2), Job(2, 20, 2)]
    outcome = run(jobs, [2, 2], "srtf", Outage(0, 2, 100, "drain"))
    assert runs(outcome, 0) == [[0, 5]]
    assert runs(outcome, 1) == [[0, 9]]
    assert runs(outcome, 2) == [[9, 29]]


def test_a_job_on_a_drained_server_is_not_preempted_for_one_that_cannot_run_there():
    # Job 1 is the most urgent, but the GPUs of job 0 are of no use to it.
    jobs = [Job(0, 9, 2), Job(3, 4, 2)]
    outcome = run(jobs, [2], "srtf", Outage(0, 2, 11, "drain"))
    assert runs(outcome, 0) == [[0, 9]]
    assert runs(outcome, 1) == [[11, 15]]
    # With quota=hold it is preempted at once, and both wait.
    held = run(jobs, [2], "srtf", Outage(0, 2, 11, "drain"), quota="hold")
    assert (runs(held, 0), runs(held, 1)) == ([[0, 3], [15, 21]], [[11, 15]])


def test_a_reservation_does_not_count_gpus_of_a_drained_server():
    # The head (4 GPUs) cannot start at 5, when job 0 ends on the drained server, but at 8: job 3
    # does not delay it.
    jobs = [Job(0, 5, 2), Job(0, 8, 2), Job(1, 3, 4), Job(2, 5, 2)]
    outcome = run(jobs, [2, 2, 2], "easy", Outage(0, 1, 30, "drain"))
    assert runs(outcome, 3) == [[2, 7]]
    assert runs(outcome, 2) == [[8, 11]]
    without = run(jobs, [2, 2, 2], "easy")
    assert (runs(without, 2), runs(without, 3)) == ([[5, 8]], [[8, 13]])


@each("depth", [1, 3])
def test_a_head_without_a_reservation_delays_nothing(depth):
    jobs = [Job(0, 9, 4), Job(1, 50, 2), Job(2, 3, 2)]
    outcome = run(jobs, [2, 2], "easy", Outage(0, 0, 20), depth=depth)
    assert runs(outcome, 1) == [[1, 51]]
    assert runs(outcome, 2) == [[20, 23]]
    assert runs(outcome, 0) == [[51, 60]]


def test_a_preemption_keeps_all_work_and_counts_what_was_written():
    # 0 works 0-3, writes 3-5 and is preempted at 4 with 3 of 9 done; 6 are left: one checkpoint.
    jobs = [Job(0, 9, 1, restart_us=1, checkpoint_every_us=3, checkpoint_write_us=2), Job(4, 2, 1)]
    outcome = run(jobs, [1], "srtf")
    assert runs(outcome, 0) == [[0, 4], [6, 6 + 1 + 3 + 2 + 3]]
    assert (outcome.written_us[0], outcome.paid_us[0], outcome.lost_us[0]) == (3, 1, 0)


def test_srtf_counts_the_checkpoints_still_to_be_written():
    # 5 of work in all; job 0 has four writes of 3 ahead of it, and goes last.
    writes = Job(0, 5, 1, checkpoint_every_us=1, checkpoint_write_us=3)
    assert run([writes, Job(0, 16, 1), Job(0, 18, 1)], [1], "srtf").start_us == [16, 0, 33]


def test_lost_work_is_attained_and_remains():
    # The hit job has attained 4: job 1 goes first until it has more, which shows at 12.
    jobs = [Job(0, 9, 1), Job(5, 9, 1, restart_us=1)]
    outcome = run(jobs, [1], "las", Outage(0, 4, 6), period_s=4)
    assert runs(outcome, 0)[0] == [0, 4]
    assert runs(outcome, 1)[0] == [6, 12]


def test_a_hit_adds_work_where_restarts_are_work():
    job = Job(0, 9, 1, checkpoint_us=1, restart_us=2, checkpoint_every_us=4)
    outcome = run([job], [1], "srtf", Outage(0, 6, 8), restart="work")
    assert runs(outcome, 0) == [[0, 6], [8, 8 + (9 - 4) + 3]]
    assert (outcome.lost_us, outcome.paid_us) == ([2], [0])


def test_a_limit_counts_the_restart_and_kills_before_a_failure_hits():
    job = Job(0, 20, 1, restart_us=3, checkpoint_every_us=4, time_limit_us=9, max_requeues=5)
    outcome = run([job], [1], "fifo", Outage(0, 5, 6), Outage(0, 15, 16))
    assert runs(outcome, 0) == [[0, 5], [6, 15]]
    assert (outcome.status, outcome.failures) == ([KILLED], [1])
    assert (outcome.lost_us, outcome.paid_us) == ([1 + 2], [3])


def test_where_the_speed_varies_lost_time_is_the_share_of_the_lost_work():
    # At half speed 6.5 of 20 are done at 13, and 4 are saved: 2.5 of 6.5 are lost.
    curves = {"slow": {1: 1.0}, "fast": {1: 2.0}}
    job = Job(0, 20, 1, checkpoint_every_us=4, throughputs=Throughputs(curves))
    servers, outages = [(1, "slow"), (1, "fast")], [Outage(0, 13)]

    def at(job: Job) -> Outcome:
        return replay([job], servers, "fifo", "first-fit", speed="table", outages=outages)

    assert runs(at(job), 0) == [[0, 13], [13, 29]]
    assert at(job).lost_us == [5]
    with pytest.raises(ValueError, match="needs the fixed speed"):
        at(replace(job, checkpoint_write_us=1))


@each("policy", ["conservative", "a-srpt", "ada-srsf", "2d-las"])
def test_a_policy_that_keeps_more_than_the_state_is_refused(policy):
    params = {"limits": [5.0], "inside": "entry"} if policy == "2d-las" else {}
    with pytest.raises(ValueError, match="keeps more than the state"):
        run([Job(0, 5, 1)], [2], policy, Outage(0, 3), **params)


def test_outages_out_of_range_are_refused():
    for outage, text in ((Outage(1, 3), "no server 1"), (Outage(0, 3, 3), "not after its start")):
        with pytest.raises(ValueError, match=text):
            run([Job(0, 5, 1)], [2], "fifo", outage)
    with pytest.raises(ValueError, match="gpu_share"):
        run([Job(0, 5, 1, share_milli=500)], [2], "fifo", Outage(0, 3))
    with pytest.raises(ValueError, match="no server 0"):
        replay([Job(0, 5, 1)], [(2, "gpu")], "fifo", "count", outages=[Outage(0, 3)])
