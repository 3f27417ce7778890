"""How the commands of papers show stages and progress."""

from __future__ import annotations

from typing import Final

from gpusched.base.progress import OnProgress, Progress
from gpusched.cli.console import new_table, show_lines, show_table
from gpusched.cli.progress import ProgressDisplay
from gpusched_papers import registry as papers

QUICK_SEEDS: Final = 4
"""With --quick, at most."""


def shown_by(display: ProgressDisplay) -> OnProgress:
    """Return what shows each stage on a line of its own once it has begun."""
    stages: list[str] = []

    def progress(update: Progress) -> None:
        if update.part not in stages:
            stages.append(update.part)
            display.runs([update.part])
        display.update(update)

    return progress


def show_stages(paper: papers.Paper, stages: dict[str, int]) -> None:
    """Print what a paper would run."""
    show_lines([paper.title], style="bold")
    show_lines([f"reproduces {', '.join(paper.reproduces)}"])
    table = new_table()
    table.add_column("stage")
    table.add_column("parts", justify="right")
    for stage, parts in stages.items():
        table.add_row(stage, f"{parts:,}")
    show_table(table)
