"""``gpusched trace``: inspect, convert and generate job traces."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer

from gpusched.base.rejects import Rejects
from gpusched.base.run_warning import unwarned
from gpusched.base.tables import Cell, Column, Table, table, text_column
from gpusched.base.units import seconds_of
from gpusched.base.wording import duration, plural
from gpusched.cli.console import remark, show_json, show_lines, show_table
from gpusched.cli.options import (
    FILES,
    LIMITS,
    OUTPUT,
    EqualServers,
    Shown,
    TraceOptions,
    WorkloadOptions,
    argument,
    flag,
    in_panel,
    prepare_target,
    read_files,
    without,
)
from gpusched.cli.workload import deadline_options, equal_servers, load_workload, read_jobs
from gpusched.model.cluster import Cluster
from gpusched.traces.auditing.findings import Finding, TraceAudit, Verdict
from gpusched.traces.auditing.trace_audit import judged, published_gpus
from gpusched.traces.checked_columns import duplicate_ids_kept
from gpusched.traces.cluster_sizing import fitting_jobs, fitting_load
from gpusched.traces.format_registry import trace_formats
from gpusched.traces.workload import Trace

INFO_EPILOG: Final = """
[bold]Examples[/]

gpusched trace info jobs.csv --servers 64

gpusched trace info log.csv --column service_s=length --column submit_s=t0
"""
AUDIT_EPILOG: Final = """
[bold]Examples[/]

gpusched trace audit jobs.csv --servers 64

gpusched trace audit log.swf --strict --json
"""
CONVERT_EPILOG: Final = """
[bold]Example[/]

gpusched trace convert cluster_job_log.json jobs.parquet
"""
ANONYMISE_EPILOG: Final = """
[bold]Example[/]

gpusched trace anonymise sacct.txt jobs.csv --round 60
"""
GENERATE_EPILOG: Final = """
[bold]Example[/]

gpusched trace generate philly jobs.parquet --jobs 1000000 --load 0.9 --servers 64
"""
FORMATS_EPILOG: Final = """
[bold]Example[/]

