"""``gpusched fidelity``: which simulated base case is nearest to what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from gpusched.base.progress import Progress
from gpusched.cli import given, options
from gpusched.cli.console import remark, show_json
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.reading import DEFAULT, Reading, reads_traces
from gpusched.cli.workload_files import cluster_of
from gpusched.studies.fidelity import fidelity as study

EPILOG: Final = """
[bold]Examples[/]

gpusched fidelity log.swf --gpus-per-server 4

gpusched fidelity log.csv -p fifo,easy --placements consolidated,first-fit

gpusched fidelity log.csv --servers 60,64,68 --json | jq .grade.letter
"""

_PARTS: Final = "base cases"

OwnTrace = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="A trace file whose jobs have starts of their own: the wait of an SWF log, or a "
        "column [bold]source_wait_s[/].",
        show_default=False,
    ),
]
WarmUp = Annotated[
    float | None,
    typer.Option(
        "--warm-up", metavar="S",
        help="Do not compare jobs submitted in the first S seconds. Default: until as many GPUs "
        "are in use as on average, at most a tenth of the trace.",
        show_default=False, rich_help_panel=options.RUN,
    ),
]  # fmt: skip
Tail = Annotated[
    float | None,
    typer.Option(
        "--tail", metavar="S",
        help="Do not compare jobs submitted in the last S seconds. Default: as long as 95 % of "
        "the jobs waited, at most a tenth of the trace.",
        show_default=False, rich_help_panel=options.RUN,
    ),
]  # fmt: skip
Resolution = Annotated[
    float,
    typer.Option(
        "--resolution", metavar="S", help="Waits below S seconds count as none.",
        rich_help_panel=options.RUN,
    ),
]  # fmt: skip
Known = Annotated[
    str | None,
    typer.Option(
        "--predictor", metavar="NAME",
        help="What policies know of service times. Default: the trace's estimates if every job "
        "has one, else the truth.",
        show_default=False, rich_help_panel=options.RUN,
    ),
]  # fmt: skip
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", metavar="N", min=1, help="Runs at a time. Default: one per CPU.",
        show_default=False, rich_help_panel=options.RUN,
    ),
]  # fmt: skip


@reads_traces
def fidelity(
    trace: OwnTrace,
    format: options.Format = None,
    column: options.Columns = None,
    option: options.Options = None,
    jobs: options.Jobs = None,
    servers: Annotated[
        str | None,
        typer.Option(
            "--servers",
            metavar="N,N,...",
            help="Numbers of equal servers to try. Default: the one under which the mean wait is "
            "nearest to the trace's, from the fewest that can have run what ran at once.",
            show_default=False,
            rich_help_panel="Cluster",
        ),
    ] = None,
    gpus_per_server: options.GpusPerServer = None,
    cluster: options.ClusterFile = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policies",
            "-p",
            metavar="A,B:KEY=VALUE,...",
            help="Policies to try. Default: non-preemptive ones that a site can have.",
            show_default=False,
            rich_help_panel=options.RUN,
        ),
    ] = None,
    placements: Annotated[
        list[str] | None,
        typer.Option(
            "--placements",
            metavar="A,B:KEY=VALUE,...",
            help="Placements to try. Default: consolidated, first-fit.",
            show_default=False,
            rich_help_panel=options.RUN,
        ),
    ] = None,
    predictor: Known = None,
    warm_up: WarmUp = None,
    tail: Tail = None,
    resolution: Resolution = study.RESOLUTION_S,
    seed: options.Seed = 0,
    threads: Threads = None,
    json: options.Json = False,
    reading: Reading = DEFAULT,
) -> None:
    """Find the policy and the capacity that explain a trace's own waits, and grade them.

    Every policy is simulated with every placement, and compared with what
    happened: waits as a distribution and job by job, and GPUs in use over time.
    The grade, A to E, says how far a what-if on the nearest can be trusted.
    """
    sizes = None if servers is None else _numbers(servers)
    if cluster is not None and sizes is not None:
        raise ValueError("--cluster: cannot be combined with --servers or --gpus-per-server")
    named = cluster_of(None, gpus_per_server, cluster)
    with ProgressDisplay() as display:
        display.stage("reading the trace")
        read = given.source_of(trace, format, column, option, reading).read(seed)
        if jobs is not None:
            read = read.head(jobs)
        display.runs([_PARTS])

        def show(now: Progress) -> None:
            display.update(now._replace(part=_PARTS))

        found = study.fidelity(
            read,
            named,
            None if policies is None else given.split_policies(policies),
            None if placements is None else given.split_placements(placements),
            servers=sizes,
            gpus_per_server=gpus_per_server or study.GPUS_PER_SERVER,
            predictor=predictor,
            warm_up_s=warm_up,
            tail_s=tail,
            resolution_s=resolution,
            seed=seed,
            threads=threads,
            progress=show,
        )
    if json:
        show_json(found.to_dict())
    else:
        print(found)
    remark((f"left out of the trace: {line}" for line in read.rejects.lines()), style="yellow")


def _numbers(text: str) -> list[int]:
    """Read ``60,64``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"--servers: {text!r} must be whole numbers with commas between them")
    return [int(part) for part in parts]
