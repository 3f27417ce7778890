"""Placing jobs by a matching market, and packers by hand: what they promise and refuse."""

import itertools
import re
import threading
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched import _core
from gpusched._core import _testing
from gpusched.online.market import place_jobs
from gpusched_papers.matching import draw_classes
from gpusched_papers.matching import drawn as draw
from tests.each import each
from tests.random_solvers import optimum

OFF: dict[str, Any] = {"enumerate_up_to": 0}


def brute_force(instance: Any) -> float:
    """The least mean completion over all ways to give every worker to a job."""
    jobs, workers = instance.rates.shape
    owners = np.array(list(itertools.product(range(jobs), repeat=workers)), dtype=np.int8)
    total = np.zeros(len(owners))
    for job in range(jobs):
        mine = owners == job
        count = mine.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ring = 2 * (count - 1) / count * instance.gradient_bytes[job] / 1.25e9
            seconds = instance.rounds[job] * (1e5 / (mine @ instance.rates[job]) + ring)
        total += np.where(count > 0, seconds, np.inf)
    return float(total.min()) / jobs


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_optimum_equals_brute_force(seed):
    instance = draw(3, 9, seed)
    found = place_jobs(**instance.arguments(), sampler="exact", guard=0.0)
    assert found.is_optimal
    assert found.mean_jct_s == pytest.approx(brute_force(instance), rel=1e-9)
    assert found.gap < 1e-8


def test_a_decision_is_close_to_the_proven_optimum_and_far_from_enumerating():
    gaps = []
    for seed in range(12):
        arguments = draw(4, 15, seed).arguments()
        ours = place_jobs(**arguments, **OFF)
        best = place_jobs(**arguments, sampler="exact", guard=0.0)
        assert best.is_optimal
        assert ours.lower_bound_s <= best.mean_jct_s * (1 + 1e-9)
        assert ours.num_categories == 364
        gaps.append(ours.mean_jct_s / best.mean_jct_s - 1)
        assert ours.fairness >= 0.9
    assert max(gaps) <= 0.0204
    assert np.mean(gaps) <= 0.002


def test_all_clearings_find_the_value_of_scipy():
    random = np.random.default_rng(0)
    for _ in range(50):
        rates = random.uniform(1, 9, (3, 8))
        category = [2, 1, 4]
        core = _core.MatchingProblem(
            rate=rates.ravel(),
            capacity=np.ones(8, dtype=np.int32),
            rounds=np.ones(3),
            samples=np.ones(3),
        )
        places = np.repeat(rates, category, axis=0)
        best = -optimum(-places)
        for clearing in ("transportation", "jonker-volgenant", "auction"):
            options = {"clearing": clearing, "valuation": "raw", "polish": False, "guard": 0.0}
            found = _testing.clear_category(core, category, options)
            value = float((found.counts.reshape(3, 8) * rates).sum())
            assert value == pytest.approx(best, rel=1e-6)


def test_equal_workers_are_one_class_and_are_dealt_once():
    classes = draw_classes(4, 6, 0)
    single = np.repeat(classes.rates, classes.capacity, axis=1)
    by_class = place_jobs(**classes.arguments(), **OFF)
    arguments = classes.arguments() | {"rates": single, "capacity": None}
    by_worker = place_jobs(**arguments, **OFF)
    assert by_worker.mean_jct_s == by_class.mean_jct_s
    assert by_worker.counts.reshape(4, 3, 6).sum(axis=2).tolist() == by_class.counts.tolist()
    held = np.concatenate(by_class.workers)
    assert len(set(held.tolist())) == len(held) == by_class.counts.sum()
    assert np.array_equal(np.sort(held), np.sort(np.concatenate(by_worker.workers)))


def test_the_market_s_seconds_are_those_of_its_batches():
    instance = draw(3, 9, 5)
    found = place_jobs(**instance.arguments())
    for job, workers in enumerate(found.workers):
        samples = found.samples[job, workers]
        assert samples.sum() == pytest.approx(1e5)
        ends = samples / instance.rates[job, workers]
        assert ends == pytest.approx(np.full(len(workers), ends[0]))
    assert found.job_s == pytest.approx(instance.job_s(found.counts))
    equal = place_jobs(**instance.arguments(), split="equal")
    assert equal.job_s == pytest.approx(instance.job_s(equal.counts, "equal"))
    assert equal.mean_jct_s > found.mean_jct_s


