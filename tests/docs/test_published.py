"""What is published stands in the papers' files: pages, data and plug-ins take it from there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpusched as gs
from gpusched_papers.claims import MEANINGS, RULE, Claim
from gpusched_papers.registry import known_papers

STUDIES = Path(__file__).resolve().parents[2] / "docs" / "studies"
DATA = STUDIES / "data"
ALL_PAPERS = DATA / "reproductions.md"
PAPERS = {name: paper.known() for name, paper in known_papers().items() if paper.published}
every_paper = pytest.mark.parametrize("name", sorted(PAPERS))

MARK = re.compile(r"\[([a-z-]+)\](?!\()")
# What says that something is a paper's.
CREDITING = re.compile(
    r"\b[Pp]ublished\b(?! (?:servers|traces))|\babstract\b|\bauthors'|\bthe paper's? (?!abstract)"
)
# Figures that follow such words.
CREDITED = re.compile(
    r"\b(?:[Pp]ublished|abstract claims)[:\w\s]*? (\d+(?:\.\d+)?)(?: to (\d+(?:\.\d+)?))?"
)
# Of a page that says once how all is known that it credits to the paper without a word.
DEFAULT = re.compile(
    r"[Ww]hat this page (?:calls published|credits to the paper) is from [^\[\].]*\[([a-z-]+)\]"
)
ABOUT = re.compile(r"\bnot published\b|\bunpublished\b")  # what is not published


def text_of(name: str) -> str:
    """The page of a paper's study."""
    return (STUDIES / f"{name}.md").read_text("utf-8")


def data_of(name: str) -> str:
    """The full tables of a paper's study."""
    return (DATA / f"{name}.md").read_text("utf-8")


def default_of(name: str) -> str | None:
    """How what is credited to the paper is known unless a word says otherwise."""
    found = DEFAULT.search(" ".join(text_of(name).split()))
    return found[1] if found else None


def tables(text: str) -> Iterator[list[list[str]]]:
    """Every table of a page, its headings first."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        yield [
            [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            for line in block.splitlines()
            if not re.match(r"\|(?: ?-| ?:?-)", line)
        ]


def figures_of(claim: Claim) -> set[str]:
    """A claim's value in the forms in which a table may show it."""
    found = set()
    for value in (claim.value, claim.up_to):
        if value is not None:
            found |= {f"{value:g}", f"{value:.0f}", f"{100 * value:.1f}", f"{100 * value:.0f}"}
    return found


PAIR = re.compile(r"(-?\d+(?:\.\d+)?) ± (\d+(?:\.\d+)?)")


def prose_and_tables(name: str) -> str:
    return " ".join(text_of(name).replace(",", "").split())


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


@every_paper
def test_every_paper_has_its_page_and_its_data(name):
    assert "](data/" + name + ".md)" in text_of(name)
    assert f"](../{name}.md)" in data_of(name)
    assert f"({name}.md)" in (DATA / "README.md").read_text("utf-8")


@every_paper
def test_a_page_says_how_its_paper_is_known(name):
    assert default_of(name) in {claim.known for claim in PAPERS[name].claims}


@every_paper
def test_words_in_brackets_are_known_words(name):
    assert set(MARK.findall(text_of(name) + data_of(name))) <= set(MEANINGS)


@every_paper
def test_a_sentence_that_credits_the_paper_says_how_it_is_known(name):
    bare = [
        sentence
        for sentence in sentences(text_of(name))
        if CREDITING.search(sentence) and not MARK.search(sentence) and not ABOUT.search(sentence)
    ]
    default = default_of(name)
    assert bare == [] or default
    claims = [claim for claim in PAPERS[name].claims if claim.known == default]
    known = set[str]().union(*map(figures_of, claims))
    for sentence in bare:
        credited = CREDITED.findall(sentence.replace(",", ""))
        assert {figure for pair in credited for figure in pair if figure} <= known, sentence


@every_paper
def test_published_columns_and_rows_stand_in_the_file(name):
    known = {word: set[str]() for word in MEANINGS}
    for claim in PAPERS[name].claims:
        known[claim.known] |= figures_of(claim)
    every = set[str]().union(*known.values())
    for headings, *rows in tables(data_of(name)):
        for column, heading in enumerate(headings):
            if not heading.startswith("published"):
                continue
            for row in rows:
                word = MARK.search(heading)
                of = known[word[1]] if word else known[row[headings.index("known")]]
                assert set(figures(row[column])) <= of, (heading, row)
        for row in rows:
            if row[0].startswith("published"):
                assert {figure for cell in row[1:] for figure in figures(cell)} <= every
    for headings, *rows in tables(text_of(name)):
        for column, heading in enumerate(headings):
            if heading == "Published":
                shown = {figure for row in rows for figure in figures(row[column].replace(",", ""))}
                assert shown, headings
                of = known[default_of(name)] | known["derived"]
                assert shown <= of, shown - of


@every_paper
def test_every_published_figure_is_shown_on_the_page(name):
    shown = set(figures((text_of(name) + data_of(name)).replace(",", "")))
    for claim in PAPERS[name].claims:
        for value in (claim.value, claim.up_to):
            if value is not None:
                forms = {f"{value:g}", f"{value:.0f}", f"{100 * value:.1f}", f"{100 * value:g}"}
                assert forms & shown, claim.key


@every_paper
def test_the_verdicts_of_a_page_follow_from_its_figures(name):
    """Our intervals and published figures give the words beside them."""
    number = r"-?\d+(?:\.\d+)?"
    for headings, *rows in tables(data_of(name)):
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


@every_paper
def test_means_and_intervals_of_a_page_stand_in_its_data(name):
    """A mean and its half width, as they are, in hours for seconds, or in per cent above 1."""
    pairs = {
        (float(mean), float(half)) for mean, half in PAIR.findall(data_of(name).replace(",", ""))
    }
    known = [
        (mean * unit - base, half * unit)
        for mean, half in pairs
        for unit, base in ((1, 0), (1 / 3600, 0), (100, 100))
    ]
    for mean, half in PAIR.findall(prose_and_tables(name)):
        mean_digit, half_digit = (0.501 * 10.0 ** -len(x.partition(".")[2]) for x in (mean, half))
        assert any(
            abs(abs(float(mean)) - abs(one)) <= mean_digit
            and abs(float(half) - other) <= half_digit
            for one, other in known
        ), (mean, half)


@pytest.mark.skipif(not ALL_PAPERS.exists(), reason="the page of all papers is not in docs")
@every_paper
def test_the_page_of_all_papers_says_what_the_study_says(name):
    found = ALL_PAPERS.read_text("utf-8")
    for headings, *rows in tables(data_of(name)):
        if headings[-1] == "verdict":
            for row in rows:
                shown = " | ".join(cell for cell in row[:-1])
                assert shown in found, row


def test_the_page_of_baselines_shows_what_is_in_its_data():
    counted, of_gavel, _ = tables(data_of("baselines"))
    equal = {(row[3], row[4]) for row in counted[1:]}
    jcts = {tuple(row[2:]) for row in of_gavel[1:]}
    shown, jcts_shown = list(tables(text_of("baselines")))[:2]
    counts = [re.findall(r"\d+", row[-1].replace(",", "")) for row in shown[1:]]
    assert {tuple(row) for row in counts} <= equal
    assert {tuple(row[1:]) for row in jcts_shown[1:]} == jcts


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
