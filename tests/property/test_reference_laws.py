"""Laws that the readable engine keeps, so that it may be the oracle of the core."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import struct
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.reference import FINISHED, PLACEMENTS, POLICIES, PREEMPTIVE, REJECTED, Job, replay
from gpusched.reference.model import Active
from gpusched.reference.placements import consolidated
from gpusched.reference.rng import GOLDEN, below, mix, uniform
from tests.examples import examples
from tests.reference.cases import SECOND, cases
from tests.reference.scales import NARROW

pytestmark = pytest.mark.long

few = examples(60)

every_policy = pytest.mark.parametrize("policy", POLICIES)
LCM = math.lcm(*range(1, 17))  # makes every limit a whole number of ticks at every width

times = st.integers(0, 20)
services = st.integers(1, 10)


def by_submit(jobs):
    return sorted(jobs, key=lambda job: job.submit_us)


def restart_cost(case, job):
    params = {"cost_s": 0.0, "narrow_gpus": 8} | case.policy_params
    is_wide = job.gpus > params["narrow_gpus"]
    cost_s = params.get("wide_cost_s", params["cost_s"]) if is_wide else params["cost_s"]
    return job.checkpoint_us + job.restart_us + round(cost_s * SECOND)


def cases_of(policy, placements=PLACEMENTS, **options):
    """Cases of a policy with any of some placements."""
    return st.sampled_from(placements).flatmap(lambda name: cases(policy, name, **options))


@every_policy
def test_every_feasible_job_finishes_once_and_no_work_is_lost_or_invented(policy):
    @few
    @given(case=cases_of(policy))
    def check(case):
        case = case.at(1)
        outcome = case.replay()
        lucid = case.policy_params.get("preset") == "lucid"
        adds_work = case.policy_params.get("restart", "work" if lucid else "time") == "work"
        beyond = round(case.policy_params.get("overrun_s", 1.0 if lucid else 0.0) * SECOND)
        is_preemptive = policy in PREEMPTIVE
        for i, job in enumerate(by_submit(case.jobs)):
            own = [(start, end) for j, start, end, *_ in outcome.rows if j == i]
            if outcome.status[i] == REJECTED:
                assert outcome.reason[i] > 0
                assert not own
                assert outcome.start_us[i] == outcome.finish_us[i] == -1
                continue
            assert outcome.status[i] == FINISHED
            intervals = sorted(set(own))
            assert outcome.start_us[i] == intervals[0][0] >= job.submit_us
            assert outcome.finish_us[i] == intervals[-1][1]
            assert outcome.preemptions[i] == len(intervals) - 1
            assert is_preemptive or len(intervals) == 1
            held = sum(end - start for start, end in intervals)
            cost = restart_cost(case, job) * outcome.preemptions[i]
            assert outcome.held_us[i] == held
            if adds_work:
                assert held == job.service_us + beyond + cost
                assert outcome.paid_us[i] == 0
            else:
                assert held == job.service_us + beyond + outcome.paid_us[i]
                assert outcome.paid_us[i] <= cost
        if all(job.gpus == 1 and job.allowed is None for job in case.jobs):
            assert REJECTED not in outcome.status

    check()


@every_policy
def test_no_gpu_is_used_twice_and_gangs_are_whole(policy):
    @few
    @given(case=cases_of(policy))
    def check(case):
        outcome = case.at(1).replay()
        jobs = by_submit(case.jobs)
        gang = defaultdict(int)
        for job, start, end, server, mask in outcome.rows:
            assert start < end
            if case.placement == "count":
                assert (server, mask) == (-1, 0)
                gang[job, start, end] += jobs[job].gpus
                continue
            size, gpu_type = case.servers[server]
            assert 0 < mask < 1 << size
            assert jobs[job].allowed is None or gpu_type in jobs[job].allowed
            gang[job, start, end] += mask.bit_count()
        assert all(width == jobs[job].gpus for (job, _, _), width in gang.items())
        for instant in {start for _, start, *_ in outcome.rows}:
            now = [row for row in outcome.rows if row[1] <= instant < row[2]]
            in_use = sum(jobs[job].gpus for job in {row[0] for row in now})
            assert in_use <= sum(size for size, _ in case.servers)
            for one, other in itertools.combinations(now, 2):
                assert one[0] != other[0] or one[3] != other[3]
                assert one[3] != other[3] or one[4] & other[4] == 0

    check()


# Where a rule says "now + 1 tick" a tick does not scale. Estimates are never too short here, so no
# job is overdue; but conservative puts off for a tick what a placement other than count refuses.
@every_policy
def test_scaling_all_times_scales_the_schedule(policy):
    @few
    @given(
        case=cases_of(
            policy,
            ["count"] if policy == "conservative" else PLACEMENTS,
            estimates="high",
            scales=NARROW,
        ),
        factor=st.sampled_from([2, 3, 1000]),
    )
    def check(case, factor):
        # A limit is passed by a tick, and floored crossings count whole seconds.
        for in_units_of_its_own in ("sink", "crossing", "preset"):
            case.policy_params.pop(in_units_of_its_own, None)
        small, large = case.at(LCM).replay(), case.at(LCM * factor).replay()
        for column in ("start_us", "finish_us", "held_us", "paid_us"):
            expected = [tick * factor if tick >= 0 else -1 for tick in getattr(small, column)]
            assert getattr(large, column) == expected
        assert large.preemptions == small.preemptions
        assert large.rows == [
            (job, start * factor, end * factor, server, mask)
            for job, start, end, server, mask in small.rows
        ]

    check()


@every_policy
def test_the_pool_of_count_does_not_care_how_gpus_are_spread(policy):
    @few
    @given(case=cases(policy, "count"))
    def check(case):
        case = case.at(1)
        split = [(1, "gpu")] * sum(gpus for gpus, _ in case.servers)
        assert replay(case.jobs, split, *case.arguments()[2:4], **named(case)) == case.replay()

    def named(case):
        names = ("policy_params", "placement_params", "seed")
        return {name: getattr(case, name) for name in names}

    check()


def srpt_total_flow(jobs):
    """One GPU, tick by tick: always the job with the least work left."""
    left = [service for _, service in jobs]
    total, now = 0, 0
    while any(left):
        ready = [i for i, (submit, _) in enumerate(jobs) if submit <= now and left[i] > 0]
        now += 1
        if ready:
            chosen = min(ready, key=lambda i: left[i])
            left[chosen] -= 1
            if left[chosen] == 0:
                total += now - jobs[chosen][0]
    return total


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


@given(st.lists(st.tuples(times, services), min_size=1, max_size=12), st.sampled_from(PLACEMENTS))
def test_srtf_on_one_gpu_is_textbook_srpt(jobs, placement):
    assert srtf_total_flow(jobs, placement) == srpt_total_flow(jobs)


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