def test_uniform_draws_are_uniform_over_the_categories():
    """Every category of 3 jobs on 6 workers comes equally often."""
    seen: dict[tuple[int, ...], int] = {}
    for seed in range(400):
        found = _testing.draw_category(
            np.ones(3, dtype=np.int32), np.full(3, 6, dtype=np.int32), 6, seed
        )
        seen[tuple(found)] = seen.get(tuple(found), 0) + 1
    assert len(seen) == 10
    assert all(sum(category) == 6 for category in seen)
    assert min(seen.values()) > 15
    assert max(seen.values()) < 75


def test_more_jobs_than_workers_the_shortest_go_first():
    rates = np.ones((5, 3))
    found = place_jobs(rates, rounds=[5, 1, 4, 2, 3], round_samples=1.0)
    assert found.waits.tolist() == [True, False, True, False, False]
    assert np.isnan(found.job_s[0])
    assert found.mean_jct_s == pytest.approx(2.0)
    assert "waits" in str(found)


def test_a_job_waits_where_others_need_the_only_worker_it_can_use():
    rates = [[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]
    found = place_jobs(rates, rounds=[2, 1, 9], round_samples=1.0)
    assert found.waits.tolist() == [True, False, False]
    moved = place_jobs([[1.0, 1.0], [1.0, 0.0]], rounds=[1, 2], round_samples=1.0)
    assert moved.counts.tolist() == [[0, 1], [1, 0]]


def test_a_small_gain_is_not_worth_a_restart():
    instance = draw(4, 15, 2)
    first = place_jobs(**instance.arguments())
    again = place_jobs(**instance.arguments(), previous=first.counts, restart_s=10.0)
    assert again.is_kept
    assert np.array_equal(again.counts, first.counts)
    assert again.mean_jct_s == first.mean_jct_s
    bad = np.zeros((4, 15), dtype=int)
    bad[np.arange(15) % 4, np.arange(15)] = 1
    moved = place_jobs(**instance.arguments(), previous=bad, restart_s=1.0)
    assert not moved.is_kept
    kept = place_jobs(**instance.arguments(), previous=bad, restart_s=1.0, hysteresis=0.9)
    assert kept.is_kept
    assert np.array_equal(kept.counts, bad)


def test_newcomers_get_idle_workers_and_nobody_moves():
    previous = np.zeros((3, 6), dtype=int)
    previous[0, :2] = previous[1, 2:4] = 1
    rates = np.arange(1.0, 7.0) * np.ones((3, 1))
    found = place_jobs(
        rates, rounds=[5.0, 5.0, 5.0], round_samples=10.0, previous=previous, restart_s=100.0
    )
    assert np.array_equal(found.counts[:2], previous[:2])
    assert found.counts[2].tolist() == [0, 0, 0, 0, 1, 1]


def test_idle_workers_where_the_ring_costs_more_than_they_save():
    found = place_jobs(
        np.ones((2, 6)), rounds=1.0, round_samples=1.0, gradient_bytes=1e10, bandwidth_gbps=1.0
    )
    assert found.num_workers.tolist() == [1, 1]


def test_limits_of_workers_guard_and_memory_hold():
    rates = np.ones((3, 12))
    arguments: dict[str, Any] = {"rounds": [1.0, 1.0, 1000.0], "round_samples": 10.0}
    assert place_jobs(rates, **arguments, guard=0.0).num_workers.min() == 1
    assert place_jobs(rates, **arguments, guard=0.5).num_workers.min() == 2
    found = place_jobs(rates, **arguments, min_workers=[1, 4, 1], max_workers=[12, 12, 6])
    assert found.num_workers.tolist() == [2, 4, 6]
    limits = np.zeros((3, 12))
    limits[0] = 2.0
    found = place_jobs(rates, **arguments, max_samples=limits, guard=0.0)
    assert found.num_workers[0] == 5
    assert found.samples[0].max() <= 2.0


def test_fairness_counts_as_much_as_it_is_asked_to():
    arguments = draw(4, 15, 4).arguments() | OFF
    whole = [place_jobs(**arguments, beta=beta) for beta in (1.0, 0.5, 0.0)]
    assert whole[0].score == whole[0].mean_jct_s
    assert whole[0].fairness <= whole[2].fairness
    assert whole[2].fairness == pytest.approx(1.0)
    half = whole[1]
    assert half.score == pytest.approx(half.mean_jct_s * (0.5 + 0.5 * (1 - half.fairness)))


def test_the_same_arguments_give_the_same_decision():
    arguments = draw(6, 24, 0).arguments() | OFF
    first, second = (place_jobs(**arguments, seed=3) for _ in range(2))
    assert np.array_equal(first.counts, second.counts)
    assert np.array_equal(first.price, second.price)
    assert first.categories_tried == second.categories_tried


def test_prices_are_what_a_worker_is_worth():
    instance = draw_classes(6, 10, 1)
    found = place_jobs(**instance.arguments())
    assert np.all(np.diff(found.price) > 0)  # faster types cost more
    for column in range(3):
        more = instance.arguments()
        more["capacity"] = instance.capacity + (np.arange(3) == column)
        saved = 6 * (found.mean_jct_s - place_jobs(**more).mean_jct_s)
        assert saved == pytest.approx(found.price[column], rel=0.5)


def test_the_table_of_a_decision_reads_well():
    found = place_jobs(
        [[1.0, 2.0], [2.0, 1.0]], rounds=3.0, round_samples=4.0, capacity=[2, 2],
        labels=["T4", "V100"],
    )  # fmt: skip
    text = str(found)
    assert "2 jobs: mean completion" in text
    assert "2 V100" in text
    assert found.to_polars().columns == ["job", "workers", "held", "job_s", "equal_s"]
    assert "categories_tried" in repr(found)


GOOD: dict[str, Any] = {"rates": np.ones((2, 3)), "rounds": 1.0, "round_samples": 1.0}


@each(
    ("change", "message"),
    [
        ({"rates": [1.0, 2.0]}, r"rates: has shape \(2,\)"),
        ({"rates": [[1.0, np.nan], [1.0, 1.0]]}, r"rates\[0, 1\]: nan must be at least 0"),
        ({"rates": [[1.0, -1.0], [1.0, 1.0]]}, r"rates\[0, 1\]: -1.0 must be at least 0"),
        ({"rates": [[1.0, 1.0], [0.0, 0.0]]}, r"rates\[1\]: all 0: no worker can run job 1"),
        ({"rounds": [1.0, 2.0, 3.0]}, r"rounds: has shape \(3,\), not \(2,\)"),
        ({"rounds": [1.0, 0.0]}, r"rounds\[1\]: 0 must be positive"),
        ({"round_samples": np.inf}, r"round_samples\[0\]: inf must be positive and finite"),
        ({"gradient_bytes": -1.0}, r"gradient_bytes\[0\]: -1 must be at least 0"),
        ({"bandwidth_gbps": 0.0}, r"bandwidth_gbps\[0\]: 0 must be positive"),
        ({"capacity": [1, 1]}, r"capacity: has shape \(2,\), not \(3,\)"),
        ({"capacity": [1, -1, 1]}, r"capacity\[\d\]: -1 must be at least 0"),
        ({"capacity": [1, 1.5, 1]}, r"capacity: must hold whole numbers"),
        ({"labels": ["a"]}, r"labels: has 1 names for 3 columns"),
        ({"min_workers": [4, 1]}, r"min_workers\[0\]: 4, but only 3 workers can run job 0"),
        ({"max_workers": [0, 1]}, r"max_workers\[0\]: 0 must be at least 1"),
        ({"min_workers": 2, "max_workers": 1}, r"max_workers\[0\]: 1 is less than min_workers"),
        ({"max_samples": np.full((2, 3), 0.1)}, r"max_samples: the 1 samples of job 0 do not fit"),
        ({"max_samples": np.ones((2, 2))}, r"max_samples: has shape \(2, 2\)"),
        ({"previous": np.ones((2, 3))}, r"previous: worker 0 is held 2 times; its capacity is 1"),
        ({"previous": np.ones((3, 3))}, r"previous: has shape \(3, 3\)"),
        ({"previous": np.full((2, 3), 0.5)}, r"previous: must hold whole numbers"),
        ({"beta": 2.0}, "beta: must lie between 0 and 1"),
        ({"guard": -0.1}, "guard: must lie between 0 and 1"),
        ({"hysteresis": 1.0}, "hysteresis: must be at least 0"),
        ({"draws": 0}, "draws: must be at least 1"),
        ({"seed": -1}, "seed: -1 must lie between"),
        ({"sampler": "best"}, "sampler: 'best' is unknown; allowed: seeded, uniform, enumerate"),
        ({"clearing": "x"}, "clearing: 'x' is unknown; allowed: transportation"),
        ({"valuation": "x"}, "valuation: 'x' is unknown; allowed: iterated"),
        ({"split": "x"}, "split: 'x' is unknown; allowed: proportional"),
        ({"sampler": "exact", "beta": 0.5}, "beta: must be 1 for the exact optimum"),
        ({"sampler": "exact", "split": "equal"}, "optimum does not support an equal split"),
    ],
)
def test_a_mistake_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        place_jobs(**(GOOD | change))


def test_too_many_categories_are_not_enumerated():
    with pytest.raises(ValueError, match="sampler: too many categories"):
        place_jobs(np.ones((30, 100)), rounds=1.0, round_samples=1.0, sampler="enumerate")


def test_sixty_four_jobs_on_five_hundred_workers_are_decided_well():
    instance = draw_classes(64, 128, 0, (300.0, 700.0, 1500.0, 2200.0))
    found = place_jobs(**instance.arguments())
    assert found.gap < 0.02
    assert found.counts.sum(axis=0).max() <= 128
    assert found.fairness > 0.9


def test_a_place_for_which_only_workers_of_no_use_are_left_stays_empty():
    rates = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 3.0], [2.0, 2.0, 0.0]])
    problem = _core.MatchingProblem(
        rate=rates.ravel(), capacity=np.full(3, 3, np.int32), rounds=np.array([3.0, 6.0, 1.0]),
        samples=np.full(3, 10.0), gradient_bytes=np.full(3, 5e9), bytes_per_s=np.full(3, 1.25e9),
    )  # fmt: skip
    found = _testing.clear_category(problem, [4, 3, 2], {"guard": 0.0, "polish": False})
    assert found.counts.reshape(3, 3).tolist() == [[0, 3, 1], [2, 0, 1], [1, 0, 0]]


