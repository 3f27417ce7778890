"""The core behind the interface of the reference engine."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
import pytest
from hypothesis import reject

import gpusched as gs
from gpusched.reference import HELD, Graph, Job, Network, Outcome, Profile, Samples, Throughputs
from gpusched.reference.model import WHOLE
from tests.reference import artefact_packing as artefact_packing
from tests.reference.cases import JOB_TIMES, Case

US_PER_S = 1_000_000
MINUTE_US = 60 * US_PER_S
MOST_INSTANTS = 4_000
EXACT_US = 2**52
"""Up to here ticks survive being stated in seconds."""
Room = Sequence[tuple[int | None, int | None]]
"""CPU (thousandths of a core) and memory (MiB) of each server; None: unlimited."""
Model = TypeVar("Model", Profile, Graph, Throughputs, Samples)


def seconds(ticks: Iterable[int | None]) -> list[float]:
    """Return ticks as seconds, NaN where there are none."""
    return [float("nan") if tick is None else tick / US_PER_S for tick in ticks]


def make_trace(jobs: Sequence[Job], array_limits: Sequence[int | None] = ()) -> gs.Trace:
    """Return the jobs as a trace; an optional column that no job uses is left out."""
    jobs = sorted(jobs, key=lambda job: job.submit_us)
    optional: dict[str, Any] = {}
    if any(job.estimate_us is not None for job in jobs):
        optional["estimate_s"] = seconds(job.estimate_us for job in jobs)
    if any(job.weight != 1 for job in jobs):
        optional["weight"] = [job.weight for job in jobs]
    if any(job.allowed for job in jobs):
        optional["gpu_types"] = [job.allowed for job in jobs]
    if any(job.time_limit_us is not None for job in jobs):
        optional["time_limit_s"] = seconds(job.time_limit_us for job in jobs)
    if any(job.checkpoint_every_us for job in jobs):
        optional["checkpoint_every_s"] = seconds(job.checkpoint_every_us or None for job in jobs)
        optional["checkpoint_write_s"] = seconds(job.checkpoint_write_us for job in jobs)
    if any(job.max_requeues is not None for job in jobs):
        optional["max_requeues"] = [
            float("nan") if job.max_requeues is None else float(job.max_requeues) for job in jobs
        ]
    if any(job.requeue_back for job in jobs):
        optional["requeue_back"] = [int(job.requeue_back) for job in jobs]
    if any(job.checkpoint_us for job in jobs):
        optional["checkpoint_s"] = seconds(job.checkpoint_us for job in jobs)
    if any(job.restart_us for job in jobs):
        optional["restart_s"] = seconds(job.restart_us for job in jobs)
    if any(job.deadline_us is not None for job in jobs):
        optional["deadline_s"] = seconds(job.deadline_us for job in jobs)
    if any(job.value != 1 for job in jobs):
        optional["value"] = [job.value for job in jobs]
    if any(job.share_milli != WHOLE for job in jobs):
        optional["gpu_share"] = [job.share_milli / WHOLE for job in jobs]
    if any(job.cpu_milli for job in jobs):
        optional["cpu"] = [job.cpu_milli / 1000 for job in jobs]
    if any(job.memory_mib for job in jobs):
        optional["memory_gib"] = [job.memory_mib / 1024 for job in jobs]
    if any(job.gpus_per_node for job in jobs):
        optional["gpus_per_node"] = [job.gpus_per_node for job in jobs]
    if any(job.min_gpus != 1 for job in jobs):
        optional["min_gpus"] = [job.min_gpus for job in jobs]
    if any(job.max_gpus is not None for job in jobs):
        most = [float("nan") if job.max_gpus is None else float(job.max_gpus) for job in jobs]
        optional["max_gpus"] = most
    if any(job.precedence for job in jobs):
        optional["priority"] = [-job.precedence for job in jobs]
    optional |= held_columns(jobs, array_limits)
    for kind, make in PROFILES.items():
        if any(getattr(job, kind) for job in jobs):
            models = distinct(getattr(job, kind) for job in jobs)
            optional["profile"] = [models.index(getattr(job, kind)) for job in jobs]
            optional["profiles"] = [make(i, model) for i, model in enumerate(models)]
    if any(job.graph for job in jobs):
        graphs = distinct(job.graph for job in jobs)
        optional["graph"] = [graphs.index(job.graph) for job in jobs]
        optional["graphs"] = [make_graph(i, graph) for i, graph in enumerate(graphs)]
    trace = gs.Trace.from_columns(
        submit_s=seconds(job.submit_us for job in jobs),
        service_s=seconds(job.service_us for job in jobs),
        gpus=[job.gpus for job in jobs],
        **optional,
    )
    return in_ticks(trace, jobs)


def held_columns(jobs: Sequence[Job], array_limits: Sequence[int | None]) -> dict[str, Any]:
    """Return what holds and cancels jobs as a trace states it."""
    columns: dict[str, Any] = {}
    if any(job.eligible_us is not None for job in jobs):
        begins = seconds(job.eligible_us for job in jobs)
        is_held = [job.eligible_us == HELD for job in jobs]
        columns["eligible_s"] = np.where(is_held, np.inf, begins)
    if any(job.cancel_at_us is not None for job in jobs):
        columns["cancel_at_s"] = seconds(job.cancel_at_us for job in jobs)
    if any(job.array is not None for job in jobs):
        tasks = [("", None) if job.array is None else (f"array{job.array}", array_limits[job.array])
                 for job in jobs]  # fmt: skip
        columns["array"] = [name for name, _ in tasks]
        columns["array_limit"] = [float("nan") if limit is None else limit for _, limit in tasks]
    if any(job.dependencies for job in jobs):
        columns["dependency"] = [dependency_text(job) for job in jobs]
        columns["status"] = ["failed" if job.exit_failed else "ok" for job in jobs]
    return columns


def dependency_text(job: Job) -> str:
    """Return the dependencies of a job in Slurm's grammar; the id of a job is its number."""
    terms = [
        f"{one.kind}:{one.target}" + (f"+{one.delay_us / MINUTE_US}" if one.delay_us else "")
        for one in job.dependencies
    ]
    return ("?" if job.dependency_any else ",").join(terms)


