"""A command imports what it runs, and the others not."""

import subprocess
import sys

import pytest

from gpusched.cli import Commands
from tests.each import each

# What takes long to load; the CLI's own libraries are not among them.
HEAVY = {"altair", "jinja2", "pandas", "polars", "pyarrow", "scipy", "sklearn", "vl_convert"}
SCRIPT = """
import sys
from gpusched.cli import main
try:
    main()
except SystemExit as leave:
    assert leave.code in (0, None), leave.code
print("LOADED", *sys.modules, file=sys.stderr)
"""
TRACE_COMMANDS = Commands.entries["trace"].load("trace").entries
HOMES = {
    name: f"gpusched.cli.{entry.home.partition(':')[0]}"
    for name, entry in [*Commands.entries.items(), *TRACE_COMMANDS.items()]
    if ":" in entry.home
}
"""The module of each command."""


def loaded_by(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("LOADED")[2].split())


@pytest.mark.parametrize(
    ("arguments", "own"),
    [
        (["--version"], None),
        (["--help"], None),
        (["trace", "--help"], None),
        (["policies"], "policies"),
        (["metrics"], "metrics"),
        (["trace", "formats"], "formats"),
        (["run", "--help"], "run"),
        (["compare", "--help"], "compare"),
        (["trace", "info", "--help"], "info"),
        (["run", "-p", "fifo", "--jobs", "50", "--servers", "2"], "run"),
    ],
    ids=str,
)
def test_a_command_loads_itself_alone(arguments, own):
    loaded = loaded_by(*arguments)
    assert loaded & {*HOMES.values()} == (set() if own is None else {HOMES[own]})
    assert not loaded & HEAVY
    if own is None:
        assert not {"numpy", "gpusched.traces.workload"} & loaded
    if own in (None, "policies"):
        assert not {"gpusched.studies.comparison", "gpusched_papers.registry", "altair"} & loaded


def test_the_command_of_another_distribution_loads_no_other_command():
    loaded = loaded_by("reproduce")
    assert "gpusched_papers.cli.reproduce" in loaded
    assert not loaded & {*HOMES.values()}
    assert not loaded & HEAVY


@each(("name", "entry"), [*Commands.entries.items(), *TRACE_COMMANDS.items()])
def test_a_command_is_listed_by_the_first_line_of_its_help(name, entry):
    help_text = entry.load(name).help
    assert help_text.partition("\n\n")[0].replace("\n", " ") == entry.help


def test_the_help_lists_all_commands():
    done = subprocess.run(
        [sys.executable, "-m", "gpusched", "--help"], capture_output=True, text=True, check=True,
        timeout=120,
    )  # fmt: skip
    for name, entry in Commands.entries.items():
        assert name in done.stdout
        assert entry.help[:30] in done.stdout
