"""Laws that the readable engine keeps, so that it may be the oracle of the core."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.reference import FINISHED, Job, replay
from gpusched.reference.model import Active
from gpusched.reference.placements import consolidated
from gpusched.reference.rng import GOLDEN, below, mix, uniform
from tests.reference.cases import cases
from tests.reference.outage_cases import ADOPTING, outage_cases

pytestmark = pytest.mark.long

times = st.integers(0, 20)
services = st.integers(1, 10)


def by_submit(jobs):
    return sorted(jobs, key=lambda job: job.submit_us)


@given(case=cases("conservative", "count", estimates="none"))
def test_conservative_with_true_estimates_starts_no_job_later_than_fifo(case):
    case = case.at(1)
    fifo = replay(case.jobs, case.servers, "fifo").start_us
    assert all(own <= start for own, start in zip(case.replay().start_us, fifo, strict=True))


@given(
    st.dictionaries(st.integers(0, 5), st.integers(0, 4), min_size=1, max_size=6),
    st.integers(1, 20),
)
def test_consolidated_uses_the_fewest_servers_there_could_be(free, gpus):
    chosen = consolidated(dict(sorted(free.items())), gpus, dict.fromkeys(free, 4))
    if chosen is not None:
        assert sum(chosen.values()) == gpus
        assert len(chosen) == -(-gpus // 4)
        assert all(count <= free[server] for server, count in chosen.items())
    else:
        whole = sum(count == 4 for count in free.values())
        rest = gpus % 4
        fits = sum(count >= rest for count in free.values()) if rest else len(free)
        assert whole < gpus // 4 or fits < gpus // 4 + 1


def test_the_random_numbers_are_splitmix64():
    assert mix(GOLDEN) == 0xE220A8397B1DCDAF  # the generator's first output from seed 0
    assert mix(2 * GOLDEN) == 0x6E789E6AA1B965F4  # and its second
    assert uniform(2**64 - 1) < 1
    assert [below(bits, 3) for bits in (0, 2**63, 2**64 - 1)] == [0, 1, 2]


def test_the_digest_is_a_hash_of_intervals_and_rejects():
    jobs = [Job(0, 5, 2), Job(1, 5, 9)]
    expected = hashlib.sha256(struct.pack("<4qQ", 0, 0, 5, 0, 0b11) + struct.pack("<2q", 1, 2))
    assert replay(jobs, [(4, "gpu")], "fifo", "first-fit").digest == expected.hexdigest()


def test_progress_starts_after_the_restart_cost():
    job = Active(0, Job(0, 10, 1))
    job.since, job.pending, job.counted, job.allocation = 5, 3, 8, {0: 1}
    job.set_rate(0.5, 5)
    assert [job.attained(now) for now in (5, 8, 9)] == [0, 0, 1]
    assert [job.progress(now) for now in (5, 8, 9)] == [0, 0, 0.5]
    assert [job.remaining(now) for now in (5, 8, 9, 10)] == [10, 10, 10, 9]
    assert job.finish_tick == 28


@given(case=st.sampled_from(ADOPTING).flatmap(lambda policy: outage_cases(policy, "first-fit")))
def test_held_time_is_useful_paid_lost_or_written(case):
    ours = {"restart", "overrun_s", "preset", "inside", "promote"}  # or work is more than service
    params = {name: value for name, value in case.policy_params.items() if name not in ours}
    jobs = [replace(job, share_milli=1000) for job in case.jobs]
    case = replace(case, policy_params=params, jobs=jobs, speed="fixed").at(1)
    outcome = case.replay()
    for number, job in enumerate(by_submit(case.jobs)):
        paid = outcome.paid_us[number] + outcome.lost_us[number] + outcome.written_us[number]
        useful = outcome.held_us[number] - paid
        if outcome.status[number] == FINISHED:
            assert useful == job.service_us
        else:
            assert 0 <= useful < job.service_us
