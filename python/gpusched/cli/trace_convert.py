"""``gpusched trace convert``: a trace in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from gpusched.base.run_warning import unwarned
from gpusched.base.wording import plural
from gpusched.cli import given, options
from gpusched.cli.console import remark
from gpusched.cli.outputs import prepare_target, read_files
from gpusched.cli.reading import DEFAULT, Reading, reads_traces
from gpusched.cli.workload_files import deadline_options

EPILOG: Final = """
[bold]Example[/]

gpusched trace convert cluster_job_log.json jobs.parquet
"""


@reads_traces
def convert(
    trace: options.RequiredTrace,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="Ends in .csv, .parquet, .npz or .swf.", show_default=False
        ),
    ],
    format: options.Format = None,
    column: options.Columns = None,
    option: options.Options = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", metavar="N", min=1, help="Take the first N jobs.", show_default=False
        ),
    ] = None,
    deadlines: options.Deadlines = None,
    reading: Reading = DEFAULT,
) -> None:
    """Read a trace and write it under gpusched's own names, or as SWF."""
    from gpusched.traces.writers import losses, write_trace

    prepare_target(target, read_files(trace=trace))
    read = given.source_of(trace, format, column, option, reading).read()
    if jobs is not None:
        read = read.head(jobs)
    if deadlines is not None:
        read = read.with_deadlines(**deadline_options(deadlines))
    with unwarned():
        write_trace(read, target)
    remark(losses(read, target), style="yellow")
    remark((f"left out: {line}" for line in read.rejects.lines()), style="yellow")
    remark([f"wrote {plural(len(read), 'job')} to {target}"])