SIX = gs.Cluster((gs.ServerGroup(1, 4), gs.ServerGroup(1, 2)))


def batch(*jobs: tuple[float, int]) -> gs.Trace:
    """Jobs of (seconds, GPUs), submitted at once."""
    service_s, gpus = zip(*jobs, strict=True)
    return gs.Trace.from_columns(submit_s=[0] * len(jobs), service_s=service_s, gpus=gpus)


def bind(
    trace: gs.Trace, cluster: gs.Cluster = SIX, policy: str = "sjf-bco", **options: Any
) -> list[dict[int, tuple[int, ...]]]:
    """Who gets which GPUs under a cap that hinders nobody."""
    options = {"contention": "none", "theta_s": 1000, "u": 1} | options
    plan = gs.online.plan(trace, cluster, policy=policy, **options)
    return [plan.allocation(job) for job in range(len(trace))]


def test_narrow_gangs_go_where_they_leave_the_fewest_gpus():
    assert bind(batch((10, 2)), kappas=[8]) == [{1: (0, 1)}]
    assert bind(batch((10, 3)), kappas=[8]) == [{0: (0, 1, 2)}]


def test_narrow_gangs_join_servers_that_host_jobs():
    # The second would fit the other server better.
    assert bind(batch((10, 3), (10, 4)), kappas=[8]) == [{0: (0, 1, 2)}, {0: (0, 1, 2, 3)}]
    assert bind(batch((10, 3), (10, 3)), kappas=[8])[1] == {0: (0, 1, 3)}


