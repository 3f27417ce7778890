"""What is public is documented, and the other way round."""

from __future__ import annotations

import re

import gpusched as gs
from tests.docs.blocks import ROOT


def documented() -> set[str]:
    text = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\.\. auto\w+:: ([\w.]+)$", text, re.MULTILINE))


def test_every_public_name_is_in_the_python_reference() -> None:
    public = {name for name in gs.__all__ if not name.startswith("_")}
    assert not public - documented()


def test_what_the_python_reference_names_without_a_module_is_public() -> None:
    assert not {name for name in documented() if "." not in name} - set(gs.__all__)


def test_every_page_of_a_group_is_in_its_index() -> None:
    for index in ROOT.glob("docs/*/index.md"):
        text = index.read_text(encoding="utf-8")
        listed = set(re.findall(r"^\| \[[^\]]+\]\(([\w-]+)\.md\) \| .+\? \|$", text, re.MULTILINE))
        in_tree = set(text.partition("```{toctree}\n:hidden:\n")[2].split()) - {"```"}
        pages = {page.stem for page in index.parent.glob("*.md")} - {"index"}
        assert listed == in_tree == pages, index