def in_ticks(trace: gs.Trace, jobs: Sequence[Job]) -> gs.Trace:
    """Return the trace with the very ticks of its jobs, which seconds may be too coarse for."""
    exact: dict[str, Any] = {}
    for name in JOB_TIMES:
        ticks = [getattr(job, name) for job in jobs]
        if max(tick or 0 for tick in ticks) > EXACT_US and getattr(trace, name) is not None:
            exact[name] = np.array([-1 if tick is None else tick for tick in ticks], np.int64)
    return dataclasses.replace(trace, **exact) if exact else trace


def distinct(models: Iterable[Model | None]) -> list[Model]:
    """Return every profile or graph once; a job without one is an error."""
    found: list[Model] = []
    for model in models:
        assert model is not None
        if model not in found:
            found.append(model)
    return found


def make_profile(index: int, profile: Profile) -> gs.model.JobProfile:
    """Return a profile under a name of its own."""
    return gs.model.JobProfile(
        name=f"model {index}", gradient_bytes=profile.gradient_bytes, batch=profile.batch,
        forward_s=dict(profile.forward_s), backward_s=dict(profile.backward_s),
    )  # fmt: skip


def make_table(index: int, tables: Throughputs) -> gs.model.JobProfile:
    """Return a profile of throughputs."""
    spread = tables.spread or {}
    return gs.model.JobProfile(
        name=f"model {index}",
        throughput={name: dict(curve) for name, curve in tables.packed.items()},
        spread_throughput={name: dict(curve) for name, curve in spread.items()},
    )


def make_samples(index: int, samples: Samples) -> gs.model.JobProfile:
    """Return a profile of samples per second."""
    return gs.model.JobProfile(
        name=f"model {index}",
        gradient_bytes=samples.gradient_bytes,
        samples_per_s=dict(samples.per_s),
        global_batch=samples.batch,
        max_samples={name: most for name, most in samples.most.items() if most},
    )


PROFILES = {"profile": make_profile, "throughputs": make_table, "samples": make_samples}
"""How a profile is made of what a job of the reference has, by its kind."""


