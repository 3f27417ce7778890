"""``gpusched sweep``: all runs of a study, kept as they come."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from gpusched.base.libraries import is_installed, need
from gpusched.base.replacing import write_text
from gpusched.base.run_warning import heard
from gpusched.base.wording import plural
from gpusched.cli import given, options
from gpusched.cli.console import remark, show_json
from gpusched.cli.errors import INTERRUPTED
from gpusched.cli.outputs import Input, prepare_target
from gpusched.cli.places import Dask, Processes, Ray, Threads, executor_of, worker_pipes
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.sweep_tables import plain_result, show_estimate, show_result, show_status
from gpusched.sweeping import pilot
from gpusched.sweeping.python_parts import python_parts
from gpusched.sweeping.status import sweep_status
from gpusched.sweeping.study import Study
from gpusched.sweeping.study_folder import STUDY
from gpusched.sweeping.sweep import sweep as run_study
from gpusched.sweeping.sweep_result import SweepResult

_ENDING: Final = ".sweep"
_REPORT: Final = "report.html"

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
    processes: Processes = None,
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
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="The report: one HTML file. Default: report.html in the folder of the study.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    plotly: options.PlotlyLibrary = "inline",
    json: options.Json = False,
) -> None:
    """Do all runs of a study, kept as they come: a table, a report, Parquet files.

    What is in the folder is not run again: after Ctrl-C, after a crash, or with
    more seeds or policies in the study, the same command goes on.
    """
    file, folder = _places(study, out)
    if status:
        show_status(sweep_status(folder), json)
        return
    read = Study.read(file)
    _check_metrics(table)
    executor = executor_of(processes, dask, ray, threads=threads)
    if executor is None and (parts := python_parts(read)):
        executor = "processes"
        remark([f"written in Python, so in processes: {', '.join(parts)}"])
    if dry:
        has_processes = executor is not None and executor.startswith("processes")
        with ProgressDisplay() as display:
            display.stage("trying each policy once")
            told = pilot.estimate(
                read, folder=folder, num_slots=threads or processes, has_processes=has_processes
            )
        show_estimate(read, told, folder, json)
        return
    plotly = given.page_of(plotly, None).plotly
    page = _page(report, None if only else folder, {"study": file})
    result = _run(read.title or read.name, file, None if only else folder, executor, only)
    text = None
    if page is not None and len(result.finished):
        text = _rendered(result, table, plotly, is_asked=report is not None)
    try:
        if page is not None and text is not None:
            write_text(page, text)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if json:
            files = {} if text is None else {"report": str(page)}
            show_json(plain_result(result) | {"files": files})
        else:
            show_result(result, table or ())
        remark(result.warnings, style="yellow")
    if text is not None:
        remark([f"wrote {page}"])
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


def _page(report: Path | None, folder: Path | None, inputs: dict[str, Input]) -> Path | None:
    """Return the file of the report, which can be written; None if there is to be none."""
    if report is not None:
        need("plotly", "the report", "plotly")  # now, and not after an hour
        report.parent.mkdir(parents=True, exist_ok=True)
        prepare_target(report, inputs)
        return report
    if folder is None:
        return None
    if is_installed("plotly"):
        return folder / _REPORT
    remark(["no report: it needs plotly: pip install plotly"], style="yellow")
    return None


def _rendered(
    result: SweepResult, table: list[str] | None, plotly: str, *, is_asked: bool
) -> str | None:
    """Return the page; None if it has nothing to show and nobody asked for it."""
    from gpusched.reporting.sweeps.sweep_page import render_sweep

    with ProgressDisplay() as display:
        display.stage("drawing the report")
        try:
            return render_sweep(result, metrics=table, plotly=plotly)
        except ValueError as error:  # such as a single run
            if is_asked:
                raise
            remark([f"no report: {error}"])
            return None


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
            with heard() as lines:
                result = run_study(
                    file,
                    folder=folder,
                    executor=executor,
                    only=only,
                    progress=lambda told: display.update(told._replace(part=label)),
                )
        except KeyboardInterrupt:
            _tell_kept(folder)
            raise typer.Exit(INTERRUPTED) from None
    remark((line for line in lines if line not in result.warnings), style="yellow")
    return result


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
