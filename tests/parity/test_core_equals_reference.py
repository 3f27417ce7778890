"""The core equals the readable engine, column for column and digest for digest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.reference import BY_DEADLINE, PLACEMENTS, POLICIES, Job, replay
from tests.each import each
from tests.parity.core import assert_equal, run_core
from tests.reference.cases import SECOND, cases
from tests.reference.large import large_case, many_widths
from tests.reference.scales import SCALES

NAMES = [*POLICIES, *BY_DEADLINE]
UNITS = st.sampled_from([1, 7, SECOND])


@pytest.mark.parametrize("policy", NAMES)
@given(data=st.data(), unit=UNITS)
def test_the_core_equals_the_reference(policy, data, unit):
    case = data.draw(st.sampled_from(PLACEMENTS).flatmap(lambda p: cases(policy, p, scales=SCALES)))
    assert_equal(case.at(unit))


@pytest.mark.parametrize("policy", NAMES)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("turn", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2))])
def test_the_core_equals_the_reference_on_deep_queues(policy, seed, turn):
    """With every third placement, in turn."""
    for placement in PLACEMENTS[(NAMES.index(policy) + turn) % 3 :: 3]:
        assert_equal(large_case(policy, placement, seed))


@pytest.mark.long
@pytest.mark.parametrize(
    ("policy", "placement"), [("fifo", "count"), ("swf", "best-fit"), ("srtf", "consolidated")]
)
def test_a_thousand_widths_equal_the_reference(policy, placement):
    assert_equal(many_widths(policy, placement, seed=0))


@each("policy", POLICIES)
@each("allowed", ["K80", "V100"])
def test_count_refuses_jobs_restricted_to_some_of_several_types(policy, allowed):
    jobs = [Job(0, SECOND, 1), Job(0, SECOND, 1, allowed=frozenset([allowed]))]
    servers = [(2, "K80"), (2, "V100")]
    for engine in (replay, run_core):
        with pytest.raises(ValueError, match="single pool has no types"):
            engine(jobs, servers, policy, "count")


@each("policy", POLICIES)
def test_count_takes_jobs_that_allow_every_type(policy):
    jobs = [
        Job(0, SECOND, 3, allowed=frozenset(["K80", "V100", "T4"])),
        Job(1, SECOND, 2),
        Job(1, SECOND, 1, allowed=frozenset(["T4"])),
    ]
    servers = [(2, "K80"), (2, "V100")]
    assert run_core(jobs, servers, policy) == replay(jobs, servers, policy)
