"""The policy `dancer`, and the plans that it makes, on cases small enough to follow by hand."""

import math
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.online.deadline_plan import DeadlineJob, plan_deadlines
from tests.each import each
from tests.random_elastic import instance

LINEAR = gs.model.JobProfile("linear", throughput={"A": {1: 1.0, 2: 2.0, 4: 4.0}})
TWO_TYPES = gs.model.JobProfile(
    "two", throughput={"A": {1: 2.0, 2: 4.0, 4: 8.0}, "B": {1: 1.0, 2: 2.0, 4: 4.0}}
)
ONE_A = gs.Cluster.uniform(servers=1, gpus=4, gpu_type="A")
A_AND_B = gs.Cluster((gs.ServerGroup(1, 4, "A"), gs.ServerGroup(1, 4, "B")))


def run(
    rows: list[tuple[float, float, int, float | None]],
    cluster: gs.Cluster = ONE_A,
    profile: gs.model.JobProfile | None = LINEAR,
    policy: str = "dancer:slot_s=100",
    placement: str = "buddy",
    **columns: Any,
) -> gs.Result:
    """Rows of (submit, service, GPUs, deadline)."""
    submit, service, gpus, deadline = zip(*rows, strict=True)
    trace = gs.Trace.from_columns(
        submit_s=submit, service_s=service, gpus=gpus,
        deadline_s=[math.nan if due is None else due for due in deadline], **columns,
    )  # fmt: skip
    if profile is None:
        return gs.simulate(trace, cluster, policy=policy, placement=placement)
    trace = trace.with_profiles(profile)
    return gs.simulate(trace, cluster, policy=policy, placement=placement, speed="table")


def finish_s(result: gs.Result) -> list[float]:
    return (result.schedule.finish_us / 1e6).tolist()


def test_a_lone_job_gets_what_its_plan_leaves():
    # Planned on one GPU for 400 s, it takes all four.
    assert finish_s(run([(0, 400, 1, 1000)])) == [100]
    assert finish_s(run([(0, 400, 1, 1000)], policy="dancer:slot_s=100,fill=false")) == [400]


@each("placement", ["consolidated", "spread"])
@each(
    ("due_s", "start_s"),
    [
        (200, 100),  # at the border of its slot
        (120, 50),  # which would be too late
    ],
)
def test_a_gang_on_both_types_yields_to_a_promise(due_s, start_s, placement):
    # No type has six GPUs: the first job is promised nothing, whether it has a deadline or not.
    for deadline in (None, 500):
        result = run(
            [(0, 300, 6, deadline), (50, 60, 4, due_s)], A_AND_B, None, placement=placement
        )
        assert result.schedule.start_us.tolist() == [0, start_s * 1e6]
        assert finish_s(result) == [360, start_s + 60]
        assert result.schedule.preemptions.tolist() == [1, 0]
        rows = result.schedule.decisions()
        told = dict(zip(rows["job"].tolist(), rows["reason"], strict=True))
        assert told == {1: "admitted"} | ({} if deadline is None else {0: "cannot run"})


def test_gangs_on_both_types_run_one_after_the_other():
    rows = [(0, 300, 6, None), (10, 60, 6, None), (50, 60, 8, None)]
    assert finish_s(run(rows, A_AND_B, None)) == [300, 360, 420]


def test_a_job_starts_within_a_slot_if_it_can():
    result = run([(10, 80, 1, 100)])
    assert result.schedule.decisions()["admitted"].tolist() == [1]
    # Submits count from the first.
    assert finish_s(run([(0, 1, 1, None), (10, 80, 1, 95)]))[1] == 90


def test_a_wide_job_meets_a_deadline_that_its_own_width_misses():
    result = run([(0, 400, 1, 120)])
    assert finish_s(result) == [100]
    decision = result.schedule.decisions()
    assert decision["reason"] == ["admitted"]
    assert decision["payoff"][0] == pytest.approx(decision["value"][0] - decision["cost"][0])


def test_jobs_that_end_together_give_all_their_gpus_back():
    # Four at one instant, then one alone; whoever comes next needs all that they were promised.
    rows = [(0, 30, 1, 45)] * 4 + [(30, 60, 4, 95), (95, 20, 4, 119)]
    result = run(rows, profile=None, policy="dancer:slot_s=50,fill=false,prices=constant")
    assert result.schedule.decisions()["admitted"].all()
    assert finish_s(result) == [30] * 4 + [90, 115]


