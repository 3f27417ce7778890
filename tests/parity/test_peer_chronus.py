"""Chronus as its authors' program has it: its log, its rule, and our policy with that rule."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from tests.examples import examples
from tests.parity.peer_chronus import Program, Task
from tests.parity.test_peer_elasticflow import SITES, rows
from tests.unit.real_data import needs_real_data

SERVERS = 16
LEASE_S = 240
US = 1_000_000
# Of the columns time, free GPUs, waiting, running and submitted jobs of the log that the authors
# of ElasticFlow keep of Chronus for figure 10, a row per lease.
LOG_ROWS = 4027
LOG_DIGEST = "8582a1600801cb2941ec15e519203f523ab6d7f7a46bdb5c68bf1f38ee53c4e4"


def tasks(name: str, unit: int = 1) -> list[Task]:
    """Read a trace as the program does."""
    return [
        Task(
            submit=int(job["submit_time"]) * unit, duration=int(job["duration"]) * unit,
            deadline=int(job["ddl"]) * unit, gpus=int(job["num_gpu"]), number=number,
        )
        for number, job in enumerate(rows(f"{name}_trace"))
    ]  # fmt: skip


def ours(jobs: list[Task], cluster: gs.Cluster, lease_s: float, plans: str) -> list[int]:
    """Return when jobs, in microseconds, end under our policy."""
    trace = gs.Trace.from_columns(
        [job.submit / US for job in jobs],
        [job.duration / US for job in jobs],
        [job.gpus for job in jobs],
        deadline_s=[job.deadline / US for job in jobs],
    )
    policy = gs.Policy("chronus-leases", lease_s=lease_s, plans=plans)
    result = gs.simulate(trace, cluster, policy=policy, placement="count")
    finishes: list[int] = result.schedule.finish_us.tolist()
    return finishes


@needs_real_data
def test_the_rule_as_we_know_it_writes_the_log_of_the_program():
    lines = list(Program(tasks("fig10"), SERVERS * 8, LEASE_S).run())
    text = "".join(
        f"{line.time},{line.free},{line.pending},{line.running},{line.submitted}\n"
        for line in lines
    )
    assert len(lines) == LOG_ROWS
    assert hashlib.sha256(text.encode()).hexdigest() == LOG_DIGEST


@needs_real_data
@pytest.mark.long
@pytest.mark.parametrize("name", SITES)
def test_without_its_habits_our_policy_ends_every_job_when_it_does(name):
    cluster, jobs = gs.Cluster.uniform(SERVERS, SITES[name].gpus_per_server), tasks(name, US)
    found = ours(jobs, cluster, LEASE_S, "latest")
    for _ in Program(jobs, cluster.num_gpus, LEASE_S * US, has_habits=False).run():
        pass
    assert found == [job.end for job in jobs]


GPUS = 4
# Tiny ranges on purpose: ties, arrivals where leases begin and deadlines just met or missed.
drawn = st.lists(
    st.tuples(st.integers(0, 24), st.integers(1, 20), st.integers(1, 30), st.integers(1, GPUS)),
    min_size=1,
    max_size=10,
).map(sorted)


@examples(300)
@given(drawn, st.sampled_from([1, 2, 4, 7]))
def test_our_policy_is_the_rule_of_the_program(jobs, lease_s):
    line = [
        Task(submit * US, duration * US, (submit + due) * US, gpus, number)
        for number, (submit, duration, due, gpus) in enumerate(jobs)
    ]
    found = ours(line, gs.Cluster.uniform(1, GPUS), lease_s, "latest")
    for _ in Program(line, GPUS, lease_s * US, has_habits=False).run():
        pass
    assert found == [job.end for job in line]


@needs_real_data
@pytest.mark.parametrize(("name", "met"), [("fig8a", 79), ("fig10", 100)])
def test_so_many_deadlines_are_met(name, met):
    jobs, cluster = tasks(name, US), gs.Cluster.uniform(SERVERS, SITES[name].gpus_per_server)
    ends = ours(jobs, cluster, LEASE_S, "latest")
    assert sum(end <= job.deadline for end, job in zip(ends, jobs, strict=True)) == met
