"""What a study says of the real data that it did without."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from gpusched.base.real_data import VARIABLE
from gpusched.reporting.text_table import Table


def with_left_out(tables: Sequence[Table], files: Iterable[str]) -> list[Table]:
    """Return the tables; a note below the first one names the files that were not found."""
    names = ", ".join(files)
    if not names:
        return list(tables)
    note = f"Left out: {names} (not in the folder that --data or {VARIABLE} names)."
    first = dataclasses.replace(tables[0], notes=(*tables[0].notes, note))
    return [first, *tables[1:]]
