"""Packing in all resources equals its readable twin, interval for interval."""

import random
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from gpusched.reference import replay
from gpusched.reference.model import WHOLE, Job
from gpusched.reference.packing import NAMES
from tests.examples import examples
from tests.parity.core import assert_equal, assert_same, choice_text, run_core
from tests.parity.native import run_native
from tests.parity.native_whims import WHIMS
from tests.reference.cases import SECOND, Case
from tests.reference.elastic_cases import ELASTIC, elastic_cases
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


SHARES = st.lists(st.sampled_from([130, 270, 310, 90, 590]), min_size=2, max_size=4, unique=True)


@pytest.mark.long
@pytest.mark.parametrize("params", [{}, {"artefact": True}])
@examples(60)
@given(shares=SHARES, seed=st.integers(0, 2**32), policy=st.sampled_from(["fifo-skip", "easy"]))
def test_mixed_shares_go_where_the_reference_puts_them(params, shares, seed, policy):
    draws = random.Random(seed)
    jobs = []
    for _ in range(40):
        share = draws.choice([*shares, *shares, WHOLE])
        gpus = draws.choice([1, 1, 2]) if share == WHOLE else 1
        cpu = draws.choice([0, 500, 1300])
        service = draws.randint(5, 30)
        jobs.append(Job(draws.randint(0, 40), service, gpus, share_milli=share, cpu_milli=cpu))
    servers = [(draws.choice([2, 4]), "gpu") for _ in range(3)]
    room = [(draws.choice([None, 4000, 6000]), None) for _ in servers]
    assert_equal(Case(jobs, servers, policy, "fgd", {}, params, seed, room=room).at(SECOND))


@pytest.mark.long
@pytest.mark.parametrize("kind", WHIMS)
@pytest.mark.parametrize("speed", ["fixed", "ring", *ELASTIC])
@examples(30)
@given(data=st.data())
def test_whatever_is_resized_the_core_equals_the_reference(speed, kind, data):
    case = data.draw(elastic_cases(speed))
    whim = WHIMS[kind](case)
    try:
        expected, seen = case.replay(kind)
    except ValueError:
        with pytest.raises(ValueError, match=r"the schedule passes 2\^62"):
            run_native(case.jobs, case.servers, whim, **case.options())
        return
    except RuntimeError:
        reject()
    actual = run_native(case.jobs, case.servers, whim, **case.options())
    for own, of_reference in zip(whim.seen, seen, strict=False):
        assert own == of_reference
    assert_same(expected, actual)
