"""Public functions and methods say what they return and raise, and have an example that runs."""

import doctest
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import gpusched as gs
from tests.each import each

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


# They answer whatever they are asked: what is not known has an answer of its own.
NEVER_RAISE = {
    "PluginInfo.parameter", "JobProfile.compute_s", "Stage.seconds", "StartCalibration.factors",
    "Trace.to_polars",
}  # fmt: skip


def public(is_wanted: Callable[[Any], bool]) -> dict[str, Any]:
    """What is public, by dotted name; what two rooms show is there once."""
    found: dict[str, Any] = {}
    for room in ("", *gs._SUBMODULES):
        module = getattr(gs, room) if room else gs
        for name in module.__all__:
            thing = getattr(module, name)
            if is_wanted(thing) and thing not in found.values():
                found[f"{room}.{name}".strip(".")] = thing
    return found


def methods() -> dict[str, Any]:
    """Methods of public classes that are written here, by dotted name."""
    found: dict[str, Any] = {}
    for kind in public(inspect.isclass).values():
        for name, thing in inspect.getmembers(kind):
            function = getattr(thing, "__func__", thing)
            if name.startswith("_") or not inspect.isfunction(function):
                continue
            if function.__module__.startswith("gpusched") and function not in found.values():
                found[f"{kind.__name__}.{name}"] = function
    return found


FUNCTIONS = public(inspect.isfunction) | methods()


def test_there_are_functions():
    assert len(public(inspect.isfunction)) > 40
    assert len(public(inspect.isclass)) > 60
    assert len(methods()) > 120


def missing_sections(name: str) -> Iterator[str]:
    """Yield the sections that the docstring of a public function lacks."""
    doc = inspect.getdoc(FUNCTIONS[name]) or ""
    takes = inspect.signature(FUNCTIONS[name]).parameters.keys() - {"self", "cls"}
    may_raise = bool(takes) and name not in NEVER_RAISE
    for section in ("Returns", *(["Raises"] if may_raise else []), "Examples"):
        if f"\n{section}\n{'-' * len(section)}\n" not in doc:
            yield f"{name} lacks {section}"


def test_public_functions_have_their_sections():
    assert not [section for name in sorted(FUNCTIONS) for section in missing_sections(name)]


@each("name", sorted(FUNCTIONS))
def test_the_example_of_a_public_function_runs(name, tmp_path, monkeypatch):
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.chdir(folder)
    finder = doctest.DocTestFinder(recurse=False)
    tests = [test for test in finder.find(FUNCTIONS[name], name, globs={"gs": gs}) if test.examples]
    assert tests, f"{name} has no example"
    for test in tests:
        told: list[str] = []
        outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
        for registered in ("widest-first", "refuses", "idle", "an-hour", "num_wide"):
            gs.unregister(registered)
        assert outcome.failed == 0, "".join(told)
