"""``gpusched compare``: compare policies on one workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import typer
from msgspec.structs import replace

from gpusched.base.failures import message_of
from gpusched.base.memory import keep_freed_memory
from gpusched.base.replacing import write_text
from gpusched.base.run_warning import unwarned
from gpusched.base.suggest import nearest
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration, plural
from gpusched.cli.answers import Answers, fitted
from gpusched.cli.console import plain_rows, remark, show_json, show_lines, show_table
from gpusched.cli.errors import INTERRUPTED, report_failures
from gpusched.cli.options import (
    OUTPUT,
    RUN,
    TRACES,
    AnswerOptions,
    ClusterOptions,
    GanttOptions,
    OutageOptions,
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
from gpusched.cli.workload import Workload, generated, load_outages, load_workload, outages_told
from gpusched.plugins.policy import Policy
from gpusched.prediction.choose import for_trace
from gpusched.reporting.notes import caption, footnotes, remarks
from gpusched.results.shown_metrics import all_metrics
from gpusched.studies import comparison as study
from gpusched.studies.study import WARM_UP, Study

SEEDS: Final = 12
"""Default number of generated workloads."""
_DEFAULT: Final = ", ".join(study.DEFAULT_POLICIES)
EPILOG: Final = """
[bold]Examples[/]

gpusched compare [dim]# the embedded workload[/]

gpusched compare jobs.csv --servers 64 --gpus-per-server 8

gpusched compare jobs.csv -p fifo,srtf -p 2d-las:preset=lucid

gpusched compare jobs.csv -p fifo,srtf --mtbf 30d --repair 4h

gpusched compare jobs.csv -p fifo,srtf --losers --by gpus

