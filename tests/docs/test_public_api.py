"""What is public is documented, and the other way round."""

import importlib
import re

import gpusched as gs
from gpusched import _core
from tests.docs.blocks import ROOT
from tests.each import each


def documented() -> set[str]:
    """Dotted names of all that the Python reference describes."""
    text = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    module, names = "gpusched", set()
    for heading, name in re.findall(r"^## (gpusched[\w.]*)$|^\| `(\w+)` \|", text, re.MULTILINE):
        module = heading or module
        if name:
            names.add(f"{module}.{name}")
    return names


def public() -> set[str]:
    """Dotted names of the package and of its public submodules, each thing once."""
    names = {f"gpusched.{name}" for name in gs.__all__ if not name.startswith("_")}
    for room in (*gs._SUBMODULES, "reporting.plot", "traces.generating"):
        shown = importlib.import_module(f"gpusched.{room}").__all__
        names |= {f"gpusched.{room}.{name}" for name in shown}
    return names


def thing(name: str) -> object:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_every_public_name_is_in_the_python_reference():
    described = {id(thing(name)) for name in documented()}
    assert not {name for name in public() if id(thing(name)) not in described}


def test_what_the_python_reference_names_is_there():
    for name in documented():
        assert (thing(name).__doc__ or "").strip(), name


def test_what_the_python_reference_names_of_the_package_is_public():
    short = {name for name in documented() if name.count(".") == 1}
    assert short
    assert short <= public()


def test_every_page_is_in_a_tree_of_contents():
    listed = set[str]()
    for index in ("docs/index.md", "docs/studies/index.md"):
        text = (ROOT / index).read_text(encoding="utf-8")
        trees = re.findall(r"^```{toctree}\n((?::.*\n)*)\n((?:.+\n)+)```", text, re.MULTILINE)
        folder = index.removesuffix("index.md")
        listed |= {f"{folder}{page}.md" for _, pages in trees for page in pages.split()}
    pages = {page.relative_to(ROOT).as_posix() for page in ROOT.glob("docs/**/*.md")}
    assert listed == {page for page in pages if "/data/" not in page} - {"docs/index.md"}


SHOWN = ("State", "Actions", "Allocation", "FreeGpus", "Request", "Placement")
"""What a call shows to a plug-in; one page describes all of it."""


@each("name", SHOWN)
def test_the_page_of_the_interfaces_has_every_member_of_what_a_call_shows(name):
    text = (ROOT / "docs/reference/plug-ins.md").read_text("utf-8")
    members = {member for member in dir(getattr(_core, name)) if not member.startswith("_")}
    assert members
    assert not {member for member in members if not re.search(rf"`{member}\b", text)}