gpusched trace formats --json
"""
_TARGET: Final = "Output file: .csv, .parquet, .npz or .swf."
_BAR: Final = "█"
_BAR_WIDTH: Final = 40
_STYLES: Final = {"wrong": "bold red", "odd": "yellow", "fine": "green", "unknown": "dim"}
_COUNTED: Final[tuple[tuple[Verdict, str], ...]] = (
    ("wrong", "wrong"),
    ("odd", "odd"),
    ("fine", "fine"),
    ("unknown", "cannot be judged"),
)


def info(
    trace: list[Path] = FILES,
    *,
    how: TraceOptions,
    servers: EqualServers,
    shown: Shown,
) -> None:
    """Show job counts, times, sizes, load on a cluster and rejected rows."""
    loaded = load_workload(trace, how, servers)
    jobs = loaded.trace
    facts = jobs.describe()
    facts["cluster"] = str(loaded.cluster)
    fits = fitting_jobs(jobs, loaded.cluster)
    load = fitting_load(jobs, loaded.cluster, fits)
    facts["load"] = load if np.isfinite(load) else None
    facts["num_fitting"] = int(np.count_nonzero(fits))
    if shown.is_json:
        rejects = {
            reason: {
                "count": count,
                f"first_{jobs.rejects.unit}s": list(jobs.rejects.first[reason]),
            }
            for reason, count in jobs.rejects.counts.items()
        }
        extra = {
            "widths": _widths(jobs),
            "rejects": rejects,
            "assumptions": list(loaded.assumptions),
        }
        show_json(facts | extra)
        return
    show_table(_facts(jobs, facts, loaded.cluster))
    show_lines(loaded.assumptions, style="yellow")
    show_table(_histogram(jobs))
    show_lines([f"left out: {line}" for line in jobs.rejects.lines()], style="yellow")


def _facts(trace: Trace, facts: dict[str, Any], cluster: Cluster) -> Table:
    epoch, clock = facts["epoch"], facts["clock"]
    rows = {
        "source": trace.source,
        "jobs": f"{len(trace):,}",
        "left out": plural(trace.rejects.total, "row") if trace.rejects else "none",
        "first submission": f"{epoch} ({clock})" if clock == "local time" else epoch or "not known",
        "submitted over": duration(facts["span_s"]),
        "service, mean": duration(facts["mean_service_s"]),
        "service, p50 / p95 / max": " / ".join(
            duration(facts[f"{key}_service_s"]) for key in ("p50", "p95", "max")
        ),
        "GPUs, mean / p50 / max": f"{facts['mean_gpus']:.2f} / {facts['p50_gpus']:,} / "
        f"{facts['max_gpus']:,}",
        "GPU hours": f"{facts['gpu_hours']:,.0f}",
        "load": _load(facts, cluster),
    }  # fmt: skip
    for key, noun in (("num_users", "users"), ("num_queues", "queues"), ("num_groups", "groups")):
        if key in facts:
            rows[noun] = f"{facts[key]:,}"
    rows |= _wishes(facts)
    if trace.status is not None:
        counts = zip(trace.status.names, trace.status.counts().tolist(), strict=True)
        rows["status"] = ", ".join(f"{name or 'not given'} {count:,}" for name, count in counts)
    return table("", [*map(text_column, ("trace", trace.name))], rows.items())


def _load(facts: dict[str, Any], cluster: Cluster) -> str:
    if facts["load"] is None:
        return "undefined: all jobs arrive at one instant"
    said = f"{facts['load']:.3f} on {cluster}"
    unfit = facts["num_jobs"] - facts["num_fitting"]
    if not unfit:
        return said
    does = "does" if unfit == 1 else "do"
    return f"{said}; without {plural(unfit, 'job')} that {does} not fit"


def _wishes(facts: dict[str, Any]) -> dict[str, str]:
    """Return the rows for demands, deadlines and elastic jobs that the trace has."""
    rows = {}
    if "num_shares" in facts:
        share = facts["mean_share"]
        part = "" if share is None else f", {share:.2f} of it on average"
        rows["shares of a GPU"] = plural(facts["num_shares"], "job") + part
    for column, noun, unit in (("cpu", "CPU", "cores"), ("memory_gib", "memory", "GiB")):
        if f"mean_{column}" in facts:
            mean, most = facts[f"mean_{column}"], facts[f"max_{column}"]
            rows[f"{noun} per worker, mean / max"] = f"{mean:,.1f} / {most:,.1f} {unit}"
    if "num_deadlines" in facts:
        slack, tight = facts["p50_slack"], facts["num_slack_below_1"]
        part = "" if slack is None else f", p50 {slack:.2f} run times after submit"
        rows["deadlines"] = plural(facts["num_deadlines"], "job") + part
        if tight:
            rows["deadlines below one run time"] = plural(tight, "job")
    if "total_value" in facts:
        rows["value of all jobs"] = f"{facts['total_value']:,.1f}"
    if "num_elastic" in facts:
        rows["elastic"] = plural(facts["num_elastic"], "job")
    return rows


def _widths(trace: Trace) -> list[dict[str, Any]]:
    """Count jobs and their share of GPU time by GPUs, in bins that end in powers of two."""
    last = np.ceil(np.log2(trace.gpus)).astype(np.int64)
    work = trace.gpus * trace.service_s
    share = np.bincount(last, weights=work) / work.sum()
    bins = []
    for bin_index in np.unique(last).tolist():
        gpus = trace.gpus[last == bin_index]
        bins.append(
            {
                "min_gpus": int(gpus.min()),
                "max_gpus": int(gpus.max()),
                "jobs": len(gpus),
                "share_of_gpu_time": float(share[bin_index]),
            }
        )
    return bins


def _histogram(trace: Trace) -> Table:
    rows = []
    for row in _widths(trace):
        low, high, jobs = row["min_gpus"], row["max_gpus"], row["jobs"]
        part, work = jobs / len(trace), row["share_of_gpu_time"]
        width = f"{low:,}" if low == high else f"{low:,}-{high:,}"
        rows.append((width, jobs, part, work, _BAR * round(_BAR_WIDTH * part)))
    shares = (Column(f"share of {noun}", kind="percent") for noun in ("jobs", "GPU time"))
    columns = (Column("GPUs"), Column("jobs", kind="count"), *shares, text_column(""))
    return table("", columns, rows)


def audit(
    trace: list[Path] = FILES,
    *,
    how: TraceOptions,
    servers: EqualServers,
    every: bool = flag(OUTPUT, "Also show the checks that passed.", names=("--all",)),
    strict: bool = flag(OUTPUT, "Exit with 1 if a check finds an error."),
    shown: Shown,
) -> None:
    """Report errors and anomalies in a trace, with rows and effects on a study.

    Demands are compared with a cluster only if one is given.
    """
    processors = how.format_options.get("processors_per_gpu", 1)
    with duplicate_ids_kept():
        jobs = read_jobs(trace, how)
    inventory, assumed = equal_servers(jobs, servers)
    remark(assumed)
    is_plain = len(trace) == 1 and processors == 1
    found = judged(jobs, inventory, published_gpus(trace[0]) if is_plain else None)
    if shown.is_json:
        show_json(found.to_dict())
    else:
        _show_audit(found, every)
    if strict and not found.ok:
        raise typer.Exit(1)


def _show_audit(found: TraceAudit, every: bool) -> None:
    shown = [*found.of("wrong"), *found.of("odd")]
    if every:
        shown += [*found.of("unknown"), *found.of("fine")]
    if shown:
        show_table(_findings(shown), wrap=True)
    counts = ", ".join(f"{len(found.of(verdict))} {word}" for verdict, word in _COUNTED)
    show_lines([f"{plural(found.num_jobs, 'job')}, {len(found.findings)} checks: {counts}"])


def _findings(findings: Iterable[Finding]) -> Table:
    rows = []
    for found in findings:
        told, threshold = f"{found.what}{found.where}", ""
        if found.verdict in ("odd", "wrong"):
            told, threshold = f"{told}\n{found.effect}", found.threshold
        verdict = Cell(found.verdict, _STYLES[found.verdict])
        rows.append((found.name, verdict, Cell(told, detail=threshold)))
    names = ("verdict", "finding, effect on a study, threshold")
    return table("", [text_column("check", is_unbroken=True), *map(text_column, names)], rows)


def convert(
    trace: list[Path] = FILES,
    target: Path = argument("TARGET", ..., _TARGET),
    jobs: int | None = in_panel(
        None, "N", None, "Number of jobs, from the first. Default: all.", min=1
    ),
    *,
    how: Annotated[
        WorkloadOptions,
        without(*LIMITS, "jobs", "load", "restart", "profiles", "graphs", "throughputs"),
    ],
) -> None:
    """Convert a trace to gpusched's columns or to SWF."""
    prepare_target(target, read_files(trace))
    read = read_jobs(trace, how)
    if jobs is not None:
        read = read.head(jobs)
    if how.deadlines is not None:
        read = read.with_deadlines(**deadline_options(how.deadlines))
    _write(read, target, rejects=read.rejects)


