"""The files that tell of a cluster as it is, and what the commands that read them are given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gpusched.cli.console import remark
from gpusched.cli.given import format_options
from gpusched.deciding.cluster_state import ClusterState
from gpusched.deciding.states.reading import read_state

StateFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--state",
        metavar="FILE|DIR",
        help="The cluster now: its servers, who runs where, who waits. A file, a folder "
        "of them, or several by naming the option again; for our own format see "
        "[bold]gpusched decide --schema[/].",
        show_default=False,
    ),
]
StateFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="[bold]gpusched[/], [bold]slurm[/] or [bold]kueue[/]. Default: detected.",
        show_default=False,
    ),
]
StateOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="Option of the format, such as [bold]partition=gpu[/]. May be repeated.",
        show_default=False,
    ),
]


def state_of(files: list[Path] | None, format: str | None, given: list[str] | None) -> ClusterState:
    """Read the state; what was left out or assumed goes to stderr.

    Raises
    ------
    ValueError
        If no file is named, or as of :func:`gpusched.deciding.read_state`.
    """
    if not files:
        raise ValueError("--state: the file is missing; gpusched decide --schema shows its form")
    options: dict[str, Any] = {**format_options(given)}
    state = read_state(files, format, **options)
    remark((f"left out: {line}" for line in state.jobs.rejects.lines()), style="yellow")
    remark(state.jobs.notes)
    return state
