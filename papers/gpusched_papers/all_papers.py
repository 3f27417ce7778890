"""All papers one after the other, for one page; what is done is kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from gpusched.base.failures import Failures
from gpusched.base.real_data import data_at
from gpusched.execution.calls import Outcome
from gpusched.execution.kept_runs import KeptRuns, forget
from gpusched.reporting.text_table import Table, table
from gpusched_papers.claims import MEANINGS, RULE, Row, Verdict, row_of, table_of
from gpusched_papers.registry import OnProgress, Paper, known_papers
from gpusched_papers.study import StageTime, measured

_DONE: Final = "done"  # in the folder of what is kept; the runs of a paper are in one of its name
_HEAD: Final = """\
<!-- Written by `gpusched reproduce all`: do not edit. -->

# Reproductions

What papers publish beside what our runs of their experiments give, written by one command:
`{command}`. The studies of [this part](index.md) say what was run.

*Known* says how a published figure is known:

{meanings}

*Verdict*: {rule}

*Seconds*: processor time of all parts, whichever call ran them and kept them.
"""


@dataclass(frozen=True)
class Part:
    """One paper on the page.

    Attributes
    ----------
    name, title, source
        Of the paper.
    command
        What runs it alone.
    stages
        Parts and processor time of each stage, also of what an earlier call had run and kept; it
        depends on the machine.
    rows
        Its comparisons.
    left_out
        Why there are none; empty where there are.
    """

    name: str
    title: str
    source: str
    command: str
    stages: dict[str, StageTime]
    rows: list[Row]
    left_out: str = ""

    @property
    def processor_s(self) -> float:
        """Processor time of all stages, in seconds."""
        return sum(stage.processor_s for stage in self.stages.values())


def overview(parts: Sequence[Part]) -> Table:
    """Return how many of each verdict a system has, its command, and its seconds."""
    words = get_args(Verdict)
    rows = []
    for part in parts:
        given = [row.verdict for row in part.rows]
        counts = ["" if part.left_out else str(given.count(word)) for word in words]
        rows.append((part.name, *counts, f"`{part.command}`", f"{part.processor_s:.0f}"))
    left = [f"{part.name} is left out: {part.left_out}" for part in parts if part.left_out]
    return table("Verdicts", ("system", *words, "command", "seconds"), rows, left)


def by_stage(parts: Sequence[Part]) -> Table:
    """Return the processor time of each stage of each paper, and of all."""
    rows = [
        (part.name, stage, str(time.parts), f"{time.processor_s:.0f}")
        for part in parts
        for stage, time in part.stages.items()
    ]
    everything = sum(part.processor_s for part in parts)
    rows.append(("all", "", "", f"{everything:.0f}"))
    return table("Seconds", ("system", "stage", "parts", "seconds"), rows)


def by_system(parts: Sequence[Part]) -> list[Table]:
    """Return a table of the comparisons of each paper that has some."""
    return [table_of(part.rows, f"{part.name}: {part.source}") for part in parts if part.rows]


def page(parts: Sequence[Part], command: str) -> str:
    """Return the page in Markdown.

    Parameters
    ----------
    parts
        The papers.
    command
        What wrote it.
    """
    meanings = "\n".join(f"- *{word}*: {meaning};" for word, meaning in MEANINGS.items())
    head = _HEAD.format(command=command, meanings=meanings.removesuffix(";") + ".", rule=RULE)
    body = (overview(parts), by_stage(parts), *by_system(parts))
    return "\n".join((head, *(one.to_markdown() for one in body)))


def reproduce_all(
    *,
    seeds: int | None = None,
    quick: bool = False,
    exact: bool = False,
    data: str | os.PathLike[str] | None = None,
    keep: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: OnProgress | None = None,
) -> list[Part]:
    """Reproduce every registered paper, in the order of the names.

    Parameters
    ----------
    seeds, quick, data, executor, progress
        As for :meth:`~gpusched_papers.registry.Paper.reproduce`.
    exact
        For those papers that know it.
    keep
        A folder in which every finished run is kept, and every finished paper: a second call takes
        what is there. None: nothing is kept.

    Returns
    -------
    list
        A part of the page for each paper; one that cannot be run says why.

    Raises
    ------
    Interrupted
        On Ctrl-C.
    """
    folder = None if keep is None else Path(keep)
    kept = None if folder is None else KeptRuns(folder / _DONE)
    made = []
    for paper in known_papers().values():
        task = (paper.name, seeds, quick, exact and paper.has_exact)
        with data_at(data):
            found = kept.find(run, task) if kept else None
        if found is not None:
            part = found.made
        else:
            place = None if folder is None else folder / paper.name
            part = run(*task, data=data, keep=place, executor=executor, progress=progress)
            if kept and not part.left_out:
                with data_at(data):
                    kept.keep(run, task, Outcome(part, processor_s=part.processor_s))
                forget(folder / paper.name)  # type: ignore[operator]
        made.append(part)
    return made


def forget_all(keep: str | os.PathLike[str]) -> None:
    """Remove what :func:`reproduce_all` kept, and the folder if nothing else is there."""
    folder = Path(keep)
    for name in (*known_papers(), _DONE):
        forget(folder / name)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def run(
    name: str,
    seeds: int | None,
    quick: bool,
    exact: bool,
    *,
    data: str | os.PathLike[str] | None = None,
    keep: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: OnProgress | None = None,
) -> Part:
    """Reproduce one paper for the page; an error is told in its part, and stops no other."""
    paper = known_papers()[name]
    failures = Failures()
    rows = []
    with measured() as spent, failures.part(name):
        found = paper.reproduce(
            seeds=seeds, quick=quick, exact=exact, data=data,
            keep=keep, executor=executor, progress=progress,
        )  # fmt: skip
        judged = getattr(found, "comparisons", list)
        rows = [row_of(one) for one in judged()]
    return Part(
        name=name,
        title=paper.title,
        source=paper.source,
        command=_command(paper, seeds, quick, exact),
        stages=spent,
        rows=rows,
        left_out=" ".join(str(failures.errors.get(name, "")).split()),
    )


def _command(paper: Paper, seeds: int | None, quick: bool, exact: bool) -> str:
    wanted = [f"gpusched reproduce {paper.name}"]
    wanted += ["--quick"] * quick + ["--exact"] * exact
    return " ".join(wanted + ([] if seeds is None else [f"--seeds {seeds}"]))
