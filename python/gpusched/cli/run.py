"""``gpusched run``: one policy on one workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gpusched.base.run_warning import unwarned
from gpusched.cli import given, options
from gpusched.cli.console import flush, remark, show_json, show_lines, show_table
from gpusched.cli.outputs import prepare_folder, prepare_target, read_files
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.run_table import result_table
from gpusched.cli.workload_files import cluster_of, load_workload
from gpusched.exports.registry import schedule_format
from gpusched.plugins.policy import Policy
from gpusched.reporting.notes import caption, remarks
from gpusched.results.result import Result
from gpusched.studies import comparison as study

EPILOG: Final = """
[bold]Examples[/]

gpusched run jobs.csv --policy srtf --servers 64

gpusched run jobs.csv --policy 2d-las:preset=lucid --audit --out lucid

gpusched run -p fifo --profiles zoo --nic-gbps 25 --intra-gbps 400 --contention shared
"""


def run(
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME[:KEY=VALUE,...]",
            help="The policy, see [bold]gpusched policies[/].",
            rich_help_panel=options.RUN,
        ),
    ],
    trace: options.OptionalTrace = None,
    format: options.Format = None,
    column: options.Columns = None,
    option: options.Options = None,
    jobs: options.Jobs = None,
    load: options.Load = None,
    profiles: options.Profiles = None,
    graphs: options.Graphs = None,
    throughputs: options.Throughputs = None,
    deadlines: options.Deadlines = None,
    servers: options.Servers = None,
    gpus_per_server: options.GpusPerServer = None,
    cluster: options.ClusterFile = None,
    nic_gbps: options.NicGbps = None,
    intra_gbps: options.IntraGbps = None,
    servers_per_rack: options.ServersPerRack = None,
    oversubscription: options.Oversubscription = None,
    placement: options.Placement = "consolidated",
    predictor: options.Predictor = "oracle",
    speed: options.Speed = None,
    contention: options.Contention = "none",
    seed: options.Seed = 0,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Check the schedule independently of the core; exit code 1 if a rule is broken.",
            rich_help_panel=options.RUN,
        ),
    ] = False,
    explain: Annotated[
        int | None,
        typer.Option(
            "--explain",
            metavar="JOB",
            help="Tell what happened to one job and why, by its place in the order of submission.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        options.folder("result.npz (see [bold]gpusched.load_result[/]) and jobs.parquet."),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Write the schedule as a timeline for ui.perfetto.dev; .csv (Batsim's jobs) and "
            ".swf (a log) as well.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run one policy and print what it achieved."""
    label = str(Policy.parse(policy))
    speed = given.speed_of(speed, contention, profiles, graphs, throughputs)
    network = given.network_of(nic_gbps, intra_gbps, servers_per_rack, oversubscription)
    files: dict[str, Path] = {}
    if timeline is not None:
        schedule_format(timeline)
    if out is not None:
        files = {"result": out / "result.npz", "jobs": out / "jobs.parquet"}
    with ProgressDisplay() as display:
        display.stage("reading the trace" if trace else "generating the workload")
        workload = load_workload(
            given.source_of(trace, format, column, option),
            cluster_of(servers, gpus_per_server, cluster, network),
            gpus_per_server=gpus_per_server,
            network=network,
            jobs=jobs,
            load=load,
            profiles=profiles,
            graphs=graphs,
            throughputs=throughputs,
            deadlines=deadlines,
            speed=speed,
            seed=seed,
        )
        inputs = read_files(
            trace=trace, cluster=cluster, profiles=profiles, throughputs=throughputs
        )
        if out is not None:
            prepare_folder(out, tuple(path.name for path in files.values()), inputs)
        if timeline is not None:
            prepare_target(timeline, inputs)
        display.runs([label])
        with unwarned():  # they are shown as remarks
            comparison = study.compare(  # and not simulate: it lets go of the run on Ctrl-C
                workload.trace,
                workload.cluster,
                [label],
                placement=placement,
                predictor=predictor,
                speed=speed,
                contention=contention,
                seed=seed,
                progress=display.update,
            )
        result = comparison.results[label]
        story = () if explain is None else _story(result, explain)
        report = None
        if audit:
            display.stage("auditing the schedule")
            report = result.audit()
    if json:
        summary = comparison.to_dict()
        payload: dict[str, Any] = {key: summary[key] for key in ("trace", "cluster")}
        payload |= {"result": summary["results"][0], "warnings": list(result.warnings)}
        if report is not None:
            payload["audit"] = {"ok": report.ok, "problems": list(report.problems)}
        if story:
            payload["explanation"] = list(story)
        payload["assumptions"] = list(workload.assumptions)
        payload["files"] = {name: str(path) for name, path in files.items()}
        show_json(payload)
    else:
        show_lines(caption(comparison))
        show_lines(workload.assumptions, style="yellow")
        show_table(result_table(label, result))
        show_lines(story)
        if report is not None:
            show_lines([f"audit: {line}" for line in report.problems or ["every rule holds"]])
    remark(remarks(comparison), style="yellow")
    lost: list[str] = []
    if files or timeline is not None:
        flush()
        with ProgressDisplay() as display:
            display.stage("writing the result")
            if files:
                result.save(files["result"])
                result.to_parquet(files["jobs"])
            if timeline is not None:
                lost = result.export_with_losses(timeline)
                files["timeline"] = timeline
    remark(lost, style="yellow")
    remark(f"wrote {path}" for path in files.values())
    if report is not None and not report.ok:
        raise typer.Exit(1)


def _story(result: Result, job: int) -> tuple[str, ...]:
    if not 0 <= job < len(result.trace):
        raise ValueError(
            f"--explain: there is no job {job}; the last one is {len(result.trace) - 1}"
        )
    return result.explain(job).lines
