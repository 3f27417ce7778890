"""Results of the reference engine, for tests of what comes after a run."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

import gpusched
from gpusched import readable as reference
from gpusched.model.cluster import Cluster, Domain, ServerGroup
from gpusched.model.outages import Outages
from gpusched.model.profiles import JobProfile
from gpusched.reference import UNFINISHED, Job, Network, Outage, Outcome
from gpusched.results.result import Result
from gpusched.schedules.schedule import (
    FAILURE_COLUMNS,
    INTERVAL_COLUMNS,
    SCHEDULE_COLUMNS,
    StoredSchedule,
)
from gpusched.specs.run_spec import OutageSource, RunSpec, TraceSource
from gpusched.traces.workload import Trace

SECOND = 1_000_000
Servers = Sequence[tuple[int, str]]


def job(submit: float, service: float, gpus: int = 1, **more: Any) -> Job:
    """A job with times in seconds."""
    return Job(round(submit * SECOND), round(service * SECOND), gpus, **more)


def trace_of(jobs: Sequence[Job], **columns: Any) -> Trace:
    """The jobs as a trace; ``columns`` adds to or replaces the arguments."""
    arguments: dict[str, Any] = {
        "submit_s": [job.submit_us / SECOND for job in jobs],
        "service_s": [job.service_us / SECOND for job in jobs],
        "gpus": [job.gpus for job in jobs],
        "weight": [job.weight for job in jobs],
        "checkpoint_s": [job.checkpoint_us / SECOND for job in jobs],
        "restart_s": [job.restart_us / SECOND for job in jobs],
    }
    if any(job.precedence for job in jobs):
        arguments["priority"] = [-job.precedence for job in jobs]
    if any(job.allowed for job in jobs):
        arguments["gpu_types"] = [job.allowed for job in jobs]
    for name in ("estimate", "predicted", "time_limit", "checkpoint_every"):
        times = [getattr(job, f"{name}_us") or None for job in jobs]
        if any(time is not None for time in times):
            arguments[f"{name}_s"] = [np.nan if t is None else t / SECOND for t in times]
    if any(job.checkpoint_write_us for job in jobs):
        arguments["checkpoint_write_s"] = [job.checkpoint_write_us / SECOND for job in jobs]
    if any(job.max_requeues is not None for job in jobs):
        arguments["max_requeues"] = [
            np.nan if job.max_requeues is None else job.max_requeues for job in jobs
        ]
    if any(job.requeue_back for job in jobs):
        arguments["requeue_back"] = [int(job.requeue_back) for job in jobs]
    profiles = list({id(job.profile): job.profile for job in jobs if job.profile}.values())
    if profiles:
        arguments["profiles"] = [
            JobProfile(
                f"model{i}", p.gradient_bytes, p.batch, dict(p.forward_s), dict(p.backward_s)
            )
            for i, p in enumerate(profiles)
        ]
        arguments["profile"] = [profiles.index(job.profile) for job in jobs]
    return Trace.from_columns(**(arguments | columns))


def cluster_of(servers: Servers, network: Network | None = None) -> Cluster:
    """The servers, each a group of its own."""
    groups = [ServerGroup(1, gpus, gpu_type) for gpus, gpu_type in servers]
    if network is None:
        return Cluster(tuple(groups))
    names = [f"domain{i}" for i in range(len(network.domain_parent))]
    groups = [
        msgspec.structs.replace(
            group,
            nic_gbps=network.nic_gbps[i],
            intra_gbps=network.intra_gbps[i],
            domain=names[network.server_domain[i]] if names else None,
        )
        for i, group in enumerate(groups)
    ]
    tree = zip(names, network.domain_parent, network.uplink_gbps, strict=True)
    domains = (Domain(n, None if p is None else names[p], uplink_gbps=b) for n, p, b in tree)
    return Cluster(tuple(groups), domains=tuple(domains))


def text(name: str, parameters: Mapping[str, Any]) -> str:
    """A policy or a placement as the specification of a run writes it."""

    def written(value: Any) -> str:
        return "/".join(map(str, value)) if isinstance(value, list) else str(value)

    pairs = ",".join(f"{key}={written(value)}" for key, value in parameters.items())
    return f"{name}:{pairs}" if pairs else name


def outages_of(rows: Sequence[Outage]) -> Outages:
    """The outages as columns."""
    return Outages.from_columns(
        [row.server for row in rows],
        [row.start_us / SECOND for row in rows],
        [np.nan if row.end_us is None else row.end_us / SECOND for row in rows],
        [row.kind for row in rows],
        [
            (row.start_us if row.known_us is None else row.known_us) / SECOND
            if row.kind == "maint"
            else np.nan
            for row in rows
        ],
    )


def schedule_of(outcome: Outcome, *, has_faults: bool = False) -> StoredSchedule:
    """The outcome's lists as arrays."""
    rows = zip(*outcome.rows, strict=True) if outcome.rows else [()] * len(INTERVAL_COLUMNS)
    return StoredSchedule(
        **{name: np.array(getattr(outcome, name), t) for name, t in SCHEDULE_COLUMNS.items()},
        rows={
            name: np.array(column, dtype=dtype)
            for (name, dtype), column in zip(INTERVAL_COLUMNS.items(), rows, strict=True)
        },
        digest=outcome.digest,
        counters={},
        warnings=(),
        uncontended_us=np.array(outcome.uncontended_us, np.float64),
        **{
            name: np.array(getattr(outcome, name), dtype)
            for name, dtype in FAILURE_COLUMNS.items()
            if has_faults
        },
    )


