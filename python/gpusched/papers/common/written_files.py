"""The files of a reproduction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusched.papers.common.drawing import save

if TYPE_CHECKING:
    from gpusched.papers.common.reproduction import Reproduction


def write_files(
    study: Reproduction,
    folder: Path,
    figures: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
) -> list[Path]:
    """Write figures by name, tables.md, runs.csv and results.json; return the files.

    ``rows``: of runs.csv; a column for every key.
    """
    import polars as pl

    for name, figure in figures.items():
        save(figure, folder / name)
    markdown = "\n".join(table.to_markdown() for table in study.tables())
    (folder / "tables.md").write_text(markdown, encoding="utf-8")
    pl.from_dicts(list(rows), infer_schema_length=None).write_csv(folder / "runs.csv")
    text = json.dumps(study.to_dict(), indent=1, allow_nan=False)
    (folder / "results.json").write_text(text + "\n", encoding="utf-8")
    return [folder / name for name in (*figures, "tables.md", "runs.csv", "results.json")]
