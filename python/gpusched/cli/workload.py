"""Turn the options of a command into a trace and a cluster, and list the assumptions."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from gpusched.base.defaults import GPUS_PER_SERVER, MAX_LOAD, NUM_SERVERS
from gpusched.base.field_checks import not_negative
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_SERVICE_US, US_PER_S
from gpusched.cli.console import remark
from gpusched.cli.options import (
    GENERATOR,
    NUM_JOBS,
    ZOO,
    ClusterOptions,
    OutageOptions,
    WorkloadOptions,
)
from gpusched.engine.type_speeds import say_run_times
from gpusched.model.cluster import Cluster
from gpusched.model.profiles import JobProfile
from gpusched.traces.checked_columns import left_out
from gpusched.traces.cluster_sizing import assumed_cluster, types_named
from gpusched.traces.workload import Trace, with_limits

if TYPE_CHECKING:
    from gpusched.model.outages import Outages

_STDIN: Final = "-"


class Workload(msgspec.Struct, frozen=True):
    """The trace and cluster of a command.

    Attributes
    ----------
    assumptions
        Choices that the options left open, one sentence each.
    """

    trace: Trace
    cluster: Cluster
    assumptions: tuple[str, ...] = ()


def read_jobs(paths: Sequence[Path], options: WorkloadOptions, seed: int = 0) -> Trace:
    """Read trace files, select the requested part and columns, and remark on unused columns.

    The first submission of the part is second 0, as in a whole file.
    """
    from gpusched.traces.job_columns import unused
    from gpusched.traces.reading import read_quietly

    ignored = left_out("--ignore", options.ignore or ())
    typed, columns = options.format_options, options.columns
    files = [sys.stdin.buffer if str(path) == _STDIN else path for path in paths]
    before = trace = read_quietly(
        files,
        options.format,
        columns=columns or None,
        max_bytes=options.max_bytes,
        member=options.member,
        **typed,
    )
    said = [*trace.notes, *unused(trace)]
    remark((f"{trace.name}: {note}" for note in said), style="yellow")
    how: dict[str, str] = {}
    if options.since is not None or options.until is not None:
        trace = trace.between(options.since, options.until).rebased()
        limits = {"--from": options.since, "--to": options.until}
        how |= {option: value for option, value in limits.items() if value is not None}
    if options.filter is not None:
        trace = trace.filter(options.filter).rebased()
        how["--filter"] = options.filter
    if options.sample is not None:
        trace = trace.sample(options.sample, seed).rebased()
        how["--sample"] = f"{options.sample:g}"
    trace = trace.with_columns(**ignored) if ignored else trace
    if how:
        remark([_left(before, trace, how)], style="yellow")
    return trace if options.jobs is None else trace.head(options.jobs)


def _left(before: Trace, after: Trace, how: Mapping[str, str]) -> str:
    """Describe in a sentence how many jobs and GPU hours a selection kept."""
    share = after.gpu_seconds / before.gpu_seconds
    named = ", ".join(f"{what} {value}" for what, value in how.items())
    return f"{named}: {len(after):,} of {len(before):,} jobs, {100 * share:.1f}% of their GPU hours"


def remark_rejects(trace: Trace) -> None:
    """Print the rows that were left out of a trace."""
    remark((f"left out of the trace: {line}" for line in trace.rejects.lines()), style="yellow")


def load_workload(
    paths: Sequence[Path] | None,
    options: WorkloadOptions,
    servers: ClusterOptions,
    *,
    speed: str | None = None,
    seed: int = 0,
) -> Workload:
    """Read or generate the trace, and choose the cluster if none is given.

    Order: select jobs, up to ``--jobs``; choose the cluster; rescale to ``--load``; add profiles or
    throughputs, then graphs, which are measured at ``speed``, then deadlines.
    """
    has_types = bool(paths) and servers.cluster is None  # of its jobs, which are not read yet
    cluster = None if has_types else servers.named()
    due = None if options.deadlines is None else deadline_options(options.deadlines)
    models = None if options.profiles is None else _read_profiles(options.profiles)
    heavy_share = None if options.graphs is None else _heavy_share(options.graphs)
    if options.load is not None and not (math.isfinite(options.load) and options.load > 0):
        raise ValueError(f"--load: {options.load:g} must be finite and positive")
    make = _loaded if paths else _embedded
    made = make(paths or (), options, servers, cluster, seed)
    if options.reference_type is not None:
        made = replace(made, trace=made.trace.with_reference_type(options.reference_type))
    if models is not None:
        made = _with_profiles(made, models, seed)
    if options.throughputs is not None:
        made = _with_throughputs(made, options.throughputs, seed)
    if options.graphs is not None:
        made = _with_graphs(made, heavy_share, speed or "stages", seed)
    if options.restart is not None:
        cost_s = not_negative("--restart", options.restart, MAX_SERVICE_US / US_PER_S)
        made = replace(made, trace=made.trace.with_columns(restart_s=cost_s))
    made = replace(made, trace=_with_limits(made.trace, options.limits))
    if speed is None:
        said = tuple(say_run_times(made.trace, made.cluster))
        made = replace(made, assumptions=made.assumptions + said)
    return made if due is None else replace(made, trace=made.trace.with_deadlines(**due))


def _with_limits(trace: Trace, limits: Mapping[str, Any]) -> Trace:
    try:
        return with_limits(trace, **limits)
    except ValueError as error:
        found = re.search(r"column '(\w+?)(?:_s)?': (.*?)(?: \(and |$)", str(error))
        if found is None:
            raise
        raise ValueError(f"--{found[1].replace('_', '-')}: {found[2]}") from None


def load_outages(
    options: OutageOptions, loaded: Workload, cluster: Path | None, seed: int
) -> Outages | None:
    """Read or draw the outages of the options.

    Parameters
    ----------
    cluster
        The file of the cluster, which may have names of servers.
    """
    if options.outages is None and not options.drawn:
        return None
    from gpusched.base.source import Source
    from gpusched.traces.formats import slurm_nodes
    from gpusched.traces.outages import drawn_for, read_outages

    if options.drawn:
        return drawn_for(loaded.trace, loaded.cluster, **options.drawn, seed=seed)
    assert options.outages is not None
    has_names = cluster is not None and slurm_nodes.recognises(Source(cluster))
    return read_outages(options.outages, names=cluster if has_names else None, trace=loaded.trace)


def outages_told(outages: Outages | None) -> tuple[str, ...]:
    """Describe the outages of a run, a sentence each."""
    return () if outages is None else (f"outages: {outages}", *outages.notes)


def _loaded(
    paths: Sequence[Path],
    options: WorkloadOptions,
    servers: ClusterOptions,
    cluster: Cluster | None,
    seed: int,
) -> Workload:
    trace = read_jobs(paths, options, seed)
    assumptions: tuple[str, ...] = ()
    if cluster is None:
        cluster, assumptions = equal_servers(trace, servers)
    if cluster is None:
        cluster, said = assumed_cluster(trace, servers.gpus_per_server or GPUS_PER_SERVER)
        cluster, assumptions = servers.connected(cluster), (said,)
    if options.load is not None:
        trace = trace.with_load(options.load, cluster.num_gpus)
    return Workload(trace, cluster, assumptions)


def equal_servers(trace: Trace, servers: ClusterOptions) -> tuple[Cluster | None, tuple[str, ...]]:
    """Return the cluster of ``--servers``, of the GPU type that jobs name, and say so.

    Raises
    ------
    ValueError
        If jobs name several types.
    """
    types = types_named(trace)
    if servers.cluster is not None or servers.servers is None or not types:
        return servers.named(), ()
    if len(types) > 1:
        raise ValueError(
            f"--servers: jobs of {trace.name} name the GPU types {', '.join(types)}; list the "
            "servers of each in a file, --cluster FILE, or leave --servers out"
        )
    cluster = servers.uniform(servers.servers, types[0])
    return cluster, (f"GPU type assumed: {types[0]}, the only one that jobs name",)


def _embedded(
    _: Sequence[Path],
    options: WorkloadOptions,
    servers: ClusterOptions,
    cluster: Cluster | None,
    seed: int,
) -> Workload:
    from gpusched import generate

    cluster = cluster or servers.uniform(NUM_SERVERS)
    if options.needing_a_trace:
        raise ValueError(options.needing_a_trace)
    load = MAX_LOAD if options.load is None else options.load
    jobs = options.jobs or NUM_JOBS
    trace = generate(
        GENERATOR, jobs, load=load, cluster=cluster, seed=seed, **options.format_options
    )
    said = f"workload assumed: generated {GENERATOR}-like jobs, as no trace was given"
    return Workload(trace, cluster, (said, *trace.notes))


def generated(options: WorkloadOptions) -> dict[str, Any]:
    """Return a study's trace that is generated as by :func:`load_workload` without files.

    Raises
    ------
    ValueError
        If an option needs a trace.
    """
    if options.needing_a_trace:
        raise ValueError(options.needing_a_trace)
    said = {
        "profiles": options.profiles,
        "throughputs": options.throughputs,
        "deadlines": None if options.deadlines is None else deadline_options(options.deadlines),
        "restart_s": options.restart,
        **options.limits,
        "reference_type": options.reference_type,
        **options.format_options,
    }
    return {
        "generate": GENERATOR,
        "jobs": options.jobs or NUM_JOBS,
        "loads": [MAX_LOAD if options.load is None else options.load],
        **{name: value for name, value in said.items() if value is not None},
    }


def _read_profiles(text: str) -> tuple[JobProfile, ...]:
    if text == ZOO:
        from gpusched.model.model_zoo import zoo

        return tuple(zoo().values())
    from gpusched.model.profiles import read_profiles

    return read_profiles(text)


def _with_profiles(workload: Workload, models: tuple[JobProfile, ...], seed: int) -> Workload:
    """Take each job's profile from its group if all groups name one; else draw it."""
    trace, names = workload.trace, {model.name for model in models}
    if trace.group is not None and names.issuperset(trace.group.values()):
        return replace(workload, trace=trace.with_profiles(models, trace.group.values()))
    said: tuple[str, ...] = ()
    if len(models) > 1:
        said = (f"profiles assumed: drawn for each job from {len(models)}, seed {seed}",)
    trace = trace.with_profiles(models, seed=seed)
    return replace(workload, trace=trace, assumptions=workload.assumptions + said)


def _with_throughputs(workload: Workload, path: str, seed: int) -> Workload:
    """Take each job's model from its group if that names one; else draw it."""
    from gpusched.model.throughputs import read_throughputs
    from gpusched.traces.model_columns import add_throughputs

    trace, said = add_throughputs(workload.trace, read_throughputs(path), seed)
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
    """Read the optional share after ``zoo``."""
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
    from gpusched.model.model_zoo import MODELS
    from gpusched.traces.generating.graph_zoo import assign_graphs

    trace = assign_graphs(
        workload.trace, workload.cluster, heavy_share=heavy_share, speed=speed, seed=seed
    )
    said = f"graphs assumed: drawn for each job or group from {len(MODELS)} models, seed {seed}"
    return replace(workload, trace=trace, assumptions=(*workload.assumptions, said))
