"""The page of messages has those that the sources raise, and an answer to each common mistake."""

import re
import runpy
from functools import cache

import pytest

from tests import mistakes
from tests.docs.blocks import ROOT
from tests.each import each

PAGE = runpy.run_path(str(ROOT / "docs" / "messages.py"))
MESSAGES, ELSEWHERE = PAGE["MESSAGES"], PAGE["ELSEWHERE"]
LEAST_LETTERS = 5
"""What is shorter would occur somewhere anyway."""
OURS = [message for rows in MESSAGES.values() for message, _, _ in rows]


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


def is_told(message: str, answer: str) -> bool:
    """Whether an answer has the parts of a message, in their order."""
    return re.search(".*".join(map(re.escape, message.split("..."))), answer) is not None


def test_there_are_messages_for_every_kind_of_mistake():
    assert len(MESSAGES) >= 7
    assert len(OURS) == len(set(OURS)) >= 45


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What common mistakes are answered, but by the parser of the command line."""
    with mistakes.folder(tmp_path_factory.mktemp("mistakes")):
        commands = [text for rows in mistakes.CLI.values() for text in rows]
        said = [mistakes.said_by_command(text)[1].removeprefix("gpusched: ") for text in commands]
        names = mistakes.given()
        expressions = [text for rows in mistakes.PYTHON.values() for text in rows]
        said += [str(mistakes.said_by_python(text, names)) for text in expressions]
    of_parser = tuple(word for word in mistakes.PARSER if word != "Invalid value")
    return [answer for answer in said if not answer.startswith(of_parser)]


@each("message", OURS)
def test_a_message_is_one_of_the_sources_or_an_answer(message, answers):
    longest = max(message.split("..."), key=len)
    assert sum(map(str.isalpha, longest)) >= LEAST_LETTERS, "too short to be told from others"
    assert not missing(message) or any(is_told(message, answer) for answer in answers)


@each("message", [message for message, _, _ in ELSEWHERE])
def test_a_message_of_others_is_an_answer(message, answers):
    assert any(is_told(message, answer) for answer in answers)


def test_a_message_that_nobody_raises_is_found():
    assert missing("a GPU is not idle") == ["a GPU is not idle"]
    assert missing("the key of job ... is endless") == [" is endless"]
    assert not missing("a GPU is not free")


def test_the_page_explains_the_answer_to_every_common_mistake(answers):
    known = [*OURS, *(message for message, _, _ in ELSEWHERE)]
    unknown = [answer for answer in answers if not any(is_told(text, answer) for text in known)]
    assert not unknown
