"""What the papers take from inside the package."""

import ast

from tests.architecture.sources import ROOT

PAPERS = ROOT / "papers" / "gpusched_papers"
PUBLIC = {"bounds", "model", "online", "prediction", "studies", "traces", "traces.generating"}
"""Packages that users are told of."""
# Of the package, beside these: this list only becomes shorter.
PRIVATE = """
    base.failures base.real_data base.registry base.replacing base.supervision
    cli cli.console cli.errors cli.progress
    studies.calls studies.executors studies.driver studies.kept_runs
    plugins.schedulers.type_parts base.tables
"""


def test_the_papers_take_no_more_from_inside_the_package() -> None:
    trees = [ast.parse(path.read_text()) for path in PAPERS.rglob("*.py")]
    names = {
        str(node.module).removeprefix("gpusched.")
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gpusched.")
    }
    assert names - PUBLIC - set(PRIVATE.split()) == set()
