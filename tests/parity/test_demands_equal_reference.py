"""Shares, CPU and memory: the core equals the reference, whoever decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.reference import BY_DEADLINE, POLICIES, Job, replay
from gpusched.reference.packing import NAMES
from tests.parity.core import assert_equal, run_core
from tests.reference.cases import SECOND
from tests.reference.demand_cases import demand_cases
from tests.reference.large import large_demands
from tests.reference.scales import SCALES

UNITS = st.sampled_from([1, 7, SECOND])
any_case = st.tuples(st.sampled_from([*POLICIES, *BY_DEADLINE]), st.sampled_from(NAMES)).flatmap(
    lambda pair: demand_cases(*pair, scales=SCALES)
)


@given(case=any_case, unit=UNITS)
def test_whoever_decides_over_demands_the_core_equals_the_reference(case, unit):
    assert_equal(case.at(unit))


@pytest.mark.long
@pytest.mark.parametrize("placement", NAMES)
def test_deep_queues_of_many_kinds_equal_the_reference(placement):
    policies = [*POLICIES, *BY_DEADLINE]
    for seed in range(2):
        policy = policies[(2 * NAMES.index(placement) + seed) % len(policies)]
        assert_equal(large_demands(policy, placement, seed))


@pytest.mark.parametrize("placement", ["count", "heavy-edge"])
def test_a_placement_that_knows_nothing_but_gpus_refuses_demands(placement):
    jobs = [Job(0, SECOND, 1), Job(0, SECOND, 1, cpu_milli=1)]
    for engine in (replay, run_core):
        with pytest.raises(ValueError, match="supports whole GPUs only"):
            engine(jobs, [(2, "K80")], "fifo", placement)
