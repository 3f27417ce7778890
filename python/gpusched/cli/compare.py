"""``gpusched compare``: several policies on one workload, as a table and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from gpusched.base.libraries import is_installed
from gpusched.base.memory import keep_freed_memory
from gpusched.base.run_warning import unwarned
from gpusched.base.suggest import nearest
from gpusched.cli import given, options
from gpusched.cli.answer_options import By, Price, check_groupings
from gpusched.cli.compare_answers import Answers
from gpusched.cli.console import remark, show_json, show_lines, show_table, stdout
from gpusched.cli.errors import INTERRUPTED, report_failures
from gpusched.cli.outputs import prepare_folder, read_files
from gpusched.cli.prices import prices_of
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.reading import DEFAULT, Reading, reads_traces
from gpusched.cli.run_table import comparison_table
from gpusched.cli.workload_files import cluster_of, load_workload
from gpusched.plugins.policy import Policy
from gpusched.reporting.notes import caption, footnotes, remarks
from gpusched.studies import comparison as study

EPILOG: Final = """
[bold]Examples[/]

gpusched compare [dim]# the embedded workload[/]

gpusched compare jobs.csv --servers 64 --gpus-per-server 8

gpusched compare jobs.csv -p fifo,srtf -p 2d-las:preset=lucid

gpusched compare jobs.csv -p fifo,srtf --losers --by gpus

gpusched compare jobs.csv --load 0.8 --json | jq .results[0].mean_jct_s
"""


@reads_traces
def compare(
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
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policies",
            "-p",
            metavar="A,B:KEY=VALUE,...",
            help="Policies with their parameters, see [bold]gpusched policies[/]. May be repeated. "
            f"Default: {', '.join(study.DEFAULT_POLICIES)}.",
            show_default=False,
            rich_help_panel=options.RUN,
        ),
    ] = None,
    placement: options.Placement = "consolidated",
    predictor: options.Predictor = "oracle",
    speed: options.Speed = None,
    contention: options.Contention = "none",
    seed: options.Seed = 0,
    max_intervals: options.MaxIntervals = None,
    warm_up: options.WarmUp = None,
    tail: options.Tail = None,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            help="Policies that run at a time. Default: one per CPU.",
            show_default=False,
            rich_help_panel=options.RUN,
        ),
    ] = None,
    by: By = None,
    price: Price = None,
    losers: Annotated[
        bool,
        typer.Option(
            "--losers",
            help="Tell which jobs and widths lost, and which won, against the baseline.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = False,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="The policy that [bold]--losers[/] compares with. Default: the first.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    out: Annotated[
        Path,
        options.folder("report.html and jobs.parquet.", show_default=True),
    ] = Path("gpusched-report"),
    plotly: options.PlotlyLibrary = "inline",
    gantt: options.GanttWindow = None,
    json: options.Json = False,
    wide: Annotated[
        bool,
        typer.Option(
            "--wide",
            help="Show every metric, however wide the table gets.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = False,
    reading: Reading = DEFAULT,
) -> None:
    """Compare policies on one workload: a table, a report and all jobs.

    The report is one HTML file that works offline; the jobs of all policies
    are in jobs.parquet beside it. Without arguments, six policies run on a
    generated workload. A policy that fails is named; the others are shown.
    """
    keep_freed_memory()  # each policy makes columns as long as those of the one before
    labels = _canonical(policies)
    groupings = check_groupings(by)
    prices = None if price is None else prices_of("--price", price)
    before = _baseline(labels, baseline) if losers or baseline is not None else None
    speed = given.speed_of(speed, contention, profiles, graphs, throughputs)
    network = given.network_of(nic_gbps, intra_gbps, servers_per_rack, oversubscription)
    has_report = is_installed("plotly")
    names = ("report.html", "jobs.parquet") if has_report else ("jobs.parquet",)
    page = given.page_of(plotly, gantt)
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
        prepare_folder(out, names, inputs)  # now, and not after an hour of runs
        display.runs(labels)
        interrupted = False
        try:
            with unwarned():  # they are shown as remarks
                comparison = study.compare(
                    workload.trace,
                    workload.cluster,
                    labels,
                    placement=placement,
                    predictor=predictor,
                    speed=speed,
                    contention=contention,
                    seed=seed,
                    max_intervals=max_intervals,
                    warm_up_s=warm_up,
                    tail_s=tail,
                    threads=threads,
                    progress=display.update,
                )
        except study.Interrupted as interruption:
            comparison, interrupted = interruption.comparison, True
        except Exception as error:
            finished = getattr(error, "comparison", None)
            if finished is None or not finished.results:
                raise
            comparison = finished
        answers: Answers | None = None
        if not interrupted:
            display.stage("breaking the results down")
            answers = Answers.of(comparison, groupings, prices, before)
    every = comparison
    late = comparison.without_summary()  # only if interrupted: there is no time for them now
    comparison = comparison.select(set(comparison.results) - set(late))
    files = {} if interrupted else {name.partition(".")[0]: out / name for name in names}
    try:
        if files:
            with ProgressDisplay() as display:
                display.stage("writing the report")
                _write(every, files, workload.assumptions, page)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if json:
            written = {name: str(path) for name, path in files.items()}
            extra = {"assumptions": list(workload.assumptions), "files": written}
            answered = {} if answers is None else answers.values(comparison)
            show_json(comparison.to_dict() | answered | extra)
        elif comparison.results:
            _show(comparison, workload.assumptions, wide=wide)
            if answers is not None:
                answers.show(comparison)
        remark(remarks(comparison), style="yellow")
    remark(f"wrote {path}" for path in files.values())
    if not has_report and not interrupted:
        remark(["no report: it needs plotly: pip install plotly"], style="yellow")
    if interrupted:
        if late:
            remark([f"interrupted while summarising: {', '.join(late)}"], style="yellow")
        remark(["no files were written"], style="yellow")
    if comparison.failed:
        code = report_failures(comparison.failed, "policy ")
    if interrupted or comparison.failed:
        raise typer.Exit(INTERRUPTED if interrupted else code)


def _baseline(labels: Sequence[str], baseline: str | None) -> str:
    if len(labels) < 2:
        raise ValueError("--losers: needs two policies or more")
    label = labels[0] if baseline is None else str(Policy.parse(baseline))
    if label not in labels:
        raise ValueError(f"--baseline: {label!r} is not compared{nearest(label, labels)}")
    return label


def _canonical(policies: list[str] | None) -> list[str]:
    names: Sequence[str] = study.DEFAULT_POLICIES
    if policies is not None:
        names = given.split_policies(policies)
    return [str(Policy.parse(name)) for name in names]


def _write(
    comparison: study.Comparison,
    files: Mapping[str, Path],
    assumptions: Sequence[str],
    page: given.Page,
) -> None:
    if "report" in files:
        from gpusched.reporting.report import write_report

        write_report(
            comparison,
            files["report"],
            assumptions,
            plotly=page.plotly,
            window_s=page.window_s,
        )
    comparison.to_parquet(files["jobs"])


def _show(comparison: study.Comparison, assumptions: Sequence[str], *, wide: bool) -> None:
    table, hidden = comparison_table(comparison, stdout().width, wide=wide)
    show_lines(caption(comparison))
    show_lines(assumptions, style="yellow")
    show_table(table)
    show_lines(footnotes(comparison), style="dim")
    if hidden:
        show_lines([f"--wide shows {', '.join(hidden)} too"], style="dim")
