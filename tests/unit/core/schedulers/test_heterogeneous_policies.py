"""Policies for unequal GPUs, on schedules that can be worked out by hand."""

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.plugins.schedulers import gavel_programs
from gpusched.plugins.schedulers.gavel_programs import PROGRAMS, Jobs, UnsolvedError, level, solved
from tests.each import each
from tests.unit.core.schedulers.two_types import runs

ONE = gs.Cluster((gs.ServerGroup(1, 1, "A"),))
FOUR = gs.Cluster((gs.ServerGroup(1, 4, "A"),))
TWO_TYPES = gs.Cluster((gs.ServerGroup(1, 1, "A"), gs.ServerGroup(1, 1, "B")))


def simulate(
    policy: str | gs.Policy, cluster: gs.Cluster, jobs: list[tuple], *tables: dict, **columns: Any
) -> gs.Result:
    """Run jobs of (submit, service, gpus), the i-th with the i-th table or all with the one."""
    submit, service, gpus = map(list, zip(*jobs, strict=True))
    profiles = [gs.model.JobProfile(f"p{i}", throughput=table) for i, table in enumerate(tables)]
    index = list(range(len(jobs))) if len(tables) > 1 else [0] * len(jobs)
    trace = gs.Trace.from_columns(
        submit, service, gpus, profiles=profiles, profile=index, **columns
    )
    return gs.simulate(trace, cluster, policy=policy, speed="table", placement="best-fit")


def servers_of(result: gs.Result, job: int) -> list[int]:
    rows = result.schedule.intervals()
    return [int(server) for server in rows["server"][rows["job"] == job]]


def test_optimus_gives_gpu_after_gpu_to_whom_it_saves_most_time():
    curve = {"A": {1: 1.0, 2: 1.8, 3: 2.4, 4: 2.8}}
    # One GPU each; then 44 s and 14 s saved against 4 s.
    result = simulate("optimus:period_s=0", FOUR, [(0, 100, 1), (0, 10, 1)], curve)
    assert runs(result)[:2] == [(0, 0, 10, 3), (1, 0, 10, 1)]
    # Alone it has all.
    assert runs(result)[2][3] == 4


def test_optimus_grows_by_powers_of_two_where_it_is_told_to():
    curve = {"A": {1: 1.0, 2: 1.8, 3: 2.4, 4: 2.8}}
    policy = "optimus:period_s=0,step=double"
    result = simulate(policy, FOUR, [(0, 100, 1), (0, 10, 1)], curve)
    assert {run[3] for run in runs(result)} <= {1, 2, 4}


def test_optimus_starts_jobs_at_their_least_width_and_disturbs_nobody_between():
    curve = {"A": {1: 1.0, 2: 1.5, 4: 2.0}}
    jobs = [(0, 900, 2), (10, 50, 2)]
    result = simulate("optimus:period_s=60", FOUR, jobs, curve, min_gpus=[2, 2], max_gpus=[2, 4])
    assert runs(result)[0][:2] == (0, 0)
    assert runs(result)[1] == (1, 10, 60, 2)


def test_afs_prefers_the_longer_of_two_jobs_that_gains_more():
    curve = {"A": {1: 1.0, 2: 2.0, 3: 3.0}}
    jobs = [(0, 100, 1), (0, 10, 1)]
    cluster = gs.Cluster((gs.ServerGroup(1, 3, "A"),))
    result = simulate("afs", cluster, jobs, curve, max_gpus=[3, 3])
    # Both have a GPU. The long one's half of 2 is no more than the short one's whole of 1.
    assert sorted(runs(result)[:2]) == [(0, 0, 5, 1), (1, 0, 5, 2)]
    flat = {"A": {1: 1.0, 2: 1.25}}
    result = simulate("afs", cluster, jobs, curve, flat, max_gpus=[3, 2])
    # 1/2 is more than 1/4.
    assert sorted(runs(result)[:2]) == [(0, 0, 10, 2), (1, 0, 10, 1)]


def test_afs_lets_nobody_grow_whom_a_gpu_does_not_double_while_a_job_has_none():
    jobs = [(0, 10, 1), (0, 90, 1), (0, 80, 1), (0, 70, 1), (0, 60, 1)]
    widths = {}
    for second in (1.75, 2.0):
        curve = {"A": {1: 1.0, 2: second}}
        result = simulate("afs", FOUR, jobs, curve, max_gpus=[2] * 5)
        widths[second] = {run[0]: run[3] for run in runs(result) if run[1] == 0}
    assert widths == {1.75: {0: 1, 2: 1, 3: 1, 4: 1}, 2.0: {0: 2, 4: 2}}


