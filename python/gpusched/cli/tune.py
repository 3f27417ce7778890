"""``gpusched tune``: tune policy parameters."""

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
        "Search space: a [bold]\\[\\[space]][/] for each policy, in TOML or JSON.",
    ),
    metric: str = in_panel(
        _SEARCH, "METRIC", ..., "Metric to improve; see [bold]gpusched metrics[/].",
    ),
    trials: int = in_panel(_SEARCH, "N", 50, "Number of trials.", min=1),
    held_out: int = in_panel(
        _SEARCH, "N", 10,
        "Seeds of generated jobs, or windows of a trace, held out of the search.", min=1,
    ),
    rungs: int = in_panel(
        _SEARCH, "N", 3,
        "Windows of the search, each three times as long as the last; 1: no pruning.", min=1,
    ),
    batch: int = in_panel(
        _SEARCH, "N", 1, "Trials to propose and run at a time.", min=1,
    ),
    sampler: str = in_panel(_SEARCH, "tpe|random", "tpe", "Sampler: proposes the trials."),
    pruner: str = in_panel(
        _SEARCH, "halving|hyperband|none", "halving", "Pruner: stops poor trials early.",
    ),
    seed: int = in_panel(_SEARCH, "N", 0, "Seed of the search.", min=0),
    place: PlaceOptions,
    out: Path | None = folder(
        None,
        f"finished runs (Parquet files). Default: STUDY{_ENDING} in the current folder.",
    ),
    report: Path | None = in_panel(
        OUTPUT, "FILE", None,
        "Report: one HTML file, with results on search and held-out jobs side by side.",
    ),
    shown: Shown,
) -> None:  # fmt: skip
    """Tune policy parameters and evaluate the best on held-out jobs.

    Trials run on short windows first, and only the best third continues.
    Finished runs are saved: after Ctrl-C, or with more trials, the same
    command resumes.
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
            told = f"finished runs are saved in {kept}" if kept.exists() else "nothing was run"
            remark([f"interrupted: {told}; repeat the command to resume"], style="yellow")
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
    remark([f"finished runs are saved in {kept / SEARCH} and {kept / HELD_OUT}"])
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
