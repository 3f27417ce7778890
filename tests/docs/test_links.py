"""What links and comments name is there. (Sphinx follows the links from page to page.)"""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.blocks import ROOT, outside_of_fences, pages

SOURCES = ("python", "cpp", "tests", "bench", "examples", "docs", "contributing")
KINDS = {".py", ".cpp", ".hpp", ".md", ".toml", ".cff"}

_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")
_PAGE = re.compile(r"(?<![\w/.])docs/[\w/-]+\.(?:md|py)\b")


def shown() -> list[str]:
    """Return the pages and the other Markdown files."""
    others = [*ROOT.glob("*.md"), *ROOT.glob("contributing/*.md"), ROOT / "bench/README.md"]
    return sorted({*pages(), *(path.relative_to(ROOT).as_posix() for path in others)})


def test_relative_links_lead_somewhere():
    broken = [
        f"{page}:{number}: there is no {target}"
        for page in shown()
        for number, line in outside_of_fences(page)
        for target in _LINK.findall(line)
        if not (ROOT / page).parent.joinpath(target).exists()
    ]
    assert not broken


def files() -> Iterator[Path]:
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in KINDS and path.is_file() and "_build" not in path.parts:
                yield path
    yield from (path for path in sorted(ROOT.glob("*")) if path.suffix in KINDS)


def test_pages_that_sources_name_exist():
    named = {
        (path.relative_to(ROOT).as_posix(), page)
        for path in files()
        for page in _PAGE.findall(path.read_text(encoding="utf-8"))
    }
    assert len(named) >= 5
    here = Path(__file__).relative_to(ROOT).as_posix()
    assert not {(of, page) for of, page in named if of != here and not (ROOT / page).exists()}


def test_a_page_that_is_not_there_is_found():
    assert _PAGE.findall("see docs/gone.md, and ../docs/semantics.md") == ["docs/gone.md"]
    assert _LINK.findall("[a](b/c.md#d) [e](#f) [g](https://h/i.md)") == ["b/c.md"]
