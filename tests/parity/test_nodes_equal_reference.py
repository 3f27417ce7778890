"""GPUs per node: the core equals the reference, whoever decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.reference import BY_DEADLINE, POLICIES, Job, replay
from gpusched.reference.packing import NAMES
from tests.each import each
from tests.parity.core import assert_equal, run_core
from tests.parity.native import run_native
from tests.reference.cases import SECOND
from tests.reference.node_cases import node_cases
from tests.reference.scales import SCALES

UNITS = st.sampled_from([1, 7, SECOND])
any_case = st.tuples(st.sampled_from([*POLICIES, *BY_DEADLINE]), st.sampled_from(NAMES)).flatmap(
    lambda pair: node_cases(*pair, scales=SCALES)
)


@given(case=any_case, unit=UNITS)
def test_whoever_decides_the_core_equals_the_reference(case, unit):
    assert_equal(case.at(unit))


WIDE = [Job(0, SECOND, 4, gpus_per_node=2), Job(0, SECOND, 1)]


@pytest.mark.parametrize("placement", ["count", "heavy-edge", "lwf"])
def test_a_placement_that_cannot_obey_gpus_per_node_is_refused(placement):
    for engine in (replay, run_core):
        with pytest.raises(ValueError, match="gpus_per_node"):
            engine(WIDE, [(4, "K80")] * 2, "fifo", placement)


@each("policy", ["matching", "dancer", "themis", "gandiva", "ff", "afs"])
def test_a_policy_that_cannot_obey_gpus_per_node_is_refused(policy):
    with pytest.raises(
        ValueError, match=r"gpus_per_node: not supported by this policy, which (chooses|may)"
    ):
        run_core(WIDE, [(4, "K80")] * 2, policy, "first-fit")


def test_what_too_few_servers_have_is_rejected_with_that_reason():
    wide = [Job(0, SECOND, 6, gpus_per_node=3), Job(0, SECOND, 6)]
    for engine in (replay, run_core):
        outcome = engine(wide, [(4, "K80"), (2, "K80")], "fifo", "first-fit")
        assert outcome.reason == [5, 0]


@pytest.mark.parametrize(("gpus", "each"), [(5, 2), (2, 4), (4, -1)])
def test_a_number_per_node_that_does_not_divide_the_gang_is_an_error(gpus, each):
    jobs, servers = [Job(0, SECOND, gpus, gpus_per_node=each)], [(8, "K80")]
    with pytest.raises(ValueError, match=r"gpus_per_node: row 0 .*0, or a divisor of gpus"):
        run_native(jobs, servers, "fifo", "first-fit")
    with pytest.raises(ValueError, match=r"gpus_per_node.*(must divide gpus|must not be negative)"):
        run_core(jobs, servers, "fifo", "first-fit")
