"""``gpusched run``: one policy on one workload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from gpusched.base.libraries import is_installed, need
from gpusched.base.run_warning import unwarned
from gpusched.cli import given, options
from gpusched.cli.answer_options import By, Price, check_groupings
from gpusched.cli.answer_tables import (
    breakdown_rows,
    cost_values,
    show_breakdown,
    show_costs,
)
from gpusched.cli.console import remark, show_json, show_lines, show_table
from gpusched.cli.outputs import prepare_folder, prepare_target, read_files
from gpusched.cli.prices import prices_of
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.reading import DEFAULT, Reading, reads_traces
from gpusched.cli.run_table import result_table
from gpusched.cli.workload_files import cluster_of, load_workload
from gpusched.exports.registry import schedule_format
from gpusched.plugins.policy import Policy
from gpusched.reporting.notes import caption, remarks
from gpusched.results.explain import has_id, place_of
from gpusched.studies import comparison as study

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

EPILOG: Final = """
[bold]Examples[/]

gpusched run jobs.csv --policy srtf --servers 64

gpusched run jobs.csv --policy 2d-las:preset=lucid --audit --out lucid

gpusched run jobs.csv --policy easy --report easy.html --plotly cdn

gpusched run jobs.csv -p easy --by gpus --by month --price 2.5

gpusched run -p fifo --profiles zoo --nic-gbps 25 --intra-gbps 400 --contention shared
"""


@reads_traces
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
    max_intervals: options.MaxIntervals = None,
    warm_up: options.WarmUp = None,
    tail: options.Tail = None,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Check the schedule independently of the core; exit code 1 if a rule is broken.",
            rich_help_panel=options.RUN,
        ),
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain",
            metavar="JOB|id=ID",
            help="Tell what happened to one job and why: by its place in the order of submission, "
            "or by its id in TRACE.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    by: By = None,
    price: Price = None,
    out: Annotated[
        Path | None,
        options.folder(
            "result.npz (see [bold]gpusched.load_result[/]), jobs.parquet and report.html."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="The report: one HTML file. Default: report.html in the folder of --out.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
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
    plotly: options.PlotlyLibrary = "inline",
    gantt: options.GanttWindow = None,
    json: options.Json = False,
    reading: Reading = DEFAULT,
) -> None:
    """Run one policy and print what it achieved."""
    page = given.page_of(plotly, gantt)
    if report is not None:
        need("plotly", "the report", "plotly")  # now, and not after an hour
    elif out is not None and is_installed("plotly"):
        report = out / "report.html"
    elif page != given.Page():
        raise ValueError("--plotly, --gantt: no report is written without --report or --out")
    label = str(Policy.parse(policy))
    groupings = check_groupings(by)
    prices = None if price is None else prices_of("--price", price)
    speed = given.speed_of(speed, contention, profiles, graphs, throughputs)
    network = given.network_of(nic_gbps, intra_gbps, servers_per_rack, oversubscription)
    files: dict[str, Path] = {}
    if timeline is not None:
        schedule_format(timeline)
    if out is not None:
        files = {"result": out / "result.npz", "jobs": out / "jobs.parquet"}
    if timeline is not None:
        files["timeline"] = timeline
    if report is not None:
        files["report"] = report
    with ProgressDisplay() as display:
        display.stage("reading the trace" if trace else "generating the workload")
        workload = load_workload(
            given.source_of(trace, format, column, option, reading),
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
            prepare_folder(out, ("result.npz", "jobs.parquet"), inputs)
        if timeline is not None:
            prepare_target(timeline, inputs)
        if report is not None:
            report.parent.mkdir(parents=True, exist_ok=True)
            prepare_target(report, inputs)
        asked = None if explain is None else _place_of(workload.trace, explain)
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
                max_intervals=max_intervals,
                warm_up_s=warm_up,
                tail_s=tail,
                progress=display.update,
            )
        result = comparison.results[label]
        story = () if asked is None else result.explain(asked).lines
        groups = {name: result.by(name, warm_up_s=warm_up, tail_s=tail) for name in groupings}
        cost = None if prices is None else result.cost(prices)
        found = None
        if audit:
            display.stage("auditing the schedule")
            found = result.audit()
    lost: list[str] = []
    try:
        if files:
            with ProgressDisplay() as display:
                if out is not None:
                    display.stage("writing the result")
                    result.save(files["result"])
                    result.to_parquet(files["jobs"])
                if timeline is not None:
                    display.stage("writing the timeline")
                    lost = result.export_with_losses(timeline)
                if report is not None:
                    from gpusched.reporting.report import write_report

                    display.stage("writing the report")
                    write_report(
                        comparison,
                        report,
                        workload.assumptions,
                        plotly=page.plotly,
                        window_s=page.window_s,
                    )
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if json:
            summary = comparison.to_dict()
            payload: dict[str, Any] = {key: summary[key] for key in ("trace", "cluster")}
            if "window" in summary:
                payload["window"] = summary["window"]
            payload |= {"result": summary["results"][0], "warnings": list(result.warnings)}
            if found is not None:
                payload["audit"] = {"ok": found.ok, "problems": list(found.problems)}
            if story:
                payload["explanation"] = list(story)
            if groups:
                payload["by"] = {name: breakdown_rows(frame) for name, frame in groups.items()}
            if cost is not None:
                payload["cost"] = cost_values(cost)
            payload["assumptions"] = list(workload.assumptions)
            payload["files"] = {name: str(path) for name, path in files.items()}
            show_json(payload)
        else:
            show_lines(caption(comparison))
            show_lines(workload.assumptions, style="yellow")
            show_table(result_table(label, result, comparison.summaries[label]))
            for name, frame in groups.items():
                show_breakdown(frame, name)
            if cost is not None:
                show_costs({label: cost})
            show_lines(story)
            if found is not None:
                show_lines([f"audit: {line}" for line in found.problems or ["every rule holds"]])
        remark(remarks(comparison), style="yellow")
    remark(lost, style="yellow")
    remark(f"wrote {path}" for path in files.values())
    if found is not None and not found.ok:
        raise typer.Exit(1)


def _place_of(trace: Trace, asked: str) -> int:
    """Return the job at a place, or with an id, which stands behind ``id=`` or is no number."""
    name = asked.removeprefix("id=")
    if name == asked and asked.isdecimal():
        if int(asked) < len(trace):
            return int(asked)
        other = f"; id={asked} is the one with this id" if has_id(trace, asked) else ""
        last = len(trace) - 1
        raise ValueError(f"--explain: there is no job {asked}; the last one is {last}{other}")
    try:
        return place_of(trace, name)
    except ValueError as error:
        raise ValueError(f"--explain: {str(error).removeprefix('job: ')}") from None
