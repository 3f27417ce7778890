"""The files of a reproduction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusched.base.replacing import replacing, write_text
from gpusched_papers.common.drawing import save

if TYPE_CHECKING:
    from gpusched_papers.common.reproduction import Reproduction


def write_files(
    study: Reproduction,
    folder: Path,
    figures: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
) -> list[Path]:
    """Write figures by name, tables.md, runs.csv and results.json; return the files.

    ``rows``: of runs.csv; a column for every key.
    """
    for name, figure in figures.items():
        save(figure, folder / name)
    markdown = "\n".join(table.to_markdown() for table in study.tables())
    write_text(folder / "tables.md", markdown)
    write_rows(rows, folder / "runs.csv")
    text = json.dumps(study.to_dict(), indent=1, allow_nan=False)
    write_text(folder / "results.json", text + "\n")
    return [folder / name for name in (*figures, "tables.md", "runs.csv", "results.json")]


def write_rows(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows as CSV, a column for every key."""
    import polars as pl

    frame = pl.from_dicts(list(rows), infer_schema_length=None)
    with replacing(path) as partial:
        frame.write_csv(partial)
