"""``gpusched trace info``: what is in a trace."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from rich.table import Table

from gpusched.base.wording import duration, plural
from gpusched.cli import given, options
from gpusched.cli.console import new_table, show_json, show_lines, show_table
from gpusched.cli.reading import DEFAULT, Reading, reads_traces
from gpusched.cli.workload_files import cluster_of, load_workload
from gpusched.clusters.cluster import Cluster
from gpusched.traces.fitting_jobs import fitting_jobs, fitting_load
from gpusched.traces.workload import Trace

_BAR: Final = "█"
_BAR_WIDTH: Final = 40
EPILOG: Final = """
[bold]Examples[/]

gpusched trace info jobs.csv --servers 64

gpusched trace info log.csv --column service_s=length --column submit_s=t0
"""


@reads_traces
def info(
    trace: options.RequiredTrace,
    format: options.Format = None,
    column: options.Columns = None,
    option: options.Options = None,
    servers: options.Servers = None,
    gpus_per_server: options.GpusPerServer = None,
    cluster: options.ClusterFile = None,
    json: options.Json = False,
    reading: Reading = DEFAULT,
) -> None:
    """Show counts, times, widths, the load on a cluster, and what was left out."""
    source = given.source_of(trace, format, column, option, reading)
    workload = load_workload(
        source,
        cluster_of(servers, gpus_per_server, cluster),
        gpus_per_server=gpus_per_server,
    )
    jobs = workload.trace
    facts = jobs.describe()
    facts["cluster"] = str(workload.cluster)
    fits = fitting_jobs(jobs, workload.cluster)
    facts["load"] = _finite(fitting_load(jobs, workload.cluster, fits))
    facts["num_fitting"] = int(np.count_nonzero(fits))
    if json:
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
            "assumptions": list(workload.assumptions),
        }
        show_json(facts | extra)
        return
    show_table(_facts(jobs, facts, workload.cluster))
    show_lines(workload.assumptions, style="yellow")
    show_table(_histogram(jobs))
    show_lines([f"left out: {line}" for line in jobs.rejects.lines()], style="yellow")


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _facts(trace: Trace, facts: dict[str, Any], cluster: Cluster) -> Table:
    table = new_table()
    table.add_column("trace")
    table.add_column(trace.name)
    rows = {
        "source": trace.source,
        "jobs": f"{len(trace):,}",
        "left out": plural(trace.rejects.total, "row") if trace.rejects else "none",
        "first submission": facts["epoch"] or "not known",
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
    for label, value in rows.items():
        table.add_row(label, value)
    return table


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
    """Demands, deadlines and widths, of those facts that there are."""
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
    """Jobs and their share of the GPU time, by number of GPUs in bins that end in powers of two."""
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
    table = new_table()
    table.add_column("GPUs", justify="right")
    for heading in ("jobs", "% of jobs", "% of GPU time"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in _widths(trace):
        low, high, jobs = row["min_gpus"], row["max_gpus"], row["jobs"]
        part, work = jobs / len(trace), row["share_of_gpu_time"]
        table.add_row(
            f"{low:,}" if low == high else f"{low:,}-{high:,}",
            f"{jobs:,}",
            f"{100 * part:.1f}",
            f"{100 * work:.1f}",
            _BAR * round(_BAR_WIDTH * part),
        )
    return table
