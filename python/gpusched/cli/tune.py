"""``gpusched tune``: search the options of policies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gpusched.base.progress import Progress
from gpusched.base.run_warning import heard
from gpusched.base.tables import table
from gpusched.cli.console import remark, show_json, show_lines, show_table, worker_pipes
from gpusched.cli.errors import INTERRUPTED
from gpusched.cli.options import (
    OUTPUT,
    Json,
    PlaceOptions,
    Plotly,
    folder,
    in_panel,
    prepare_target,
    with_groups,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.tuning.trials import HELD_OUT, SEARCH
from gpusched.tuning.tune import tune as run_search
from gpusched.tuning.tuning_result import Tuning

_SEARCH: Final = "Search"
_ENDING: Final = ".tune"

EPILOG: Final = """
[bold]Examples[/]

gpusched tune study.toml --space space.toml --metric mean_jct_s

gpusched tune study.toml --space space.toml --metric p99_jct_s --trials 200 --batch 4

gpusched tune study.toml --space space.toml --metric mean_jct_s --report tuning.html
"""


@with_groups
def tune(
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY", show_default=False,
            help="A study in TOML or JSON: its traces, clusters and seeds.",
        ),
    ],
    *,
    space: Annotated[
        Path,
        in_panel(
            _SEARCH, "--space", metavar="FILE",
            help="What there is to choose: a [bold]\\[\\[space]][/] for each policy, in TOML or "
            "JSON.",
        ),
    ],
    metric: Annotated[
        str,
        in_panel(
            _SEARCH, "--metric", metavar="METRIC",
            help="What shall be better, see [bold]gpusched metrics[/].",
        ),
    ],
    trials: Annotated[
        int,
        in_panel(
            _SEARCH, "--trials", metavar="N", min=1, help="Policies to try.", show_default=True
        ),
    ] = 50,
    held_out: Annotated[
        int,
        in_panel(
            _SEARCH, "--held-out", metavar="N", min=1, show_default=True,
            help="Seeds of generated jobs, and windows of others, that the search never sees.",
        ),
    ] = 10,
    rungs: Annotated[
        int,
        in_panel(
            _SEARCH, "--rungs", metavar="N", min=1, show_default=True,
            help="Windows of the search, each three times the one before; 1: nothing is pruned.",
        ),
    ] = 3,
    batch: Annotated[
        int,
        in_panel(
            _SEARCH, "--batch", metavar="N", min=1, show_default=True,
            help="Trials to propose at a time, and to run side by side.",
        ),
    ] = 1,
    sampler: Annotated[
        str,
        in_panel(
            _SEARCH, "--sampler", metavar="tpe|random", help="What proposes the trials.",
            show_default=True,
        ),
    ] = "tpe",
    pruner: Annotated[
        str,
        in_panel(
            _SEARCH, "--pruner", metavar="halving|hyperband|none", show_default=True,
            help="What ends trials in short windows.",
        ),
    ] = "halving",
    seed: Annotated[
        int,
        in_panel(
            _SEARCH, "--seed", metavar="N", min=0, help="Seed of the search.", show_default=True
        ),
    ] = 0,
    place: PlaceOptions,
    out: Annotated[
        Path | None,
        folder(
            f"the finished runs, in Parquet files. Default: STUDY{_ENDING} beside where you are."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        in_panel(
            OUTPUT, "--report", metavar="FILE",
            help="Write a page of HTML, with the search and what was held out side by side.",
        ),
    ] = None,
    drawn: Plotly,
    json: Json = False,
) -> None:  # fmt: skip
    """Search the options of policies, and judge the best on jobs held out.

    Trials are run on short windows first, and only the better third goes on.
    Finished runs are kept: after Ctrl-C, or with more trials, the same command
    goes on where it was.
    """
    kept = out or Path(study.stem + _ENDING)
    if report is not None:
        prepare_target(report, {"study": study, "space": space})
    executor = place.executor()
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
                    folder=kept,
                    executor=executor,
                    progress=tell,
                )
        except KeyboardInterrupt:
            told = f"finished runs are kept in {kept}" if kept.exists() else "nothing was run"
            remark([f"interrupted: {told}; the same command goes on from there"], style="yellow")
            raise typer.Exit(INTERRUPTED) from None
    remark((line for line in lines if line not in found.warnings), style="yellow")
    try:
        if report is not None:
            from gpusched.reporting.tuning_page import write_tuning

            write_tuning(found, report, plotly=drawn.plotly)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if json:
            show_json(_plain(found))
        else:
            _show(found)
    remark(found.warnings, style="yellow")
    remark([f"finished runs are kept in {kept / SEARCH} and {kept / HELD_OUT}"])
    if report is not None:
        remark([f"wrote {report}"])


def _show(found: Tuning) -> None:
    show_lines([f"{found.study.title or found.study.name}: {found.counts}"], style="bold")
    show_lines(found.windows)
    headings, rows = found.rows
    columns = [heading.replace(": ", "\n") for heading in headings]
    show_table(table("", columns, rows, best=[0]))
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
