"""Ctrl-C at random moments of commands, from the first import on."""

import os
import subprocess
import sys

import pytest

from gpusched.cli import Commands
from tests.campaigns.interrupts import COMMANDS, campaign

NOTHING_HEAVY = """
import sys
before = set(sys.modules)
import gpusched.__main__
print(*{name.partition('.')[0] for name in set(sys.modules) - before})
"""

SIGNALS = int(os.environ.get("GPUSCHED_INTERRUPTS", "3"))
"""Of each command. GPUSCHED_INTERRUPTS asks for more."""


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("command", ["policies", "run", "sweep"])
def test_an_interrupted_command_leaves_without_a_traceback(command):
    count, wrong = campaign(SIGNALS, 3, [command])
    assert count == SIGNALS
    assert wrong == []


def test_nothing_heavy_is_imported_before_the_command_listens():
    made = subprocess.run(
        [sys.executable, "-c", NOTHING_HEAVY], capture_output=True, text=True, check=True
    )
    assert not set(made.stdout.split()) & {"numpy", "typer", "click", "rich", "polars"}


def test_the_campaign_has_every_command():

    assert {name.partition(" ")[0] for name in COMMANDS} == set(Commands.entries)
