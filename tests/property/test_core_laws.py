"""Laws of every schedule that the core makes, whatever the policy, placement and options."""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import FINISHED, PLACEMENTS, POLICIES, PREEMPTIVE, REJECTED, Job
from gpusched.reference.placements import consolidated, consolidated_relaxed
from tests.examples import examples
from tests.parity.core import choice_text, make_cluster, make_trace, predictor_of, run_core
from tests.reference.cases import ALL_TYPES, SECOND, TYPES, Case, cases
from tests.reference.scales import NARROW

few = examples(10)
some = examples(20)
many = examples(40)

every_policy = pytest.mark.parametrize("policy", POLICIES)
any_placement = st.sampled_from(PLACEMENTS)
any_case = st.tuples(st.sampled_from(POLICIES), any_placement).flatmap(lambda pair: cases(*pair))
units = st.sampled_from([1, 7, SECOND])

# These refuse a gang for lack of GPUs alone, wherever the free ones are.
UNDEMANDING = ("first-fit", "best-fit", "worst-fit", "spread", "random")

# A tick in which any gang reaches any limit after a whole number of ticks.
LCM = math.lcm(*range(1, 17))


def run(case: Case) -> Any:
    """What the core makes of the case, as columns."""
    return run_core(*case.arguments())


def simulate(case: Case) -> gs.Result:
    """What the core makes of the case."""
    return gs.simulate(
        make_trace(case.jobs),
        make_cluster(case.servers),
        policy=gs.Policy(case.policy, **case.policy_params),
        placement=choice_text(case.placement, case.placement_params),
        predictor=predictor_of(case.jobs),
        seed=case.seed,
    )


def times(outcome: Any) -> tuple[list[int], ...]:
    """When each job ran, without where."""
    names = ("start_us", "finish_us", "held_us", "paid_us", "preemptions", "status")
    return tuple(getattr(outcome, name) for name in names)


def by_submit(case: Case) -> list[Job]:
    """The jobs in the order of their ids."""
    return sorted(case.jobs, key=lambda job: job.submit_us)


def can_run(job: Job, case: Case) -> bool:
    """Whether the empty cluster could hold the gang."""
    allowed = job.allowed or {gpu_type for _, gpu_type in case.servers}
    free = {s: gpus for s, (gpus, gpu_type) in enumerate(case.servers) if gpu_type in allowed}
    if sum(free.values()) < job.gpus:
        return False
    if case.placement == "consolidated":
        return consolidated(free, job.gpus, free) is not None
    if case.placement == "consolidated-relaxed":
        kappa = case.placement_params.get("kappa", 2.0)
        return consolidated_relaxed(free, job.gpus, free, kappa) is not None
    return True


@every_policy
@some
@given(data=st.data(), unit=units)
def test_the_audit_holds_and_every_feasible_job_finishes_once(policy, data, unit):
    case = data.draw(any_placement.flatmap(lambda placement: cases(policy, placement)))
    case = case.at(unit)
    result = simulate(case)
    result.audit().raise_if_bad()
    outcome = run(case)
    for job, of_job in enumerate(by_submit(case)):
        runs = {row[1:3] for row in outcome.rows if row[0] == job}
        if can_run(of_job, case):
            assert outcome.status[job] == FINISHED
            assert outcome.finish_us[job] == max(end for _, end in runs)
            assert outcome.held_us[job] == sum(end - start for start, end in runs)
            assert len(runs) == outcome.preemptions[job] + 1
            assert policy in PREEMPTIVE or len(runs) == 1
        else:
            assert (outcome.status[job], runs) == (REJECTED, set())


