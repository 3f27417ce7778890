"""``gpusched trace audit``: what is wrong or odd in a trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from gpusched.base.wording import plural
from gpusched.cli import given, options
from gpusched.cli.console import new_table, show_json, show_lines, show_table
from gpusched.cli.reading import DEFAULT, Reading, reads_traces
from gpusched.cli.workload_files import cluster_of
from gpusched.traces.auditing.findings import Finding, TraceAudit, Verdict
from gpusched.traces.auditing.trace_audit import judged, published_gpus
from gpusched.traces.job_ids import duplicate_ids_kept

_STYLES: Final = {"wrong": "bold red", "odd": "yellow", "fine": "green", "unknown": "dim"}
_COUNTED: Final[tuple[tuple[Verdict, str], ...]] = (
    ("wrong", "wrong"),
    ("odd", "odd"),
    ("fine", "fine"),
    ("unknown", "cannot be judged"),
)
EPILOG: Final = """
[bold]Examples[/]

gpusched trace audit jobs.csv --servers 64

gpusched trace audit log.swf --strict --json
"""


@reads_traces
def audit(
    trace: options.RequiredTrace,
    format: options.Format = None,
    column: options.Columns = None,
    option: options.Options = None,
    servers: options.Servers = None,
    gpus_per_server: options.GpusPerServer = None,
    cluster: options.ClusterFile = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Show what is fine, too.", rich_help_panel=options.OUTPUT),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with 1 if something is wrong.", rich_help_panel=options.OUTPUT
        ),
    ] = False,
    json: options.Json = False,
    reading: Reading = DEFAULT,
) -> None:
    """Say what is wrong or odd in a trace, with rows, and what it does to a study.

    Without a cluster, nothing is said of demands that exceed it.
    """
    source = given.source_of(trace, format, column, option, reading)
    inventory = cluster_of(servers, gpus_per_server, cluster)
    with duplicate_ids_kept():
        jobs = source.read()
    is_plain = len(trace) == 1 and source.options.get("processors_per_gpu", 1) == 1
    found = judged(jobs, inventory, published_gpus(trace[0]) if is_plain else None)
    if json:
        show_json(found.to_dict())
    else:
        _show(found, every)
    if strict and not found.ok:
        raise typer.Exit(1)


def _show(found: TraceAudit, every: bool) -> None:
    shown = [*found.of("wrong"), *found.of("odd")]
    if every:
        shown += [*found.of("unknown"), *found.of("fine")]
    if shown:
        show_table(_table(shown), wrap=True)
    counts = ", ".join(f"{len(found.of(verdict))} {word}" for verdict, word in _COUNTED)
    show_lines([f"{plural(found.num_jobs, 'job')}, {len(found.findings)} checks: {counts}"])


def _table(findings: Iterable[Finding]) -> Table:
    table = new_table()
    table.add_column("check", no_wrap=True)
    table.add_column("verdict")
    table.add_column("what was found, what it does to a study, from where on")
    for found in findings:
        text = Text(found.what)
        text.append(found.where)
        if found.verdict in ("odd", "wrong"):
            text.append(f"\n{found.effect}")
            text.append(f"\n{found.threshold}", style="dim")
        table.add_row(found.name, Text(found.verdict, style=_STYLES[found.verdict]), text)
    return table