def make_graph(index: int, graph: Graph) -> gs.model.JobGraph:
    """Return a graph under a name of its own."""
    stages = (
        gs.model.Stage(
            replicas=stage.replicas,
            compute_s=dict(stage.compute_s),
            parameter_bytes=stage.parameter_bytes,
            activation_bytes=stage.activation_bytes,
        )
        for stage in graph.stages
    )
    return gs.model.JobGraph(f"graph {index}", tuple(stages))


def make_cluster(
    servers: Sequence[tuple[int, str]],
    network: Network | None = None,
    room: Room = (),
    part_of: Sequence[int] = (),
) -> gs.Cluster:
    """Return the servers, one group each, and the network between them."""
    limits = [
        (None if cpu is None else cpu / 1000, None if memory is None else memory / 1024)
        for cpu, memory in room or [(None, None)] * len(servers)
    ]
    groups = [
        gs.ServerGroup(1, gpus, gpu_type, cpu=cpu, memory_gib=memory)
        for (gpus, gpu_type), (cpu, memory) in zip(servers, limits, strict=True)
    ]
    if part_of:
        groups = [
            msgspec.structs.replace(group, part_of=f"server {whole}")
            for group, whole in zip(groups, part_of, strict=True)
        ]
    if network is None:
        return gs.Cluster(tuple(groups))
    has_domains = bool(network.domain_parent)
    groups = [
        msgspec.structs.replace(
            group,
            nic_gbps=network.nic_gbps[server],
            intra_gbps=network.intra_gbps[server],
            domain=f"domain {network.server_domain[server]}" if has_domains else None,
        )
        for server, group in enumerate(groups)
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
    room: Room = (),
    part_of: Sequence[int] = (),
) -> Outcome:
    """Run ``gpusched.simulate`` and return what the reference engine would return."""
    result = gs.simulate(
        make_trace(jobs), make_cluster(servers, network, room, part_of),
        policy=gs.Policy(policy, **(policy_params or {})),
        placement=choice_text(placement, placement_params or {}), predictor=predictor_of(jobs),
        speed=choice_text(speed, speed_params or {}),
        contention=choice_text(contention, contention_params or {}), seed=seed, verify=True,
    )  # fmt: skip
    return outcome_of(result.schedule)


def outcome_of(schedule: Any) -> Outcome:
    """Return a schedule as the reference engine would."""
    intervals = schedule.intervals()
    columns = ("job", "start_us", "end_us", "server", "mask")
    none = [0] * len(schedule.status)  # the core leaves out what no job can have
    return Outcome(
        start_us=schedule.start_us.tolist(), finish_us=schedule.finish_us.tolist(),
        held_us=schedule.held_us.tolist(), paid_us=schedule.paid_us.tolist(),
        preemptions=schedule.preemptions.tolist(), resizes=schedule.resizes.tolist(),
        num_servers=schedule.num_servers.tolist(), status=schedule.status.tolist(),
        reason=schedule.reason.tolist(), failures=schedule.failures.tolist() or none,
        lost_us=schedule.lost_us.tolist() or none, written_us=schedule.written_us.tolist() or none,
        eligible_us=schedule.eligible_us.tolist(),
        rows=list(zip(*(intervals[name].tolist() for name in columns), strict=True)),
        digest=schedule.digest, uncontended_us=schedule.uncontended_us.tolist(),
    )  # fmt: skip


def assert_same(expected: Outcome, actual: Outcome) -> None:
    """Fail with the name of the first column that differs."""
    for field in dataclasses.fields(expected):
        if not field.compare:
            continue
        assert getattr(actual, field.name) == getattr(expected, field.name), field.name


def assert_equal(case: Case) -> None:
    """Replay a case in both engines, unless it has too many instants for the readable one.

    What that refuses, since it would last too long, the core refuses, too.
    """
    try:
        expected = case.replay(max_instants=MOST_INSTANTS)
    except RuntimeError:
        reject()
    except ValueError:
        with pytest.raises(ValueError, match=r"2\^"):
            run_core(*case.arguments(), **case.speeds())
        return
    assert_same(expected, run_core(*case.arguments(), **case.speeds()))
