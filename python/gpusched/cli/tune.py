"""``gpusched tune``: search the options of policies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gpusched.base.progress import Progress
from gpusched.base.run_warning import heard
from gpusched.cli import options
from gpusched.cli.console import new_table, remark, show_json, show_lines, show_table
from gpusched.cli.errors import INTERRUPTED
from gpusched.cli.outputs import prepare_target
from gpusched.cli.places import (
    Dask,
    Processes,
    Ray,
    Threads,
    executor_of,
    worker_pipes,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.tuning.trials import HELD_OUT, SEARCH
from gpusched.tuning.tune import tune as run_search
from gpusched.tuning.tuning_result import Tuning

_SEARCH: Final = "Search"
_ENDING: Final = ".tune"
_BEST: Final = "bold green"

EPILOG: Final = """
[bold]Examples[/]

gpusched tune study.toml --space space.toml --metric mean_jct_s

gpusched tune study.toml --space space.toml --metric p99_jct_s --trials 200 --batch 4

gpusched tune study.toml --space space.toml --metric mean_jct_s --report tuning.html
"""


def tune(
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY",
            help="A study in TOML or JSON: its traces, clusters and seeds.",
            show_default=False,
        ),
    ],
    space: Annotated[
        Path,
        typer.Option(
            "--space",
            metavar="FILE",
            help="What there is to choose: a [bold]\\[\\[space]][/] for each policy, in TOML or "
            "JSON.",
            show_default=False,
            rich_help_panel=_SEARCH,
        ),
    ],
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="What shall be better, see [bold]gpusched metrics[/].",
            show_default=False,
            rich_help_panel=_SEARCH,
        ),
    ],
    trials: Annotated[
        int,
        typer.Option(
            "--trials", metavar="N", min=1, help="Policies to try.", rich_help_panel=_SEARCH
        ),
    ] = 50,
    held_out: Annotated[
        int,
        typer.Option(
            "--held-out",
            metavar="N",
            min=1,
            help="Seeds of generated jobs, and windows of others, that the search never sees.",
            rich_help_panel=_SEARCH,
        ),
    ] = 10,
    rungs: Annotated[
        int,
        typer.Option(
            "--rungs",
            metavar="N",
            min=1,
            help="Windows of the search, each three times the one before; 1: nothing is pruned.",
            rich_help_panel=_SEARCH,
        ),
    ] = 3,
    batch: Annotated[
        int,
        typer.Option(
            "--batch",
            metavar="N",
            min=1,
            help="Trials to propose at a time, and to run side by side.",
            rich_help_panel=_SEARCH,
        ),
    ] = 1,
    sampler: Annotated[
        str,
        typer.Option(
            "--sampler",
            metavar="tpe|random",
            help="What proposes the trials.",
            rich_help_panel=_SEARCH,
        ),
    ] = "tpe",
    pruner: Annotated[
        str,
        typer.Option(
            "--pruner",
            metavar="halving|hyperband|none",
            help="What ends trials in short windows.",
            rich_help_panel=_SEARCH,
        ),
    ] = "halving",
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", min=0, help="Seed of the search.", rich_help_panel=_SEARCH
        ),
    ] = 0,
    threads: Threads = None,
    processes: Processes = None,
    dask: Dask = None,
    ray: Ray = None,
    out: Annotated[
        Path | None,
        options.folder(
            f"the finished runs, in Parquet files. Default: STUDY{_ENDING} beside where you are."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a page of HTML, with the search and what was held out side by side.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    plotly: options.PlotlyLibrary = "inline",
    json: options.Json = False,
) -> None:
    """Search the options of policies, and judge the best on jobs held out.

    Trials are run on short windows first, and only the better third goes on.
    Finished runs are kept: after Ctrl-C, or with more trials, the same command
    goes on where it was.
    """
    folder = out or Path(study.stem + _ENDING)
    if report is not None:
        prepare_target(report, {"study": study, "space": space})
    executor = executor_of(processes, dask, ray, threads=threads)
    with worker_pipes(), ProgressDisplay(has_time_left=True) as display:
        shown: list[str] = []

        def tell(progress: Progress) -> None:
            if progress.part not in shown:
                shown.append(progress.part)
                display.runs([progress.part])
            display.update(progress)

        try:
            with heard() as lines:
                found = run_search(
                    space,
                    study,
                    metric,
                    trials=trials,
                    held_out=held_out,
                    rungs=rungs,
                    batch=batch,
                    sampler=sampler,
                    pruner=pruner,
                    seed=seed,
                    folder=folder,
                    executor=executor,
                    progress=tell,
                )
        except KeyboardInterrupt:
            kept = f"finished runs are kept in {folder}" if folder.exists() else "nothing was run"
            remark([f"interrupted: {kept}; the same command goes on from there"], style="yellow")
            raise typer.Exit(INTERRUPTED) from None
    remark((line for line in lines if line not in found.warnings), style="yellow")
    try:
        if report is not None:
            from gpusched.reporting.tuning_page import write_tuning

            write_tuning(found, report, plotly=plotly)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if json:
            show_json(_plain(found))
        else:
            _show(found)
    remark(found.warnings, style="yellow")
    remark([f"finished runs are kept in {folder / SEARCH} and {folder / HELD_OUT}"])
    if report is not None:
        remark([f"wrote {report}"])


def _show(found: Tuning) -> None:
    show_lines([f"{found.study.title or found.study.name}: {found.counts}"], style="bold")
    show_lines(found.windows)
    headings, rows = found.rows
    table = new_table()
    for at, heading in enumerate(headings):
        table.add_column(heading.replace(": ", "\n"), justify="right" if at else "left")
    for at, row in enumerate(rows):
        table.add_row(*row, style="" if at else _BEST)
    show_table(table)
    compared = found.compared
    show_lines(
        [
            f"{100 * compared.level:g} % intervals over what was held out ({compared.method}), "
            f"changes against {found.baseline}"
        ],
        style="dim",
    )
    show_lines([f"best: {found.best}"])


def _plain(found: Tuning) -> dict[str, Any]:
    return {
        "study": found.study.name,
        "metric": found.metric,
        "better": found.better,
        "best": str(found.best),
        "baseline": found.baseline,
        "windows": list(found.windows),
        "warnings": list(found.warnings),
        "folder": found.folder,
        "trials": _rows(found.trials),
        "held_out": _rows(found.held_out),
    }


def _rows(frame: Any) -> list[dict[str, Any]]:
    return [
        {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in row.items()
        }
        for row in frame.iter_rows(named=True)
    ]
