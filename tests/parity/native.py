"""The native core without the facade: the reference's jobs as the columns that it borrows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gpusched as gs
from gpusched import _core
from gpusched.engine.seams import policy_seam
from gpusched.model import outages as of_servers
from gpusched.reference import Job, Network, Outage, Outcome
from gpusched.reference.model import Active
from tests.parity.core import make_cluster, outcome_of
from tests.reference.cases import Case

KINDS = ("after", "afterany", "afterok", "afternotok")
NO_LIMIT = 2**31 - 1
EVERYWHERE = 2**64 - 1


def job_table(
    jobs: Sequence[Job], gpu_types: Sequence[str], array_limits: Sequence[int | None] = ()
) -> _core.JobTable:
    """Return all columns of the jobs, for a cluster with these GPU types."""
    in_order = sorted(jobs, key=lambda job: job.submit_us)

    def column(name: str, dtype: type, missing: float = 0) -> np.ndarray:
        values = [getattr(job, name) for job in in_order]
        return np.array([missing if value is None else value for value in values], dtype)

    sets = sorted({tuple(sorted(job.allowed or ())) for job in in_order})
    bits = {name: 1 << index for index, name in enumerate(gpu_types)}
    masks = [sum(bits.get(name, 0) for name in names) if names else EVERYWHERE for names in sets]
    return _core.JobTable(
        column("submit_us", np.int64),
        column("service_us", np.int64),
        column("gpus", np.int32),
        **guesses(in_order),
        checkpoint_us=column("checkpoint_us", np.int64),
        restart_us=column("restart_us", np.int64),
        weight=column("weight", np.float64),
        deadline_us=column("deadline_us", np.int64, -1),
        value=column("value", np.float64),
        min_gpus=column("min_gpus", np.int32),
        max_gpus=column("max_gpus", np.int32, NO_LIMIT),
        gpus_per_node=column("gpus_per_node", np.int32),
        checkpoint_every_us=column("checkpoint_every_us", np.int64),
        checkpoint_write_us=column("checkpoint_write_us", np.int64),
        max_requeues=column("max_requeues", np.int32, -1),
        time_limit_us=column("time_limit_us", np.int64, -1),
        stated_us=np.array([Active(0, job).stated_length or -1 for job in in_order], np.int64),
        type_set=np.array(
            [sets.index(tuple(sorted(job.allowed or ()))) for job in in_order], np.int32
        ),
        type_masks=np.array(masks, np.uint64),
        **rank_columns(in_order),
        **hold_columns(in_order, array_limits),
        **demand_columns(in_order),
        **model_columns(in_order, gpu_types),
    )


def rank_columns(jobs: Sequence[Job]) -> dict[str, np.ndarray]:
    """Return who goes first, and who to the back when hit; nothing where none does."""
    names = ("precedence", "requeue_back")
    columns = {name: [getattr(job, name) for job in jobs] for name in names}
    return {name: np.array(ranks, np.int32) for name, ranks in columns.items() if any(ranks)}


def hold_columns(jobs: Sequence[Job], array_limits: Sequence[int | None]) -> dict[str, np.ndarray]:
    """Return what holds and cancels jobs; a column that no job uses is left out."""
    columns = {}
    for name in ("eligible_us", "cancel_at_us", "array"):
        values = [getattr(job, name) for job in jobs]
        if values != [None] * len(jobs):
            dtype = np.int32 if name == "array" else np.int64
            columns[name] = np.array([-1 if v is None else v for v in values], dtype)
    if "array" in columns:
        limits = [-1 if limit is None else limit for limit in array_limits]
        columns["array_limit"] = np.array(limits, np.int32)
    pairs = [one for job in jobs for one in job.dependencies]
    if pairs:
        lengths = [len(job.dependencies) for job in jobs]
        columns["dependency_begin"] = np.cumsum([0, *lengths], dtype=np.int64)
        columns["dependency_target"] = np.array([one.target for one in pairs], np.int64)
        columns["dependency_kind"] = np.array([KINDS.index(one.kind) for one in pairs], np.int32)
        columns["exit_failed"] = np.array([job.exit_failed for job in jobs], np.int32)
        if any(one.delay_us for one in pairs):
            columns["dependency_delay_us"] = np.array([one.delay_us for one in pairs], np.int64)
        if any(job.dependency_any for job in jobs):
            columns["dependency_any"] = np.array([job.dependency_any for job in jobs], np.int32)
    return columns


def guesses(jobs: Sequence[Job]) -> dict[str, np.ndarray]:
    """Return predictions and estimates, where any job has some."""
    states = [Active(number, job) for number, job in enumerate(jobs)]
    columns = {}
    if any(job.predicted_us is not None for job in jobs):
        columns["predicted_us"] = np.array([state.predicted for state in states], np.int64)
    if any(job.estimate_us is not None for job in jobs):
        columns["estimate_us"] = np.array([state.estimate for state in states], np.int64)
    return columns


def demand_columns(jobs: Sequence[Job]) -> dict[str, np.ndarray]:
    """Return what workers ask for; nothing if no job asks for anything."""
    asked = [(job.share_milli, job.cpu_milli, job.memory_mib) for job in jobs]
    if set(asked) == {(1000, 0, 0)}:
        return {}
    rows = sorted(set(asked))
    share, cpu, memory = zip(*rows, strict=True)
    return {
        "demand": np.array([rows.index(row) for row in asked], np.int32),
        "demand_share_milli": np.array(share, np.int32),
        "demand_cpu_milli": np.array(cpu, np.int64),
        "demand_memory_mib": np.array(memory, np.int64),
    }


def model_columns(jobs: Sequence[Job], gpu_types: Sequence[str]) -> dict[str, np.ndarray]:
    """Return profiles of one kind: what ``ring``, ``table`` or ``proportional`` reads."""
    for kind, columns in (
        ("profile", ring_columns),
        ("throughputs", table_columns),
        ("samples", sample_columns),
    ):
        models: list[Any] = []
        for model in (getattr(job, kind) for job in jobs):
            if model is not None and model not in models:
                models.append(model)
        if models:
            index = [models.index(getattr(job, kind)) for job in jobs]
            return {"profile": np.array(index, np.int32)} | columns(models, gpu_types)
    return {}


def ring_columns(models: Sequence[Any], gpu_types: Sequence[str]) -> dict[str, np.ndarray]:
    """Return what an iteration computes and exchanges."""
    return {
        "gradient_bytes": np.array([model.gradient_bytes for model in models]),
        "compute_s": np.array([model.compute_s(name) for model in models for name in gpu_types]),
    }


def table_columns(models: Sequence[Any], gpu_types: Sequence[str]) -> dict[str, np.ndarray]:
    """Return throughputs; all tables have the same counts, and those of spread gangs stand for
    packed ones where a model has none.
    """
    counts = sorted(next(iter(models[0].packed.values())))

    def flat(tables: Sequence[Mapping[str, Mapping[int, float]]]) -> np.ndarray:
        return np.array([t[name][count] for t in tables for name in gpu_types for count in counts])

    columns = {
        "table_counts": np.array(counts, np.int32),
        "throughput": flat([model.packed for model in models]),
    }
    if any(model.spread for model in models):
        columns["spread_throughput"] = flat([model.spread or model.packed for model in models])
    return columns


def sample_columns(models: Sequence[Any], gpu_types: Sequence[str]) -> dict[str, np.ndarray]:
    """Return what workers do of the samples of an iteration."""
    columns = {
        "samples_per_s": np.array([m.per_s[name] for m in models for name in gpu_types]),
        "global_batch": np.array([model.batch for model in models], np.int64),
    }
    if any(model.most for model in models):
        most = [model.most.get(name, 0) for model in models for name in gpu_types]
        columns["max_samples"] = np.array(most, np.int64)
    if any(model.gradient_bytes for model in models):
        columns["gradient_bytes"] = np.array([model.gradient_bytes for model in models])
    return columns


def servers_of(
    servers: Sequence[tuple[int, str]],
    network: Network | None,
    room: Sequence[tuple[int | None, int | None]],
    part_of: Sequence[int] = (),
) -> _core.Cluster:
    """Return the servers with what they have beside GPUs; negative is unlimited."""
    cluster = make_cluster(servers, network, (), part_of)
    capacity = {}
    if room:
        cpu, memory = zip(*room, strict=True)
        for name, values in (("cpu_milli", cpu), ("memory_mib", memory)):
            capacity[name] = np.array([-1 if v is None else v for v in values], np.int64)
    return _core.Cluster(
        cluster.server_gpus, cluster.server_type, **cluster.core_columns(), **capacity
    )


def outage_columns(outages: Sequence[Outage]) -> dict[str, np.ndarray]:
    """Return outages as columns, in the given order."""
    ends = [-1 if outage.end_us is None else outage.end_us for outage in outages]
    return {
        "outage_server": np.array([outage.server for outage in outages], np.int32),
        "outage_start_us": np.array([outage.start_us for outage in outages], np.int64),
        "outage_end_us": np.array(ends, np.int64),
        "outage_kind": np.array(
            [of_servers.KINDS.index(outage.kind) for outage in outages], np.uint8
        ),
        "outage_known_us": np.array(
            [out.start_us if out.known_us is None else out.known_us for out in outages], np.int64
        ),
    }


def begin_native(
    jobs: Sequence[Job],
    servers: Sequence[tuple[int, str]],
    policy: Any,
    placement: str,
    *,
    policy_params: Mapping[str, Any] | None = None,
    placement_params: Mapping[str, Any] | None = None,
    flags: Sequence[str] = (),
    seed: int = 0,
    speed: str = "fixed",
    contention: str = "none",
    speed_params: Mapping[str, Any] | None = None,
    contention_params: Mapping[str, Any] | None = None,
    network: Network | None = None,
    room: Sequence[tuple[int | None, int | None]] = (),
    part_of: Sequence[int] = (),
    outages: Sequence[Outage] = (),
    array_limits: Sequence[int | None] = (),
    kill_invalid_depend: bool = False,
) -> _core.Run:
    """Begin a run under a policy by name or a scheduler of Python, verifying every rate."""
    gpu_types = list(dict.fromkeys(gpu_type for _, gpu_type in servers))
    return _core.Run(
        job_table(jobs, gpu_types, array_limits),
        servers_of(servers, network, room, part_of),
        _core.RunDescription(
            policy=policy, policy_values=dict(policy_params or {}), policy_flags=list(flags),
            placement=placement, placement_values=dict(placement_params or {}), speed=speed,
            speed_values=dict(speed_params or {}), contention=contention,
            contention_values=dict(contention_params or {}), seed=seed, verify=True,
            kill_invalid_depend=kill_invalid_depend, **outage_columns(outages),
        ),
    )  # fmt: skip


def run_native(
    jobs: Sequence[Job],
    servers: Sequence[tuple[int, str]],
    policy: Any,
    placement: str,
    **options: Any,
) -> Outcome:
    """Run the core to the end."""
    return outcome_of(begin_native(jobs, servers, policy, placement, **options).finish())


def begin_case(case: Case) -> _core.Run:
    """Begin a run of a case, with its outages and what holds its jobs."""
    policy = policy_seam(gs.Policy(case.policy, **case.policy_params))
    return begin_native(
        case.jobs, case.servers, policy.native, case.placement, policy_params=policy.parameters,
        flags=policy.flags, placement_params=case.placement_params, seed=case.seed,
        outages=case.outages, **case.speeds(), **case.holds(),
    )  # fmt: skip


def run_case(case: Case) -> Outcome:
    """Run a case to the end."""
    return outcome_of(begin_case(case).finish())
