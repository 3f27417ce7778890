"""``gpusched sweep``: run all simulations of a study."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from msgspec.structs import replace

from gpusched.base.replacing import write_text
from gpusched.base.run_warning import heard
from gpusched.base.suggest import nearest
from gpusched.base.tables import Column, table, text_column
from gpusched.base.wording import plural
from gpusched.cli.console import (
    plain_rows,
    remark,
    show_json,
    show_lines,
    show_table,
    worker_pipes,
)
from gpusched.cli.errors import INTERRUPTED
from gpusched.cli.options import (
    DRY,
    OUTPUT,
    RUN,
    Input,
    PlaceOptions,
    ShownOptions,
    argument,
    flag,
    folder,
    in_panel,
    prepare_target,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.results.metric_registry import metrics
from gpusched.results.shown_metrics import label_of
from gpusched.studies.paper_tables import notes_of, table_of
from gpusched.studies.run_store import STUDY, sweep_status
from gpusched.studies.study import Study
from gpusched.studies.sweep import estimate, python_parts
from gpusched.studies.sweep import sweep as run_study
from gpusched.studies.sweep_result import SweepResult, overview

if TYPE_CHECKING:
    from gpusched.results.metric_registry import Metric
    from gpusched.studies.compared_runs import ComparedRuns
    from gpusched.studies.run_store import SweepStatus
    from gpusched.studies.sweep import SweepEstimate

_ENDING: Final = ".sweep"
_REPORT: Final = "report.html"

EPILOG: Final = """
[bold]Examples[/]

gpusched sweep study.toml --dry-run [dim]# how many runs, how long[/]

gpusched sweep study.toml [dim]# the same again resumes an interrupted study[/]

gpusched sweep study.toml --processes 8 --table p99_jct_s

gpusched sweep study.sweep --status [dim]# while it runs, from another terminal[/]

gpusched sweep study.toml --dask tcp://10.0.0.1:8786
"""


def sweep(
    study: Path = argument(
        "STUDY", ..., "A study in TOML or JSON, or the folder of a started one.",
    ),
    *,
    dry_run: bool = flag(
        RUN,
        "Estimate runs, time and memory from a short run of each policy; run nothing else.",
    ),
    dry: bool = DRY,
    status: bool = flag(RUN, "Show progress without running anything."),
    only: str | None = in_panel(
        RUN, "RUN", None,
        "Run only those whose name starts with this prefix, such as a failed one; results are not "
        "saved.",
    ),
    place: PlaceOptions,
    table: list[str] | None = in_panel(
        OUTPUT, "METRIC", None,
        "Metric to show; see [bold]gpusched metrics[/]. May be repeated. Default: those of the "
        "study.",
    ),
    out: Path | None = folder(
        None,
        f"finished runs (Parquet files). Default: STUDY{_ENDING} in the current folder.",
    ),
    report: Path | None = in_panel(
        OUTPUT, "FILE", None,
        "Report: one HTML file. Default: report.html in the folder of the study.",
    ),
    shown: ShownOptions,
) -> None:  # fmt: skip
    """Run all simulations of a study and save each result.

    Runs already saved in the folder are skipped: after Ctrl-C, after a crash, or
    with more seeds or policies in the study, the same command resumes.
    """
    file, kept = _places(study, out)
    if status:
        _show_status(sweep_status(kept), shown.is_json)
        return
    read = Study.read(file)
    _check_metrics(table)
    executor = executor_for(read, place.executor())
    if dry_run or dry:
        has_processes = executor is not None and executor.startswith("processes")
        with ProgressDisplay() as display:
            display.stage("trying each policy once")
            told = estimate(
                read,
                folder=kept,
                num_slots=place.threads or place.processes,
                has_processes=has_processes,
            )
        _show_estimate(read, told, kept, shown.is_json)
        return
    page = _page(report, None if only else kept, {"study": file})
    result = run_quietly(read.title or read.name, file, None if only else kept, executor, only)
    text = None
    try:
        if page is not None and len(result.finished):
            text = rendered(result, table, is_asked=report is not None)
        if page is not None and text is not None:
            write_text(page, text)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if shown.is_json:
            files = {} if text is None else {"report": str(page)}
            show_json(plain(result) | {"files": files})
        else:
            _show(result, table or ())
        remark(result.warnings, style="yellow")
    if text is not None:
        remark([f"wrote {page}"])
    if result.folder is not None:
        remark([f"{plural(result.num_done, 'run')} saved in {result.folder}"])
    if result.num_failed:
        raise typer.Exit(1)


def executor_for(study: Study, asked: str | None) -> str | None:
    """Return the executor: the one asked for, else processes if parts are written in Python."""
    if asked is None and (parts := python_parts(study)):
        remark([f"using processes because these are written in Python: {', '.join(parts)}"])
        return "processes"
    return asked


def _places(study: Path, out: Path | None) -> tuple[Path, Path]:
    """Return the file of the study, and its folder."""
    if study.is_dir():
        if out is not None:
            raise ValueError(f"--out: cannot be combined with a study's folder, {study}")
        return study / STUDY, study
    return study, out or Path(study.stem + _ENDING)


def _page(report: Path | None, folder: Path | None, inputs: dict[str, Input]) -> Path | None:
    """Return the report's file after checking that it can be written; None for no report."""
    if report is not None:
        report.parent.mkdir(parents=True, exist_ok=True)
        prepare_target(report, inputs)
        return report
    return None if folder is None else folder / _REPORT


