"""What a result claims to be: a run that cannot be is named."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from tests.campaigns.tamperings import rebuilt, stored, with_schedule, with_spec
from tests.golden.workload import cluster, urgent


@pytest.fixture(scope="module")
def result() -> gs.Result:
    """A run that admits jobs."""
    jobs = urgent(is_typed=True)
    return stored(gs.simulate(jobs, cluster(), policy="elasticflow", speed="table"))


@pytest.mark.parametrize(("seed", "is_one"), [(2**64 - 1, True), (2**64, False)])
def test_a_seed_has_64_bits(result, seed, is_one):
    problems = with_spec(result, seed=seed).audit().problems
    assert (f"no such run: seed {seed} is not below 2^64" not in problems) == is_one


def test_decisions_have_the_columns_of_decisions_and_one_length(result):
    rows = dict(result.schedule.decisions())
    assert len(rows["job"]) > 2
    fewer = rows | {"job": np.asarray(rows["job"])[:-1]}
    others = {("extra" if name == "job" else name): values for name, values in rows.items()}
    for forged in (fewer, others):
        problems = with_schedule(result, decision_rows=forged).audit().problems
        assert any(problem.startswith("malformed decisions: ") for problem in problems)
    assert rebuilt(result).audit().ok


def test_a_warning_that_is_due_is_missed():
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [3, 4])
    result = stored(
        gs.simulate(jobs, gs.Cluster.uniform(1, 8), policy="serverfilling-srpt", placement="count")
    )
    assert result.audit().ok
    (problem,) = with_schedule(result, warnings=()).audit().problems
    assert problem.startswith("missing warning: 1 jobs have a width that is no power of two")


def test_a_server_with_next_to_no_cpu_refuses_who_asks_for_some():
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [1, 1], cpu=[1, 0])
    cluster = gs.Cluster.uniform(servers=1, gpus=4, cpu=0.0004)
    result = gs.simulate(jobs, cluster, policy="fifo-skip", placement="best-fit")
    assert (result.schedule.reason > 0).tolist() == [True, False]
    result.audit().raise_if_bad()


def test_of_equal_parts_the_fastest_workers_take_what_does_not_divide():
    # Of one sample a round the fast worker takes all, though the cluster names the slow one first:
    # 0.5 s a round, as on the fast one alone.
    profile = gs.model.JobProfile("p", samples_per_s={"slow": 1.0, "fast": 2.0}, global_batch=1)
    jobs = gs.Trace.from_columns([0], [10], [2], profiles=[profile], profile=[0])
    cluster = gs.Cluster((gs.ServerGroup(1, 1, "slow"), gs.ServerGroup(1, 1, "fast")))
    speed = "proportional:split=equal,batches=integer"
    result = gs.simulate(jobs, cluster, policy="fifo", placement="first-fit", speed=speed)
    assert result.schedule.finish_us.tolist() == [10_000_000]
    result.audit().raise_if_bad()