def simulated(
    jobs: Sequence[Job],
    servers: Servers = ((4, "V100"), (4, "V100")),
    policy: str = "fifo",
    placement: str = "consolidated",
    *,
    policy_params: Mapping[str, Any] | None = None,
    placement_params: Mapping[str, Any] | None = None,
    seed: int = 0,
    network: Network | None = None,
    contention: str = "none",
    contention_params: Mapping[str, Any] | None = None,
    outages: Sequence[Outage] = (),
    **columns: Any,
) -> Result:
    """What the reference engine makes of ``jobs``; at the speed ``ring`` if there is a network."""
    policy_params, placement_params = policy_params or {}, placement_params or {}
    contention_params = contention_params or {}
    speed = "fixed" if network is None else "ring"
    outcome = reference.replay(
        jobs, servers, policy, placement, policy_params=policy_params,
        placement_params=placement_params, seed=seed, speed=speed, contention=contention,
        contention_params=contention_params, network=network, outages=outages,
    )  # fmt: skip
    trace, cluster = trace_of(jobs, **columns), cluster_of(servers, network)
    spec = RunSpec(
        policy=text(policy, policy_params), placement=text(placement, placement_params),
        predictor="oracle" if trace.predicted_us is None else "column", seed=seed, cluster=cluster,
        trace=TraceSource.of(trace), version=gpusched.__version__, speed=speed,
        contention=text(contention, contention_params),
        outages=OutageSource.of(outages_of(outages)),
    )  # fmt: skip
    limits = (trace.time_limit_us, trace.checkpoint_every_us)
    has_faults = bool(outages) or any(column is not None for column in limits)
    schedule = schedule_of(outcome, has_faults=has_faults)
    if policy == "serverfilling-srpt":
        schedule = dataclasses.replace(schedule, warnings=_of_filling(jobs, cluster))
    if num_left := outcome.status.count(UNFINISHED):
        many = "1 job waits" if num_left == 1 else f"{num_left} jobs wait"
        said = f"{many} forever, the first is job {outcome.status.index(UNFINISHED)}: GPUs are down"
        schedule = dataclasses.replace(schedule, warnings=(*schedule.warnings, said))
    return Result(
        trace, cluster, spec, schedule, 0.5,
        clairvoyant=_sees_truth(spec.policy, trace),
        outages=outages_of(outages) if outages else None,
    )  # fmt: skip


def _sees_truth(policy: str, trace: Trace) -> bool:
    """Whether the policy decides by the true services: with the oracle, if it needs them."""
    known = gpusched.Policy.parse(policy)
    needs = known.has("clairvoyant") or (known.has("estimate") and trace.estimate_us is None)
    return needs and trace.predicted_us is None


def _of_filling(jobs: Sequence[Job], cluster: Cluster) -> tuple[str, ...]:
    """What the core says of widths that leave GPUs idle; the reference says nothing."""
    odd = sum(job.gpus.bit_count() != 1 or cluster.num_gpus % job.gpus > 0 for job in jobs)
    what = "jobs have a number of GPUs that is not a power of two dividing the cluster; the "
    return (f"{odd} {what}filling is not exact and may leave GPUs idle",) if odd else ()
