"""``gpusched size``: how many servers a trace needs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Final

import typer
from msgspec.structs import replace

from gpusched.base.defaults import GPUS_PER_SERVER, POLICY
from gpusched.base.libraries import polars
from gpusched.base.tables import BEST, Cell, Column, table
from gpusched.base.wording import Kind, plural
from gpusched.cli.console import remark, show_json, show_lines, show_table
from gpusched.cli.options import (
    CLUSTER,
    FILES,
    RUN,
    WHOLE_RUNS,
    ClusterOptions,
    RunOptions,
    Shown,
    WorkloadOptions,
    folder,
    in_panel,
    only,
    pairs,
    prepare_target,
    prices_of,
    read_files,
    without,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.workload import load_workload, remark_rejects
from gpusched.plugins.policy import Policy
from gpusched.results.metric_registry import metrics
from gpusched.studies import sizing as study
from gpusched.studies.sizing import Goals, Sizing

_GOAL: Final = "Goal"
_MOST_ROWS: Final = 24
_COUNTED: Final[Kind] = "count"

EPILOG: Final = """
[bold]Examples[/]

gpusched size jobs.csv --goal "p95_wait_s < 10 min"

gpusched size jobs.csv --goal "p95_wait_s < 600 and p99_jct_s < 2 d" -p fifo-skip