def test_themis_leases_to_the_job_that_suffers_most():
    jobs = [(0, 100, 1), (0, 10, 1)]
    result = simulate("themis-greedy:period_s=20", ONE, jobs, {"A": {1: 1.0}})
    assert runs(result) == [(0, 0, 20, 1), (1, 20, 30, 1), (0, 30, 110, 1)]


def test_themis_lets_a_winner_pay_with_the_time_of_its_lease():
    jobs = [(0, 20, 1), (0, 60, 1), (10, 5, 1)]
    policy = "themis:period_s=20,fairness=0"
    result = simulate(policy, ONE, jobs, {"A": {1: 1.0}})
    # The first gains (20 + 20) / 20, the second would gain (20 + 60) / 60: it keeps 3/4 of 20 s.
    assert runs(result) == [(0, 0, 15, 1), (2, 15, 20, 1), (0, 20, 25, 1), (1, 25, 85, 1)]


LINEAR = {"A": {1: 1.0, 2: 2.0, 4: 4.0}}


@pytest.mark.parametrize(
    ("jobs", "widths"),
    [
        # Beside each other both have two GPUs, alone one would have four: each keeps half of two.
        (3, [1, 1, 2]),
        (2, [2, 2]),  # what nobody else takes goes back
    ],
)
def test_themis_gives_the_gpus_that_winners_pay_with_to_others(jobs, widths):
    result = simulate(
        "themis:period_s=100,fairness=0.4", FOUR, [(0, 100, 1)] * jobs, LINEAR,
        min_gpus=[1] * jobs, max_gpus=[4] * jobs,
    )  # fmt: skip
    assert [run[3] for run in sorted(runs(result)[:jobs])] == widths


@pytest.mark.parametrize(("fairness", "first"), [(1, 1), (0, 2)])
def test_themis_offers_to_those_who_suffer_most(fairness, first):
    # At 10 s the second suffers more, 39 / 30 against 6 / 5, and the third gains more by a lease.
    jobs = [(0, 10, 1), (1, 30, 1), (9, 5, 1)]
    policy = f"themis:period_s=1000,fairness={fairness}"
    result = simulate(policy, ONE, jobs, {"A": {1: 1.0}})
    assert [run[0] for run in runs(result)][:2] == [0, first]


def test_gandiva_lets_jobs_of_one_width_take_turns_on_servers_of_their_own():
    cluster = gs.Cluster.uniform(1, 1)
    trace = gs.Trace.from_columns([0, 0], [100, 70], [1, 1])
    result = gs.simulate(trace, cluster, policy="gandiva:slice_s=60")
    assert runs(result) == [(0, 0, 60, 1), (1, 60, 120, 1), (0, 120, 160, 1), (1, 160, 170, 1)]


def test_gandiva_shares_servers_by_the_gpus_that_jobs_of_a_width_ask_for():
    cluster = gs.Cluster.uniform(2, 4)
    trace = gs.Trace.from_columns([0] * 8 + [10], [500] * 9, [1] * 8 + [4])
    result = gs.simulate(trace, cluster, policy="gandiva:slice_s=60")
    # Eight of one GPU take both servers. At 60 s they ask for 8 of 8 GPUs, for nobody else has a
    # set; the gang waits until one is free, when the first four jobs have ended.
    assert runs(result)[:8] == [(job, 0, 500, 1) for job in range(8)]
    assert runs(result)[8] == (8, 500, 1000, 4)
    more = gs.Trace.from_columns([0] * 5 + [10] * 8, [500] * 13, [4] + [1] * 12)
    result = gs.simulate(more, cluster, policy="gandiva:slice_s=60")
    # Twelve of one GPU ask for 3/4 of the GPUs, a gang for 1/4: it keeps its server alone.
    assert (0, 0, 500, 4) in runs(result)


def test_allox_queues_a_job_for_the_fast_type_if_that_ends_sooner():
    tables = ({"A": {1: 0.5}, "B": {1: 1.0}}, {"A": {1: 0.2}, "B": {1: 1.0}})
    result = simulate("allox", TWO_TYPES, [(0, 5, 1), (0, 2, 1)], *tables)
    # 2 + (2 + 5) on B is less than 10 on A and 2 on B.
    assert runs(result) == [(1, 0, 2, 1), (0, 2, 7, 1)]
    assert servers_of(result, 0) == [1]