def test_jobs_without_deadlines_run_on_what_is_left_and_are_not_decided_on():
    result = run([(0, 100, 1, None), (0, 300, 4, 300), (0, 50, 4, None)])
    assert result.schedule.decisions()["job"].tolist() == [1]
    assert finish_s(result)[1] == 300
    assert all(finish > 300 for finish in finish_s(result)[::2])


def test_a_job_that_was_turned_down_is_told_what_was_in_its_way():
    result = run([(0, 300, 4, 330), (1, 200, 4, 420)], value=[5.0, 1.0])
    decisions = result.schedule.decisions()
    assert decisions["admitted"].tolist() == [1, 0]
    assert decisions["reason"][1] in ("no room", "too dear")
    row = {name: decisions[name][1] for name in ("type", "from_us", "until_us")}
    assert row == {"type": 0, "from_us": 1_000_000, "until_us": 300_000_000}


def test_a_job_that_was_turned_down_is_offered_again():
    # The first job ends early, on GPUs of the faster type that its plan did not count on.
    rows = [(0.0, 100.0, 4, 160.0), (0.0, 100.0, 4, 330.0), (1.0, 100.0, 4, 420.0)]
    again = run(rows, policy="dancer:slot_s=50").schedule.decisions()
    never = run(rows, policy="dancer:slot_s=50,retry=false").schedule.decisions()
    assert again["admitted"].sum() >= never["admitted"].sum()
    assert len(again["job"]) == 3  # one entry each


def test_a_short_job_takes_the_gpus_of_one_that_can_do_without_the_slot():
    rows = [(0.0, 150.0, 4, 420.0), (10.0, 20.0, 4, 35.0)]
    result = run(rows, restart_s=[10.0, 0.0])
    assert result.schedule.decisions()["admitted"].tolist() == [1, 1]
    assert finish_s(result)[1] == 30
    assert finish_s(result)[0] <= 420
    alone = run(rows, restart_s=[10.0, 0.0], policy="dancer:slot_s=100,exchange=false")
    assert alone.schedule.decisions()["admitted"].tolist() == [1, 0]
    assert alone.schedule.decisions()["reason"][1] == "no room"


def test_nobody_makes_room_who_needs_the_slot():
    result = run([(0.0, 180.0, 4, 190.0), (10.0, 20.0, 1, 35.0)])
    assert result.schedule.decisions()["admitted"].tolist() == [1, 0]
    assert finish_s(result)[0] == 180
    assert result.summary()["preemptions"] == 0


def test_a_job_that_made_room_goes_on_as_soon_as_it_can():
    result = run([(0.0, 150.0, 4, 420.0), (10.0, 20.0, 4, 35.0)], restart_s=[10.0, 0.0])
    own = result.intervals["job"] == 0
    begins, ends = (result.intervals[name][own] / 1e6 for name in ("start_us", "end_us"))
    assert ends[0] == 10
    assert begins[1] == 30  # not at 100, where the next slot begins


def test_a_job_that_ends_within_its_slot_needs_no_time_to_be_moved():
    rows: list[tuple[float, float, int, float | None]]
    rows = [(0.0, 1.0, 1, None), (10.0, 10.0, 4, 25.0), (20.0, 160.0, 1, 155.0)]
    decisions = run(rows, restart_s=[30.0] * 3).schedule.decisions()
    # 10 s on four GPUs in a window of 15 s; the other needs 40 s and crosses a border.
    assert decisions["admitted"].tolist() == [1, 1]


