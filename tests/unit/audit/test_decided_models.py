"""Runs of jobs with models are decided again, however the figures of a model are given."""

from __future__ import annotations

import pytest

import gpusched as gs
from gpusched.audit.case import Case
from gpusched.audit.course import Course
from gpusched.audit.decisions import _affordable
from gpusched.results.audited_names import declared
from tests.golden.workload import networked, networked_cluster

CLUSTER = gs.Cluster.uniform(servers=2, gpus=2, nic_gbps=8, intra_gbps=80)


def is_shown(result: gs.Result) -> bool:
    """Whether all decisions could be taken again, and are those of the log."""
    report = result.audit(level="decisions")
    return report.ok and not any("decisions" in note for note in report.notes)


@pytest.mark.parametrize("policy", ["fifo"])
@pytest.mark.parametrize("speed", ["fixed", "ring", "stages"])
def test_what_a_speed_does_not_ask_for_decides_nothing(speed, policy):
    jobs = networked()
    assert jobs.profile is not None
    assert jobs.graph is not None
    result = gs.simulate(
        jobs, networked_cluster(), policy=policy, speed=speed, placement="heavy-edge"
    )
    assert is_shown(result)


@pytest.mark.parametrize("figure", [0.1, {"gpu": 0.1}])
def test_a_figure_of_all_types_is_that_of_each(figure):
    profile = gs.model.JobProfile(
        "p", gradient_bytes=1e9, batch=1, forward_s=figure, backward_s=figure
    )
    graph = gs.model.JobGraph("g", (gs.model.Stage(2, figure, 1e9),))
    trace = gs.Trace.from_columns([0, 0, 5], [40, 30, 9], [2, 2, 2])
    for speed, jobs in (
        ("ring", trace.with_profiles([profile], index=[0, 0, 0])),
        ("stages", trace.with_graphs([graph], index=[0, 0, 0])),
    ):
        result = gs.simulate(jobs, CLUSTER, policy="srtf", speed=speed, placement="spread")
        assert is_shown(result)


@pytest.mark.parametrize(("most_looks", "num_jobs"), [(1, 1), (5, 1), (6, 2), (7, 2)])
def test_a_look_at_each_job_that_is_there_and_one_at_the_instant_are_afforded(most_looks, num_jobs):
    # One job alone from 0 to 5 s, another one from 10 s on: 2 + 1 + 2 looks before the last end.
    trace = gs.Trace.from_columns([0, 10], [5, 5], [2, 2])
    result = gs.simulate(trace, CLUSTER, policy="fifo")
    case = Case(
        trace, CLUSTER, result.spec, result.schedule, result.intervals, declared(result.spec)
    )
    assert _affordable(case, Course.of(case), most_looks) == num_jobs
