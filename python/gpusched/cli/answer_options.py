"""Options of what ``run`` and ``compare`` are asked beside their figures."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from gpusched.cli.options import OUTPUT

GROUPINGS: Final = ("gpus", "user", "queue", "group", "type", "month")

By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="GROUPS",
        help="Break waits, JCTs and GPU hours down by "
        "[bold]gpus[/] (1, 2-8, 9+), [bold]user[/], [bold]queue[/], [bold]group[/], "
        "[bold]type[/] of the GPUs or [bold]month[/] of submission. May be repeated.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Price = Annotated[
    str | None,
    typer.Option(
        "--price",
        "--prices",
        metavar="X or A=X,B=Y",
        help="Of an hour of a GPU, for all types or each: tells what the GPU hours cost.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]


def check_groupings(by: list[str] | None) -> tuple[str, ...]:
    """Return what to break down by, each once.

    Raises
    ------
    ValueError
        If one is unknown: before anything runs.
    """
    from gpusched.base.suggest import nearest

    for name in by or ():
        if name not in GROUPINGS:
            raise ValueError(f"--by: unknown {name!r}{nearest(name, GROUPINGS)}")
    return tuple(dict.fromkeys(by or ()))
