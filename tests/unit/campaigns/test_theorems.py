"""Every theorem holds on a few instances, and its check notices what breaks it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import gpusched as gs
from tests.campaigns.theorems import THEOREMS, main, row
from tests.examples import number_of
from tests.theorems import backfilling, gang_plans, lower_bounds, primal_dual, server_filling
from tests.theorems import shortest_remaining as srpt
from tests.theorems.theorem import Theorem, kept

pytestmark = pytest.mark.long

pytest.importorskip("scipy")


@pytest.mark.parametrize("name", THEOREMS)
def test_a_theorem_holds_on_a_few_instances(name):
    used = [
        THEOREMS[name].check(seed) for seed in range(number_of(THEOREMS[name].instances // 100))
    ]
    assert all(0 <= part <= 1 + 1e-9 for part in used)


def test_a_promise_that_is_broken_is_counted_and_told():
    def check(seed: int) -> float:
        return kept(3.0 if seed % 2 else 1.0, 2.0, seed)

    told = row(Theorem("t", "says", "1", "nothing", check), 4, seed=0)
    assert "| 4 | 2 | 0.500, 0.500 |" in told
    assert "seed 1: 3.0 is above 2.0" in told


def test_pieces_of_a_run_are_the_instances_of_the_whole_run():
    seen: list[int] = []

    def check(seed: int) -> float:
        seen.append(seed)
        return 1.0

    theorem = Theorem("t", "says", "1", "nothing", check)
    row(theorem, 5, seed=2)
    whole = seen.copy()
    seen.clear()
    row(theorem, 2, seed=2)
    row(theorem, 3, seed=2, first=2)
    assert seen == whole


def test_the_command_prints_a_table_and_refuses_unknown_names(capsys):
    main(["srpt", "--instances", "2"])
    assert "| `srpt` |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["fermat"])


def test_a_head_that_starts_after_its_reservation_is_noticed(monkeypatch):
    # One GPU, busy until 5; the head is promised 5.
    jobs = [backfilling.Job(0, 5, 1, estimate_us=5), backfilling.Job(0, 2, 1, estimate_us=2)]
    monkeypatch.setattr(backfilling, "drawn", lambda _: (jobs, [1], "count"))
    assert backfilling.share(0) == 1.0
    monkeypatch.setattr(backfilling, "_started_us", lambda *_: np.array([0, 6]))
    with pytest.raises(AssertionError, match="job 1 starts at 6, and was promised 5 at 0"):
        backfilling.share(0)


def test_estimates_that_are_too_short_break_the_promise_of_a_head(monkeypatch):
    jobs = [backfilling.Job(0, 9, 1, estimate_us=5), backfilling.Job(0, 2, 1, estimate_us=2)]
    monkeypatch.setattr(backfilling, "drawn", lambda _: (jobs, [1], "count"))
    with pytest.raises(AssertionError, match="was promised 5"):
        backfilling.share(0)


def test_a_policy_that_leaves_gpus_idle_does_not_fill_the_servers(monkeypatch):
    trace = gs.Trace.from_columns([0, 0], [5, 5], [2, 4])
    drawn = (trace, gs.Cluster.uniform(servers=1, gpus=4))
    monkeypatch.setattr(server_filling, "drawn", lambda _: drawn)
    assert server_filling.share(0) == 1.0
    simulate = gs.simulate
    monkeypatch.setattr(
        gs, "simulate", lambda trace, cluster, **_: simulate(trace, cluster, policy="fifo")
    )
    with pytest.raises(AssertionError, match="seed 0: 2 of 6 at 0"):
        server_filling.share(0)


def test_the_least_flow_is_the_one_worked_by_hand():
    # 0-1 the long one, 1-2 and 2-4 the others, then the rest of the long one.
    assert srpt.least_flow([0, 1, 1], [4, 1, 2]) == 7 + 1 + 3


def test_a_bound_above_the_optimum_is_noticed(monkeypatch):
    monkeypatch.setattr(lower_bounds, "least_makespan", lambda *_: 0)
    with pytest.raises(AssertionError, match=r"seed 1: [a-z-]+ is \d+ us, best 0 s"):
        lower_bounds.share("makespan", 1)


def test_a_plan_beyond_its_cap_is_noticed(monkeypatch):
    found = gang_plans.planned(1, 4)
    assert found.phi > 1
    late = found._replace(phi=found.phi / 100)
    monkeypatch.setattr(gang_plans, "planned", lambda *_, **__: late)
    with pytest.raises(AssertionError, match="is above"):
        gang_plans.lemma_share(1)


def test_the_optimum_of_one_job_is_its_value_if_it_can_be_done():
    instance = primal_dual.drawn(0)
    job = instance.jobs[0]
    assert primal_dual.optimum(instance._replace(jobs=[job])) == job.value
    hasty = replace(job, work=1e9)
    assert primal_dual.optimum(instance._replace(jobs=[hasty])) == 0


def test_no_price_is_claimed_for_few_gpus():
    instance = primal_dual.drawn(0)
    with pytest.raises(ValueError, match="above 1, where the theorem says nothing"):
        primal_dual.alpha_of(instance._replace(gpus=dict.fromkeys(instance.gpus, 4)))


def test_admitting_nobody_breaks_the_guarantee_of_the_prices(monkeypatch):
    plan = SimpleNamespace(value=0.0, upper_bound=1e9)
    monkeypatch.setattr(primal_dual, "plan_deadlines", lambda *_, **__: plan)
    with pytest.raises(AssertionError, match="seed 1"):
        primal_dual.checked(1)
