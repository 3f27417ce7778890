"""Gandiva in ElasticFlow's program: its rule is known, for it gives the ends of all jobs there."""

import pytest

import gpusched as gs
from tests.parity.peer_gandiva import Program, Task
from tests.parity.test_peer_elasticflow import SITES, peer_ends, peer_met, rows
from tests.unit.real_data import needs_real_data

SERVERS = 16


@needs_real_data
@pytest.mark.parametrize("name", SITES)
def test_the_rule_as_we_know_it_ends_every_job_when_the_program_does(name):
    jobs = rows(f"{name}_trace")
    start = min(int(job["submit_time"]) for job in jobs)
    tasks = [
        Task(job["job_id"], int(job["submit_time"]), int(job["duration"]), int(job["num_gpu"]))
        for job in jobs
    ]
    tasks.sort(key=lambda task: task.submit)
    Program(tasks, SERVERS, SITES[name].gpus_per_server, SITES[name].slot_s).run()
    assert {task.id: task.end - start for task in tasks} == pytest.approx(
        peer_ends(name, "gandiva"), abs=1e-6
    )


@needs_real_data
@pytest.mark.parametrize(("name", "ours", "theirs"), [("fig8a", 34, 18), ("fig10", 100, 79)])
def test_without_its_habits_more_deadlines_are_met(name, ours, theirs):
    jobs, site = rows(f"{name}_trace"), SITES[name]
    start = min(int(job["submit_time"]) for job in jobs)
    trace = gs.Trace.from_columns(
        submit_s=[int(job["submit_time"]) - start for job in jobs],
        service_s=[int(job["duration"]) for job in jobs],
        gpus=[int(job["num_gpu"]) for job in jobs],
        deadline_s=[int(job["ddl"]) - start for job in jobs],
    )
    cluster = gs.Cluster.uniform(SERVERS, site.gpus_per_server)
    result = gs.simulate(trace, cluster, policy=gs.Policy("gandiva", slice_s=float(site.slot_s)))
    assert round(result.summary()["dsr"] * len(jobs)) == ours
    assert len(peer_met(name, "gandiva")) == theirs
