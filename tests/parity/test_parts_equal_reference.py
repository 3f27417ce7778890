"""Servers with GPUs of several types: the core equals the reference, whoever decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import BY_DEADLINE, PLACEMENTS, POLICIES
from gpusched.reference.packing import OWN
from tests.parity.core import assert_equal
from tests.reference.cases import SECOND
from tests.reference.part_cases import part_cases
from tests.reference.scales import SCALES

UNITS = st.sampled_from([1, 7, SECOND])
ON_SERVERS = [name for name in (*PLACEMENTS, *OWN) if name != "count"]
any_case = st.tuples(
    st.sampled_from([*POLICIES, *BY_DEADLINE]), st.sampled_from(ON_SERVERS)
).flatmap(lambda pair: part_cases(*pair, scales=SCALES))
MIXED = gs.Cluster((gs.ServerGroup(1, devices=(("a100", 2), ("t4", 2)), cpu=4),))


@given(case=any_case, unit=UNITS)
def test_whoever_decides_the_core_equals_the_reference(case, unit):
    assert_equal(case.at(unit))


def gpus_of(result: gs.Result, job: int) -> list[int]:
    """The GPUs of a job, numbered through its server."""
    rows, first = result.intervals, result.cluster.server_first_gpu
    return [
        int(first[server]) + gpu
        for one, server, mask in zip(rows["job"], rows["server"], rows["mask"], strict=True)
        for gpu in range(64)
        if one == job and int(mask) >> gpu & 1
    ]


def test_gpus_are_numbered_through_the_types_of_a_server():
    jobs = gs.Trace.from_columns([0] * 3, [10] * 3, [1, 2, 2], gpu_types=["t4", "a100", "t4"])
    result = gs.simulate(jobs, MIXED, policy="fifo", placement="first-fit")
    assert [gpus_of(result, job) for job in range(3)] == [[2], [0, 1], [2, 3]]
    assert result.schedule.start_us.tolist() == [0, 0, 10 * SECOND]
    assert result.audit().ok


def test_a_gang_has_gpus_of_one_type_and_the_parts_share_the_cpu():
    jobs = gs.Trace.from_columns([0] * 4, [10] * 4, [1, 3, 2, 1], cpu=[3, 0, 1, 1])
    result = gs.simulate(jobs, MIXED, policy="fifo-skip", placement="first-fit")
    assert result.jobs.reason[1] == "needs more GPUs than the cluster has"
    # 3 of 4 cores are taken on the first part: 2 workers of the second wait, one does not.
    assert result.schedule.start_us.tolist() == [0, -1, 10 * SECOND, 0]
    assert result.audit().ok


def test_the_ideal_speed_is_that_of_a_type_with_enough_gpus():
    devices = (("a100", 2), ("v100", 2), ("t4", 4))
    table = {"a100": {4: 9.0}, "v100": {4: 3.0}, "t4": {4: 1.0}}
    jobs = gs.Trace.from_columns(
        [0], [100], [4], profile=[0], profiles=[gs.model.JobProfile("m", throughput=table)]
    )
    cluster = gs.Cluster((gs.ServerGroup(1, devices=devices),))
    result = gs.simulate(jobs, cluster, policy="fifo", speed="table", placement="first-fit")
    assert result.schedule.finish_us.tolist() == [100 * SECOND]
    assert result.audit().ok


@pytest.mark.parametrize(
    "options", [{"placement": "count"}, {"policy": "matching"}, {"policy": "gandiva"}]
)
def test_what_knows_one_type_of_each_server_is_refused(options):
    jobs = gs.Trace.from_columns([0], [10], [1])
    with pytest.raises(ValueError, match="several"):
        gs.simulate(jobs, MIXED, **options)
