"""``gpusched compare``: several policies on one workload, as a table and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import typer
from msgspec.structs import replace

from gpusched.base.libraries import is_installed
from gpusched.base.memory import keep_freed_memory
from gpusched.base.run_warning import unwarned
from gpusched.base.suggest import nearest
from gpusched.cli.answers import Answers, fitted
from gpusched.cli.console import remark, show_json, show_lines, show_table
from gpusched.cli.errors import INTERRUPTED, report_failures
from gpusched.cli.options import (
    OUTPUT,
    RUN,
    TRACES,
    AnswerOptions,
    ClusterOptions,
    PageOptions,
    RunOptions,
    ShownOptions,
    WorkloadOptions,
    flag,
    folder,
    in_panel,
    prepare_folder,
    read_files,
    split_names,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.workload import load_workload
from gpusched.plugins.policy import Policy
from gpusched.reporting.notes import caption, footnotes, remarks
from gpusched.studies import comparison as study

_DEFAULT: Final = ", ".join(study.DEFAULT_POLICIES)
EPILOG: Final = """
[bold]Examples[/]

gpusched compare [dim]# the embedded workload[/]

gpusched compare jobs.csv --servers 64 --gpus-per-server 8

gpusched compare jobs.csv -p fifo,srtf -p 2d-las:preset=lucid

gpusched compare jobs.csv -p fifo,srtf --losers --by gpus

gpusched compare jobs.csv --load 0.8 --json | jq .results[0].mean_jct_s
"""


def compare(
    trace: list[Path] | None = TRACES,
    *,
    workload: WorkloadOptions,
    servers: ClusterOptions,
    policies: list[str] | None = in_panel(
        RUN, "A,B:KEY=VALUE,...", None,
        "Policies with their parameters, see [bold]gpusched policies[/]. May be repeated. "
        f"Default: {_DEFAULT}.", names=("--policies", "--policy", "-p"),
    ),
    how: RunOptions,
    threads: int | None = in_panel(
        RUN, "N", None, "Policies that run at a time. Default: one per CPU.", min=1,
    ),
    asked: AnswerOptions,
    losers: bool = flag(
        OUTPUT, "Tell which jobs and widths lost, and which won, against the baseline.",
    ),
    baseline: str | None = in_panel(
        OUTPUT, "NAME", None,
        "The policy that [bold]--losers[/] compares with. Default: the first.",
    ),
    out: Path = folder(Path("gpusched-report"), "report.html and jobs.parquet."),
    page: PageOptions,
    wide: bool = flag(OUTPUT, "Show every metric, however wide the table gets."),
    shown: ShownOptions,
) -> None:  # fmt: skip
    """Compare policies on one workload: a table, a report and all jobs.

    The report is one HTML file that works offline; the jobs of all policies
    are in jobs.parquet beside it. Without arguments, five policies run on a
    generated workload. A policy that fails is named; the others are shown. With
    --by, --price or --losers the answer is that alone.
    """
    keep_freed_memory()  # each policy makes columns as long as those of the one before
    names = study.DEFAULT_POLICIES if policies is None else split_names(policies, "policy")
    labels = [str(Policy.parse(name)) for name in names]
    groupings, prices = asked.groupings(), asked.prices()
    before = _baseline(labels, baseline) if losers or baseline is not None else None
    speed = how.speed_for(workload)
    has_report = is_installed("plotly")
    targets = ("report.html", "jobs.parquet") if has_report else ("jobs.parquet",)
    drawn = page.arguments()
    with ProgressDisplay() as display:
        display.stage("reading the trace" if trace else "generating the workload")
        loaded = load_workload(trace, workload, servers, speed=speed, seed=how.seed)
        inputs = read_files(trace, workload, servers.cluster)
        prepare_folder(out, targets, inputs)  # now, and not after an hour of runs
        display.runs(labels)
        interrupted = False
        try:
            with unwarned():  # they are shown as remarks
                comparison = study.compare(
                    loaded.trace,
                    loaded.cluster,
                    labels,
                    **how.settings,
                    speed=speed,
                    max_intervals=how.max_intervals,
                    threads=threads,
                    progress=display.update,
                )
        except study.Interrupted as interruption:
            comparison, interrupted = interruption.comparison, True
        except Exception as error:
            finished = getattr(error, "comparison", None)
            if finished is None or not finished.results:
                raise
            comparison = finished
        answers: Answers | None = None
        if not interrupted:
            display.stage("breaking the results down")
            answers = Answers.of(comparison, groupings, prices, before)
    every = comparison
    late = comparison.without_summary()  # only if interrupted: there is no time for them now
    comparison = comparison.select(set(comparison.results) - set(late))
    files = {} if interrupted else {name.partition(".")[0]: out / name for name in targets}
    try:
        if files:
            with ProgressDisplay() as display:
                display.stage("writing the report")
                _write(every, files, loaded.assumptions, drawn)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if shown.is_json:
            written = {name: str(path) for name, path in files.items()}
            extra = {"assumptions": list(loaded.assumptions), "files": written}
            answered = {} if answers is None else answers.values(comparison)
            show_json(comparison.to_dict() | answered | extra)
        elif comparison.results:
            show_lines(caption(comparison))
            show_lines(loaded.assumptions, style="yellow")
            if answers:
                answers.show(comparison)
            else:
                made = study.comparison_table(comparison, is_wide=wide)
                made = replace(made, notes=(*footnotes(comparison), *made.notes))
                show_table(made, wrap=not wide, layout=(lambda every: every) if wide else fitted)
        remark(remarks(comparison), style="yellow")
    remark(f"wrote {path}" for path in files.values())
    if not has_report and not interrupted:
        remark(["no report: it needs plotly: pip install plotly"], style="yellow")
    if interrupted:
        if late:
            remark([f"interrupted while summarising: {', '.join(late)}"], style="yellow")
        remark(["no files were written"], style="yellow")
    if comparison.failed:
        code = report_failures(comparison.failed, "policy ")
    if interrupted or comparison.failed:
        raise typer.Exit(INTERRUPTED if interrupted else code)


def _baseline(labels: Sequence[str], baseline: str | None) -> str:
    if len(labels) < 2:
        raise ValueError("--losers: needs two policies or more")
    label = labels[0] if baseline is None else str(Policy.parse(baseline))
    if label not in labels:
        raise ValueError(f"--baseline: {label!r} is not compared{nearest(label, labels)}")
    return label


def _write(
    comparison: study.Comparison,
    files: Mapping[str, Path],
    assumptions: Sequence[str],
    drawn: Mapping[str, Any],
) -> None:
    if "report" in files:
        from gpusched.reporting.report import write_report

        write_report(comparison, files["report"], assumptions, **drawn)
    comparison.to_parquet(files["jobs"])
