"""The audit of shares, CPU, memory, widths and deadlines: each way to be wrong is named."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from tests.campaigns.tamperings import stored
from tests.each import each
from tests.golden.workload import cluster, demanding, roomy_cluster, urgent
from tests.unit.audit.test_audit import changed, named, problems, rows_of, with_value


def test_what_is_audited_is_correct_and_rich():
    for make in (shared, packed, elastic, proportional):
        assert problems(make()) == []
    assert elastic().schedule.resizes.sum() > 50


def simulate(*jobs_and_servers: Any, **options: Any) -> gs.Result:
    return stored(gs.simulate(*jobs_and_servers, **options))


def shared() -> gs.Result:
    """Jobs 0 to 2 share a GPU, and job 3 has another."""
    jobs = gs.Trace.from_columns([0] * 4, [5] * 4, [1] * 4, gpu_share=[0.5, 0.25, 0.25, 0.5])
    return simulate(jobs, gs.Cluster.uniform(1, 2), policy="fifo", placement="best-fit")


def packed() -> gs.Result:
    return simulate(demanding(), roomy_cluster(), policy="srtf", placement="gpu-packing")


def elastic() -> gs.Result:
    return simulate(
        urgent(is_typed=True), cluster(), policy="edf-fastest", placement="consolidated",
        speed="table",
    )  # fmt: skip


def proportional() -> gs.Result:
    jobs = urgent(is_typed=True)
    whole = tuple(
        gs.model.JobProfile(p.name, samples_per_s=p.samples_per_s, global_batch=p.global_batch)
        for p in jobs.profiles
    )
    return simulate(
        replace(jobs, profiles=whole), cluster(), policy="optimus", placement="first-fit",
        speed="proportional:batches=integer",
    )  # fmt: skip


def by_node() -> gs.Result:
    """Job 0 has 2 GPUs of each of two servers; job 2 asks for more servers than there are."""
    jobs = gs.Trace.from_columns(
        [0] * 3, [5] * 3, [4, 1, 6], gpus_per_node=[2, 0, 2], estimate_s=[5] * 3
    )
    return simulate(jobs, gs.Cluster.uniform(2, 4), policy="easy", placement="best-fit")


def test_gpus_that_are_not_as_the_job_wants_them_of_each_server_are_named():
    result = by_node()
    assert problems(result) == []
    assert (
        result.jobs.reason[2] == "needs more servers with gpus_per_node GPUs than the cluster has"
    )
    first, second = rows_of(result, 0)
    uneven = changed(result, first, mask=0b1110)
    uneven["mask"][second] = 0b1
    named(
        problems(result, uneven), "not its GPUs per node",
        "job 0 holds 3 GPUs of server 0 from 0 us, but its gpus_per_node is 2",
    )  # fmt: skip
    found = problems(result, reason=with_value(result.schedule.reason, 2, 3))
    named(found, "false reject", "expected 'needs more servers with gpus_per_node GPUs")


def test_shares_that_are_more_than_a_gpu_are_named():
    result = shared()
    (row,) = rows_of(result, 3)
    found = problems(result, changed(result, row, mask=1))
    named(found, "GPU used twice", "1500 thousandths of GPU 0 of server 0 are held at 0 us")


def test_a_share_passed_on_within_an_instant_is_not_held_twice():
    jobs = gs.Trace.from_columns([0] * 4, [5] * 4, [1] * 4, gpu_share=[0.6] * 4)
    result = simulate(jobs, gs.Cluster.uniform(1, 1), policy="fifo", placement="best-fit")
    assert problems(result) == []
    assert len(set(result.schedule.start_us.tolist())) == 4


@pytest.mark.parametrize(
    ("column", "what"), [("cpu_milli", "thousandths of CPU cores"), ("memory_mib", "MiB of memory")]
)
def test_more_than_a_server_has_is_named(column, what):
    result = packed()
    asked = getattr(result.trace, column)
    result.trace = replace(result.trace, **{column: asked * 3})
    named(problems(result), "server overcommitted", what)


def test_a_job_that_no_server_could_hold_must_be_rejected():
    result = packed()
    rejected = np.flatnonzero(result.schedule.reason == 3)
    assert len(rejected)
    columns = {
        "status": with_value(result.schedule.status, rejected[0], 2),
        "reason": with_value(result.schedule.reason, rejected[0], 0),
    }
    named(problems(result, **columns), "false reject", f"job {rejected[0]} of")


def wide(result: gs.Result) -> int:
    """A row of a job that holds all it may."""
    most = result.trace.max_gpus
    assert most is not None
    job = result.intervals["job"]
    held = np.bitwise_count(result.intervals["mask"])
    return int(np.flatnonzero((held == most[job]) & (held < 4))[0])


def test_a_width_outside_its_limits_is_named():
    result = elastic()
    row = wide(result)
    job = result.intervals["job"][row]
    found = problems(result, changed(result, row, mask=0b1111))
    named(found, "number of GPUs outside its limits", f"job {job} holds 4 GPUs")


def test_a_resize_that_is_not_counted_is_named():
    result = elastic()
    job = int(np.argmax(result.schedule.resizes))
    count = result.schedule.resizes[job]
    found = problems(result, resizes=with_value(result.schedule.resizes, job, count - 1))
    named(found, "wrong resizes", f"job {job}: {count - 1}, the log has {count}")
    assert not any(problem.startswith("wrong preemptions") for problem in found)


@pytest.mark.parametrize("make", [elastic, proportional])
def test_work_that_was_not_done_is_named(make):
    result = make()
    job = int(np.argmax(result.schedule.resizes))
    service = result.trace.service_us
    longer = with_value(service, job, service[job] + 2_000)
    shorter = with_value(service, job, service[job] - 2_000)
    for rule, column in (("work lost", longer), ("finished too late", shorter)):
        other = make()
        other.trace = replace(result.trace, service_us=column)
        named(problems(other), rule, f"job {job} ")


def test_figures_other_than_those_of_the_run_are_noticed():
    result = elastic()
    first = result.trace.profiles[0]
    faster = {
        name: {count: 1.01 * figure for count, figure in curve.items()}
        for name, curve in first.throughput.items()
        if name == "V100"
    }
    other = gs.model.JobProfile("other", throughput=first.throughput | faster)
    result.trace = replace(result.trace, profiles=(other, *result.trace.profiles[1:]))
    assert any(
        problem.startswith(("work lost", "finished too late")) for problem in problems(result)
    )


@each("name", ["dsr", "deadlines_met", "tardiness_s", "resizes", "value_met"])
def test_a_wrong_metric_of_deadlines_is_named(name):
    result = elastic()
    value = result.summary()[name]
    named(problems(result, summary={name: value + 1}), "wrong metric", f"{name} is {value + 1}")
    named(problems(result, summary={"dsr_gap": -1e-6}), "wrong metric", "dsr_gap is -1e-06")


def test_a_job_without_a_figure_for_its_width_must_be_rejected():
    result = elastic()
    lacking = np.flatnonzero(result.schedule.reason == 4)
    assert len(lacking)
    reason = with_value(result.schedule.reason, lacking[0], 3)
    found = problems(result, reason=reason)
    named(found, "false reject", "expected 'the speed knows no configuration for it'")