@every_policy
@few
@given(data=st.data(), factor=st.integers(2, 9))
def test_time_has_no_scale_of_its_own(policy, data, factor):
    """All times longer by a factor (submits, services, estimates, periods, limits and costs) give
    the same schedule, longer by that factor.

    Left out is what rests on the length of a tick by definition: work that is overdue is expected
    to end one tick from now, so no estimate is too low here; and a reservation of ``conservative``
    that the placement refuses moves by one tick, which under ``count`` cannot happen. A limit of
    2d-las is passed by a tick, and floored crossings count whole seconds.
    """
    allowed = ["count"] if policy == "conservative" else PLACEMENTS
    placement = data.draw(st.sampled_from(allowed))
    estimates = data.draw(st.sampled_from(["none", "high"]))
    case = data.draw(cases(policy, placement, estimates, NARROW))
    for in_units_of_its_own in ("sink", "crossing", "preset"):
        case.policy_params.pop(in_units_of_its_own, None)
    once, scaled = run(case.at(LCM)), run(case.at(LCM * factor))
    for name in ("start_us", "finish_us", "held_us", "paid_us"):
        longer = [time if time < 0 else time * factor for time in getattr(once, name)]
        assert getattr(scaled, name) == longer, name
    for name in ("preemptions", "num_servers", "status", "reason"):
        assert getattr(scaled, name) == getattr(once, name), name
    assert scaled.rows == [
        (job, start * factor, end * factor, server, mask)
        for job, start, end, server, mask in once.rows
    ]


@many
@given(case=any_case)
def test_the_names_of_gpu_types_mean_nothing(case):
    new_name = dict(zip(ALL_TYPES, ("zz", "A100", "P4", "T4"), strict=True))  # in another order
    case = case.at(SECOND)

    def renamed(job: Job) -> Job:
        if job.allowed is None:
            return job
        return replace(job, allowed=frozenset(new_name[name] for name in job.allowed))

    other = replace(
        case,
        jobs=[renamed(job) for job in case.jobs],
        servers=[(gpus, new_name[gpu_type]) for gpus, gpu_type in case.servers],
    )
    assert run(other) == run(case)


@many
@given(case=any_case)
def test_ids_and_labels_of_jobs_mean_nothing_and_rows_come_in_any_order(case):
    case = case.at(SECOND)
    gs.testing.check_policy(
        gs.Policy(case.policy, **case.policy_params),
        placement=gs.plugins.PlacementChoice(case.placement, **case.placement_params),
        laws=["ids", "row-order"],
        on=(make_trace(case.jobs), make_cluster(case.servers)),
        seed=case.seed,
    )


@many
@given(case=st.sampled_from(POLICIES).flatmap(lambda name: cases(name, "count")), data=st.data())
def test_one_pool_does_not_know_how_its_gpus_are_spread_over_servers(case, data):
    case = case.at(SECOND)
    total = sum(gpus for gpus, _ in case.servers)
    cuts = data.draw(st.sets(st.integers(1, total - 1))) if total > 1 else set()
    cuts |= set(range(64, total, 64))  # a server has no more GPUs
    sizes = [high - low for low, high in itertools.pairwise([0, *sorted(cuts), total])]
    types = data.draw(st.lists(st.sampled_from(TYPES), min_size=len(sizes), max_size=len(sizes)))
    other = replace(case, servers=list(zip(sizes, types, strict=True)))
    assert run(other) == run(case)


def narrow(case: Case) -> Case:
    """The same with jobs of one GPU, of any type."""
    jobs = [replace(job, gpus=1, allowed=None) for job in case.jobs]
    return replace(case, jobs=jobs)


@every_policy
@few
@given(data=st.data())
def test_jobs_of_one_gpu_run_at_the_same_times_wherever_the_gpus_are(policy, data):
    """A free GPU is all that such a job needs, so that no placement ever refuses one; and where
    all GPUs are given out anew, as many jobs stop as GPUs are claimed. Hence neither the placement
    nor the order of servers, nor their sizes and types, moves a start.
    """
    case = data.draw(any_placement.flatmap(lambda place: cases(policy, place)))
    case = narrow(case).at(SECOND)
    servers = data.draw(st.permutations(case.servers))
    pooled = replace(case, placement="count", placement_params={})
    assert times(run(replace(case, servers=servers))) == times(run(pooled))


@pytest.mark.parametrize("policy", [p for p in POLICIES if p not in ("easy", "serverfilling-srpt")])
@some
@given(data=st.data())
def test_a_placement_that_never_refuses_is_as_good_as_one_pool(policy, data):
    """Where a gang may lie anywhere, the times of a schedule do not depend on where its gangs lie.

    Not so for ``easy``, which keeps later jobs off the very GPUs of its reservation, nor for
    ``conservative`` once a job has outlived its estimate, which then does the same; nor where the
    chosen jobs may leave room that others could use (``strict``, ``serverfilling-srpt``), because
    one pool by definition leaves it idle.
    """
    estimates = "high" if policy == "conservative" else None
    case = data.draw(st.sampled_from(UNDEMANDING).flatmap(lambda p: cases(policy, p, estimates)))
    jobs = [replace(job, allowed=None) for job in case.jobs]
    case = replace(case, jobs=jobs).at(SECOND)
    assume(policy not in PREEMPTIVE or case.policy_params.get("scan") != "strict")
    pooled = replace(case, placement="count")
    assert times(run(case)) == times(run(pooled))


