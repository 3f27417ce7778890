"""The policy matching, on schedules that can be worked out by hand."""

from dataclasses import replace
from typing import Any

import pytest

import gpusched as gs
from tests.campaigns.lawful import at_speed, params_of, speeds_of
from tests.campaigns.trials import simulate as simulate_case
from tests.each import each
from tests.reference.cases import cases
from tests.reference.drawing import Seeded
from tests.reference.scales import SECOND, SHAPES
from tests.unit.core.schedulers.test_heterogeneous_policies import (
    TWO_TYPES,
    runs,
    servers_of,
    simulate,
)

OWN = "matching:widths=own"
# A is server 0, B is server 1.
PREFERS_A = {"A": {1: 1.0}, "B": {1: 0.25}}
PREFERS_B = {"A": {1: 0.25}, "B": {1: 1.0}}
FASTER_ON_B = {"A": {1: 0.5}, "B": {1: 1.0}}


@pytest.mark.parametrize("policy", ["matching", "matching:focus=0", OWN])
def test_two_jobs_go_to_the_types_that_suit_them(policy):
    for tables in ((PREFERS_A, PREFERS_B), (PREFERS_B, PREFERS_A)):
        result = simulate(policy, TWO_TYPES, [(0, 100, 1), (0, 100, 1)], *tables)
        assert runs(result) == [(0, 0, 100, 1), (1, 0, 100, 1)]
        assert servers_of(result, 0) == [int(tables[0] is PREFERS_B)]


@each("policy", ["matching", "matching:focus=16", f"{OWN},focus=16", "allox"])
def test_many_jobs_of_all_lengths_and_rates_are_divided_whatever_the_focus(policy):
    # The last of 120 counts (1 / 120)^32 of the first.
    jobs = [(0, 1 + 97 * job % 10_000, 1 + job % 2) for job in range(120)]
    slow = {"A": {1: 1e8, 2: 1.8e8}, "B": {1: 1e-9, 2: 1.8e-9}}
    cluster = gs.Cluster((gs.ServerGroup(8, 8, "A"), gs.ServerGroup(8, 8, "B")))
    tables = (slow, {"A": {1: 10, 2: 18}, "B": {1: 3, 2: 5.5}})
    result = simulate(policy, cluster, jobs, *(tables[job % 2] for job in range(120)))
    assert (result.schedule.status == 0).all()


def test_the_job_that_gains_most_has_the_faster_type():
    # Both are faster on B: 40 s instead of 400 s, or of 80 s.
    much, little = {"A": {1: 0.1}, "B": {1: 1.0}}, FASTER_ON_B
    for tables in ((much, little), (little, much)):
        result = simulate("matching:focus=0", TWO_TYPES, [(0, 40, 1), (0, 40, 1)], *tables)
        assert servers_of(result, tables.index(much))[0] == 1
        assert servers_of(result, tables.index(little))[0] == 0


def test_own_widths_are_kept_where_wider_would_be_faster():
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "A"),))
    curve = {"A": {1: 1.0, 2: 2.0, 4: 4.0}}
    assert runs(simulate(OWN, cluster, [(0, 100, 2)], curve)) == [(0, 0, 100, 2)]
    assert runs(simulate("matching", cluster, [(0, 100, 2)], curve)) == [(0, 0, 50, 4)]


def test_gangs_wider_than_any_type_take_gpus_of_both():
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "A"), gs.ServerGroup(1, 4, "B")))
    jobs = gs.Trace.from_columns([0, 0, 1, 2], [30, 20, 10, 10], [6, 2, 6, 7])
    result = gs.simulate(jobs, cluster, policy="matching")
    # The shortest of those that fit goes first; the wide ones take turns beside job 1.
    assert result.jobs.finish_s.tolist() == [50, 20, 11, 30]
    assert result.schedule.preemptions.tolist() == [2, 0, 0, 0]


def test_elastic_jobs_share_what_there_is_and_the_last_takes_all():
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "A"),))
    curve = {"A": {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}}
    done = runs(simulate("matching:focus=0", cluster, [(0, 90, 1), (0, 60, 1)], curve))
    assert done == [(0, 0, 30, 2), (1, 0, 30, 2), (0, 30, 37.5, 4)]


