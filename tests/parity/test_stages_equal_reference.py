"""Staged jobs, and where heavy-edge puts them: the core equals the reference, bit for bit."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusched as gs
from tests.parity.core import choice_text, make_cluster, make_trace, run_core
from tests.reference import CONTENTIONS, POLICIES
from tests.reference.cases import SECOND, Case
from tests.reference.cluster_state import Cluster
from tests.reference.model import Active
from tests.reference.placements import Placer
from tests.reference.speeds import reserved
from tests.reference.stage_cases import staged_cases
from tests.reference.stages import Stages

UNITS = st.sampled_from([1, 7, SECOND])
ELSEWHERE = ["spread", "random", "consolidated-relaxed", "first-fit"]


def assert_equal(case: Case) -> None:
    expected = case.replay()
    actual = run_core(*case.arguments(), **case.speeds())
    for field in dataclasses.fields(expected):
        assert getattr(actual, field.name) == getattr(expected, field.name), field.name


@pytest.mark.parametrize("contention", CONTENTIONS)
def test_staged_jobs_under_heavy_edge_equal_the_reference(contention: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(data=st.data(), unit=UNITS)
    def check(data, unit):
        policy = data.draw(st.sampled_from(POLICIES))
        assert_equal(data.draw(staged_cases(policy, "heavy-edge", contention)).at(unit))

    check()


@pytest.mark.parametrize("contention", CONTENTIONS)
def test_staged_jobs_anywhere_equal_the_reference(contention: str) -> None:
    @settings(max_examples=40, deadline=None)
    @given(data=st.data(), unit=UNITS)
    def check(data, unit):
        policy = data.draw(st.sampled_from(POLICIES))
        placement = data.draw(st.sampled_from(ELSEWHERE))
        assert_equal(data.draw(staged_cases(policy, placement, contention)).at(unit))

    check()


@settings(max_examples=60, deadline=None)
@given(case=staged_cases("fifo", "heavy-edge", "reserved"))
def test_the_limits_of_an_iteration_equal_the_reference(case: Case) -> None:
    limits = gs.iteration_limits(
        make_trace(case.jobs),
        make_cluster(case.servers, case.network),
        speed=choice_text("stages", case.speed_params),
    )
    assert case.network is not None
    cluster = Cluster(case.servers, pooled=False)
    speed = Stages(cluster, case.network, reserved, **case.speed_params)
    placer = Placer("heavy-edge", {}, cluster, 0, speed)
    in_order = sorted(case.jobs, key=lambda job: job.submit_us)
    for row, job in enumerate(Active(i, job, 0) for i, job in enumerate(in_order)):
        found = [limits[name][row] for name in ("low", "min", "max")]
        allocation = (
            placer.place(job, cluster.all_free()) if cluster.allowed_servers(job.job) else None
        )
        if allocation is None:
            assert all(math.isnan(seconds) for seconds in found)
            continue
        least = speed.placed_s(job, allocation, placer.ranks(job, allocation))
        assert found == [speed.low(job), least, max(least, speed.high(job))]