def anonymise(
    trace: list[Path] = FILES,
    target: Path = argument("TARGET", ..., _TARGET),
    salt: str | None = in_panel(
        None,
        "SECRET",
        None,
        "Key of the hashes; the same key gives the same hashes in several files. Default: random "
        "and not shown.",
    ),
    round: float = in_panel(
        None, "TIME", 60.0, "Unit of the rounded times, such as [bold]1h[/].", parser=seconds_of
    ),
    *,
    how: TraceOptions,
) -> None:
    """Write an anonymised copy of a trace: hashed names, rounded times.

    Job sizes, GPU types and the pattern of arrivals stay.
    """
    from gpusched.traces.anonymising import anonymise as without_names

    prepare_target(target, read_files(trace))
    read = read_jobs(trace, how)
    _write(without_names(read, salt=salt, round_s=round), target, rejects=read.rejects)


def _write(made: Trace, target: Path, *, rejects: Rejects | None = None, over: str = "") -> None:
    """Write a trace and report what the format cannot hold."""
    from gpusched.traces.writers import losses, write_trace

    with unwarned():
        write_trace(made, target)
    remark(losses(made, target), style="yellow")
    if rejects:
        remark((f"left out: {line}" for line in rejects.lines()), style="yellow")
    remark([f"wrote {plural(len(made), 'job')}{over} to {target}"])


def generate(
    name: str = argument(
        "NAME",
        ...,
        "Published trace whose aggregates to imitate: philly, helios, itp, acme or pai.",
    ),
    target: Path = argument("TARGET", ..., _TARGET),
    jobs: int = in_panel(None, "N", 20_000, "Number of jobs.", min=1),
    load: float = in_panel(None, "X", 0.9, "Offered load: the jobs' GPU time over the cluster's."),
    seed: int = in_panel(None, "S", 0, "Seed for all random choices.", min=0),
    model: int = in_panel(
        None,
        "1|2",
        2,
        "Version of the generator. 2: steady load; 1: as in earlier versions, with bursts that "
        "grow with --jobs.",
        min=1,
        max=2,
    ),
    *,
    servers: EqualServers,
) -> None:
    """Generate a synthetic workload for a cluster."""
    import gpusched

    prepare_target(target, read_files(cluster=servers.cluster))
    cluster = servers.named()
    made = gpusched.generate(name, jobs, load=load, cluster=cluster, seed=seed, model=model)
    remark(made.notes, style="yellow")
    _write(made, target, over=f" over {duration(made.span_us / 1e6)}")


def formats(*, shown: Shown) -> None:
    """List trace formats with their detection, options and sources."""
    known = trace_formats().values()
    if shown.is_json:
        fields = ("name", "summary", "source", "detection", "options", "endings")
        show_json({"formats": [{name: getattr(one, name) for name in fields} for one in known]})
        return
    rows = []
    for one in known:
        endings = ", ".join(f".{ending}" for ending in one.endings)
        detection, options = one.detection.replace("`", ""), "\n".join(one.options)
        told = f"{one.summary}\n{one.source}"
        rows.append((one.name, detection, endings or "-", options, told))
    names = ("format", "recognised by", "written as", "options", "what it is, its source")
    show_table(table("", [*map(text_column, names)], rows), wrap=True)
