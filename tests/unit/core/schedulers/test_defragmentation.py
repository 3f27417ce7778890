"""With `defrag=blocked` running jobs move where that makes room for a job that is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusched as gs
from tests.each import each
from tests.parity.core import MOST_INSTANTS, assert_same, make_cluster, make_trace, outcome_of
from tests.parity.native import run_case
from tests.reference.cases import SECOND
from tests.reference.fragmented_cases import fragmented_cases

# Two GPUs are free on each of two servers of four when a job of four arrives.
APART: dict[str, Any] = {
    "submit_s": [0, 0, 0, 20],
    "service_s": [100, 10, 100, 50],
    "gpus": [2, 2, 2, 4],
    "restart_s": [5, 5, 5, 5],
}


def run(policy: str = "fifo:defrag=blocked", servers: int = 2, **columns: Any) -> gs.Result:
    trace = gs.Trace.from_columns(**columns)
    cluster = gs.Cluster.uniform(servers=servers, gpus=4)
    result = gs.simulate(trace, cluster, policy=policy, placement="consolidated")
    result.audit(level="decisions").raise_if_bad()
    return result


def times_s(result: gs.Result) -> tuple[list[float], list[float]]:
    schedule = result.schedule
    return (schedule.start_us / 1e6).tolist(), (schedule.finish_us / 1e6).tolist()


def test_a_job_moves_once_the_wait_is_worth_its_restart():
    # 2 GPUs x 5 s are 10 GPU s, which 4 GPUs lose in 2.5 s.
    assert times_s(run("fifo", **APART))[0] == [0, 0, 0, 100]
    result = run(**APART)
    assert times_s(result) == ([0, 0, 0, 22.5], [105, 10, 100, 72.5])
    assert result.schedule.resizes.tolist() == [1, 0, 0, 0]
    assert result.schedule.preemptions.tolist() == [0, 0, 0, 0]
    assert result.summary()["resizes"] == 1


def test_a_move_that_is_free_takes_place_at_once():
    assert times_s(run(**APART | {"restart_s": [0, 0, 0, 0]}))[0] == [0, 0, 0, 20]


def test_nothing_moves_while_too_few_gpus_are_free():
    assert times_s(run(**APART | {"service_s": [100, 30, 100, 50]}))[0] == [0, 0, 0, 30]


def test_the_server_whose_jobs_have_the_fewest_gpus_is_cleared():
    # Server 0 has a job of three GPUs, server 1 one of two, and server 2 room for either.
    jobs = {
        "submit_s": [0, 0, 0, 0, 20], "service_s": [100, 100, 100, 10, 50],
        "gpus": [3, 2, 1, 1, 4], "restart_s": [0] * 5,
    }  # fmt: skip
    moved = run(servers=3, **jobs)
    assert times_s(moved)[0][-1] == 20
    assert moved.schedule.resizes[0] == 0


def test_nothing_moves_where_a_cleared_job_finds_no_place():
    # Four GPUs are free, but no server has two for the only job that would have to move.
    jobs = {
        "submit_s": [0, 0, 0, 1, 20], "service_s": [100, 100, 100, 100, 10],
        "gpus": [2, 3, 3, 4, 1], "restart_s": [0] * 5,
    }  # fmt: skip
    result = run("fifo-skip:defrag=blocked", servers=3, **jobs)
    assert times_s(result)[0] == [0, 0, 0, 100, 20]
    assert result.schedule.resizes.tolist() == [0] * 5


def test_jobs_that_state_more_than_gpus_are_refused():
    with pytest.raises(ValueError, match="defrag=blocked: not supported for jobs with gpu_share"):
        run(**APART | {"gpu_share": [1, 1, 0.5, 1], "gpus": [2, 2, 1, 4]})


@given(case=fragmented_cases(), unit=st.sampled_from([1, 7, SECOND]))
def test_the_core_equals_the_readable_engine(case, unit):
    case = case.at(unit)
    assert_same(case.replay(max_instants=MOST_INSTANTS), run_case(case))


@each("policy", ["fifo", "sjf"])
@settings(max_examples=10)
@given(case=fragmented_cases())
def test_the_audit_accepts_each_run(policy, case):
    case = replace(case, outages=[]).at(SECOND)
    result = gs.simulate(
        make_trace(case.jobs), make_cluster(case.servers), policy=f"{policy}:defrag=blocked",
        placement=case.placement, seed=case.seed,
    )  # fmt: skip
    result.audit().raise_if_bad()
    result.audit(level="decisions").raise_if_bad()
    assert outcome_of(result.schedule).resizes == result.jobs["resizes"].tolist()