def test_a_narrow_gang_that_no_server_holds_takes_the_largest_and_the_best_fit():
    cluster = gs.Cluster((gs.ServerGroup(1, 4), gs.ServerGroup(1, 4), gs.ServerGroup(1, 1)))
    assert bind(batch((10, 5)), cluster, kappas=[8]) == [{0: (0, 1, 2, 3), 2: (0,)}]


def test_of_servers_with_as_many_gpus_the_one_that_hosts_jobs_is_filled():
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "A"), gs.ServerGroup(1, 4, "B")))
    jobs = gs.Trace.from_columns(
        submit_s=[0, 0], service_s=[9, 9], gpus=[1, 5], gpu_types=["B", ""]
    )
    assert bind(jobs, cluster, kappas=[8]) == [{1: (0,)}, {0: (0,), 1: (0, 1, 2, 3)}]


def test_a_server_hosts_a_job_no_longer_than_it_runs():
    jobs = gs.Trace.from_columns(submit_s=[0, 6], service_s=[5, 5], gpus=[3, 1])
    assert gs.simulate(jobs, SIX, policy="sjf-bco").intervals["server"].tolist() == [0, 1]


def test_the_cap_sends_a_gang_elsewhere():
    jobs = batch((6, 1), (6, 1), (6, 1))
    assert bind(jobs, kappas=[8]) == [{1: (0,)}, {1: (1,)}, {1: (0,)}]
    assert bind(jobs, kappas=[8], theta_s=11) == [{1: (0,)}, {1: (1,)}, {0: (0,)}]


