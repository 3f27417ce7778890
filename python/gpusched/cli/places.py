"""Options that say where runs take place."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import typer

_WHERE: Final = "Where"
_LOCAL: Final = "local"

Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        help="Runs at a time. Default: one per CPU.",
        show_default=False,
        rich_help_panel=_WHERE,
    ),
]
ProcessesForThreads = Annotated[
    int | None,
    typer.Option(
        "--processes",
        metavar="N",
        min=1,
        help="Processes in place of threads: for many short runs, and for policies in Python.",
        show_default=False,
        rich_help_panel=_WHERE,
    ),
]
Processes = Annotated[
    int | None,
    typer.Option(
        "--processes",
        metavar="N",
        min=1,
        help="Runs at a time, each in a process of its own. Default: one per CPU.",
        show_default=False,
        rich_help_panel=_WHERE,
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="The scheduler of a Dask cluster (extra: [bold]dask[/]).",
        show_default=False,
        rich_help_panel=_WHERE,
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar=f"ADDRESS|{_LOCAL}",
        help=f"A Ray cluster; [bold]{_LOCAL}[/] starts one here (extra: [bold]ray[/]).",
        show_default=False,
        rich_help_panel=_WHERE,
    ),
]


def executor_of(
    processes: int | None, dask: str | None, ray: str | None, threads: int | None = None
) -> str | None:
    """Return what :func:`~gpusched.execution.choosing.backend_for` takes; None if nothing is said.

    Raises
    ------
    ValueError
        If more than one of them is given.
    """
    named = {
        "--threads": None if threads is None else f"threads:{threads}",
        "--processes": None if processes is None else f"processes:{processes}",
        "--dask": None if dask is None else f"dask:{dask}",
        "--ray": None if ray is None else "ray" if ray == _LOCAL else f"ray:{ray}",
    }
    given = {option: value for option, value in named.items() if value is not None}
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)}: name one of them")
    return next(iter(given.values()), None)


@contextmanager
def worker_pipes() -> Iterator[None]:
    """Have a worker that is gone raise an error; what ends the command is its reader alone."""
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)
