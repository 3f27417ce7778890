"""Outages, checkpoints and time limits: the core equals the readable engine."""

from __future__ import annotations

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from gpusched.reference import PLACEMENTS, Job, Outage
from gpusched.reference.packing import OWN
from tests.each import each
from tests.parity.core import MOST_INSTANTS, assert_same
from tests.parity.native import run_case
from tests.reference.cases import SECOND, Case
from tests.reference.outage_cases import ADOPTING, EVERY, outage_cases

ON_SERVERS = tuple(name for name in PLACEMENTS if name != "count")
UNITS = st.sampled_from([1, 7, SECOND])


def assert_equal(case: Case) -> None:
    try:
        expected = case.replay(max_instants=MOST_INSTANTS)
    except RuntimeError:
        reject()
    except ValueError:
        with pytest.raises(ValueError, match=r"does not support outages|gpu_share|2\^|known_s"):
            run_case(case)
        return
    assert_same(expected, run_case(case))


@pytest.mark.parametrize("policy", ADOPTING)
@given(data=st.data(), unit=UNITS)
def test_the_core_equals_the_reference(policy, data, unit):
    placement = data.draw(st.sampled_from([*ON_SERVERS, *OWN]))
    assert_equal(data.draw(outage_cases(policy, placement)).at(unit))


@pytest.mark.parametrize("speed", ["ring", "proportional", "table"])
@given(data=st.data(), unit=UNITS)
def test_the_core_equals_the_reference_where_speed_depends_on_placement(speed, data, unit):
    policy, placement = data.draw(st.sampled_from(ADOPTING)), data.draw(st.sampled_from(ON_SERVERS))
    assert_equal(data.draw(outage_cases(policy, placement, speed)).at(unit))


def lone(policy: str, placement: str, outage: Outage) -> Case:
    params = {"limits": [5.0]} if policy == "2d-las" else {}
    servers = [(2, "gpu")] * 2
    return Case([Job(0, 5, 1)], servers, policy, placement, params, {}, 0, outages=[outage])


@each("policy", EVERY)
def test_a_policy_that_keeps_more_than_the_state_is_refused(policy):
    case = lone(policy, "first-fit", Outage(0, 3, 4))
    if policy in ADOPTING:
        assert run_case(case).failures == [1]
        return
    for run in (case.replay, lambda: run_case(case)):
        with pytest.raises(ValueError, match=r"does not support outages"):
            run()


@each(
    "case",
    named={
        "unknown server": lone("fifo", "first-fit", Outage(2, 3, 4)),
        "negative server": lone("fifo", "first-fit", Outage(-1, 3, 4)),
        "no servers": lone("fifo", "count", Outage(0, 3, 4)),
        "empty": lone("fifo", "first-fit", Outage(0, 3, 3)),
        "backwards": lone("fifo", "first-fit", Outage(0, 3, 2)),
    },
)
def test_outages_out_of_range_are_refused(case):
    for run in (case.replay, lambda: run_case(case)):
        with pytest.raises(ValueError, match="outage"):
            run()
