"""Packing in all resources equals its readable twin, interval for interval."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gpusched.reference import replay
from gpusched.reference.packing import NAMES
from tests.examples import examples
from tests.parity.core import assert_same, choice_text, run_core
from tests.reference.packing_cases import PackingCase, cases_of_many_kinds, packing_cases

POLICIES = ("fifo-skip", "easy", "srtf")
ARTEFACTS = ("best-fit", "dot-product", "fgd", "gpu-packing", "gpu-clustering")
SKIPPING = ("fifo-skip", "sjf", "llf", "srtf")
CHOICES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in NAMES),
    *((name, {"artefact": True}) for name in ARTEFACTS),
    ("dot-product", {"product": "least"}),
    ("dot-product", {"artefact": True, "product": "greatest"}),
]
every_choice = pytest.mark.parametrize(
    ("placement", "params"), CHOICES, ids=[choice_text(*choice) for choice in CHOICES]
)


def assert_equal_to_the_reference(
    case: PackingCase, policy: str, placement: str, params: dict[str, Any]
) -> None:
    what = (case.jobs, case.servers, policy, placement)
    how: dict[str, Any] = {
        "room": case.room, "network": case.network, "seed": case.seed, "placement_params": params
    }  # fmt: skip
    assert_same(replay(*what, **how), run_core(*what, **how))


@every_choice
@examples(20)
@given(case=packing_cases())
def test_a_packing_equals_its_readable_twin(placement, params, case):
    assert_equal_to_the_reference(case, POLICIES[case.seed % len(POLICIES)], placement, params)


@pytest.mark.long
@every_choice
@examples(8)
@given(case=cases_of_many_kinds())
def test_a_queue_of_many_kinds_equals_its_readable_twin(placement, params, case):
    assert_equal_to_the_reference(case, SKIPPING[case.seed % len(SKIPPING)], placement, params)
