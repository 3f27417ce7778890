"""Budgets of the whole project: they only fall, unless a feature needs more and its commit says so.

A file may be as long as one idea needs. Run this file with ``-s`` to see how much is used.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gpusched as gs
from tests.architecture.sources import CPP_FILES, PYTHON_FILES, ROOT, parsed

PAPERS = ROOT / "papers"
IMPORTED_BY_RUN = """
import sys
from gpusched.__main__ import main

sys.argv = ["gpusched", "run", "jobs.csv", "-p", "fifo"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(sum(name.partition(".")[0] == "gpusched" for name in sys.modules), file=sys.stderr)
"""


def num_lines(paths: list[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def num_statements(_: Path) -> int:
    """Statements of the package; docstrings are none."""

    def is_docstring(node: ast.AST) -> bool:
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)

    trees = map(parsed, PYTHON_FILES)
    nodes = (node for tree in trees for node in ast.walk(tree))
    return sum(isinstance(node, ast.stmt) and not is_docstring(node) for node in nodes)


def num_imported_by_run(folder: Path) -> int:
    """Modules of the package that `gpusched run` of a CSV file imports."""
    (folder / "jobs.csv").write_text("submit_s,service_s,gpus\n0,60,1\n")
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED_BY_RUN],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return int(done.stderr.split()[-1])


def num_words_of_pages(_: Path) -> int:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return sum(len(page.read_text().split()) for page in pages)


BUDGETS: dict[str, tuple[int, Callable[[Path], int]]] = {
    "lines of C++": (52_378, lambda _: num_lines(CPP_FILES)),
    "lines of the package": (75_756, lambda _: num_lines(PYTHON_FILES)),
    "lines of the papers": (6_885, lambda _: num_lines(sorted(PAPERS.rglob("*.py")))),
    "statements of the package": (36_584, num_statements),
    "modules of the package": (284, lambda _: len(PYTHON_FILES)),
    "modules that `gpusched run` imports": (115, num_imported_by_run),
    "public names": (52, lambda _: len(gs.__all__)),
    "words of README and docs": (153_009, num_words_of_pages),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_the_whole_keeps_to_its_budget(name: str, tmp_path: Path) -> None:
    budget, measure = BUDGETS[name]
    used = measure(tmp_path)
    print(f"{name}: {used:,} of {budget:,}")
    assert used <= budget, f"{name}: {used:,}, and the budget is {budget:,}"
