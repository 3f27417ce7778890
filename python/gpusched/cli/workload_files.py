"""From the options of a command to a trace and a cluster, with all assumptions said."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from gpusched.base.suggest import nearest
from gpusched.cli.console import remark
from gpusched.cli.defaults import GENERATOR, GPUS_PER_SERVER, NUM_JOBS, ZOO
from gpusched.cli.reading import DEFAULT, Reading
from gpusched.clusters.cluster import Cluster
from gpusched.models.profiles import JobProfile
from gpusched.traces.cluster_sizing import smallest_cluster, why_so_many
from gpusched.traces.workload import Trace

_LOAD: Final = 0.9
_STDIN: Final = "-"
_SERVERS: Final = 64


@dataclass(frozen=True)
class Workload:
    """What a command runs on.

    Attributes
    ----------
    assumptions
        What the user did not say and we chose, a sentence each.
    """

    trace: Trace
    cluster: Cluster
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """Trace files and how to read them; without any, the embedded workload."""

    paths: tuple[Path, ...] = ()
    format: str | None = None
    columns: Mapping[str, str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    reading: Reading = DEFAULT

    def read(self, seed: int = 0) -> Trace:
        """Read the files, cut what is asked for, and remark what of them is not used."""
        from gpusched.traces.reading import read_quietly

        files = [sys.stdin.buffer if str(path) == _STDIN else path for path in self.paths]
        trace = read_quietly(
            files,
            self.format,
            columns=self.columns,
            max_bytes=self.reading.max_bytes,
            member=self.reading.member,
            **self.options,
        )
        remark((f"{trace.name}: {note}" for note in trace.notes), style="yellow")
        return self.reading.cut(trace, seed)


@dataclass(frozen=True)
class Network:
    """The network that the options give to a cluster that does not come from a file."""

    nic_gbps: float | None = None
    intra_gbps: float | None = None
    servers_per_rack: int | None = None
    oversubscription: float | None = None

    def __post_init__(self) -> None:
        if self.oversubscription is not None and self.servers_per_rack is None:
            raise ValueError("--oversubscription: needs --servers-per-rack")

    def of(self, cluster: Cluster) -> Cluster:
        """Return ``cluster`` with this network."""
        cluster = cluster.with_bandwidth(nic_gbps=self.nic_gbps, intra_gbps=self.intra_gbps)
        if self.servers_per_rack is None:
            return cluster
        if self.nic_gbps is None:
            raise ValueError("--servers-per-rack: needs --nic-gbps")
        return cluster.with_racks(self.servers_per_rack, self.oversubscription or 1.0)


NO_NETWORK: Final = Network()


def load_workload(
    source: Source,
    cluster: Cluster | None,
    *,
    gpus_per_server: int | None = None,
    network: Network = NO_NETWORK,
    jobs: int | None = None,
    load: float | None = None,
    profiles: str | None = None,
    graphs: str | None = None,
    throughputs: str | None = None,
    deadlines: str | None = None,
    speed: str | None = None,
    seed: int = 0,
) -> Workload:
    """Read or generate the trace, and choose the cluster if there is none.

    A trace is first cut as ``source`` says and to ``jobs``, then given a cluster, then rescaled
    to ``load``, then given ``profiles`` or ``throughputs``, then ``graphs``, which are measured at
    ``speed``, then ``deadlines``.
    """
    due = None if deadlines is None else deadline_options(deadlines)
    models = None if profiles is None else _read_profiles(profiles)
    heavy_share = None if graphs is None else _heavy_share(graphs)
    workload = _load(source, cluster, gpus_per_server, network, jobs, load, seed)
    if models is not None:
        workload = _with_profiles(workload, models, seed)
    if throughputs is not None:
        workload = _with_throughputs(workload, throughputs, seed)
    if graphs is not None:
        workload = _with_graphs(workload, heavy_share, speed or "stages", seed)
    if due is not None:
        workload = replace(workload, trace=workload.trace.with_deadlines(**due))
    return workload


def _load(
    source: Source,
    cluster: Cluster | None,
    gpus_per_server: int | None,
    network: Network,
    jobs: int | None,
    load: float | None,
    seed: int,
) -> Workload:
    if load is not None and not (math.isfinite(load) and load > 0):
        raise ValueError(f"--load: {load:g} must be finite and positive")
    gpus = gpus_per_server or GPUS_PER_SERVER
    if not source.paths:
        cluster = cluster or network.of(Cluster.uniform(_SERVERS, gpus))
        return _embedded(source, cluster, jobs, load, seed)
    trace = source.read(seed)
    if jobs is not None:
        trace = trace.head(jobs)
    assumptions: tuple[str, ...] = ()
    if cluster is None:
        cluster = network.of(smallest_cluster(trace, gpus, _LOAD))
        assumptions = (f"cluster assumed: {why_so_many(trace, cluster, gpus, _LOAD)}",)
    if load is not None:
        trace = trace.with_load(load, cluster.num_gpus)
    return Workload(trace, cluster, assumptions)


def cluster_of(
    servers: int | None,
    gpus_per_server: int | None,
    cluster_file: Path | None,
    network: Network = NO_NETWORK,
) -> Cluster | None:
    """Make the cluster that the options describe, or None if they leave it open."""
    if cluster_file is not None:
        if servers is not None or gpus_per_server is not None:
            raise ValueError("--cluster: cannot be combined with --servers or --gpus-per-server")
        if network != NO_NETWORK:
            raise ValueError("--cluster: cannot be combined with options of the network")
        from gpusched.traces.inventories import read_cluster

        return read_cluster(cluster_file)
    if servers is not None:
        return network.of(Cluster.uniform(servers, gpus_per_server or GPUS_PER_SERVER))
    return None


def _read_profiles(text: str) -> tuple[JobProfile, ...]:
    if text == ZOO:
        from gpusched.models.model_zoo import zoo

        return tuple(zoo().values())
    from gpusched.models.profiles import read_profiles

    return read_profiles(text)


def _with_profiles(workload: Workload, models: tuple[JobProfile, ...], seed: int) -> Workload:
    """Take each job's profile from its group where all groups name one; else draw it."""
    trace, names = workload.trace, {model.name for model in models}
    if trace.group is not None and names.issuperset(trace.group.values()):
        return replace(workload, trace=trace.with_profiles(models, trace.group.values()))
    said: tuple[str, ...] = ()
    if len(models) > 1:
        said = (f"profiles assumed: each job's drawn from {len(models)}, seed {seed}",)
    trace = trace.with_profiles(models, seed=seed)
    return replace(workload, trace=trace, assumptions=workload.assumptions + said)


