"""``gpusched sweep``: all runs of a study, kept as they come."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gpusched.base.run_warning import unwarned
from gpusched.base.wording import duration, plural
from gpusched.cli import options
from gpusched.cli.console import flush, new_table, remark, show_json, show_lines, show_table
from gpusched.cli.errors import INTERRUPTED
from gpusched.cli.places import (
    Dask,
    ProcessesForThreads,
    Ray,
    Threads,
    executor_of,
    worker_pipes,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.sweep_tables import show_comparison, show_overview
from gpusched.sweeping import pilot
from gpusched.sweeping.status import SweepStatus, sweep_status
from gpusched.sweeping.study import Study
from gpusched.sweeping.study_folder import STUDY
from gpusched.sweeping.sweep import sweep as run_study
from gpusched.sweeping.sweep_result import SweepResult

_ENDING: Final = ".sweep"

EPILOG: Final = """
[bold]Examples[/]

gpusched sweep study.toml --dry [dim]# how many runs, how long[/]

gpusched sweep study.toml [dim]# again after an interruption: it goes on[/]

gpusched sweep study.toml --processes 8 --table p99_jct_s

gpusched sweep study.sweep --status [dim]# while it runs, from another terminal[/]

gpusched sweep study.toml --dask tcp://10.0.0.1:8786
"""


def sweep(
    study: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY",
            help="A study in TOML or JSON, or the folder of one that was begun.",
            show_default=False,
        ),
    ],
    dry: Annotated[
        bool,
        typer.Option(
            "--dry",
            help="Say how many runs there are, how long they take and how much memory, from a "
            "short run of each policy.",
            rich_help_panel=options.RUN,
        ),
    ] = False,
    status: Annotated[
        bool,
        typer.Option(
            "--status", help="Say how far it is, and run nothing.", rich_help_panel=options.RUN
        ),
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="RUN",
            help="Do the runs alone whose names begin so, such as one that failed; nothing is "
            "kept.",
            show_default=False,
            rich_help_panel=options.RUN,
        ),
    ] = None,
    threads: Threads = None,
    processes: ProcessesForThreads = None,
    dask: Dask = None,
    ray: Ray = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="METRIC",
            help="Show this metric, see [bold]gpusched metrics[/]. May be repeated. Default: those "
            "of the study.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        options.folder(
            f"the finished runs, in Parquet files. Default: STUDY{_ENDING} beside where you are."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Do all runs of a study, kept as they come: a table, and Parquet files.

    What is in the folder is not run again: after Ctrl-C, after a crash, or with
    more seeds or policies in the study, the same command goes on.
    """
    file, folder = _places(study, out)
    if status:
        _show_status(sweep_status(folder), json)
        return
    read = Study.read(file)
    _check_metrics(table)
    executor = executor_of(processes, dask, ray, threads)
    if dry:
        _show_estimate(read, folder, threads or processes, processes is not None, json)
        return
    result = _run(read.title or read.name, file, None if only else folder, executor, only)
    if json:
        show_json(_plain(result))
    else:
        _show(result, table or ())
        flush()
    remark(result.warnings, style="yellow")
    if result.folder is not None:
        remark([f"{plural(result.num_done, 'run')} kept in {result.folder}"])
    if result.num_failed:
        raise typer.Exit(1)


def _places(study: Path, out: Path | None) -> tuple[Path, Path]:
    """Return the file of the study, and its folder."""
    if study.is_dir():
        if out is not None:
            raise ValueError(f"--out: {study} is the folder already")
        return study / STUDY, study
    return study, out or Path(study.stem + _ENDING)


def _check_metrics(wanted: list[str] | None) -> None:
    from gpusched.base.suggest import nearest
    from gpusched.results.metric_registry import metrics

    known = metrics()
    for key in wanted or ():
        if key not in known:
            raise ValueError(f"--table: unknown metric {key!r}{nearest(key, list(known))}")


def _run(
    label: str, file: Path, folder: Path | None, executor: str | None, only: str | None
) -> SweepResult:
    with worker_pipes(), ProgressDisplay(has_time_left=True) as display:
        display.runs([label])
        try:
            with unwarned():  # the result says them, too
                return run_study(
                    file,
                    folder=folder,
                    executor=executor,
                    only=only,
                    progress=lambda told: display.update(told._replace(part=label)),
                )
        except KeyboardInterrupt:
            _tell_kept(folder)
            raise typer.Exit(INTERRUPTED) from None


def _tell_kept(folder: Path | None) -> None:
    if folder is None:
        return
    told = sweep_status(folder)
    remark(
        [
            f"interrupted: {told.num_done:,} of {plural(told.num_runs, 'run')} are kept in "
            f"{folder}; the same command goes on from there"
        ],
        style="yellow",
    )


def _show(result: SweepResult, wanted: Sequence[str]) -> None:
    show_lines([result.study.title or result.study.name], style="bold")
    if not result.num_done - result.num_failed:
        return
    chosen = list(wanted) or list(result.study.metrics)
    if not chosen:
        show_overview(result)
    for metric in chosen:
        show_comparison(result.compare(metric))


def _plain(result: SweepResult) -> dict[str, Any]:
    return {
        "study": result.study.name,
        "folder": result.folder,
        "num_runs": len(result.runs),
        "num_failed": result.num_failed,
        "warnings": result.warnings,
        "runs": [
            {key: _finite(value) for key, value in row.items()}
            for row in result.runs.iter_rows(named=True)
        ],
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _show_status(told: SweepStatus, json: bool) -> None:
    if json:
        fields = ("name", "folder", "num_runs", "num_done", "num_failed", "num_left", "spent_s",
                  "left_s", "is_same_code", "damaged")  # fmt: skip
        show_json({key: getattr(told, key) for key in fields})
        return
    show_lines([str(told)])
    remark(told.damaged, style="yellow")


def _show_estimate(
    study: Study, folder: Path, num_slots: int | None, has_processes: bool, json: bool
) -> None:
    with ProgressDisplay() as display:
        display.stage("trying each policy once")
        told = pilot.estimate(
            study, folder=folder, num_slots=num_slots, has_processes=has_processes
        )
    if json:
        fields = ("num_runs", "num_kept", "num_jobs", "num_slots", "runs_s", "wall_s",
                  "memory_bytes", "pilots", "errors")  # fmt: skip
        show_json({key: getattr(told, key) for key in fields})
        return
    show_lines([study.title or study.name], style="bold")
    show_lines([str(told)])
    table = new_table()
    table.add_column("policy")
    table.add_column("1,000 jobs", justify="right")
    for policy, seconds in told.pilots.items():
        table.add_row(policy, duration(seconds))
    show_table(table)
    remark(told.errors, style="yellow")
    remark([f"finished runs would be kept in {os.fspath(folder)}"])