def test_focus_gives_the_short_job_more():
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "A"),))
    curve = {"A": {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}}
    jobs = [(0, 400, 1), (0, 100, 1)]
    widths = [
        {run[0]: run[3] for run in runs(simulate(policy, cluster, jobs, curve)) if run[1] == 0}
        for policy in ("matching", "matching:focus=0")
    ]
    # The square-root rule of the sum gives the long one most.
    assert widths == [{0: 1, 1: 3}, {0: 3, 1: 1}]


def test_a_spread_gang_that_fills_a_server_moves_there_once_it_is_free():
    # Over both servers the gang of 4 is ten times as slow as on one. At 50 s, when job 0 ends,
    # it has done 49 x 0.1 of 400 s.
    profile = gs.model.JobProfile(
        "p", throughput={"A": {2: 2.0, 4: 4.0}}, spread_throughput={"A": {2: 0.2, 4: 0.4}}
    )
    trace = gs.Trace.from_columns(
        [0, 0, 1], [50, 400, 400], [2, 2, 4], profiles=[profile], profile=[0, 0, 0]
    )
    cluster = gs.Cluster.uniform(servers=2, gpus=4, gpu_type="A")
    result = gs.simulate(trace, cluster, policy=OWN, speed="table", placement="worst-fit")
    assert servers_of(result, 2) == [0, 1, 0]
    assert result.schedule.finish_us.tolist() == [50_000_000, 400_000_000, 445_100_000]


def waits_for_a_faster_gpu(policy: str, **columns: Any) -> gs.Result:
    """Job 0 is on the slow type until job 1 leaves the fast one at 100 s, with 500 s of its own."""
    jobs = [(0, 550, 1), (0, 100, 1)]
    tables = ({"A": {1: 0.5}, "B": {1: 1.0}}, {"A": {1: 0.01}, "B": {1: 1.0}})
    return simulate(policy, TWO_TYPES, jobs, *tables, **columns)


def test_a_job_moves_to_a_faster_type_that_falls_idle():
    result = waits_for_a_faster_gpu(OWN)
    assert servers_of(result, 0) == [0, 1]
    assert runs(result)[-1] == (0, 100, 600, 1)


def test_a_restart_weighs_against_a_move():
    # There 500 s are left; where it is, 1000 s.
    assert servers_of(waits_for_a_faster_gpu(OWN, restart_s=[400, 400]), 0) == [0, 1]
    assert servers_of(waits_for_a_faster_gpu(OWN, restart_s=[600, 600]), 0) == [0]


def test_the_old_placement_stays_unless_the_gain_exceeds_the_hysteresis():
    assert servers_of(waits_for_a_faster_gpu(f"{OWN},hysteresis=0.4"), 0) == [0, 1]
    assert servers_of(waits_for_a_faster_gpu(f"{OWN},hysteresis=0.6"), 0) == [0]


@pytest.mark.parametrize("policy", ["matching", OWN])
def test_the_jobs_with_the_most_left_wait_where_there_are_too_many(policy):
    jobs = [(0, 300, 1), (0, 100, 1), (0, 200, 1)]
    result = simulate(policy, TWO_TYPES, jobs, {"A": {1: 1.0}, "B": {1: 1.0}})
    assert runs(result) == [(1, 0, 100, 1), (2, 0, 200, 1), (0, 100, 400, 1)]


def test_a_shorter_job_that_comes_takes_the_gpus_of_the_longest():
    jobs = [(0, 300, 1), (0, 100, 1), (50, 10, 1)]
    result = simulate(OWN, TWO_TYPES, jobs, {"A": {1: 1.0}, "B": {1: 1.0}})
    assert (2, 50, 60, 1) in runs(result)
    assert result.schedule.preemptions.tolist() == [1, 0, 0]