def textbook_srpt(jobs: list[Job], num_gpus: int) -> list[int]:
    """Finish times, tick by tick: the jobs with the least work left run, the earlier one first."""
    left = [job.service_us for job in jobs]
    finish, now = [-1] * len(jobs), 0
    while any(left):
        ready = [i for i, job in enumerate(jobs) if job.submit_us <= now and left[i] > 0]
        now += 1
        for i in sorted(ready, key=lambda i: (left[i], i))[:num_gpus]:
            left[i] -= 1
            if left[i] == 0:
                finish[i] = now
    return finish


@many
@given(
    jobs=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10)), min_size=1, max_size=14),
    num_gpus=st.integers(1, 3),
    placement=any_placement,
)
def test_srtf_of_jobs_of_one_gpu_is_textbook_srpt(jobs, num_gpus, placement):
    in_order = sorted(
        (Job(submit, service, 1) for submit, service in jobs), key=lambda j: j.submit_us
    )
    made = run_core(in_order, [(1, "gpu")] * num_gpus, "srtf", placement)
    assert made.finish_us == textbook_srpt(in_order, num_gpus)


def test_srtf_on_one_gpu_is_textbook_srpt_on_a_long_queue():
    rng = np.random.default_rng(2)
    submit = np.sort(rng.integers(0, 10**6, 5_000))
    service = rng.integers(1, 400, 5_000)
    # With a heap instead of ticks: the job with the least left runs until the next arrival.
    queue: list[list[int]] = []
    now, finish = 0, np.zeros(5_000, dtype=np.int64)
    for job in range(5_001):
        until = int(submit[job]) if job < 5_000 else 2**62
        while queue and now < until:
            left, running = heapq.heappop(queue)
            now += (step := min(left, until - now))
            if step == left:
                finish[running] = now
            else:
                heapq.heappush(queue, [left - step, running])
        if job < 5_000:
            now = until
            heapq.heappush(queue, [int(service[job]), job])
    trace = gs.Trace.from_columns(submit, service, np.ones(5_000, dtype=np.int64))
    for placement in ("count", "first-fit"):
        result = gs.simulate(trace, gs.Cluster.uniform(1, 1), policy="srtf", placement=placement)
        assert np.array_equal(result.schedule.finish_us, finish * 10**6)


def test_two_spellings_of_a_policy_are_one_policy_on_deep_queues():
    rng = np.random.default_rng(4)
    gpus = rng.choice([1, 1, 1, 1, 2, 2, 3, 4, 8, 16, 32], 3_000)
    service = 5 * (1 + rng.exponential(60, 3_000) // 1)  # of few seconds, so that they tie
    submit = np.sort(rng.uniform(0, (gpus * service).sum() / 64 / 1.4, 3_000)) // 5 * 5
    trace = gs.Trace.from_columns(submit, service, gpus)
    cluster = gs.Cluster.uniform(servers=8, gpus=8)
    same = [
        ("fifo-skip", "fifo:scan=skip"),
        ("fifo", "fifo-skip:scan=strict"),
        ("srtf:cost_s=7", "srtf:cost_s=1,wide_cost_s=7,narrow_gpus=0"),
        ("2d-las:preset=tiresias", "2d-las:limits=3250/7200"),
        (
            "2d-las:preset=lucid",
            "2d-las:limits=18000,epoch=period,quota=hold,restart=work,cost_s=40,wide_cost_s=60,"
            "overrun_s=1,sink=passed",
        ),
        ("2d-las:preset=tiresias-artefact", "2d-las:inside=running,crossing=floored,period_s=0"),
        ("wspt", "sjf"),  # all weights are 1
    ]
    for one, other in same:
        for placement in ("count", "consolidated"):
            digests = {
                gs.simulate(trace, cluster, policy=policy, placement=placement).digest
                for policy in (one, other)
            }
            assert len(digests) == 1, (one, other, placement)
