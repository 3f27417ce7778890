"""Sixty mistakes at the command line and in Python, and what must be named in the answers."""

import pytest

from tests import mistakes
from tests.each import each

COMMANDS = [(given, named) for rows in mistakes.CLI.values() for given, named in rows.items()]
EXPRESSIONS = [(code, named) for rows in mistakes.PYTHON.values() for code, named in rows.items()]


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory):
    with mistakes.folder(tmp_path_factory.mktemp("mistakes")):
        yield


@pytest.fixture(scope="module")
def names():
    return mistakes.given()


def test_there_are_sixty_of_each():
    assert len(COMMANDS) >= 60
    assert len(EXPRESSIONS) >= 60


@each(("arguments", "named"), COMMANDS)
def test_the_command_answers_in_one_line_that_names_it(arguments, named):
    code, said, printed = mistakes.said_by_command(arguments)
    assert code == 2, said
    assert said.startswith("gpusched: ")
    assert said.count("\n") == 1
    assert named in said
    assert "Traceback" not in said
    assert printed == ""


@each(("expression", "named"), EXPRESSIONS)
def test_the_error_is_of_a_user_and_names_it(expression, named, names):
    error = mistakes.said_by_python(expression, names)
    kinds = (ValueError, TypeError, OSError, AttributeError, LookupError)
    assert isinstance(error, kinds), repr(error)
    assert named in str(error)
    assert "\n" not in str(error)