def test_allox_uses_the_slow_type_if_that_ends_sooner():
    tables = ({"A": {1: 0.9}, "B": {1: 1.0}}, {"A": {1: 0.2}, "B": {1: 1.0}})
    result = simulate("allox", TWO_TYPES, [(0, 9, 1), (0, 9, 1)], *tables)
    assert servers_of(result, 0) == [0]
    assert servers_of(result, 1) == [1]


def test_allox_keeps_running_jobs_where_it_may_not_preempt():
    jobs = [(0, 500, 1), (1, 5, 1), (1, 5, 1)]
    table = {"A": {1: 1.0}, "B": {1: 1.0}}
    for preempt, expected in ((True, 1), (False, 0)):
        policy = gs.Policy("allox", period_s=0, preempt=preempt)
        result = simulate(policy, gs.Cluster((gs.ServerGroup(1, 1, "A"),)), jobs, table)
        assert result.schedule.preemptions[0] == expected


def test_gavel_keeps_jobs_on_the_types_that_serve_them_best():
    tables = ({"A": {1: 1.0}, "B": {1: 4.0}}, {"A": {1: 1.0}, "B": {1: 1.0}})
    result = simulate("gavel", TWO_TYPES, [(0, 4_000, 1), (0, 4_000, 1)], *tables)
    assert servers_of(result, 0) == [1]
    assert servers_of(result, 1)[0] == 0


def test_gavel_alternates_equal_jobs_between_unequal_gpus():
    table = {"A": {1: 1.0}, "B": {1: 3.0}}
    result = simulate("gavel:round_s=10", TWO_TYPES, [(0, 1_000, 1), (0, 1_000, 1)], table)
    rows = result.schedule.intervals()
    length = rows["end_us"] - rows["start_us"]
    on_fast = [int(length[(rows["job"] == j) & (rows["server"] == 1)].sum()) for j in (0, 1)]
    assert abs(on_fast[0] - on_fast[1]) <= 20e6


IN_ORDER = "gavel:objective=fifo,rounds=artefact,round_s=10"


def test_gavel_in_order_gives_each_job_the_best_type_that_is_left():
    tables = tuple({"A": {1: 1.0}, "B": {1: rate}} for rate in (2.0, 4.0, 1.0))
    result = simulate(IN_ORDER, TWO_TYPES, [(0, 60, 1), (0, 60, 1), (0, 60, 1)], *tables)
    # All are fastest on B or alike; the first has it, though the second gains more.
    assert servers_of(result, 0) == [1] * len(servers_of(result, 0))
    assert servers_of(result, 1)[0] == 0
    assert runs(result)[-1][0] == 2


def test_gavel_in_order_lets_nobody_pass_a_job_that_finds_no_room():
    cluster = gs.Cluster((gs.ServerGroup(1, 2, "A"),))
    result = simulate(
        IN_ORDER, cluster, [(0, 100, 1), (0, 10, 2), (0, 10, 1)], {"A": {1: 1.0, 2: 1.0}}
    )
    assert [run[:2] for run in runs(result)][:2] == [(0, 0), (1, 100)]


def test_gavel_in_order_that_is_not_aware_keeps_a_type():
    table = {"A": {1: 1.0}, "B": {1: 4.0}}
    jobs = [(0, 400, 1)] * 5
    for seed in range(3):
        policy = f"{IN_ORDER},aware=false"
        trace = gs.Trace.from_columns(
            *(list(column) for column in zip(*jobs, strict=True)),
            profiles=[gs.model.JobProfile("p", throughput=table)], profile=[0] * 5,
        )  # fmt: skip
        result = gs.simulate(
            trace, TWO_TYPES, policy=policy, speed="table", placement="best-fit", seed=seed
        )
        assert all(len(set(servers_of(result, job))) == 1 for job in range(5))
        # The second has the type that the first, on a random one, has left.
        assert {servers_of(result, 0)[0], servers_of(result, 1)[0]} == {0, 1}
        result.audit().raise_if_bad()


