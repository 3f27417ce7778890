"""``gpusched reproduce all``: every paper, and one page of what is published and what ours is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import typer

from gpusched.base.replacing import check_folder, write_text
from gpusched.cli.console import remark, show_json, show_text_table
from gpusched.cli.places import worker_pipes
from gpusched.cli.progress import ProgressDisplay
from gpusched_papers import registry as papers
from gpusched_papers.all_papers import forget_all, reproduce_all
from gpusched_papers.cli.paper_tables import QUICK_SEEDS, show_stages, shown_by
from gpusched_papers.common.page import by_stage, by_system, overview, page
from gpusched_papers.common.plain_values import plain

_PAGE: Final = "reproductions.md"
_KEPT: Final = "unfinished"  # in the folder of the page
_LEFT_OUT: Final = 1


def every_paper(
    seeds: int | None,
    quick: bool,
    exact: bool,
    data: Path | None,
    dry_run: bool,
    out: Path | None,
    executor: Any,
    json: bool,
) -> None:
    """Reproduce all papers and show, or write, the page; the exit code tells if one is left out."""
    if quick and seeds is None:
        seeds = QUICK_SEEDS
    if dry_run:
        _show_all_stages(seeds, quick, exact, data, json)
        return
    if out is not None:
        check_folder(out, [_PAGE])
    kept = None if out is None else out / _KEPT
    with worker_pipes(), ProgressDisplay() as display:
        parts = reproduce_all(
            seeds=seeds, quick=quick, exact=exact, data=data,
            keep=kept, executor=executor, progress=shown_by(display),
        )  # fmt: skip
    try:
        if out is not None and kept is not None:
            write_text(out / _PAGE, page(parts, _command(seeds, quick, exact)))
            if not any(part.left_out for part in parts):
                forget_all(kept)
    finally:  # shown last, as a reader may have seen enough; and though the disk is full
        if json:
            show_json(plain(parts=parts))
        else:
            for table in (overview(parts), by_stage(parts), *by_system(parts)):
                show_text_table(table)
    if out is not None:
        remark([f"wrote {out / _PAGE}"])
    if any(part.left_out for part in parts):
        raise typer.Exit(_LEFT_OUT)


def _command(seeds: int | None, quick: bool, exact: bool) -> str:
    words = ["gpusched reproduce all", *["--quick"] * quick, *["--exact"] * exact]
    return " ".join(words + ([] if seeds is None else [f"--seeds {seeds}"]))


def _cut_off(kept: Path | None) -> str:
    if kept is None:
        return "nothing is kept; with --out FOLDER the same command would go on from here"
    return f"kept what was finished in {kept}: the same command goes on from there"


def _show_all_stages(
    seeds: int | None, quick: bool, exact: bool, data: Path | None, json: bool
) -> None:
    of = {
        paper: paper.stages(seeds=seeds, quick=quick, exact=exact and paper.has_exact, data=data)
        for paper in papers.known_papers().values()
    }
    if json:
        show_json({"papers": {paper.name: stages for paper, stages in of.items()}})
        return
    for paper, stages in of.items():
        show_stages(paper, stages)
