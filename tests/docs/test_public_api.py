"""What is public is documented, and the other way round."""

from __future__ import annotations

import re

import pytest

import gpusched as gs
from gpusched import _core
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


SHOWN = {
    "State": ("order", "scheduler"),
    "Actions": ("scheduler",),
    "Allocation": ("scheduler",),
    "FreeGpus": ("placement",),
    "Request": ("placement",),
    "Placement": ("placement",),
}
"""What a call shows to a plug-in, and the pages that describe it."""


@pytest.mark.parametrize("name", SHOWN)
def test_the_pages_of_the_seams_have_every_member_of_what_a_call_shows(name: str) -> None:
    texts = [(ROOT / "docs/reference" / f"{page}.md").read_text("utf-8") for page in SHOWN[name]]
    members = {member for member in dir(getattr(_core, name)) if not member.startswith("_")}
    assert members
    assert not {member for member in members if not re.search(rf"`{member}\b", "".join(texts))}
