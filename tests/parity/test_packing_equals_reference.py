"""Packing in all resources equals its readable twin, interval for interval."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.parity.core import assert_same, run_core
from tests.reference import replay
from tests.reference.packing import NAMES
from tests.reference.packing_cases import PackingCase, packing_cases

POLICIES = ("fifo-skip", "easy", "srtf")


@pytest.mark.parametrize("placement", NAMES)
def test_a_packing_equals_its_readable_twin(placement: str) -> None:
    @settings(max_examples=20, deadline=None)
    @given(case=packing_cases())
    def check(case: PackingCase) -> None:
        policy = POLICIES[case.seed % len(POLICIES)]
        what = (case.jobs, case.servers, policy, placement)
        how = {"room": case.room, "network": case.network, "seed": case.seed}
        assert_same(replay(*what, **how), run_core(*what, **how))

    check()
