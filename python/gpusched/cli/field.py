"""``gpusched field``: every policy on the same jobs, ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from gpusched.base.replacing import write_text
from gpusched.base.run_warning import unwarned
from gpusched.cli.console import remark, show_text_table, worker_pipes
from gpusched.cli.errors import INTERRUPTED
from gpusched.cli.options import DATA, RUN, PlaceOptions, folder, in_panel, without
from gpusched.cli.progress import ProgressDisplay
from gpusched.field import NUM_SEEDS, page, ranks_table, state_of_the_field

EPILOG: Final = """
[bold]Examples[/]

gpusched field --out field [dim]# all policies; again after an interruption: it goes on[/]

gpusched field --out field --policy easy:extra=false [dim]# one more row[/]

gpusched field --out mine --only fifo-skip --policy mine --seeds 5
"""
_PAGE: Final = "field.md"
_RUNS: Final = "runs"


def field(
    policy: list[str] | None = in_panel(
        RUN, "NAME", None,
        "A policy that shall have a row beside those that are registered, with options. "
        "May be repeated.", names=("--policy", "-p"),
    ),
    only: list[str] | None = in_panel(
        RUN, "NAME", None, "Rank these in place of all that are registered. May be repeated.",
    ),
    seeds: int = in_panel(
        RUN, "N", NUM_SEEDS, "Of the generated jobs and of random policies.", min=2
    ),
    data: Path | None = DATA,
    out: Path = folder(
        Path("field"), "the page, field.md, and all runs, which are kept as they come.",
        show_default=False,
    ),
    *,
    place: Annotated[PlaceOptions, without("threads")],
) -> None:  # fmt: skip
    """Run all policies on eight windows of real traces and four generated workloads.

    Prints how they rank and writes a page with every figure. What is in the
    folder is not run again: a policy that is new costs its own runs.
    """
    executor = place.executor()
    with worker_pipes(), ProgressDisplay(has_time_left=True) as display:
        display.runs(["the field"])
        try:
            with unwarned():  # the result says them, too
                standings, missing, warnings = state_of_the_field(
                    policy or (),
                    only=only,
                    num_seeds=seeds,
                    data=data,
                    folder=out / _RUNS,
                    executor="processes" if executor is None else executor,
                    progress=lambda told: display.update(told._replace(part="the field")),
                )
        except KeyboardInterrupt:
            remark([f"kept what was finished in {out}: the same command goes on from there"])
            raise typer.Exit(INTERRUPTED) from None
    try:
        write_text(out / _PAGE, page(standings, _command(policy, only, seeds), missing))
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        for is_deployable in (True, False):
            show_text_table(ranks_table(standings, is_deployable=is_deployable))
    if missing:
        remark([f"left out, as the data are not there: {', '.join(missing)}"], style="yellow")
    remark([line for line in warnings if " failed: " in line], style="yellow")
    remark([f"wrote {out / _PAGE}"])


def _command(policy: list[str] | None, only: list[str] | None, seeds: int) -> str:
    words = ["gpusched field", *(f"--policy {name}" for name in policy or ())]
    words += [f"--only {name}" for name in only or ()]
    return " ".join(words + ([] if seeds == NUM_SEEDS else [f"--seeds {seeds}"]))
