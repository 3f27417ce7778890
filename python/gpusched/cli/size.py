"""``gpusched size``: how many servers a trace needs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gpusched.base.libraries import is_installed
from gpusched.base.progress import Progress
from gpusched.base.wording import plural
from gpusched.cli import given, options
from gpusched.cli.console import new_table, remark, show_json, show_lines, show_table
from gpusched.cli.outputs import prepare_target, read_files
from gpusched.cli.prices import prices_of
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.reading import DEFAULT, Reading, reads_traces
from gpusched.cli.workload_files import load_workload
from gpusched.plugins.policy import Policy
from gpusched.studies.sizing import sizing as study
from gpusched.studies.sizing.goals import Goals
from gpusched.studies.sizing.size_confidence import PART
from gpusched.studies.sizing.sizing_result import Sizing

_GOAL: Final = "Goal"
_MOST_ROWS: Final = 24

EPILOG: Final = """
[bold]Examples[/]

gpusched size jobs.csv --goal "p95_wait_s < 10 min"

gpusched size jobs.csv --goal "p95_wait_s < 600 and p99_jct_s < 2 d" -p fifo-skip

gpusched size jobs.csv --goal "mean_wait_s < 60" --prices V100=2.5,A100=4
"""


@reads_traces
def size(
    trace: options.RequiredTrace,
    goal: Annotated[
        str,
        typer.Option(
            "--goal",
            metavar="TEXT",
            help="Metrics and their bounds, joined by [bold]and[/]: [bold]p95_wait_s < 600[/], "
            "[bold]< 10 min[/]; see [bold]gpusched metrics[/].",
            show_default=False,
            rich_help_panel=_GOAL,
        ),
    ],
    types: Annotated[
        str | None,
        typer.Option(
            "--types",
            metavar="A,B",
            help="GPU types to choose from. Default: those of --prices, or one without a name.",
            show_default=False,
            rich_help_panel=_GOAL,
        ),
    ] = None,
    prices: Annotated[
        str | None,
        typer.Option(
            "--prices",
            "--price",
            metavar="X or A=X,B=Y",
            help="Of an hour of a GPU, for all types or each: the cheapest mix is sought.",
            show_default=False,
            rich_help_panel=_GOAL,
        ),
    ] = None,
    price_per: Annotated[
        str,
        typer.Option("--price-per", metavar="gpu|server", help="Of what.", rich_help_panel=_GOAL),
    ] = "gpu",
    resamples: Annotated[
        int,
        typer.Option(
            "--resamples",
            metavar="N",
            min=0,
            help="Traces of the same weeks, drawn again, that say how sure the answer is.",
            rich_help_panel=_GOAL,
        ),
    ] = study.RESAMPLES,
    block_days: Annotated[
        float,
        typer.Option(
            "--block-days", metavar="D", help="Days of such a week.", rich_help_panel=_GOAL
        ),
    ] = 7.0,
    format: options.Format = None,
    column: options.Columns = None,
    option: options.Options = None,
    jobs: options.Jobs = None,
    profiles: options.Profiles = None,
    throughputs: options.Throughputs = None,
    deadlines: options.Deadlines = None,
    gpus_per_server: Annotated[
        str,
        typer.Option(
            "--gpus-per-server",
            metavar="G or A=G,B=H",
            help="GPUs of each server, for all types or each.",
            rich_help_panel="Cluster",
        ),
    ] = "8",
    max_servers: Annotated[
        int | None,
        typer.Option(
            "--max-servers",
            metavar="N",
            min=1,
            help="Of each type. Default: as many as were busy if no job ever waited.",
            show_default=False,
            rich_help_panel="Cluster",
        ),
    ] = None,
    nic_gbps: options.NicGbps = None,
    intra_gbps: options.IntraGbps = None,
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME[:KEY=VALUE,...]",
            help="The policy, see [bold]gpusched policies[/].",
            rich_help_panel=options.RUN,
        ),
    ] = "easy",
    placement: options.Placement = "consolidated",
    predictor: options.Predictor = "oracle",
    speed: options.Speed = None,
    contention: options.Contention = "none",
    seed: options.Seed = 0,
    warm_up: options.WarmUp = None,
    tail: options.Tail = None,
    plotly: options.PlotlyLibrary = "inline",
    out: Annotated[
        Path,
        options.folder("size.html: the picture, and all runs.", show_default=True),
    ] = Path("gpusched-size"),
    json: options.Json = False,
    reading: Reading = DEFAULT,
) -> None:
    """Find the fewest servers that meet a goal, or the cheapest mix.

    The metrics are run for more and fewer servers, by bisection; the runs are
    shown, and drawn with the goal. How sure the answer is, traces tell that
    are made of the same weeks, drawn again.
    """
    goals = Goals.parse(goal)
    label = str(Policy.parse(policy))
    page = given.page_of(plotly, None)
    price = None if prices is None else prices_of("--prices", prices)
    gpus = _gpus_of(gpus_per_server)
    picture = out / "size.html"
    speed = given.speed_of(speed, contention, profiles, None, throughputs)
    with ProgressDisplay() as display:
        display.stage("reading the trace")
        workload = load_workload(
            given.source_of(trace, format, column, option, reading),
            None,
            jobs=jobs,
            profiles=profiles,
            throughputs=throughputs,
            deadlines=deadlines,
            speed=speed,
            seed=seed,
        )
        out.mkdir(parents=True, exist_ok=True)
        prepare_target(picture, read_files(trace=trace, throughputs=throughputs))
        # The cluster is what is sought here: that one was assumed is no news.
        assumptions = [line for line in workload.assumptions if not line.startswith("cluster ")]
        display.stage("looking for the servers needed")
        found = study.size(
            workload.trace,
            goals,
            policy=label,
            types=None if types is None else [name.strip() for name in types.split(",")],
            prices=price,
            price_per=price_per,
            gpus_per_server=gpus,
            nic_gbps=nic_gbps,
            intra_gbps=intra_gbps,
            placement=placement,
            predictor=predictor,
            speed=speed,
            contention=contention,
            seed=seed,
            warm_up_s=warm_up,
            tail_s=tail,
            max_servers=max_servers,
            resamples=resamples,
            block_s=_seconds(block_days),
            progress=_told(display),
        )
    files = {"picture": picture} if is_installed("plotly") else {}
    try:
        if files:
            from gpusched.reporting.sizing_page import write_sizing

            with ProgressDisplay() as display:
                display.stage("drawing the picture")
                write_sizing(found, picture, assumptions, plotly=page.plotly)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if json:
            written = {name: str(path) for name, path in files.items()}
            show_json(found.to_dict() | {"assumptions": assumptions, "files": written})
        else:
            _show(found, assumptions)
    rejects = workload.trace.rejects.lines()
    remark((f"left out of the trace: {line}" for line in rejects), style="yellow")
    remark(f"wrote {path}" for path in files.values())
    if not files:
        remark(["no picture: it needs plotly: pip install plotly"], style="yellow")
    if found.counts is None:
        raise typer.Exit(1)


def _told(display: ProgressDisplay) -> Any:
    begun = False

    def tell(progress: Progress) -> None:
        nonlocal begun
        if not begun:
            display.runs([PART])
            begun = True
        display.update(progress)

    return tell


def _seconds(block_days: float) -> float:
    if not (math.isfinite(block_days) and block_days > 0):
        raise ValueError(f"--block-days: {block_days:g} must be finite and positive")
    return block_days * 86_400


def _gpus_of(text: str) -> int | dict[str, int]:
    try:
        if "=" not in text:
            return int(text)
        read = given.pairs("--gpus-per-server", text.split(","))
        return {kind: int(number) for kind, number in read.items()}
    except ValueError as error:
        if str(error).startswith("--"):
            raise
        raise ValueError(
            f"--gpus-per-server: {text!r} must be a whole number, or A=G,B=H"
        ) from None


def _show(found: Sizing, assumptions: list[str]) -> None:
    from gpusched.reporting.sizing_page import cell_text, heading_of

    trace = found.trace
    show_lines([f"{trace.name}: {len(trace):,} jobs"])
    show_lines(assumptions, style="yellow")
    frame = found.table()
    rows = _near_the_answer(found, list(frame.iter_rows(named=True)))
    table = new_table()
    for name in frame.columns:
        table.add_column(heading_of(name), justify="right")
    for row in rows:
        cells = [
            f"{row[name]:.2f} s" if name == "wall_s" else cell_text(name, row[name])
            for name in frame.columns
        ]
        table.add_row(*cells, style="bold green" if row["is_met"] else "")
    show_table(table)
    if hidden := len(frame) - len(rows):
        show_lines([f"{plural(hidden, 'more run')}: see --json, or the picture"], style="dim")
    show_lines([str(found)], style="bold")
    show_lines(found.notes())


def _near_the_answer(found: Sizing, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take as many rows as fit a screen, those nearest in GPUs to the answer."""
    if found.cluster is None:
        return rows[:_MOST_ROWS]
    gpus = found.cluster.num_gpus
    order = sorted(range(len(rows)), key=lambda index: abs(rows[index]["gpus"] - gpus))
    return [rows[index] for index in sorted(order[:_MOST_ROWS])]
