"""A paper is a folder, and in each the same file has the same name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.sources import PYTHON, shown

PAPERS = PYTHON / "papers"
FILES = {
    "published", "workload", "settings", "runs", "comparisons", "tables", "figures", "reproduction",
}  # fmt: skip
"""What is told; on which jobs; what is run; the runs; both beside each other; how it is shown."""
FOLDERS = sorted(path for path in PAPERS.iterdir() if (path / "__init__.py").exists())
STUDIES = [path for path in FOLDERS if path.name != "common"]


def missing(folder: Path) -> set[str]:
    """Files that a study lacks. A part of one has what is published above it."""
    is_part = folder.parent != PAPERS
    return (
        FILES - {path.stem for path in folder.glob("*.py")} - ({"published"} if is_part else set())
    )


@pytest.mark.parametrize("folder", STUDIES, ids=shown)
def test_a_paper_has_the_files_of_every_paper(folder: Path) -> None:
    parts = [path for path in folder.iterdir() if (path / "__init__.py").exists()]
    assert {part.name: missing(part) for part in [folder, *parts] if missing(part)} == {}


def test_there_are_papers() -> None:
    assert {"a_srpt", "dancer", "fgd", "matching", "sjf_bco"} <= {path.name for path in STUDIES}
