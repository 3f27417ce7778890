"""The core behind the interface of the reference engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gpusched as gs
from tests.reference import Job, Outcome

US_PER_S = 1_000_000


def seconds(ticks: Iterable[int | None]) -> list[float]:
    """Return ticks as seconds, NaN where there are none."""
    return [float("nan") if tick is None else tick / US_PER_S for tick in ticks]


def make_trace(jobs: Sequence[Job]) -> gs.Trace:
    """Return the jobs as a trace; an optional column that no job uses is left out."""
    optional: dict[str, Any] = {}
    if any(job.estimate_us is not None for job in jobs):
        optional["estimate_s"] = seconds(job.estimate_us for job in jobs)
    if any(job.weight != 1 for job in jobs):
        optional["weight"] = [job.weight for job in jobs]
    if any(job.allowed for job in jobs):
        optional["gpu_types"] = [job.allowed for job in jobs]
    if any(job.checkpoint_us for job in jobs):
        optional["checkpoint_s"] = seconds(job.checkpoint_us for job in jobs)
    if any(job.restart_us for job in jobs):
        optional["restart_s"] = seconds(job.restart_us for job in jobs)
    return gs.Trace.from_columns(
        submit_s=seconds(job.submit_us for job in jobs),
        service_s=seconds(job.service_us for job in jobs),
        gpus=[job.gpus for job in jobs],
        **optional,
    )


def make_cluster(servers: Sequence[tuple[int, str]]) -> gs.Cluster:
    """Return the servers, one group each."""
    return gs.Cluster(tuple(gs.ServerGroup(1, gpus, gpu_type) for gpus, gpu_type in servers))


def placement_text(name: str, params: Mapping[str, Any]) -> str:
    """Return ``name:key=value,...``."""
    options = ",".join(f"{key}={value}" for key, value in params.items())
    return f"{name}:{options}" if options else name


def predictor_of(jobs: Sequence[Job]) -> str:
    """Return ``estimate`` if predictions are the estimates, ``oracle`` if there are none."""
    if all(job.predicted_us is None for job in jobs):
        return "oracle"
    assert all(job.predicted_us == job.estimate_us for job in jobs)
    return "estimate"


def run_core(
    jobs: Sequence[Job],
    servers: Sequence[tuple[int, str]],
    policy: str,
    placement: str = "count",
    policy_params: Mapping[str, Any] | None = None,
    placement_params: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Outcome:
    """Run ``gpusched.simulate`` and return what the reference engine would return."""
    result = gs.simulate(
        make_trace(jobs),
        make_cluster(servers),
        policy=gs.Policy(policy, **(policy_params or {})),
        placement=placement_text(placement, placement_params or {}),
        predictor=predictor_of(jobs),
        seed=seed,
    )
    schedule = result.schedule
    intervals = schedule.intervals()
    columns = ("job", "start_us", "end_us", "server", "mask")
    return Outcome(
        start_us=schedule.start_us.tolist(),
        finish_us=schedule.finish_us.tolist(),
        held_us=schedule.held_us.tolist(),
        paid_us=schedule.paid_us.tolist(),
        preemptions=schedule.preemptions.tolist(),
        num_servers=schedule.num_servers.tolist(),
        status=schedule.status.tolist(),
        reason=schedule.reason.tolist(),
        rows=list(zip(*(intervals[name].tolist() for name in columns), strict=True)),
        digest=schedule.digest,
    )