def test_wide_gangs_go_to_the_servers_with_the_least_work():
    jobs = batch((6, 1), (5, 1), (4, 2))
    # One GPU each; then the mean of the server of four is 6 / 4, that of the server of two 5 / 2.
    assert bind(jobs, kappas=[0]) == [{0: (0,)}, {1: (0,)}, {0: (1, 2)}]
    # A pool of three per GPU asked for is never the small server alone.
    assert bind(jobs, kappas=[0], lambda_=3) == [{0: (0,)}, {0: (1,)}, {0: (2, 3)}]


def test_the_baselines_choose_as_they_are_named():
    jobs = batch((5, 1), (3, 5), (4, 2))
    assert bind(jobs, policy="ff") == [{0: (0,)}, {0: (0, 1, 2, 3), 1: (0,)}, {0: (0, 1)}]
    assert bind(jobs, policy="ls") == [{0: (0,)}, {0: (1, 2, 3), 1: (0, 1)}, {0: (1, 2)}]
    drawn = {str(bind(jobs, policy="rand", seed=seed)) for seed in range(8)}
    assert len(drawn) > 4


def test_the_theorem_ties_by_the_least_busy_gpu():
    jobs = batch((6, 1), (6, 1), (6, 1))
    assert bind(jobs, kappas=[8], tie="least-u") == [{0: (0,)}, {0: (1,)}, {0: (2,)}]


def test_narrow_gangs_are_bound_first_and_baselines_take_jobs_as_they_come():
    jobs = batch((5, 4), (5, 1))
    assert bind(jobs, policy="ls")[1] == {1: (0,)}
    assert bind(jobs, policy="ls", order="width")[1] == {0: (0,)}
    assert bind(jobs, kappas=[0])[1] == {0: (0,)}
    assert bind(jobs, kappas=[0], order="submit")[1] == {1: (0,)}


def test_a_cap_that_shuts_a_job_out_is_raised_just_enough():
    plan = gs.online.plan(batch((5, 6), (7, 6)), SIX, contention="none", theta_s=6, u=1, kappas=[8])
    assert plan.theta_s == 12
    result = gs.simulate(plan.result.trace, SIX, policy="sjf-bco:mode=queue,theta_s=6,u=1")
    assert "theta_s was raised 1 times, finally to 12.000000 s" in result.warnings[0]
    assert "the cap theta_s was checked with true run times" in result.warnings
    assert not gs.simulate(plan.result.trace, SIX, policy="sjf-bco").warnings


