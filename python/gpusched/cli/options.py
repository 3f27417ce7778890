"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gpusched.cli.defaults import GENERATOR, NUM_JOBS, ZOO

_INPUT: Final = "Workload"
_CLUSTER: Final = "Cluster"
_RUN: Final = "Run"
OUTPUT: Final = "Output"

OptionalTrace = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="TRACE...",
        help="Trace files of any format that [bold]gpusched trace info[/] recognises, packed or "
        "not; several become one trace; [bold]-[/] is stdin. "
        f"Default: {NUM_JOBS:,} generated {GENERATOR}-like jobs.",
        show_default=False,
    ),
]
RequiredTrace = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="A trace file, or several that become one trace; [bold]-[/] is stdin.",
        show_default=False,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", help="Format of TRACE. Default: detected.",
        show_default=False, rich_help_panel=_INPUT,
    ),
]  # fmt: skip
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="OURS=THEIRS",
        help="Name of a column in a CSV or Parquet file, such as "
        "[bold]service_s=duration[/]. May be repeated.",
        show_default=False, rich_help_panel=_INPUT,
    ),
]  # fmt: skip
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="KEY=VALUE",
        help="Option of the format, such as [bold]processors_per_gpu=8[/] for SWF. "
        "May be repeated.",
        show_default=False, rich_help_panel=_INPUT,
    ),
]  # fmt: skip
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", metavar="N", min=1, help="Take the first N jobs; without TRACE, generate N.",
        show_default=False, rich_help_panel=_INPUT,
    ),
]  # fmt: skip
Load = Annotated[
    float | None,
    typer.Option(
        "--load", metavar="X",
        help="Rescale the gaps between arrivals to this load: the jobs' GPU time over the "
        "cluster's. Default: as in TRACE; 0.9 without TRACE.",
        show_default=False, rich_help_panel=_INPUT,
    ),
]  # fmt: skip
Profiles = Annotated[
    str | None,
    typer.Option(
        "--profiles", metavar=f"FILE|{ZOO}",
        help="What an iteration of a job costs: profiles in TOML or JSON, or the built-in ones. "
        "A job has the one its group names, if all groups name one, or one drawn with --seed.",
        show_default=False, rich_help_panel=_INPUT,
    ),
]  # fmt: skip
Graphs = Annotated[
    str | None,
    typer.Option(
        "--graphs", metavar=f"{ZOO}[:heavy_share=X]",
        help="Stages and replicas of each job: those of a model drawn with --seed, for speed "
        "[bold]stages[/]. X: share of the wide jobs that communicate heavily.",
        show_default=False, rich_help_panel=_INPUT,
    ),
]  # fmt: skip
Throughputs = Annotated[
    str | None,
    typer.Option(
        "--throughputs", metavar="FILE",
        help="Iterations per second by model, GPU type and number of GPUs: a table of Gavel "
        "(.json), the folder of Pollux, or CSV. A job has the model its group names, or one drawn "
        "with --seed. Implies speed [bold]table[/].",
        show_default=False, rich_help_panel=_INPUT,
    ),
]  # fmt: skip
Deadlines = Annotated[
    str | None,
    typer.Option(
        "--deadlines", metavar="KEY=VALUE,...",
        help="Draw deadlines: submit + U(0.5, 1.5) x tightness x service. Keys: "
        "[bold]tightness[/] (1), [bold]seed[/] (0), [bold]share[/] of the jobs (1), "
        "[bold]value[/] (1), [bold]recipe[/] (elasticflow, or constant for no spread).",
        show_default=False, rich_help_panel=_INPUT,
    ),
]  # fmt: skip
Servers = Annotated[
    int | None,
    typer.Option(
        "--servers", metavar="N", min=1,
        help="Number of equal servers. Default: the fewest with load at most 0.9 and room for the "
        "widest job, and none that would be idle if no job waited; 64 without TRACE.",
        show_default=False, rich_help_panel=_CLUSTER,
    ),
]  # fmt: skip
GpusPerServer = Annotated[
    int | None,
    typer.Option(
        "--gpus-per-server", metavar="G", min=1, help="GPUs of each server. Default: 8.",
        show_default=False, rich_help_panel=_CLUSTER,
    ),
]  # fmt: skip
ClusterFile = Annotated[
    Path | None,
    typer.Option(
        "--cluster", metavar="FILE", help="A cluster in TOML, in place of the others here.",
        show_default=False, rich_help_panel=_CLUSTER,
    ),
]  # fmt: skip
NicGbps = Annotated[
    float | None,
    typer.Option(
        "--nic-gbps", metavar="X", help="Bandwidth of each server's network card, Gbit/s.",
        show_default=False, rich_help_panel=_CLUSTER,
    ),
]  # fmt: skip
IntraGbps = Annotated[
    float | None,
    typer.Option(
        "--intra-gbps", metavar="X", help="Bandwidth between the GPUs of a server, Gbit/s.",
        show_default=False, rich_help_panel=_CLUSTER,
    ),
]  # fmt: skip
ServersPerRack = Annotated[
    int | None,
    typer.Option(
        "--servers-per-rack", metavar="N", min=1,
        help="Put the servers in racks of N below one spine.",
        show_default=False, rich_help_panel=_CLUSTER,
    ),
]  # fmt: skip
Oversubscription = Annotated[
    float | None,
    typer.Option(
        "--oversubscription", metavar="X",
        help="Network cards of a rack over its uplink. Default: 1.",
        show_default=False, rich_help_panel=_CLUSTER,
    ),
]  # fmt: skip
Placement = Annotated[
    str,
    typer.Option(
        "--placement", metavar="NAME",
        help="Where jobs go, see [bold]gpusched policies[/].", rich_help_panel=_RUN,
    ),
]  # fmt: skip
Predictor = Annotated[
    str,
    typer.Option(
        "--predictor", metavar="NAME",
        help="What policies know of service times: [bold]oracle[/] (the truth), "
        "[bold]estimate[/] (the trace's own), or one that learns in the run, such as "
        "[bold]forest:trees=50[/]; see [bold]gpusched policies[/].", rich_help_panel=_RUN,
    ),
]  # fmt: skip
Speed = Annotated[
    str | None,
    typer.Option(
        "--speed", metavar="NAME",
        help="How long a job takes where it runs: [bold]fixed[/], [bold]ring[/], [bold]stages[/], "
        "[bold]table[/] or [bold]proportional[/], see [bold]gpusched policies[/]. Default: fixed; "
        "stages with --graphs, table with --throughputs, else ring with a contention.",
        show_default=False, rich_help_panel=_RUN,
    ),
]  # fmt: skip
Contention = Annotated[
    str,
    typer.Option(
        "--contention", metavar="NAME",
        help="How jobs share a link: [bold]none[/], [bold]reserved[/] or [bold]shared[/].",
        rich_help_panel=_RUN,
    ),
]  # fmt: skip
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="S", min=0, help="Of all that is random.", rich_help_panel=_RUN),
]
MaxIntervals = Annotated[
    int | None,
    typer.Option(
        "--max-intervals", metavar="N", min=1,
        help="End a run whose log has more intervals: one for each time that a job held GPUs. "
        "Default: no limit.",
        show_default=False, rich_help_panel=_RUN,
    ),
]  # fmt: skip
WarmUp = Annotated[
    float | None,
    typer.Option(
        "--warm-up", metavar="S",
        help="Measure what comes after the first S seconds: the jobs submitted then, and GPU time "
        "from then on. Default: the whole run.",
        show_default=False, rich_help_panel=_RUN,
    ),
]  # fmt: skip
Tail = Annotated[
    float | None,
    typer.Option(
        "--tail", metavar="S",
        help="Measure until S seconds before the last submission. Default: until the last finish.",
        show_default=False, rich_help_panel=_RUN,
    ),
]  # fmt: skip
Json = Annotated[
    bool,
    typer.Option("--json", help="Print JSON instead of a table.", rich_help_panel=OUTPUT),
]
RUN: Final = _RUN
PlotlyLibrary = Annotated[
    str,
    typer.Option(
        "--plotly", metavar="inline|cdn|FILE.js",
        help="The chart library of the report: in the file (4.7 MB), linked, so that charts need a "
        "network, or a path or address of a copy.", rich_help_panel=OUTPUT,
    ),
]  # fmt: skip
Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="FOLDER",
        help="Where the published traces are, a folder each; what is missing is named. Default: "
        "[bold]$GPUSCHED_DATA[/].", show_default=False, rich_help_panel=_RUN,
    ),
]  # fmt: skip
GanttWindow = Annotated[
    str | None,
    typer.Option(
        "--gantt", metavar="FROM:TO",
        help="Window of the report's Gantt chart, in seconds since the first submission. Default: "
        "all, or as much around the longest queue as is readable.",
        show_default=False, rich_help_panel=OUTPUT,
    ),
]  # fmt: skip


def folder(contents: str, *, show_default: bool = False) -> Any:
    """``--out DIR``: where a command writes its files."""
    return typer.Option(
        "--out",
        metavar="DIR",
        help=f"Folder for {contents}",
        show_default=show_default,
        rich_help_panel=OUTPUT,
    )
