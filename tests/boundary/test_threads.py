"""Runs in parallel threads are the runs they would be alone."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from tests.boundary.workloads import CLUSTER, FirstFit, ShortestFirst, Strict, trace
from tests.time_limit import time_limit

POLICIES = ["fifo", "sjf", "srtf", "2d-las", "easy", "conservative", "random"]


@pytest.fixture(autouse=True)
def restless():
    """Let threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(*calls: Callable[[], Any]) -> list[Any]:
    """Start all calls at one moment, each in a thread; return what they return."""
    gate = threading.Barrier(len(calls))

    def one(call: Callable[[], Any]) -> Any:
        gate.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(one, call) for call in calls]]


@pytest.mark.parametrize("placement", ["count", "consolidated", "random"])
def test_native_runs_that_share_a_trace_do_not_disturb_each_other(placement):
    jobs = trace(400)

    def digest(policy: str) -> str:
        return gs.simulate(jobs, CLUSTER, policy=policy, placement=placement).digest

    alone = [digest(policy) for policy in POLICIES]
    for _ in range(3):
        assert in_threads(*(lambda p=policy: digest(p) for policy in POLICIES)) == alone


def test_one_job_table_serves_many_runs_at_once():
    jobs = trace(400)
    table = _core.JobTable(jobs.submit_us, jobs.service_us, jobs.gpus)
    servers = _core.Cluster(CLUSTER.server_gpus, CLUSTER.server_type)

    def digest(policy: str) -> str:
        made = _core.Run(
            table, servers, _core.RunDescription(policy=policy, placement="spread")
        ).finish()
        return made.digest

    alone = [digest(policy) for policy in POLICIES]
    assert in_threads(*(lambda p=policy: digest(p) for policy in POLICIES)) == alone


def test_instances_of_their_own_run_in_parallel():
    runs = [(trace(150 + seed, seed), seed) for seed in range(6)]

    def python(jobs: gs.Trace, seed: int) -> str:
        policy = Strict() if seed % 2 else ShortestFirst()
        return gs.simulate(jobs, CLUSTER, policy=policy, placement=FirstFit()).digest

    def native(jobs: gs.Trace, seed: int) -> str:
        policy = "fifo" if seed % 2 else "sjf"
        return gs.simulate(jobs, CLUSTER, policy=policy, placement="first-fit").digest

    expected = [native(*run) for run in runs]
    assert in_threads(*(lambda r=run: python(*r) for run in runs)) == expected


@pytest.mark.parametrize("seam", ["placement", "order"])
def test_one_instance_serves_two_runs_at_once_or_refuses_clearly(seam):
    workloads = [trace(150 + seed, seed) for seed in range(4)]
    shared = FirstFit() if seam == "placement" else ShortestFirst()
    options = {"policy": "sjf", "placement": "first-fit"}
    shares = options | {"policy" if seam == "order" else "placement": shared}

    def run(jobs: gs.Trace) -> str:
        try:
            return gs.simulate(jobs, CLUSTER, **shares).digest
        except ValueError as error:
            assert "serves one run at a time" in str(error)  # noqa: PT017 - either end is fine
            return "refused"

    expected = [gs.simulate(jobs, CLUSTER, **options).digest for jobs in workloads]
    for _ in range(4):
        made = in_threads(*(lambda j=jobs: run(j) for jobs in workloads))
        assert all(m in (e, "refused") for m, e in zip(made, expected, strict=True))
    assert run(workloads[0]) == expected[0]


def small_market(size: int, seed: int) -> _core.MatchingProblem:
    random = np.random.default_rng(seed)
    return _core.MatchingProblem(
        rate=random.uniform(1, 3, size * 8),
        capacity=np.full(8, 4, np.int32),
        rounds=random.uniform(5, 9, size),
        samples=np.full(size, 1e5),
    )


def test_one_market_serves_one_thread_at_a_time_and_refuses_the_others():
    problems = [small_market(4 + 2 * (i % 3) + i % 5, i) for i in range(60)]
    expected = [_core.MatchingMarket().solve(p, {}).counts.tolist() for p in problems]
    shared = _core.MatchingMarket()

    def solve_all() -> list[list[int] | None]:
        made: list[list[int] | None] = []
        for problem in problems:
            try:
                made.append(shared.solve(problem, {}).counts.tolist())
            except ValueError as error:
                assert "the solver is busy" in str(error)  # noqa: PT017 - either end is fine
                made.append(None)
        return made

    with time_limit(60, "three threads on one market"):
        for made in in_threads(*[solve_all] * 3):
            assert all(m in (e, None) for m, e in zip(made, expected, strict=True))
    assert shared.solve(problems[0], {}).counts.tolist() == expected[0]


def test_a_placement_of_python_serves_all_policies_of_a_comparison():
    policies, jobs = ["fifo", "sjf", "srtf", "easy"], trace(200)
    native = gs.compare(jobs, CLUSTER, policies, placement="first-fit").results
    made = gs.compare(jobs, CLUSTER, policies, placement=FirstFit(), threads=4).results
    assert [made[p].digest for p in policies] == [native[p].digest for p in policies]


def test_a_registered_placement_of_python_serves_all_policies_of_a_comparison():
    policies, jobs = ["fifo", "sjf", "srtf", "easy"], trace(200)
    native = gs.compare(jobs, CLUSTER, policies, placement="first-fit").results
    gs.register_placement("first-fit-in-python")(FirstFit)
    try:
        made = gs.compare(jobs, CLUSTER, policies, placement="first-fit-in-python", threads=4)
    finally:
        gs.unregister("first-fit-in-python")
    assert [made.results[p].digest for p in policies] == [native[p].digest for p in policies]


def test_a_run_inside_a_plug_in_of_another_run_is_a_run_like_any_other():
    inner, outer = trace(30, seed=1), trace(30, seed=2)
    seen = []

    class Curious(ShortestFirst):
        is_nested = False

        def rank(self, view: Any, jobs: Any) -> Any:
            before = view.now_us
            if not self.is_nested:
                seen.append(gs.simulate(inner, CLUSTER, policy=Nested()).digest)
            assert view.now_us == before
            return super().rank(view, jobs)

    class Nested(Curious):
        is_nested = True

    made = gs.simulate(outer, CLUSTER, policy=Curious())
    assert made.digest == gs.simulate(outer, CLUSTER, policy="sjf").digest
    assert len(seen) >= 10
    assert set(seen) == {gs.simulate(inner, CLUSTER, policy="sjf").digest}
