"""``gpusched tune``: search the options of policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import typer
from msgspec.structs import replace

from gpusched.base.run_warning import heard
from gpusched.cli.console import plain_rows, remark, show_json, show_lines, show_table, worker_pipes
from gpusched.cli.errors import INTERRUPTED
from gpusched.cli.options import (
    OUTPUT,
    PlaceOptions,
    Shown,
    argument,
    folder,
    in_panel,
    prepare_target,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.results.shown_metrics import label_of
from gpusched.studies.paper_tables import notes_of
from gpusched.studies.tune import HELD_OUT, SEARCH, Tuning
from gpusched.studies.tune import tune as run_search

_SEARCH: Final = "Search"
_ENDING: Final = ".tune"

EPILOG: Final = """
[bold]Examples[/]

gpusched tune study.toml --space space.toml --metric mean_jct_s

gpusched tune study.toml --space space.toml --metric p99_jct_s --trials 200 --batch 4

gpusched tune study.toml --space space.toml --metric mean_jct_s --report tuning.html
"""


def tune(
    study: Path = argument(
        "STUDY", ..., "A study in TOML or JSON: its traces, clusters and seeds."
    ),
    *,
    space: Path = in_panel(
        _SEARCH, "FILE", ...,
        "What there is to choose: a [bold]\\[\\[space]][/] for each policy, in TOML or "
        "JSON.",
    ),
    metric: str = in_panel(
        _SEARCH, "METRIC", ..., "What shall be better, see [bold]gpusched metrics[/].",
    ),
    trials: int = in_panel(_SEARCH, "N", 50, "Policies to try.", min=1),
    held_out: int = in_panel(
        _SEARCH, "N", 10,
        "Seeds of generated jobs, and windows of others, that the search never sees.", min=1,
    ),
    rungs: int = in_panel(
        _SEARCH, "N", 3,
        "Windows of the search, each three times the one before; 1: nothing is pruned.", min=1,
    ),
    batch: int = in_panel(
        _SEARCH, "N", 1, "Trials to propose at a time, and to run side by side.", min=1,
    ),
    sampler: str = in_panel(_SEARCH, "tpe|random", "tpe", "What proposes the trials."),
    pruner: str = in_panel(
        _SEARCH, "halving|hyperband|none", "halving", "What ends trials in short windows.",
    ),
    seed: int = in_panel(_SEARCH, "N", 0, "Seed of the search.", min=0),
    place: PlaceOptions,
    out: Path | None = folder(
        None,
        f"the finished runs, in Parquet files. Default: STUDY{_ENDING} beside where you are.",
    ),
    report: Path | None = in_panel(
        OUTPUT, "FILE", None,
        "Write a page of HTML, with the search and what was held out side by side.",
    ),
    shown: Shown,
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
                    progress=display.update,
                )
        except KeyboardInterrupt:
            told = f"finished runs are kept in {kept}" if kept.exists() else "nothing was run"
            remark([f"interrupted: {told}; the same command goes on from there"], style="yellow")
            raise typer.Exit(INTERRUPTED) from None
    remark((line for line in lines if line not in found.warnings), style="yellow")
    try:
        if report is not None:
            from gpusched.reporting.tuning_page import write_tuning

            write_tuning(found, report)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if shown.is_json:
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
    told = [f"Compared with {found.baseline} on held-out jobs.", *notes_of(found.compared)]
    title = label_of(found.metric)
    show_table(replace(found.shown, title=title, notes=(" ".join(told),)))
    show_lines([f"best of the search: {found.best}; recommended: {found.recommended}"])


def _plain(found: Tuning) -> dict[str, Any]:
    return {
        "study": found.study.name,
        "metric": found.metric,
        "better": found.better,
        "best": str(found.best),
        "recommended": found.recommended,
        "baseline": found.baseline,
        "windows": list(found.windows),
        "warnings": list(found.warnings),
        "folder": found.folder,
        "trials": plain_rows(found.trials),
        "held_out": plain_rows(found.held_out),
    }