@pytest.mark.parametrize(("seed", "servers", "jobs"), [(0, 4, 150), (7, 4, 150), (0, 8, 300)])
def test_gangs_are_not_spread_where_others_have_time_to_move(seed, servers, jobs):
    # The last two spread a gang where no server is cleared for it.
    random = np.random.default_rng(seed)
    submit = np.sort(random.uniform(0, 4000, jobs))
    service = random.choice([150.0, 300.0, 900.0], jobs)
    trace = gs.Trace.from_columns(
        submit_s=submit,
        service_s=service,
        gpus=random.choice([1, 1, 1, 2, 4], jobs),
        deadline_s=submit + service * random.choice([3.0, 6.0], jobs),
        restart_s=np.full(jobs, 10.0),
    ).with_profiles(LINEAR)
    cluster = gs.Cluster.uniform(servers=servers, gpus=4, gpu_type="A")
    policy = "dancer:slot_s=100"
    result = gs.simulate(trace, cluster, policy=policy, placement="buddy", speed="table")
    runs = np.stack([result.intervals["job"], result.intervals["start_us"]])
    _, counts = np.unique(runs, axis=1, return_counts=True)
    assert len(counts) > jobs
    assert counts.max() == 1


@each(
    ("preset", "values"),
    [
        ("count-only", "elastic=number"),
        ("type-only", "elastic=type"),
        ("constant-price", "prices=constant"),
        (
            "theory",
            "prices=theory,replan=false,fill=false,retry=false,exchange=false,whole_slots=true",
        ),
    ],
)
def test_a_preset_is_its_parameters(preset, values):
    rows = [(10.0 * i, 60.0 + 35 * (i % 5), 1 + i % 2, 10.0 * i + 200) for i in range(20)]
    by_name = run(rows, A_AND_B, TWO_TYPES, f"dancer:slot_s=50,preset={preset}")
    by_value = run(rows, A_AND_B, TWO_TYPES, f"dancer:slot_s=50,{values}")
    full = run(rows, A_AND_B, TWO_TYPES, "dancer:slot_s=50")
    assert by_name.digest == by_value.digest != full.digest


def test_the_fastest_type_is_the_only_one_where_types_are_pinned():
    rows = [(0.0, 100.0, 1, 200.0)] * 6
    result = run(rows, A_AND_B, TWO_TYPES, "dancer:slot_s=50,elastic=number")
    assert set(result.intervals["server"].tolist()) == {0}


def test_a_speed_that_knows_one_width_leaves_the_types_and_the_slots():
    rows = [(0.0, 100.0, 2, 250.0), (0.0, 100.0, 2, 250.0), (0.0, 100.0, 4, 250.0)]
    result = run(rows, profile=None)
    assert (result.schedule.finish_us <= result.trace.deadline_us).all()
    pooled = run(rows, profile=None, placement="count")
    assert finish_s(pooled) == finish_s(result)


def test_changes_that_take_longer_than_a_slot_are_planned_for():
    rows = [(0.0, 400.0, 1, 1500.0), (120.0, 300.0, 4, 900.0), (250.0, 100.0, 2, 1200.0)]
    result = run(rows, policy="dancer:slot_s=50", restart_s=[170.0, 170.0, 60.0])
    admitted = result.schedule.decisions()["admitted"].astype(bool)
    assert admitted.any()
    assert (result.schedule.finish_us <= result.trace.deadline_us)[admitted].all()
    result.audit().raise_if_bad()


def test_a_width_that_is_no_power_of_two_is_kept_where_it_is_the_only_one():
    result = run([(0.0, 100.0, 3, 300.0)], min_gpus=[3], max_gpus=[3])
    assert finish_s(result) == [100]


def test_an_impossible_deadline_is_said_to_be_one():
    result = run([(0, 500, 4, 100), (1, 100, 1, 800)])
    assert result.schedule.decisions()["reason"] == ["impossible", "admitted"]
    assert max(finish_s(result)) < math.inf


# Plans without a simulation.


def job(**changes: Any) -> DeadlineJob:
    values: dict[str, Any] = {
        "arrival_s": 0.0,
        "deadline_s": 400.0,
        "work": 100.0,
        "rates": {("A", 1): 1.0, ("A", 2): 1.8},
    }
    return DeadlineJob(**(values | changes))


def test_plans_come_back_in_the_order_of_the_jobs():
    jobs = [job(arrival_s=300.0, deadline_s=700.0), job(), job(rates={})]
    plan = plan_deadlines(jobs, {"A": 2}, slot_s=100.0)
    assert plan.admitted.tolist() == [True, True, False]
    assert plan.steps(0)[0].from_s >= 300.0
    assert plan.steps(1)[0].from_s == 0.0
    assert plan.reason == ("admitted", "admitted", "cannot run")


