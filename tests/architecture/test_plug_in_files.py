"""A plug-in is a file named after it with one registration at its end, or a row of a table."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import gpusched as gs
from tests.architecture.sources import CPP, CPP_FILES, MODULES, PLUG_IN_FILES, ROOT, code_of, shown

# What an order may say of its keys; a speed has one of these names.
LIFETIMES = {"fixed", "service", "clock"}

SEAM_OF_FOLDER = {
    "contentions": "Contention",
    "orders": "Order",
    "placements": "Placement",
    "schedulers": "Scheduler",
    "speeds": "Speed",
}

# Orders of which each is a formula and a sentence.
TABLES = {CPP / "plugins" / "orders" / "fixed_keys.cpp"}

TOOLS_AND_BINDINGS = [path for path in CPP_FILES if {"tools", "bindings"} & set(path.parts)]


def registered_in(path: Path) -> list[tuple[str, str]]:
    """The seam and the name of each plug-in that the file registers."""
    found = re.findall(
        r'GPUSCHED_REGISTER\(\s*(\w+),\s*\w+(?:<.*?>)?,\s*\.name = "([^"]+)"',
        path.read_text(),
        re.DOTALL,
    )
    assert len(found) == 1 or path in TABLES, f"{shown(path)} registers {found}"
    return found


def test_a_file_registers_one_plug_in_of_its_folder_under_its_own_name() -> None:
    for path in PLUG_IN_FILES:
        found = registered_in(path)
        assert {seam for seam, _ in found} == {SEAM_OF_FOLDER[path.parent.name]}, shown(path)
        if path in TABLES:
            continue
        ((_, name),) = found
        # An identifier cannot begin with a digit: 2d-las lives in las_2d.
        assert sorted(path.stem.split("_")) == sorted(name.split("-")), shown(path)


def test_a_file_ends_in_its_registration() -> None:
    end = r"GPUSCHED_REGISTER\((?:[^()]|\([^()]*\))*\)\s*;?\s*}(?:\s*)\Z"
    assert not [shown(path) for path in PLUG_IN_FILES if not re.search(end, code_of(path))]


def test_no_two_files_define_one_name() -> None:
    # Two plug-ins with a class of one name would be one class: the linker keeps either.
    owner: dict[str, str] = {}
    for path in sorted(set(CPP_FILES) - set(TOOLS_AND_BINDINGS)):
        for name in names_outside_of_anonymous_namespaces(code_of(path)):
            assert name not in owner, f"{name} is defined in {owner[name]} and in {shown(path)}"
            owner[name] = shown(path)


def names_outside_of_anonymous_namespaces(code: str) -> set[str]:
    """Types that a file gives the whole core."""
    code = re.sub(r"\nnamespace \{\n.*?\n\}  *\n", "\n", code, flags=re.DOTALL)
    return set(re.findall(r"^(?:struct|class)\s+(?:alignas\(\w+\)\s+)?(\w+)[^;]*\{", code, re.M))


def test_the_registry_holds_what_the_files_register_and_no_more() -> None:
    registries = (gs.policies(), gs.placements(), gs.speeds(), gs.contentions())
    infos = [info for registry in registries for info in registry.values()]
    registered = {(info.kind, info.name) for info in infos if info.is_native and not info.alias_of}
    in_files = {
        (seam.lower(), name) for path in PLUG_IN_FILES for seam, name in registered_in(path)
    }
    assert registered == in_files


def test_nothing_is_registered_outside_the_folders_of_plug_ins() -> None:
    for path in set(CPP_FILES) - set(PLUG_IN_FILES) - {CPP / "base" / "registry.hpp"}:
        assert "GPUSCHED_REGISTER" not in code_of(path), shown(path)


def test_the_aliases_stand_in_one_file_and_are_all_there() -> None:
    aliases = CPP / "plugins" / "aliases.cpp"
    in_file = re.findall(
        r'GPUSCHED_ALIAS\(\s*\w+, \.name = "([^"]+)".*?\.target = "([^"]+)"',
        aliases.read_text(),
        re.DOTALL,
    )
    registered = {
        (info.name, info.alias_of.partition(":")[0])
        for info in gs.policies().values()
        if info.alias_of
    }
    assert len(in_file) == len(registered)
    assert set(in_file) == registered
    for path in set(CPP_FILES) - {aliases, CPP / "base" / "registry.hpp"}:
        assert "GPUSCHED_ALIAS" not in code_of(path), shown(path)


def test_no_code_branches_on_the_name_of_a_plug_in() -> None:
    # What a plug-in needs beyond the seam is a flag or a method of the seam.
    names = {name for path in PLUG_IN_FILES for _, name in registered_in(path)}
    for path in set(CPP_FILES) - set(PLUG_IN_FILES):
        texts = set(re.findall(r'[=!]= "([^"]*)"', path.read_text()))
        assert not texts & names - LIFETIMES, shown(path)


def test_no_reader_shares_its_file() -> None:
    readers = [module for module in MODULES if module.startswith("traces.formats.")]
    assert {
        "traces.formats.itp", "traces.formats.swf", "traces.formats.helios", "traces.formats.gavel",
    } <= set(readers)  # fmt: skip


def test_the_tables_of_the_documentation_are_those_of_the_registry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = ROOT / "docs" / "tables.py"
    monkeypatch.syspath_prepend(path.parent)
    spec = spec_from_file_location("tables", path)
    assert spec is not None
    assert spec.loader is not None
    tables = module_from_spec(spec)
    spec.loader.exec_module(tables)
    pages = tables.pages()
    assert len(pages) >= 5
    for page, text in pages.items():
        assert text == page.read_text(encoding="utf-8"), (
            f"{shown(page)} is out of date: run `python docs/tables.py`"
        )
    marked = tables.marked_tables
    names = [name for page in pages for name in marked.names_in(page.read_text("utf-8"))]
    assert sorted(names) == sorted(marked._TABLES), "every table stands on one page"