gpusched compare jobs.csv --load 0.8 --json | jq .results[0].mean_jct_s
"""


def compare(
    trace: list[Path] | None = TRACES,
    *,
    workload: WorkloadOptions,
    servers: ClusterOptions,
    failures: OutageOptions,
    policies: list[str] | None = in_panel(
        RUN, "A,B:KEY=VALUE,...", None,
        "Policies with their parameters; see [bold]gpusched policies[/]. May be repeated. "
        f"Default: {_DEFAULT}.", names=("--policies", "--policy", "-p"),
    ),
    how: RunOptions,
    seeds: int | None = in_panel(
        RUN, "N", None,
        "Number of generated workloads, from --seed on; more than one adds confidence intervals. "
        f"Default: {SEEDS} without TRACE; 1 with --by, --price, --losers, --graphs, --gantt or "
        "--outages.",
        min=1,
    ),
    threads: int | None = in_panel(
        RUN, "N", None, "Policies simulated at a time. Default: one per CPU.", min=1,
    ),
    asked: AnswerOptions,
    losers: bool = flag(
        OUTPUT, "List the jobs and job sizes that finish later or earlier than under --baseline.",
    ),
    baseline: str | None = in_panel(
        OUTPUT, "NAME", None,
        "Policy that [bold]--losers[/] compares with. Default: the first.",
    ),
    out: Path = folder(
        Path("gpusched-report"), "report.html and jobs.parquet (several seeds: runs.parquet).",
    ),
    timeline: GanttOptions,
    wide: bool = flag(OUTPUT, "Show every metric, even if the table exceeds the terminal."),
    shown: ShownOptions,
) -> None:  # fmt: skip
    """Compare policies on one workload.

    Writes a report (one HTML file that works offline) and all jobs
    (jobs.parquet). Without arguments, five policies run on twelve generated
    workloads. If a policy fails, the error names it and the others are shown.
    With --by, --price or --losers, only that answer is printed.
    """
    keep_freed_memory()  # every policy allocates columns of the same length
    names = study.DEFAULT_POLICIES if policies is None else split_names(policies, "policy")
    labels = [str(Policy.parse(name)) for name in names]
    groupings, prices = asked.groupings(), asked.prices()
    before = _baseline(labels, baseline) if losers or baseline is not None else None
    speed = how.speed_for(workload)
    single = {
        "TRACE": bool(trace), "--by": groupings, "--price": prices is not None,
        "--losers": before, "--graphs": workload.graphs, "--gantt": timeline.gantt,
        "--outages": failures.outages,
    }  # fmt: skip
    of_one = [name for name, given in single.items() if given]
    if seeds is None:
        seeds = 1 if of_one else SEEDS
    if seeds > 1:
        if of_one:
            raise ValueError(f"--seeds: {of_one[0]} needs a single workload; use --seeds 1")
        _over_seeds(
            labels, seeds, workload, servers, failures, how, speed, threads, out, wide, shown
        )
        return
    targets = ("report.html", "jobs.parquet")
    window_s = timeline.window_s()
    with ProgressDisplay() as display:
        display.stage("reading the trace" if trace else "generating the workload")
        loaded = load_workload(trace, workload, servers, speed=speed, seed=how.seed)
        outages = load_outages(failures, loaded, servers.cluster, how.seed)
        assumptions = (*loaded.assumptions, *outages_told(outages))
        inputs = read_files(trace, workload, servers.cluster, failures.outages)
        prepare_folder(out, targets, inputs)  # fail before an hour of runs, not after
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
                    outages=outages,
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
    late = comparison.without_summary()  # only if interrupted; summarising would take too long
    comparison = comparison.select(set(comparison.results) - set(late))
    files = {} if interrupted else {name.partition(".")[0]: out / name for name in targets}
    try:
        if files:
            with ProgressDisplay() as display:
                display.stage("writing the report")
                _write(every, files, assumptions, window_s)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if shown.is_json:
            written = {name: str(path) for name, path in files.items()}
            extra = {"assumptions": list(assumptions), "files": written}
            answered = {} if answers is None else answers.values(comparison)
            show_json(comparison.to_dict() | answered | extra)
        elif comparison.results:
            show_lines(caption(comparison))
            show_lines(assumptions, style="yellow")
            if answers:
                answers.show(comparison)
            else:
                made = study.comparison_table(comparison, is_wide=wide)
                made = replace(made, notes=(*footnotes(comparison), *made.notes))
                show_table(made, wrap=not wide, layout=(lambda every: every) if wide else fitted)
        remark(remarks(comparison), style="yellow")
    remark(f"wrote {path}" for path in files.values())
    if interrupted:
        if late:
            remark([f"interrupted while summarising: {', '.join(late)}"], style="yellow")
        remark(["no files were written"], style="yellow")
    if comparison.failed:
        code = report_failures(comparison.failed, "policy ")
    if interrupted or comparison.failed:
        raise typer.Exit(INTERRUPTED if interrupted else code)


def _over_seeds(
    labels: Sequence[str],
    seeds: int,
    workload: WorkloadOptions,
    servers: ClusterOptions,
    failures: OutageOptions,
    how: RunOptions,
    speed: str | None,
    threads: int | None,
    out: Path,
    wide: bool,
    shown: ShownOptions,
) -> None:
    """Compare on several generated workloads, as a study."""
    from gpusched.cli.sweep import (
        executor_for,
        plain,
        rendered,
        run_quietly,
        show_comparison,
        show_overview,
    )

    first = load_workload(None, workload, servers, speed=speed, seed=how.seed)
    of_seeds = Study.of(
        {
            "name": "compare",
            "title": f"{first.trace.name}, {plural(seeds, 'seed')}",
            "traces": [generated(workload) | failures.drawn],
            "clusters": [first.cluster],
            "seeds": list(range(how.seed, how.seed + seeds)),
            "policies": labels,
            "placements": [how.placement],
            "predictors": [how.predictor],
            "speeds": ["default" if speed is None else speed],
            "contentions": [how.contention],
            "warm_up_s": how.warm_up,
            "tail_s": how.tail,
            "max_intervals": how.max_intervals,
            "kill_invalid_depend": how.kill_invalid_depend,
            "priority_age_s": how.priority_age,
        }
    )
    prepare_folder(
        out, ("report.html", "runs.parquet"), read_files(None, workload, servers.cluster)
    )
    executor = executor_for(of_seeds, None if threads is None else f"threads:{threads}")
    result = run_quietly(plural(seeds, "seed"), of_seeds, executor=executor)
    if not len(result.finished):
        failed = result.runs.row(0, named=True)
        raise ValueError(message_of(f"policy {failed['policy']}", failed["error"]))
    compared = result.compare("mean_jct_s")
    files: dict[str, str] = {}
    try:
        if (text := rendered(result, None, is_asked=False)) is not None:
            write_text(out / "report.html", text)
            files["report"] = str(out / "report.html")
        result.to_parquet(out / "runs.parquet")
        files["runs"] = str(out / "runs.parquet")
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if shown.is_json:
            told = {
                "assumptions": list(first.assumptions),
                "headline": list(compared.headline),
                "comparison": plain_rows(compared.frame),
                "files": files,
            }
            show_json(plain(result) | told)
        else:
            show_lines(_caption(first, seeds, how, failures.drawn))
            show_lines(first.assumptions, style="yellow")
            show_overview(result, all_metrics() if wide else None, has_notes=False)
            show_comparison(compared)
    remark(result.warnings, style="yellow")
    remark(f"wrote {path}" for path in files.values())
    if result.num_failed:
        raise typer.Exit(1)


def _caption(first: Workload, seeds: int, how: RunOptions, drawn: Mapping[str, float]) -> list[str]:
    """Describe the generated workload and the part that is measured."""
    trace, cluster = first.trace, first.cluster
    paid = (
        ""
        if trace.restart_us is None
        else f", a restart costs {duration(trace.restart_us[0] / US_PER_S)}"
    )
    warm_up = f"{WARM_UP} of the jobs are" if how.warm_up is None else f"{duration(how.warm_up)} is"
    lines = [
        f"{trace.name}: {seeds} times {plural(len(trace), 'job')}, seeds {how.seed} to "
        f"{how.seed + seeds - 1}, load {trace.offered_load(cluster.num_gpus):.2f}; the first "
        f"{warm_up} not measured",
        f"{cluster}, placement {how.placement}, predictor {for_trace(how.predictor, trace)}{paid}",
    ]
    if drawn:
        lines.append(
            f"servers fail every {duration(drawn['mtbf_s'])} on average, repair takes "
            f"{duration(drawn['repair_s'])} (exponential, drawn with the seed of each run)"
        )
    return lines


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
    window_s: tuple[float, float] | None,
) -> None:
    from gpusched.reporting.report import write_report

    write_report(comparison, files["report"], assumptions, window_s=window_s)
    comparison.to_parquet(files["jobs"])
