"""Where the real data of the studies are, and what is said when they are not there."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from gpusched.papers.common.text_table import Table


def data_folder() -> Path:
    """Where real traces are: ``$GPUSCHED_DATA``, or ``../shared/data``."""
    return Path(os.environ.get("GPUSCHED_DATA", "../shared/data"))


def need_file(paper: str, name: str, contents: str) -> Path:
    """Return a file below the data folder, ``folder/name``.

    Raises
    ------
    ValueError
        If it is not there; the message names the variable, and says what its folder holds.
    """
    path = data_folder() / name
    if not path.is_file():
        raise ValueError(
            f"{paper}: no {path}: set GPUSCHED_DATA to the folder of the real traces, whose "
            f"{name.partition('/')[0]}/ holds {contents}"
        )
    return path


def with_left_out(tables: Sequence[Table], files: Iterable[str]) -> list[Table]:
    """Return the tables; a note below the first one names the files that were not found."""
    names = ", ".join(files)
    if not names:
        return list(tables)
    note = f"Left out: {names} (not in $GPUSCHED_DATA or ../shared/data)."
    first = dataclasses.replace(tables[0], notes=(*tables[0].notes, note))
    return [first, *tables[1:]]
