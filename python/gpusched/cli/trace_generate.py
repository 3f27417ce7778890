"""``gpusched trace generate``: a synthetic trace as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from gpusched.base.run_warning import unwarned
from gpusched.base.wording import duration, plural
from gpusched.cli import options
from gpusched.cli.console import remark
from gpusched.cli.outputs import prepare_target, read_files
from gpusched.cli.workload_files import cluster_of

EPILOG: Final = """
[bold]Example[/]

gpusched trace generate philly jobs.parquet --jobs 1000000 --load 0.9 --servers 64
"""


def generate(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Whose published aggregates to imitate: philly, helios, itp, acme or pai.",
            show_default=False,
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="Ends in .csv, .parquet, .npz or .swf.", show_default=False
        ),
    ],
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", min=1, help="Number of jobs.")
    ] = 20_000,
    load: Annotated[
        float,
        typer.Option("--load", metavar="X", help="The jobs' GPU time over the cluster's."),
    ] = 0.9,
    servers: options.Servers = None,
    gpus_per_server: options.GpusPerServer = None,
    cluster: options.ClusterFile = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", min=0, help="Of all that is random.")
    ] = 0,
) -> None:
    """Generate a seeded synthetic workload for a cluster."""
    import gpusched
    from gpusched.traces.writers import losses, write_trace

    prepare_target(target, read_files(cluster=cluster))
    made = gpusched.generate(
        name, jobs, load=load, cluster=cluster_of(servers, gpus_per_server, cluster), seed=seed
    )
    with unwarned():
        write_trace(made, target)
    remark(losses(made, target), style="yellow")
    remark([f"wrote {plural(len(made), 'job')} over {duration(made.span_us / 1e6)} to {target}"])
