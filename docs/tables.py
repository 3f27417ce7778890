"""Writes what the docs say of registered names, or with ``--check`` compares it with that.

``columns.md`` is written in whole, marked tables of other pages in part. ``marked_tables.py`` has
those of metrics, bounds, traces and papers, ``plugin_tables.py`` those of plug-ins.

python docs/tables.py            # needs gpusched installed
python docs/tables.py --check
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

import marked_tables
import plugin_tables

import gpusched as gs
from gpusched import _core

COLUMNS_PAGE = Path(__file__).resolve().parent / "reference" / "columns.md"

COLUMNS_HEAD = """\
<!-- Written by `python docs/tables.py` from the core's table of columns: do not edit. -->

# The columns of jobs

What the native core is given of jobs: arrays of exactly these types. A column has one value for
each of what *one for each* names, where there are several the last runs fastest. The same table,
`gpusched._core.JOB_COLUMNS`, gives the arguments of the core's job table, its checks, and what a
saved case holds. *Speeds* are those that read a column: **bold** ones refuse jobs without it.
"""


def columns_page() -> str:
    return (
        COLUMNS_HEAD
        + "\n"
        + marked_tables.table(
            ("column", "type", "unit", "one for each", "values", "what it is for", "speeds"),
            (
                (
                    f"`{column.name}`" + (", required" if column.is_required else ""),
                    column.dtype,
                    column.unit,
                    column.per,
                    column.rule,
                    column.text,
                    ", ".join(_readers(column.name)),
                )
                for column in _core.JOB_COLUMNS
            ),
        )
    )


def _readers(column: str) -> Iterator[str]:
    for speed in gs.speeds().values():
        if column in speed.columns:
            yield f"**{speed.name}**"
        elif column in speed.optional_columns:
            yield speed.name


def pages() -> dict[Path, str]:
    """Return every page that is written here, in whole or in part, as it should be."""
    texts = {COLUMNS_PAGE: columns_page(), **marked_tables.pages()}
    for path in plugin_tables.pages():
        text = texts.get(path) or path.read_text(encoding="utf-8")
        texts[path] = plugin_tables.marked(text)
    return texts


def main() -> None:
    for path, text in pages().items():
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
            continue
        committed = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != committed:
            lines = (committed.splitlines(keepends=True), text.splitlines(keepends=True))
            sys.stderr.writelines(difflib.unified_diff(*lines, "committed", "generated"))
            sys.exit(f"{path.name} is out of date: run `python docs/tables.py`")


if __name__ == "__main__":
    main()
