"""A command imports what it runs, and the others not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpusched.cli import Commands
from gpusched.cli.lazy_commands import Command
from gpusched.cli.trace import TraceCommands

# What takes long to load; the CLI's own libraries are not among them.
HEAVY = {"matplotlib", "pandas", "plotly", "polars", "pyarrow", "scipy", "sklearn"}
SCRIPT = """
import sys
from gpusched.cli import main
try:
    main()
except SystemExit as leave:
    assert leave.code in (0, None), leave.code
print("LOADED", *sys.modules, file=sys.stderr)
"""
COMMANDS = {"compare", "run", "policies", "trace_info", "trace_convert"}
COMMANDS |= {"fidelity", "size", "sweep", "whatif", "metrics", "trace_formats", "trace_generate"}


def loaded_by(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("LOADED")[2].split())


@pytest.mark.parametrize(
    ("arguments", "own"),
    [
        (["--version"], set()),
        (["--help"], set()),
        (["trace", "--help"], set()),
        (["policies"], {"policies"}),
        (["policies", "fifo", "--json"], {"policies"}),
        (["metrics"], {"metrics"}),
        (["trace", "formats"], {"trace_formats"}),
        (["run", "--help"], {"run"}),
        (["compare", "--help"], {"compare"}),
        (["size", "--help"], {"size"}),
        (["fidelity", "--help"], {"fidelity"}),
        (["trace", "info", "--help"], {"trace_info"}),
        (["run", "-p", "fifo", "--jobs", "50", "--servers", "2"], {"run"}),
    ],
    ids=" ".join,
)
def test_a_command_loads_itself_alone(arguments: list[str], own: set[str]) -> None:
    loaded = loaded_by(*arguments)
    assert {name for name in COMMANDS if f"gpusched.cli.{name}" in loaded} == own
    assert not loaded & HEAVY
    if not own:
        assert not {"numpy", "gpusched.traces.workload"} & loaded
    if own <= {"policies"}:
        assert not {"gpusched.studies.comparison", "gpusched_papers.registry", "plotly"} & loaded


def test_the_command_of_another_distribution_loads_no_other_command() -> None:
    loaded = loaded_by("reproduce")
    assert "gpusched_papers.cli.reproduce" in loaded
    assert not {name for name in COMMANDS if f"gpusched.cli.{name}" in loaded}
    assert not loaded & HEAVY


@pytest.mark.parametrize(
    ("name", "entry"), [*Commands.entries.items(), *TraceCommands.entries.items()]
)
def test_a_command_is_listed_by_the_first_line_of_its_help(name: str, entry: Command) -> None:
    help_text = entry.load(name).help
    assert help_text.partition("\n\n")[0].replace("\n", " ") == entry.help


def test_the_help_lists_all_commands() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpusched", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    for name, entry in Commands.entries.items():
        assert name in done.stdout
        assert entry.help[:30] in done.stdout