def _with_throughputs(workload: Workload, path: str, seed: int) -> Workload:
    """Take each job's model from its group where that names one; else draw it."""
    from gpusched.models.throughput_files import read_throughputs

    read = read_throughputs(path)
    before = workload.trace
    trace = before.with_throughputs(read, seed=seed)
    named = () if before.group is None else before.group.values()
    drawn = len(trace) - sum(name in read for name in named)
    said = read.notes
    if drawn:
        said += (f"models assumed: those of {drawn:,} jobs drawn from {len(read)}, seed {seed}",)
    return replace(workload, trace=trace, assumptions=workload.assumptions + said)


def deadline_options(text: str) -> dict[str, Any]:
    """Read ``tightness=1,seed=1``: the arguments of :meth:`gpusched.Trace.with_deadlines`."""
    kinds: dict[str, Callable[[str], Any]] = {
        "recipe": str, "tightness": float, "seed": int, "share": float, "value": float,
    }  # fmt: skip
    read: dict[str, Any] = {}
    for part in text.split(","):
        key, _, value = (piece.strip() for piece in part.partition("="))
        if key not in kinds:
            raise ValueError(f"--deadlines: unknown {key!r}{nearest(key, list(kinds))}")
        if key in read:
            raise ValueError(f"--deadlines: {key} is given twice")
        try:
            read[key] = kinds[key](value)
        except ValueError:
            raise ValueError(f"--deadlines: {key} {value!r} must be a number") from None
    return read


def _heavy_share(text: str) -> float | None:
    """Read what follows ``zoo``: nothing, or a share."""
    name, _, parameter = text.partition(":")
    key, _, value = parameter.partition("=")
    if name != ZOO or (parameter and key != "heavy_share"):
        raise ValueError(f"--graphs: {text!r} is not of the form {ZOO} or {ZOO}:heavy_share=X")
    if not parameter:
        return None
    try:
        share = float(value)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise ValueError(f"--graphs: heavy_share {value!r} must lie in 0..1")
    return share


def _with_graphs(workload: Workload, heavy_share: float | None, speed: str, seed: int) -> Workload:
    from gpusched.generator.graph_zoo import MODELS, assign_graphs

    trace = assign_graphs(
        workload.trace, workload.cluster, heavy_share=heavy_share, speed=speed, seed=seed
    )
    said = f"graphs assumed: each job's or group's drawn from {len(MODELS)} models, seed {seed}"
    return replace(workload, trace=trace, assumptions=(*workload.assumptions, said))


def _embedded(
    source: Source, cluster: Cluster, jobs: int | None, load: float | None, seed: int
) -> Workload:
    from gpusched import generate

    if source.format is not None or source.columns or source.options:
        raise ValueError("--format, --column and --option: need a TRACE")
    if source.reading != DEFAULT:
        raise ValueError(f"{source.reading.first}: needs a TRACE")
    load = _LOAD if load is None else load
    trace = generate(GENERATOR, jobs or NUM_JOBS, load=load, cluster=cluster, seed=seed)
    return Workload(
        trace,
        cluster,
        (f"workload assumed: generated {GENERATOR}-like jobs, as no trace was given",),
    )
