"""Packing in all resources equals its readable twin, interval for interval."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from gpusched.readable import replay
from gpusched.readable.packing import NAMES
from tests.parity.core import assert_same, run_core
from tests.reference.packing_cases import PackingCase, cases_of_many_kinds, packing_cases

POLICIES = ("fifo-skip", "easy", "srtf")
SKIPPING = ("fifo-skip", "sjf", "llf", "srtf")


def assert_equal_to_the_reference(case: PackingCase, policy: str, placement: str) -> None:
    what = (case.jobs, case.servers, policy, placement)
    how = {"room": case.room, "network": case.network, "seed": case.seed}
    assert_same(replay(*what, **how), run_core(*what, **how))


@pytest.mark.parametrize("placement", NAMES)
def test_a_packing_equals_its_readable_twin(placement: str) -> None:
    @settings(max_examples=20, deadline=None)
    @given(case=packing_cases())
    def check(case: PackingCase) -> None:
        assert_equal_to_the_reference(case, POLICIES[case.seed % len(POLICIES)], placement)

    check()


@pytest.mark.parametrize("placement", NAMES)
def test_a_queue_of_many_kinds_equals_its_readable_twin(placement: str) -> None:
    @settings(max_examples=8, deadline=None)
    @given(case=cases_of_many_kinds())
    def check(case: PackingCase) -> None:
        assert_equal_to_the_reference(case, SKIPPING[case.seed % len(SKIPPING)], placement)

    check()
