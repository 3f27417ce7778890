"""Tables of a study as plain text, for ``print`` and for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

WIDTH: Final = 100


def aligned(rows: Sequence[Sequence[str]], *, texts: int = 1) -> list[str]:
    """Return the rows as lines with columns under each other.

    Parameters
    ----------
    rows
        Equally many cells each, the headings first.
    texts
        How many columns, from the first on, are texts; the others are figures, set to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def wrapped(text: str) -> list[str]:
    """Return a sentence as lines that a terminal has room for, all but the first indented."""
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ")
