"""The core behind the interface of the reference engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import gpusched as gs
from tests.reference import Graph, Job, Network, Outcome, Profile

US_PER_S = 1_000_000
Model = TypeVar("Model", Profile, Graph)


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
    if any(job.profile for job in jobs):
        profiles = distinct(job.profile for job in jobs)
        optional["profile"] = [profiles.index(job.profile) for job in jobs]
        optional["profiles"] = [make_profile(i, profile) for i, profile in enumerate(profiles)]
    if any(job.graph for job in jobs):
        graphs = distinct(job.graph for job in jobs)
        optional["graph"] = [graphs.index(job.graph) for job in jobs]
        optional["graphs"] = [make_graph(i, graph) for i, graph in enumerate(graphs)]
    return gs.Trace.from_columns(
        submit_s=seconds(job.submit_us for job in jobs),
        service_s=seconds(job.service_us for job in jobs),
        gpus=[job.gpus for job in jobs],
        **optional,
    )


def distinct(models: Iterable[Model | None]) -> list[Model]:
    """Return every profile or graph once; a job without one is an error."""
    found: list[Model] = []
    for model in models:
        assert model is not None
        if model not in found:
            found.append(model)
    return found


def make_profile(index: int, profile: Profile) -> gs.JobProfile:
    """Return a profile under a name of its own."""
    return gs.JobProfile(
        name=f"model {index}",
        gradient_bytes=profile.gradient_bytes,
        batch=profile.batch,
        forward_s=dict(profile.forward_s),
        backward_s=dict(profile.backward_s),
    )


def make_graph(index: int, graph: Graph) -> gs.JobGraph:
    """Return a graph under a name of its own."""
    stages = (
        gs.Stage(
            replicas=stage.replicas,
            compute_s=dict(stage.compute_s),
            parameter_bytes=stage.parameter_bytes,
            activation_bytes=stage.activation_bytes,
        )
        for stage in graph.stages
    )
    return gs.JobGraph(f"graph {index}", tuple(stages))


def make_cluster(servers: Sequence[tuple[int, str]], network: Network | None = None) -> gs.Cluster:
    """Return the servers, one group each, and the network between them."""
    if network is None:
        return gs.Cluster(tuple(gs.ServerGroup(1, gpus, gpu_type) for gpus, gpu_type in servers))
    has_domains = bool(network.domain_parent)
    groups = [
        gs.ServerGroup(
            count=1,
            gpus=gpus,
            gpu_type=gpu_type,
            nic_gbps=network.nic_gbps[server],
            intra_gbps=network.intra_gbps[server],
            domain=f"domain {network.server_domain[server]}" if has_domains else None,
        )
        for server, (gpus, gpu_type) in enumerate(servers)
    ]
    domains = [
        gs.Domain(
            name=f"domain {domain}",
            parent=None if parent is None else f"domain {parent}",
            uplink_gbps=network.uplink_gbps[domain],
        )
        for domain, parent in enumerate(network.domain_parent)
    ]
    return gs.Cluster(tuple(groups), domains=tuple(domains))


def choice_text(name: str, params: Mapping[str, Any]) -> str:
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
    *,
    speed: str = "fixed",
    contention: str = "none",
    speed_params: Mapping[str, Any] | None = None,
    contention_params: Mapping[str, Any] | None = None,
    network: Network | None = None,
) -> Outcome:
    """Run ``gpusched.simulate`` and return what the reference engine would return."""
    result = gs.simulate(
        make_trace(jobs),
        make_cluster(servers, network),
        policy=gs.Policy(policy, **(policy_params or {})),
        placement=choice_text(placement, placement_params or {}),
        predictor=predictor_of(jobs),
        speed=choice_text(speed, speed_params or {}),
        contention=choice_text(contention, contention_params or {}),
        seed=seed,
        verify=True,
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
        uncontended_us=schedule.uncontended_us.tolist(),
    )
