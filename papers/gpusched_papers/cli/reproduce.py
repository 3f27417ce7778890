"""``gpusched reproduce``: a paper's experiments, compared with its published figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

import gpusched as gs
from gpusched.base.replacing import check_folder, write_text
from gpusched.base.tables import table
from gpusched.cli import options
from gpusched.cli.console import (
    remark,
    show_json,
    show_lines,
    show_table,
    worker_pipes,
)
from gpusched.cli.errors import INTERRUPTED, report_failures
from gpusched.cli.progress import ProgressDisplay
from gpusched.studies.kept_runs import forget, num_kept
from gpusched_papers import registry as papers
from gpusched_papers.all_papers import command, forget_all, page, reproduce_all, tables
from gpusched_papers.study import Interrupted, plain

EPILOG: Final = """
[bold]Examples[/]

gpusched reproduce [dim]# list the papers[/]

gpusched reproduce sjf-bco --quick [dim]# the main comparison on a few instances[/]

gpusched reproduce sjf-bco --out sjf-bco [dim]# with figures and all runs[/]

gpusched reproduce a-srpt --quick [dim]# A-SRPT on two clusters[/]

gpusched reproduce dancer --dask tcp://10.0.0.1:8786

gpusched reproduce fgd --dry-run [dim]# list the stages[/]

gpusched reproduce all --out all [dim]# every paper, with one page of all verdicts[/]
"""

QUICK_SEEDS: Final = 4
"""Most seeds with --quick."""
_PAGE: Final = "reproductions.md"
_KEPT: Final = "unfinished"  # in the folder of the files
_LEFT_OUT: Final = 1


def reproduce(
    name: str | None = options.argument(
        "PAPER", None,
        "Paper, or [bold]all[/] for one page with the published and the reproduced figures of "
        "every paper. Default: list them.",
    ),
    seeds: int | None = options.in_panel(
        options.RUN, "N", None,
        f"Number of random instances. Default: the paper's; at most {QUICK_SEEDS} with --quick.",
        min=2,
    ),
    quick: bool = options.flag(options.RUN, "Run only the main comparison."),
    exact: bool = options.flag(
        options.RUN,
        "Add the gap to the optimum of small instances; takes minutes (extra: [bold]exact[/]).",
    ),
    data: Path | None = options.DATA,
    dry_run: bool = options.flag(
        options.RUN, "Show the stages and their number of parts; run nothing."
    ),
    dry: bool = options.DRY,
    out: Path | None = options.folder(
        None,
        "figures, tables.md, runs.csv and results.json (extra: [bold]plot[/]); with "
        "[bold]all[/], reproductions.md. Also saves finished runs, from which the same command "
        "resumes.",
    ),
    *,
    place: Annotated[options.PlaceOptions, options.without("threads")],
    shown: options.Shown,
) -> None:  # fmt: skip
    """Repeat a paper's experiments and compare with its published figures."""
    if name is None:
        _list(shown.is_json)
        return
    executor = place.executor()
    is_all = name == papers.ALL
    known = list(papers.known_papers().values()) if is_all else [papers.paper(name)]
    if dry_run or dry:
        stages = {
            paper.name: paper.stages(
                seeds=_seeds(paper, seeds, quick), quick=quick, data=data,
                exact=exact and (paper.has_exact or not is_all),
            )
            for paper in known
        }  # fmt: skip
        if not shown.is_json:
            _show_stages(known, stages)
        elif is_all:
            show_json({"papers": stages})
        else:
            show_json({"paper": name, "stages": stages[name]})
        return
    if out is not None:
        if not is_all:
            from gpusched_papers.drawing import need_files

            need_files()  # fail before minutes of runs, not after
        check_folder(out, *([[_PAGE]] if is_all else []))
    kept = None if out is None else out / _KEPT
    asked: dict[str, Any] = {
        "quick": quick, "exact": exact, "data": data, "keep": kept, "executor": executor,
    }  # fmt: skip
    if is_all:
        _every_paper(QUICK_SEEDS if quick and seeds is None else seeds, asked, out, shown.is_json)
    else:
        _one_paper(known[0], _seeds(known[0], seeds, quick), asked, out, shown.is_json)


