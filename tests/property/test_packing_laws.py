"""What holds for every packing: nothing is oversubscribed, and nothing is refused without need."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference.packing import NAMES
from tests.examples import examples
from tests.parity.core import make_cluster, make_trace
from tests.reference.packing_cases import PackingCase, packing_cases

WHOLE = 1000
WITHOUT_LIMIT = 2**62


class Usage:
    """What the jobs of a schedule hold at one instant, counted from its intervals."""

    def __init__(self, case: PackingCase, held: list[tuple[int, int, int]]) -> None:
        self.case = case
        self.milli = {(s, g): WHOLE for s, (n, _) in enumerate(case.servers) for g in range(n)}
        self.room = [
            [WITHOUT_LIMIT if limit is None else limit for limit in limits] for limits in case.room
        ]
        for job_id, server, mask in held:
            job = case.jobs[job_id]
            gpus = [gpu for gpu in range(64) if mask >> gpu & 1]
            for gpu in gpus:
                self.milli[server, gpu] -= job.share_milli
            self.room[server][0] -= job.cpu_milli * len(gpus)
            self.room[server][1] -= job.memory_mib * len(gpus)

    def is_legal(self) -> bool:
        """Whether nobody holds what somebody else has."""
        return min(self.milli.values()) >= 0 and all(min(left) >= 0 for left in self.room)

    def can_host(self, job_id: int) -> bool:
        """Whether one server could take the whole job."""
        job = self.case.jobs[job_id]
        for server, (size, gpu_type) in enumerate(self.case.servers):
            if job.allowed and gpu_type not in job.allowed:
                continue
            able = [g for g in range(size) if self.milli[server, g] >= job.share_milli]
            cpu_milli, memory_mib = self.room[server]
            if (
                len(able) >= job.gpus
                and cpu_milli >= job.cpu_milli * job.gpus
                and memory_mib >= job.memory_mib * job.gpus
            ):
                return True
        return False


def usages(case: PackingCase, schedule: Any) -> list[tuple[int, Usage]]:
    """Return the usage at each instant at which something starts or ends."""
    intervals = schedule.intervals()
    columns = (intervals[name].tolist() for name in ("start_us", "end_us", "job", "server", "mask"))
    rows = list(zip(*columns, strict=True))
    instants = sorted({start for start, *_ in rows} | {end for _, end, *_ in rows})
    held_at = {now: [row[2:] for row in rows if row[0] <= now < row[1]] for now in instants}
    return [(now, Usage(case, held)) for now, held in held_at.items()]


@pytest.mark.parametrize("placement", NAMES)
@examples(12)
@given(case=packing_cases())
def test_nothing_is_oversubscribed_or_refused_without_need(placement, case):
    in_order = sorted(case.jobs, key=lambda job: job.submit_us)
    case = PackingCase(in_order, case.servers, case.room, case.network, case.seed)
    schedule = gs.simulate(
        make_trace(case.jobs),
        make_cluster(case.servers, case.network, case.room),
        policy="fifo-skip",
        placement=placement,
        seed=case.seed,
    ).schedule
    start_us, status = schedule.start_us.tolist(), schedule.status.tolist()
    for now, usage in usages(case, schedule):
        assert usage.is_legal()
        if placement == "buddy":
            continue  # refuses what no aligned block holds
        for job, of_job in enumerate(case.jobs):
            if status[job] == 0 and of_job.submit_us <= now < start_us[job]:
                assert not usage.can_host(job)


@examples(60)
@given(data=st.data(), servers=st.integers(1, 4), size=st.sampled_from([1, 2, 4, 8]))
def test_buddy_finds_a_place_for_powers_of_two_while_enough_gpus_are_free(data, servers, size):
    # Nobody leaves: of each size below a server's there is one free block at most, so what is
    # free in all is enough only if the largest block is.
    widths = [width for width in (1, 2, 4, 8) if width <= size]
    gangs = data.draw(st.lists(st.sampled_from(widths), min_size=1, max_size=30))
    trace = gs.Trace.from_columns(
        submit_s=list(range(len(gangs))), service_s=[1000.0] * len(gangs), gpus=gangs
    )
    cluster = gs.Cluster.uniform(servers=servers, gpus=size)
    schedule = gs.simulate(trace, cluster, policy="fifo-skip", placement="buddy").schedule
    free = servers * size
    for arrival, (gpus, start_us) in enumerate(zip(gangs, schedule.start_us.tolist(), strict=True)):
        is_started = start_us == arrival * 1_000_000
        assert is_started == (gpus <= free)
        free -= gpus if is_started else 0


def test_many_servers_and_few_differ_in_nothing_but_their_number():
    # More servers than two levels of the index have: the same gangs on the last ones alone.
    small = gs.Cluster((gs.ServerGroup(20, 4, "V100", cpu=8, memory_gib=64),))
    large = gs.Cluster((gs.ServerGroup(300, 4, "T4", cpu=8, memory_gib=64), *small.servers))
    count = 400
    trace = gs.Trace.from_columns(
        submit_s=[i * 1.5 for i in range(count)],
        service_s=[10 + i * 37 % 91 for i in range(count)],
        gpus=[1 + i * 7 % 5 % 4 for i in range(count)],
        cpu=[(1 + i * 5 % 7) / 4 for i in range(count)],
        memory_gib=[1 + i * 11 % 13 for i in range(count)],
        gpu_types=["V100"] * count,
    )
    for placement in NAMES:
        if placement == "random":
            continue
        one, other = (
            gs.simulate(trace, cluster, policy="sjf", placement=placement).intervals
            for cluster in (small, large)
        )
        for name in ("job", "start_us", "end_us", "mask"):
            assert one[name].tolist() == other[name].tolist(), placement
        assert [s + 300 for s in one["server"].tolist()] == other["server"].tolist(), placement