def test_a_job_whose_pool_is_over_the_cap_starts_once_nothing_runs():
    # At 8 s four GPUs are under the cap, but only three of the pool: the server with less work.
    cluster = gs.Cluster((gs.ServerGroup(1, 4), gs.ServerGroup(1, 1)))
    jobs = gs.Trace.from_columns(submit_s=[0, 6, 7], service_s=[8, 3, 2], gpus=[1, 1, 4])
    result = gs.simulate(jobs, cluster, policy="sjf-bco:kappa=0,theta_s=8,u=1")
    assert (result.schedule.start_us / 1e6).tolist() == [0, 6, 9]
    assert "to 10.000000 s" in result.warnings[0]


def test_in_queue_no_gpu_waits_for_a_gang_unless_it_serves_in_order():
    # The gang lacks the first GPU until 9 s; those after it are bound to the second one.
    two = gs.Cluster((gs.ServerGroup(2, 1),))
    jobs = gs.Trace.from_columns(submit_s=[0, 1, 2, 3], service_s=[9, 9, 5, 3], gpus=[1, 2, 1, 1])

    def starts(start: str) -> list[float]:
        result = gs.simulate(jobs, two, policy=f"ls:mode=queue,start={start},u=1")
        return (result.schedule.start_us / 1e6).tolist()

    assert starts("ready") == [0, 10, 2, 7]
    assert starts("in-order") == [0, 9, 18, 23]


def test_idle_starts_only_on_idle_gpus_and_others_pass_what_waits():
    jobs = gs.Trace.from_columns(submit_s=[0, 1, 2], service_s=[10, 5, 3], gpus=[5, 2, 1])
    for policy in ("sjf-bco", "ff", "ls", "rand"):
        result = gs.simulate(jobs, SIX, policy=policy)
        assert (result.schedule.start_us / 1e6).tolist() == [0, 10, 2], policy


def test_gangs_wider_than_any_packed_placement_would_take_are_run():
    # A consolidated placement refuses the gang; these policies do not ask it.
    cluster = gs.Cluster((gs.ServerGroup(3, 2), gs.ServerGroup(1, 4)))
    jobs = batch((3, 9), (3, 11))
    result = gs.simulate(jobs, cluster, policy="sjf-bco", placement="consolidated")
    assert result.schedule.status.tolist() == [0, 1]


def test_kappas_between_two_widths_give_one_plan():
    jobs = batch((5, 1), (3, 4), (4, 2), (9, 1))
    plan = gs.online.plan(jobs, SIX, contention="none", kappas=[3, 2, 4, 100])
    rows = [{**vars(known), "kappa": None} for known in plan.candidates]
    assert rows[0] == rows[1]
    assert rows[2] == rows[3]
    assert [known.kappa for known in plan.candidates] == [3, 2, 4, 100]
    default = gs.online.plan(jobs, SIX, contention="none")
    assert [known.kappa for known in default.candidates] == [0, 1, 2, 4]


def test_a_plan_shows_what_it_is():
    plan = gs.online.plan(batch((5, 1), (3, 4), (4, 2)), SIX, contention="none", kappas=[2], u=1)
    assert re.fullmatch(
        r"Plan\(policy='sjf-bco:kappa=2,mode=queue,theta_s=\S+,u=1', "
        r"chosen=PlanCandidate\(.*\), lower_bound_s=5\.0\)",
        repr(plan),
    )
    table = plan.table()
    assert isinstance(table, pl.DataFrame)
    assert table["theta_s"].to_list() == [plan.theta_s]
    assert plan.kappa == 2
    assert plan.busy_s.sum() == pytest.approx(5 + 12 + 8)
    np.testing.assert_allclose(plan.planned_busy_s, plan.busy_s)
    assert plan.makespan_s == plan.result.summary()["makespan_s"]
    assert plan.mean_jct_s == pytest.approx(plan.result.summary()["mean_jct_s"])
    with pytest.raises(IndexError, match="job: 3 is not one of 3 jobs"):
        plan.allocation(3)


