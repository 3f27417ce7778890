"""``gpusched run``: simulate one policy on one workload."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import typer

from gpusched.base.run_warning import unwarned
from gpusched.base.tables import Table
from gpusched.cli.answers import Answers
from gpusched.cli.console import remark, show_json, show_lines, show_table
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
    prepare_target,
    read_files,
    split_names,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.workload import load_outages, load_workload, outages_told
from gpusched.plugins.policy import Policy
from gpusched.reporting.notes import caption, remarks
from gpusched.results.format_registry import schedule_format
from gpusched.studies import comparison as study
from gpusched.traces.workload import Trace

EPILOG: Final = """
[bold]Examples[/]

gpusched run jobs.csv --policy srtf --servers 64

gpusched run jobs.csv --policy 2d-las:preset=lucid --audit --out lucid

gpusched run jobs.csv --policy easy --report easy.html --gantt 0:86400

gpusched run jobs.csv -p easy --by gpus --by month --price 2.5

gpusched run jobs.csv -p easy --mtbf 30d --repair 4h --checkpoint-every 30m

gpusched run -p fifo --profiles zoo --nic-gbps 25 --intra-gbps 400 --contention shared
"""


def run(
    policy: str = in_panel(
        RUN, "NAME[:KEY=VALUE,...]", ..., "Policy; see [bold]gpusched policies[/].",
        names=("--policy", "-p"),
    ),
    trace: list[Path] | None = TRACES,
    *,
    workload: WorkloadOptions,
    servers: ClusterOptions,
    failures: OutageOptions,
    how: RunOptions,
    audit: bool = flag(
        RUN, "Check the schedule independently of the simulator; exit with 1 if a rule is broken.",
    ),
    explain: str | None = in_panel(
        OUTPUT, "JOB|id=ID", None,
        "Job to explain, by its position in the order of submission or its id in TRACE: what "
        "happened to it, and why.",
    ),
    answers: AnswerOptions,
    out: Path | None = folder(
        None, "result.npz (see [bold]gpusched.load_result[/]), jobs.parquet and report.html.",
    ),
    report: Path | None = in_panel(
        OUTPUT, "FILE", None,
        "Report: one HTML file. Default: report.html in the folder of --out.",
    ),
    timeline: Path | None = in_panel(
        OUTPUT, "FILE", None,
        "File for the schedule: .json (timeline for ui.perfetto.dev), .csv (Batsim) or .swf.",
    ),
    page: GanttOptions,
    wide: bool = flag(OUTPUT, "Show every metric."),
    shown: ShownOptions,
) -> None:  # fmt: skip
    """Simulate one policy and print its metrics.

    With --by, --price or --explain, only that answer is printed.
    """
    window_s = page.window_s()
    if report is None and out is not None:
        report = out / "report.html"
    if report is None and window_s is not None:
        raise ValueError("--gantt: needs --report or --out")
    names = split_names([policy], "policy")
    if len(names) > 1:
        raise ValueError(f"--policy: takes one; gpusched compare -p {policy} runs all {len(names)}")
    label = str(Policy.parse(policy))
    groupings, prices = answers.groupings(), answers.prices()
    speed = how.speed_for(workload)
    if timeline is not None:
        schedule_format(timeline)
    files: dict[str, Path] = {}
    if out is not None:
        files = {"result": out / "result.npz", "jobs": out / "jobs.parquet"}
    files |= {} if timeline is None else {"timeline": timeline}
    files |= {} if report is None else {"report": report}
    with ProgressDisplay() as display:
        display.stage("reading the trace" if trace else "generating the workload")
        loaded = load_workload(trace, workload, servers, speed=speed, seed=how.seed)
        outages = load_outages(failures, loaded, servers.cluster, how.seed)
        assumptions = (*loaded.assumptions, *outages_told(outages))
        inputs = read_files(trace, workload, servers.cluster, failures.outages)
        if out is not None:
            prepare_folder(out, ("result.npz", "jobs.parquet"), inputs)
        if timeline is not None:
            prepare_target(timeline, inputs)
        if report is not None:
            report.parent.mkdir(parents=True, exist_ok=True)
            prepare_target(report, inputs)
        asked = None if explain is None else _place_of(loaded.trace, explain)
        display.runs([label])
        with unwarned():  # they are shown as remarks
            comparison = study.compare(  # unlike simulate, it abandons the run on Ctrl-C
                loaded.trace,
                loaded.cluster,
                [label],
                **how.settings,
                speed=speed,
                outages=outages,
                max_intervals=how.max_intervals,
                progress=display.update,
            )
        result = comparison.results[label]
        story = () if asked is None else result.explain(asked).lines
        answered = Answers(
            {by: result.by(by, warm_up_s=how.warm_up, tail_s=how.tail) for by in groupings},
            {} if prices is None else {label: result.cost(prices)},
        )
        found = None
        if audit:
            display.stage("auditing the schedule")
            found = result.audit()
    lost: list[str] = []
    try:
        if files:
            with ProgressDisplay() as display:
                if out is not None:
                    display.stage("writing the result")
                    result.save(files["result"])
                    result.to_parquet(files["jobs"])
                if timeline is not None:
                    display.stage("writing the timeline")
                    lost = result.export_with_losses(timeline)
                if report is not None:
                    from gpusched.reporting.report import write_report

                    display.stage("writing the report")
                    write_report(comparison, report, assumptions, window_s=window_s)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if shown.is_json:
            summary = comparison.to_dict()
            payload: dict[str, Any] = {
                key: summary[key] for key in ("trace", "cluster", "window") if key in summary
            }
            payload |= {"result": summary["results"][0], "warnings": list(result.warnings)}
            if found is not None:
                payload["audit"] = {"ok": found.ok, "problems": list(found.problems)}
            if story:
                payload["explanation"] = list(story)
            payload |= answered.values(comparison)
            if "cost" in payload:
                payload["cost"] = payload["cost"][label]
            payload["assumptions"] = list(assumptions)
            payload["files"] = {name: str(path) for name, path in files.items()}
            show_json(payload)
        else:
            show_lines(caption(comparison))
            show_lines(assumptions, style="yellow")
            answered.show(comparison)
            print("\n".join(story), end="\n" * bool(story))
            if not (answered or story):
                made = study.comparison_table(comparison, is_wide=wide)
                show_table(made, layout=Table.transposed)
            if found is not None:
                show_lines([f"audit: {line}" for line in found.problems or ["every rule holds"]])
        remark(remarks(comparison), style="yellow")
    remark(lost, style="yellow")
    remark(f"wrote {path}" for path in files.values())
    if found is not None and not found.ok:
        raise typer.Exit(1)


def _place_of(trace: Trace, asked: str) -> int:
    """Return the position of a job given as a position, as ``id=ID``, or as a non-numeric id."""
    from gpusched.results.explain import has_id, place_of

    name = asked.removeprefix("id=")
    if name == asked and asked.isdecimal():
        if int(asked) < len(trace):
            return int(asked)
        other = f"; id={asked} is the one with this id" if has_id(trace, asked) else ""
        last = len(trace) - 1
        raise ValueError(f"--explain: there is no job {asked}; the last one is {last}{other}")
    try:
        return place_of(trace, name)
    except ValueError as error:
        raise ValueError(f"--explain: {str(error).removeprefix('job: ')}") from None