def rendered(result: SweepResult, table: list[str] | None, *, is_asked: bool) -> str | None:
    """Return the page; None if it has nothing to show and was not asked for."""
    from gpusched.reporting.sweeps.sweep_page import render_sweep

    with ProgressDisplay() as display:
        display.stage("drawing the report")
        try:
            return render_sweep(result, metrics=table)
        except ValueError as error:  # such as a single run
            if is_asked:
                raise
            remark([f"no report: {error}"])
            return None


def _check_metrics(wanted: list[str] | None) -> None:
    known = metrics()
    for key in wanted or ():
        if key not in known:
            raise ValueError(f"--table: unknown metric {key!r}{nearest(key, list(known))}")


def run_quietly(
    label: str,
    study: Study | Path,
    folder: Path | None = None,
    executor: str | None = None,
    only: str | None = None,
) -> SweepResult:
    """Run a study with a progress bar, and print its warnings as remarks."""
    with worker_pipes(), ProgressDisplay(has_time_left=True) as display:
        display.runs([label])
        try:
            with heard() as lines:
                result = run_study(
                    study,
                    folder=folder,
                    executor=executor,
                    only=only,
                    progress=lambda told: display.update(told._replace(part=label)),
                )
        except KeyboardInterrupt:
            if folder is not None:
                told = sweep_status(folder)
                remark(
                    [
                        f"interrupted: {told.num_done:,} of {plural(told.num_runs, 'run')} "
                        f"saved in {folder}; repeat the command to resume"
                    ],
                    style="yellow",
                )
            raise typer.Exit(INTERRUPTED) from None
    remark((line for line in lines if line not in result.warnings), style="yellow")
    return result


def _show(result: SweepResult, wanted: Sequence[str]) -> None:
    """Print the chosen metrics, or those of the study."""
    show_lines([result.study.title or result.study.name], style="bold")
    if not result.num_done - result.num_failed:
        return
    chosen = list(wanted) or list(result.study.metrics)
    if not chosen:
        show_overview(result)
    for metric in chosen:
        show_comparison(result.compare(metric))


def plain(result: SweepResult) -> dict[str, Any]:
    """Return all runs as ``--json`` shows them."""
    return {
        "study": result.study.name,
        "folder": result.folder,
        "num_runs": len(result.runs),
        "num_failed": result.num_failed,
        "warnings": result.warnings,
        "runs": plain_rows(result.runs),
    }


def _show_status(told: SweepStatus, json: bool) -> None:
    """Print the progress of a study."""
    if json:
        show_json(asdict(told) | {"num_left": told.num_left})
        return
    show_lines([str(told)])
    remark(told.damaged, style="yellow")


def _show_estimate(study: Study, told: SweepEstimate, folder: Path, json: bool) -> None:
    """Print the time and memory that a study needs."""
    if json:
        show_json(asdict(told))
        return
    show_lines([study.title or study.name], style="bold")
    show_lines([str(told)])
    columns = text_column("policy"), Column("1,000 jobs", kind="time", key="seconds")
    show_table(table("", columns, told.pilots.items()))
    remark(told.errors, style="yellow")
    remark([f"finished runs would be saved in {os.fspath(folder)}"])


def show_overview(
    result: SweepResult, chosen: Sequence[Metric] | None = None, *, has_notes: bool = True
) -> None:
    """Print metrics of typical runs (None: the main ones), one row per configuration."""
    shown = overview(result.study, result.runs, chosen)
    if has_notes:
        show_lines(shown.notes)
    show_table(replace(shown, notes=()))
    show_lines([f"typical over the seeds, of {plural(result.num_done, 'run')}"], style="dim")


def show_comparison(compared: ComparedRuns) -> None:
    """Print a metric of typical runs: intervals, comparison with the baseline, headline."""
    seeds = compared.frame["num_seeds"]
    is_same = seeds.n_unique() == 1
    told = [f"{plural(seeds[0], 'seed')}."] if is_same else []
    told += [] if compared.baseline is None else [f"Compared with {compared.baseline}."]
    below = (" ".join([*told, *notes_of(compared)]),)
    show_table(
        table_of(compared, label_of(compared.metric)),
        layout=lambda every: replace(every.without({"num_seeds"} if is_same else ()), notes=below),
    )
    show_lines(compared.headline)