def test_the_text_of_a_plan_runs_it_again():
    jobs = batch(*[(3 + i % 7, 1 + i % 5) for i in range(20)])
    plan = gs.online.plan(jobs, SIX, contention="none")
    again = gs.simulate(jobs, SIX, policy=plan.policy)
    assert again.digest == plan.result.digest


def test_idle_takes_the_cap_alone_from_the_plan():
    jobs = batch(*[(3 + i % 7, 1 + i % 5) for i in range(20)])
    plan = gs.online.plan(jobs, SIX, contention="none", mode="idle", kappas=[2])
    assert plan.policy.startswith("sjf-bco:kappa=2,mode=idle,theta_s=")
    assert plan.theta_s == gs.online.plan(jobs, SIX, contention="none", kappas=[2]).theta_s


def test_contention_lengthens_a_plan_and_needs_profiles():
    profile = gs.model.JobProfile(
        name="p", gradient_bytes=1e9, batch=1, forward_s=0.01, backward_s=0.01
    )
    cluster = gs.Cluster((gs.ServerGroup(3, 2, nic_gbps=10, intra_gbps=100),))
    jobs = batch((5, 3), (5, 3))
    with pytest.raises(ValueError, match="profile"):
        gs.online.plan(jobs, cluster)
    plan = gs.online.plan(jobs.with_profiles((profile,)), cluster, policy="ls", u=1)
    assert plan.chosen.planned_makespan_s == 5
    assert plan.makespan_s > 5
    assert plan.result.spec.contention == "shared"


def test_planning_works_outside_of_the_main_thread():
    plans: list[gs.online.Plan] = []
    jobs = batch((5, 1))
    thread = threading.Thread(
        target=lambda: plans.append(gs.online.plan(jobs, SIX, contention="none"))
    )
    thread.start()
    thread.join()
    assert plans[0].makespan_s == 5


@each(
    ("options", "message"),
    [
        ({"policy": "fifo"}, "policy fifo: cannot plan, since it does not bind jobs to GPUs"),
        ({"policy": "sjf-bcoo"}, "did you mean 'sjf-bco'"),
        ({"policy": "ls", "kappas": [1]}, "kappas: policy ls has no parameter kappa"),
        ({"policy": "ls", "tie": "least-u"}, "policy ls: unknown parameter 'tie'"),
        ({"policy": "sjf-bco:kappa=2", "kappas": [1]}, "kappa is also given by kappas"),
        ({"policy": "sjf-bco:u=2", "u": 1}, "u is also given as an argument"),
        ({"kappas": []}, "kappas: must not be empty"),
        ({"kappas": [-1]}, "parameter kappa is -1"),
        ({"theta_s": 0}, "theta_s: 0 must be positive"),
        ({"theta_s": float("nan")}, "theta_s: nan must be positive"),
        ({"lambda_": 0.5}, "parameter lambda is 0.5"),
        ({"mode": "later"}, "parameter mode is 'later'"),
        ({"tolerance": -1}, "tolerance: must be at least 0"),
        ({"seed": -1}, "seed: -1 must lie between 0 and 2"),
    ],
)
def test_a_mistake_is_named_in_cap_search(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        gs.online.plan(batch((5, 1)), SIX, **{"contention": "none"} | options)


def test_a_plan_is_of_a_batch_that_fits():
    late = gs.Trace.from_columns(submit_s=[0, 0, 2], service_s=[1, 1, 1], gpus=[1, 1, 1])
    with pytest.raises(ValueError, match=r"submit_s\[2\] is 2 and submit_s\[0\] is 0: .* batch"):
        gs.online.plan(late, SIX, contention="none")
    with pytest.raises(ValueError, match=r"gpus\[1\] is 7; the cluster has fewer GPUs"):
        gs.online.plan(batch((5, 1), (5, 7)), SIX, contention="none")
    with pytest.raises(TypeError, match="trace: expected a Trace"):
        gs.online.plan([], SIX)
