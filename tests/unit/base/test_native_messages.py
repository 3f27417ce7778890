"""What libraries write to the standard error of a command is passed on, but for their panics."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGIN = """
import os, sys
from gpusched.base.native_messages import set_messages_apart, without_panics

class PanicException(BaseException):
    pass

"""
READ = """
try:
    with without_panics():
        print("of Python", file=sys.stderr)
        os.write(2, b"of a library\\n")
        {ending}
except BaseException as error:
    print(type(error).__name__, file=sys.stderr)
os.write(2, b"later\\n")
"""


def said(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code], capture_output=True, text=True, check=True
    )
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    ("ending", "lines"),
    [
        ("pass", ["of Python", "of a library", "later"]),
        ("raise OSError", ["of Python", "of a library", "OSError", "later"]),
        ("raise PanicException", ["of Python", "PanicException"]),
    ],
)
def test_a_command_hears_all_but_panics(ending: str, lines: list[str]) -> None:
    assert said("set_messages_apart()" + READ.format(ending=ending)) == lines


def test_elsewhere_nothing_is_held_back() -> None:
    lines = ["of Python", "of a library", "PanicException", "later"]
    assert said(READ.format(ending="raise PanicException")) == lines


def test_a_standard_error_that_is_another_one_stays() -> None:
    code = "import io\nsys.stderr = io.StringIO()\nset_messages_apart()\n"
    assert said(code + "print(1, file=sys.stderr)" + READ.format(ending="pass")) == [
        "of a library", "later",
    ]  # fmt: skip
