"""Public functions say what they return and raise, and have an example that runs.

So do the methods of what is used most that take an argument.
"""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def functions() -> dict[str, Any]:
    """Public functions by dotted name; what two rooms show is there once."""
    found = {}
    for room in ("", *gs._SUBMODULES):
        module = getattr(gs, room) if room else gs
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing) and thing not in found.values():
                found[f"{room}.{name}".strip(".")] = thing
    return found


def methods() -> dict[str, Any]:
    """Public methods of what is used most, by dotted name: those that are told something."""
    found = {}
    for kind in (gs.Trace, gs.Result, gs.Cluster, gs.Comparison, gs.Simulation):
        for name, thing in inspect.getmembers(kind):
            function = getattr(thing, "__func__", thing)
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            if len(inspect.signature(function).parameters) > 1:
                found[f"{kind.__name__}.{name}"] = function
    return found


FUNCTIONS = functions() | methods()


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    for name in ("widest-first", "refuses", "idle", "an-hour", "num_wide"):
        gs.unregister(name)


def test_there_are_functions() -> None:
    assert len(functions()) > 40
    assert len(methods()) > 20


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_public_function_has_its_sections(name: str) -> None:
    doc = inspect.getdoc(FUNCTIONS[name]) or ""
    takes = inspect.signature(FUNCTIONS[name]).parameters
    for section in ("Returns", *(["Raises"] if takes else []), "Examples"):
        assert f"\n{section}\n{'-' * len(section)}\n" in doc, f"{name} lacks {section}"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_the_example_of_a_public_function_runs(name: str) -> None:
    finder = doctest.DocTestFinder(recurse=False)
    tests = [test for test in finder.find(FUNCTIONS[name], name, globs={"gs": gs}) if test.examples]
    assert tests, f"{name} has no example"
    for test in tests:
        told: list[str] = []
        outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
        assert outcome.failed == 0, "".join(told)
