"""``gpusched when``: when a job that waits would start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer

from gpusched.cli import options
from gpusched.cli.console import remark, show_json
from gpusched.cli.decide import PolicyName
from gpusched.cli.state_files import StateFiles, StateFormat, StateOptions, state_of
from gpusched.deciding.starting import when as asked
from gpusched.traces.reading import read_quietly

EPILOG: Final = """
[bold]Examples[/]

gpusched when job-17 --state cluster.json --history last-month.csv

gpusched when job-17 --state cluster.json --history jobs.csv --policy easy --json
"""


def when(
    job: Annotated[str, typer.Argument(metavar="ID", help="A job of the file that waits.")],
    state: StateFiles = None,
    format: StateFormat = None,
    option: StateOptions = None,
    history: Annotated[
        Path | None,
        typer.Option(
            "--history",
            metavar="TRACE",
            help="Finished jobs, from which run times are drawn. Default: every job takes as long "
            "as the state says.",
            show_default=False,
        ),
    ] = None,
    policy: PolicyName = "fifo",
    placement: options.Placement = "consolidated",
    samples: Annotated[
        int, typer.Option("--samples", metavar="N", min=1, max=100_000, help="How many are drawn.")
    ] = 1000,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Tell when a job that waits would start, and on what.

    And what would make that sooner. For every job that runs or waits a run
    time is drawn from finished jobs that took longer than it has already, and
    the cluster is run on until the job starts, many times.
    """
    cluster = state_of(state, format, option)
    rows = np.flatnonzero(cluster.jobs.id.astype(str) == job)
    if not len(rows):
        raise ValueError(f"ID: {', '.join(map(str, state or ()))} has no job {job!r}")
    known = None if history is None else read_quietly(history)
    found = asked(
        int(rows[0]), cluster, policy=policy, placement=placement, history=known, samples=samples,
        seed=seed,
    )  # fmt: skip
    if known is not None:
        left_out = known.rejects.lines()
        remark((f"left out of the history: {line}" for line in left_out), style="yellow")
    if json:
        show_json(found.to_dict())
        return
    print(found)
    remark(["jobs that are still to be submitted are not counted: some may go first"])
    if not found.is_sampled:
        remark(["every job takes as long as the state says; --history draws run times"])