gpusched size jobs.csv --goal "mean_wait_s < 60" --prices V100=2.5,A100=4
"""


def size(
    trace: list[Path] = FILES,
    *,
    goal: str = in_panel(
        _GOAL, "TEXT", ...,
        "Limits of metrics, joined by [bold]and[/]: [bold]p95_wait_s < 600[/], "
        "[bold]< 10 min[/]; see [bold]gpusched metrics[/].",
    ),
    types: str | None = in_panel(
        _GOAL, "A,B", None,
        "GPU types to choose from. Default: those of --prices, else those that jobs name, else "
        "one unnamed type. Jobs that may use none of them are left out.",
    ),
    prices: str | None = in_panel(
        _GOAL, "X or A=X,B=Y", None,
        "Price per GPU-hour: one number, or TYPE=PRICE,... Finds the cheapest mix.",
        names=("--prices", "--price"),
    ),
    price_per: str = in_panel(_GOAL, "gpu|server", "gpu", "Unit of --prices: an hour of what."),
    resamples: int = in_panel(
        _GOAL, "N", study.RESAMPLES,
        "Bootstrap resamples of the trace, which show how certain the answer is; 0: none.", min=0,
    ),
    block_days: float = in_panel(_GOAL, "D", 7.0, "Days per block of a resample."),
    workload: Annotated[WorkloadOptions, without("load", "graphs")],
    gpus_per_server: str = in_panel(
        CLUSTER, "G or A=G,B=H", str(GPUS_PER_SERVER),
        "GPUs per server: one number, or TYPE=NUMBER,...",
    ),
    max_servers: int | None = in_panel(
        CLUSTER, "N", None,
        "Most servers of each type. Default: as many as would be busy if no job waited.", min=1,
    ),
    network: Annotated[ClusterOptions, only("nic_gbps", "intra_gbps", "type_speeds")],
    policy: str = in_panel(
        RUN, "NAME[:KEY=VALUE,...]", POLICY, "Policy; see [bold]gpusched policies[/].",
        names=("--policy", "-p"),
    ),
    how: Annotated[RunOptions, without(*WHOLE_RUNS)],
    out: Path = folder(Path("gpusched-size"), "size.html: the chart and all runs."),
    shown: Shown,
) -> None:  # fmt: skip
    """Find the fewest servers, or the cheapest mix, that meet a goal.

    Searches the number of servers by bisection and shows every run, with a
    chart. Resampling whole weeks of the trace estimates how certain the
    answer is.
    """
    goals = Goals.parse(goal)
    label = str(Policy.parse(policy))
    price = None if prices is None else prices_of("--prices", prices)
    gpus = _gpus_of(gpus_per_server)
    picture = out / "size.html"
    speed = how.speed_for(workload)
    with ProgressDisplay() as display:
        display.stage("reading the trace")
        loaded = load_workload(trace, workload, ClusterOptions(), speed=speed, seed=how.seed)
        out.mkdir(parents=True, exist_ok=True)
        prepare_target(picture, read_files(trace, workload))
        # The cluster is the answer here, so an assumed one is not worth a remark.
        assumptions = [line for line in loaded.assumptions if not line.startswith("cluster ")]
        display.stage("searching the number of servers")

        found = study.size(
            loaded.trace,
            goals,
            policy=label,
            types=None if types is None else [name.strip() for name in types.split(",")],
            prices=price,
            price_per=price_per,
            gpus_per_server=gpus,
            speeds=network.speeds,
            nic_gbps=network.nic_gbps,
            intra_gbps=network.intra_gbps,
            **how.settings,
            speed=speed,
            max_servers=max_servers,
            resamples=resamples,
            block_s=_seconds(block_days),
            progress=display.update,
        )
    files = {"picture": picture}
    try:
        from gpusched.reporting.sizing_page import write_sizing

        with ProgressDisplay() as display:
            display.stage("drawing the chart")
            write_sizing(found, picture, assumptions)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if shown.is_json:
            written = {name: str(path) for name, path in files.items()}
            show_json(found.to_dict() | {"assumptions": assumptions, "files": written})
        else:
            _show(found, assumptions)
    remark_rejects(loaded.trace)
    remark(f"wrote {path}" for path in files.values())
    if found.counts is None:
        raise typer.Exit(1)


def _seconds(block_days: float) -> float:
    if not (math.isfinite(block_days) and block_days > 0):
        raise ValueError(f"--block-days: {block_days:g} must be finite and positive")
    return block_days * 86_400


def _gpus_of(text: str) -> int | dict[str, int]:
    try:
        if "=" not in text:
            return int(text)
        read = pairs("--gpus-per-server", text.split(","))
        return {kind: int(number) for kind, number in read.items()}
    except ValueError as error:
        if str(error).startswith("--"):
            raise
        raise ValueError(
            f"--gpus-per-server: {text!r} must be a whole number, or A=G,B=H"
        ) from None


def _show(found: Sizing, assumptions: list[str]) -> None:
    from gpusched.reporting.sizing_page import heading_of

    trace = found.trace
    show_lines([f"{trace.name}: {len(trace):,} jobs"])
    show_lines(assumptions, style="yellow")
    frame = found.table().drop("wall_s")
    kinds = {name: metric.kind for name, metric in metrics().items()}
    columns = [
        Column(heading_of(name), kind=kinds.get(name, _COUNTED), key=name) for name in frame.columns
    ]
    near = _near_the_answer(found, frame)
    rows = [
        [
            Cell(("no", "yes")[value] if isinstance(value, bool) else value, BEST * row["is_met"])
            for value in row.values()
        ]
        for row in frame.iter_rows(named=True)
    ]
    answer, notes = str(found), found.notes()
    show_table(
        table("", columns, rows, (answer, *notes)),
        layout=lambda every: replace(every, rows=tuple(every.rows[at] for at in near), notes=()),
    )
    if hidden := len(frame) - len(near):
        show_lines([f"{plural(hidden, 'more run')}: see --as csv, or the chart"], style="dim")
    show_lines([answer], style="bold")
    show_lines(notes)


def _near_the_answer(found: Sizing, frame: polars.DataFrame) -> list[int]:
    """Return the positions of the rows closest to the answer in GPUs, one screenful."""
    if found.cluster is None:
        return list(range(min(len(frame), _MOST_ROWS)))
    off = [abs(gpus - found.cluster.num_gpus) for gpus in frame["gpus"].to_list()]
    return sorted(sorted(range(len(off)), key=off.__getitem__)[:_MOST_ROWS])