@each(
    ("changes", "reason"),
    [
        ({"deadline_s": 0.0}, "impossible"),
        ({"arrival_s": 500.0}, "impossible"),
        ({"work": 1e9}, "impossible"),
        ({"rates": {}}, "cannot run"),
        ({"rates": {("A", 1): 0.0}}, "cannot run"),
        ({"rates": {("A", 64): 1.0}}, "cannot run"),
    ],
)
def test_a_job_that_cannot_be_planned_is_turned_down(changes, reason):
    plan = plan_deadlines([job(**changes)], {"A": 2})
    assert plan.reason == (reason,)
    assert plan.steps(0) == ()
    assert plan.explain(0).startswith("turned down: ")


@each(
    ("changes", "named"),
    [
        ({"work": -1.0}, r"jobs\[0\].work: -1.0"),
        ({"work": math.nan}, r"jobs\[0\].work: nan"),
        ({"value": 0.0}, r"jobs\[0\].value: 0.0"),
        ({"deadline_s": math.inf}, r"jobs\[0\].deadline_s: inf"),
        ({"change_s": -1.0}, r"jobs\[0\].change_s: -1.0"),
        ({"rates": {("A", 1): -1.0}}, r"jobs\[0\].rates\['A', 1\]: -1.0"),
        ({"rates": {("Z", 1): 1.0}}, r"jobs\[0\].rates\['Z', 1\]: unknown GPU type 'Z'"),
        ({"rates": {("A", 0): 1.0}}, r"the number of GPUs: 0"),
    ],
)
def test_bad_figures_are_named(changes, named):
    with pytest.raises(ValueError, match=named):
        plan_deadlines([job(**changes)], {"A": 2})


def test_tables_need_not_be_concave():
    slow_pair = job(work=390.0, rates={("A", 1): 0.5, ("A", 2): 0.5, ("A", 4): 4.0})
    plan = plan_deadlines([slow_pair], {"A": 4}, slot_s=100.0)
    assert {step.gpus for step in plan.steps(0)} == {4}


def test_what_is_in_the_way_of_a_job_is_told():
    first = job(work=800.0, rates={("A", 2): 2.0}, value=9.0)
    plan = plan_deadlines([first, job(arrival_s=1.0)], {"A": 2}, slot_s=100.0)
    assert plan.admitted.tolist() == [True, False]
    assert plan.explain(0).startswith("admitted: the cheapest schedule costs ")
    assert plan.explain(1).endswith("at most 0 GPUs of A are free from 0 to 400 s")


def test_prices_are_chosen_by_name():
    with pytest.raises(ValueError, match="'dear' must be one of market, density, theory, constant"):
        plan_deadlines([job()], {"A": 2}, prices="dear")
    with pytest.raises(ValueError, match="must name at least one GPU type"):
        plan_deadlines([job()], {})


@pytest.mark.parametrize("prices", ["market", "density"])
def test_jobs_that_pay_little_per_gpu_do_not_take_all(prices):
    # Every second job needs seven times the GPU time of the others.
    jobs = [
        job(arrival_s=10.0 * i, deadline_s=10.0 * i + 500, work=400.0 if i % 2 else 60.0)
        for i in range(200)
    ]
    plan = plan_deadlines(jobs, {"A": 4}, slot_s=100.0, prices=prices)
    assert plan.admitted[::2].sum() > plan.admitted[1::2].sum()
    assert np.isfinite(plan.cost[plan.admitted]).all()


@each(
    ("seed", "digest"),
    [
        # What those that make room pay more is taken from what the newcomer may cost them.
        (200013, "f83e48af8cf66829"),
        (200802, "3cb18e981a626784"),
        # A job gives GPUs back only if it keeps its promise without them, a restart still unpaid.
        (200285, "dbeb425b7fd46881"),
        # A plan within a slot, or one that goes on over a border, needs no reserve.
        (200043, "78c1305fff335d77"),
        (200073, "c6993ea379f9b0c5"),
    ],
)
def test_crowded_runs_are_as_they_were(seed, digest):
    assert instance(seed, "dancer").run().digest.startswith(digest)
