"""Jobs with a precedence, which goes before the keys of list-like policies; worked out by hand."""

from dataclasses import replace

from gpusched.reference import BY_DEADLINE, POLICIES, PREEMPTIVE, Job, Outage
from gpusched.reference.orders import NON_PREEMPTIVE
from tests.each import each
from tests.unit.reference.published import run, runs

LISTS = (*NON_PREEMPTIVE, "easy")
IGNORING = tuple(name for name in POLICIES if name not in (*LISTS, *PREEMPTIVE))
OWN = {"2d-las": {"limits": [1000.0]}}


def starts(jobs: list[Job], servers: list[int], policy: str, **params: object) -> list[int]:
    return run(jobs, servers, policy, **OWN.get(policy, {}), **params).start_us


def test_every_policy_uses_precedence_or_is_known_to_ignore_it():
    assert IGNORING == ("conservative", "ada-srsf", "a-srpt")
    assert {*LISTS, *PREEMPTIVE, *IGNORING} == {*POLICIES, *BY_DEADLINE}


@each("policy", LISTS)
def test_who_goes_first_starts_first_whatever_its_key(policy):
    # Job 3 comes last, is longest and widest, and of the first class.
    jobs = [
        Job(0, 9, 4),
        Job(1, 1, 2, weight=9.0, precedence=2),
        Job(2, 2, 3, weight=9.0, precedence=1),
        Job(3, 8, 4, weight=0.1),
    ]
    assert starts(jobs, [4], policy) == [0, 19, 17, 9]


@each("policy", LISTS)
def test_of_one_class_the_keys_decide(policy):
    jobs = [Job(0, 9, 4), *(Job(1 + i, 2 + i % 2, 2 + i % 3, precedence=3) for i in range(5))]
    equal = [replace(job, precedence=0) for job in jobs]
    assert run(jobs, [4], policy) == run(equal, [4], policy)


def test_the_first_class_stops_a_strict_queue_and_is_passed_in_another():
    jobs = [Job(0, 9, 3), Job(1, 5, 1, precedence=1), Job(1, 5, 2)]
    assert starts(jobs, [4], "fifo") == [0, 9, 9]
    assert starts(jobs, [4], "fifo-skip") == [0, 1, 9]


@each("policy", PREEMPTIVE)
def test_a_job_of_higher_precedence_preempts(policy):
    # By their keys job 0 would go on: it is due first, shorter, and needs fewer GPUs.
    jobs = [Job(0, 5, 2, deadline_us=6, precedence=1), Job(3, 50, 4, deadline_us=99)]
    outcome = run(jobs, [4], policy, **OWN.get(policy, {}))
    assert runs(outcome, 0) == [[0, 3], [53, 55]]
    assert runs(outcome, 1) == [[3, 53]]


@each("policy", PREEMPTIVE)
def test_a_job_of_lower_precedence_preempts_nobody(policy):
    jobs = [Job(0, 50, 4, deadline_us=99), Job(3, 5, 2, deadline_us=9, precedence=1)]
    assert starts(jobs, [4], policy) == [0, 50]


@each("policy", [name for name in PREEMPTIVE if name != "serverfilling-srpt"])
def test_only_as_many_are_preempted_as_must_give_way(policy):
    # The third class gives way; the second keeps its GPUs, whatever the keys of the two.
    jobs = [
        Job(0, 30, 2, deadline_us=99, precedence=1),
        Job(0, 20, 2, deadline_us=50, precedence=2),
        Job(4, 5, 2, deadline_us=200),
    ]
    outcome = run(jobs, [4], policy, **OWN.get(policy, {}))
    assert [runs(outcome, job) for job in range(3)] == [[[0, 30]], [[0, 4], [9, 25]], [[4, 9]]]


def test_a_filled_line_is_taken_by_precedence_and_served_widest_first():
    # The line of four GPUs is job 1 and job 2; job 0, of the last class, is not in it.
    jobs = [Job(0, 9, 1, precedence=1), Job(2, 3, 2), Job(2, 3, 2)]
    outcome = run(jobs, [4], "serverfilling-srpt")
    assert [runs(outcome, job) for job in range(3)] == [[[0, 2], [5, 12]], [[2, 5]], [[2, 5]]]
    # In the line, the wider job goes first, although it is of a lower class.
    jobs = [Job(0, 9, 4), Job(2, 5, 1), Job(2, 4, 4, precedence=1)]
    assert starts(jobs, [4], "serverfilling-srpt") == [0, 13, 9]


def test_displaced_are_those_of_lower_classes():
    # Job 3 wants a whole server, and there is a job on each. Its key is between theirs.
    jobs = [
        Job(0, 1, 1),
        Job(0, 30, 1),
        Job(0, 9, 1, precedence=2),
        Job(2, 20, 2, gpus_per_node=2, precedence=1),
    ]
    outcome = run(jobs, [2, 2], "srtf", displace=True)
    assert [runs(outcome, job) for job in (1, 2, 3)] == [[[0, 30]], [[0, 2], [22, 29]], [[2, 22]]]
    by_key = run([replace(job, precedence=0) for job in jobs], [2, 2], "srtf", displace=True)
    assert [runs(by_key, job)[0] for job in (1, 2, 3)] == [[0, 2], [0, 9], [2, 22]]


# Backfilling.


def test_the_first_of_the_queue_of_easy_is_the_first_by_precedence():
    # At 1 job 2 gets the reservation at 10. Job 1 would delay it; job 3 ends in time.
    jobs = [Job(0, 10, 3), Job(1, 12, 1, precedence=1), Job(1, 5, 4), Job(1, 9, 1, precedence=2)]
    assert starts(jobs, [4], "easy") == [0, 15, 10, 1]
    # By submission job 1 starts, as the first, and delays job 2.
    plain = [replace(job, precedence=0) for job in jobs]
    assert starts(plain, [4], "easy") == [0, 1, 13, 18]


@each(("depth", "expected"), [(1, [0, 10, 8, 4, 1]), (2, [0, 10, 8, 1, 5])])
def test_the_shortest_are_tried_first_within_a_class(depth, expected):
    # At a depth of two job 3 is the second of the queue, and starts before the others are sorted.
    jobs = [
        Job(0, 10, 3),
        Job(1, 5, 4),
        Job(1, 1, 1, precedence=2),
        Job(1, 4, 1, precedence=1),
        Job(1, 3, 1, precedence=1),
    ]
    assert starts(jobs, [4], "easy", depth=depth, backfill="shortest") == expected


def test_a_job_hit_by_a_failure_keeps_its_place():
    jobs = [Job(0, 8, 2, precedence=1), Job(1, 5, 2), Job(2, 5, 2, precedence=2)]
    outcome = run(jobs, [2], "fifo", Outage(0, 4, 6))
    assert [runs(outcome, job) for job in range(3)] == [[[0, 4], [11, 19]], [[6, 11]], [[19, 24]]]


@each("policy", IGNORING)
def test_other_policies_do_not_look_at_it(policy):
    jobs = [Job(i, 3 + i % 4, 1 + i % 3, precedence=9 - i) for i in range(10)]
    plain = [replace(job, precedence=0) for job in jobs]
    assert run(jobs, [2, 2], policy) == run(plain, [2, 2], policy)
