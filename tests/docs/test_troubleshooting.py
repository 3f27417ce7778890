"""The messages that the page on troubleshooting quotes are those that the sources raise."""

from __future__ import annotations

import re
from functools import cache

from tests.docs.blocks import ROOT
from tests.each import each

PAGE = "docs/howto/troubleshooting.md"
LEAST_LETTERS = 5
"""What is shorter would occur somewhere anyway."""


def messages() -> list[str]:
    """Return what stands in the first column of the page's tables."""
    rows = re.findall(r"^\| `(.*?)` \|", (ROOT / PAGE).read_text(encoding="utf-8"), re.MULTILINE)
    return list(rows)


@cache
def sources() -> str:
    """Return all sources as one text in which a message stands on one line, without quotes."""
    files = [*ROOT.glob("python/gpusched/**/*.py"), *ROOT.glob("cpp/**/*.[ch]pp")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(files))
    text = re.sub(r"^\s*(//|#).*$", "", text, flags=re.MULTILINE)
    return re.sub(r'"\s*\n?\s*f?"', "", text).replace('\\"', '"')


def missing(message: str) -> list[str]:
    """Return the parts of a message, between ``...``, that no source has."""
    return [part for part in message.split("...") if part.strip() and part not in sources()]


def test_the_page_has_messages_for_every_kind_of_mistake():
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    parts = page.split("\n## ")[1:]
    tables = {part.split("\n")[0] for part in parts if re.search(r"^\| `", part, re.MULTILINE)}
    assert len(tables) >= 7
    assert len(messages()) == len(set(messages())) >= 45


@each("message", messages())
def test_a_message_is_one_of_the_sources(message):
    longest = max(message.split("..."), key=len)
    assert sum(map(str.isalpha, longest)) >= LEAST_LETTERS, "too short to be told from others"
    assert not missing(message)


def test_a_message_that_nobody_raises_is_found():
    assert missing("a GPU is not idle") == ["a GPU is not idle"]
    assert missing("the key of job ... is endless") == [" is endless"]
    assert not missing("a GPU is not free")