def test_wide_gangs_count_as_much_as_narrow_ones_at_own_widths():
    # Two wide and one narrow have 100 s left on average GPUs; the wide ones lose more on A.
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "A"), gs.ServerGroup(1, 4, "B")))
    wide = {"A": {4: 0.5}, "B": {4: 1.0}}
    narrow = {"A": {1: 0.6}, "B": {1: 1.0}}
    result = simulate(f"{OWN},focus=1", cluster, [(0, 100, 4), (0, 100, 1)], wide, narrow)
    assert servers_of(result, 0)[0] == 1
    assert servers_of(result, 1)[0] == 0


def test_gangs_that_keep_their_widths_are_of_one_type_though_several_would_add_up():
    cluster = gs.Cluster((gs.ServerGroup(1, 2, "A"), gs.ServerGroup(1, 2, "B")))
    profile = gs.model.JobProfile("p", samples_per_s={"A": 1.0, "B": 3.0}, global_batch=12)
    trace = gs.Trace.from_columns([0, 0], [60, 60], [2, 2], profiles=[profile], profile=[0, 0])
    mixed, own = (
        gs.simulate(trace, cluster, policy=policy, speed="proportional", placement="best-fit")
        for policy in ("matching:focus=0", f"{OWN},focus=0")
    )
    # The sum of completion times as they stand is less with one GPU of each type for both.
    assert mixed.schedule.finish_us.tolist() == [90e6, 90e6]
    assert own.schedule.finish_us.tolist() == [60e6, 100e6]


def test_jobs_that_wait_count_as_much_as_what_delays_them():
    little, much = {"A": {1: 0.8}, "B": {1: 1.0}}, FASTER_ON_B
    first = []
    for waiting in (0, 8):
        jobs = [(0, 100, 1), (0, 200, 1), *[(0, 1000, 1)] * waiting]
        result = simulate(OWN, TWO_TYPES, jobs, little, much, *[little] * waiting)
        first.append([servers_of(result, job)[0] for job in (0, 1)])
    # Two alone: the shorter one has the faster GPU. Before eight others: the one it speeds up most.
    assert first == [[1, 0], [0, 1]]


def test_between_periods_idle_gpus_alone_are_given_out():
    table = {"A": {1: 1.0}, "B": {1: 1.0}}
    jobs = [(0, 300, 1), (0, 300, 1), (10, 20, 1)]
    at_once = simulate(OWN, TWO_TYPES, jobs, table)
    later = simulate(f"{OWN},period_s=100", TWO_TYPES, jobs, table)
    assert at_once.schedule.start_us[2] == 10e6
    assert later.schedule.start_us[2] == 100e6


@each(
    ("text", "message"),
    [
        ("matching:widths=wide", "widths"),
        ("matching:focus=-1", "focus"),
        ("matching:focus=17", "focus"),
        ("matching:hysteresis=1", "hysteresis"),
        ("matching:draws=0", "draws"),
        ("matching:beta=2", "beta"),
    ],
)
def test_bad_parameters_are_refused_by_name(text, message):
    with pytest.raises(ValueError, match=f"matching.*{message}"):
        simulate(text, TWO_TYPES, [(0, 10, 1)], PREFERS_A)


@each(
    ("seed", "digest"),
    [
        # What the market gives is taken only where the workers' memory holds the batch.
        (33, "3c37cac6b6ffbb1d"),
        (85, "11f7d33715fd6579"),
        # Of several types it is asked of all workers, not of those of the first type.
        (61, "0e42f4d1a99d58a7"),
        (302, "fb6d80f5fc6f5cf1"),
    ],
)
def test_mixed_workers_of_little_memory_are_matched_as_they_were(seed, digest):
    source = Seeded(seed)
    placement = source.one_of(("consolidated", "first-fit", "random"))
    case = cases.draw(source, "matching", placement, scales=SHAPES).at(20 * SECOND)
    case = replace(case, policy_params=params_of(source, "matching"))
    case = at_speed(source, case, source.one_of(speeds_of("matching")))
    assert case.speed == "proportional"
    result = simulate_case(case)
    result.audit().raise_if_bad()
    assert result.digest.startswith(digest)
