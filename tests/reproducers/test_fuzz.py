"""What the widened random tests found in the tests themselves, and what they must go on drawing."""

import functools

import pytest

from gpusched.reference import PREEMPTIVE, Job, replay
from gpusched.reference.model import MAX_SERVICE_US, MAX_SUBMIT_US
from tests.campaigns.seams import trial_of
from tests.campaigns.trials import Twin
from tests.parity.core import assert_equal, run_core
from tests.reference.cases import Case


def test_work_beyond_2_to_the_53_is_counted_in_whole_ticks_at_the_fixed_speed():
    jobs = [Job(0, MAX_SERVICE_US, 1, restart_us=1), Job(10, 5, 1)]
    expected = [15 + MAX_SERVICE_US + 1 - 10, 15]
    options = {"policy_params": {"restart": "work"}}
    assert replay(jobs, [(1, "gpu")], "srtf", **options).finish_us == expected
    assert run_core(jobs, [(1, "gpu")], "srtf", **options).finish_us == expected


def test_a_trace_of_ticks_that_seconds_cannot_tell_apart_keeps_its_order():
    late = MAX_SUBMIT_US - 3
    jobs = [Job(late + 2, 7, 1), Job(late, 5, 1), Job(late + 1, 3, 1)]
    assert_equal(Case(jobs, [(1, "gpu")], "fifo", "first-fit", {}, {}, 0))


@functools.cache
def drawn(seam: str, num_cases: int = 1_500) -> list[Case]:
    trials = [trial_of(seam, 0, index) for index in range(num_cases)]
    return [trial.case for trial in trials if isinstance(trial, Twin)]


def test_the_generators_draw_gangs_wider_than_any_type_and_than_any_server():
    for case in drawn("order", 300):
        size = max(gpus for gpus, _ in case.servers)
        types = {name for _, name in case.servers}
        of_type = [sum(g for g, name in case.servers if name == t) for t in types]
        if len(types) > 1 and any(job.gpus > max([size, *of_type]) for job in case.jobs):
            return
    raise AssertionError("no such gang")


def test_the_generators_draw_the_longest_legal_times():
    jobs = [job for case in drawn("order") for job in case.jobs]
    assert max(job.service_us for job in jobs) == MAX_SERVICE_US
    assert min(job.service_us for job in jobs) == 1
    assert max(job.submit_us for job in jobs) >= MAX_SUBMIT_US - 3


def test_the_generators_draw_shares_under_every_preemptive_policy():
    cases = [case for case in drawn("demands") if any(j.share_milli < 1000 for j in case.jobs)]
    assert {case.policy for case in cases} >= set(PREEMPTIVE)


def test_the_generators_draw_hundreds_of_limits_reached_at_once():
    limits = [case.policy_params.get("limits", []) for case in drawn("scheduler")]
    assert max(map(len, limits)) > 512


@pytest.mark.long
def test_the_generators_draw_restarts_longer_than_every_period_and_service():
    assert any(
        min(job.restart_us for job in case.jobs) > max(job.service_us for job in case.jobs)
        for case in drawn("order", 4_000)
    )
