"""Gavel as its authors' simulator runs it, on schedules that can be worked out by hand."""

import numpy as np
import pytest

import gpusched as gs
from gpusched.plugins.schedulers.gavel import SimulatorRounds
from gpusched.plugins.schedulers.gavel_programs import PROGRAMS, Jobs, unaware
from tests.unit.core.schedulers.test_heterogeneous_policies import TWO_TYPES, servers_of, simulate
from tests.unit.core.schedulers.two_types import runs

ONE = gs.Cluster((gs.ServerGroup(1, 1, "A"),))
SAME = {"A": {1: 1.0}}

pytest.importorskip("scipy")


def test_rounds_follow_each_other_and_nobody_starts_within():
    two = gs.Cluster((gs.ServerGroup(2, 1, "A"),))
    jobs = [(3, 100, 1), (10, 5, 1), (12, 50, 1)]
    # The first round begins with the first job; who comes then waits for its end at 33 s.
    result = simulate("gavel:rounds=artefact,round_s=30", two, jobs, SAME)
    assert result.jobs["start_s"].tolist() == [3, 33, 63]


def test_a_round_ends_with_the_last_of_its_jobs():
    result = simulate("gavel:rounds=artefact,round_s=300", ONE, [(0, 20, 1), (5, 10, 1)], SAME)
    assert runs(result) == [(0, 0, 20, 1), (1, 20, 30, 1)]


def test_between_resets_newcomers_wait():
    two = gs.Cluster((gs.ServerGroup(2, 1, "A"),))
    jobs = [(0, 400, 1), (40, 10, 1), (50, 10, 1)]
    policy = "gavel:rounds=artefact,round_s=30"
    # The solution of 0 s does not count as one; that of 60 s does.
    assert simulate(policy, two, jobs, SAME).jobs["start_s"].tolist() == [0, 60, 90]
    late = simulate(f"{policy},reset_s=200", two, [*jobs, (70, 10, 1)], SAME)
    assert late.jobs["start_s"].tolist()[:2] == [0, 60]
    assert late.jobs["start_s"].tolist()[3] >= 260
    assert simulate("gavel:round_s=30,reset_s=200", ONE, jobs, SAME).jobs["finish_s"].max() > 0


def test_who_had_the_least_of_what_is_due_comes_first():
    rounds = SimulatorRounds(1, 100, 0, shuffles=False, idles=False, seed=0)
    for job in (1, 2, 3):
        rounds.meet(job)
    half = {1: np.array([0.5]), 2: np.array([0.5])}
    rounds.reset(0, {})
    assert [job for job, _ in rounds.pairs(half)] == [1, 2, 3]
    rounds.count(1, 0, 100)
    assert [job for job, _ in rounds.pairs(half)] == [2, 1, 3]
    rounds.forget(2)
    assert [job for job, _ in rounds.pairs(half)] == [1, 3]


def test_types_are_shuffled_by_the_seed():
    def order(seed: int) -> list[int]:
        rounds = SimulatorRounds(6, 100, 0, shuffles=True, idles=False, seed=seed)
        rounds.meet(0)
        return [kind for _, kind in rounds.pairs({})]

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(5)}) > 1


def jobs_of(rates: list[list[float]], **more: object) -> Jobs:
    num = len(rates)
    ones = np.ones(num)
    return Jobs(
        rates=np.array(rates), gpus=ones, weight=ones, remaining=10 * ones, elapsed=0 * ones,
        served=0 * ones, time_left=np.full(num, np.inf), value=ones,
        capacity=np.ones(len(rates[0])), **more,
    )  # fmt: skip


def test_a_program_that_is_not_aware_takes_all_types_for_one():
    rates = np.array([[0.5, 1.0], [0.0, 1.0]])
    assert unaware(rates, is_of_first=True).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert unaware(rates, is_of_first=False).tolist() == [[1.0, 1.0], [0.0, 1.0]]
    table = ({"A": {1: 1.0}, "B": {1: 4.0}}, {"A": {1: 1.0}, "B": {1: 1.0}})
    jobs = [(0, 4_000, 1), (0, 4_000, 1)]
    knows = simulate("gavel:rounds=artefact", TWO_TYPES, jobs, *table)
    assert servers_of(knows, 0) == [1]
    blind = simulate("gavel:rounds=artefact,aware=false", TWO_TYPES, jobs, *table)
    assert set(servers_of(blind, 0)) == {0, 1}


def test_throughput_counts_service_or_iterations():
    # One GPU of a type: a second of the first is 1 service and 2 iterations, of the other 1 and 9.
    jobs = jobs_of([[1.0], [0.9]])
    assert PROGRAMS["throughput"](jobs)[:, 0] == pytest.approx([1, 0], abs=1e-5)
    counted = jobs_of([[1.0], [0.9]], iterations=np.array([2.0, 10.0]))
    assert PROGRAMS["throughput"](counted)[:, 0] == pytest.approx([0, 1], abs=1e-5)
    tables = ({"A": {1: 2.0}}, {"A": {1: 9.0}})
    policy = "gavel:objective=throughput,counts=iterations,rounds=artefact"
    result = simulate(policy, ONE, [(0, 500, 1), (0, 500, 1)], *tables)
    assert runs(result)[0][0] == 1


def test_cost_counts_throughput_over_prices():
    jobs = jobs_of([[1.0, 0.5]], price=np.array([3.0, 1.0]))
    assert PROGRAMS["cost"](jobs)[0] == pytest.approx([0, 1], abs=1e-5)
    assert PROGRAMS["throughput"](jobs)[0] == pytest.approx([1, 0], abs=1e-5)
    table = {"A": {1: 1.0}, "B": {1: 0.5}}
    cheap = simulate("gavel:objective=cost,prices=3/1", TWO_TYPES, [(0, 100, 1)], table)
    assert cheap.jobs["finish_s"].tolist() == [200]
    equal = simulate("gavel:objective=cost,prices=3", TWO_TYPES, [(0, 100, 1)], table)
    assert equal.jobs["finish_s"].tolist() == [100]


def test_isolated_shares_are_equal():
    jobs = jobs_of([[1.0, 0.5], [0.5, 1.0], [1.0, 1.0]])
    assert PROGRAMS["isolated"](jobs) == pytest.approx(np.full((3, 2), 1 / 3))
    assert PROGRAMS["isolated"](jobs_of([[1.0, 0.5]])) == pytest.approx(np.full((1, 2), 0.5))


def test_under_allox_a_job_keeps_its_gpu():
    tables = ({"A": {1: 0.5}, "B": {1: 1.0}}, {"A": {1: 0.2}, "B": {1: 1.0}})
    policy = "gavel:objective=allox,rounds=artefact"
    result = simulate(policy, TWO_TYPES, [(0, 500, 1), (0, 200, 1)], *tables)
    # 200 + (200 + 500) on B is less than 1,000 on A and 200 on B; but nobody leaves A idle.
    assert servers_of(result, 1) == [1]
    assert result.schedule.preemptions.tolist() == [0, 0]
    # A wide one keeps what it needs, and those behind it wait.
    four = gs.Cluster((gs.ServerGroup(1, 4, "A"),))
    wide = simulate(policy, four, [(0, 50, 3), (0, 40, 2), (0, 90, 1)], {"A": {1: 1, 2: 1, 3: 1}})
    assert (wide.schedule.status == 0).all()
    assert wide.schedule.preemptions.sum() == 0
