"""A paper is a folder, and in each the same file has the same name; what they take from inside."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, shown

PAPERS = ROOT / "papers" / "gpusched_papers"
FILES = {
    "published", "workload", "settings", "runs", "comparisons", "tables", "figures", "reproduction",
}  # fmt: skip
"""What is told; on which jobs; what is run; the runs; both beside each other; how it is shown."""
FOLDERS = sorted(path for path in PAPERS.iterdir() if (path / "__init__.py").exists())
STUDIES = [path for path in FOLDERS if path.name not in ("cli", "common")]


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


# Of the package, beside the public names: this list only becomes shorter.
PRIVATE = """
    base base.arrays base.failures base.progress base.real_data base.registry base.replacing
    base.supervision base.ticks base.wording bounds.deadline_bounds
    cli cli.console cli.errors cli.places cli.progress clusters.cluster
    deciding deciding.cap_search deciding.filling deciding.market engine.simulation
    execution.calls execution.choosing execution.driver execution.kept_runs
    generator.graph_zoo generator.synthetic_traces
    models.model_zoo models.profiles models.throughput_files models.throughputs
    prediction reporting.text_table results.result statistics.intervals statistics.means
    traces.filling_requests traces.inventories traces.reading traces.workload
"""


def test_the_papers_take_no_more_from_inside_the_package() -> None:
    trees = [ast.parse(path.read_text()) for path in PAPERS.rglob("*.py")]
    names = {
        str(node.module).removeprefix("gpusched.")
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gpusched.")
    }
    assert names == set(PRIVATE.split())