def _seeds(paper: papers.Paper, seeds: int | None, quick: bool) -> int:
    return seeds or (min(QUICK_SEEDS, paper.seeds) if quick else paper.seeds)


def _one_paper(
    paper: papers.Paper, seeds: int, asked: dict[str, Any], out: Path | None, json: bool
) -> None:
    """Reproduce a paper, write its files and show its tables, also after an interruption."""
    kept: Path | None = asked["keep"]
    if before := 0 if kept is None else num_kept(kept):
        remark([f"resuming from {_finished(before)} in {kept}"])
    interrupted = False
    failed: dict[str, Exception] = {}
    with worker_pipes(), ProgressDisplay() as display:
        try:
            result = paper.reproduce(seeds=seeds, progress=_shown_by(display), **asked)
        except Interrupted as interruption:
            if interruption.reproduction is None:
                _tell_kept(kept)
                raise
            result, interrupted = interruption.reproduction, True
        except Exception as error:
            if getattr(error, "reproduction", None) is None:
                raise
            result, failed = error.reproduction, error.failed  # type: ignore[attr-defined]
    files: Sequence[Path] = ()
    try:
        if out is not None and kept is not None and not interrupted:
            with ProgressDisplay() as display:
                display.stage("writing figures")
                files = result.write(out)
            if not failed:
                forget(kept)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if json:
            show_json(result.to_dict())
        else:
            show_lines([paper.title], style="bold")
            show_lines([paper.source], style="dim")
            for table in result.tables():
                show_table(table, wrap=True)
    if interrupted:
        remark(["interrupted: only finished seeds are shown; no files"], style="yellow")
        _tell_kept(kept)
        raise typer.Exit(INTERRUPTED)
    remark(f"wrote {path}" for path in files)
    if failed:
        raise typer.Exit(report_failures(failed))


def _finished(runs: int) -> str:
    return f"{runs:,} finished run" + "s" * (runs != 1)


def _tell_kept(kept: Path | None) -> None:
    if kept is None:
        remark(["nothing is saved; with --out FOLDER, the same command would resume"])
    else:
        told = f"saved {_finished(num_kept(kept))} in {kept}"
        remark([f"{told}; repeat the command to resume"])


def _list(json: bool) -> None:
    known = papers.known_papers().values()
    if json:
        fields = ("name", "title", "source", "summary", "reproduces", "seeds", "options")
        plain = [{key: getattr(paper, key) for key in fields} for paper in known]
        show_json({"papers": plain})
        return
    for paper in known:
        show_lines([paper.name], style="bold")
        show_lines([paper.title, paper.summary])
        show_lines([paper.source], style="dim")


def _every_paper(seeds: int | None, asked: dict[str, Any], out: Path | None, json: bool) -> None:
    """Reproduce all papers and show, or write, the page; exit with 1 if one is left out."""
    with worker_pipes(), ProgressDisplay() as display:
        parts = reproduce_all(seeds=seeds, progress=_shown_by(display), **asked)
    left_out = any(part.left_out for part in parts)
    try:
        if out is not None:
            told = command(papers.ALL, seeds, asked["quick"], asked["exact"])
            write_text(out / _PAGE, page(parts, told))
            if not left_out:
                forget_all(out / _KEPT)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if json:
            show_json(plain(parts=parts))
        else:
            for table in tables(parts):
                show_table(table, wrap=True)
    if out is not None:
        remark([f"wrote {out / _PAGE}"])
    if left_out:
        raise typer.Exit(_LEFT_OUT)


def _shown_by(display: ProgressDisplay) -> papers.OnProgress:
    """Return a callback that shows each stage on its own line once it has begun."""
    stages: list[str] = []

    def progress(update: gs.Progress) -> None:
        if update.part not in stages:
            stages.append(update.part)
            display.runs([update.part])
        display.update(update)

    return progress


def _show_stages(known: Sequence[papers.Paper], stages: dict[str, dict[str, int]]) -> None:
    """Print the stages of papers."""
    for paper in known:
        show_lines([paper.title], style="bold")
        show_lines([f"reproduces {', '.join(paper.reproduces)}"])
        rows = [(stage, f"{parts:,}") for stage, parts in stages[paper.name].items()]
        show_table(table("", ("stage", "parts"), rows))
