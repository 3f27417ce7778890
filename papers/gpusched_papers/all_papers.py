"""All papers one after the other, for one page; what is done is kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from gpusched.base.failures import Failures
from gpusched.base.real_data import data_at
from gpusched.base.tables import Table, table
from gpusched.studies.calls import Outcome
from gpusched.studies.kept_runs import KeptRuns, forget
from gpusched_papers.claims import MEANINGS, RULE, Row, Verdict, row_of, table_of
from gpusched_papers.registry import ALL, OnProgress, known_papers
from gpusched_papers.study import StageTime, measured

_DONE: Final = "done"  # in the folder of what is kept; the runs of a paper are in one of its name
_HEAD: Final = """\
<!-- Written by `gpusched reproduce all`: do not edit. -->

# Reproductions: all published figures

What papers publish, next to what our runs of their experiments give. One command wrote this file:
`{command}`. The studies in the documentation describe what was run.

*Known* says how we know a published figure:

{meanings}

*Verdict*: {rule}

*Seconds*: processor time of all parts, including those that an earlier call ran and kept.
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


def tables(parts: Sequence[Part]) -> list[Table]:
    """Return how many of each verdict a system has, the time of each stage, and the comparisons."""
    words = get_args(Verdict)
    counted, timed = [], []
    for part in parts:
        given = [row.verdict for row in part.rows]
        counts = ["" if part.left_out else str(given.count(word)) for word in words]
        counted.append((part.name, *counts, f"`{part.command}`", f"{part.processor_s:.0f}"))
        for stage, time in part.stages.items():
            timed.append((part.name, stage, str(time.parts), f"{time.processor_s:.0f}"))
    timed.append((ALL, "", "", f"{sum(part.processor_s for part in parts):.0f}"))
    left = [f"{part.name} is left out: {part.left_out}" for part in parts if part.left_out]
    return [
        table("Verdicts", ("system", *words, "command", "seconds"), counted, left),
        table("Seconds", ("system", "stage", "parts", "seconds"), timed),
        *(table_of(part.rows, f"{part.name}: {part.source}") for part in parts if part.rows),
    ]


def page(parts: Sequence[Part], command: str) -> str:
    """Return the page in Markdown; ``command``: what wrote it."""
    meanings = "\n".join(f"- *{word}*: {meaning};" for word, meaning in MEANINGS.items())
    head = _HEAD.format(command=command, meanings=meanings.removesuffix(";") + ".", rule=RULE)
    return "\n".join((head, *(one.to_markdown() for one in tables(parts))))


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

    A part of the page for each paper; one that cannot be run says why.

    ``seeds``, ``quick``, ``data``, ``executor``, ``progress``: as for
        :meth:`~gpusched_papers.registry.Paper.reproduce`.
    ``exact``: for those papers that know it.
    ``keep``: a folder in which every finished run is kept, and every finished paper: a second call
        takes what is there. None: nothing is kept.
    """
    folder = None if keep is None else Path(keep)
    kept = None if folder is None else KeptRuns(folder / _DONE)
    made = []
    for paper in known_papers().values():
        task = (paper.name, seeds, quick, exact and paper.has_exact)
        with data_at(data):
            found = kept.find(run, task) if kept else None
        if found is not None:
            made.append(found.made)
            continue
        place = None if folder is None else folder / paper.name
        part = run(*task, data=data, keep=place, executor=executor, progress=progress)
        made.append(part)
        if kept and place and not part.left_out:
            with data_at(data):
                kept.keep(run, task, Outcome(part, processor_s=part.processor_s))
            forget(place)
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
    **more: Any,
) -> Part:
    """Reproduce one paper for the page; an error is told in its part, and stops no other.

    ``more``: as for :meth:`~gpusched_papers.registry.Paper.reproduce`.
    """
    paper = known_papers()[name]
    failures = Failures()
    rows = []
    with measured() as spent, failures.part(name):
        found = paper.reproduce(seeds=seeds, quick=quick, exact=exact, **more)
        judged = getattr(found, "comparisons", list)
        rows = [row_of(one) for one in judged()]
    return Part(
        name=name,
        title=paper.title,
        source=paper.source,
        command=command(name, seeds, quick, exact),
        stages=spent,
        rows=rows,
        left_out=" ".join(str(failures.errors.get(name, "")).split()),
    )


def command(name: str, seeds: int | None, quick: bool, exact: bool) -> str:
    """Return what runs a paper, or all."""
    words = [f"gpusched reproduce {name}", *["--quick"] * quick, *["--exact"] * exact]
    return " ".join(words + ([] if seeds is None else [f"--seeds {seeds}"]))
