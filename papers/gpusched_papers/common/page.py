"""One page of what papers publish beside what our runs of them give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from gpusched.reporting.text_table import Table, table
from gpusched_papers.common.published import MEANINGS
from gpusched_papers.common.spent import StageTime
from gpusched_papers.common.verdicts import RULE, Row, Verdict, table_of

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
