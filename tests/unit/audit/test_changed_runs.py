"""The audit of runs that changed on the way: other policies, cancelled jobs, refusals."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.audit.case import kinds_of
from gpusched.schedules.schedule import CANCELLED
from tests.boundary.workloads import CLUSTER as TWO_SERVERS
from tests.boundary.workloads import trace
from tests.campaigns.tamperings import stored, with_schedule
from tests.each import each
from tests.unit.audit.test_audit import named, problems, with_value


def changed(
    jobs: gs.Trace, cluster: gs.Cluster, first: str, second: Any, at_s: float, **given: Any
) -> gs.Result:
    run = gs.Simulation(jobs, cluster, policy=first, **given)
    run.run_until(at_s)
    run.set(policy=second)
    run.run()
    return stored(run.result())


TWO = gs.Cluster.uniform(1, 2)
ALONE = gs.Trace.from_columns([0, 1], [10, 10], [2, 2])


def went_on() -> gs.Result:
    """The first job keeps its GPUs as the policy changes."""
    return changed(ALONE, TWO, "fifo", "sjf", 5)


def test_a_job_that_keeps_its_gpus_through_a_change_of_policy_was_preempted_once():
    result = went_on()
    assert len(result.intervals["job"]) == 2
    assert result.schedule.preemptions.tolist() == [1, 0]
    assert result.audit().problems == []


def test_who_goes_on_beside_a_change_of_policy_was_not_preempted():
    result = went_on()
    (warning,) = result.schedule.warnings
    moved = with_schedule(result, warnings=(warning.replace("at 5 s", "at 12 s"),))
    assert "wrong preemptions: job 0: 1, the log has 0 (and 1 more)" in moved.audit().problems
    for claimed in (0, 2):
        forged = with_schedule(result, preemptions=np.array([claimed, 0], np.int32))
        assert f"wrong preemptions: job 0: {claimed}, the log has 1" in forged.audit().problems


LOST = "overrun_s=3,restart=work,cost_s=2"


@each(
    ("first", "second"),
    [(f"srtf:{LOST}", "fifo"), ("fifo", f"srtf:{LOST}"), ("srtf:cost_s=4", f"las:{LOST}"),
     (f"las:{LOST}", "srtf:cost_s=4")],
)  # fmt: skip
@each("at_s", [0.5, 5.0, 14.0])
def test_each_policy_has_its_own_rule_of_restarts(first, second, at_s):
    jobs = gs.Trace.from_columns([0, 4, 6, 30], [20, 3, 9, 5], [2, 1, 2, 2])
    result = changed(jobs, TWO, first, second, at_s)
    assert result.audit().problems == []
    forged = with_schedule(result, paid_us=result.schedule.paid_us + 1)
    assert any(p.startswith("wrong paid_us") for p in forged.audit().problems)


UNEVEN = gs.Cluster((gs.ServerGroup(1, 4), gs.ServerGroup(2, 1)))


def rejected() -> gs.Result:
    """Two servers never hold the first job, and a policy that asks no placement gives it three."""
    jobs = gs.Trace.from_columns([0, 1], [100, 10], [6, 2])
    return changed(jobs, UNEVEN, "ff", "fifo", 5)


def test_a_job_that_ran_may_be_rejected_by_a_policy_that_takes_over():
    result = rejected()
    assert result.schedule.status.tolist() == [1, 0]
    assert result.audit().problems == []


def test_it_is_rejected_nowhere_else():
    result = rejected()
    (warning,) = result.schedule.warnings
    for text, problem in (
        ("at 4 s", "rejected job runs: job 0 is in the log"),
        ("at 120 s", "non-preemptive policy preempts: job 0 has 1 intervals under ff"),
    ):
        moved = with_schedule(result, warnings=(warning.replace("at 5 s", text),))
        assert problem in moved.audit().problems
    for text in ("became ff instead of ff", "became fifo instead of sjf"):
        other = with_schedule(
            result, warnings=(re.sub("became .+ instead of .+ at", f"{text} at", warning),)
        )
        assert any("job 0" in problem for problem in other.audit().problems)


class Backwards(gs.Order):
    """The last one first."""

    lifetime = "fixed"

    def rank(self, view: Any, jobs: Any) -> Any:
        return -jobs.astype(np.float64)


@pytest.mark.parametrize(("first", "second"), [("fifo", Backwards()), (Backwards(), "fifo")])
def test_a_policy_written_in_python_may_take_over_and_give_way(first, second):
    result = changed(ALONE, TWO, first, second, 5)
    assert [thing.role for thing in result.spec.python] == ["policy"] * (second != "fifo")
    assert result.audit().problems == []


def test_what_the_policy_that_took_over_warns_of_is_its_own():
    jobs = gs.Trace.from_columns([0, 1], [10, 10], [3, 1])
    result = changed(jobs, UNEVEN, "fifo", "serverfilling-srpt", 5)
    assert len(result.schedule.warnings) == 2
    assert result.audit().problems == []


def taken_back(
    jobs: gs.Trace, cluster: gs.Cluster, job: int, at_s: float, policy: str, **options: Any
) -> gs.Result:
    """A run of which a job was cancelled at a time."""
    run = gs.Simulation(jobs, cluster, policy=policy, **options)
    run.run_until(at_s)
    run.cancel(job)
    run.run()
    return stored(run.result())


def test_jobs_that_lose_their_gpus_to_a_policy_that_takes_over_are_no_fault_but_with_its_word():
    """Neither policy preempts, and the second finds no job running."""
    jobs = gs.Trace.from_columns([0, 0, 0, 0], [10, 20, 5, 7], [4, 3, 2, 4])
    result = changed(jobs, gs.Cluster.uniform(2, 2), "fifo", "sjf", 1)
    assert result.schedule.preemptions.tolist() == [1, 0, 0, 0]
    report = result.audit()
    assert report.ok
    assert report.notes[-1] == ("the policy changed during the run: its order is unchecked")
    assert with_schedule(result, warnings=()).audit().problems[0] == (
        "non-preemptive policy preempts: job 0 has 2 intervals under sjf"
    )


def test_elastic_jobs_that_start_anew_under_a_policy_that_takes_over_were_preempted():
    jobs = gs.Trace.from_columns(
        [0, 0, 5], [40, 20, 30], [2, 2, 1], min_gpus=[1, 1, 1], max_gpus=[4, 4, 4],
        deadline_s=[200, 8, 400],
        profiles=[gs.model.JobProfile("p", throughput={"T4": {1: 1.0, 2: 1.8, 4: 3.0}})],
        profile=[0, 0, 0],
    )  # fmt: skip
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "T4"),))
    for second in ("edf-fastest", "elasticflow", "edf-greatest:admission=true"):
        result = changed(jobs, cluster, "fifo", second, 12, speed="table")
        assert result.schedule.preemptions.sum() > 0
        assert result.audit().ok, (second, result.audit().problems)


AT = "was cancelled at"


def cancelled(
    policy: str = "fifo", *, until_s: float = 80.0, placement: str = "consolidated"
) -> gs.Result:
    """Return a run of which the last job that waits and the first that runs were taken back."""
    run = gs.Simulation(trace(80), TWO_SERVERS, policy=policy, placement=placement)
    run.run_until(until_s)
    run.cancel(int(run.state.waiting[-1]))
    run.cancel(int(run.state.running[0]))
    run.run()
    return stored(run.result())


def said(result: gs.Result, *warnings: str) -> gs.Result:
    """Return the result with other warnings."""
    return with_schedule(result, warnings=warnings)


@each("placement", ["count", "consolidated", "spread"])
@each("policy", ["fifo", "sjf", "easy", "conservative", "srtf", "las", "wspt"])
def test_an_audit_takes_cancelled_jobs_for_what_they_are(policy, placement):
    result = cancelled(policy, placement=placement)
    assert (result.schedule.status == CANCELLED).sum() == 2
    assert result.audit().problems == []
    report = result.audit(level="decisions")
    assert str(report) == "no problems"


def test_the_record_tells_the_very_microsecond():
    run = gs.Simulation(trace(80), TWO_SERVERS, policy="fifo")
    while run.now < 50 or not len(run.state.running):
        run.step()
    at_us = round(run.now * 1e6) + 1  # the tick behind the instant
    run.cancel(job := int(run.state.running[0]))
    run.run()
    result = run.result()
    assert result.schedule.warnings[0] == f"job {job} {AT} {at_us / 1e6:.6f} s"
    assert result.audit().ok


def test_a_job_without_a_record_is_lost():
    result = cancelled()
    first, second = result.schedule.warnings
    found = said(result, second).audit().problems
    job = first.split()[1]
    assert found == [
        f"job never ends: job {job} is neither finished nor rejected, nor was it cancelled"
    ]


def test_a_record_of_another_instant_is_named():
    result = cancelled()
    waiting, running = result.schedule.warnings
    moved = running.replace("80 s", "79.999999 s")
    assert f"wrong warning: job {running.split()[1]} was not cancelled at 79999999 us" in (
        said(result, waiting, moved).audit().problems
    )
    before = waiting.replace("80 s", "0 s")  # it had not come
    assert any(
        "was not cancelled at 0 us" in p for p in said(result, before, running).audit().problems
    )


@pytest.mark.parametrize("job", [0, 79, 10**9])
def test_a_record_of_a_job_that_finished_or_does_not_exist_is_named(job):
    result = cancelled()
    if job < len(result.trace):
        assert result.schedule.status[job] == 0
    problems = said(result, *result.schedule.warnings, f"job {job} {AT} 80 s").audit().problems
    assert problems == [f"wrong warning: job {job} was not cancelled at 80000000 us"]


@pytest.mark.parametrize("policy", ["sjf", "fifo"])
def test_a_lost_job_that_is_said_to_be_cancelled_waited_though_gpus_were_free(policy):
    jobs = gs.Trace.from_columns([0, 1, 30], [10, 5, 4], [2, 1, 2])
    result = stored(gs.simulate(jobs, TWO, policy=policy))
    rows = {name: values[:-1] for name, values in result.intervals.items()}  # the last is gone
    columns = {name: getattr(result.schedule, name).copy() for name in (
        "start_us", "finish_us", "held_us", "num_servers", "status"
    )}  # fmt: skip
    for name, values in columns.items():
        values[2] = {"start_us": -1, "finish_us": -1, "status": 2}.get(name, 0)
    counters = {**result.schedule.counters, "events": 5}
    lost = with_schedule(
        result, rows=rows, counters=counters, warnings=(f"job 2 {AT} 33 s",), **columns
    )
    (problem,) = lost.audit().problems
    assert problem.startswith("left waiting: from 30000000 us on job 2 of 2 GPUs waits")


def test_who_stood_behind_a_cancelled_head_was_not_left_waiting():
    # The second holds up the third until it is taken back, though a GPU is free.
    jobs = gs.Trace.from_columns([0, 1, 2], [100, 50, 10], [1, 2, 1])
    result = taken_back(jobs, TWO, 1, 60, "fifo")
    assert result.schedule.start_us.tolist() == [0, -1, 60_000_000]
    assert result.audit().problems == []


def test_who_finishes_at_that_instant_has_finished():
    jobs = gs.Trace.from_columns([0, 0], [10, 30], [1, 1])
    result = taken_back(jobs, TWO, 0, 10, "fifo")
    assert result.schedule.status.tolist() == [0, 0]
    assert result.schedule.warnings == (f"job 0 {AT} 10 s",)
    assert result.audit(level="decisions").problems == []


def test_who_was_preempted_before_may_have_ended_at_any_earlier_instant():
    jobs = gs.Trace.from_columns([0, 5], [100, 10], [2, 2])
    result = taken_back(jobs, TWO, 0, 8, "srtf")
    assert result.schedule.preemptions.tolist() == [1, 0]
    assert result.audit(level="decisions").problems == []
    late = result.schedule.preemptions * 0
    assert said(with_schedule(result, preemptions=late), *result.schedule.warnings).audit().problems


def test_a_decision_that_was_forged_in_a_run_with_cancelled_jobs_is_found():
    result = cancelled("srtf", placement="spread")
    rows = {name: values.copy() for name, values in result.schedule.intervals().items()}
    free_since = int(np.argmax(rows["end_us"]))
    rows["mask"][free_since] = 1 << 3 if rows["mask"][free_since] != 1 << 3 else 1 << 2
    forged = with_schedule(result, rows=rows)
    assert not forged.audit(level="decisions").ok


OWN_RULES = ("buddy", "topology", "consolidated")
REFUSED = 3  # among the reasons
REJECTED, UNFINISHED = 1, 2  # among the states


def simulate(cluster: gs.Cluster, placement: str, gpus: list[int], **more: Any) -> gs.Result:
    """Each job alone on the cluster."""
    trace = gs.Trace.from_columns(np.arange(len(gpus)) * 10, np.ones(len(gpus)), gpus, **more)
    return stored(gs.simulate(trace, cluster, policy="fifo", placement=placement))


def told_otherwise(result: gs.Result, job: int) -> list[str]:
    """What the audit says where the refusal of a job is hidden, or made up."""
    is_refused = result.schedule.reason[job] != 0
    status, reason = (UNFINISHED, 0) if is_refused else (REJECTED, REFUSED)
    return problems(
        result,
        status=with_value(result.schedule.status, job, status),
        reason=with_value(result.schedule.reason, job, reason),
    )


def drawn(seed: int, *, asks_more: bool) -> tuple[gs.Cluster, list[int], dict[str, Any]]:
    """Servers of a few sizes in two racks, and jobs of any width that they have GPUs for."""
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.choice([1, 2, 3, 4, 6, 8], rng.integers(2, 7)))[::-1].tolist()
    groups = tuple(
        gs.ServerGroup(
            1, size, "A", nic_gbps=10, intra_gbps=100, domain="ab"[i % 2],
            cpu=float(rng.integers(1, 2 * size + 1)) if asks_more else None,
            memory_gib=float(rng.integers(1, 2 * size + 1)) if asks_more else None,
        )
        for i, size in enumerate(sizes)
    )  # fmt: skip
    domains = (gs.Domain("top"), *(gs.Domain(n, parent="top", uplink_gbps=10) for n in "ab"))
    gpus = rng.integers(1, sum(sizes) + 1, 12).tolist()
    if not asks_more:
        return gs.Cluster(groups, domains=domains), gpus, {}
    more = {"cpu": rng.choice([0, 0.5, 1, 1.5], 12), "memory_gib": rng.choice([0, 0.5, 1], 12)}
    return gs.Cluster(groups, domains=domains), gpus, more


@each("asks_more", [False, True])
@each("placement", OWN_RULES)
def test_the_audit_agrees_with_every_refusal_and_with_none_that_is_changed(placement, *, asks_more):
    reasons = set()
    for seed in range(40):
        cluster, gpus, more = drawn(seed, asks_more=asks_more)
        result = simulate(cluster, placement, gpus, **more)
        assert problems(result) == [], (seed, gpus)
        reasons |= set(result.schedule.reason.tolist())
        for job in range(0, len(gpus), 3):
            named(told_otherwise(result, job), "false reject", f"job {job} of {gpus[job]} GPUs")
    # Without demands only `consolidated` refuses what the cluster has GPUs for.
    assert (REFUSED in reasons) == (asks_more or placement == "consolidated")


def test_buddy_fills_idle_servers_of_all_sizes_and_the_others_do_not():
    groups = [gs.ServerGroup(1, 8, "A", cpu=64), gs.ServerGroup(2, 4, "A", cpu=32)]
    for placement, reason in (("buddy", 0), ("topology", REFUSED), ("consolidated", REFUSED)):
        result = simulate(gs.Cluster(tuple(groups)), placement, [16], cpu=[1.0])
        assert result.schedule.reason.tolist() == [reason], placement
        assert problems(result) == []
        named(told_otherwise(result, 0), "false reject", "job 0 of 16 GPUs")


def test_buddy_leaves_out_servers_that_lack_cpu_for_all_their_gpus():
    groups = [gs.ServerGroup(1, 8, "A", cpu=4), gs.ServerGroup(2, 4, "A", cpu=32)]
    result = simulate(gs.Cluster(tuple(groups)), "buddy", [12, 16], cpu=[1.0, 1.0])
    assert result.schedule.reason.tolist() == [0, REFUSED]
    assert problems(result) == []
    for job in (0, 1):
        named(told_otherwise(result, job), "false reject", f"job {job} of")


def test_refusals_of_one_trace_are_judged_by_the_placement_and_the_cluster_of_each_run():
    trace = gs.Trace.from_columns([0], [10], [16])
    small = gs.Cluster((gs.ServerGroup(1, 8, "A"), gs.ServerGroup(2, 4, "A")))
    for cluster in (small, gs.Cluster.uniform(2, 8), small):
        for placement in ("buddy", "consolidated", "buddy"):
            result = gs.simulate(trace, cluster, policy="fifo", placement=placement)
            is_refused = cluster is small and placement == "consolidated"
            assert result.schedule.reason.tolist() == [REFUSED * is_refused]
            assert result.audit().ok, (cluster, placement)


few = st.integers(-2, 3)
many = st.integers(-(2**40), 2**40)


@given(st.lists(st.tuples(few, few, many, many), min_size=1, max_size=20), st.booleans())
def test_rows_are_told_apart_as_by_a_look_at_each(rows, is_absent):
    table = np.array(rows, dtype=np.int64)
    columns = [table[:, 0], table[:, 1].astype(np.int32), None if is_absent else table[:, 2],
               table[:, 3]]  # fmt: skip
    if is_absent:
        table[:, 2] = 7
    kinds, kind_of_job = kinds_of(columns, [0, 0, 7, 0])
    assert [kinds[kind] for kind in kind_of_job] == table.tolist()
    assert len(kinds) == len({tuple(row) for row in table.tolist()})


FOUR_GPUS = gs.Cluster.uniform(1, 4)


def test_jobs_of_a_slot_are_rightly_decided_on_where_it_ends():
    jobs = gs.Trace.from_columns([465, 470], [790, 179], [3, 2], deadline_s=[2045, 649])
    result = gs.simulate(
        jobs, FOUR_GPUS, policy="elasticflow:admission=batch", placement="best-fit"
    )
    assert result.schedule.decisions()["time_us"].tolist() == [465_000_000, 600_000_000]
    assert result.audit().ok


def test_right_runs_with_admission_by_batches_pass():
    draws = np.random.default_rng(0)
    for _ in range(40):
        num = int(draws.integers(2, 6))
        submit, service = np.sort(draws.integers(0, 600, num)), draws.integers(1, 900, num)
        deadline = submit + service * draws.choice([1, 2, 5], num) + 1
        jobs = gs.Trace.from_columns(
            submit, service, draws.choice([1, 2], num), deadline_s=deadline,
            restart_s=draws.choice([0, 5, 70], num),
        )  # fmt: skip
        result = gs.simulate(
            jobs, FOUR_GPUS, policy="elasticflow:admission=batch", placement="best-fit"
        )
        assert result.audit().problems == []


@pytest.mark.parametrize(
    "policy", ["elasticflow:admission=batch", "edf-greatest:admission=true", "chronus-leases"]
)
def test_a_job_cancelled_before_it_was_judged_is_no_fault(policy):
    jobs = gs.Trace.from_columns([0, 10], [900, 100], [1, 1], deadline_s=[2000, 1500])
    result = taken_back(jobs, FOUR_GPUS, 1, 20, policy, placement="best-fit")
    assert 1 not in result.schedule.decisions()["job"].tolist()
    assert result.audit().ok


@each("policy", ["fifo", "srtf", "elasticflow", "edf-greatest:admission=true"])
def test_a_run_that_says_falsely_whether_it_saw_the_true_services_is_found(policy):
    jobs = gs.Trace.from_columns([0, 10], [900, 100], [1, 1], deadline_s=[2000, 1500])
    result = gs.simulate(jobs, FOUR_GPUS, policy=policy, placement="best-fit")
    assert result.audit().ok
    lie = gs.Result(
        result.trace, result.cluster, result.spec, result.schedule, 0.0,
        clairvoyant=not result.clairvoyant,
    )  # fmt: skip
    for level in ("log", "decisions"):
        assert lie.audit(level=level).problems == [
            f"wrong claim: clairvoyant is {lie.clairvoyant}, expected {result.clairvoyant}"
        ]


def test_a_job_was_held_only_if_it_waited():
    jobs = gs.Trace.from_columns([0, 1, 2], [50, 10, 10], [2, 2, 2])
    run = gs.Simulation(jobs, TWO, policy="fifo")
    run.run_until(20)
    run.hold(1)
    run.run_until(22)
    run.release(1)
    run.run()
    result = stored(run.result())
    assert result.audit(level="decisions").ok
    for job, from_s, until_s in ((1, 51, 55), (1, 0, 20), (2, 40, 61), (3, 20, 22)):
        said = (f"job {job} was held at {from_s} s", f"job {job} was released at {until_s} s")
        problems = with_schedule(result, warnings=said).audit().problems
        assert f"wrong warning: job {job} was not held at {from_s * 1_000_000} us" in problems
    assert not with_schedule(result, warnings=result.schedule.warnings[:1]).audit().ok
