"""What is published stands in the papers' files: pages and plug-ins take it from there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpusched as gs
from gpusched_papers.claims import MEANINGS, RULE, Claim
from gpusched_papers.registry import known_papers

STUDIES = Path(__file__).resolve().parents[2] / "docs" / "studies"
ALL_PAPERS = STUDIES / "reproductions.md"
PAGES = {
    "a-srpt": "a-srpt.md", "dancer": "dancer-study.md", "fgd": "filling.md",
    "matching": "matching.md", "sjf-bco": "sjf-bco.md",
}  # fmt: skip
PAPERS = {name: paper.known() for name, paper in known_papers().items() if paper.published}
every_paper = pytest.mark.parametrize("name", sorted(PAPERS))

MARK = re.compile(r"\[([a-z-]+)\](?!\()")
# What says that something is a paper's.
CREDITING = re.compile(
    r"\b[Pp]ublished\b(?! (?:servers|traces))|\babstract\b|\bauthors'|\bthe paper's? (?!abstract)"
)
# Of sentences about what is not published, or not known, or where it is told.
ABOUT = re.compile(
    r"\bnot published\b|\bunpublished\b|\bnot known\b|\bWhat is published\b|\bnot the paper's\b"
    r"|published figures come|was not read|compared with|what is published|\bcalled ours\b"
)


def text_of(name: str) -> str:
    return (STUDIES / PAGES[name]).read_text("utf-8")


def tables(text: str) -> Iterator[list[list[str]]]:
    """Every table of a page, its headings first."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        yield [
            [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            for line in block.splitlines()
            if not line.startswith("| ---")
        ]


def figures_of(claim: Claim) -> set[str]:
    """A claim's value in the forms in which a table may show it."""
    found = set()
    for value in (claim.value, claim.up_to):
        if value is not None:
            found |= {f"{value:g}", f"{value:.0f}", f"{100 * value:.1f}", f"{100 * value:.0f}"}
    return found


def figures(cell: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", cell)


def sentences(text: str) -> Iterator[str]:
    """Sentences of a page, without code, headings and tables."""
    text = re.sub(r"^```.*?^```", "", text.replace(RULE, ""), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\]\([^)]*\)|how something published is known", "]", text)
    # Titles of tables, and their notes on what is lacking, which stand in the papers' files.
    text = re.sub(r"^(\||#|!\[|<!--|\*\*[^*]+\*\*$|\(\d+\) ).*$", "", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n(?=- )", text):
        yield from re.split(r"(?<=[.!?])\s+(?=[A-Z*`\[])", " ".join(block.split()))


def test_every_paper_has_its_page_and_its_file():
    assert set(PAPERS) == set(PAGES)


@every_paper
def test_words_in_brackets_are_known_words(name):
    assert set(MARK.findall(text_of(name))) <= set(MEANINGS)


@every_paper
def test_a_sentence_that_credits_the_paper_says_how_it_is_known(name):
    bare = [
        sentence
        for sentence in sentences(text_of(name))
        if CREDITING.search(sentence) and not MARK.search(sentence) and not ABOUT.search(sentence)
    ]
    assert bare == []


@every_paper
def test_published_columns_and_rows_stand_in_the_file(name):
    known = {word: set[str]() for word in MEANINGS}
    for claim in PAPERS[name].claims:
        known[claim.known] |= figures_of(claim)
    for headings, *rows in tables(text_of(name)):
        for column, heading in enumerate(headings):
            if not heading.startswith("published"):
                continue
            for row in rows:
                word = MARK.search(heading)
                of = known[word[1]] if word else known[row[headings.index("known")]]
                assert set(figures(row[column])) <= of, (heading, row)
        for row in rows:
            if row[0].startswith("published"):
                every = set[str]().union(*known.values())
                assert {figure for cell in row[1:] for figure in figures(cell)} <= every


@every_paper
def test_every_published_figure_is_shown_on_the_page(name):
    shown = set(figures(text_of(name).replace(",", "")))
    for claim in PAPERS[name].claims:
        for value in (claim.value, claim.up_to):
            if value is not None:
                forms = {f"{value:g}", f"{value:.0f}", f"{100 * value:.1f}", f"{100 * value:g}"}
                assert forms & shown, claim.key


@every_paper
def test_the_verdicts_of_a_page_follow_from_its_figures(name):
    """A page's own intervals and published figures give the words beside them."""
    number = r"-?\d+(?:\.\d+)?"
    for headings, *rows in tables(text_of(name)):
        if headings[-1] != "verdict":
            continue
        for row in rows:
            cells = dict(zip(headings, row, strict=True))
            interval = re.fullmatch(rf"({number}) to ({number}) \S+", cells["one like theirs"])
            if interval is None:
                assert cells["verdict"].startswith("not comparable")
                continue
            low, high = map(float, interval.groups())
            published = float(figures(cells["published"])[0])
            on_the_border = min(abs(published - low), abs(published - high)) <= 1
            assert on_the_border or (cells["verdict"] == "reproduced") == (
                low <= published <= high
            ), row


@pytest.mark.skipif(not ALL_PAPERS.exists(), reason="the page of all papers is not in docs")
@every_paper
def test_the_page_of_all_papers_says_what_the_study_says(name):
    found = ALL_PAPERS.read_text("utf-8")
    for headings, *rows in tables(text_of(name)):
        if headings[-1] == "verdict":
            for row in rows:
                shown = " | ".join(cell for cell in row[:-1])
                assert shown in found, row


def test_a_plug_in_that_names_a_paper_says_what_is_the_paper_s():
    registries = (
        gs.policies(), gs.placements(), gs.speeds(), gs.contentions(), gs.predictors()
    )  # fmt: skip
    known = {name: plug_in for registry in registries for name, plug_in in registry.items()}
    for published in PAPERS.values():
        credited = {credit.plug_in: credit for credit in published.credits}
        assert set(credited) <= set(known)
        naming = {
            name
            for name, plug_in in known.items()
            if any(words in plug_in.source for words in published.named)
        }
        assert naming <= set(credited), naming - set(credited)
        for name, credit in credited.items():
            of = {parameter["name"]: parameter for parameter in known[name].parameters}
            for text in credit.parameters:
                parameter, _, value = text.partition("=")
                assert parameter in of, (name, text)
                assert not value or value in of[parameter]["choices"]