def test_gavel_does_not_take_gpus_from_a_job_that_still_pays_for_its_restart():
    # A round is shorter than a restart: to alternate each round would mean no progress at all.
    jobs = [(0, 50, 1), (0, 50, 1)]
    result = simulate("gavel:round_s=10", ONE, jobs, {"A": {1: 1.0}}, restart_s=[25, 25])
    assert (result.schedule.status == 0).all()
    assert result.schedule.finish_us.max() < 1_000e6


def test_the_flags_of_gavel_depend_on_its_objective():
    assert gs.Policy("gavel").flags == ("preemptive", "approximate")
    assert "clairvoyant" in gs.Policy("gavel", objective="makespan").flags
    assert "deadlines" in gs.Policy.parse("gavel:objective=deadlines").flags
    table = {"A": {1: 1.0}, "B": {1: 2.0}}
    seen = [
        simulate(f"gavel:objective={objective}", TWO_TYPES, [(0, 9, 1)], table).clairvoyant
        for objective in ("max-min", "ftf")
    ]
    assert seen == [False, True]


def test_gavel_is_listed_without_the_library_that_it_needs():
    code = (
        "import sys, gpusched as gs; info = gs.policies()['gavel']; print('scipy' in sys.modules)"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "False"
    assert gs.policies()["gavel"].parameter("objective")["choices"] == [*PROGRAMS, "allox", "fifo"]
    assert gs.policies()["gavel"].parameter("round_s")["minimum"] == 1


def random_jobs(seed: int) -> Jobs:
    rng = np.random.default_rng(seed)
    num, types = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    rates = rng.integers(0, 4, (num, types)).astype(float)
    rates[np.arange(num), rng.integers(0, types, num)] = 4.0
    return Jobs(
        rates=rates / 4, gpus=2.0 ** rng.integers(0, 3, num),
        weight=rng.integers(1, 3, num).astype(float), remaining=rng.uniform(10, 100, num),
        elapsed=rng.uniform(0, 50, num), served=rng.uniform(0, 20, num),
        time_left=np.where(rng.random(num) < 0.5, np.inf, rng.uniform(5, 200, num)),
        value=np.ones(num), capacity=4.0 * rng.integers(1, 4, types),
    )  # fmt: skip


@each("objective", PROGRAMS)
def test_no_program_gives_out_more_than_there_is(objective):
    for seed in range(5):
        jobs = random_jobs(seed)
        fractions = PROGRAMS[objective](jobs)
        assert fractions.shape == jobs.rates.shape
        assert (fractions >= 0).all()
        assert (fractions.sum(axis=1) <= 1 + 1e-5).all()
        assert ((fractions * jobs.gpus[:, None]).sum(axis=0) <= jobs.capacity + 1e-3).all()


def worst_ratio(jobs: Jobs, fractions: np.ndarray) -> float:
    """The greatest ratio of a job's time in system to that with an equal part of each type."""
    rates, needed = (jobs.rates * fractions).sum(axis=1), isolated_times(jobs)
    return float(((jobs.elapsed + jobs.remaining / rates) / needed).max())


def isolated_times(jobs: Jobs) -> np.ndarray:
    alone = jobs.capacity / (len(jobs) * jobs.gpus[:, None])
    alone /= np.maximum(1.0, alone.sum(axis=1))[:, None]
    return (jobs.served + jobs.remaining) / (jobs.rates * alone).sum(axis=1)


@each("seed", range(12))
def test_no_fractions_are_fairer_than_those_of_ftf(seed):
    pytest.importorskip("scipy")
    jobs = random_jobs(seed)
    ratio = worst_ratio(jobs, PROGRAMS["ftf"](jobs))
    # Nobody can give each job the rate that a ratio lower by a thousandth asks for.
    left = 0.999 * ratio * isolated_times(jobs) - jobs.elapsed
    if (left > 0).all():
        need = jobs.remaining / left
        found = level(jobs.rates, need, jobs.gpus, np.ones(len(jobs)), jobs.capacity)
        assert found.height < 1


def max_min_level(jobs: Jobs, fractions: np.ndarray) -> float:
    share = jobs.capacity / jobs.capacity.sum()
    got = (jobs.rates * fractions).sum(axis=1) / (jobs.rates @ share)
    return float((got * jobs.gpus / jobs.weight).min())


def test_max_min_gives_nobody_less_than_an_equal_share_of_all_types():
    for seed in range(10):
        jobs = random_jobs(seed)
        scale = min(1.0, float(jobs.capacity.sum() / jobs.gpus.sum()))
        least = max_min_level(jobs, PROGRAMS["max-min"](jobs))
        assert least >= scale * float((jobs.gpus / jobs.weight).min()) - 1e-3
        others = [PROGRAMS[name](jobs) for name in ("makespan", "throughput")]
        assert all(least >= max_min_level(jobs, other) - 1e-3 for other in others)


def least_first(jobs: Jobs, fractions: np.ndarray) -> np.ndarray:
    """What each job has of an equal share of all types, the least first."""
    share = jobs.capacity / jobs.capacity.sum()
    got = (jobs.rates * fractions).sum(axis=1) / (jobs.rates @ share)
    return np.sort(got * jobs.gpus / jobs.weight)


def raised_one_by_one(jobs: Jobs) -> np.ndarray:
    """The levels of water filling: each job that no solution raises above the rest stays there."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    num, types = jobs.rates.shape
    share = jobs.capacity / jobs.capacity.sum()
    gain = jobs.rates * (jobs.gpus / (jobs.weight * (jobs.rates @ share)))[:, None]
    time = np.kron(np.eye(num), np.ones(types))
    use = np.kron(jobs.gpus, np.eye(types))
    reach = np.stack([np.kron(np.eye(num)[job], gain[job]) for job in range(num)])
    levels: dict[int, float] = {}
    while len(levels) < num:
        rising = [job for job in range(num) if job not in levels]
        column = np.array([[1.0 if job in rising else 0.0] for job in range(num)])
        known = np.array([levels.get(job, 0.0) for job in range(num)])
        limits = np.block([[time, np.zeros((num, 1))], [use, np.zeros((types, 1))]])
        most = [*np.ones(num), *jobs.capacity]
        raised = linprog(
            [*np.zeros(num * types), -1.0], np.block([[limits], [-reach, column]]),
            [*most, *(-known + 1e-9)],
        )  # fmt: skip
        level = raised.x[-1]
        floor = np.where(column[:, 0] > 0, level, known) - 1e-7
        for job in rising:
            alone = linprog(-reach[job], np.vstack([time, use, -reach]), [*most, *-floor])
            if -alone.fun <= level + 1e-5:
                levels[job] = level
    return np.sort(list(levels.values()))


@each("seed", range(10))
def test_water_filling_raises_everybody_whom_a_solution_can_raise(seed):
    jobs = random_jobs(seed)
    found = least_first(jobs, PROGRAMS["water-filling"](jobs))
    assert found == pytest.approx(raised_one_by_one(jobs), abs=1e-4)


def test_water_filling_goes_on_where_max_min_may_stop():
    ones = np.ones(2)
    # The first cannot use type B and is alone on A; only the second can have it all.
    jobs = Jobs(
        rates=np.array([[1.0, 0.0], [1.0, 4.0]]), gpus=ones, weight=ones, remaining=ones,
        elapsed=0 * ones, served=0 * ones, time_left=np.full(2, np.inf), value=ones,
        capacity=ones, breaks_ties=False,
    )  # fmt: skip
    assert PROGRAMS["water-filling"](jobs) == pytest.approx(np.eye(2), abs=1e-5)


def test_deadlines_are_followed_by_what_is_cheap():
    ones = np.ones(2)
    jobs = Jobs(
        rates=np.array([[1.0, 0.8], [1.0, 0.8]]), gpus=ones, weight=ones, remaining=10 * ones,
        elapsed=0 * ones, served=0 * ones, time_left=np.array([10.0, np.inf]), value=ones,
        capacity=ones, price=np.array([4.0, 1.0]),
    )  # fmt: skip
    # The first is in time on A alone, which is dear; to the other what is left of B is worth it.
    assert PROGRAMS["deadlines"](jobs) == pytest.approx(np.eye(2), abs=1e-5)
    assert PROGRAMS["cost"](jobs).sum(axis=0) == pytest.approx([1, 1], abs=1e-5)


def test_makespan_and_throughput_are_the_best_at_what_they_say():
    for seed in range(10):
        jobs = random_jobs(seed)
        rate = {
            name: (jobs.rates * PROGRAMS[name](jobs)).sum(axis=1)
            for name in ("max-min", "makespan", "throughput")
        }
        last = {n: (jobs.remaining / np.maximum(r, 1e-9)).max() for n, r in rate.items()}
        assert last["makespan"] <= last["max-min"] * 1.001
        assert rate["throughput"].sum() >= max(r.sum() for r in rate.values()) - 1e-3


def test_deadlines_come_before_throughput():
    ones = np.ones(2)
    jobs = Jobs(
        rates=np.array([[1.0], [0.5]]), gpus=ones, weight=ones, remaining=np.array([10.0, 10.0]),
        elapsed=0 * ones, served=0 * ones, time_left=np.array([np.inf, 25.0]), value=ones,
        capacity=np.array([1.0]),
    )  # fmt: skip
    # The second needs 0.4 a second, 0.8 of the time.
    assert PROGRAMS["deadlines"](jobs)[:, 0] == pytest.approx([0.2, 0.8], abs=1e-5)
    assert PROGRAMS["throughput"](jobs)[:, 0] == pytest.approx([1, 0], abs=1e-5)


SIMULATED = "gavel:rounds=artefact,reset_s=1920,ties=any"
HETEROGENEOUS = ("afs", "allox", "gavel", SIMULATED, "optimus", "themis", "themis-greedy")
ALL = (*HETEROGENEOUS, "chronus", "chronus-leases", "edf-fastest", "elasticflow")


@each("placement", ["best-fit", "count", "consolidated"])
@each("policy", ALL)
def test_a_gang_wider_than_any_type_runs_on_several(policy, placement):
    cluster = gs.Cluster((gs.ServerGroup(2, 2, "A"), gs.ServerGroup(1, 2, "B")))
    trace = gs.Trace.from_columns(
        [0, 1, 2, 400], [50, 500, 50, 20], [5, 1, 6, 4], restart_s=[3, 3, 3, 3]
    )
    result = gs.simulate(trace, cluster, policy=policy, placement=placement)
    assert result.schedule.status.tolist() == [0, 0, 0, 0]


@each("policy", ALL)
def test_restarts_longer_than_every_period_do_not_stop_a_run(policy):
    rng = random.Random(5)
    num = 20
    trace = gs.Trace.from_columns(
        sorted(rng.randrange(3_000) for _ in range(num)),
        [rng.randrange(1, 2_000) for _ in range(num)],
        [rng.choice([1, 2, 3, 4]) for _ in range(num)],
        restart_s=[2_000] * num,
        deadline_s=[10_000 + 100 * i for i in range(num)],
    )
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "A"), gs.ServerGroup(1, 4, "B")))
    result = gs.simulate(trace, cluster, policy=policy, placement="best-fit")
    assert (result.schedule.status == 0).all()


@each("wait_s", [1e3, 1e6, 1e9, 1e12])
def test_jobs_that_have_waited_far_longer_than_they_run_have_a_fairness(wait_s):
    pytest.importorskip("scipy")
    jobs = Jobs(
        rates=np.array([[1.0, 0.5], [1.0, 0.5], [1.0, 1.0]]), gpus=np.ones(3), weight=np.ones(3),
        remaining=np.full(3, 2e-4), elapsed=np.full(3, wait_s), served=np.zeros(3),
        time_left=np.full(3, np.inf), value=np.ones(3), capacity=np.ones(2),
    )  # fmt: skip
    fractions, instead = solved("ftf", jobs)
    assert instead == ""
    assert fractions.shape == (3, 2)
    assert (fractions.sum(axis=0) <= 1 + 1e-5).all()


def unsolved(*_: object, **__: object) -> None:
    raise UnsolvedError


@pytest.mark.parametrize(
    ("objective", "part", "instead"),
    [
        ("ftf", "finish_time_fairness", "max-min"),
        ("ftf", "level", "equal shares"),
        ("max-min", "level", "equal shares"),
        ("throughput", "solve", "equal shares"),
    ],
)
def test_gavel_says_what_it_follows_where_a_program_has_no_solution(
    objective, part, instead, monkeypatch
):
    pytest.importorskip("scipy")
    run = f"gavel:objective={objective}", TWO_TYPES, [(0, 100, 1), (0, 100, 1)], {"A": {1: 1.0}}
    assert not simulate(*run).warnings
    monkeypatch.setattr(gavel_programs, part, unsolved)
    for name, program in list(PROGRAMS.items()):
        monkeypatch.setitem(PROGRAMS, name, getattr(gavel_programs, program.__name__))
    (warning,) = simulate(*run).warnings
    assert f"programs for objective={objective} had no solution" in warning
    assert warning.endswith(f"; {instead} followed instead")
