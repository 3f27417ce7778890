"""Laws that the readable engine keeps, so that it may be the oracle of the core."""

from __future__ import annotations

import functools
import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.reference import Job, replay
from gpusched.reference.model import Active
from gpusched.reference.placements import consolidated
from gpusched.reference.rng import GOLDEN, below, mix, uniform
from tests.examples import examples
from tests.reference.cases import cases

pytestmark = pytest.mark.long

times = st.integers(0, 20)
services = st.integers(1, 10)


def by_submit(jobs):
    return sorted(jobs, key=lambda job: job.submit_us)


def least_total_flow(jobs):
    """One GPU, tick by tick: the best of all choices."""

    @functools.cache
    def best(now, left):
        if not any(left):
            return 0
        ready = [i for i, (submit, _) in enumerate(jobs) if submit <= now and left[i] > 0]
        unfinished = sum(submit <= now and left[i] > 0 for i, (submit, _) in enumerate(jobs))
        if not ready:
            return best(now + 1, left)
        after = (tuple(n - (i == j) for j, n in enumerate(left)) for i in ready)
        return unfinished + min(best(now + 1, state) for state in after)

    return best(0, tuple(service for _, service in jobs))


def srtf_total_flow(jobs, placement):
    gangs = [Job(submit, service, 1) for submit, service in jobs]
    outcome = replay(gangs, [(1, "gpu")], "srtf", placement)
    return sum(outcome.finish_us) - sum(submit for submit, _ in jobs)


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), min_size=1, max_size=4))
def test_srtf_on_one_gpu_is_optimal(jobs):
    assert srtf_total_flow(jobs, "count") == least_total_flow(jobs)


@given(case=cases("conservative", "count", estimates="none"))
def test_conservative_with_true_estimates_starts_no_job_later_than_fifo(case):
    case = case.at(1)
    fifo = replay(case.jobs, case.servers, "fifo").start_us
    assert all(own <= start for own, start in zip(case.replay().start_us, fifo, strict=True))


@given(st.lists(st.tuples(times, services, st.sampled_from([1, 2, 4, 8])), min_size=1, max_size=12))
def test_serverfilling_fills_the_cluster_when_widths_are_powers_of_two(columns):
    jobs = by_submit(Job(*column) for column in columns)
    outcome = replay(jobs, [(8, "gpu")], "serverfilling-srpt")
    ends = {tick for row in outcome.rows for tick in row[1:3]}
    for instant in ends | {job.submit_us for job in jobs}:
        demand = sum(
            job.gpus
            for i, job in enumerate(jobs)
            if job.submit_us <= instant < outcome.finish_us[i]
        )
        held = sum(jobs[row[0]].gpus for row in outcome.rows if row[1] <= instant < row[2])
        assert held == min(8, demand)


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
